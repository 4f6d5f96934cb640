"""Does a flag's value stand in what the server says it runs with? SGLang's `/server_info`, labels of vLLM's metrics."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k2tui.core.effects.answers import as_dict, as_list, printable_line
from k2tui.core.effects.checks import VALUE
from k2tui.core.flag_knowledge import Known, knowledge_of
from k2tui.core.secrets import MASK, is_secret_name, mask
from k2tui.core.verdicts import Effect, Outcome

MOST_STATES = 1024
_VLLM_LABELS: Mapping[str, str] = {
    "kv-cache-dtype": "cache_dtype",
    "num-gpu-blocks-override": "num_gpu_blocks_override",
}
_BLOCKS = re.compile(rb"^vllm[:_]cache_config_info\{(.*)\} ", re.MULTILINE)
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\\n]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a server says it runs with."""

    engine: str | None
    version: str | None = None
    values: Mapping[str, Any] = field(default_factory=dict)
    """Flags by their field's name, as the front process has them."""
    states: tuple[Mapping[str, Any], ...] = ()
    """The same of each data-parallel rank, with what the scheduler made of it."""

    def of(self, name: str) -> tuple[Any, ...]:
        """What its parts say of one flag, the schedulers' word before the front process's; empty: nothing."""
        key = name.replace("-", "_")
        said = tuple(state[key] for state in self.states if key in state)
        return said or ((self.values[key],) if key in self.values else ())


def of_server_info(document: object) -> Resolved:
    """A `/server_info` reply of SGLang; without values for what is none."""
    info = as_dict(document)
    version = info.get("version")
    states = tuple(state for state in as_list(info.get("internal_states"))[:MOST_STATES] if isinstance(state, dict))
    return Resolved("sglang", version if isinstance(version, str) else None, info, states)


def of_vllm_metrics(body: bytes, version: str | None) -> Resolved:
    """What vLLM's own `cache_config_info` says: its labels are the cache's settings. It tells no others."""
    found = _BLOCKS.search(body[: 8 << 20])
    labels = dict(_LABEL.findall(found[1].decode("utf-8", "replace")[:8192])) if found else {}
    return Resolved("vllm", version, labels)


def judge_value(
    name: str, values: Sequence[str] | None, setting: str, resolved: Resolved, *, default: str | None = None
) -> Effect:
    """Is flag `name` in effect? `values` as they were given, empty for a bare switch, None: no longer given."""
    dead = _dead(name, values, resolved)
    if dead is not None:
        about = f" {resolved.version}" if resolved.version else ""
        text = f"{setting} has no effect in {dead.engine}{about}: {dead.basis}"
        return Effect(VALUE, Outcome.NO_EFFECT, text, setting)
    if MASK in (values or ()) or is_secret_name(f"--{name}"):
        return Effect(VALUE, Outcome.CANNOT, f"{setting} is a secret, and no server shows it", setting)
    said = resolved.of(_VLLM_LABELS.get(name, name) if resolved.engine == "vllm" else name)
    if not said or said[0] == "<redacted>":
        return Effect(VALUE, Outcome.CANNOT, f"{setting}: {_unseen(resolved)}", setting)
    shown = _shown(said[0] if len({_shown(one) for one in said}) == 1 else list(said))
    if values is None:
        return _judge_gone(setting, said, default, shown)
    if all(_is(values, one) for one in said):
        return Effect(VALUE, Outcome.PROVED, f"{setting} is {shown}, as asked", setting)
    asked = " ".join(values) or "on"
    if asked == "auto" and said[0] is not None:
        return Effect(VALUE, Outcome.PROVED, f"{setting} auto became {shown}", setting)
    return Effect(
        VALUE,
        Outcome.NOT_PROVED,
        f"{setting} was asked to be {printable_line(mask(asked), 60)} and is {shown}",
        setting,
    )


def _judge_gone(setting: str, said: Sequence[Any], default: str | None, shown: str) -> Effect:
    usual = default is not None and default != "None"
    back = (
        all(_is((default or "",), one) or (one is False and default == "False") for one in said)
        if usual
        else all(one in (None, False, "", "auto") for one in said)
    )
    if back:
        return Effect(VALUE, Outcome.PROVED, f"{setting} is back at {shown}", setting)
    text = f"{setting} was taken away and is {shown}; its default is not known to k2tui"
    if usual:
        text = f"{setting} was taken away, its default is {default}, and it is {shown}"
    return Effect(VALUE, Outcome.CANNOT, text, setting)


def _dead(name: str, values: Sequence[str] | None, resolved: Resolved) -> Known | None:
    """What is known of a flag that nothing reads, of this version."""
    asked = " ".join(values or ())
    known = knowledge_of(resolved.engine or "sglang", name, resolved.version)
    return next((one for one in known if one.effect == "none" and one.value in (None, asked)), None)


def _unseen(resolved: Resolved) -> str:
    if resolved.engine == "vllm":
        return "vLLM says nowhere what it runs with; it stands in the command line, and that is all"
    if not resolved.values:
        return "the server did not say what it runs with"
    return "this version's /server_info does not name it"


def _is(asked: Sequence[str], said: object) -> bool:
    """Is this the value that was asked for, in whatever spelling?"""
    if not asked:
        return said is True or said == "True"
    if isinstance(said, list):
        return len(said) == len(asked) and all(_is((word,), one) for word, one in zip(asked, said, strict=True))
    if len(asked) > 1:
        return False
    word = asked[0]
    if isinstance(said, bool) or said in ("True", "False"):
        return word.lower() in (("true", "1", "on") if said in (True, "True") else ("false", "0", "off"))
    if isinstance(said, (int, float)):
        return _number(word) == _number(str(said), -1)
    if isinstance(said, dict):
        wanted = _json(word)
        return isinstance(wanted, dict) and all(said.get(key) == value for key, value in wanted.items())
    if isinstance(said, str):
        return (
            said == word
            or (_json(word) is not None and _json(word) == _json(said))
            or _number(word) == _number(said, -1)
        )
    return False


def _number(word: str, otherwise: float | None = None) -> float | None:
    try:
        return float(word)
    except ValueError:
        return otherwise


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _shown(value: object) -> str:
    """A value for a sentence."""
    if value is True:
        return "on"
    if value is False:
        return "off"
    if value is None:
        return "unset"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return mask(printable_line(text, 60))

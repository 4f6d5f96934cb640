"""An engine's arguments as flags with values: found, replaced, removed, whatever their spelling."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from k2tui.core.settings import FlagValue

FLAG_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*")
"""A flag's name after `normal`."""

_ALIASES: tuple[tuple[str, ...], ...] = (
    ("model-path", "model"),
    ("tp-size", "tensor-parallel-size", "tp"),
    ("pp-size", "pipeline-parallel-size", "pp"),
    ("dp-size", "data-parallel-size", "dp"),
    ("ep-size", "expert-parallel-size", "ep"),
    ("dcp-size", "decode-context-parallel-size"),
    ("attn-dp-size", "attention-data-parallel-size"),
    ("attn-cp-size", "attention-context-parallel-size"),
    ("moe-dp-size", "moe-data-parallel-size"),
    ("dist-init-addr", "nccl-init-addr"),
    ("speculative-draft-model-path", "speculative-draft-model"),
    ("enable-hierarchical-cache", "enable-hicache"),
    ("hisparse-config", "hierarchical-sparse-attention-extra-config"),
    ("cuda-graph-prefill-max-context", "context-bucket"),
    ("smg-http-sidecar-port", "grpc-http-sidecar-port"),
)
"""Names of one flag: the option strings of SGLang 0.5.23, and what vLLM calls the same."""
_IDENTITY: Mapping[str, str] = {name: names[0] for names in _ALIASES for name in names}

_FULL_NAMES: Mapping[str, Mapping[str, str]] = {
    # `--tp` is an argparse prefix there, and `--pp` became ambiguous in 0.5.8.
    "sglang": {"tp": "tp-size", "pp": "pp-size", "dp": "dp-size"},
    "vllm": {
        name: full
        for full, names in {
            "tensor-parallel-size": ("tp", "tp-size"),
            "pipeline-parallel-size": ("pp", "pp-size"),
            "data-parallel-size": ("dp", "dp-size"),
        }.items()
        for name in names
    },
}
_FLAG = re.compile(r"(?:--[A-Za-z0-9]|-[A-Za-z])[\w.+-]*(?:=|\Z)")
_SWITCH = re.compile(r"(?:enable|disable|skip|trust|no)-")
"""Beginnings of SGLang's and vLLM's switches that never take a value; what follows one is not its own."""
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*t?$")
_TAKES_VALUE = frozenset({"-X", "-W"})
"""Options of the python interpreter with a value of their own."""


@dataclass(frozen=True, slots=True)
class Part:
    """One flag with its values, or arguments that belong to no flag."""

    name: str | None
    """Normal name without dashes; None for what belongs to no flag."""
    tokens: tuple[str, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The values alone."""
        if not self.tokens or not is_flag(self.tokens[0]):
            return self.tokens
        _, equals, value = self.tokens[0].partition("=")
        return (value, *self.tokens[1:]) if equals else self.tokens[1:]


@dataclass(frozen=True, slots=True)
class Arguments:
    """A command taken apart."""

    head: tuple[str, ...]
    """The program with what starts it, such as `python3 -m sglang.launch_server`."""
    parts: tuple[Part, ...] = ()

    @property
    def argv(self) -> tuple[str, ...]:
        """Put together again."""
        return (*self.head, *(token for part in self.parts for token in part.tokens))

    def find(self, name: str) -> Part | None:
        """The last part with this flag, as argparse counts; None when it is absent."""
        wanted = identity(name)
        return next((part for part in reversed(self.parts) if part.name and identity(part.name) == wanted), None)

    def without(self, name: str) -> Arguments:
        """Without this flag and its values, in every spelling."""
        wanted = identity(name)
        kept = tuple(part for part in self.parts if part.name is None or identity(part.name) != wanted)
        return replace(self, parts=kept)

    def with_flag(self, name: str, value: FlagValue, engine: str) -> Arguments:
        """With this flag: in the place of the same flag, in whatever spelling, else at the end. False removes it."""
        if value is False:
            return self.without(name)
        full = _full_name(normal(name), engine)
        old = self.find(name)
        is_positional = (old is None and self._takes_model(full)) or (old is not None and not is_flag(old.tokens[0]))
        is_short = old is not None and old.name == full and re.match(r"-\w", old.tokens[0]) is not None
        part = Part(full, tokens_of(full, value, "-" if is_short else "--"))
        is_positional = is_positional and bool(part.values)
        if is_positional:
            part = Part(full, part.values)
        if old is None:
            return replace(self, parts=(part, *self.parts) if is_positional else (*self.parts, part))
        at = next(at for at, known in enumerate(self.parts) if known.name and identity(known.name) == identity(name))
        before, after = self.parts[:at], self.parts[at:]
        rest = replace(self, parts=after).without(name).parts
        return replace(self, parts=(*before, part, *rest))

    def with_full_names(self, engine: str) -> Arguments:
        """With abbreviations that a prefix-matching parser would have to guess written out."""
        return replace(self, parts=tuple(_written_out(part, engine) for part in self.parts))

    def _takes_model(self, name: str) -> bool:
        return identity(name) == "model-path" and len(self.head) > 1 and _base(self.head[-2]) == "vllm"


def arguments(argv: Sequence[str]) -> Arguments:
    """Take a command apart. Every token is in exactly one place of the result, in order."""
    split = _head_length(argv)
    head, rest = tuple(argv[:split]), argv[split:]
    parts: list[Part] = []
    for token in rest:
        if is_flag(token):
            parts.append(Part(normal(token.partition("=")[0]), (token,)))
        elif parts and _takes_more(parts[-1]):
            parts[-1] = Part(parts[-1].name, (*parts[-1].tokens, token))
        elif not parts and head[-1:] == ("serve",):
            parts.append(Part("model", (token,)))
        else:
            parts.append(Part(None, (token,)))
    return Arguments(head, tuple(parts))


def flag_value(argv: Sequence[str], name: str) -> str | None:
    """A flag's first value, in any of its spellings; None when it is absent or a bare switch."""
    part = arguments(argv).find(name)
    return part.values[0] if part is not None and part.values else None


def has_flag(argv: Sequence[str], name: str) -> bool:
    """True when the flag is there, with or without a value."""
    return arguments(argv).find(name) is not None


def engine_of(argv: Sequence[str]) -> str | None:
    """sglang or vllm, as far as the command says it."""
    words = argv[: _head_length(argv)]
    for engine in ("sglang", "vllm"):
        if any(_base(word) == engine or word.startswith(f"{engine}.") for word in words):
            return engine
    return None


def with_python(argv: Sequence[str], python: str) -> tuple[str, ...]:
    """The command on another interpreter: `python3 -m ...` replaced, `vllm` taken from beside it."""
    tokens = list(argv)
    for at, token in enumerate(tokens[: _head_length(argv)]):
        if _PYTHON.match(token):
            tokens[at] = python
            break
        if token in ("vllm", "sglang") and "/" in python:
            tokens[at] = f"{python.rpartition('/')[0]}/{token}"
            break
    return tuple(tokens)


def normal(name: str) -> str:
    """A flag's name without leading dashes, with `-` for `_`."""
    return name.lstrip("-").replace("_", "-")


def identity(name: str) -> str:
    """The same for all names of one flag."""
    plain = normal(name)
    return _IDENTITY.get(plain, plain)


def is_flag(token: str) -> bool:
    """True for `--flag`, `--flag=value` and `-f`; a negative number and a lone dash are values."""
    return _FLAG.match(token) is not None


def tokens_of(name: str, value: FlagValue, dashes: str = "--") -> tuple[str, ...]:
    """A flag as arguments. A list is several values, a table one JSON argument."""
    flag = dashes + name
    if value is True:
        return (flag,)
    if isinstance(value, Mapping):
        return (flag, json.dumps(value, ensure_ascii=False))
    if isinstance(value, tuple):
        return (flag, *(str(item) for item in value))
    text = str(value)
    return (f"{flag}={text}",) if text.startswith("-") and not _is_number(text) else (flag, text)


def names_of(parts: Iterable[Part]) -> tuple[str, ...]:
    """The names of all flags, in order."""
    return tuple(part.name for part in parts if part.name is not None)


def _head_length(argv: Sequence[str]) -> int:
    """How many tokens start the engine, the engine's own arguments not counted."""
    for at, token in enumerate(argv):
        if _base(token) in ("vllm", "sglang") and list(argv[at + 1 : at + 2]) == ["serve"]:
            return at + 2
        if _PYTHON.match(token):
            return _after_python(argv, at + 1)
    return min(1, len(argv))


def _after_python(argv: Sequence[str], at: int) -> int:
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at] in ("-m", "-c"):
            return min(at + 2, len(argv))
        at += 2 if argv[at] in _TAKES_VALUE else 1
    return min(at + 1, len(argv))


def _takes_more(part: Part) -> bool:
    return part.name is not None and is_flag(part.tokens[0]) and _SWITCH.match(part.name) is None


def _full_name(name: str, engine: str) -> str:
    return _FULL_NAMES.get(engine, {}).get(name, name)


def _written_out(part: Part, engine: str) -> Part:
    if part.name is None or not part.tokens[0].startswith("--"):
        return part
    full = _full_name(part.name, engine)
    if full == part.name:
        return part
    _, equals, value = part.tokens[0].partition("=")
    return Part(full, (f"--{full}{equals}{value}", *part.tokens[1:]))


def _base(token: str) -> str:
    return token.rpartition("/")[2]


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-\d+|-\d*\.\d+", text) is not None

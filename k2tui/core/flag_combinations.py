"""Flags that refuse to start together, or that undo each other, each with the place that says so."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.families import family_of
from k2tui.core.flags import Arguments, arguments
from k2tui.core.gpu_families import is_pcie_only
from k2tui.core.preflight import Weight
from k2tui.core.secrets import MASK
from k2tui.core.versions import is_within


@dataclass(frozen=True)
class Asked:
    """A command as its combinations are judged."""

    command: Arguments
    env: Mapping[str, str]
    gpu_names: Sequence[str] = ()

    @staticmethod
    def of(argv: Sequence[str], env: Mapping[str, str], gpu_names: Sequence[str] = ()) -> Asked:
        """The command taken apart."""
        return Asked(arguments(argv), env, gpu_names)

    def has(self, name: str) -> bool:
        """The flag is there, with or without a value."""
        return self.command.find(name) is not None

    def value(self, name: str) -> str | None:
        """Its first value; None where it has none, or a masked one."""
        part = self.command.find(name)
        found = part.values[0] if part is not None and part.values else None
        return None if found == MASK else found

    def count(self, name: str, default: int | None = None) -> int | None:
        """Its value as a whole number; `default` where it is absent, None where it can't be read."""
        if not self.has(name):
            return default
        text = self.value(name) or ""
        return int(text) if re.fullmatch(r"-?[0-9]{1,11}", text) else None

    def ranks(self, engine: str) -> int | None:
        """How many GPUs it takes on all nodes together; None where that can't be read."""
        sizes = [self.count("tp-size", 1), self.count("pp-size", 1)]
        if engine == "vllm" or not (self.has("enable-dp-attention") or self.has("attn-dp-size")):
            sizes.append(self.count("dp-size", 1))  # with attention DP the ranks are those of TP
        total = 1
        for size in sizes:
            if size is None or size < 1:
                return None
            total *= size
        return total


@dataclass(frozen=True, slots=True)
class Combination:
    """One rule over several flags; what is said stands at one of them."""

    engine: str
    name: str
    """The flag that it is said of, without dashes."""
    look: Callable[[Asked], str | None]
    """What is wrong, a few words; None: nothing."""
    basis: str
    weight: Weight = Weight.BLOCK
    since: str | None = None
    until: str | None = None


def combinations(asked: Asked, *, engine: str, version: str | None) -> tuple[tuple[Combination, str], ...]:
    """The rules that this command breaks, and what to say of each.

    A rule that holds in some versions only is left out where the version is not known.
    """
    found: list[tuple[Combination, str]] = []
    for rule in _RULES:
        if rule.engine != engine or not _holds(rule, version):
            continue
        text = rule.look(asked) if asked.has(rule.name) else None
        if text is not None:
            found.append((rule, text))
    return tuple(found)


def _holds(rule: Combination, version: str | None) -> bool:
    if rule.since is None and rule.until is None:
        return True
    return version is not None and is_within(version, rule.since, rule.until)


_EAGLE = frozenset({"EAGLE", "EAGLE3", "NEXTN", "STANDALONE"})


def _draft_sizes(asked: Asked) -> str | None:
    if (asked.value("speculative-algorithm") or "").upper() not in _EAGLE or asked.has("speculative-adaptive"):
        return None
    steps, topk = asked.has("speculative-num-steps"), asked.has("speculative-eagle-topk")
    drafts = asked.has("speculative-num-draft-tokens")
    if steps and not topk:
        return "needs --speculative-eagle-topk beside the steps"
    if not steps and (topk or drafts):
        return "needs --speculative-num-steps beside the others"
    if steps and not drafts and asked.count("speculative-eagle-topk") != 1:
        return "needs --speculative-num-draft-tokens when topk is not 1"
    return None


def _node_share(asked: Asked) -> str | None:
    nodes, tp, pp = asked.count("nnodes", 1), asked.count("tp-size", 1), asked.count("pp-size", 1)
    if not nodes or nodes < 2 or tp is None or pp is None or tp * pp % nodes == 0:
        return None
    return f"{nodes} nodes can't share {tp * pp} ranks"


def _meeting_point(asked: Asked) -> str | None:
    nodes = asked.count("nnodes", 1)
    if not nodes or nodes < 2 or asked.has("dist-init-addr") or "SGLANG_DISTRIBUTED_INIT_METHOD_OVERRIDE" in asked.env:
        return None
    return "needs --dist-init-addr: the nodes never meet without"


def _replicas_apart(asked: Asked) -> str | None:
    nodes, dp = asked.count("nnodes", 1), asked.count("dp-size", 1)
    if not nodes or nodes < 2 or not dp or dp < 2 or asked.has("enable-dp-attention"):
        return None
    return "replicas over several nodes need --enable-dp-attention"


def _attention_share(asked: Asked) -> str | None:
    tp, dp = asked.count("tp-size", 1), asked.count("dp-size", 1)
    if asked.has("attn-dp-size"):
        dp = asked.count("attn-dp-size")
    if not tp or not dp or dp < 2 or tp % dp == 0:
        return None
    return f"attention DP of {dp} does not divide TP of {tp}"


def _lonely_attention(asked: Asked) -> str | None:
    return "no effect while --dp-size is 1" if asked.count("dp-size", 1) == 1 else None


def _needs(other: str, text: str | None = None) -> Callable[[Asked], str | None]:
    """It is wrong without `other`."""
    return lambda asked: None if asked.has(other) else text or f"needs --{other}"


def _excludes(other: str) -> Callable[[Asked], str | None]:
    """It is wrong beside `other`."""
    return lambda asked: f"excludes --{other}" if asked.has(other) else None


def _no_colon(asked: Asked) -> str | None:
    name = asked.value("served-model-name") or ""
    return "may hold no colon" if ":" in name and "://" not in name else None


def _priority(asked: Asked) -> str | None:
    policy = asked.value("schedule-policy") or "fcfs"
    return None if policy in ("fcfs", "lof") else f"needs --schedule-policy fcfs or lof, found {policy}"


def _pages(asked: Asked) -> str | None:
    chunk, page = asked.count("chunked-prefill-size"), asked.count("page-size")
    if chunk is None or page is None or chunk <= 0 or page <= 0 or asked.value("disaggregation-mode") == "decode":
        return None
    return None if chunk % page == 0 else f"{chunk} is no multiple of --page-size {page}"


def _one_port(asked: Asked) -> str | None:
    same = asked.count("grpc-port") is not None and asked.count("grpc-port") == asked.count("port", 30000)
    return "must differ from --port" if same else None


def _object(name: str) -> Callable[[Asked], str | None]:
    def look(asked: Asked) -> str | None:
        try:
            found = json.loads(asked.value(name) or "{}")
        except (ValueError, RecursionError):
            return None  # that it is no JSON is said of the value
        return None if isinstance(found, dict) else "must be a JSON object"

    return look


def _capture(asked: Asked) -> str | None:
    algorithm = (asked.value("speculative-algorithm") or "").upper()
    if algorithm not in ("EAGLE3", "DFLASH", "DSPARK"):
        return "needs --speculative-algorithm EAGLE3, DFLASH or DSPARK"
    if asked.has("speculative-draft-model-path"):
        return "excludes --speculative-draft-model-path"
    if asked.count("pp-size", 1) != 1:
        return "needs --pp-size 1"
    if algorithm != "EAGLE3" and not asked.has("return-aux-hidden-state-layer-ids"):
        return "needs --return-aux-hidden-state-layer-ids"
    return None


def _retraction(asked: Asked) -> str | None:
    wrong = asked.value("retraction-policy") == "priority" and not asked.has("enable-priority-scheduling")
    return "priority needs --enable-priority-scheduling" if wrong else None


def _share_of_memory(asked: Asked) -> str | None:
    try:
        share = float(asked.value("mem-fraction-static") or "0.5")
    except ValueError:
        return None
    return None if 0 < share < 1 else "is a share of the GPU's memory: between 0 and 1"


def _all_reduce(asked: Asked) -> str | None:
    tp = asked.count("tp-size", 1)
    return "no effect here: already off without NVLink" if tp and tp > 2 and is_pcie_only(asked.gpu_names) else None


def _right_parser(flag: str, engine: str) -> Callable[[Asked], str | None]:
    def look(asked: Asked) -> str | None:
        family, found = family_of(asked.value("model-path") or ""), asked.value(flag)
        if family is None or found is None or found == "auto":
            return None
        fits = (family.reasoning if flag == "reasoning-parser" else family.tools).get(engine, ())
        return None if not fits or found in fits else f"{family.name} needs {fits[0]}"

    return look


def _silent_thoughts(engine: str) -> Callable[[Asked], str | None]:
    def look(asked: Asked) -> str | None:
        family = family_of(asked.value("model-path") or "")
        fits = () if family is None or not family.thinks else family.reasoning.get(engine, ())
        if not fits or asked.has("reasoning-parser"):
            return None
        return f"it thinks, and no --reasoning-parser {fits[0]}"

    return look


_FAMILY = "the checkpoint's name and the parsers' own source (core/families.py): thoughts come back inside content"

_RULES: tuple[Combination, ...] = (
    Combination(
        "sglang",
        "speculative-algorithm",
        _draft_sizes,
        "sglang 0.5.2 server_args.py:754, 0.5.9:2433, 0.5.12:3808, 0.5.23 arg_groups/speculative_hook.py:1159",
    ),
    Combination("sglang", "nnodes", _node_share, "sglang 0.5.2 server_args.py:2251, 0.5.9:5132, 0.5.12:7231"),
    Combination(
        "sglang",
        "nnodes",
        _meeting_point,
        "sglang 0.5.23 distributed/bootstrap.py:241: rank 0 would wait on its own loopback",
    ),
    Combination(
        "sglang", "dp-size", _replicas_apart, "sglang 0.5.2 server_args.py:2262, 0.5.9:5143, 0.5.12:7255, 0.5.18:9170"
    ),
    Combination(
        "sglang",
        "enable-dp-attention",
        _attention_share,
        "sglang 0.5.2 server_args.py:640, 0.5.9:2116, 0.5.12:3069, 0.5.23 arg_groups/parallel_hook.py:326",
    ),
    Combination("sglang", "attn-dp-size", _attention_share, "sglang 0.5.23 arg_groups/parallel_hook.py:326"),
    Combination(
        "sglang",
        "enable-dp-attention",
        _lonely_attention,
        "sglang 0.5.2 server_args.py:634, 0.5.12:3064: it is switched off then",
        Weight.WARN,
        None,
        "0.5.12",
    ),
    Combination(
        "sglang",
        "enable-dp-lm-head",
        _needs("enable-dp-attention"),
        "sglang 0.5.2 server_args.py:647, 0.5.9:2123, 0.5.12:3076",
        until="0.5.12",
    ),
    Combination(
        "sglang",
        "disable-cuda-graph-padding",
        _excludes("enable-torch-compile"),
        "sglang 0.5.12 server_args.py:7242, 0.5.23 arg_groups/validation_hook.py:179",
        since="0.5.12",
    ),
    Combination("sglang", "served-model-name", _no_colon, "sglang 0.5.9 server_args.py:5156", since="0.5.9"),
    Combination("sglang", "enable-priority-scheduling", _priority, "sglang 0.5.9 server_args.py:5219", since="0.5.9"),
    Combination(
        "sglang",
        "chunked-prefill-size",
        _pages,
        "sglang 0.5.2 server_args.py:2286, 0.5.9:5180; a back-end may choose another page size",
        Weight.WARN,
    ),
    Combination(
        "sglang",
        "enable-mixed-chunk",
        lambda asked: "switched off by --speculative-algorithm" if asked.has("speculative-algorithm") else None,
        "sglang 0.5.2 server_args.py:734, 0.5.9:2391",
        Weight.WARN,
        None,
        "0.5.12",
    ),
    Combination(
        "sglang",
        "export-metrics-to-file",
        _needs("export-metrics-to-file-dir"),
        "sglang 0.5.9 server_args.py:5253",
        since="0.5.9",
    ),
    Combination(
        "sglang", "encoder-only", _excludes("language-only"), "sglang 0.5.9 server_args.py:2579", since="0.5.9"
    ),
    Combination("sglang", "grpc-port", _one_port, "sglang 0.5.23 arg_groups/validation_hook.py:363", since="0.5.23"),
    Combination(
        "sglang",
        "default-chat-template-kwargs",
        _object("default-chat-template-kwargs"),
        "sglang 0.5.18 server_args.py:8536",
        since="0.5.18",
    ),
    Combination(
        "sglang",
        "enable-return-aux-hidden-states",
        _capture,
        "sglang 0.5.23 arg_groups/validation_hook.py, handle_aux_hidden_state_capture",
        since="0.5.23",
    ),
    Combination(
        "sglang",
        "return-aux-hidden-state-layer-ids",
        _needs("enable-return-aux-hidden-states"),
        "sglang 0.5.23 arg_groups/validation_hook.py, handle_aux_hidden_state_capture",
        since="0.5.23",
    ),
    Combination(
        "sglang",
        "retraction-policy",
        _retraction,
        "sglang 0.5.23 arg_groups/validation_hook.py, check_server_args",
        since="0.5.23",
    ),
    Combination(
        "sglang",
        "mem-fraction-static",
        _share_of_memory,
        "sglang 0.5.23 arg_groups/memory_hook.py:60",
        Weight.WARN,
    ),
    Combination(
        "sglang",
        "disable-custom-all-reduce",
        _all_reduce,
        "sglang 0.5.2 custom_all_reduce.py:151, 0.5.12 custom_all_reduce_utils.py:467: by itself it refuses more than "
        "two GPUs that have no NVLink",
        Weight.WARN,
    ),
    *(
        Combination(engine, flag, _right_parser(flag, engine), _FAMILY, Weight.WARN)
        for engine in ("sglang", "vllm")
        for flag in ("reasoning-parser", "tool-call-parser")
    ),
    *(
        Combination(engine, "model-path", _silent_thoughts(engine), _FAMILY, Weight.WARN)
        for engine in ("sglang", "vllm")
    ),
    Combination(
        "vllm", "enable-auto-tool-choice", _needs("tool-call-parser"), "vllm 0.9.0 entrypoints/openai/cli_args.py:286"
    ),
    Combination(
        "vllm",
        "tool-call-parser",
        _needs("enable-auto-tool-choice", "no effect without --enable-auto-tool-choice"),
        "vllm documentation, Tool Calling: calls are only parsed with both",
        Weight.WARN,
    ),
)

"""What is known of one variable of a command: does anybody read it, can its value be read, is it overwritten."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from k2tui.core.flag_combinations import Asked
from k2tui.core.gpu_families import capability_of, is_pcie_only
from k2tui.core.nccl_names import NCCL_NAMES
from k2tui.core.preflight import SettingCheck, Weight
from k2tui.core.secrets import MASK
from k2tui.core.variables import BY_K2TUI, FUNCTIONS, KNOWN_VARIABLES, Reads, Variable
from k2tui.core.versions import is_within

_PARAM = "NVIDIA/nccl src/misc/param.cc"
_TUNING = "NVIDIA/nccl src/graph/tuning.cc"
_PATHS = "NVIDIA/nccl src/graph/paths.cc"
_ENGINE = "sglang entrypoints/engine.py, _set_envs_and_config"
_MOVES_DATA = frozenset({"NCCL_PROTO", "NCCL_ALGO", "NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE", "NCCL_NVLS_ENABLE"})
_SLIPPED = re.compile(r"N[CL]{2,4}|CNCL|NCCI")
"""What a hasty hand makes of NCCL."""
_NVLINK = frozenset({(8, 0), (9, 0), (10, 0), (10, 3)})
"""Families whose servers have NVLink between all GPUs, mostly."""


def check_variable(name: str, asked: Asked, *, engine: str, version: str | None) -> SettingCheck:
    """What weighs most of all that is known of this variable of the command."""
    found = sorted(_findings(name, asked, engine, version), key=lambda check: -RANK.index(check.weight))
    if found:
        return found[0]
    if name in BY_K2TUI:
        return SettingCheck(name, Weight.FINE, "set by k2tui for every start")
    is_known = name in KNOWN_VARIABLES or name in NCCL_NAMES
    return SettingCheck(name, Weight.FINE, "known" if is_known else "passed on as it is")


RANK = (Weight.FINE, Weight.NOTE, Weight.UNKNOWN, Weight.WARN, Weight.BLOCK)
"""From light to heavy."""


def _findings(name: str, asked: Asked, engine: str, version: str | None) -> Iterator[SettingCheck]:
    value = asked.env[name].strip()
    yield from _strange_name(name)
    if value == MASK:
        return
    variable = KNOWN_VARIABLES.get(name)
    if variable is not None:
        yield from _value(variable, value, asked.ranks(engine))
    for rule in _OVERWRITTEN:
        if rule.engine == engine and rule.name == name and value != rule.with_value:
            holds = (rule.since, rule.until) == (None, None) or (
                version is not None and is_within(version, rule.since, rule.until)
            )
            if holds and rule.when(asked):
                yield SettingCheck(name, Weight.WARN, rule.text, rule.basis)
    yield from _hardware(name, value, asked, engine)


def _strange_name(name: str) -> Iterator[SettingCheck]:
    if name in KNOWN_VARIABLES or name in NCCL_NAMES:
        return
    head, _, rest = name.partition("_")
    if head != "NCCL" and not _SLIPPED.fullmatch(head):
        return  # RCCL_, HCCL_ and others are libraries of their own
    near = get_close_matches(f"NCCL_{rest}", NCCL_NAMES, n=1, cutoff=0.86)
    if near:
        text = f"nobody reads it: {near[0]}?"
        yield SettingCheck(name, Weight.WARN, text, "the names in libnccl 2.32.3", near[0])
    elif head == "NCCL":
        basis = "the names in libnccl 2.32.3; an engine or a plugin may have names of its own"
        yield SettingCheck(name, Weight.NOTE, "no variable of NCCL", basis)


def _value(variable: Variable, value: str, ranks: int | None) -> Iterator[SettingCheck]:
    name = variable.name
    if not value:
        yield SettingCheck(name, Weight.NOTE, "empty: as if it were not set")
        return
    is_nccl = name.startswith("NCCL_")
    match variable.reads:
        case Reads.SWITCH if is_nccl and not value[0].isdigit():
            yield SettingCheck(name, Weight.WARN, f"{_cut(value)} is read as 0: give 0 or 1", _PARAM)
        case Reads.NUMBER if not re.fullmatch(r"[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)", value):
            text = f"{_cut(value)} is no whole number"
            yield SettingCheck(name, Weight.WARN, text, f"{_PARAM}: it is read as 0" if is_nccl else "")
        case Reads.NUMBER:
            digits = value[:40]  # more of them are as far outside, and the longest can't be read at all
            number = int(digits, 0) if digits.lstrip("+-")[:2] in ("0x", "0X") else int(digits)
            low, high = variable.low, variable.high
            if (low is not None and number < low) or (high is not None and number > high):
                span = f"{low} to {high}" if high is not None else f"{low} or more"
                yield SettingCheck(name, Weight.WARN, f"{_cut(value)} is outside of {span}", "the NCCL documentation")
            elif name == "NCCL_NTHREADS" and number % 32:
                yield SettingCheck(name, Weight.WARN, "must be a multiple of 32, else it is passed over", _TUNING)
        case Reads.LIST:
            yield from _list(variable, value, ranks)
        case Reads.LEVEL if value not in variable.values and not value[0].isdigit():
            near = [word for word in variable.values if word == value.upper()]
            text = f"passed over: {near[0]} in capitals" if near else f"passed over: takes {', '.join(variable.values)}"
            yield SettingCheck(name, Weight.WARN, text, f"{_PATHS}, ncclGetLevel")
        case Reads.WORD if value.casefold() not in {word.casefold() for word in variable.values}:
            yield SettingCheck(name, Weight.WARN, f"{_cut(value)} is none of {', '.join(variable.values)}")


def _list(variable: Variable, value: str, ranks: int | None) -> Iterator[SettingCheck]:
    """`LL,Simple`, `^LL128`, `LL;allreduce:^LL`: what NCCL does not know ends the start of every rank."""
    known = {word.casefold() for word in variable.values}
    functions = {word.casefold() for word in FUNCTIONS}
    weight = Weight.WARN if ranks is None or ranks < 2 else Weight.BLOCK
    basis = f"{_TUNING}, parseList: since 2.24 it is refused; before, it switched all else off"
    for part in value.split(";"):
        function, colon, words = part.rpartition(":")
        if colon and function.casefold() not in functions:
            yield SettingCheck(variable.name, weight, f"{_cut(function)} is none of {', '.join(FUNCTIONS)}", basis)
        for word in words.removeprefix("^").split(","):
            # spelt so in the documentation, and in the source
            if word.casefold().replace("_", "") not in known:
                text = f"{_cut(word) or 'nothing'} is none of {', '.join(variable.values)}"
                yield SettingCheck(variable.name, weight, text, basis)


def _hardware(name: str, value: str, asked: Asked, engine: str) -> Iterator[SettingCheck]:
    ranks = asked.ranks(engine)
    if name == "CUDA_VISIBLE_DEVICES":
        yield from _visible(value, ranks, asked)
    if name == "NCCL_P2P_LEVEL" and asked.env.get("NCCL_P2P_DISABLE", "").strip().startswith("1"):
        yield SettingCheck(name, Weight.WARN, "no effect beside NCCL_P2P_DISABLE=1", f"{_PATHS}, ncclGetLevel")
    if name in _MOVES_DATA and ranks == 1:
        yield SettingCheck(name, Weight.NOTE, "no effect on one GPU", "NCCL moves data between GPUs only")
        return
    is_slow = is_pcie_only(asked.gpu_names)
    if name == "NCCL_PROTO" and is_slow and _allows(value, "LL128"):
        basis = f"{_TUNING}: NCCL takes LL128 by itself only over NVLink, where it was tested; data may be corrupted"
        yield SettingCheck(name, Weight.WARN, "LL128 is not safe without NVLink", basis)
    if name == "NCCL_NVLS_ENABLE" and value == "1" and is_slow:
        yield SettingCheck(
            name, Weight.WARN, "no effect without an NVSwitch", "the NCCL documentation, NCCL_NVLS_ENABLE"
        )
    families = {capability_of(gpu) for gpu in asked.gpu_names}
    if name == "NCCL_P2P_LEVEL" and value not in ("LOC", "0") and any(found and found[0] == 12 for found in families):
        basis = "NVIDIA/nccl issue 1999, local-inference-lab/rtx6kpro issue 15: all ranks silent after Init COMPLETE"
        yield SettingCheck(name, Weight.NOTE, "boards like these have hung with P2P", basis)
    is_custom = engine == "sglang" and not asked.has("disable-custom-all-reduce")
    if name in ("NCCL_PROTO", "NCCL_ALGO") and is_custom and families and families <= _NVLINK:
        basis = "sglang custom_all_reduce.py: over NVLink small all-reduces go past NCCL"
        yield SettingCheck(name, Weight.NOTE, "touches large transfers only", basis)


def _visible(value: str, ranks: int | None, asked: Asked) -> Iterator[SettingCheck]:
    nodes = asked.count("nnodes", 1)
    named = [word for word in value.split(",") if word.strip()]
    if ranks is None or not nodes or ranks % nodes:
        return
    if len(named) < ranks // nodes:
        text = f"{len(named)} GPU{'' if len(named) == 1 else 's'} for {ranks // nodes} ranks"
        yield SettingCheck("CUDA_VISIBLE_DEVICES", Weight.BLOCK, text, "each rank takes a GPU of its own")


def _allows(value: str, word: str) -> bool:
    """The list names it as one that may be used, for some function."""
    lists = [part.rpartition(":")[2] for part in value.split(";")]
    return any(word.casefold() in part.casefold().split(",") for part in lists if not part.startswith("^"))


def _cut(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:23]}…"


def _always(_: Asked) -> bool:
    return True


def _symmetric(asked: Asked) -> bool:
    return asked.has("enable-symm-mem")


def _reducing(asked: Asked) -> bool:
    return asked.has("enable-nccl-nvls") or asked.has("enable-symm-mem")


@dataclass(frozen=True, slots=True)
class _Overwritten:
    """A variable that an engine sets itself, whatever it was."""

    engine: str
    name: str
    text: str
    basis: str
    since: str | None = None
    until: str | None = None
    with_value: str | None = None
    when: Callable[[Asked], bool] = _always


_OVERWRITTEN = (
    _Overwritten(
        "sglang",
        "NCCL_CUMEM_ENABLE",
        "overwritten: only --enable-symm-mem sets it",
        f"{_ENGINE} (0.5.2:652)",
        None,
        "0.5.2",
        "0",
    ),
    _Overwritten(
        "sglang",
        "NCCL_CUMEM_ENABLE",
        "overwritten with 1 by --enable-symm-mem",
        f"{_ENGINE} (0.5.9:808)",
        with_value="1",
        when=_symmetric,
    ),
    _Overwritten(
        "sglang",
        "NCCL_NVLS_ENABLE",
        "overwritten: only --enable-nccl-nvls sets it",
        f"{_ENGINE} (0.5.2:653)",
        None,
        "0.5.2",
        "0",
    ),
    _Overwritten(
        "sglang",
        "NCCL_NVLS_ENABLE",
        "overwritten with 1 by the flags",
        f"{_ENGINE} (0.5.9:810)",
        with_value="1",
        when=_reducing,
    ),
    _Overwritten(
        "sglang", "CUDA_DEVICE_MAX_CONNECTIONS", "overwritten with 4", f"{_ENGINE} (0.5.2:655)", None, "0.5.2", "4"
    ),
    _Overwritten(
        "sglang", "CUDA_DEVICE_MAX_CONNECTIONS", "overwritten with 8", f"{_ENGINE} (0.5.9:818)", "0.5.8", None, "8"
    ),
    _Overwritten(
        "sglang", "CUDA_MODULE_LOADING", "overwritten with AUTO", f"{_ENGINE} (0.5.9:819)", None, "0.5.18", "AUTO"
    ),
    _Overwritten("sglang", "SGLANG_RUN_ID", "overwritten", _ENGINE),
    _Overwritten(
        "sglang",
        "TRTLLM_ENABLE_PDL",
        "overwritten with 1 unless it is 0",
        f"{_ENGINE} (0.5.9:823)",
        with_value="1",
        when=lambda asked: asked.env["TRTLLM_ENABLE_PDL"].strip() != "0",
    ),
)

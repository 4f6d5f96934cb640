"""Which effects a change of flags and variables asks to be looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from k2tui.core.builds import Build
from k2tui.core.effects.checks import (
    COMPLETION,
    CONTEXT,
    ENVIRONMENT,
    GRAPHS,
    IDENTITY,
    KEY,
    METRICS,
    MODEL,
    NAME,
    RANKS,
    REASONING,
    SPECULATION,
    SPLITTERS,
    TOOLS,
    VALUE,
    words_of,
)
from k2tui.core.flags import Part, arguments, flag_value, identity

Command = tuple[Sequence[str], Mapping[str, str]]
"""argv and environment."""

_OF_FLAG: Mapping[str, str] = {
    "reasoning-parser": REASONING,
    "tool-call-parser": TOOLS,
    "context-length": CONTEXT,
    "max-model-len": CONTEXT,
    "enable-metrics": METRICS,
    "served-model-name": NAME,
    "api-key": KEY,
    "model-path": MODEL,
    **dict.fromkeys(("tp-size", "pp-size", "dp-size", "attn-dp-size", "enable-dp-attention", "nnodes"), RANKS),
    **dict.fromkeys(
        (
            *("disable-cuda-graph", "disable-decode-cuda-graph", "cuda-graph-backend-decode", "cuda-graph-config"),
            *(
                "enforce-eager",
                "cuda-graph-max-bs",
                "cuda-graph-max-bs-decode",
                "cuda-graph-bs",
                "cuda-graph-bs-decode",
            ),
        ),
        GRAPHS,
    ),
}
_BY_ITSELF = frozenset({IDENTITY, MODEL, NAME, KEY, REASONING, TOOLS, METRICS})
"""Checks that say all about their flag; of the others its resolved value is compared as well."""
_SHOWN_BY_IDENTITY = frozenset({"port", "host"})
_OWN = frozenset({"SPT_NOENV", "PYTHONUNBUFFERED"})
"""Variables that k2tui sets for its own sake."""
_ORDER = (IDENTITY, COMPLETION, MODEL, NAME, KEY, REASONING, TOOLS, GRAPHS, SPECULATION, CONTEXT, RANKS, METRICS)


@dataclass(frozen=True, slots=True)
class Wanted:
    """The effects that are to be looked at after a start."""

    checks: tuple[str, ...] = (IDENTITY, COMPLETION)
    """Names of checks, in the order in which they are done; `value FLAG` compares a resolved value."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Check to the flag (with dashes) or variable that asks for it."""
    env: Mapping[str, str | None] = field(default_factory=dict)
    """Variables to be seen in every rank's environment; None: absent."""
    words: tuple[str, ...] = ()
    """The same for an operator, a few words each."""
    defaults: Mapping[str, str | None] = field(default_factory=dict)
    """Flags (without dashes) that are no longer given, to their default in the build; None: not known."""


def wanted(old: Command | None, new: Command, *, policy: str = "diff", build: Build | None = None) -> Wanted:
    """What a start of `new` after `old` asks to be proved. policy: diff | all | none.

    The completion and the server's identity are always asked for; without an `old` everything is new.
    """
    if policy == "none":
        return _wanted({}, {}, {})
    now = _flags(new[0], build)
    before = {} if old is None or policy == "all" else _flags(old[0], build)
    changed = {name: part for name, part in now.items() if name not in before or before[name].values != part.values}
    gone = {name: _default(name, build) for name in before if name not in now}
    asked = {name: f"--{part.name}" for name, part in changed.items()}
    if not asked.keys().isdisjoint(SPLITTERS) or not gone.keys().isdisjoint(SPLITTERS):
        # what splits an answer acts on the rest that does: a reasoning parser can swallow a tool call
        asked.update({name: f"--{now[name].name}" for name in ("reasoning-parser", "tool-call-parser") if name in now})
    variables: dict[str, str | None] = {k: v for k, v in new[1].items() if k not in _OWN}
    if old is not None and policy != "all":
        variables = {k: v for k, v in variables.items() if old[1].get(k) != v}
        variables.update({k: None for k in old[1] if k not in new[1] and k not in _OWN})
    return _wanted(asked, gone, variables)


def model_names(argv: Sequence[str]) -> tuple[str, ...]:
    """The names under which these flags serve the model: the served ones, else the model's path. Empty: not known."""
    served = arguments(argv).find("served-model-name")
    if served is not None and served.values:
        return served.values
    path = flag_value(argv, "model-path")
    return () if path is None else (path,)


def _wanted(asked: Mapping[str, str], gone: Mapping[str, str | None], env: Mapping[str, str | None]) -> Wanted:
    settings: dict[str, str] = {}
    for name, flag in (*asked.items(), *((name, f"--{name}") for name in gone)):
        check = SPECULATION if name.startswith("speculative-") else _OF_FLAG.get(name)
        if check is not None and (name in asked or check in (GRAPHS, RANKS)):
            settings.setdefault(check, flag)
        if name in _SHOWN_BY_IDENTITY or (check in _BY_ITSELF and name in asked):
            continue
        settings[f"{VALUE} {name}"] = flag
    special = [check for check in _ORDER if check in (IDENTITY, COMPLETION) or check in settings]
    values = [check for check in settings if check.startswith(f"{VALUE} ")]
    checks = (*special, *values, *([ENVIRONMENT] if env else ()))
    words = [words_of(check, settings.get(check, "")) for check in (*special, *values)]
    words += [f"{name} {'gone from' if value is None else 'on'} every rank" for name, value in env.items()]
    return Wanted(checks, settings, dict(env), tuple(word for word in words if word), dict(gone))


def _flags(argv: Sequence[str], build: Build | None) -> dict[str, Part]:
    """Every flag by the name that its build gives it; the last one counts, as argparse has it."""
    names = {} if build is None else {alias: flag.name for flag in build.flags for alias in flag.aliases}
    return {identity(names.get(part.name, part.name)): part for part in arguments(argv).parts if part.name is not None}


def _default(name: str, build: Build | None) -> str | None:
    flags = () if build is None else build.flags
    return next((flag.default for flag in flags if identity(flag.name) == name), None)

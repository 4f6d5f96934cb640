"""Earlier launches of a model on a host: what a phase usually takes, and what is slower than usual."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from k2tui.core.bar_steps import target_bar
from k2tui.core.clock import placed
from k2tui.core.flags import arguments, engine_of, flag_value, identity
from k2tui.core.launch import PHASES, Bar, Launch, LaunchKind, LaunchPhase
from k2tui.core.movement import OVER
from k2tui.core.secrets import is_secret_name, masked_argv, masked_env
from k2tui.core.words import PHASE_WORDS, duration

TIMED = PHASES[: LaunchPhase.READY.order]
"""The phases on the way to ready, in order."""

_READING = frozenset((LaunchPhase.WEIGHTS, LaunchPhase.POSTPROCESS))
"""Phases whose time depends on where the weights are read from."""
_FIRST = 0.1
"""The share of a bar whose pace tells warm from cold."""
_POINTS = 3
_STEADY_S = 2.0
"""Bars count whole seconds: over less time than this a pace is chance."""
_WARM_PER_S = 0.2
"""A load of five seconds and less is warm, however fast it is."""
_NEARLY_NOTHING = 0.05
"""A share of the weights that is as good as none: reading it from disk takes no time to speak of."""
_NEWEST = 20
"""Older launches than this many say little of today's host."""
_QUARTILES_FROM = 5
_LEAST_SPREAD = 0.1
_NOTICED_S = 5.0
LONGEST_S = 30 * 86400.0
"""A phase that took longer did not: the log's clock was set, or its stamps have no year."""

_WITHOUT_TIME = frozenset(
    ("served-model-name", "chat-template", "dist-init-addr", "show-time-cost", "enable-metrics", "crash-dump-folder")
)
_ENV_WITHOUT_TIME = frozenset(
    ("CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "PYTHONUNBUFFERED", "SPT_NOENV", "NO_COLOR", "MASTER_ADDR", "HOST_IP")
)


@dataclass(frozen=True, slots=True)
class LaunchKey:
    """What makes two launches comparable."""

    host: str
    """The node's name in the config."""
    model: str
    """The model path or name as it was given to the engine."""
    engine: str | None
    config: str
    """Hash of argv and environment without what says nothing about time (ports, secrets, served name)."""


@dataclass(frozen=True, slots=True)
class PastLaunch:
    """One launch as the history keeps it."""

    run_id: str
    """The run's id; of a log that is only watched, its path and the first stamp."""
    server: str
    key: LaunchKey
    began_at: float
    """Unix time."""
    kind: LaunchKind
    """How it ended, or READY."""
    phases_s: Mapping[LaunchPhase, float] = field(default_factory=dict)
    """Seconds of each phase that came to its end."""
    ready_s: float | None = None
    """From its first line to ready; None where it did not come to that."""
    cached_share: float | None = None
    """Share of the weights in the page cache before it began, 0 to 1; None where it was not measured."""
    pace_per_s: float | None = None
    """Share of the weights loaded in a second over the first shards: what tells warm from cold without a measure."""
    version: str | None = None
    slower: tuple[LaunchPhase, ...] = ()
    """Phases that were slower than usual by a clear margin, by what was known then."""


@dataclass(frozen=True, slots=True)
class Usual:
    """What earlier launches say of one phase, in seconds."""

    low_s: float
    typical_s: float
    high_s: float
    launches: int
    same_config: bool
    """False: only launches with other flags are known."""


@dataclass(frozen=True, slots=True)
class Temperature:
    """What tells a warm load of the weights from a cold one."""

    cached_share: float | None = None
    """As of `PastLaunch`."""
    pace_per_s: float | None = None
    """As of `PastLaunch`; None until the bar has come far enough."""


@dataclass(frozen=True, slots=True)
class Slower:
    """A phase that took, or takes, longer than usual by a clear margin."""

    phase: LaunchPhase
    took_s: float
    usual: Usual
    ended: bool = True


def key_of(
    host: str, launch: Launch | None, *, argv: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> LaunchKey | None:
    """By the command where it is known, else by the arguments that its log shows; None while neither names a model."""
    args = {} if launch is None else launch.args
    model = flag_value(argv, "model-path") or args.get("model_path")
    if not model:
        return None
    if not argv:
        argv = ("engine", *(f"--{name.replace('_', '-')}={value}" for name, value in args.items()))
    engine = engine_of(argv) or (None if launch is None else launch.engine)
    return LaunchKey(host, model.rstrip("/") or model, engine, config_hash(argv, env or {}))


def config_hash(argv: Sequence[str], env: Mapping[str, str]) -> str:
    """The same for two commands whose launches take the same time, as far as their flags can tell.

    In any order of flags and in any of their spellings; without secrets, so that none can be guessed from it.
    """
    taken = arguments(masked_argv(argv))
    flags: dict[str, tuple[str, ...]] = {}
    for part in taken.parts:
        name = "" if part.name is None else identity(part.name)
        if not _says_nothing(name):
            flags[name] = (*flags.get(name, ()), *part.values) if not name else part.values
    variables = {name: value for name, value in masked_env(env).items() if not _says_nothing_env(name)}
    text = json.dumps([taken.head[-1:], sorted(flags.items()), sorted(variables.items())])
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def past_of(
    launch: Launch,
    *,
    run_id: str,
    server: str,
    key: LaunchKey,
    began_at: float,
    cached_share: float | None = None,
    pace_per_s: float | None = None,
    slower: tuple[LaunchPhase, ...] = (),
) -> PastLaunch | None:
    """The launch as the history keeps it; None while it is on its way, and where no phase was timed.

    `pace_per_s` is what was noted while it loaded: of a bar with many steps only the newest are left at the end.
    """
    ready = next((span for span in launch.spans if span.phase is LaunchPhase.READY), None)
    if ready is None and launch.kind not in OVER:
        return None
    phases_s = {
        span.phase: span.elapsed_s
        for span in launch.spans
        if span.phase in TIMED and span.elapsed_s is not None and 0 <= span.elapsed_s <= LONGEST_S
    }
    if not phases_s:
        return None
    began = launch.spans[0].began
    total = None if ready is None or ready.began is None or began is None else ready.began - began
    return PastLaunch(
        run_id=run_id,
        server=server,
        key=key,
        began_at=began_at,
        kind=launch.kind if launch.kind in OVER else LaunchKind.READY,
        phases_s=phases_s,
        ready_s=total if total is not None and 0 <= total <= LONGEST_S else None,
        cached_share=cached_share,
        pace_per_s=pace_of(target_bar(launch)) if pace_per_s is None else pace_per_s,
        version=launch.version,
        slower=slower,
    )


def pace_of(bar: Bar | None) -> float | None:
    """Share of the bar done in a second, over its first tenth (at least three steps and two seconds).

    Over the steps that are still known, where the first ones are not any more; None before it has come far enough.
    """
    if bar is None or len(bar.points) < _POINTS:
        return None
    total = bar.progress.total
    (began, first), *steps = bar.points
    for count, (at, done) in enumerate(steps, start=2):
        if count >= _POINTS and done - first >= _FIRST * total and at - began >= _STEADY_S:
            return (done - first) / total / (at - began)
    at, done = steps[-1]
    if bar.progress.done < total or done <= first:
        return None
    return (done - first) / total / max(1.0, at - began)


def is_news(past: PastLaunch, recorded: PastLaunch | None) -> bool:
    """The launch has come to something that the history does not have of it: ready, another end, a further phase."""
    return recorded is None or _outcome(past) != _outcome(recorded)


def with_measures_of(past: PastLaunch, recorded: PastLaunch | None) -> PastLaunch:
    """The launch with what only an earlier look could measure: its page cache, its first shards, its slow phases."""
    if recorded is None:
        return past
    return replace(
        past,
        cached_share=recorded.cached_share if past.cached_share is None else past.cached_share,
        pace_per_s=past.pace_per_s if recorded.pace_per_s is None else recorded.pace_per_s,
        slower=tuple(phase for phase in TIMED if phase in past.slower or phase in recorded.slower),
    )


def usual(
    past: Sequence[PastLaunch], phase: LaunchPhase, key: LaunchKey, *, like: Temperature | None = None
) -> Usual | None:
    """How long `phase` takes, by launches of the same flags, else of the same model and host with other flags.

    What reads the weights is compared with loads as warm as this one. Quartiles from five launches on, because one
    launch on a bad day must not spread the range, and because the ranges of several phases are added up: the sum of
    quartiles covers far more than half. Below five, and where warm and cold can't be told apart, all that was seen.
    Never narrower than a few launches can tell: a single one gives half to one and a half of its time.
    """
    found = _comparable(past, phase, key, like)
    if found is None or found.is_skipped:
        return None
    took, count = found.took, len(found.took)
    typical = _quantile(took, 0.5)
    outer = 0.25 if found.is_alike and count >= _QUARTILES_FROM else 0.0
    low, high = _quantile(took, outer), _quantile(took, 1 - outer)
    spread = max(_LEAST_SPREAD, 0.5 / count) if found.same_config else 0.5
    return Usual(
        low_s=min(low, typical * (1 - spread)),
        typical_s=typical,
        high_s=max(high, typical * (1 + spread)),
        launches=count,
        same_config=found.same_config,
    )


def is_skipped(past: Sequence[PastLaunch], phase: LaunchPhase, key: LaunchKey) -> bool:
    """Launches like this one went on without `phase` (graphs are off, a repack is not needed)."""
    found = _comparable(past, phase, key, None)
    return found is not None and found.is_skipped


def slower_than_usual(phase: LaunchPhase, elapsed_s: float, usual: Usual | None) -> bool:
    """By a clear margin: beyond the usual range by half, and by seconds that one would notice. Also while it lasts."""
    if usual is None or phase not in TIMED:
        return False
    return elapsed_s > max(usual.high_s * 1.5, usual.high_s + _NOTICED_S)


def slower_phases(
    launch: Launch, past: Sequence[PastLaunch], key: LaunchKey, *, like: Temperature | None, now: float | None = None
) -> tuple[Slower, ...]:
    """The phases that took clearly longer than usual, and with `now` (the node's clock) the one that takes too long.

    A load that is like no earlier one is held against all of them: that it is cold for the first time is worth saying.
    """
    now = None if now is None else now - launch.clock_ahead_s
    found = []
    for span in launch.spans:
        took, ended = span.elapsed_s, span.ended is not None
        if not ended and launch.kind is LaunchKind.LOADING:
            took = since(span.began, now)
        known = usual(past, span.phase, key, like=like) or usual(past, span.phase, key)
        if took is not None and known is not None and slower_than_usual(span.phase, took, known):
            found.append(Slower(span.phase, took, known, ended))
    return tuple(found)


def slower_sentence(slower: Slower) -> str:
    """`weights took 41 s, usually 9.4 s (7 launches)`."""
    verb = "took" if slower.ended else "not done after"
    known = slower.usual
    launches = "1 launch" if known.launches == 1 else f"{known.launches} launches"
    flags = "" if known.same_config else " with other flags"
    return (
        f"{PHASE_WORDS[slower.phase]} {verb} {duration(slower.took_s)}, "
        f"usually {duration(known.typical_s)} ({launches}{flags})"
    )


def since(began: float | None, now: float | None) -> float | None:
    """Seconds from a log's stamp to `now`; None where one of them is unknown."""
    return None if began is None or now is None else max(0.0, now - placed(began, now))


def _outcome(past: PastLaunch) -> tuple[LaunchKind, bool, frozenset[LaunchPhase]]:
    return past.kind, past.ready_s is None, frozenset(past.phases_s)


@dataclass(frozen=True, slots=True)
class _Comparable:
    took: tuple[float, ...]
    """Sorted seconds of the launches that had the phase."""
    launches: int
    """With those that went on without it."""
    same_config: bool
    is_alike: bool
    """Warm and cold loads are not mixed in it."""

    @property
    def is_skipped(self) -> bool:
        return 2 * len(self.took) < self.launches or not self.took


def _comparable(
    past: Sequence[PastLaunch], phase: LaunchPhase, key: LaunchKey, like: Temperature | None
) -> _Comparable | None:
    """The newest launches that passed `phase`; None when none did that may be compared."""
    for same_config in (True, False):
        group = [
            one
            for one in past
            if (one.key.host, one.key.model) == (key.host, key.model)
            and (one.key.config == key.config) is same_config
            and (one.key.engine == key.engine or None in (one.key.engine, key.engine))
            and _passed(one, phase)
        ]
        is_alike = True
        if phase in _READING:
            group, is_alike = _as_warm(group, like, phase)
        group = group[:_NEWEST]
        if group:
            took = sorted(one.phases_s[phase] for one in group if phase in one.phases_s)
            return _Comparable(tuple(took), len(group), same_config, is_alike)
    return None


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _passed(one: PastLaunch, phase: LaunchPhase) -> bool:
    return one.ready_s is not None or any(other.order >= phase.order for other in one.phases_s)


def _as_warm(group: list[PastLaunch], like: Temperature | None, phase: LaunchPhase) -> tuple[list[PastLaunch], bool]:
    """(those that loaded as this one does, else those of which nobody knows; whether that is sure)."""
    if like is None:
        return group, False
    told = [(one, _is_like(one, like)) for one in group]
    if alike := [one for one, answer in told if answer]:
        return alike, True
    unknown = [one for one, answer in told if answer is None]
    # A repack waits for reading ranks at times, and is mostly work: another load's says something.
    return unknown or ([] if phase is LaunchPhase.WEIGHTS else group), False


def _is_like(one: PastLaunch, like: Temperature) -> bool | None:
    """As warm as that; None where nothing tells."""
    if one.cached_share is not None and like.cached_share is not None:
        return _within_twice(max(_NEARLY_NOTHING, 1 - one.cached_share), max(_NEARLY_NOTHING, 1 - like.cached_share))
    took = one.phases_s.get(LaunchPhase.WEIGHTS)
    pace = one.pace_per_s or (None if took is None else 1 / max(1.0, took))
    if pace is None or like.pace_per_s is None:
        return None
    return _within_twice(min(pace, _WARM_PER_S), min(like.pace_per_s, _WARM_PER_S))


def _within_twice(one: float, other: float) -> bool:
    return one <= 2 * other and other <= 2 * one


def _says_nothing(name: str) -> bool:
    """A flag that changes no launch's time: where it listens, what it is called, what it prints, how it parses."""
    words = name.split("-")
    return (
        name in _WITHOUT_TIME
        or words[-1] in ("port", "host", "parser")
        or not {"log", "logging", "ssl"}.isdisjoint(words)
        or is_secret_name(f"--{name}")
    )


def _says_nothing_env(name: str) -> bool:
    words = name.upper().split("_")
    return name in _ENV_WITHOUT_TIME or not {"PORT", "LOG", "LOGGING"}.isdisjoint(words) or is_secret_name(name)

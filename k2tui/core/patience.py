"""How long a launch may be silent where it is: by its phase, its own pace, and what it took here before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from k2tui.core.bar_steps import target_bar
from k2tui.core.history import Usual, usual
from k2tui.core.launch import Launch, LaunchPhase
from k2tui.core.surroundings import NOTHING_KNOWN, Surroundings

LIMITS_S: Mapping[LaunchPhase, float] = {
    LaunchPhase.ARGS: 300.0,
    LaunchPhase.DISTRIBUTED: 120.0,
    LaunchPhase.WEIGHTS: 120.0,
    LaunchPhase.POSTPROCESS: 300.0,
    LaunchPhase.KV_CACHE: 300.0,
    LaunchPhase.CUDA_GRAPH: 300.0,
    LaunchPhase.WARMUP: 120.0,
    LaunchPhase.READY: 120.0,
    LaunchPhase.SERVING: 300.0,
}
"""How long a phase may be silent at least, whatever its own pace was."""

_GAPS = 6.0
"""A silence this many times as long as the longest before it is no pause any more."""
_SLOW_WORK_S = 1200.0
"""Compilations of kernels are silent for many minutes."""
_BAR_TIMES = 2.0
"""Repacking the weights may take this many times as long as reading them did."""
_PAST_TIMES = 2.0
"""A phase may be silent for this many times as long as it took here at most."""
_HAS_BAR = (LaunchPhase.WEIGHTS, LaunchPhase.CUDA_GRAPH)


@dataclass(frozen=True, slots=True)
class Limit:
    """The end of patience, and the rule that set it."""

    seconds: float
    by: str


def limit_of(launch: Launch, around: Surroundings = NOTHING_KNOWN) -> Limit:
    """How long the launch may be silent where it is: the longest that any rule grants."""
    phase = launch.phase
    found = [Limit(LIMITS_S[phase], "what this phase gets at least")]
    if phase in _HAS_BAR:
        found.append(Limit(_GAPS * launch.largest_gap_s, f"{_GAPS:g} x its longest pause so far"))
    if phase is LaunchPhase.POSTPROCESS and (bar := target_bar(launch)) is not None:
        found.append(Limit(_BAR_TIMES * (bar.elapsed_s or 0), f"{_BAR_TIMES:g} x the load's own time"))
    if not _steps(launch) and (past := usual_of(launch, around)) is not None:
        found.append(Limit(_PAST_TIMES * past.high_s, f"{_PAST_TIMES:g} x its usual {past.high_s:.0f} s here"))
    if launch.slow_work:
        found.append(Limit(_SLOW_WORK_S, "it says that it compiles"))
    if phase is LaunchPhase.CUDA_GRAPH and launch.args.get("enable_torch_compile") == "True":
        found.append(Limit(_SLOW_WORK_S, "torch.compile is on"))
    if around.moving is not None and around.moving.compilers:
        found.append(Limit(_SLOW_WORK_S, "compilers run"))
    return max(found, key=lambda limit: limit.seconds)


def usual_of(launch: Launch, around: Surroundings) -> Usual | None:
    """What the launch's phase took on this host before; None where that is not known.

    Without a key the newest launch's stands for it: all of them are of this model on this host.
    """
    return usual(around.past, launch.phase, around.key or around.past[0].key) if around.past else None


def _steps(launch: Launch) -> bool:
    """A bar moves in this phase: its steps say more than how long the whole phase took before."""
    return any(
        bar.phase is launch.phase and not bar.draft and 0 < bar.progress.done < bar.progress.total
        for bar in launch.bars
    )

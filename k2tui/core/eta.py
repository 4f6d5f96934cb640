"""How long it still takes, as a range: by earlier launches phase by phase, by the slope of the bar that runs.

Never by the bar's own word, which jumps with every burst.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from k2tui.core.bar_steps import target_bar
from k2tui.core.byte_progress import bytes_points
from k2tui.core.checkpoint import Checkpoint
from k2tui.core.history import TIMED, LaunchKey, Temperature, Usual, is_skipped, pace_of, since, usual
from k2tui.core.launch import PHASES, Bar, Launch, LaunchKind, LaunchPhase
from k2tui.core.surroundings import Surroundings

_POINTS = 3
_WINDOW_S = 600.0


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds from now on, as a range."""

    low_s: float
    high_s: float
    to: LaunchPhase
    """READY; by the bar alone, the present phase: it is the time to the end of its bar."""
    basis: str
    """history | bar."""
    launches: int = 0
    """How many earlier launches it is from, where the fewest are known."""
    same_config: bool = False
    """False: some of it is only known from launches with other flags, or there is no history."""


def time_left(launch: Launch, around: Surroundings, now: float | None) -> TimeLeft | None:
    """From `now` (the node's clock) to ready, phase by phase; to the bar's end where earlier launches don't say.

    None once it is ready or over, and where neither a bar of three steps nor a history says anything.
    """
    if launch.kind is not LaunchKind.LOADING:
        return None
    now = None if now is None else now - launch.clock_ahead_s
    bar = _running_bar(launch)
    by_bar = None if bar is None else bar_left(bar, now, around.checkpoint)
    key = around.key
    if key is not None and launch.phase in TIMED and (left := _to_ready(launch, around, key, now, by_bar)) is not None:
        return left
    return None if by_bar is None else TimeLeft(*by_bar, to=launch.phase, basis="bar")


def temperature(launch: Launch, checkpoint: Checkpoint | None) -> Temperature:
    """How warm this load of the weights is, as far as anything tells.

    `checkpoint` was looked at before the load began: afterwards its share of the page cache is of the load's making.
    """
    return Temperature(None if checkpoint is None else checkpoint.cached_share, pace_of(target_bar(launch)))


def eta_s(bar: Bar | None) -> tuple[float, float] | None:
    """(low, high) seconds from the bar's newest step on, by the slopes between its steps; None below three steps."""
    return None if bar is None else bar_left(bar, None, None)


def bar_left(bar: Bar, now: float | None, checkpoint: Checkpoint | None) -> tuple[float, float] | None:
    """(low, high) seconds to the bar's end from `now` on (its newest step where that is None).

    A bar that stands still for longer than ever before loses that time: its high end grows by it.
    """
    points = _shares(bar, checkpoint)
    if bar.progress.done == bar.progress.total or len(points) < _POINTS:
        return None
    newest = points[-1][0]
    points = [(at, share) for at, share in points if 0 <= newest - at <= _WINDOW_S]
    slopes = sorted(
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for earlier, later in combinations(points, 2)
        if later[0] > earlier[0] and later[1] > earlier[1]
    )
    if len(points) < _POINTS or not slopes or slopes[0] <= 0:
        return None
    left = max(0.0, 1.0 - points[-1][1])
    low, high = left / slopes[-1 - len(slopes) // 4], left / slopes[len(slopes) // 4]
    passed = since(newest, now) or 0.0
    longest = max(0.0, *(later[0] - earlier[0] for earlier, later in pairwise(points)))
    stalled = max(0.0, passed - longest)
    return max(0.0, low - passed), max(0.0, high - (passed - stalled)) + stalled


def _shares(bar: Bar, checkpoint: Checkpoint | None) -> list[tuple[float, float]]:
    """(log clock, share done) of the bar's steps, by bytes where its shards are known."""
    if checkpoint is not None and bar.progress.bytes_total:
        total = bar.progress.bytes_total
        if points := bytes_points(bar, checkpoint):
            return [(at, size_bytes / total) for at, size_bytes in points]
    return [(at, done / bar.progress.total) for at, done in bar.points]


def _running_bar(launch: Launch) -> Bar | None:
    """The newest bar of the present phase that has not come to its end; of the weights, the served model's."""
    bars = (target_bar(launch),) if launch.phase is LaunchPhase.WEIGHTS else reversed(launch.bars)
    running = (bar for bar in bars if bar is not None and bar.progress.done < bar.progress.total)
    return next((bar for bar in running if bar.phase is launch.phase), None)


def _to_ready(
    launch: Launch, around: Surroundings, key: LaunchKey, now: float | None, by_bar: tuple[float, float] | None
) -> TimeLeft | None:
    """None where a phase on the way is not known from any launch that may be compared."""
    past, like = around.past, temperature(launch, around.checkpoint)
    known: list[Usual] = []
    here = usual(past, launch.phase, key, like=like)
    elapsed = since(launch.spans[-1].began, now) if launch.spans else None
    if here is not None:
        known.append(here)
        low, high = _joined(launch.phase, _left_of(here, elapsed), by_bar)
    elif by_bar is not None:
        low, high = by_bar
    elif is_skipped(past, launch.phase, key):
        low, high = 0.0, elapsed or 0.0
    else:
        return None
    for phase in PHASES[launch.phase.order + 1 : LaunchPhase.READY.order]:
        coming = usual(past, phase, key, like=like)
        if coming is not None:
            known.append(coming)
            low, high = low + coming.low_s, high + coming.high_s
        elif not is_skipped(past, phase, key):
            return None
    if not known:
        return None
    return TimeLeft(
        low,
        high,
        to=LaunchPhase.READY,
        basis="history",
        launches=min(one.launches for one in known),
        same_config=all(one.same_config for one in known),
    )


def _left_of(usual: Usual, elapsed_s: float | None) -> tuple[float, float]:
    """What is left of a phase. One that overruns its time may take as long again as it is late: nobody knows more."""
    if elapsed_s is None:
        return 0.0, usual.high_s
    return max(0.0, usual.low_s - elapsed_s), max(usual.high_s - elapsed_s, elapsed_s - usual.typical_s)


def _joined(phase: LaunchPhase, history: tuple[float, float], by_bar: Sequence[float] | None) -> tuple[float, float]:
    """The rest of the present phase, where a bar says something too."""
    if by_bar is None:
        return history
    low, high = max(history[0], by_bar[0]), min(history[1], by_bar[1])
    if phase is not LaunchPhase.WEIGHTS:  # graphs and kernels have several bars in a row: one of them is the least
        return low, max(history[1], by_bar[1])
    # The bar sees this load; where the two have nothing in common it is right.
    return (low, high) if low <= high else (by_bar[0], by_bar[1])

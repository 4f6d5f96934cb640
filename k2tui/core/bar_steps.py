"""How progress bars move a launch."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from k2tui.core.launch import BAR_POINTS, Bar, Launch, LaunchPhase, Mark, Progress
from k2tui.core.movement import OVER, marked, move_to

if TYPE_CHECKING:
    from k2tui.core.facts import BarDrawn

_BARS = 64
_WEIGHT_UNITS = frozenset(("shards", "tensors", "groups"))
"""What bars of weights count; others are drawn meanwhile, such as of layers that are quantized."""


def all_drawn(launch: Launch) -> bool:
    """Every weight bar of the served model stands at 100 %; also true when there is none."""
    return all(bar.progress.done == bar.progress.total for bar in launch.bars if _of_target(bar))


def target_bar(launch: Launch) -> Bar | None:
    """The weight bar of the served model, not of its draft; None where the log has none."""
    return next((bar for bar in launch.bars if _of_target(bar)), None)


def _of_target(bar: Bar) -> bool:
    return bar.phase is LaunchPhase.WEIGHTS and not bar.draft and bar.progress.unit in _WEIGHT_UNITS


def drawn(launch: Launch, fact: BarDrawn, now: float | None) -> Launch:
    """The launch after a bar was drawn."""
    progress = fact.progress
    phase = fact.phase or launch.phase
    if progress.unit == "items":
        unit = "samples" if launch.is_job else "graphs" if launch.phase is LaunchPhase.CUDA_GRAPH else "items"
        progress = replace(progress, unit=unit)
        if launch.is_job:
            phase = LaunchPhase.SERVING
    index = _same_bar(launch.bars, progress)
    if index is None:
        bar = Bar(progress, phase, launch.drafting and phase is LaunchPhase.WEIGHTS, fact.elapsed_s)
        bar = _stepped(bar, progress, now)
        bars = _bounded((*launch.bars, bar))
        advanced = True
    else:
        old = launch.bars[index]
        advanced = progress.done > old.progress.done
        bar = replace(old, progress=progress, elapsed_s=fact.elapsed_s)
        bar = _stepped(bar, progress, now) if advanced else bar
        bars = (*launch.bars[:index], bar, *launch.bars[index + 1 :])
    launch = replace(launch, bars=bars)
    if launch.kind not in OVER:
        launch = _bar_moves(launch, bar, fact, now, advanced=advanced)
    return replace(launch, progress=shown_progress(launch, progress))


def _bar_moves(launch: Launch, bar: Bar, fact: BarDrawn, now: float | None, *, advanced: bool) -> Launch:
    if advanced:
        launch = marked(launch, fact.line, now, is_bar=True)
    elif launch.mark is not None and launch.mark.is_bar:
        launch = replace(launch, mark=Mark(fact.line.text, fact.line.number, fact.line.rank, is_bar=True))
    if launch.phase.order >= LaunchPhase.READY.order or bar.draft:
        return launch
    launch = move_to(launch, bar.phase, now)
    if _of_target(bar) and all_drawn(launch):
        launch = move_to(launch, LaunchPhase.POSTPROCESS, now)
    return launch


def _same_bar(bars: tuple[Bar, ...], progress: Progress) -> int | None:
    """The bar that was redrawn: no bar goes back, so it is the one that stood closest below.

    None when all of the same words have come farther: then it is the bar of a second pass, or of another process.
    """
    best: int | None = None
    for place, bar in enumerate(bars):
        other = bar.progress
        if (other.label, other.total) != (progress.label, progress.total) or other.done > progress.done:
            continue
        if best is None or other.done >= bars[best].progress.done:
            best = place
    return best


def _stepped(bar: Bar, progress: Progress, now: float | None) -> Bar:
    if now is None:
        return bar
    return replace(bar, points=(*bar.points[1 - BAR_POINTS :], (now, progress.done)))


def _bounded(bars: tuple[Bar, ...]) -> tuple[Bar, ...]:
    if len(bars) <= _BARS:
        return bars
    drop = next(place for place, bar in enumerate(bars) if bar.phase is not LaunchPhase.WEIGHTS or place > 4)
    return (*bars[:drop], *bars[drop + 1 :])


def shown_progress(launch: Launch, newest: Progress) -> Progress:
    """Until ready the newest bar; from ready on the served model's weights, which is what there is to say."""
    if launch.phase.order < LaunchPhase.READY.order or launch.is_job:
        return newest
    bar = target_bar(launch)
    return newest if bar is None else bar.progress

"""How a launch moves: marks of progress, and phases that only go forward."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from k2tui.core.clock import is_yearless
from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase, Mark, PhaseSpan

if TYPE_CHECKING:
    from k2tui.core.facts import Line

OVER = (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED, LaunchKind.STOPPED)
"""Kinds that nothing of the same start comes after."""
ONLY_RANK = "rank 0"
"""The name of the one rank of a server that prints none; workers without a number go by their process."""
BACK_S = 300.0
"""Lines of several processes are out of order by less; beyond it a clock was set, or a stamp is not true."""
_MARKS_BACK = 3


def cause_of(line: Line, failure: str) -> Cause:
    """The line as a cause of that failure class."""
    return Cause(line.text, line.number, line.rank, failure)


def reach(launch: Launch, phase: LaunchPhase, line: Line, now: float | None) -> Launch:
    """A marker of `phase`: the launch is at least there."""
    launch = marked(launch, line, now)
    if line.rank is not None and launch.rank_phases.get(line.rank, LaunchPhase.ARGS).order <= phase.order:
        launch = replace(
            launch,
            ranks_seen=launch.ranks_seen | {line.rank},
            rank_phases={**launch.rank_phases, line.rank: phase},
        )
    return move_to(launch, phase, now)


def move_to(launch: Launch, phase: LaunchPhase, now: float | None) -> Launch:
    """The launch in `phase`, unless it has come that far already, or has ended.

    What the main process survived until then explains no later failure.
    """
    if launch.kind in OVER or phase.order < launch.phase.order or (launch.spans and phase is launch.phase):
        return launch
    spans = launch.spans
    if spans and spans[-1].ended is None:
        spans = (*spans[:-1], replace(spans[-1], ended=now))
    return replace(
        launch,
        phase=phase,
        spans=(*spans, PhaseSpan(phase, now, None)),
        largest_gap_s=0.0,
        slow_work=False,
        suspects=tuple(suspect for suspect in launch.suspects if suspect.fatal or suspect.cause.rank is not None),
    )


def marked(launch: Launch, line: Line, now: float | None, *, is_bar: bool = False) -> Launch:
    """The line shows real progress."""
    if launch.kind in OVER:
        return launch
    serves = launch.phase.order >= LaunchPhase.READY.order and not launch.is_job
    before = launch.quiet_since
    quiet_since, marks_back = _quiet_since(launch, now)
    gap_s = 0.0 if serves else _gap_s(before, now)
    if before is not None and quiet_since is not None and quiet_since < before:
        launch = without_jump(launch, before - quiet_since)
    return replace(
        launch,
        mark=Mark(line.text, line.number, line.rank, is_bar),
        quiet_since=quiet_since,
        marks_back=marks_back,
        largest_gap_s=max(launch.largest_gap_s, gap_s),
        waiting=None,
        health_failed=None,
        detail=None,
    )


def without_jump(launch: Launch, back_s: float) -> Launch:
    """A clock that is so much earlier after all: a pause as long as that was none."""
    return replace(launch, largest_gap_s=0.0) if launch.largest_gap_s >= back_s else launch


def _quiet_since(launch: Launch, now: float | None) -> tuple[float | None, int]:
    """(the newest mark, how many in a row were minutes before it): after several of these the log's clock was set."""
    newest = launch.quiet_since
    if now is None:
        return newest, launch.marks_back
    if newest is None or now >= newest - BACK_S:
        return now if newest is None else max(now, newest), 0
    marks_back = launch.marks_back + 1
    return (newest, marks_back) if marks_back < _MARKS_BACK else (now, 0)


def _gap_s(before: float | None, now: float | None) -> float:
    """Seconds between two marks; none between a stamp without a year and one with it."""
    if before is None or now is None or is_yearless(before) is not is_yearless(now):
        return 0.0
    return now - before

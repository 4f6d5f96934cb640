"""How a launch moves: marks of progress, and phases that only go forward."""

from __future__ import annotations

from dataclasses import replace

from k2tui.core.facts import Line
from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase, Mark, PhaseSpan

OVER = (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED, LaunchKind.STOPPED)
"""Kinds that nothing of the same start comes after."""


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
    gap = 0.0 if serves or now is None or launch.quiet_since is None else now - launch.quiet_since
    quiet_since = launch.quiet_since if now is None else max(now, launch.quiet_since or now)
    return replace(
        launch,
        mark=Mark(line.text, line.number, line.rank, is_bar),
        quiet_since=quiet_since,
        largest_gap_s=max(launch.largest_gap_s, gap),
        waiting=None,
        health_failed=None,
        detail=None,
    )

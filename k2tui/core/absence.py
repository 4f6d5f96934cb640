"""What happened while nobody looked."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.events import Event

SHORTEST_S = 600.0
"""Who was away for less has missed nothing worth a word."""


@dataclass(frozen=True, slots=True)
class Absence:
    """The time from when the last k2tui on this machine looked until this one began."""

    left_at: float
    """Unix time."""
    back_at: float
    events: tuple[Event, ...] = ()
    """What the nodes kept of it, oldest first: restarts, crashes, GPU errors, work done."""
    complete: bool = False
    """All nodes were asked."""

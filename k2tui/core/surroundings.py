"""What is known of a launch beside its log, its process and its probes."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.activity import Moving
from k2tui.core.checkpoint import Checkpoint
from k2tui.core.history import LaunchKey, PastLaunch


@dataclass(frozen=True, slots=True)
class Surroundings:
    """All of it is optional: what is missing makes a reading less sharp, never wrong."""

    checkpoint: Checkpoint | None = None
    past: tuple[PastLaunch, ...] = ()
    """Earlier launches of this model on this host, newest first; same flags and others."""
    key: LaunchKey | None = None
    """What the launch is compared with earlier ones by; None while nothing names its model."""
    moving: Moving | None = None
    """The newest look at what moves, while it is silent; None when nobody looked."""


NOTHING_KNOWN = Surroundings()

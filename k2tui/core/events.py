"""What happened, for the events list and the plain commands' streams."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Severity(Enum):
    """How loud an event is."""

    INFO = "info"
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, said in one sentence."""

    at: float
    """time.time() of this machine."""
    subject: str
    """A node's or a server's name; empty for k2tui itself."""
    text: str
    severity: Severity = Severity.INFO

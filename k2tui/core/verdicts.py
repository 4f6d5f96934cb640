"""What was proved of a launch, flag by flag, and what the run's directory keeps of that."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Outcome(Enum):
    """What is known of an effect."""

    PROVED = "proved"
    NOT_PROVED = "not proved"
    """It was looked at, and it is not there."""
    NO_EFFECT = "no effect"
    """This version takes the flag and does nothing with it."""
    CANNOT = "cannot be proved"
    """It could not be looked at, or this can't be seen from outside."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One effect that was asked for."""

    check: str
    """Which check looked: completion | identity | reasoning | tools | graphs | ..."""
    outcome: Outcome
    text: str
    """One sentence with what was seen: `reasoning apart from content, in stream and in one piece`."""
    setting: str | None = None
    """The flag (with dashes) or variable that asked for it."""


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """What was found out of a run after its launch; on the node in the run's directory, cached on this side."""

    verified: bool
    """A real answer came, of the server that was launched, and no effect that was asked for is missing."""
    at: float
    """Unix time of the operator's clock."""
    text: str
    """One sentence."""
    effects: tuple[Effect, ...] = ()
    version: str | None = None
    """Of the engine."""
    modified: tuple[str, ...] | None = None
    """Files of the engine that are not as they were installed; None: not known."""

"""Why a launch is silent, in different words: healthy, slow, stalled, hung."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class SilenceWord(Enum):
    """What a silence is."""

    HEALTHY = "healthy"
    """Inside the limit of its phase: such phases are silent."""
    SLOW = "slow"
    """It moves, with pauses longer than one likes."""
    STALLED = "stalled"
    """Beyond the limit, while something on the node still moves."""
    HUNG = "hung"
    """Beyond the limit, its process lives, and nothing was seen to move."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A launch without progress, judged."""

    word: SilenceWord
    limit_s: float
    """How long it may be silent here."""
    limit_by: str
    """Where that limit is from, in a few words."""
    seen: tuple[str, ...] = ()
    """What moved or stood still, in words; beyond the limit also that counters were not seen. Empty: nobody looked."""
    behind: tuple[str, ...] = ()
    """Ranks that the others wait for."""
    gives_up: str | None = None
    """Who ends it when nothing comes: `the barrier after loading`."""
    gives_up_at: float | None = None
    """When, on the log's clock as the log prints it: `clock.placed` gives a stamp without a year its year."""

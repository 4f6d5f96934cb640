"""Two sets of benchmarks side by side: what can be said, and what may not be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Answer(Enum):
    """The verdict on B against A."""

    FASTER = "faster"
    SLOWER = "slower"
    SAME = "no difference"
    """The interval lies inside of ±2 %."""
    INCONCLUSIVE = "inconclusive"
    NONE = "no verdict"
    """They may not be compared: unequal work, or nothing valid."""


@dataclass(frozen=True, slots=True)
class Changed:
    """One difference of the two systems."""

    name: str
    """A flag with dashes, a variable, or a part of the system: `engine`, `version`, `gpus`."""
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One figure of both sides."""

    name: str
    """As in the result: decode_tps, ttft_any_ms, agg_tps_steady at c."""
    label: str
    """With unit and what it is: `tok/s of one stream, without prefill`."""
    a: float | None
    b: float | None
    bigger_is_better: bool
    why_missing: str | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """B against A."""

    answer: Answer
    sentence: str
    """The whole verdict for a person, with interval, basis and what would decide it."""
    ratio: float | None = None
    """B over A."""
    low: float | None = None
    high: float | None = None
    """95 % interval of the ratio."""
    basis: str | None = None
    """`restarts` (Welch on logs over the values of single starts) | `requests` (bootstrap within one start each:
    indicative only)."""
    restarts_a: int = 0
    restarts_b: int = 0
    more_restarts: int | None = None
    """How many more restarts of each would decide it with 80 % power; None: it is decided, or can't be said."""
    changes: tuple[Changed, ...] = ()
    confounded: bool = False
    """More than one thing changed: the difference can't be put down to one of them."""
    rows: tuple[MetricRow, ...] = ()
    left_out: tuple[str, ...] = ()
    """Runs that were not counted, with the gate that is red; a sentence each."""

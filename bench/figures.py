"""A figure with its limit, and the table that they make."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One thing that was measured. A limit of None is none: the figure is only shown."""

    what: str
    measured: float | None
    """None: it could not be measured; that is a failure, unless it is optional."""
    unit: str
    limit: float | None = None
    at_least: bool = False
    """The limit is a floor instead of a ceiling."""
    note: str = ""
    optional: bool = False
    """It needs something that not every machine has; the note says what."""

    @property
    def ok(self) -> bool:
        if self.measured is None:
            return self.optional
        if self.limit is None:
            return True
        return self.measured >= self.limit if self.at_least else self.measured <= self.limit


Measurement = Callable[[], Iterable[Figure]]


def show(figures: Iterable[Figure]) -> int:
    """Print each figure as it comes; how many are past their limit."""
    past = 0
    print(f"{'':4} {'measured':>14} {'limit':>14}  what")
    for figure in figures:
        past += not figure.ok
        limit = "" if figure.limit is None else f"{'≥' if figure.at_least else '≤'} {number(figure.limit)}"
        measured = "—" if figure.measured is None else f"{number(figure.measured)} {figure.unit}"
        note = f" ({figure.note})" if figure.note else ""
        print(f"{'ok' if figure.ok else 'FAIL':4} {measured:>14} {limit:>14}  {figure.what}{note}")
        sys.stdout.flush()
    return past


def number(value: float) -> str:
    """Enough digits to compare, no more."""
    if value >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.3g}"


def percentile(values: list[float], percent: float) -> float:
    """The value that `percent` of the values do not pass (nearest rank)."""
    return sorted(values)[max(1, math.ceil(len(values) * percent / 100)) - 1]

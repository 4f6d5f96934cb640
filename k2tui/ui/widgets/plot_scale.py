"""Figures in units that can be read: what an axis counts in, where it ends, and its round ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from k2tui.core.words import UNKNOWN
from k2tui.ui import present

_UNITS: Mapping[str, tuple[tuple[float, float, str], ...]] = {
    "tokens": ((0.0, 1.0, "tok/s total"),),
    "requests": ((0.0, 1.0, ""),),
    "fraction": ((0.0, 0.01, "%"),),
    "percent": ((0.0, 1.0, "%"),),
    "seconds": ((0.0, 0.001, "ms"), (10.0, 1.0, "s")),
    "mib": ((0.0, 1024.0, "GiB"),),
    "watts": ((0.0, 1.0, "W"),),
    "celsius": ((0.0, 1.0, "C"),),
    "bytes": ((0.0, 1e6, "MB"), (1e9, 1e9, "GB"), (1e13, 1e12, "TB")),
    "bytes_per_s": ((0.0, 1e3, "kB/s"), (2e6, 1e6, "MB/s"), (1e10, 1e9, "GB/s")),
}
"""Kind of a quantity to (from this top on, what is divided by, the unit's word)."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One y axis. `floor` and `top` are in the unit of the readings, ticks and labels in that of the axis."""

    floor: float
    top: float
    divisor: float
    unit: str
    step: float
    """Between two ticks, in the axis's unit."""

    def height(self, value: float, dots: int) -> int:
        """The dot of a value, 0 at the bottom; what lies outside is drawn at the edge."""
        share = (value - self.floor) / (self.top - self.floor)
        return min(dots - 1, max(0, int(share * (dots - 1) + 0.5)))

    def ticks(self) -> list[tuple[float, str]]:
        """(value in the unit of the readings, label), from below."""
        count = int((self.top - self.floor) / self.divisor / self.step + 1e-6)
        first = math.ceil(self.floor / self.divisor / self.step - 1e-9)
        return [
            (number * self.step * self.divisor, tick_label(number * self.step, self.step))
            for number in range(first, first + count + 1)
            if number * self.step * self.divisor <= self.top * (1 + 1e-9)
        ]

    def words(self, value: float | None, *, unit: bool = True) -> str:
        """`1 284 tok/s total`, with figures enough for the axis."""
        if value is None:
            return UNKNOWN
        shown = value / self.divisor
        digits = 0 if abs(shown) >= 100 or self.step >= 10 else 1
        if self.unit == "" or (self.unit == "%" and self.step >= 1):
            digits = 0
        return present.number(shown, self.unit if unit else "", digits=digits)


def tick_label(value: float, step: float) -> str:
    """`0`, `0.5`, `1 500`, `12k`: at most six columns up to a hundred million."""
    if step >= 1000 and value >= 10_000:
        return f"{value / 1000:g}k" if value < 1e6 else f"{value / 1e6:g}M"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return present.number(value, digits=digits)


def round_step(wanted: float) -> float:
    """The next of 1, 2, 5, 10, 20 … that is not smaller."""
    power = 10.0 ** math.floor(math.log10(wanted))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= wanted * (1 - 1e-9))


def scale_for(
    kind: str, values: Iterable[float | None], rows: int, *, floor: float = 0.0, top: float | None = None
) -> Scale:
    """The axis for these figures in a plot of so many rows. It begins at `floor`, and ends at `top` where that is
    known, else at a round value above the greatest."""
    highest = max((value for value in values if value is not None), default=0.0)
    if kind == "fraction":
        top = 1.0 if top is None else top
    reach = max(highest, floor) if top is None else max(top, highest)
    units = _UNITS[kind]
    divisor, unit = next((divisor, unit) for above, divisor, unit in reversed(units) if reach >= above)
    if reach <= floor + divisor / 1000:
        reach = floor + divisor
    least = 1.0 if unit == "" else 0.0
    step = max(least, round_step((reach - floor) / divisor / max(1, (rows + 1) // 3)))
    if top is None:
        reach = floor + max(1, math.ceil((reach - floor) / divisor / step - 1e-9)) * step * divisor
    return Scale(floor, reach, divisor, unit, step)

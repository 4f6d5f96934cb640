"""The newest minutes of figures that come together, in little memory."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import cast

from k2tui.core.series import SECONDS_STEP_S, Samples, SeriesKey

KEPT_STEPS = 300
"""Ten minutes."""
_LONGEST_HOLD = 16
"""A reading stands for at most half a minute before it."""
_BACK = 5
"""Steps by which time may go back by mere rounding; more, and the clock was set."""
_NOTHING = float("nan")
_MOST = 3e38


class SeriesRing:
    """Rows of figures, one a step of two seconds of unix time; a row that nobody wrote is unknown.

    Figures are never negative. A reading stands for all the time since the one before it, as long as readings come at
    about the same pace: a node that is looked at every ten seconds has no gaps of eight. A longer pause is a gap.
    """

    def __init__(self, keys: Sequence[SeriesKey]) -> None:
        self.keys = tuple(keys)
        self.newest: int | None = None
        """The step of the last row: unix time in whole steps; None before the first."""
        self.oldest = 0
        """The first step that was written since the ring was last empty."""
        self.written_to = 0
        """The first step that the store has not got yet; see `written`."""
        self._width = len(self.keys)
        self._empty = array("f", [_NOTHING] * self._width)
        self._figures = self._empty * KEPT_STEPS
        self._pace = 1

    @property
    def first_held(self) -> int:
        """The first step that the ring still holds."""
        return self.oldest if self.newest is None else max(self.oldest, self.newest + 1 - KEPT_STEPS)

    def put(self, step: int, row: Sequence[float | None]) -> None:
        """The figures of this step, in the order of the keys."""
        try:
            figures = array("f", cast("Sequence[float]", row))  # None is rare, and refused
        except TypeError:
            figures = array("f", [_NOTHING if figure is None else figure for figure in row])
        newest = self.newest
        if newest is None or not newest - _BACK <= step < newest + KEPT_STEPS:
            self._figures = self._empty * KEPT_STEPS
            self.newest = self.oldest = self.written_to = step
            self._set(step, figures)
            return
        apart = step - newest
        if apart > 1:
            steady = apart <= min(_LONGEST_HOLD, max(2, self._pace * 3 // 2))
            for between in range(newest + 1, step):
                self._set(between, figures if steady else self._empty)
        if apart > 0:
            self._pace = min(apart, _LONGEST_HOLD)
            self.newest = step
        self._set(max(step, newest), figures)

    def written(self, end: int) -> None:
        """The store has everything up to step `end`, as far as there was anything."""
        if self.newest is not None:
            self.written_to = max(self.written_to, min(end, self.newest + 1))

    def held(self, column: int, first: int, end: int) -> Samples:
        """What the ring holds of one series from step `first` up to `end`."""
        newest = -1 if self.newest is None else self.newest
        return self.samples(column, max(first, self.first_held), min(end, newest + 1))

    def samples(self, column: int, first: int, end: int) -> Samples:
        """One series from step `first` up to `end`; what the ring does not hold is unknown."""
        start, stop = max(first, self.first_held), min(end, first if self.newest is None else self.newest + 1)
        figures: list[float | None] = []
        if start < stop:
            whole = self._figures[column :: self._width]
            left, right = start % KEPT_STEPS, (stop - 1) % KEPT_STEPS + 1
            held = whole[left:right] if left < right else whole[left:] + whole[:right]
            figures = [figure if 0 <= figure <= _MOST else None for figure in held]
            figures = [None] * (start - first) + figures + [None] * (end - stop)
        else:
            figures = [None] * max(0, end - first)
        return Samples(self.keys[column], first * SECONDS_STEP_S, SECONDS_STEP_S, tuple(figures))

    def recent(self, column: int, steps: int, now: int) -> Samples | None:
        """The newest so many steps; None where they hold nothing. They end now, or with the reading that is due."""
        if self.newest is None:
            return None
        late = now - self.newest > max(2, self._pace * 3 // 2)
        end = (now if late else self.newest) + 1
        found = self.samples(column, end - steps, end)
        return found if any(figure is not None for figure in found.mean) else None

    def take_over(self, old: SeriesRing) -> None:
        """Go on where another ring ended: what both know is copied, the rest of the past is unknown."""
        if old.newest is None:
            return
        columns = [(self.keys.index(key), at) for at, key in enumerate(old.keys) if key in self.keys]
        self.newest, self.oldest, self.written_to, self._pace = old.newest, old.oldest, old.written_to, old._pace
        for new_column, old_column in columns:
            self._figures[new_column :: self._width] = old._figures[old_column :: old._width]

    def _set(self, step: int, figures: array[float]) -> None:
        at = step % KEPT_STEPS * self._width
        self._figures[at : at + self._width] = figures

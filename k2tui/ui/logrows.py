"""From row to row of a log: which lines have a row of their own, and what stands how many rows further."""

from __future__ import annotations

from k2tui.core.ring import LineRing
from k2tui.ui.folds import Folds
from k2tui.ui.logview import LogView


class LogRows:
    """The rows of one log, each named by the absolute number of its line."""

    def __init__(self, ring: LineRing, *, merge: bool = True) -> None:
        self.view = LogView(ring)
        self.merge = merge
        """The same line of several ranks has one row."""
        self._folds = Folds(ring)
        self._opened: set[int] = set()
        """Rows that show all their lines, because one of them was gone to."""

    @property
    def merges(self) -> bool:
        """True while lines may be left out: never when something is searched or filtered, so that all can be found."""
        return self.merge and not self.view.looks

    def toggle_merge(self) -> None:
        """One row for the same line of several ranks, or a row for each."""
        self.merge = not self.merge
        self._opened.clear()

    def open(self, number: int) -> None:
        """Show this line in a row of its own."""
        self._opened.add(self._folds.leader(number))

    def lines_of(self, row: int) -> tuple[int, ...]:
        """The lines that a row tells."""
        return (row,) if not self.merges or row in self._opened else self._folds.members(row)

    def row_of(self, number: int) -> int:
        """The row of a line; of the next one that is shown, where it is not; the last row beyond the end."""
        count = self.view.count
        if not count:
            return self.view.ring.start
        found = self.view.number_at(min(self.view.position_of(number), count - 1))
        return self._shown(found)

    @property
    def last(self) -> int:
        """The last row."""
        return self.row_of(self.view.ring.end)

    @property
    def first(self) -> int:
        """The first row."""
        return self.row_of(self.view.ring.start)

    def step(self, row: int, rows: int) -> int:
        """The row so many rows further (back, below 0), or the one at the end."""
        view, count = self.view, self.view.count
        if not count:
            return row
        position = view.position_of(row)
        if not self.merges:
            return view.number_at(min(max(0, position + rows), count - 1))
        way, found = (1 if rows > 0 else -1), row
        for _ in range(abs(rows)):
            position += way
            while 0 <= position < count and self._shown(view.number_at(position)) != view.number_at(position):
                position += way
            if not 0 <= position < count:
                break
            found = view.number_at(position)
        return found

    def below(self, row: int) -> int:
        """How many lines come after those of this row."""
        return max(0, self.view.count - self.view.position_of(row) - 1)

    def _shown(self, number: int) -> int:
        if not self.merges:
            return number
        leader = self._folds.leader(number)
        return number if leader in self._opened else leader

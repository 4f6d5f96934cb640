"""The newest lines of a log, kept by their absolute number."""

from __future__ import annotations

from collections.abc import Sequence


class LineRing:
    """The newest lines of a log, by their absolute number; bounded by lines and by characters."""

    def __init__(self, capacity: int = 50_000, max_chars: int = 40_000_000) -> None:
        self.capacity = max(1, capacity)
        self.max_chars = max(1, max_chars)
        self.line_number_base = 0
        """File lines before ring line 0 when known: ring line N is file line N + base + 1."""
        self.start = 0
        """Absolute number (from 0) of the oldest line held."""
        self.revision = 0
        """Grows with any change, also of the open line."""
        self.open_line = ""
        """The unfinished last line as it looks now (a bar), empty when there is none."""
        self._lines: list[str] = []
        self._first = 0
        """Index in `_lines` of line `start`; what lies before it is dropped in bulk, now and then."""
        self._chars = 0

    @property
    def end(self) -> int:
        """One past the newest complete line."""
        return self.start + len(self._lines) - self._first

    def extend(self, lines: Sequence[str]) -> None:
        """Adds finished lines; the oldest fall out."""
        if not lines:
            return
        self.revision += 1
        surplus = len(lines) - self.capacity
        if surplus > 0:
            self.start = self.end + surplus
            self._lines = list(lines[surplus:])
            self._first = 0
            self._chars = sum(map(len, self._lines))
        else:
            self._lines.extend(lines)
            self._chars += sum(map(len, lines))
            self._drop(len(self) - self.capacity)
        while self._chars > self.max_chars and len(self) > 1:
            self._drop(1)

    def _drop(self, count: int) -> None:
        if count <= 0:
            return
        last = self._first + count
        self._chars -= sum(map(len, self._lines[self._first : last]))
        self._first = last
        self.start += count
        if self._first > self.capacity // 4:
            del self._lines[: self._first]
            self._first = 0

    def set_open(self, text: str) -> None:
        """Shows `text` as the unfinished last line."""
        if text != self.open_line:
            self.open_line = text
            self.revision += 1

    def clear(self) -> None:
        """Forgets every line; numbering goes on."""
        self.start = self.end
        self._lines, self._first, self._chars = [], 0, 0
        self.open_line = ""
        self.revision += 1

    def __getitem__(self, number: int) -> str:
        """The line of that absolute number; IndexError when it is not held."""
        if not self.start <= number < self.end:
            raise IndexError(f"line {number} is not held ({self.start} to {self.end - 1} are)")
        return self._lines[self._first + number - self.start]

    def __len__(self) -> int:
        """How many lines are held."""
        return len(self._lines) - self._first

"""Which lines of a ring are shown, and where the search hits are. Works its way through new lines in bites."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, replace

from k2tui.core.ring import LineRing
from k2tui.ui.logline import LEVELS, parts_of

BITE, PARSED_BITE = 20_000, 5_000
"""Lines looked at in one go, by their text alone or taken apart; more would be felt in the keys."""


@dataclass(frozen=True, slots=True)
class Filter:
    """What a line must be to be shown."""

    rank: str | None = None
    level: int = 0
    """0 all, 1 warnings and worse, 2 errors."""
    only: str = ""
    """Text that must be in it; empty: any."""
    hide: str = ""
    """Text that must not be in it; empty: none."""

    @property
    def active(self) -> bool:
        """True when some line could be left out."""
        return self != Filter()


def finder(text: str) -> re.Pattern[str]:
    """Finds a text as it stands; capital letters count once one is typed."""
    return re.compile(re.escape(text), 0 if any(char.isupper() for char in text) else re.IGNORECASE)


class LogView:
    """The shown lines of one ring by position, and the search hits among them."""

    def __init__(self, ring: LineRing) -> None:
        self.ring = ring
        self.filter = Filter()
        self.needle = ""
        self._only: re.Pattern[str] | None = None
        self._hide: re.Pattern[str] | None = None
        self._needle: re.Pattern[str] | None = None
        self._shown: list[int] = []
        self._hits: list[int] = []
        self._next = 0
        """Absolute number of the first line that was not looked at."""
        self._rank: str | None = None
        """Whose lines these are: a line without a stamp belongs to the stamped one before it."""
        self._level = 0

    @property
    def looks(self) -> bool:
        """True when lines are looked at: some may be hidden, or something is searched."""
        return self.filter.active or bool(self.needle)

    def set_filter(self, **changes: object) -> None:
        """Change what is shown, by the names of Filter's fields."""
        self.filter = replace(self.filter, **changes)  # type: ignore[arg-type]  # names of a frozen dataclass
        self._only = finder(self.filter.only) if self.filter.only else None
        self._hide = finder(self.filter.hide) if self.filter.hide else None
        self._begin()

    def search(self, needle: str) -> None:
        """Look for a text; empty: for nothing."""
        self.needle = needle
        self._needle = finder(needle) if needle else None
        self._begin()

    def advance(self) -> bool:
        """Look at a bite of the lines that came. True when there are more to look at."""
        ring = self.ring
        bite = PARSED_BITE if self.filter.rank is not None or self.filter.level else BITE
        self._forget()
        if not self.looks:
            self._next = ring.end
            return False
        start = max(self._next, ring.start)
        stop = min(ring.end, start + bite)
        for number in range(start, stop):
            text = ring[number]
            if self.filter.active and not self._passes(text):
                continue
            self._shown.append(number)
            if self._needle is not None and self._needle.search(text):
                self._hits.append(number)
        self._next = stop
        return stop < ring.end

    @property
    def count(self) -> int:
        """Lines shown."""
        return len(self._shown) if self.filter.active else len(self.ring)

    @property
    def hits(self) -> int:
        """Lines in which the search found something."""
        return len(self._hits)

    @property
    def complete(self) -> bool:
        """True when all lines were looked at."""
        return not self.looks or self._next >= self.ring.end

    def number_at(self, position: int) -> int:
        """The absolute number of the line shown at this place."""
        return self._shown[position] if self.filter.active else self.ring.start + position

    def position_of(self, number: int) -> int:
        """The place of this line, or of the next one that is shown; may be one past the last."""
        if self.filter.active:
            return bisect_left(self._shown, number)
        return min(max(0, number - self.ring.start), len(self.ring))

    def hit_after(self, number: int) -> int | None:
        """The next hit, round the end; None when there is none at all."""
        if not self._hits:
            return None
        return self._hits[bisect_right(self._hits, number) % len(self._hits)]

    def hit_before(self, number: int) -> int | None:
        """The hit before, round the start."""
        if not self._hits:
            return None
        return self._hits[bisect_left(self._hits, number) - 1]

    def hit_index(self, number: int) -> int | None:
        """Which hit this line is, from 1; None when it is none."""
        at = bisect_left(self._hits, number)
        return at + 1 if at < len(self._hits) and self._hits[at] == number else None

    def spans_in(self, text: str) -> Iterable[tuple[int, int]]:
        """Where the search found something in a text."""
        return () if self._needle is None else ((found.start(), found.end()) for found in self._needle.finditer(text))

    def _begin(self) -> None:
        self._shown, self._hits = [], []
        self._next = self.ring.start
        self._rank, self._level = None, 0

    def _passes(self, text: str) -> bool:
        rule = self.filter
        if rule.rank is not None or rule.level:
            parts = parts_of(text)
            if parts.time is not None:
                self._rank, self._level = parts.rank, parts.level
            else:
                self._level = max(self._level, parts.level) if text[:1] in (" ", "\t") else parts.level
            if rule.rank is not None and self._rank != rule.rank:
                return False
            if max(self._level, parts.level) < rule.level:
                return False
        if self._only is not None and not self._only.search(text):
            return False
        return self._hide is None or not self._hide.search(text)

    def _forget(self) -> None:
        """Let go of lines that the ring no longer holds."""
        start = self.ring.start
        self._next = max(self._next, start)
        for numbers in (self._shown, self._hits):
            if numbers and numbers[0] < start:
                del numbers[: bisect_left(numbers, start)]


def rank_order(rank: str) -> tuple[tuple[str, int], ...]:
    """Sorts `TP2` before `TP10`, and `DP0 TP1` by its parts."""
    return tuple((word, int(digits or 0)) for word, digits in re.findall(r"([A-Z_a-z]+)(\d*)", rank))


LEVEL_WORDS = LEVELS

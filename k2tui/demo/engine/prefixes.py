"""What a radix cache would know of a prompt: its longest beginning that was seen before."""

from __future__ import annotations

from collections.abc import Sequence

_MOST = 400_000
"""Beginnings that are remembered; then all is forgotten, as a full cache would evict."""


class Prefixes:
    """The beginnings of all prompts so far, word by word."""

    def __init__(self) -> None:
        self._seen: set[int] = set()

    def take(self, words: Sequence[str]) -> int:
        """How many words at the front are known; all of them are from now on."""
        if len(self._seen) > _MOST:
            self._seen.clear()
        known, mark = 0, 0
        for place, word in enumerate(words, start=1):
            mark = hash((mark, word))
            if mark in self._seen and known == place - 1:
                known = place
            self._seen.add(mark)
        return known

    def clear(self) -> None:
        """Nothing is known any more."""
        self._seen.clear()

"""The same line of several ranks becomes one row. Nothing is lost: the lines stay in the ring, only rows go."""

from __future__ import annotations

from dataclasses import dataclass, field

from k2tui.core.clock import clock_or_none
from k2tui.core.ring import LineRing
from k2tui.ui.logline import parsed

BLOCK = 512
"""Lines are folded within blocks of absolute numbers, so that a block's rows never depend on where one looks from."""
_KEPT = 48
"""Blocks whose rows are remembered: more than any page needs."""
_LONGEST = 2000
"""Characters of a line that may be folded; longer ones are seldom twice the same."""
_APART_S = 1.0
"""Ranks say the same thing at the same time."""


@dataclass(frozen=True, slots=True)
class _Said:
    """One line of a group."""

    number: int
    stamp: str
    rank: str


@dataclass
class _Block:
    """The lines of one block, as far as they have come."""

    end: int
    """Absolute number of the next line to look at."""
    tails: dict[str, list[int]] = field(default_factory=dict)
    """Lines by what stands behind their first bracket: only where two agree are they taken apart."""
    groups: dict[str, list[_Said]] = field(default_factory=dict)
    """Message to its newest group."""
    leaders: dict[int, int] = field(default_factory=dict)
    """Line to the first line of its group, for lines that are not the first."""
    members: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """First line to all lines of its group."""


class Folds:
    """Which lines of a ring say what an earlier line of another rank said. Looks only at lines that it is asked for."""

    def __init__(self, ring: LineRing) -> None:
        self.ring = ring
        self._blocks: dict[int, _Block] = {}

    def leader(self, number: int) -> int:
        """The line in whose row this one is told: itself where it stands alone, or where that line is not held."""
        found = self._block(number).leaders.get(number, number)
        return found if found >= self.ring.start else number

    def members(self, number: int) -> tuple[int, ...]:
        """The lines that are told in the row of this one, itself first."""
        return self._block(number).members.get(number, (number,))

    def _block(self, number: int) -> _Block:
        place = number // BLOCK
        block = self._blocks.get(place)
        if block is None:
            block = self._blocks[place] = _Block(max(place * BLOCK, self.ring.start))
            while len(self._blocks) > _KEPT:
                del self._blocks[next(iter(self._blocks))]
        last = min((place + 1) * BLOCK, self.ring.end)
        if block.end < last:
            for at in range(max(block.end, self.ring.start), last):
                self._take(block, at)
            block.end = last
            if last == (place + 1) * BLOCK:
                block.tails, block.groups = {}, {}
        return block

    def _take(self, block: _Block, number: int) -> None:
        """The next line of the block."""
        text = self.ring[number]
        tail = text.partition("] ")[2] if len(text) <= _LONGEST else ""
        if not tail:
            return
        same = block.tails.setdefault(tail, [])
        same.append(number)
        if len(same) == 2 and same[0] >= self.ring.start:
            self._group(block, same[0])
        if len(same) >= 2:
            self._group(block, number)

    def _group(self, block: _Block, number: int) -> None:
        line = parsed(self.ring[number])
        if line.rank is None or line.stamp is None or not line.message.strip():
            return
        said = _Said(number, line.stamp, line.rank)
        group = block.groups.get(line.message)
        if group is None or not _fits(said, group):
            block.groups[line.message] = [said]
            return
        group.append(said)
        block.leaders[number] = group[0].number
        block.members[group[0].number] = tuple(one.number for one in group)


def _fits(said: _Said, group: list[_Said]) -> bool:
    """Another rank's, and of the same moment."""
    if any(one.rank == said.rank for one in group):
        return False
    if group[0].stamp == said.stamp:
        return True
    first, here = clock_or_none(group[0].stamp), clock_or_none(said.stamp)
    return first is not None and here is not None and 0 <= here - first <= _APART_S

"""Which ranks the others wait for: by their markers, by a barrier that names them, by what they do."""

from __future__ import annotations

import re

from k2tui.core.activity import Moving, RankActivity
from k2tui.core.figures import whole
from k2tui.core.launch import Launch, LaunchPhase
from k2tui.core.movement import ONLY_RANK

READS_BYTES_PER_S = 1e6
"""A rank that reads less does not load: polling a pipe or a socket costs some kilobytes."""
SPINS_CPU = 0.8
"""A rank that waits in a collective asks for its end without a pause and keeps a core busy."""
RESTS_CPU = 0.05

_NAMED = re.compile(
    r"Did not receive message from ranks?(?:\(s\))? ([\d, ]+)|Ranks? ([\d, ]+) failed to pass monitoredBarrier"
)
_PLAIN_RANK = re.compile(r"TP([0-9]{1,6})")
_EVERYBODY_SPEAKS = frozenset(("sglang", None))
"""Other engines let only the first rank say how far it is."""


def behind(launch: Launch, moving: Moving | None = None) -> frozenset[str]:
    """Ranks that have not come as far as the others; none once it serves."""
    if named := _by_barrier(launch):
        return named
    if launch.phase.order >= LaunchPhase.READY.order:
        return frozenset()
    marked, active = _by_markers(launch), _by_activity(launch, moving)
    if marked and active:
        return marked & active or marked
    return marked or active


def by_number(rank: str) -> tuple[int, str]:
    """What sorts ranks: their last number."""
    digits = re.findall(r"[0-9]+", rank)
    return whole(digits[-1]) or 0 if digits else 0, rank


def _by_markers(launch: Launch) -> frozenset[str]:
    if launch.phase.order >= LaunchPhase.WARMUP.order:
        return frozenset()
    begun = launch.ranks_begun | _everybody(launch)
    if launch.ranks_loaded and begun - launch.ranks_loaded:
        return begun - launch.ranks_loaded - {ONLY_RANK}
    if launch.phase.order > LaunchPhase.WEIGHTS.order or not launch.rank_phases:
        return frozenset()  # from here on only the first rank says how far it is
    farthest = max(phase.order for phase in launch.rank_phases.values())
    late = frozenset(rank for rank, phase in launch.rank_phases.items() if phase.order < farthest)
    return late | (_everybody(launch) - launch.ranks_seen)


def _everybody(launch: Launch) -> frozenset[str]:
    """The names of all ranks, where they can be told and at least half of them have spoken; else nobody."""
    wanted, seen = launch.ranks_expected, launch.ranks_seen
    numbers = {int(found[1]) for rank in seen if (found := _PLAIN_RANK.fullmatch(rank))}
    if launch.engine not in _EVERYBODY_SPEAKS or wanted is None or len(numbers) != len(seen):
        return frozenset()
    if len(seen) < max(2, wanted / 2):
        return frozenset()
    first = min(numbers) // wanted * wanted  # a further node's ranks begin where the ones before it end
    if max(numbers) >= first + wanted:
        return frozenset()
    return frozenset(f"TP{number}" for number in range(first, first + wanted))


def _by_barrier(launch: Launch) -> frozenset[str]:
    """The first line that names who did not come."""
    lines = [suspect.cause.line for suspect in launch.suspects]
    if launch.waiting is not None:
        lines.append(launch.waiting.line)
    for line in lines:
        if found := _NAMED.search(line):
            plain = bool(launch.ranks_seen) and all(_PLAIN_RANK.fullmatch(rank) for rank in launch.ranks_seen)
            numbers = re.findall(r"\d+", found[1] or found[2])
            return frozenset(f"TP{number}" if plain else f"rank {number}" for number in numbers)
    return frozenset()


def _by_activity(launch: Launch, moving: Moving | None) -> frozenset[str]:
    """The few who still read, the few who rest while the others read, or who rest while the others spin."""
    ranks = _ranks(moving)
    if len(ranks) < 2:
        return frozenset()
    reading = {name for name, one in ranks.items() if reads(one)}
    resting = {name for name, one in ranks.items() if one.cpu <= RESTS_CPU and not reads(one)} - launch.ranks_loaded
    spinning = {name for name, one in ranks.items() if one.cpu >= SPINS_CPU and not reads(one)}
    if reading and len(reading) * 2 <= len(ranks):
        return frozenset(reading)
    if 0 < len(resting) < len(reading) or 0 < len(resting) < len(spinning):
        return frozenset(resting)
    return frozenset()


def reads(one: RankActivity) -> bool:
    """The process reads weights, not only words of its peers."""
    return (one.read_bytes_per_s or 0.0) >= READS_BYTES_PER_S


def _ranks(moving: Moving | None) -> dict[str, RankActivity]:
    return {} if moving is None else {one.rank: one for one in moving.ranks if one.rank is not None}

"""Of several data-parallel ranks, the one that does otherwise than the rest."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.measuring.look import Look, RankLook

_MANY_WAIT = 4
"""A queue below this is chance."""
_TIMES = 4
_FULL, _ROOMY = 0.9, 0.5
_SILENT_S = 10.0


def bad_rank(looks: Sequence[Look]) -> str | None:
    """One rank and how it differs, such as `DP3: 24 waiting, the others 0`; None while they are alike.

    It must hold at the newest two looks: one alone may have been taken between two batches.
    """
    if len(looks) < 2:
        return None
    now, before = _odd(looks[-1]), _odd(looks[-2])
    return now[1] if now is not None and before is not None and now[0] == before[0] else None


def _odd(look: Look) -> tuple[tuple[int, str], str] | None:
    """((rank, in what), sentence)."""
    ranks = look.ranks
    if len(ranks) < 2:
        return None
    written = {rank.rank: rank.written_at for rank in ranks if rank.written_at is not None}
    if len(written) == len(ranks) and any(rank.running or rank.waiting for rank in ranks):
        last = min(ranks, key=lambda rank: written[rank.rank])
        behind_s = min(at for name, at in written.items() if name != last.rank) - written[last.rank]
        if behind_s > _SILENT_S and (last.running or last.waiting):
            return (last.rank, "silent"), f"DP{last.rank}: said nothing for {behind_s:.0f} s, the others did"
    return _fuller(ranks) or _idle(ranks)


def _fuller(ranks: Sequence[RankLook]) -> tuple[tuple[int, str], str] | None:
    most = max(ranks, key=lambda rank: rank.waiting or 0)
    others = [rank.waiting or 0 for rank in ranks if rank is not most]
    if (most.waiting or 0) >= max(_MANY_WAIT, _TIMES * max(others)):
        return (most.rank, "waiting"), f"DP{most.rank}: {most.waiting} waiting, the others {_range(others)}"
    full = max(ranks, key=lambda rank: rank.kv_usage or 0.0)
    usages = [rank.kv_usage or 0.0 for rank in ranks if rank is not full]
    if (full.kv_usage or 0.0) >= _FULL and max(usages) <= _ROOMY:
        return (full.rank, "kv"), f"DP{full.rank}: KV cache {full.kv_usage:.0%} full, the others {max(usages):.0%}"
    return None


def _idle(ranks: Sequence[RankLook]) -> tuple[tuple[int, str], str] | None:
    idle = [rank for rank in ranks if rank.running == 0]
    others = [rank.running or 0 for rank in ranks if rank.running != 0]
    if len(idle) == 1 and others and min(others) >= _MANY_WAIT:
        return (idle[0].rank, "idle"), f"DP{idle[0].rank}: nothing runs, on the others {_range(others)}"
    return None


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return f"{low}" if low == high else f"{low} to {high}"

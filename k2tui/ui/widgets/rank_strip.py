"""Who has come how far: one line over all ranks of a server that loads. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from k2tui.core.activity import Moving
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.movement import ONLY_RANK
from k2tui.core.words import PHASE_WORDS
from k2tui.ui.logview import rank_order
from k2tui.ui.spans import Line, Span, clip, joined, width_of
from k2tui.ui.verdicts import ranks_behind

MOST_GLYPHS = 16
"""More ranks than this are counted."""
THERE, BEHIND = "▮", "▯"
_MOST_NAMES = 4
_WAITED_FOR = frozenset(("slow_rank", "nccl_timeout", "rendezvous", "gloo_mesh"))
"""Failures of those who waited: who was behind is what one wants to know then."""
_TOLD = (LaunchKind.LOADING, LaunchKind.HUNG, LaunchKind.CRASHED)
_PLAIN = re.compile(r"TP(\d+)")


def rank_strip(launch: Launch, moving: Moving | None, width: int, *, news_only: bool = False) -> Line:
    """`ranks ▮▮▮▮▮▯▮▮  TP5 behind: weights`; of many ranks `62 of 64 loaded, behind: TP5 TP41`.

    Empty for a single rank, where they are not known, and once none is behind after the weights. `news_only`: also
    while all do the same.
    """
    if launch.kind not in _TOLD or launch.ranks_expected == 1:
        return ()
    if launch.kind is LaunchKind.CRASHED and (launch.cause is None or launch.cause.failure not in _WAITED_FOR):
        return ()
    behind = ranks_behind(launch, moving)
    names = rank_names(launch)
    late = [name for name in behind if name in names]
    if len(late) < len(behind):  # a barrier named ranks of other nodes
        verb = "waited" if launch.kind is LaunchKind.CRASHED else "wait"
        return clip(((f"the others {verb} for ", "muted"), (_listed(behind), "warning")), width)
    if len(names) < 2 or (launch.kind is LaunchKind.CRASHED and not late):
        return ()
    loading = launch.phase in (LaunchPhase.WEIGHTS, LaunchPhase.POSTPROCESS)
    loaded = len(launch.ranks_loaded.intersection(names))
    if not late and (launch.phase.order > LaunchPhase.POSTPROCESS.order or news_only):
        return ()
    if len(names) > MOST_GLYPHS:
        return clip(_counted(names, late, loaded if loading else None), width)
    glyphs: list[Span] = [("ranks ", "muted")]
    for name in names:
        glyphs.append((BEHIND, "warning") if name in late else (THERE, "phase-done"))
    strip = tuple(glyphs)
    if loading and loaded and 2 * len(late) > len(names):
        return clip(joined([strip, ((f"{loaded} of {len(names)} loaded", "muted"),)]), width)
    if not late:
        return clip(joined([strip, ((_all_words(launch, names), "muted"),)]), width)
    whole = joined([strip, _late_words(launch, late)])
    return whole if width_of(whole) <= width else clip(_counted(names, late, loaded if loading else None), width)


def rank_names(launch: Launch) -> tuple[str, ...]:
    """All ranks in order: those that spoke, and those between and behind them that must be there."""
    seen = (launch.ranks_seen | launch.rank_phases.keys() | launch.ranks_begun | launch.ranks_loaded) - {ONLY_RANK}
    wanted = launch.ranks_expected
    numbers = {int(found[1]) for name in seen if (found := _PLAIN.fullmatch(name))}
    if numbers and len(numbers) == len(seen) and wanted is not None:
        first = min(numbers) // wanted * wanted  # a further node's ranks begin where the ones before it end
        if max(numbers) < first + wanted:
            seen = seen | {f"TP{number}" for number in range(first, first + wanted)}
    return tuple(sorted(seen, key=rank_order))


def _counted(names: Sequence[str], late: Sequence[str], loaded: int | None) -> Line:
    there = len(names) - len(late) if loaded is None else loaded
    head: list[Span] = [(f"{there} of {len(names)} {'there' if loaded is None else 'loaded'}", "muted")]
    if late and 2 * len(late) <= len(names):
        head += [(", behind: ", "muted"), (_listed(late), "warning")]
    return tuple(head)


def _late_words(launch: Launch, late: Sequence[str]) -> Line:
    """`TP5 behind: weights`, for each phase in which somebody is."""
    where: dict[str, list[str]] = {}
    for name in late:
        phase = launch.rank_phases.get(name)
        where.setdefault("not seen yet" if phase is None else PHASE_WORDS[phase], []).append(name)
    groups: Iterable[Line] = [
        ((_listed(names), "warning"), (f" behind: {words}", "muted")) for words, names in where.items()
    ]
    return joined(groups)


def _all_words(launch: Launch, names: Sequence[str]) -> str:
    if launch.ranks_loaded.issuperset(names):
        return "all loaded"
    return f"all in {PHASE_WORDS[launch.phase]}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return " ".join(names[:_MOST_NAMES]) + more

"""Which arguments SGLang has in which version, and which version a log that prints them all is from."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from k2tui.core.engine_flags import place_of, spans, versions

_NEAR = 0.04
"""Share of other arguments that a build of a release may have; releases differ in a tenth of them."""
_DETOUR = 1.2
"""What was added after one release and taken away before the next is in neither: so much longer may the way be."""


@cache
def arguments(version: str) -> frozenset[str]:
    """Every argument of that version by its name in `server_args`; of the nearest older one for a version between."""
    place = place_of("sglang", version)
    return frozenset() if place is None else _by_place()[place]


@cache
def ages(name: str) -> tuple[str, str | None] | None:
    """(first, last) version that has the argument; last is None while the newest known one has it.

    None for a name that no known version has.
    """
    known = versions("sglang")
    places = [place for place, names in enumerate(_by_place()) if name in names]
    if not places:
        return None
    return known[places[0]], None if places[-1] == len(known) - 1 else known[places[-1]]


@cache
def is_in_all(name: str) -> bool:
    """From the oldest known version to the newest."""
    return all(name in names for names in _by_place())


@cache
def version_of(names: frozenset[str]) -> str | None:
    """The version whose arguments these are, in words; None when they are of none that is known.

    `0.5.18` for the same or nearly the same, `0.5.12 to 0.5.15` for a release between these two.
    """
    if not names:
        return None
    away = {version: len(arguments(version) ^ names) for version in versions("sglang")}
    nearest = min(away, key=away.__getitem__)
    if away[nearest] <= _NEAR * len(arguments(nearest)):
        return nearest
    for older, newer in pairwise(versions("sglang")):
        if away[older] + away[newer] <= _DETOUR * len(arguments(older) ^ arguments(newer)):
            return f"{older} to {newer}"
    return None


@cache
def _by_place() -> tuple[frozenset[str], ...]:
    """The arguments of each known version, oldest first."""
    found: list[set[str]] = [set() for _ in versions("sglang")]
    for span in spans("sglang"):
        names = {row.field for row in span.rows if row.field is not None} | set(span.fields)
        for place in range(span.first, span.last + 1):
            found[place] |= names
    return tuple(map(frozenset, found))

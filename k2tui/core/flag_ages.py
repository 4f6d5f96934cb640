"""Which arguments SGLang has in which version, and which version a log that prints them all is from."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from k2tui.core.sglang_arguments import NAMES, VERSIONS

_NEAR = 0.04
"""Share of other arguments that a build of a release may have; releases differ in a tenth of them."""
_DETOUR = 1.2
"""What was added after one release and taken away before the next is in neither: so much longer may the way be."""


@cache
def arguments(version: str) -> frozenset[str]:
    """Every argument of that version by its name in `server_args`; of the nearest older one for a version between."""
    place = _place(version)
    return frozenset(
        name
        for span, names in NAMES.items()
        if place is not None and VERSIONS.index(span.split()[0]) <= place <= VERSIONS.index(span.split()[1])
        for name in names.split()
    )


@cache
def ages(name: str) -> tuple[str, str | None] | None:
    """(first, last) version that has the argument; last is None while the newest known one has it.

    None for a name that no known version has.
    """
    for span, names in NAMES.items():
        if name in names.split():
            first, last = span.split()
            return first, None if last == VERSIONS[-1] else last
    return None


@cache
def version_of(names: frozenset[str]) -> str | None:
    """The version whose arguments these are, in words; None when they are of none that is known.

    `0.5.18` for the same or nearly the same, `0.5.12 to 0.5.15` for a release between these two.
    """
    if not names:
        return None
    away = {version: len(arguments(version) ^ names) for version in VERSIONS}
    nearest = min(away, key=away.__getitem__)
    if away[nearest] <= _NEAR * len(arguments(nearest)):
        return nearest
    for older, newer in pairwise(VERSIONS):
        if away[older] + away[newer] <= _DETOUR * len(arguments(older) ^ arguments(newer)):
            return f"{older} to {newer}"
    return None


def _place(version: str) -> int | None:
    wanted = _numbers(version)
    older = [place for place, known in enumerate(VERSIONS) if _numbers(known) <= wanted]
    return older[-1] if older else None


def _numbers(version: str) -> tuple[int, ...]:
    release = version.partition("rc")[0].partition(".post")[0].partition("+")[0]
    return tuple(int(part) if part.isdigit() else 0 for part in release.split("."))

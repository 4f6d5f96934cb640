"""Versions of engines, put in order."""

from __future__ import annotations

import re

_RELEASE = re.compile(r"v?(\d{1,6}(?:\.\d{1,6})*)")


def release(version: str) -> tuple[int, ...] | None:
    """The numbers of a release: `0.5.10.post1+cu128` is (0, 5, 10). None for what begins with no number.

    A pre-release counts as what it becomes: its flags are that release's.
    """
    found = _RELEASE.match(version.strip())
    return None if found is None else tuple(int(part) for part in found[1].split("."))


def is_within(version: str, since: str | None, until: str | None) -> bool:
    """True from `since` to `until`, both included; None is an open end. False for a version that can't be read."""
    number = release(version)
    if number is None:
        return False
    first, last = release(since or "0"), release(until) if until else None
    return (first is None or first <= number) and (last is None or number <= last)

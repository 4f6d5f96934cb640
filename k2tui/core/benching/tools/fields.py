"""A field of a foreign result file: there, or None. What other tools write as 0.00 where they know nothing is None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k2tui.core.printable import printable

Document = Mapping[str, Any]

MOST_VALUES = 1_000_000
"""Of one list: gaps between chunks are the longest."""
_MOST = 1e15
_MOST_CHARS = 400


def at(document: object, *names: str) -> object:
    """What stands there, going into objects by these names; None where there is nothing."""
    for name in names:
        if not isinstance(document, Mapping):
            return None
        document = document.get(name)
    return document


def number(document: object, *names: str) -> float | None:
    """A finite number that is not negative."""
    value = at(document, *names)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value <= _MOST else None  # type: ignore[operator,arg-type]


def positive(document: object, *names: str) -> float | None:
    """A number above zero: a time or a rate of 0.00 is what a tool writes when it has none."""
    return number(document, *names) or None


def whole(document: object, *names: str) -> int | None:
    """A number without a fraction."""
    value = number(document, *names)
    return int(value) if value is not None and value.is_integer() else None


def text(document: object, *names: str) -> str | None:
    """A text that is not empty, fit for a terminal."""
    value = at(document, *names)
    return printable(value[:_MOST_CHARS]) if isinstance(value, str) and value else None


def values(document: object, *names: str) -> list[float]:
    """The numbers above zero of a list."""
    found = at(document, *names)
    if not isinstance(found, Sequence) or isinstance(found, str):
        return []
    numbers = (value for value in found[:MOST_VALUES] if isinstance(value, int | float) and not isinstance(value, bool))
    return [float(value) for value in numbers if 0 < value <= _MOST]


def lists(document: object, *names: str) -> list[object]:
    """The items of a list; empty where there is none."""
    found = at(document, *names)
    return list(found) if isinstance(found, list) else []


def setting(document: object, *names: str) -> str | float | bool | None:
    """A plain value as it was set; a rate without limit is `inf`."""
    value = at(document, *names)
    if isinstance(value, bool):
        return value
    if isinstance(value, float | int):
        return value if -_MOST <= value <= _MOST else str(value)[:40]
    return text(document, *names)

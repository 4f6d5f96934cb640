"""A row of small bars: how a reading went, in one line of text."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.words import UNKNOWN
from k2tui.ui.spans import Line, Span, cell

LEVELS = "▁▂▃▄▅▆▇█"
GAP = "·"
"""Nobody recorded a figure; the lowest bar is a figure of 0."""
GAP_ROLE = "muted"
_KEPT = 512
_made: dict[tuple[int, int, str, float | None], tuple[Sequence[float | None], Line]] = {}
"""Lines by the identity of their figures, which are kept beside them: nothing else can have the same one meanwhile."""


def sparkline(values: Sequence[float | None], width: int, role: str = "bar", *, top: float | None = None) -> Line:
    """The figures in exactly `width` cells, the newest at the right; None among them is a gap.

    The highest bar is `top`, or the greatest figure where none is given; the lowest is 0. More figures than cells are
    averaged; fewer leave the left end blank. The same tuple again costs one look-up.
    """
    if width <= 0:
        return ()
    key = (id(values), width, role, top)
    made = _made.get(key)
    if made is not None:
        return made[1]
    line = _drawn(values, width, role, top)
    if isinstance(values, tuple):
        if len(_made) >= _KEPT:
            _made.clear()
        _made[key] = (values, line)
    return line


def _drawn(values: Sequence[float | None], width: int, role: str, top: float | None) -> Line:
    shown = values if len(values) <= width else _averaged(values, width)
    known = [value for value in shown if value is not None]
    if not known:
        return (cell(UNKNOWN, width, GAP_ROLE),)
    highest = max(known) if top is None else top
    first = next(index for index, value in enumerate(shown) if value is not None)
    text = "".join(GAP if value is None else LEVELS[_level(value, highest)] for value in shown[first:])
    return tuple(_pieces(" " * (width - len(text)) + text, role))


def _level(value: float, highest: float) -> int:
    share = value / highest if highest > 0 else 0.0
    return int(min(1.0, max(0.0, share)) * (len(LEVELS) - 1) + 0.5)


def _pieces(text: str, role: str) -> list[Span]:
    """Bars and gaps, each in its own colour."""
    if GAP not in text:
        return [(text, role)]
    pieces: list[Span] = []
    begun = 0
    for end in range(1, len(text) + 1):
        if end == len(text) or (text[end] == GAP) != (text[begun] == GAP):
            pieces.append((text[begun:end], GAP_ROLE if text[begun] == GAP else role))
            begun = end
    return pieces


def _averaged(values: Sequence[float | None], width: int) -> list[float | None]:
    """As many figures as cells: the mean of what is known in each."""
    total = len(values)
    means: list[float | None] = []
    for place in range(width):
        part = [value for value in values[place * total // width : (place + 1) * total // width] if value is not None]
        means.append(sum(part) / len(part) if part else None)
    return means

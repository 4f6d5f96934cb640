"""The time axis that all plots of a screen share: a window, round local times in it, and the row that shows them."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise

from k2tui.ui import present
from k2tui.ui.spans import Line, Span, cut

SPANS: tuple[tuple[float, str], ...] = (
    (300.0, "5 m"),
    (900.0, "15 m"),
    (3600.0, "1 h"),
    (21_600.0, "6 h"),
    (86_400.0, "24 h"),
    (604_800.0, "7 d"),
)
"""(seconds, word) of the times that can be shown."""
DAY_S = 86_400.0
_MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440)
_LEAST_BETWEEN = 10
"""Columns between two ticks: a label and some rule."""
TICK, RULE, NOW = "├", "─", " now"


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is shown, in unix time."""

    since: float
    until: float

    @property
    def span_s(self) -> float:
        return self.until - self.since

    def column(self, at: float, columns: int) -> int:
        """The column of a moment, 0 to `columns` - 1 when it is inside."""
        return math.floor((at - self.since) / self.span_s * columns + 1e-9)

    def moment(self, column: int, columns: int) -> float:
        """The middle of a column."""
        return self.since + (column + 0.5) / columns * self.span_s


def span_word(span_s: float) -> str:
    """`15 m`."""
    return next((word for seconds, word in SPANS if seconds == span_s), present.age(span_s))


def ticks(window: Window, columns: int) -> list[tuple[int, str]]:
    """(column, label) of the round local times that fit: `14:05`, and the day's name where a day begins."""
    most = max(1, columns // _LEAST_BETWEEN)
    wanted_s = window.span_s / most
    minutes = next((step for step in _MINUTES if step * 60 >= wanted_s), _MINUTES[-1])
    made: list[tuple[int, str]] = []
    last = -_LEAST_BETWEEN
    for at in _round_times(window, minutes):
        column = window.column(at, columns)
        if column - last >= _LEAST_BETWEEN:
            made.append((column, _label(at)))
            last = column
    return made


def _round_times(window: Window, minutes: int) -> list[float]:
    """Every so many minutes from local midnight on: a day with a change of the clock has round times as well."""
    first = time.localtime(window.since)
    times: list[float] = []
    step = 0
    while True:
        at = time.mktime((first.tm_year, first.tm_mon, first.tm_mday, 0, step * minutes, 0, 0, 0, -1))
        step += 1
        if at >= window.until:
            return times
        if at >= window.since and (not times or at > times[-1]):
            times.append(at)


def _label(at: float) -> str:
    local = time.localtime(at)
    is_midnight = local.tm_hour == 0 and local.tm_min == 0
    return time.strftime("%a %d", local) if is_midnight else time.strftime("%H:%M", local)


def moment_words(at: float, span_s: float) -> str:
    """`14:02:31`; `14:02` in a window of hours; with the day in one of days."""
    if span_s <= 3600:
        return present.clock_second(at)
    local = time.localtime(at)
    return time.strftime("%a %d %H:%M" if span_s >= DAY_S else "%H:%M", local)


def window_words(window: Window) -> str:
    """`13:47–14:02`, with days where it is a day or more."""
    form = "%a %d %H:%M" if window.span_s >= DAY_S else "%H:%M"
    return "–".join(time.strftime(form, time.localtime(at)) for at in (window.since, window.until))


def axis_line(window: Window, columns: int, gutter: int, *, cursor: float | None = None, live: bool = True) -> Line:
    """`      └──├14:00────├14:05───── now`; the cursor's time stands at its column."""
    row = [RULE] * columns
    covered: list[tuple[int, int, str]] = []

    def put(column: int, text: str, role: str) -> None:
        """Where nothing else stands."""
        end = column + len(text)
        if end <= columns and all(end <= begun or column >= other for begun, other, _ in covered):
            row[column:end] = list(text)
            covered.append((column, end, role))

    if cursor is not None:
        text = f" {moment_words(cursor, window.span_s)} "
        put(min(max(0, window.column(cursor, columns) - len(text) // 2), max(0, columns - len(text))), text, "strong")
    if live and columns > 2 * len(NOW):
        put(columns - len(NOW), NOW, "muted")
    for column, label in ticks(window, columns):
        put(column, TICK + label, "muted")
    roles = ["rule"] * columns
    for begun, end, role in covered:
        roles[begun:end] = [role] * (end - begun)
    edges = [0, *(place for place in range(1, columns) if roles[place] != roles[place - 1]), columns]
    spans: list[Span] = [(" " * (gutter - 1) + "└", "rule")]
    spans += [("".join(row[begun:end]), roles[begun]) for begun, end in pairwise(edges) if begun < end]
    return tuple(spans) if columns > 0 else ((cut(" " * gutter, gutter), "text"),)

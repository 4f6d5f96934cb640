"""A plot as rows of text: lines with their bands, gaps that show as gaps, marks and a cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.series import Samples
from k2tui.ui.plotted import BRIDGED_S
from k2tui.ui.spans import Line
from k2tui.ui.widgets.plot_scale import Scale
from k2tui.ui.widgets.time_axis import Window

GUTTER = 8
"""Columns of the y axis with its labels: the same in all panes, so that their times stand below each other."""
CURVE_ROLES = ("bar", "phase-done", "log-warning")
CURVE_KEYS = ("━", "╌", "•")
"""How the lines differ without colours: whole, dashed, dotted; what stands before their names."""
BAND_ROLE = "bar-done"
GAP_ROLE = "rule"
CURSOR_ROLE = "strong"
FLAG_ROLE = "muted"
"""Of the line under a flag's number; the number has the flag's own."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What a plot is drawn with: how many dots a cell has, and the character of each set of them."""

    across: int
    down: int
    dots: Mapping[int, str]
    """Bits of a cell's dots, the left column's above the right one's, bit 0 at the bottom."""
    band: str | None
    """One character for all of a band; None: it is drawn of dots."""
    gap: str
    cursor: str
    mark: str


def _braille() -> dict[int, str]:
    """A cell of two columns with four dots each."""
    left, right = (0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08)
    made: dict[int, str] = {}
    for bits in range(256):
        code = sum(left[dot] for dot in range(4) if bits >> (4 + dot) & 1)
        code += sum(right[dot] for dot in range(4) if bits >> dot & 1)
        made[bits] = chr(0x2800 + code)
    return made


BRAILLE = Marks(2, 4, _braille(), None, "░", "┃", "│")
BLOCKS = Marks(1, 2, {0: " ", 1: "▄", 2: "▀", 3: "█"}, "▒", "░", "│", "│")
"""For a console whose font has no braille."""
SEVEN_BITS = Marks(1, 2, {0: " ", 1: ".", 2: "'", 3: "|"}, ":", "/", "!", "!")
"""For `--ascii`."""


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that happened, as it stands in a plot."""

    at: float
    """Unix time."""
    number: int
    role: str


@dataclass(slots=True)
class _Dots:
    """One line and its band, as bits by column of dots; bit 0 is the lowest dot."""

    line: list[int]
    band: list[int]


def recorded(curves: Sequence[Samples], window: Window, columns: int) -> list[bool]:
    """Which columns hold a time at which something was recorded; a short hole counts as recorded."""
    there = [False] * columns
    for samples in curves:
        for begun, end in runs(samples):
            first = max(0, window.column(samples.began + begun * samples.step_s, columns))
            until = samples.began + end * samples.step_s
            if 0 <= window.until - until <= BRIDGED_S:
                until = window.until
            last = min(columns, max(first + 1, window.column(until, columns)))
            there[first:last] = [True] * max(0, last - first)
    return there


def runs(samples: Samples) -> list[tuple[int, int]]:
    """(first, end) of each stretch of steps without a hole that is one."""
    bridged = int(BRIDGED_S // samples.step_s)
    found: list[tuple[int, int]] = []
    for place, value in enumerate(samples.mean):
        if value is None:
            continue
        if found and place - found[-1][1] <= bridged:
            found[-1] = (found[-1][0], place + 1)
        else:
            found.append((place, place + 1))
    return found


def _dots_of(samples: Samples, window: Window, scale: Scale, columns: int, dots: int, *, every: int) -> _Dots:
    """Draw one line; of the columns only each `every`-th is kept."""
    drawn = _Dots([0] * columns, [0] * columns)
    share = (dots - 1) / (scale.top - scale.floor)
    base = 0.5 - scale.floor * share
    most = dots - 1

    def height(value: float) -> int:
        return min(most, max(0, int(value * share + base)))

    pace = columns / window.span_s
    offset = (samples.began - window.since) * pace + 1e-6
    stride = samples.step_s * pace
    mean, low, high = samples.mean, samples.low or samples.mean, samples.high or samples.mean
    has_band = bool(samples.low or samples.high)
    early = int((window.since - samples.began) / samples.step_s + 1e-6)
    for begun, end in runs(samples):
        x = max(0, int(offset + begun * stride))
        before: int | None = None
        for place in range(max(begun, early), end):
            value = mean[place]
            if value is None:
                continue
            y = height(value)
            if offset + place * stride >= columns:
                break
            stop = min(columns, max(int(offset + (place + 1) * stride), x + 1 if before is None else 0))
            if before is None:
                before = y
            bits = ((2 << max(y, before)) - 1) & -(1 << min(y, before))
            if stop <= x:
                if 0 < x <= columns:
                    drawn.line[x - 1] |= bits
            else:
                drawn.line[x] |= bits
                flat = 1 << y
                for column in range(x + 1, stop):
                    drawn.line[column] |= flat
            if has_band and (least := low[place]) is not None and (greatest := high[place]) is not None:
                shade = ((2 << height(greatest)) - 1) & -(1 << height(least))
                for column in range(max(0, min(x, stop - 1)), stop):
                    drawn.band[column] |= shade
            x, before = max(x, stop), y
    if every > 1:
        drawn.line = [bits if column % every == 0 else 0 for column, bits in enumerate(drawn.line)]
    return drawn


def plot_lines(
    curves: Sequence[Samples | None],
    window: Window,
    scale: Scale,
    width: int,
    rows: int,
    *,
    marks: Marks = BRAILLE,
    flags: Sequence[Flag] = (),
    cursor: float | None = None,
) -> list[Line]:
    """The plot in `rows` lines of `width` cells: the y axis at the left, then the time of the window.

    A column at which nobody recorded any of the curves is shaded; one of several that is missing only breaks off.
    """
    columns = width - GUTTER
    if columns < 1 or rows < 1:
        return []
    dots = rows * marks.down
    drawn = [
        (index, _dots_of(samples, window, scale, columns * marks.across, dots, every=index + 1))
        for index, samples in enumerate(curves)
        if samples is not None
    ]
    there = recorded([samples for samples in curves if samples is not None], window, columns)
    ground = [(" ", "text") if known else (marks.gap, GAP_ROLE) for known in there]
    top = list(ground)
    _plant(ground, top, window, flags, marks)
    at = None if cursor is None else window.column(cursor, columns)
    if at is not None and 0 <= at < columns:
        ground[at] = top[at] = (marks.cursor, CURSOR_ROLE)
    labels = axis_labels(scale, rows, marks.down)
    lines: list[Line] = []
    for row in range(rows):
        under = top if row == 0 else ground
        cells = _row_cells(drawn, under, (rows - 1 - row) * marks.down, marks, at)
        label = labels.get(row)
        edge = f"{label or '':>{GUTTER - 2}} {'┤' if label else '│'}"
        lines.append(((edge[:-1], "muted"), (edge[-1], "rule"), *pieces(cells)))
    return lines


def axis_labels(scale: Scale, rows: int, down: int) -> dict[int, str]:
    """Row (from above) to the label that stands at it."""
    return {rows - 1 - scale.height(value, rows * down) // down: label for value, label in scale.ticks()}


def _plant(
    ground: list[tuple[str, str]], top: list[tuple[str, str]], window: Window, flags: Sequence[Flag], marks: Marks
) -> None:
    """Stand each flag on its column; its number is in the first row where there is room."""
    columns, free = len(ground), -1
    for flag in flags:
        column = window.column(flag.at, columns)
        if not 0 <= column < columns:
            continue
        ground[column] = (marks.mark, FLAG_ROLE)
        number = str(flag.number)
        begin = min(column, columns - len(number))
        if begin > free:
            for place, digit in enumerate(number, begin):
                top[place] = (digit, flag.role)
            free = begin + len(number)
        elif column >= free:
            top[column] = (marks.mark, FLAG_ROLE)


def _row_cells(
    drawn: Sequence[tuple[int, _Dots]], under: Sequence[tuple[str, str]], shift: int, marks: Marks, cursor: int | None
) -> list[tuple[str, str]]:
    """One row of cells: lines above their bands above what stands there without them."""
    across, down, table = marks.across, marks.down, marks.dots
    full = (1 << down) - 1
    cells = list(under)
    for index, dots in reversed(drawn):
        line, band, role = dots.line, dots.band, CURVE_ROLES[index % len(CURVE_ROLES)]
        for place in range(len(cells)):
            if across == 2:
                left = line[2 * place] >> shift & full
                right = line[2 * place + 1] >> shift & full
                bits = left << down | right
            else:
                bits = line[place] >> shift & full
            if bits:
                cells[place] = (table[bits], CURSOR_ROLE if place == cursor else role)
            elif cells[place][0] == " " and (char := _band_char(band, place, shift, marks)):
                cells[place] = (char, BAND_ROLE)
    return cells


_CHECKER = (0b1010, 0b0101)
"""Every other dot, so that a band is lighter than a line."""


def _band_char(band: Sequence[int], place: int, shift: int, marks: Marks) -> str:
    """What a cell shows of a band; empty: none of its dots is in it."""
    if marks.band is not None:
        return marks.band if band[place] >> shift & ((1 << marks.down) - 1) else ""
    bits = (band[2 * place] >> shift & _CHECKER[0]) << marks.down | band[2 * place + 1] >> shift & _CHECKER[1]
    return marks.dots[bits] if bits else ""


def pieces(cells: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Neighbours of one role as one piece."""
    made: list[tuple[str, str]] = []
    text, role = cells[0]
    for char, other in cells[1:]:
        if other == role:
            text += char
        else:
            made.append((text, role))
            text, role = char, other
    made.append((text, role))
    return made

"""Points over any x axis as rows of text: joined by a line, each with its own mark and label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from k2tui.ui.spans import Line, Span
from k2tui.ui.widgets.plot import GUTTER, Marks, axis_labels, pieces
from k2tui.ui.widgets.plot_scale import Scale

LINE_ROLE = "bar-done"


@dataclass(frozen=True, slots=True)
class Point:
    """One point; `x` is 0 at the left edge of the plot and 1 at its right one."""

    x: float
    y: float
    """In the unit of the scale."""
    label: str = ""
    role: str = "bar"
    glyph: str = "●"
    line: int | None = 0
    """The line that it is on: from the point before on it, to the one after; None: it stands alone."""


@dataclass(frozen=True, slots=True)
class Upright:
    """Something that happened, as a line from top to bottom."""

    x: float
    number: str
    role: str


def xy_lines(
    points: Sequence[Point], scale: Scale, width: int, rows: int, *, marks: Marks, uprights: Sequence[Upright] = ()
) -> list[Line]:
    """The plot in `rows` lines of `width` cells, with the y axis at the left; the x axis is the caller's."""
    columns = width - GUTTER
    if columns < 2 or rows < 1:
        return []
    grid: list[list[Span]] = [[(" ", "text")] * columns for _ in range(rows)]
    for upright in uprights:
        column = _column(upright.x, columns)
        for row in range(rows):
            grid[row][column] = (marks.mark, "muted")
        for place, char in enumerate(upright.number[: columns - column]):
            grid[0][column + place] = (char, upright.role)
    _join(grid, points, scale, marks)
    taken: set[tuple[int, int]] = set()
    for point in points:
        at = _cell(point, scale, columns, rows, marks.down)
        grid[at[0]][at[1]] = (point.glyph, point.role)
        taken.add(at)
    for point in points:
        _label(grid, point, _cell(point, scale, columns, rows, marks.down), taken)
    labels = axis_labels(scale, rows, marks.down)
    lines: list[Line] = []
    for row, cells in enumerate(grid):
        label = labels.get(row, "")
        lines.append(((f"{label:>{GUTTER - 2}} ", "muted"), ("┤" if label else "│", "rule"), *pieces(cells)))
    return lines


def x_axis(ticks: Sequence[tuple[float, str]], width: int) -> list[Line]:
    """Two rows: the rule with its ticks (0 to 1), and the label of each."""
    columns = width - GUTTER
    if columns < 2:
        return []
    rule, words = ["─"] * columns, [" "] * columns
    end = -1
    for x, label in ticks:
        column = _column(x, columns)
        begin = min(max(0, column - len(label) // 2), columns - len(label))
        if begin > end:
            rule[column] = "┬"
            words[begin : begin + len(label)] = list(label)
            end = begin + len(label)
    edge: Span = (" " * (GUTTER - 1) + "└", "rule")
    return [(edge, ("".join(rule), "rule")), ((" " * GUTTER, "text"), ("".join(words).rstrip(), "muted"))]


def _column(x: float, columns: int) -> int:
    return min(columns - 1, max(0, round(x * (columns - 1))))


def _cell(point: Point, scale: Scale, columns: int, rows: int, down: int) -> tuple[int, int]:
    return rows - 1 - scale.height(point.y, rows * down) // down, _column(point.x, columns)


def _join(grid: list[list[Span]], points: Sequence[Point], scale: Scale, marks: Marks) -> None:
    """Draw a line of dots between each two neighbours."""
    rows, columns = len(grid), len(grid[0])
    across, down = marks.across, marks.down
    bits: dict[tuple[int, int], int] = {}
    on_lines = sorted((point for point in points if point.line is not None), key=lambda point: point.line or 0)
    for one, other in pairwise(on_lines):
        if one.line != other.line:
            continue
        x0, x1 = (round(p.x * (columns - 1)) * across + across // 2 for p in (one, other))
        y0, y1 = (scale.height(p.y, rows * down) for p in (one, other))
        steps = max(abs(x1 - x0), abs(y1 - y0), 1)
        for step in range(steps + 1):
            x, y = x0 + round((x1 - x0) * step / steps), y0 + round((y1 - y0) * step / steps)
            row, column = rows - 1 - y // down, x // across
            if 0 <= row < rows and 0 <= column < columns:
                bit = y % down + (down if across == 2 and x % across == 0 else 0)
                bits[row, column] = bits.get((row, column), 0) | 1 << bit
    for (row, column), dots in bits.items():
        grid[row][column] = (marks.dots[dots], LINE_ROLE)


def _label(grid: list[list[Span]], point: Point, at: tuple[int, int], taken: set[tuple[int, int]]) -> None:
    """Right of the point, above, below or left of it: where it covers nothing, else where it covers no other point."""
    if not point.label:
        return
    rows, columns, wide = len(grid), len(grid[0]), len(point.label)
    row, column = at
    middle = column - wide // 2
    free: list[list[tuple[int, int]]] = []
    for y, begin in ((row, column + 2), (row - 1, middle), (row + 1, middle), (row, column - wide - 1)):
        places = [(y, begin + step) for step in range(wide)]
        if 0 <= y < rows and begin >= 0 and begin + wide <= columns and not taken.intersection(places):
            free.append(places)
    if not free:
        return
    places = next((one for one in free if all(grid[y][x][0] == " " for y, x in one)), free[0])
    for place, char in zip(places, point.label, strict=True):
        grid[place[0]][place[1]] = (char, "muted")
    taken.update(places)

"""Benchmarks as a table, newest first: filtered, sorted, marked, copied as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from k2tui.core.benching.fields import BENCH_FIELDS, bench_fields
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.words import METRICS, best_point
from k2tui.core.query import Field
from k2tui.core.words import UNKNOWN
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, Span, cell, cells
from k2tui.ui.widgets import bench_cells as shown
from k2tui.ui.widgets.lists import KeyedRows, Sort, in_order

SORTS: dict[str, Sort] = {
    "w": Sort("when", "when", "When", most_first=True),
    "s": Sort("server", "server", "Server"),
    "k": Sort("kind", "name", "Kind"),
    "f": Sort("one stream", "tps", "Figure", most_first=True),
    "a": Sort("all streams", "total", "All", most_first=True),
    "t": Sort("TTFT", "ttft", "Ttft"),
    "g": Sort("gates", "gates", "Gates", most_first=True),
    "p": Sort("profile", "profile", "Prof"),
    "v": Sort("version", "version", "Vers"),
}
"""Key after `o`, and the order."""
BASE = "="
GAP = 2
LEAST_REASON = 24
"""Columns that a failure has for its reason, in the place of a figure."""


@dataclass(frozen=True, slots=True)
class BenchRow:
    """One benchmark in the table."""

    result: BenchResult

    @property
    def key(self) -> str:
        """What a mark stands on."""
        return self.result.bench_id


@dataclass(frozen=True, slots=True)
class Column:
    """One column; it is as wide as its widest cell, up to `most`."""

    title: str
    text: Callable[[BenchResult], Line]
    keep: int
    """The higher, the longer it stays when the screen gets narrow."""
    most: int = 40
    right: bool = False


def _one(text: str, role: str = "text") -> Line:
    return ((text, "muted" if text == UNKNOWN else role),)


def _figure(result: BenchResult) -> Line:
    """The value with its name; why there is none where it failed."""
    value, whose = shown.figure_of(result)
    if not whose:
        return ((f"failed: {result.error}", "bad"),) if result.error is not None else ((UNKNOWN, "muted"),)
    return ((f"{value:>7}", shown.figure_role(result)), (f" tok/s {whose}", "muted"))


def _all_streams(result: BenchResult) -> Line:
    """The most tok/s of all streams together, and how many they were; ~ where no window of it was steady."""
    best = best_point(result)
    if best is None or best.c == 1:
        return ((UNKNOWN, "muted"),)
    mark = "" if best.steady and best.agg_tps_steady is not None else "~"
    return ((f"{mark}{shown.tps(result.best_total_tps)} c={best.c}", shown.figure_role(result)),)


COLUMNS: tuple[Column, ...] = (
    Column("", lambda result: ((BASE if result.is_base else " ", "key"),), 20),
    Column("WHEN", lambda result: _one(shown.when_words(result.began_at)), 20),
    Column("SERVER", lambda result: _one(result.subject, "strong"), 19, most=18),
    Column("WHAT", lambda result: _one(shown.what_words(result)), 18, most=14),
    Column("FIGURE", _figure, 20, most=28),
    Column("±95 %", lambda result: _one(shown.half_interval(result)), 16, right=True),
    Column("ALL STREAMS", _all_streams, 13, right=True),
    Column("TTFT ANY", lambda result: _one(METRICS["ttft_any_ms"].text(result.ttft_any_ms)), 14, right=True),
    Column("G1–7", shown.gate_spans, 17),
    Column("PROFILE", lambda result: _one(result.profile or UNKNOWN, "muted"), 15, most=16),
    Column("VERSION", lambda result: _one(result.system.version or UNKNOWN, "muted"), 12, most=10),
    Column("ENGINE", lambda result: _one(result.system.engine or UNKNOWN, "muted"), 8, most=8),
    Column("RUN", lambda result: _one(result.run_id or UNKNOWN, "muted"), 4, most=21),
)
Columns = tuple[tuple[Column, int], ...]


def _wide(line: Line) -> int:
    return sum(cells(text) for text, _ in line)


def _measure(column: Column, result: BenchResult) -> int:
    """How wide its cell is; a reason is cut where the figures are narrower."""
    is_reason = column.title == "FIGURE" and not shown.figure_of(result)[1]
    return LEAST_REASON if is_reason else _wide(column.text(result))


def columns_for(results: Sequence[BenchResult], width: int) -> Columns:
    """As wide as their widest cell; the least wanted go first where there is no room."""
    kept = [
        (column, min(column.most, max([len(column.title), *(_measure(column, one) for one in results)])))
        for column in COLUMNS
    ]
    while sum(wide for _, wide in kept) + GAP * (len(kept) - 1) > width and len(kept) > 4:
        kept.remove(min(kept, key=lambda one: one[0].keep))
    return tuple(kept)


def heading(columns: Columns) -> Line:
    """The names of the columns."""
    line: list[Span] = []
    for place, (column, wide) in enumerate(columns):
        line += [(" " * GAP, "text")] if place else []
        line.append(cell(column.title, wide, "muted", right=column.right))
    return tuple(line)


def bench_line(result: BenchResult, columns: Columns) -> Line:
    """One row."""
    line: list[Span] = []
    for place, (column, wide) in enumerate(columns):
        line += [(" " * GAP, "text")] if place else []
        line += _padded(column.text(result), wide, right=column.right)
    return tuple(line)


def _padded(parts: Line, wide: int, *, right: bool) -> Line:
    if len(parts) == 1:
        return (cell(parts[0][0], wide, parts[0][1], right=right),)
    used = _wide(parts)
    if used > wide:
        head, last = parts[:-1], parts[-1]
        return (*head, cell(last[0], max(0, wide - _wide(head)), last[1]))
    return (*parts, (" " * (wide - used), "text"))


class BenchTable(KeyedRows[BenchRow]):
    """Every benchmark that this side remembers."""

    title = "Benchmarks"
    SORTS = SORTS

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(BENCH_FIELDS, id=id)
        self._rows_given: Sequence[BenchRow] = ()
        self._said = ""
        self._columns: Columns = ()
        self._columns_for: tuple[object, ...] = ()
        self._kept: dict[str, tuple[BenchResult, Columns, Line]] = {}

    @property
    def selected(self) -> BenchResult | None:
        """The benchmark under the cursor."""
        row = self.at(self.cursor)
        return None if row is None else row.result

    def marked(self) -> list[BenchResult]:
        """The marked ones, newest first."""
        return [row.result for row in self._rows_given if row.key in self.marks.keys]

    def take(self, results: Sequence[BenchResult], said: str) -> None:
        """Other benchmarks; `said` stands where there are none."""
        self._rows_given, self._said = [BenchRow(result) for result in results], said

    def show_scene(self, scene: Scene) -> None:
        every = self._rows_given
        self.marks.keep_only(row.key for row in every)
        query = self.filter.query
        rows = [row for row in every if query is None or query.matches(bench_fields(row.result)) is True]
        if self.sort_key:
            rows = in_order(rows, SORTS[self.sort_key], _fields, backwards=self.backwards)
        made_for = (self._rows_given, query, self.sort_key, self.inner_width - self.indent)
        if made_for != self._columns_for:
            self._columns_for = made_for
            self._columns = columns_for([row.result for row in rows], self.inner_width - self.indent)
        self.headed(heading(self._columns))
        self.put_rows(rows, len(every), scene)
        if not rows:
            said = "no benchmark passes this filter" if every else self._said
            self.heading = ()
            self.show([((said, "muted"),)], self._filter_words())

    def line_of(self, row: BenchRow, scene: Scene) -> Line:
        kept = self._kept.get(row.key)
        if kept is None or kept[0] is not row.result or kept[1] is not self._columns:
            kept = self._kept[row.key] = (row.result, self._columns, bench_line(row.result, self._columns))
        return kept[2]

    def row_text(self) -> str:
        """What `y` copies: the marked benchmarks, else the selected one, as a table in Markdown."""
        from k2tui.core.benching.export import markdown_of  # noqa: PLC0415  only when asked for

        chosen = self.marked() or ([] if self.selected is None else [self.selected])
        return markdown_of(chosen) if chosen else ""


def _fields(row: BenchRow) -> dict[str, Field]:
    return bench_fields(row.result)

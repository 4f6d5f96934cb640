"""The grid of servers as a pane: selected, marked, sorted, grouped, filtered."""

from __future__ import annotations

from k2tui.core.fields import SERVER_FIELDS
from k2tui.core.query import Field
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, joined
from k2tui.ui.widgets.grid import (
    SORTS,
    Column,
    GroupRow,
    Trend,
    columns_for,
    fitted,
    grid_rows,
    group_line,
    grouped,
    heading,
    measures,
    row_fields,
    row_line,
    sorted_rows,
)
from k2tui.ui.widgets.grid_cells import GridRow, good_until
from k2tui.ui.widgets.lists import KeyedRows

Kept = dict[str, tuple[object, object, object, float, Line]]
"""By a row's key: its node, its server, the columns, until when it holds, and the line."""


class ServerRows(KeyedRows[GridRow | GroupRow]):
    """The grid, with the selected server."""

    title = "Servers"
    SORTS = SORTS

    def __init__(self, *, trend: Trend | None = None, id: str | None = None) -> None:
        super().__init__(SERVER_FIELDS, id=id)
        self.by_tag = False
        self.folded: frozenset[str] = frozenset()
        self._trend = trend
        self._passed = 0
        self._columns: tuple[tuple[Column, int], ...] = ()
        self._kept: Kept = {}
        self._measured: dict[str, tuple[object, object, tuple[int, ...]]] = {}
        """By a row's key: its server, the phase of its link, and how wide its texts are."""

    # ---- what is selected

    @property
    def selected(self) -> GridRow | None:
        """The row under the cursor; None on the heading of a group."""
        row = self.at(self.cursor)
        return row if isinstance(row, GridRow) else None

    @property
    def selected_group(self) -> GroupRow | None:
        """The heading under the cursor."""
        row = self.at(self.cursor)
        return row if isinstance(row, GroupRow) else None

    def seen_servers(self) -> list[GridRow]:
        """The servers that are on screen."""
        return [row for row in self.seen() if isinstance(row, GridRow)]

    def select(self, server: str) -> None:
        """Put the cursor on this server."""
        for row in self._grid:
            if isinstance(row, GridRow) and row.server is not None and row.server.settings.name == server:
                self.select_key(row.key)

    def keys_of(self, row: GridRow | GroupRow) -> list[str]:
        return [one.key for one in row.rows] if isinstance(row, GroupRow) else [row.key]

    # ---- order and groups

    def sort_by(self, key: str) -> None:
        """As every list; `g` groups the rows by tag, and `o` takes that back too."""
        if key == "g":
            self.by_tag = not self.by_tag
            self.again()
            return
        if key == "o":
            self.by_tag = False
        super().sort_by(key)

    def fold(self, tag: str) -> None:
        """Show the rows of a group, or its heading alone."""
        self.folded = self.folded ^ {tag}
        self.again()

    # ---- drawing

    def show_scene(self, scene: Scene) -> None:
        rows = every = grid_rows(scene)
        self.marks.keep_only(row.key for row in every)
        query = self.filter.query
        if query is not None:
            of_node: dict[str, dict[str, Field]] = {}
            rows = [row for row in rows if query.matches(row_fields(row, scene, of_node)) is True]
        if self.sort_key:
            rows = sorted_rows(rows, scene, SORTS[self.sort_key], backwards=self.backwards)
        self._passed = len(rows)
        measured = [self._measure(row) for row in rows or every]
        self._columns = columns_for(self.inner_width - self.indent, fitted(measured))
        self.headed(heading(self._columns))
        self.put_rows([*grouped(rows, self.folded)] if self.by_tag else [*rows], len(every), scene)

    def _measure(self, row: GridRow) -> tuple[int, ...]:
        kept, phase = self._measured.get(row.key), row.node.link.phase
        if kept is None or kept[0] is not row.server or kept[1] is not phase:
            kept = self._measured[row.key] = (row.server, phase, measures(row))
        return kept[2]

    def line_of(self, row: GridRow | GroupRow, scene: Scene) -> Line:
        """The row's line; the same views make the same line until an age in it begins to show."""
        if isinstance(row, GroupRow):
            return group_line(row, scene)
        kept = self._kept.get(row.key)
        if (
            kept is not None
            and kept[0] is row.node
            and kept[1] is row.server
            and kept[2] is self._columns
            and scene.now < kept[3]
        ):
            return kept[4]
        line = row_line(row, scene, self._columns, self._trend)
        self._kept[row.key] = (row.node, row.server, self._columns, good_until(row, scene), line)
        return line

    def _order_words(self) -> Line:
        groups: Line = (("groups by tag", "muted"),) if self.by_tag else ()
        return joined([super()._order_words(), groups])

    @property
    def passed(self) -> int:
        return self._passed

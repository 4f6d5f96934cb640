"""The grid of servers as a pane: selected, sorted, filtered."""

from __future__ import annotations

from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, joined
from k2tui.ui.widgets.grid import SORTS, GridRow, columns_for, fitted, grid_rows, heading, passes, row_line
from k2tui.ui.widgets.pane import Pane


class ServerRows(Pane):
    """The grid, with the selected server."""

    title = "Servers"
    lists = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.sort_key = ""
        self.wanted = ""
        self._grid: list[GridRow] = []
        self._scene: Scene | None = None

    @property
    def selected(self) -> GridRow | None:
        """The row under the cursor."""
        return self._grid[self.cursor] if self.cursor < len(self._grid) else None

    @property
    def is_filtered(self) -> bool:
        """True when `esc` has something to clear here."""
        return bool(self.wanted)

    def find(self, text: str) -> None:
        """Show only the rows with this text; `!` in front inverts."""
        self.wanted = text
        if self._scene is not None:
            self.show_scene(self._scene)

    def clear_find(self) -> None:
        """Show all rows again."""
        self.find("")

    def find_next(self, step: int) -> bool:
        """A filter leaves only matches: next is the next row."""
        self.move("down" if step > 0 else "up")
        return bool(self._grid)

    def select(self, server: str) -> None:
        """Put the cursor on this server."""
        names = [row.server.settings.name if row.server else None for row in self._grid]
        if server in names:
            self.cursor = names.index(server)
            self._settle()
            self._draw()

    def show_scene(self, scene: Scene) -> None:
        """Draw all rows that pass; the cursor stays on its server."""
        here = self.selected.key if self.selected else None
        rows = [row for row in grid_rows(scene) if passes(row, self.wanted)]
        if self.sort_key:
            rows.sort(key=SORTS[self.sort_key][1])
        self._grid, self._scene = rows, scene
        keys = [row.key for row in rows]
        if here in keys:
            self.cursor = keys.index(here)
        columns = columns_for(self.inner_width, fitted(rows, scene))
        words: list[Line] = []
        if self.sort_key:
            words.append((("by ", "muted"), (SORTS[self.sort_key][0], "text")))
        if self.wanted:
            words.append(((f"/{self.wanted}  {len(rows)} of {len(grid_rows(scene))}", "text"),))
        self.heading = (heading(columns),)
        self.show([row_line(row, scene, columns) for row in rows], joined(words))

    def lay_out(self) -> None:
        if self._scene is not None:
            self.show_scene(self._scene)

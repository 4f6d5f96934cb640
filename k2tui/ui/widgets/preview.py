"""What is known of the selected row, beside the grid."""

from __future__ import annotations

from k2tui.core.link import LinkPhase
from k2tui.core.views import ServerView
from k2tui.ui import present
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, joined, width_of, wrapped
from k2tui.ui.widgets.flags_pane import setting_lines
from k2tui.ui.widgets.grid import Trend
from k2tui.ui.widgets.grid_cells import GridRow, foreign_words
from k2tui.ui.widgets.launch_pane import launch_lines
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.serving_pane import compact_lines, measured_lines, serving_lines, source_note
from k2tui.ui.widgets.state_pane import disagreement_lines

_LEAST_SETTINGS = 3
"""Rows that are left for flags, below which none are shown."""
_MOST_LAUNCH = 8
"""Rows of how it was launched, beside what it does now."""
_TALL = 20
"""Rows from which figures have names and lines of their own."""


class PreviewPane(Pane):
    """Launch, state, figures and flags of one server; the connection of a node without one."""

    title = "Selected"

    def __init__(self, *, trend: Trend | None = None, id: str | None = None) -> None:
        super().__init__(id=id)
        self._trend = trend

    def show_row(self, row: GridRow | None, scene: Scene) -> None:
        """Draw this row."""
        if row is None:
            self.show([])
            return
        width, height = self.inner_width, self.page
        link = row.node.link
        info: Line = ((present.link_words(link, scene.now), "muted" if link.phase is LinkPhase.UP else "bad"),)
        server = row.server
        if server is None:
            hint = wrapped(link.hint or "no server is configured on this node", width, 3)
            self.show([((text, "muted"),) for text in hint], info)
            return
        figures = [*self._figures(row, scene, width, height), *self._measured(server, scene, width, height)]
        foreign = [((text, "warning"),) for text in wrapped(foreign_words(server), width, 2)]
        said: list[Line] = [*foreign, *disagreement_lines(server, width, 2)]
        room = max(2, height - len(figures) - len(said))
        launch = launch_lines(server, scene, width, min(room, _MOST_LAUNCH) if figures else room)
        lines = [*launch[:1], *said, *figures, *launch[1:]]
        if height - len(lines) > _LEAST_SETTINGS and server.run is not None:
            settings, _ = setting_lines(server, width)
            lines += [(), *settings[: height - len(lines) - 1]]
        self.show(lines[:height], info)

    def _measured(self, server: ServerView, scene: Scene, width: int, height: int) -> list[Line]:
        """What is measured now, else the base and the last benchmark: one line where there is little room."""
        lines = measured_lines(server, scene, width, named=height >= _TALL)
        return [*lines, ()] if lines and height >= _TALL else lines[:1]

    def _figures(self, row: GridRow, scene: Scene, width: int, height: int) -> list[Line]:
        """What it does now, where it is known, with its last minutes and its source."""
        server = row.server
        if server is None or server.serving is None:
            return []
        is_tall = height >= _TALL
        lines = (
            serving_lines(server, scene.now, width, height // 2) if is_tall else compact_lines(server, scene.now, width)
        )
        if not lines:
            return []
        source = source_note(server.serving, scene.now)
        trend: Line = ()
        room = min(30, width - width_of(source) - 2)
        if self._trend is not None and room >= 10:
            trend = self._trend(server.settings.name, room)
        figures = [*lines, joined([trend, source])]
        return [(), *figures, ()] if is_tall else figures

"""What is known of the selected row, beside the grid."""

from __future__ import annotations

from k2tui.core.link import LinkPhase
from k2tui.ui import present
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.flags_pane import setting_lines
from k2tui.ui.widgets.grid import GridRow
from k2tui.ui.widgets.launch_pane import launch_lines
from k2tui.ui.widgets.pane import Pane


class PreviewPane(Pane):
    """Launch, state and flags of one server; the connection of a node without one."""

    title = "Selected"

    def show_row(self, row: GridRow | None, scene: Scene) -> None:
        """Draw this row."""
        if row is None:
            self.show([])
            return
        width, height = self.inner_width, self.page
        link = row.node.link
        info: Line = ((present.link_words(link, scene.now), "muted" if link.phase is LinkPhase.UP else "bad"),)
        if row.server is None:
            hint = wrapped(link.hint or "no server is configured on this node", width, 3)
            self.show([((text, "muted"),) for text in hint], info)
            return
        lines = launch_lines(row.server, scene, width, height)
        if len(lines) + 3 < height and row.server.run is not None:
            settings, _ = setting_lines(row.server, width)
            lines += [(), *settings[: height - len(lines) - 1]]
        self.show(lines, info)

"""Three nodes and more: the grid of servers, and what is known of the selected one."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core.fields import gpus_of
from k2tui.core.pace import Shown
from k2tui.core.views import ServerView
from k2tui.ui.actions import EVERYWHERE, ROWS, SERVER, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.home import HomeScreen
from k2tui.ui.screens.serving import ServerKeysScreen
from k2tui.ui.screens.sorting import SortingScreen
from k2tui.ui.spans import Line, joined
from k2tui.ui.widgets.event_rows import EventRows
from k2tui.ui.widgets.gpu_rows import GpuPane, rows_wanted
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.preview import PreviewPane
from k2tui.ui.widgets.rows import ServerRows
from k2tui.ui.widgets.status_line import (
    any_lost,
    gpu_counts,
    node_counts,
    server_counts,
    status_line,
    work_counts,
)

SHORT = 30
WIDE = 170
"""Columns from which the preview stands beside the grid."""
PREVIEW_WIDTH = 58
LEAST_PREVIEW, MOST_PREVIEW = 9, 14
"""Rows of the preview below the grid."""


class FleetScreen(SortingScreen, HomeScreen, ServerKeysScreen):
    """The home screen of a fleet."""

    HERE = (*EVERYWHERE, *SERVER, *ROWS, "alert.acknowledge")
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "app.open",
        "server.restart",
        "server.try",
        "bench.quick",
        "server.stop",
        "server.verify",
        "go.log",
        "find.open",
        "rows.sort",
        "rows.mark",
        "go.benches",
        "go.events",
        "go.gpus",
        "server.describe",
        "server.history",
        "server.runs",
        "server.undo",
        "alert.acknowledge",
        "node.connect",
        "pane.zoom",
        "server.copy_command",
        "app.command",
        "app.palette",
        "app.help",
        "app.quit",
    )
    MORE_SORTS = (("g", "tags", "Grp"), ("o", "config", "Off"))

    def make_panes(self) -> list[Pane]:
        self.rows = ServerRows(trend=self.trend_of, id="rows")
        self.preview = PreviewPane(trend=self.trend_of, id="preview")
        self.gpus = GpuPane(id="gpus")
        self.events = EventRows(id="events")
        return [self.rows, self.preview, self.gpus, self.events, self.make_absence()]

    @property
    def listed(self) -> ServerRows:
        return self.rows

    @property
    def chosen_server(self) -> ServerView | None:
        row = self.rows.selected
        return None if row is None else row.server

    @property
    def chosen_node(self) -> str | None:
        row = self.rows.selected
        return None if row is None else row.node.settings.name

    def looked_at(self, scene: Scene) -> Shown:
        seen = self.rows.seen_servers() if "rows" in self._shown_places else []
        server = self.chosen_server
        return Shown(
            nodes=frozenset(row.node.settings.name for row in seen),
            servers=frozenset(row.server.settings.name for row in seen if row.server is not None),
            node=self.chosen_node if "gpus" in self._shown_places else None,
            server=server.settings.name if server is not None and "preview" in self._shown_places else None,
        )

    def select_server(self, name: str) -> None:
        """Put the cursor on it."""
        self.rows.select(name)
        self.redraw()

    def moved(self) -> None:
        if self.pane is self.rows:
            self.redraw()

    def action_app_open(self) -> None:
        row, group = self.rows.selected, self.rows.selected_group
        if self.pane is self.events:
            self.k2.go_events()
        elif self.pane is self.gpus:
            self.open_gpus(f"node=={self.chosen_node}" if self.chosen_node else "")
        elif self.pane is self.away:
            self.k2.read_lines("since you left", self.away.text)
        elif group is not None:
            self.rows.fold(group.tag)
            self.redraw()
        elif row is not None and row.server is not None:
            self.k2.go_server(row.server.settings.name)
        elif row is not None:
            self.k2.connect_node(row.node.settings.name)

    def arrange_panes(self, area: Region) -> Places:
        scene = self.scene
        count = 0 if scene is None else max(len(scene.nodes), len(scene.servers), self.rows.count)
        node = None if scene is None or self.chosen_node is None else scene.node(self.chosen_node)
        away = self.absence_rows(area.width)
        if area.height + 2 < SHORT:
            return stacked(area, {**away, "rows": 0, "gpus": 4, "events": 5 - min(3, sum(away.values()))})
        height = area.height - sum(away.values())
        gpus = 4 if node is None else min(11, rows_wanted([node]) + 1)
        events_rows = 9 if area.height >= 44 else 6
        if area.width >= WIDE:
            grid = min(max(16, count + 2), height - gpus - events_rows)
            places = stacked(area, {**away, "top": grid + gpus, "events": 0})
            left, right = beside(places.pop("top"), area.width - PREVIEW_WIDTH)
            return {**places, **stacked(left, {"rows": 0, "gpus": gpus}), "preview": right}
        grid = min(max(6, count + 2), max(8, height - gpus - events_rows - LEAST_PREVIEW))
        preview = min(MOST_PREVIEW, max(LEAST_PREVIEW, height - grid - gpus - events_rows))
        return stacked(area, {**away, "rows": grid, "preview": preview, "gpus": gpus, "events": 0})

    def draw(self, scene: Scene) -> None:
        self.draw_absence()
        self.rows.show_scene(scene)
        row = self.rows.selected
        self.preview.show_row(row, scene)
        only = () if row is None or row.server is None else [gpu.index for gpu in gpus_of(row.server, row.node)]
        self.gpus.show_nodes([row.node] if row else [], scene, only=only)
        self.events.show_events(self.k2.events_seen())
        self._follow_places()

    def status_row(self, scene: Scene, width: int) -> Line:
        nodes, work = node_counts(scene), work_counts(scene)
        first = [server_counts(scene), nodes, work] if any_lost(scene) else [server_counts(scene), work, nodes]
        extra = joined([self.marked_line(), self.hold_line()])
        brief, keep = server_counts(scene, words=False), first.index(work) + 1
        return status_line(["fleet"], [*first, gpu_counts(scene)], scene, width, extra=extra, brief=brief, keep=keep)

"""Three nodes and more: the grid of servers, and what is known of the selected one."""

from __future__ import annotations

from textual import events
from textual.geometry import Region

from k2tui.core.views import ServerView
from k2tui.ui.actions import EVERYWHERE, SERVER, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.serving import ServerKeysScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.event_rows import EventRows
from k2tui.ui.widgets.gpu_rows import GpuPane, rows_wanted
from k2tui.ui.widgets.grid import SORTS
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.preview import PreviewPane
from k2tui.ui.widgets.rows import ServerRows
from k2tui.ui.widgets.status_line import any_lost, gpu_counts, node_counts, server_counts, status_line

SHORT = 30
WIDE = 150
"""Columns from which the preview stands beside the grid."""


class FleetScreen(ServerKeysScreen):
    """The home screen of a fleet."""

    HERE = (*EVERYWHERE, *SERVER, "rows.sort")
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "app.open",
        "server.restart",
        "server.stop",
        "go.log",
        "server.describe",
        "find.open",
        "rows.sort",
        "go.events",
        "node.connect",
        "pane.zoom",
        "server.copy_command",
        "app.command",
        "app.palette",
        "app.help",
        "app.quit",
    )

    def make_panes(self) -> list[Pane]:
        self.rows = ServerRows(id="rows")
        self.preview = PreviewPane(id="preview")
        self.gpus = GpuPane(id="gpus")
        self.events = EventRows(id="events")
        self.sorting = False
        return [self.rows, self.preview, self.gpus, self.events]

    @property
    def chosen_server(self) -> ServerView | None:
        row = self.rows.selected
        return None if row is None else row.server

    @property
    def chosen_node(self) -> str | None:
        row = self.rows.selected
        return None if row is None else row.node.settings.name

    def select_server(self, name: str) -> None:
        """Put the cursor on it."""
        self.rows.select(name)
        self.redraw()

    def moved(self) -> None:
        if self.pane is self.rows:
            self.redraw()

    def action_app_open(self) -> None:
        row = self.rows.selected
        if self.pane is self.events:
            self.k2.go_events()
        elif row is not None and row.server is not None:
            self.k2.go_server(row.server.settings.name)
        elif row is not None:
            self.k2.connect_node(row.node.settings.name)

    def action_rows_sort(self) -> None:
        self.sorting = True
        choices = "  ".join(f"{key} {word}" for key, (word, _) in SORTS.items())
        self.k2.say(f"sort by: {choices}  o as in the config", "text")

    @property
    def hears_keys(self) -> bool:
        return super().hears_keys and not self.sorting

    def on_key(self, event: events.Key) -> None:
        """The letter after `o`."""
        if not self.sorting:
            return
        self.sorting = False
        self.k2.clear_note()
        if event.character in SORTS or event.character == "o":
            event.prevent_default()
            event.stop()
            self.rows.sort_key = event.character if event.character in SORTS else ""
            self.redraw()

    def arrange_panes(self, area: Region) -> Places:
        scene = self.scene
        count = 0 if scene is None else max(len(scene.nodes), len(scene.servers))
        node = None if scene is None or self.chosen_node is None else scene.node(self.chosen_node)
        if area.height + 2 < SHORT:
            return stacked(area, {"rows": 0, "gpus": 3, "events": 5})
        gpus = 4 if node is None else min(11, rows_wanted([node]) + 1)
        events_rows = 9 if area.height >= 44 else 6
        if area.width >= WIDE:
            grid = min(max(16, count + 2), area.height - gpus - events_rows)
            places = stacked(area, {"top": grid + gpus, "events": 0})
            left, right = beside(places.pop("top"), area.width - 64)
            return {**places, **stacked(left, {"rows": 0, "gpus": gpus}), "preview": right}
        grid = min(max(6, count + 2), max(8, area.height - gpus - events_rows - 9))
        return stacked(area, {"rows": grid, "preview": 9, "gpus": gpus, "events": 0})

    def draw(self, scene: Scene) -> None:
        self.rows.show_scene(scene)
        row = self.rows.selected
        self.preview.show_row(row, scene)
        self.gpus.show_nodes(
            [row.node] if row else [], scene, only=row.server.settings.gpus if row and row.server else ()
        )
        self.events.show_events(self.k2.events_seen())
        self._follow_places()

    def status_row(self, scene: Scene, width: int) -> Line:
        facts = [server_counts(scene), node_counts(scene), gpu_counts(scene)]
        brief, keep = server_counts(scene, words=False), 2 if any_lost(scene) else 1
        return status_line(["fleet"], facts, scene, width, extra=self.hold_line(), brief=brief, keep=keep)

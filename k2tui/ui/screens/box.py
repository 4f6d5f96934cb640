"""One or two nodes: GPUs, server, phase and log on one screen, and nothing to press."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core import words
from k2tui.core.views import ServerView
from k2tui.ui import present
from k2tui.ui.actions import EVERYWHERE, LOG, SERVER, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.serving import LogKeysScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.event_rows import EventRows
from k2tui.ui.widgets.gpu_rows import GpuPane, rows_wanted
from k2tui.ui.widgets.launch_pane import LaunchPane
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.phase_rows import SHOWN_PHASES
from k2tui.ui.widgets.rows import ServerRows
from k2tui.ui.widgets.status_line import any_lost, gpu_counts, node_counts, server_counts, status_line

LAUNCH_ROWS = len(SHOWN_PHASES) + 7
"""Headline, a row for each phase, the ranks, what is to be said of it, and the first witnesses."""
SHORT = 30
"""Rows of a screen below which panes fold."""


class BoxScreen(LogKeysScreen):
    """The home screen of a small fleet."""

    HERE = (*EVERYWHERE, *SERVER, *LOG)
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "server.restart",
        "server.stop",
        "server.describe",
        "log.follow",
        "find.open",
        "log.failure",
        "log.wrap",
        "pane.next",
        "pane.zoom",
        "app.open",
        "go.events",
        "log.rank_after",
        "row.copy",
        "app.palette",
        "app.help",
        "app.quit",
    )

    def make_panes(self) -> list[Pane]:
        servers = self.k2.fleet.servers()
        self.rows = ServerRows(id="rows")
        self.launch = LaunchPane("Server", id="launch")
        self.gpus = GpuPane(id="gpus")
        first = servers[0].settings.name if servers else None
        self.log_widget = LogPane(self.k2.empty_ring if first is None else self.k2.fleet.ring(first), id="log")
        self.events = EventRows(id="events")
        self._several = len(servers) > 1
        panes: list[Pane] = [self.log_widget, self.launch, self.gpus, self.events]
        return [self.rows, *panes] if self._several else panes

    def first_pane(self) -> Pane:
        return self.rows if self._several else self.log_widget

    @property
    def log_pane(self) -> LogPane:
        return self.log_widget

    @property
    def chosen_server(self) -> ServerView | None:
        if self.scene is None or not self.scene.servers:
            return None
        row = self.rows.selected
        if not self._several or row is None:
            return self.scene.servers[0]
        return row.server

    @property
    def chosen_node(self) -> str | None:
        server = self.chosen_server
        if server is not None:
            return server.settings.node
        row = self.rows.selected
        if row is not None:
            return row.node.settings.name
        return self.scene.nodes[0].settings.name if self.scene is not None and self.scene.nodes else None

    def select_server(self, name: str) -> None:
        """Put the cursor on it."""
        self.rows.select(name)
        self.moved()

    def moved(self) -> None:
        if self.pane is self.rows:
            self.run_id = None
            self.redraw()

    def action_app_open(self) -> None:
        server = self.chosen_server
        if self.pane is self.log_widget and self.log_widget.selected is not None:
            self.k2.read_lines("log line", self.log_widget.selected_lines())
        elif self.enter_explains:
            self.go_to_failure()
        elif self.pane is self.events:
            self.k2.go_events()
        elif server is not None:
            self.k2.go_server(server.settings.name)

    def arrange_panes(self, area: Region) -> Places:
        scene = self.scene
        nodes = () if scene is None else scene.nodes
        servers = 0 if scene is None else len(scene.servers)
        grid = servers + 2 if self._several else 0
        if not servers:
            return stacked(area, {"gpus": rows_wanted(nodes) + 1, "events": 0})
        if area.height + 2 < SHORT:
            launch = 6 if grid else 7
            gpus = 1 + min(2, rows_wanted(nodes))
            order = {"rows": grid, "launch": launch, "gpus": gpus, "log": 0}
            return stacked(area, {name: height for name, height in order.items() if height or name == "log"})
        events = 5 if area.height >= 42 else 0
        if area.width < 118:
            top = {"launch": LAUNCH_ROWS, "gpus": min(rows_wanted(nodes) + 1, max(4, area.height - LAUNCH_ROWS - 18))}
            order = {"rows": grid, **top, "log": 0, "events": events}
            return stacked(area, {name: height for name, height in order.items() if height or name == "log"})
        height = min(max(LAUNCH_ROWS, rows_wanted(nodes) + 1), max(LAUNCH_ROWS, area.height - 16))
        order = {"rows": grid, "top": height, "log": 0, "events": events}
        places = stacked(area, {name: size for name, size in order.items() if size or name == "log"})
        top_row = places.pop("top")
        left, right = beside(top_row, max(58, area.width * 52 // 100))
        return {**places, "launch": left, "gpus": right}

    def draw(self, scene: Scene) -> None:
        self.rows.show_scene(scene)
        server = self.chosen_server
        self.launch.show_server(server, scene)
        self.gpus.show_nodes(scene.nodes, scene)
        self.events.show_events(self.k2.events_seen())
        self.follow_ring()
        self.log_widget.note = log_note(server, scene, self.run_id)
        self.log_widget.catch_up()

    def status_row(self, scene: Scene, width: int) -> Line:
        names = [node.settings.name for node in scene.nodes]
        facts: list[Line] = [server_counts(scene), gpu_counts(scene)]
        lost = any_lost(scene)
        if lost:
            facts.insert(1, node_counts(scene))
        elif len(scene.nodes) == 1:
            link = scene.nodes[0].link
            facts.append(((present.link_words(link, scene.now), "muted"),))
        place, brief = ["  ".join(names) or "no nodes"], server_counts(scene, words=False)
        return status_line(place, facts, scene, width, extra=self.hold_line(), brief=brief, keep=2 if lost else 1)


def log_note(server: ServerView | None, scene: Scene, run_id: str | None) -> Line:
    """Which run the log is of, when not the newest, and how far behind it is."""
    if server is None:
        return ()
    if run_id is not None:
        return (("run ", "muted"), (present.run_time(run_id), "warning"))
    behind = server.log_behind_bytes
    if behind is not None and behind > 65_536:
        return ((f"{words.size(behind)} behind", "warning"),)
    return ()

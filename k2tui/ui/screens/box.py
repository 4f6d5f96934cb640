"""One or two nodes: GPUs, server, phase and log on one screen, and nothing to press."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core import words
from k2tui.core.pace import Shown
from k2tui.core.views import ServerStatus, ServerView
from k2tui.ui import present
from k2tui.ui.actions import EVERYWHERE, LOG, ROWS, SERVER, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.home import HomeScreen
from k2tui.ui.screens.serving import LogKeysScreen
from k2tui.ui.screens.sorting import SortingScreen
from k2tui.ui.spans import Line, joined
from k2tui.ui.widgets.event_rows import EventRows
from k2tui.ui.widgets.gpu_rows import GpuPane, rows_wanted
from k2tui.ui.widgets.grid_cells import interrupted_words
from k2tui.ui.widgets.launch_pane import LaunchPane
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.phase_rows import SHOWN_PHASES
from k2tui.ui.widgets.rows import ServerRows
from k2tui.ui.widgets.serving_pane import ServingPane
from k2tui.ui.widgets.status_line import (
    any_lost,
    gpu_counts,
    node_counts,
    server_counts,
    status_line,
    work_counts,
)

LAUNCH_ROWS = len(SHOWN_PHASES) + 7
"""Headline, a row for each phase, the ranks, what is to be said of it, and the first witnesses."""
SHORT = 30
"""Rows of a screen below which panes fold."""
SERVING_ROWS = 11
"""Title, four rows of figures, a warning, the latencies as a table, and the ranks."""
STATE_ROWS = 8
"""Of a launch that is over: headline, how long it took, and what was proved and seen of it."""
_SERVES = (ServerStatus.READY, ServerStatus.UNPROVED, ServerStatus.DEGRADED)


def serves(server: ServerView | None) -> bool:
    """True for a server whose figures matter more than how it was launched."""
    return server is not None and server.status in _SERVES and server.doing is None and server.serving is not None


class BoxScreen(SortingScreen, HomeScreen, LogKeysScreen):
    """The home screen of a small fleet."""

    HERE = (*EVERYWHERE, *SERVER, *LOG, *ROWS, "alert.acknowledge")
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "server.restart",
        "server.try",
        "bench.quick",
        "server.stop",
        "server.verify",
        "server.describe",
        "log.follow",
        "find.open",
        "log.failure",
        "log.wrap",
        "pane.next",
        "pane.zoom",
        "app.open",
        "go.benches",
        "go.events",
        "go.gpus",
        "server.history",
        "server.runs",
        "server.undo",
        "alert.acknowledge",
        "log.rank_after",
        "row.copy",
        "app.palette",
        "app.help",
        "app.quit",
    )

    MORE_SORTS = (("g", "tags", "Grp"), ("o", "config", "Off"))

    def make_panes(self) -> list[Pane]:
        servers = self.k2.fleet.servers()
        self.rows = ServerRows(trend=self.trend_of, id="rows")
        self.launch = LaunchPane("Server", id="launch")
        self.serving = ServingPane(trend=self.trend_of, id="serving")
        self.gpus = GpuPane(id="gpus")
        first = servers[0].settings.name if servers else None
        self.log_widget = LogPane(self.k2.empty_ring if first is None else self.k2.fleet.ring(first), id="log")
        self.events = EventRows(id="events")
        self._several = len(servers) > 1
        """The servers are listed: what somebody else started comes and goes while the screen is open."""
        away = self.make_absence()
        return [self.rows, self.log_widget, self.launch, self.serving, self.gpus, self.events, away]

    @property
    def listed(self) -> ServerRows:
        return self.rows

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

    def looked_at(self, scene: Scene) -> Shown:
        server = self.chosen_server
        return Shown(
            nodes=frozenset(node.settings.name for node in scene.nodes),
            servers=frozenset(server.settings.name for server in scene.servers),
            node=self.chosen_node,
            server=None if server is None else server.settings.name,
        )

    def moved(self) -> None:
        if self.pane is self.rows:
            self.run_id = None
            self.redraw()

    def action_app_open(self) -> None:
        server = self.chosen_server
        if self.pane is self.log_widget and self.log_widget.selected is not None:
            self.k2.read_lines("log line", self.log_widget.selected_lines())
        elif self.pane is self.launch and server is not None and interrupted_words(server):
            self.k2.ask_interrupted(server.settings.name)
        elif self.enter_explains:
            self.go_to_failure()
        elif self.pane is self.events:
            self.k2.go_events()
        elif self.pane is self.gpus:
            self.open_gpus()
        elif self.pane is self.away:
            self.k2.read_lines("since you left", self.away.text)
        elif self.pane is self.rows and self.rows.selected_group is not None:
            self.rows.fold(self.rows.selected_group.tag)
            self.redraw()
        elif server is not None:
            self.k2.go_server(server.settings.name)

    def arrange_panes(self, area: Region) -> Places:
        scene = self.scene
        nodes = () if scene is None else scene.nodes
        servers = 0 if scene is None else len(scene.servers)
        away = self.absence_rows(area.width)
        grid = {"rows": max(servers, self.rows.count) + 2} if self._several else {}
        head = {**away, **grid}
        is_up = serves(self.chosen_server)
        if not servers:
            return stacked(area, {**head, "gpus": rows_wanted(nodes) + 1, "events": 0})
        if area.height + 2 < SHORT:
            gpus = 1 + min(2, rows_wanted(nodes))
            launch = {"launch": 3 if head else 4, "serving": 5} if is_up else {"launch": 6 if head else 7}
            return stacked(area, {**head, **launch, "gpus": gpus, "log": 0})
        launch = {"launch": STATE_ROWS, "serving": SERVING_ROWS} if is_up else {"launch": LAUNCH_ROWS}
        wanted = sum(launch.values())
        events = {"events": 5} if area.height >= 42 else {}
        if area.width < 118:
            gpus = min(rows_wanted(nodes) + 1, max(4, area.height - wanted - sum(head.values()) - 18))
            return stacked(area, {**head, **launch, "gpus": gpus, "log": 0, **events})
        height = min(max(wanted, rows_wanted(nodes) + 1), max(wanted, area.height - sum(away.values()) - 16))
        places = stacked(area, {**head, "top": height, "log": 0, **events})
        left, right = beside(places.pop("top"), max(58, area.width * 46 // 100))
        return {**places, **stacked(left, {**launch, list(launch)[-1]: 0}), "gpus": right}

    def redraw(self) -> None:
        several = len(self.k2.fleet.servers()) > 1
        if several != self._several and not self.held and self.is_attached:
            self._several = several
            if not several and self.pane is self.rows:
                self.set_focus(self.log_widget)
            elif several and self.pane is self.log_widget and self.log_widget.following:
                self.set_focus(self.rows)  # nobody reads in the log, and a list is for walking
        super().redraw()

    def draw(self, scene: Scene) -> None:
        self.draw_absence()
        self.rows.show_scene(scene)
        server = self.chosen_server
        self.launch.show_server(server, scene)
        self.serving.show_server(server, scene)
        self.gpus.show_nodes(scene.nodes, scene)
        self.events.show_events(self.k2.events_seen())
        self.follow_ring()
        self.log_widget.note = log_note(server, scene, self.run_id)
        self.log_widget.catch_up()

    def status_row(self, scene: Scene, width: int) -> Line:
        names = [node.settings.name for node in scene.nodes]
        facts: list[Line] = [server_counts(scene), work_counts(scene), gpu_counts(scene)]
        lost = any_lost(scene)
        if lost:
            facts.insert(1, node_counts(scene))
        elif len(scene.nodes) == 1:
            link = scene.nodes[0].link
            facts.append(((present.link_words(link, scene.now), "muted"),))
        place, brief = ["  ".join(names) or "no nodes"], server_counts(scene, words=False)
        extra = joined([self.marked_line(), self.hold_line()])
        return status_line(place, facts, scene, width, extra=extra, brief=brief, keep=2 if lost else 1)


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

"""One server: its launch with bars and times, its witnesses, its runs, and its log."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core import words
from k2tui.core.fields import gpus_of
from k2tui.core.link import LinkPhase
from k2tui.core.pace import Shown
from k2tui.core.views import NodeView, ServerView
from k2tui.ui import present
from k2tui.ui.actions import EVERYWHERE, LOG, SERVER, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.scene import Scene, since
from k2tui.ui.screens.box import SERVING_ROWS, SHORT, log_note, serves
from k2tui.ui.screens.home import TrendScreen
from k2tui.ui.screens.serving import LogKeysScreen
from k2tui.ui.spans import Line, joined
from k2tui.ui.verdicts import engine_words
from k2tui.ui.widgets.flags_pane import FlagsPane
from k2tui.ui.widgets.gpu_rows import GpuPane, rows_wanted
from k2tui.ui.widgets.grid_cells import interrupted_words
from k2tui.ui.widgets.launch_pane import LaunchPane
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.phase_rows import SHOWN_PHASES
from k2tui.ui.widgets.run_rows import RunRows
from k2tui.ui.widgets.serving_pane import ServingPane
from k2tui.ui.widgets.state_pane import StatePane
from k2tui.ui.widgets.status_line import status_line

LAUNCH_ROWS = len(SHOWN_PHASES) + 4
"""The title, a row for each phase, the ranks, and two for what is to be said of it."""


BRIEF_ROWS = 4
"""Of a launch that is over: the title, how long it took, and what is to be said of it."""


class ServerScreen(TrendScreen, LogKeysScreen):
    """Everything about one server."""

    HERE = (*EVERYWHERE, *SERVER, *LOG)
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "log.follow",
        "find.open",
        "log.failure",
        "server.restart",
        "server.try",
        "bench.quick",
        "server.stop",
        "server.verify",
        "server.runs",
        "server.describe",
        "server.history",
        "go.benches",
        "server.undo",
        "log.wrap",
        "log.rank_after",
        "log.older_run",
        "pane.next",
        "pane.zoom",
        "log.save",
        "row.copy",
        "log.level",
        "app.command",
        "app.help",
        "app.back",
    )

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name_of_server = name

    def make_panes(self) -> list[Pane]:
        self.launch = LaunchPane(id="launch")
        self.serving = ServingPane(trend=self.trend_of, id="serving")
        self.gpus = GpuPane(id="gpus")
        self.state = StatePane(id="state")
        self.flags = FlagsPane(id="flags")
        self.runs = RunRows(id="runs")
        self.log_widget = LogPane(self.k2.fleet.ring(self.name_of_server), id="log")
        return [self.log_widget, self.launch, self.serving, self.gpus, self.state, self.flags, self.runs]

    def log_alone(self) -> None:
        """The log over the whole screen."""
        self.zoomed = True
        if self.is_mounted:
            self.set_focus(self.log_widget)
            self.relayout()

    @property
    def log_pane(self) -> LogPane:
        return self.log_widget

    @property
    def chosen_server(self) -> ServerView | None:
        return None if self.scene is None else self.scene.server(self.name_of_server)

    @property
    def _node(self) -> NodeView | None:
        server = self.chosen_server
        return None if server is None or self.scene is None else self.scene.node(server.settings.node)

    def looked_at(self, scene: Scene) -> Shown:
        node = self._node
        nodes = frozenset(() if node is None else (node.settings.name,))
        name = self.name_of_server
        return Shown(nodes, frozenset((name,)), node=None if node is None else node.settings.name, server=name)

    @property
    def _only(self) -> list[int]:
        """The GPUs that are shown."""
        server, node = self.chosen_server, self._node
        return [] if server is None or node is None else [gpu.index for gpu in gpus_of(server, node)]

    def action_app_open(self) -> None:
        server = self.chosen_server
        if self.pane is self.runs and server is not None and server.runs:
            number = self.runs.cursor
            self.show_run(None if number == 0 else server.runs[number].run_id)
        elif self.pane is self.log_widget and self.log_widget.selected is not None:
            self.k2.read_lines("log line", self.log_widget.selected_lines())
        elif self.pane is self.launch and server is not None and interrupted_words(server):
            self.k2.ask_interrupted(server.settings.name)
        elif self.enter_explains:
            self.go_to_failure()
        elif self.pane is not None:
            self.action_pane_zoom()

    def arrange_panes(self, area: Region) -> Places:
        node = self._node
        with_gpus = node is not None and node.reading.no_gpus_because is None
        wanted = rows_wanted([node], self._only) + 1 if node is not None and with_gpus else 0
        is_up = serves(self.chosen_server)
        if area.height + 2 < SHORT:
            gpus = {"gpus": min(3, wanted)} if wanted else {}
            launch = {"launch": 3, "serving": 5} if is_up else {"launch": 7 if gpus else 8}
            return stacked(area, {**launch, **gpus, "log": 0})
        launch = {"launch": BRIEF_ROWS, "serving": SERVING_ROWS} if is_up else {"launch": LAUNCH_ROWS}
        if area.width < 118:
            gpus = {"gpus": min(4, wanted)} if wanted else {}
            return stacked(area, {**launch, **gpus, "state": 6, "log": 0})
        top = max(sum(launch.values()), min(wanted, LAUNCH_ROWS + 3))
        tall = area.height >= 42
        places = stacked(area, {"top": top, "middle": 10 if tall else 6, "log": 0})
        half = area.width // 2
        left, right = beside(places.pop("top"), half)
        below_left, below_right = beside(places.pop("middle"), half)
        places.update(stacked(left, {**launch, list(launch)[-1]: 0}))
        if not (with_gpus and (tall or area.height >= 36)):
            return {**places, "state": right, "flags": below_left, "runs": below_right}
        places.update({"gpus": right, "state": below_left})
        if area.width < 150:
            return {**places, "flags": below_right}
        flags, runs = beside(below_right, below_right.width * 55 // 100)
        return {**places, "flags": flags, "runs": runs}

    def draw(self, scene: Scene) -> None:
        server, node = self.chosen_server, self._node
        with_state = "state" not in self._shown_places
        self.launch.show_server(server, scene, state=with_state, head=with_state)
        self.serving.show_server(server, scene)
        self.gpus.show_nodes([] if node is None else [node], scene, only=self._only)
        self.state.show_server(server, scene)
        self.flags.show_server(server, scene)
        self.runs.show_server(server, scene, shown=self.run_id)
        self.follow_ring()
        self.log_widget.note = log_note(server, scene, self.run_id)
        self.log_widget.catch_up()

    def status_row(self, scene: Scene, width: int) -> Line:
        server, node = self.chosen_server, self._node
        if server is None or node is None:
            return status_line([self.name_of_server], [], scene, width)
        status = server.status
        lasting = since(server, scene.log_now(server))
        state: Line = (
            (f"{present.STATUS_GLYPH[status]} {status.value.upper()}", present.STATUS_ROLE[status]),
            (f" {words.duration(lasting)}" if lasting is not None else "", "text"),
        )
        launch, run = server.launch, server.run
        facts: list[Line] = [state]
        engine: list[Line] = []
        if launch is not None and launch.engine is not None:
            engine.append(((engine_words(launch), "muted"),))
        if launch is not None and launch.model is not None:
            engine.append(((launch.model.rstrip("/").rpartition("/")[2], "muted"),))
        if run is not None and run.profile is not None:
            engine.append(((f"profile {run.profile}", "muted"),))
        if server.found is not None:
            engine.append((("not started by k2tui", "warning"),))
        link = node.link
        facts += [
            joined(engine),
            ((present.link_words(link, scene.now), "muted" if link.phase is LinkPhase.UP else "bad"),),
        ]
        place = [node.settings.name, server.settings.name]
        return status_line(place, facts, scene, width, extra=self.hold_line())

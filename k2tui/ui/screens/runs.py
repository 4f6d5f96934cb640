"""Every run of a server: what was tried, how long it took, what was proved, and how it ended."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core.errors import K2Error
from k2tui.core.run_compare import compare_runs, launches_of
from k2tui.core.runs import Run
from k2tui.core.verbs import ProfileChange
from k2tui.core.views import ServerView
from k2tui.ui.actions import EVERYWHERE, SERVER, bindings
from k2tui.ui.layout import Places, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.compare import CompareScreen
from k2tui.ui.screens.serving import ServerKeysScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.grid_cells import GridRow, state_words
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.run_rows import RunPane, RunTable, known_runs
from k2tui.ui.widgets.status_line import status_line

DETAIL_ROWS, SHORT_DETAIL_ROWS = 16, 9
SHORT = 30
"""Rows of a screen below which the detail is short."""


class RunsScreen(ServerKeysScreen):
    """The runs of one server, and all of the selected one."""

    HERE = (*EVERYWHERE, *SERVER, "rows.mark", "rows.mark_range", "rows.compare")
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "app.open",
        "rows.compare",
        "rows.mark",
        "server.restart",
        "server.undo",
        "server.try",
        "find.open",
        "row.copy",
        "pane.next",
        "pane.zoom",
        "server.verify",
        "server.describe",
        "app.command",
        "app.help",
        "app.back",
    )

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name_of_server = name
        self._runs: tuple[Run, ...] | None = None
        """As they were read last; None before."""
        self._read_for: tuple[Run, ...] | None = None
        self._trouble: str | None = None

    def make_panes(self) -> list[Pane]:
        self.table = RunTable(id="runs")
        self.detail = RunPane(id="run")
        return [self.table, self.detail]

    def arrange_panes(self, area: Region) -> Places:
        rows = DETAIL_ROWS if area.height + 2 >= SHORT else SHORT_DETAIL_ROWS
        return stacked(area, {"runs": 0, "run": rows})

    @property
    def chosen_server(self) -> ServerView | None:
        return None if self.scene is None else self.scene.server(self.name_of_server)

    # ---- reading and drawing

    def draw(self, scene: Scene) -> None:
        server = self.chosen_server
        if server is None:
            self.table.show_runs([], f"{self.name_of_server} is gone")
            self.detail.show_run(None)
            return
        if server.runs != self._read_for:
            self._read_for = server.runs
            self.run_worker(self._read(), group="runs", exclusive=True, exit_on_error=False)
        runs = server.runs if self._runs is None else self._runs
        said = self._trouble or ("reading …" if self._runs is None else "no run is known yet")
        self.table.show_runs(known_runs(runs, launches_of(server)), said)
        self.detail.show_run(self.table.selected)

    async def _read(self) -> None:
        try:
            self._runs, self._trouble = await self.k2.fleet.runs(self.name_of_server), None
        except K2Error as error:
            self._trouble = str(error)
            self.k2.fail(error)
        self.redraw()

    def moved(self) -> None:
        self.detail.show_run(self.table.selected)

    def status_row(self, scene: Scene, width: int) -> Line:
        server = self.chosen_server
        if server is None:
            return status_line([self.name_of_server, "runs"], [], scene, width)
        node = scene.node(server.settings.node)
        count = len(server.runs if self._runs is None else self._runs)
        facts: list[Line] = [((f"{count} run{'' if count == 1 else 's'}", "text"),)]
        if node is not None:
            facts.insert(0, (state_words(GridRow(node, server)),))
        marked = len(self.table.marks.keys)
        if marked:
            facts.append(((f"{marked} marked", "key"),))
        return status_line(
            [server.settings.node, self.name_of_server, "runs"], facts, scene, width, extra=self.hold_line()
        )

    # ---- keys

    def action_app_open(self) -> None:
        """The log of the selected run."""
        selected, server = self.table.selected, self.chosen_server
        if selected is None or server is None:
            return
        newest = server.run is not None and server.run.run_id == selected.key
        self.k2.go_server(self.name_of_server, log=True, run_id=None if newest else selected.key)

    def action_rows_mark(self) -> None:
        self.table.mark()
        self.redraw()

    def action_rows_mark_range(self) -> None:
        self.table.mark_range()
        self.redraw()

    def action_server_restart(self) -> None:
        """The sheet, begun from what the selected run was started with."""
        server, selected = self.own_server("restart"), self.table.selected
        if server is None:
            return
        change = None if selected is None else ProfileChange(run=selected.key)
        self.k2.open_sheet(self.name_of_server, change)

    def action_rows_compare(self) -> None:
        """The two marked runs; one marked or none: with the selected one, or that with the newest."""
        server, selected = self.chosen_server, self.table.selected
        if server is None or selected is None:
            self.k2.say("there is no run to compare", "warning")
            return
        two = self._two(selected.run)
        if len(two) != 2:
            said = "mark two runs" if len(two) > 2 else "this is the newest run; mark another one, or go to it"
            self.k2.say(f"compare: {said}", "warning")
            return
        old, new = sorted(two, key=lambda run: run.run_id)
        self.k2.push_screen(CompareScreen(server.settings.name, old, new, compare_runs(old, new, launches_of(server))))

    def _two(self, selected: Run) -> list[Run]:
        marked = [known.run for known in self.table.marked()]
        if len(marked) >= 2:
            return marked
        newest = next((run for run in self._runs or () if not run.is_planned), selected)
        other = marked[0] if marked else newest
        return list({run.run_id: run for run in (selected, other)}.values())

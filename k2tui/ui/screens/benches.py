"""Everything that was measured: a table, the selected one in full, and a plot."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.series import SeriesState
from k2tui.core.errors import K2Error
from k2tui.core.series import Annotation, server_subject
from k2tui.core.views import ServerView
from k2tui.ui.actions import EVERYWHERE, ROWS, SERVER, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.present import key_text
from k2tui.ui.scene import Scene
from k2tui.ui.screens.serving import ServerKeysScreen
from k2tui.ui.screens.sorting import SortingScreen
from k2tui.ui.spans import Line, joined
from k2tui.ui.unattended import is_open
from k2tui.ui.widgets.bench_cells import live_figure
from k2tui.ui.widgets.bench_detail import BenchPane
from k2tui.ui.widgets.bench_plot import BenchPlotPane, Went, is_curve, same_figures
from k2tui.ui.widgets.bench_rows import BenchTable
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.series_rows import SeriesRows
from k2tui.ui.widgets.status_line import status_line

BENCHES = ("bench.base", "rows.compare")
WIDE, SHORT = 170, 30
MOST_SERIES = 3
DETAIL_WIDTH = 70
NONE_YET = "nothing was measured yet; {} takes a quick figure of the selected server, {} offers the rest"


class BenchesScreen(SortingScreen, ServerKeysScreen):
    """The benchmarks of all servers, newest first."""

    HERE = (*EVERYWHERE, *SERVER, *ROWS, *BENCHES)
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "app.open",
        "bench.quick",
        "bench.choose",
        "rows.mark",
        "rows.compare",
        "bench.base",
        "find.open",
        "rows.sort",
        "row.copy",
        "pane.next",
        "pane.zoom",
        "server.history",
        "server.runs",
        "app.command",
        "app.palette",
        "app.help",
        "app.back",
    )
    MORE_SORTS = (("o", "newest first", "Off"),)

    def __init__(self, name: str | None = None) -> None:
        """`name`: the server that the cursor begins on."""
        super().__init__()
        self._begin_at = name
        self._every: tuple[BenchResult, ...] | None = None
        """As they were read last; None before."""
        self._series: tuple[SeriesState, ...] = ()
        self._happened: tuple[Annotation, ...] = ()
        self._read_at = 0.0
        self._read_for: object = None
        self._trouble: str | None = None

    def make_panes(self) -> list[Pane]:
        self.series_rows = SeriesRows(id="series")
        self.table = BenchTable(id="benches")
        self.detail = BenchPane(id="detail")
        self.plot = BenchPlotPane(id="plot")
        return [self.table, self.detail, self.plot, self.series_rows]

    @property
    def listed(self) -> BenchTable:
        return self.table

    @property
    def chosen_server(self) -> ServerView | None:
        """Of the selected series or benchmark; where there is none, the server that one came from."""
        if self.scene is None:
            return None
        series = self.series_rows.selected if self.pane is self.series_rows else None
        selected = self.table.selected
        name = series.plan.server if series is not None else self._begin_at if selected is None else selected.subject
        return self.scene.server(name) or (self.scene.servers[0] if len(self.scene.servers) == 1 else None)

    def arrange_panes(self, area: Region) -> Places:
        series = min(len(self._series), MOST_SERIES)
        head = {"series": series + 1} if series else {}
        if area.height + 2 < SHORT:
            below = "plot" if self.pane is self.plot else "detail"
            rows = area.height - sum(head.values())
            return stacked(area, {**head, "benches": max(6, rows * 45 // 100), below: 0})
        if area.width >= WIDE:
            left, right = beside(area, area.width - DETAIL_WIDTH)
            return {
                **stacked(left, {**head, "benches": self._table_rows(area.height * 62 // 100), "plot": 0}),
                "detail": right,
            }
        places = stacked(area, {**head, "benches": self._table_rows(area.height * 48 // 100), "bottom": 0})
        left, right = beside(places.pop("bottom"), area.width * 52 // 100)
        return {**places, "detail": left, "plot": right}

    def _table_rows(self, most: int) -> int:
        """As many as there are benchmarks: what is left is for the plot."""
        return max(8, min(most, len(self._every or ()) + 3))

    def focus_step(self, step: int) -> None:
        """Also to the plot, where it shares its place with the detail."""
        ring: list[Pane] = [pane for pane in self.panes if pane is not self.series_rows or self._series]
        at = ring.index(self.pane) if self.pane in ring else -1
        self.set_focus(ring[(at + step) % len(ring)])
        self.relayout()

    # ---- reading

    def series_moved(self) -> None:
        """A series made a step: what it is now stands in the app."""
        if self.scene is not None:
            self._read_for = None
            self.redraw()

    def _reads_for(self, scene: Scene) -> object:
        """What was measured is read again when any of these changes."""
        return tuple(
            (one.last_bench and one.last_bench.bench_id, one.base and one.base.bench_id) for one in scene.servers
        )

    async def _read(self) -> None:
        fleet = self.k2.fleet
        try:
            self._every, self._trouble = await fleet.benches(), None
            self._series = (await fleet.serieses())[:50]
        except K2Error as error:
            self._every, self._trouble = self._every or (), str(error)
            self.k2.fail(error)
        self._read_at = self.k2.clock.time()
        if self._every:
            oldest = min(result.began_at for result in self._every)
            try:
                self._happened = await fleet.annotations(oldest - 1, self._read_at)
            except K2Error:
                self._happened = ()  # the plot is without restarts; the table is whole
        self._show_again()

    def _show_again(self) -> None:
        begins = self._begin_at if self.table.selected is None else None
        at_top = self.table.cursor == 0 and self.table.selected is not None and not self.table.sort_key
        self.redraw()
        if at_top:
            self.table.move("top")
            self.redraw()
        newest = next((one for one in self._every or () if one.subject == begins), None)
        if newest is not None:
            self.table.select_key(newest.bench_id)
            self.redraw()

    def _shown_series(self) -> list[SeriesState]:
        """Those that are open first, as this app makes them; then the newest that are over."""
        here = {key: making.state for key, making in self.k2.makings.items() if making.state is not None}
        states = {state.plan.series_id: state for state in self._series} | {
            key: state for key, state in here.items() if state is not None
        }
        newest = sorted(states.values(), key=lambda state: -state.began_at)
        return sorted(newest, key=lambda state: not is_open(state))

    # ---- drawing

    def draw(self, scene: Scene) -> None:
        wanted = self._reads_for(scene)
        if wanted != self._read_for:
            self._read_for = wanted
            self.run_worker(self._read(), group="read", exclusive=True, exit_on_error=False)
        said = self._trouble or (
            "reading …" if self._every is None else NONE_YET.format(self._key("bench.quick"), self._key("bench.choose"))
        )
        self.table.take(self._every or (), said)
        self.table.show_scene(scene)
        making = self.k2.makings
        here = frozenset(key for key in making if self.k2.is_making(key))
        self.series_rows.show_states(self._shown_series(), here)
        self._draw_chosen()

    def _draw_chosen(self) -> None:
        selected = self.table.selected
        self.detail.show_result(selected)
        if selected is None:
            self.plot.show_nothing()
            return
        sweeps = [one for one in self.table.marked() if is_curve(one)]
        if is_curve(selected) and selected not in sweeps:
            sweeps = [selected, *sweeps]
        if sweeps and is_curve(selected):
            self.plot.show_sweeps(sweeps)
        else:
            self.plot.show_went(self._went(selected), selected)

    def _went(self, selected: BenchResult) -> Went:
        subject = server_subject(selected.subject)
        happened = tuple(one for one in self._happened if one.subject == subject and one.kind == "restart")
        return Went(same_figures(selected, self._every or ()), happened, self._read_at)

    def moved(self) -> None:
        self._draw_chosen()
        self.draw_lines()

    def status_row(self, scene: Scene, width: int) -> Line:
        every = self._every or ()
        red = sum(1 for one in every if not one.valid)
        facts: list[Line] = [((f"{len(every)} measured", "text"),)]
        if red:
            facts[0] = (*facts[0], (f", {red} not valid", "warning"))
        for server in scene.servers:
            if server.bench is not None:
                figure = live_figure(server.bench)
                facts.append(((f"{server.settings.name}: ", "muted"), (figure or server.bench.text, "phase-loading")))
        extra = joined([self.marked_line(), self.hold_line()])
        return status_line(["benchmarks"], facts, scene, width, extra=extra)

    # ---- keys

    def action_app_open(self) -> None:
        series, selected = self.series_rows.selected, self.table.selected
        if self.pane is self.series_rows and series is not None:
            self.k2.ask_about(series)
        elif selected is not None:
            self.k2.open_bench(selected.bench_id, selected)

    def action_rows_compare(self) -> None:
        """The two marked ones, the older one as A; one or none: the selected one with the base of its server."""
        two = self._two()
        if two is not None:
            self.k2.compare_benches(*two)

    def _key(self, action_id: str) -> str:
        return key_text(self.k2.actions[action_id].keys[0])

    def _two(self) -> tuple[BenchResult, BenchResult] | None:
        marked, selected = self.table.marked(), self.table.selected
        if len(marked) == 2:
            older, newer = sorted(marked, key=lambda one: one.began_at)
            return older, newer
        said = "mark two benchmarks"
        if len(marked) < 2 and selected is not None:
            if len(marked) == 1 and marked[0].bench_id != selected.bench_id:
                older, newer = sorted((marked[0], selected), key=lambda one: one.began_at)
                return older, newer
            base = next((one for one in self._every or () if one.is_base and one.subject == selected.subject), None)
            if base is not None and base.bench_id != selected.bench_id:
                return base, selected
            if base is not None:
                said = "this is the base; mark another one, or go to it"
            else:
                said = f"{selected.subject} has no base; mark two, or make one the base with {self._key('bench.base')}"
        self.k2.say(f"compare: {said}", "warning")
        return None

    def action_bench_base(self) -> None:
        selected = self.table.selected
        if selected is None:
            self.k2.say("no benchmark is selected", "warning")
        elif not selected.valid and not selected.is_base:
            self.k2.say("base: a benchmark with a red gate is never compared, so it can't be the base", "warning")
        else:
            self.k2.toggle_base(selected, self._again)

    def _again(self) -> None:
        self._read_for = None
        self.redraw()

    def action_row_copy(self) -> None:
        if self.pane is not self.table:
            super().action_row_copy()
            return
        count = max(1, len(self.table.marked()))
        what = "the benchmark" if count == 1 else f"{count} benchmarks"
        self.k2.copy(self.table.row_text(), f"{what} as Markdown")

"""One A/B or matrix: its trials as they are made, and its configurations ranked."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Region

from k2tui.core.benching.ranking import Ranking, ranked
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.series import SeriesState, TrialState
from k2tui.core.errors import K2Error
from k2tui.core.pace import Shown
from k2tui.core.views import ServerView
from k2tui.core.words import duration
from k2tui.ui.actions import EVERYWHERE, SERVER, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.serving import ServerKeysScreen
from k2tui.ui.spans import Line, clip, joined, wrapped
from k2tui.ui.unattended import Making, is_open
from k2tui.ui.widgets.bench_cells import live_line, when_words
from k2tui.ui.widgets.grid_cells import GridRow, state_words
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.phase_rows import progress_spans
from k2tui.ui.widgets.series_rows import OVER, RankPane, TrialRows, done_of, series_words, stage_words
from k2tui.ui.widgets.status_line import status_line

NOW_ROWS = 6
WIDE = 170


class NowPane(Pane):
    """What is done at this moment, and how the server was left."""

    title = "Now"

    def tell(self, lines: Sequence[Line]) -> None:
        """Draw these."""
        self.show(lines)


class SeriesScreen(ServerKeysScreen):
    """`enter` opens the benchmark of the selected trial; in Now it asks whether to end it, or to go on."""

    HERE = (*EVERYWHERE, *SERVER)
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "app.open",
        "pane.next",
        "pane.zoom",
        "go.log",
        "bench.quick",
        "row.copy",
        "go.benches",
        "app.command",
        "app.help",
        "app.back",
    )

    def __init__(self, series_id: str, state: SeriesState | None = None) -> None:
        super().__init__()
        self.series_id = series_id
        self._kept = state
        self._results: tuple[BenchResult, ...] = ()
        self._ranking: Ranking | None = None
        self._ranked_for: tuple[object, ...] = ()
        self._read_for: object = None

    def make_panes(self) -> list[Pane]:
        self.now_pane = NowPane(id="now")
        self.trials = TrialRows(id="trials")
        self.ranking = RankPane(id="ranking")
        return [self.trials, self.ranking, self.now_pane]

    def arrange_panes(self, area: Region) -> Places:
        state = self.state
        now = NOW_ROWS if area.height >= 28 else 4
        if area.width >= WIDE:
            places = stacked(area, {"now": now, "rest": 0})
            left, right = beside(places.pop("rest"), area.width * 48 // 100)
            return {**places, "trials": left, "ranking": right}
        arms = 2 if state is None else len(state.plan.arms)
        ranks = min(arms + 5, max(6, (area.height - now) // 2))
        return stacked(area, {"now": now, "trials": 0, "ranking": ranks})

    # ---- what is known

    @property
    def making(self) -> Making | None:
        """The series as this app makes it."""
        return self.k2.makings.get(self.series_id)

    @property
    def state(self) -> SeriesState | None:
        """As it stands."""
        making = self.making
        return self._kept if making is None or making.state is None else making.state

    @property
    def chosen_server(self) -> ServerView | None:
        state = self.state
        return None if self.scene is None or state is None else self.scene.server(state.plan.server)

    def looked_at(self, scene: Scene) -> Shown:
        server = self.chosen_server
        if server is None:
            return Shown()
        name, node = server.settings.name, server.settings.node
        return Shown(frozenset((node,)), frozenset((name,)), node=node, server=name)

    def series_moved(self) -> None:
        """It made a step; before the first scene there is nothing to draw."""
        if self.scene is not None:
            self.redraw()

    async def _read(self, server: str) -> None:
        try:
            results = await self.k2.fleet.benches(server)
        except K2Error as error:
            self.k2.fail(error)
            return
        self._results = tuple(one for one in results if one.series_id == self.series_id)
        self.redraw()

    # ---- drawing

    def draw(self, scene: Scene) -> None:
        state = self.state
        if state is not None:
            over = sum(1 for trial in state.trials if trial.state in OVER)
            if self._read_for != over:
                self._read_for = over
                self.run_worker(self._read(state.plan.server), group="read", exclusive=True, exit_on_error=False)
            if self._ranked_for != (state, self._results):
                self._ranked_for = (state, self._results)
                self._ranking = ranked(state, self._results)
        self.trials.show_state(state, scene)
        self.ranking.show_ranking(self._ranking)
        self.now_pane.tell(self._now_lines(scene, self.now_pane.inner_width))

    def _now_lines(self, scene: Scene, width: int) -> list[Line]:
        state, making, server = self.state, self.making, self.chosen_server
        if state is None:
            return [(("it is begun …", "phase-loading"),)]
        lines: list[Line] = []
        event = None if making is None else making.event
        is_made = making is not None and not making.is_over
        if event is not None and "trial" in event.data and "arm" in event.data:
            lines.append(clip(((f"trial {event.data['trial']}: {event.data['arm']}", "strong"),), width))
        if event is not None:
            lines += [((text, "text"),) for text in wrapped(event.text, width, 2)]
        if is_made and server is not None and server.bench is not None:
            lines.append(live_line(server.bench, scene.now, width))
        elif is_made and server is not None and server.launch is not None and _launches(state):
            bar = progress_spans(server.launch, width - 20)
            lines.append(clip(joined([(state_words(_row(server, scene)),), bar]), width))
        trial = self.trials.selected
        if trial is not None and trial.why is not None:
            said = f"trial {trial.number} {trial.state.value}: {trial.why}"
            lines += [((text, "warning"),) for text in wrapped(said, width, 2)]
        if state.left is not None and (event is None or state.left not in event.text):
            lines += [((text, "good"),) for text in wrapped(state.left, width, 2)]
        if not is_made and is_open(state):
            said = "Nobody makes it now: enter here goes on with it, or ends it."
            lines += [((text, "warning"),) for text in wrapped(said, width, 2)]
        lines += [clip(((f"{label}: ", "muted"), (said, "text")), width) for label, said in state.prescreened]
        return lines or [((stage_words(state, made_here=is_made)[0], "muted"),)]

    def moved(self) -> None:
        if self.scene is not None:
            self.now_pane.tell(self._now_lines(self.scene, self.now_pane.inner_width))
            self.draw_lines()

    def status_row(self, scene: Scene, width: int) -> Line:
        state = self.state
        if state is None:
            return status_line(["benchmarks", "series"], [], scene, width, extra=self.hold_line())
        making = self.k2.is_making(self.series_id)
        facts: list[Line] = [
            (stage_words(state, made_here=making),),
            ((f"{done_of(state)} trials", "text"),),
            ((f"began {when_words(state.began_at)}", "muted"),),
        ]
        if making and self.making is not None and self.making.event is not None:
            facts.append(((duration(self.making.event.elapsed_s), "muted"),))
        place = ["benchmarks", f"{series_words(state.plan)} on {state.plan.server}"]
        return status_line(place, facts, scene, width, extra=self.hold_line())

    # ---- keys

    def action_app_open(self) -> None:
        state = self.state
        if state is None:
            return
        trial = self.trials.selected if self.pane is self.trials else None
        if trial is not None and trial.bench_id is not None:
            self.k2.open_bench(trial.bench_id)
        elif is_open(state):
            self.k2.ask_about(state)
        else:
            self.k2.say("this trial was not measured" if trial is not None else "it is over", "text")

    def _labels(self) -> dict[str, str]:
        trial = self.trials.selected if self.pane is self.trials else None
        has_figure = trial is not None and trial.bench_id is not None
        return {**super()._labels(), "app.open": "the benchmark" if has_figure else "end, go on"}


def _launches(state: SeriesState) -> bool:
    return any(trial.state is TrialState.LAUNCHING for trial in state.trials)


def _row(server: ServerView, scene: Scene) -> GridRow:
    node = scene.node(server.settings.node)
    assert node is not None
    return GridRow(node, server)

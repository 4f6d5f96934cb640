"""Series of restarts: as rows in the list of benchmarks, and one whole: its trials, and its configurations ranked."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.benching.ranking import Ranking, RankRow
from k2tui.core.benching.series import SeriesPlan, SeriesStage, SeriesState, Trial, TrialState
from k2tui.core.words import UNKNOWN, duration
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, Span, cell, joined, wrapped
from k2tui.ui.widgets.bench_cells import tps, when_words
from k2tui.ui.widgets.pane import Pane

OVER = (TrialState.MEASURED, TrialState.HUNG, TrialState.FAILED, TrialState.SKIPPED)
TRIAL_GLYPH: dict[TrialState, Span] = {
    TrialState.WAITING: ("·", "muted"),
    TrialState.LAUNCHING: ("◐", "phase-loading"),
    TrialState.MEASURING: ("▸", "phase-loading"),
    TrialState.MEASURED: ("✓", "good"),
    TrialState.HUNG: ("■", "bad"),
    TrialState.FAILED: ("✗", "bad"),
    TrialState.SKIPPED: ("–", "warning"),
}
RED: Span = ("▲", "warning")
"""Of a trial that was measured and is not valid."""
_STATE_WIDTH = 10
_MOST_LABEL = 44


def series_words(plan: SeriesPlan) -> str:
    """`A/B`, `matrix nccl`."""
    return plan.name if plan.name == "A/B" else f"matrix {plan.name}"


def done_of(state: SeriesState) -> str:
    """`3/6`: trials that are over."""
    return f"{sum(1 for trial in state.trials if trial.state in OVER)}/{len(state.trials)}"


def stage_words(state: SeriesState, *, made_here: bool) -> Span:
    """How it stands, and the role of that."""
    if state.stage is SeriesStage.DONE:
        return "done", "good"
    if state.stage is SeriesStage.STOPPED:
        return "ended by an operator", "muted"
    if state.stage is SeriesStage.FAILED:
        return "failed", "bad"
    if made_here:
        word = "running" if state.stage is SeriesStage.RUNNING else "being left"
        return f"{word}", "phase-loading"
    return ("interrupted", "warning") if state.owner is None else ("made by another k2tui, or interrupted", "warning")


def series_line(state: SeriesState, *, made_here: bool) -> Line:
    """`11-30 14:00  A/B kimi  base | ll-ring  3/6  running`."""
    plan = state.plan
    words, role = stage_words(state, made_here=made_here)
    parts: list[Line] = [
        ((when_words(state.began_at), "text"),),
        ((f"{series_words(plan)} on {plan.server}", "strong"),),
        ((f"{done_of(state)} trials", "text"),),
        ((words, role),),
    ]
    labels = " | ".join(arm.label for arm in plan.arms)
    return joined([*parts, ((labels, "muted"),)])


class SeriesRows(Pane):
    """Series that run, were interrupted, or were made lately."""

    title = "A/B and matrices"
    lists = True
    marks_when_blurred = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._states: tuple[SeriesState, ...] = ()

    @property
    def selected(self) -> SeriesState | None:
        """The series under the cursor."""
        return self._states[self.cursor] if self.cursor < len(self._states) else None

    def show_states(self, states: Sequence[SeriesState], here: frozenset[str]) -> None:
        """Draw these; `here` are the ids of those that this app makes now."""
        self._states = tuple(states)
        self.show([series_line(one, made_here=one.plan.series_id in here) for one in states])


# ---- one series


def trial_line(trial: Trial, plan: SeriesPlan, label: int, width: int) -> Line:
    """`3  ✓ measured   NCCL_PROTO=LL  90.0 tok/s  1m12s`, and what went wrong."""
    is_red = trial.valid is False and trial.state is TrialState.MEASURED
    glyph, role = RED if is_red else TRIAL_GLYPH[trial.state]
    figure = tps(trial.decode_tps)
    line: list[Span] = [
        cell(str(trial.number), 3, "muted", right=True),
        (f"  {glyph} ", role),
        cell(trial.state.value, _STATE_WIDTH, role),
        cell(plan.arms[trial.arm].label, label, "strong"),
        ("  ", "text"),
        cell(figure, 8, "muted" if figure == UNKNOWN else "stale" if is_red else "strong", right=True),
        ("  ", "text"),
        cell("" if trial.elapsed_s is None else duration(trial.elapsed_s), 7, "muted", right=True),
    ]
    why = trial.why or ("a gate is red" if is_red else "")
    return (*line, (f"  {why}" if why else "", "warning" if is_red else "bad" if role == "bad" else "muted"))


class TrialRows(Pane):
    """Every trial in the order in which they are made."""

    title = "Trials"
    lists = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._state: SeriesState | None = None
        self._seen_at = -1

    @property
    def selected(self) -> Trial | None:
        """The trial under the cursor."""
        state = self._state
        return state.trials[self.cursor] if state is not None and self.cursor < len(state.trials) else None

    def show_state(self, state: SeriesState | None, scene: Scene) -> None:
        """Draw its trials; the cursor goes along with the one that is made."""
        self._state = state
        if state is None:
            self.heading = ()
            self.show([(("reading …", "muted"),)])
            return
        at = next((n for n, one in enumerate(state.trials) if one.state not in (*OVER, TrialState.WAITING)), None)
        if at is not None and at != self._seen_at:
            self.cursor = self._seen_at = at
        width = self.inner_width
        label = min(_MOST_LABEL, max(13, *(len(arm.label) for arm in state.plan.arms)), max(13, width - 44))
        self.heading = (
            (
                cell("NO", 3, "muted", right=True),
                ("    ", "text"),
                cell("STATE", _STATE_WIDTH, "muted"),
                cell("CONFIGURATION", label, "muted"),
                ("  ", "text"),
                cell("TOK/S", 8, "muted", right=True),
                ("  ", "text"),
                cell("TOOK", 7, "muted", right=True),
            ),
        )
        legend: Line = ((f"{done_of(state)} done, tok/s of one stream", "muted"),)
        self.show([trial_line(trial, state.plan, label, width) for trial in state.trials], legend)


def rank_line(row: RankRow, label: int, width: int) -> list[Line]:
    """`1  NCCL_PROTO=LL  3  90.0  89.1 to 90.9  best`, and below it what went wrong."""
    interval = UNKNOWN if row.low is None or row.high is None else f"{row.low:.1f} to {row.high:.1f}"
    ratio = UNKNOWN if row.ratio is None else f"×{row.ratio:.3f}"
    is_known = row.mean_tps is not None
    line: list[Span] = [
        cell(UNKNOWN if row.place is None else str(row.place), 3, "strong" if row.place == 1 else "text", right=True),
        ("  ", "text"),
        cell(row.label, label, "strong" if is_known else "muted"),
        ("  ", "text"),
        cell(str(row.n), 2, "text", right=True),
        ("  ", "text"),
        cell(tps(row.mean_tps), 7, "strong" if is_known else "muted", right=True),
        ("  ", "text"),
        cell(interval, 16, "text" if row.low is not None else "muted"),
        ("  ", "text"),
        cell(ratio, 7, "text" if row.ratio is not None else "muted", right=True),
    ]
    mark, why = row.mark or "", row.why or ""
    used = 3 + label + 2 + 7 + 16 + 7 + 2 * 5
    if len(mark) + len(why) + 4 <= width - used:
        tail: Line = ((f"  {mark}", "good" if row.place == 1 else "text"), (f"  {why}" if why else "", "warning"))
        return [(*line, *tail)]
    rows: list[Line] = [tuple(line)]
    if mark and len(mark) + 2 <= width - used:
        rows[0] = (*line, (f"  {mark}", "good" if row.place == 1 else "text"))
        mark = ""
    said = "; ".join(part for part in (mark, why) if part)
    return [
        *rows,
        *(((" " * 5, "text"), (part, "warning" if why else "muted")) for part in wrapped(said, width - 5, 3)),
    ]


class RankPane(Pane):
    """The configurations, the fastest first, with what can be said of each."""

    title = "Ranking"

    def show_ranking(self, ranking: Ranking | None) -> None:
        """Draw it; None: nothing is known yet."""
        if ranking is None:
            self.show([])
            return
        width = self.inner_width
        label = min(_MOST_LABEL, max([13, *(len(row.label) for row in ranking.rows)]), max(13, width - 50))
        head: Line = (
            cell("", 3, "muted"),
            ("  ", "text"),
            cell("CONFIGURATION", label, "muted"),
            ("  ", "text"),
            cell("N", 2, "muted", right=True),
            ("  ", "text"),
            cell("TOK/S", 7, "muted", right=True),
            ("  ", "text"),
            cell("95 % INTERVAL", 16, "muted"),
            ("  ", "text"),
            cell("OF BEST", 7, "muted", right=True),
        )
        rows = [line for row in ranking.rows for line in rank_line(row, label, width)]
        said: list[Line] = [
            ((text, "strong"),) for text in wrapped(ranking.sentence, width, 4 if self.page > 12 else 2)
        ]
        self.show([*said, (), head, *rows], (("over restarts, N valid ones", "muted"),))

"""The configurations of a series, the fastest first, and what is not said of them."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from k2tui.core.benching.matrix import begun, profile_arms, series_plan
from k2tui.core.benching.ranking import BEST, LIKE_BEST, SLOWER, UNTOLD, ranked
from k2tui.core.benching.series import SeriesStage, SeriesState, Trial, TrialState
from tests.core.benching.starts import RED, bench

HUNG, FAILED, SKIPPED = TrialState.HUNG, TrialState.FAILED, TrialState.SKIPPED
Outcome = float | tuple[TrialState, str]


def series(*arms: Sequence[Outcome], stage: SeriesStage = SeriesStage.DONE) -> SeriesState:
    """A series whose arm n is called `pn`; of each trial its tok/s, or how it ended and why."""
    plan = series_plan(
        profile_arms([f"p{number}" for number in range(len(arms))]),
        series_id="s",
        name="m",
        server="kimi",
        node="gpu-a",
        seed=0,
    )
    trials: list[Trial] = []
    for arm, outcomes in enumerate(arms):
        for outcome in outcomes:
            number = len(trials) + 1
            if isinstance(outcome, float):
                trials.append(Trial(number, arm, TrialState.MEASURED, decode_tps=outcome, valid=True))
            else:
                trials.append(Trial(number, arm, outcome[0], why=outcome[1]))
    order = tuple(trial.arm for trial in trials)
    return replace(begun(replace(plan, order=order), began_at=0.0), trials=tuple(trials), stage=stage)


def test_the_fastest_comes_first_with_its_interval_and_the_others_with_their_ratio() -> None:
    found = ranked(series([63.2, 63.6, 64.0], [89.6, 90.0, 90.5]))
    first, second = found.rows
    assert (found.best, first.label, first.place, first.n, first.mark) == (1, "p1", 1, 3, BEST)
    assert [first.mean_tps, first.median_tps, first.ratio] == pytest.approx([90.03, 90.0, 1.0], abs=0.01)
    assert [first.low, first.high] == pytest.approx([88.91, 91.17], abs=0.05)
    assert (second.label, second.place, second.mark) == ("p0", 2, SLOWER)
    assert second.ratio == pytest.approx(0.7064, abs=1e-3)
    assert found.sentence == "best is p1: 90.0 tok/s of one stream (95 % 88.9 to 91.2, 3 restarts)"


def test_what_is_not_surely_slower_than_the_best_is_marked() -> None:
    found = ranked(series([90.0, 90.5, 91.0], [89.8, 90.6, 90.9], [60.0, 60.5, 61.0]))
    assert [row.mark for row in found.rows] == [BEST, LIKE_BEST, SLOWER]
    assert found.sentence.endswith("; not distinguishable from it: p1")


def test_one_restart_is_ranked_and_tells_nothing_of_the_next() -> None:
    found = ranked(series([90.0, 91.0], [80.0]))
    assert (found.rows[1].low, found.rows[1].mark) == (None, UNTOLD)
    assert found.sentence.endswith("with one restart nothing can be told of p1")


def test_hung_failed_and_skipped_configurations_are_last_and_say_why() -> None:
    found = ranked(
        series(
            [(HUNG, "rank 5 is silent"), (SKIPPED, "its start in trial 1 hung"), (SKIPPED, "its start hung")],
            [60.0, 61.0, 62.0],
            [(FAILED, "GPU memory ran out"), (SKIPPED, "its start in trial 7 failed"), (SKIPPED, "it failed")],
            [(SKIPPED, "its all-reduce hung")] * 3,
        )
    )
    assert [row.label for row in found.rows] == ["p1", "p0", "p2", "p3"]
    hung, failed, skipped = found.rows[1:]
    assert (hung.place, hung.mean_tps, hung.hung, hung.skipped) == (None, None, 1, 2)
    assert [row.why for row in (hung, failed, skipped)] == [
        "hung: rank 5 is silent",
        "failed: GPU memory ran out",
        "skipped 3 times: its all-reduce hung",
    ]
    assert found.sentence == (
        "best is p1: 61.0 tok/s of one stream (95 % 58.6 to 63.5, 3 restarts); hung: p0; failed: p2; skipped: p3"
    )


def test_a_configuration_that_hung_once_keeps_its_figures_and_the_reason() -> None:
    row = ranked(series([60.0, (HUNG, "rank 5 is silent"), 61.0])).rows[0]
    assert (row.n, row.hung, row.remark) == (2, 1, "best; hung: rank 5 is silent")


def test_nothing_measured_has_no_best() -> None:
    found = ranked(series([(HUNG, "silent")], [(FAILED, "crashed")]))
    assert (found.best, found.sentence) == (None, "nothing was measured; hung: p0; failed: p1")


def test_a_series_that_goes_on_says_so() -> None:
    assert ranked(series([60.0], stage=SeriesStage.RUNNING)).sentence.startswith("so far: best is p0")


def with_benches(state: SeriesState) -> SeriesState:
    trials = tuple(replace(trial, bench_id=f"a-{trial.number}") for trial in state.trials)
    return replace(state, trials=trials)


def test_the_results_count_where_they_are_at_hand() -> None:
    state = with_benches(series([1.0, 1.0]))
    found = ranked(state, [bench(1, 60.0), bench(2, 62.0)])
    assert found.rows[0].median_tps == pytest.approx(61.0)


def test_a_measurement_with_a_red_gate_is_told_and_not_counted() -> None:
    state = with_benches(series([60.0, 90.0]))
    trials = (state.trials[0], replace(state.trials[1], why="G2: another client was active"))
    found = ranked(replace(state, trials=trials), [bench(1, 60.0), bench(2, 90.0, gates=RED)])
    assert (found.rows[0].n, found.rows[0].not_valid) == (1, 1)
    assert found.rows[0].why == "not valid: G2: another client was active"


def test_a_trial_that_remembers_that_it_is_not_valid_is_not_counted() -> None:
    state = series([60.0, 61.0])
    trials = (state.trials[0], replace(state.trials[1], valid=False))
    assert ranked(replace(state, trials=trials)).rows[0].n == 1


def test_ratios_can_be_over_another_configuration_than_the_best() -> None:
    rows = ranked(series([60.0, 60.6], [90.0, 90.9]), reference=0).rows
    assert [row.ratio for row in rows] == pytest.approx([1.5, 1.0])
    assert [row.mark for row in rows] == [BEST, SLOWER]
    assert rows[0].ratio_low is not None
    assert rows[1].ratio_low is None


def test_a_reference_that_was_never_measured_is_replaced_by_the_best() -> None:
    assert ranked(series([(HUNG, "silent")], [90.0]), reference=0).rows[0].ratio == 1.0


def test_the_lines_are_a_table_with_nothing_shown_as_zero() -> None:
    lines = ranked(series([60.0, 61.0], [(HUNG, "rank 5 is silent")])).lines()
    assert lines[0].split() == ["CONFIGURATION", "STARTS", "MEAN", "TOK/S", "95", "%", "RATIO"]
    assert lines[1].split()[:4] == ["1", "p0", "2", "60.5"]
    assert lines[2].split() == ["—", "p1", "0", "—", "—", "—", "hung:", "rank", "5", "is", "silent"]
    assert lines[3].startswith("best is p0")


def test_programs_get_every_field_with_null_for_what_is_not_known() -> None:
    row: dict[str, Any] = ranked(series([(HUNG, "silent")])).json()[0]
    assert (row["label"], row["mean_tps"], row["place"], row["hung"], row["why"]) == (
        *("p0", None, None, 1),
        "hung: silent",
    )


@pytest.mark.parametrize("arms", [2, 4, 6])
def test_of_equal_configurations_one_is_called_slower_in_at_most_one_series_of_twenty(arms: int) -> None:
    draw, rounds = random.Random(arms), 400
    wrong = 0
    for _ in range(rounds):
        speeds = [[90 * math.exp(draw.gauss(0.0, 0.015)) for _ in range(3)] for _ in range(arms)]
        wrong += any(row.mark == SLOWER for row in ranked(series(*speeds)).rows)
    assert wrong / rounds <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / rounds)

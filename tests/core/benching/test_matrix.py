"""Which configurations a matrix has, in which order they are tried, what that costs, and what comes next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.matrix import (
    arm_orders,
    arms_of,
    begun,
    cost_s,
    cost_sentence,
    matrix_plan,
    next_trial,
    profile_arms,
    series_plan,
    with_arm_skipped,
    with_trial,
)
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.series import Leave, SeriesPlan, SeriesState, Trial, TrialState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.profiles import resolve
from k2tui.core.settings import MatrixSettings, ProfileSettings, ServerSettings, Settings

BASE = "NCCL_ALGO=Ring python3 -m sglang.launch_server --model-path /m --tp-size 8 --enable-mixed-chunk"
SETTINGS = Settings(
    servers={
        "kimi": ServerSettings("kimi", "gpu-a", profile="base"),
        "watched": ServerSettings("watched", "gpu-a", log="/l"),
    },
    profiles={
        "base": ProfileSettings("base", cmd=BASE),
        "fast": ProfileSettings("fast", extends="base", env={"NCCL_PROTO": "LL"}),
    },
)


def matrix(**changes: Any) -> MatrixSettings:
    return MatrixSettings(**{"name": "nccl", "server": "kimi", **changes})


def plan(arms: int = 2, **changes: Any) -> SeriesPlan:
    usual: dict[str, Any] = {"series_id": "s", "name": "A/B", "server": "kimi", "node": "gpu-a", "seed": 1}
    return series_plan(profile_arms([f"p{number}" for number in range(arms)]), **{**usual, **changes})


# Configurations


def test_every_combination_is_an_arm_on_top_of_the_servers_profile() -> None:
    arms = arms_of(matrix(env={"NCCL_PROTO": ("LL", "Simple")}, flags={"tp-size": (8, 4)}), SETTINGS)
    assert [arm.label for arm in arms] == [
        "NCCL_PROTO=LL --tp-size 8",
        "NCCL_PROTO=LL --tp-size 4",
        "NCCL_PROTO=Simple --tp-size 8",
        "NCCL_PROTO=Simple --tp-size 4",
    ]
    assert {arm.change.profile for arm in arms} == {"base"}
    assert (arms[1].change.env, arms[1].change.set) == ({"NCCL_PROTO": "LL"}, {"tp-size": "4"})


def test_an_arm_resolves_to_the_command_that_it_means() -> None:
    arms = arms_of(
        matrix(env={"NCCL_ALGO": ("Tree", "")}, flags={"enable-mixed-chunk": (True, False), "tp-size": (4,)}), SETTINGS
    )
    launches = [resolve(SETTINGS, None, SETTINGS.servers["kimi"], arm.change) for arm in arms]
    assert [launch.env.get("NCCL_ALGO") for launch in launches] == ["Tree", "Tree", None, None]
    assert ["--enable-mixed-chunk" in launch.argv for launch in launches] == [True, False, True, False]
    assert all("4" in launch.argv for launch in launches)


def test_what_is_left_out_is_said_in_the_label() -> None:
    arms = arms_of(matrix(env={"NCCL_ALGO": ("Tree", "")}, flags={"enable-mixed-chunk": (True, False)}), SETTINGS)
    assert [arm.label for arm in arms] == [
        "NCCL_ALGO=Tree --enable-mixed-chunk",
        "NCCL_ALGO=Tree without --enable-mixed-chunk",
        "without NCCL_ALGO --enable-mixed-chunk",
        "without NCCL_ALGO without --enable-mixed-chunk",
    ]


def test_a_variable_that_the_profile_has_not_got_is_left_out_by_leaving_it() -> None:
    arms = arms_of(matrix(env={"NCCL_PROTO": ("LL", "")}), SETTINGS)
    assert [arm.change.unset for arm in arms] == [(), ()]
    assert [arm.change.env for arm in arms] == [{"NCCL_PROTO": "LL"}, {}]


def test_a_setting_with_one_value_is_in_every_arm_and_in_no_label() -> None:
    arms = arms_of(matrix(env={"NCCL_DEBUG": ("WARN",), "NCCL_PROTO": ("LL", "Simple")}), SETTINGS)
    assert [arm.label for arm in arms] == ["NCCL_PROTO=LL", "NCCL_PROTO=Simple"]
    assert all(arm.change.env["NCCL_DEBUG"] == "WARN" for arm in arms)


def test_one_configuration_is_called_by_all_of_its_settings() -> None:
    assert [arm.label for arm in arms_of(matrix(env={"NCCL_PROTO": ("LL",)}), SETTINGS)] == ["NCCL_PROTO=LL"]


def test_whole_profiles_are_arms_of_their_own_name() -> None:
    arms = arms_of(matrix(profiles=("base", "fast")), SETTINGS)
    assert [(arm.label, arm.change.profile) for arm in arms] == [("base", "base"), ("fast", "fast")]


def test_another_profile_than_the_servers_can_be_built_on() -> None:
    assert arms_of(matrix(profile="fast", env={"A": ("1",)}), SETTINGS)[0].change.profile == "fast"


def test_values_of_a_flag_are_written_as_an_operator_would_type_them() -> None:
    flags = {"x": (True, False, 8, 0.9, "a b", (1, 2), {"num_threads": 8})}
    assert [arm.change.set["x"] for arm in arms_of(matrix(flags=flags), SETTINGS)] == [
        *("true", "false", "8", "0.9", "a b", "1 2", '{"num_threads": 8}'),
    ]


def test_labels_are_short_and_told_apart() -> None:
    long = "x" * 60
    labels = [arm.label for arm in arms_of(matrix(env={"A": (long + "1", long + "2")}), SETTINGS)]
    assert len(set(labels)) == 2
    assert all(len(label) <= 44 for label in labels)


def test_a_server_that_is_only_watched_has_no_configurations() -> None:
    with pytest.raises(K2Error, match="watched has no profile") as caught:
        arms_of(matrix(server="watched", env={"A": ("1",)}), SETTINGS)
    assert caught.value.exit_code is ExitCode.USAGE


def test_a_server_that_is_not_there_is_said() -> None:
    with pytest.raises(K2Error, match="no server 'k'"):
        arms_of(matrix(server="k", env={"A": ("1",)}), SETTINGS)


# The order


@given(st.integers(1, 12), st.integers(1, 6), st.integers())
def test_each_round_has_every_arm_once(arms: int, restarts: int, seed: int) -> None:
    order = arm_orders(arms, restarts, seed)
    rounds = [order[at : at + arms] for at in range(0, len(order), arms)]
    assert len(rounds) == restarts
    assert all(sorted(each) == list(range(arms)) for each in rounds)


def test_the_order_is_that_of_its_seed_and_not_of_the_config() -> None:
    assert arm_orders(6, 3, 1) == arm_orders(6, 3, 1)
    assert len({arm_orders(6, 3, seed) for seed in range(20)}) == 20


def test_every_arm_comes_first_about_as_often_as_any_other() -> None:
    first = Counter(arm_orders(4, 1, seed)[0] for seed in range(2000))
    assert all(abs(count - 500) < 4 * (2000 * 0.25 * 0.75) ** 0.5 for count in first.values())


def test_the_plan_of_a_matrix_has_what_the_config_says() -> None:
    settings = matrix(
        env={"NCCL_PROTO": ("LL", "Simple")},
        restarts=2,
        launch_limit_s=300.0,
        leave="best",
        prescreen=True,
        max_tokens=128,
        repeats=5,
    )
    found = matrix_plan(settings, SETTINGS, series_id="s-1", seed=7, found_run="run-1", launch_s=200.0)
    assert (found.name, found.server, found.node, found.leave) == ("nccl", "kimi", "gpu-a", Leave.BEST)
    assert (found.launch_limit_s, found.prescreen, found.restarts) == (300.0, True, 2)
    assert (found.bench.max_tokens, found.bench.repeats, found.bench.procedure) == (128, 5, Procedure.QUICK)
    assert (found.found_run, found.launch_s) == ("run-1", 200.0)
    assert found.order == arm_orders(2, 2, 7)


# What it costs


def test_the_cost_is_every_launch_every_measurement_and_the_last_launch() -> None:
    assert cost_s(plan(2, restarts=3, launch_s=100.0)) == 6 * (100.0 + 25.0)
    assert cost_s(plan(2, restarts=3, launch_s=100.0, found_run="run-1")) == 6 * (100.0 + 25.0) + 100.0
    assert cost_s(plan(2, restarts=1, launch_s=100.0, leave=Leave.BEST)) == 2 * 125.0 + 100.0


def test_the_cost_of_a_sweep_is_the_time_that_it_is_held() -> None:
    sweep = BenchPlan(Procedure.SWEEP, concurrencies=(1, 4, 8), hold_s=30.0)
    assert cost_s(plan(1, restarts=1, launch_s=100.0, bench=sweep)) == 190.0


@pytest.mark.parametrize(
    ("arms", "restarts", "launch_s", "sentence"),
    [
        (6, 3, 400.0, "6 configurations × 3 restarts, about 2 h 10"),
        (1, 1, 60.0, "1 configuration × 1 restart, about 1 min"),
        (2, 3, 5.0, "2 configurations × 3 restarts, about 3 min"),
        (4, 3, 190.0, "4 configurations × 3 restarts, about 45 min"),
        (6, 3, 375.0, "6 configurations × 3 restarts, about 2 h"),
        (6, 3, None, "6 configurations × 3 restarts; time not known: no launch of it is remembered"),
    ],
)
def test_the_cost_is_said_before(arms: int, restarts: int, launch_s: float | None, sentence: str) -> None:
    assert cost_sentence(plan(arms, restarts=restarts, launch_s=launch_s)) == sentence


# What comes next


def state(arms: int = 2, restarts: int = 3) -> SeriesState:
    return begun(plan(arms, restarts=restarts), began_at=100.0, owner="box 1 2")


def made(series: SeriesState, number: int, what: TrialState, **changes: Any) -> SeriesState:
    return with_trial(series, replace(series.trials[number - 1], state=what, **changes), now=200.0)


def test_a_series_begins_with_all_trials_waiting_in_the_order_of_its_plan() -> None:
    series = state()
    assert tuple(trial.arm for trial in series.trials) == series.plan.order
    assert [trial.number for trial in series.trials] == [1, 2, 3, 4, 5, 6]
    assert (series.began_at, series.updated_at, series.owner) == (100.0, 100.0, "box 1 2")


def test_trials_are_made_in_their_order_until_all_are_over() -> None:
    series, order = state(), []
    while (trial := next_trial(series)) is not None:
        order.append(trial.number)
        series = made(series, trial.number, TrialState.MEASURED, decode_tps=60.0, valid=True)
    assert order == [1, 2, 3, 4, 5, 6]
    assert series.updated_at == 200.0


def test_a_trial_that_was_interrupted_comes_first_again() -> None:
    series = made(state(), 1, TrialState.MEASURED)
    series = made(series, 2, TrialState.LAUNCHING)
    assert next_trial(series) == series.trials[1]
    assert next_trial(made(series, 2, TrialState.MEASURING)) == Trial(2, series.plan.order[1], TrialState.MEASURING)


@pytest.mark.parametrize(("what", "word"), [(TrialState.HUNG, "hung"), (TrialState.FAILED, "failed")])
def test_a_configuration_that_hung_or_failed_once_is_not_tried_again(what: TrialState, word: str) -> None:
    series = made(state(), 1, what, why="rank 5 is silent")
    arm = series.trials[0].arm
    others = [trial for trial in series.trials[1:] if trial.arm == arm]
    assert {trial.state for trial in others} == {TrialState.SKIPPED}
    assert {trial.why for trial in others} == {f"its start in trial 1 {word}"}
    assert series.trials[0].why == "rank 5 is silent"
    assert {trial.state for trial in series.trials if trial.arm != arm} == {TrialState.WAITING}


def test_a_configuration_that_was_measured_before_is_tried_again_after_it_hung() -> None:
    series = made(state(arms=1), 1, TrialState.MEASURED, decode_tps=60.0)
    series = made(series, 2, TrialState.HUNG)
    assert next_trial(series) == series.trials[2]


def test_what_the_prescreen_finds_skips_only_what_still_waits() -> None:
    series = made(state(arms=1), 1, TrialState.MEASURED)
    series = with_arm_skipped(series, 0, "its all-reduce hung", now=300.0)
    assert [trial.state for trial in series.trials] == [TrialState.MEASURED, TrialState.SKIPPED, TrialState.SKIPPED]
    assert series.trials[1].why == "its all-reduce hung"
    assert next_trial(series) is None


@given(st.lists(st.sampled_from([TrialState.MEASURED, TrialState.HUNG, TrialState.FAILED]), max_size=12))
def test_every_series_ends(ways: list[TrialState]) -> None:
    series, left = state(arms=3, restarts=4), list(ways)
    for _ in series.trials:
        if (trial := next_trial(series)) is None:
            break
        series = made(series, trial.number, left.pop() if left else TrialState.MEASURED)
    assert next_trial(series) is None
    assert not any(trial.state is TrialState.WAITING for trial in series.trials)

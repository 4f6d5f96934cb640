"""A/B and matrices from the screen: asked with their cost, watched, gone on with, ended, ranked."""

from __future__ import annotations

from typing import Any

import pytest

from k2tui.core.benching.series import SeriesStage, TrialState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import NodeSettings
from k2tui.ui.screens.bench_result import BenchResultScreen
from k2tui.ui.screens.question import QuestionDialog
from k2tui.ui.screens.series import SeriesScreen
from k2tui.ui.widgets.series_rows import TRIAL_GLYPH
from tests.fakes.fleet import FakeFleet
from tests.ui.helpers import app_on, gone, hear, shows, until
from tests.ui.measured import (
    AB,
    NCCL,
    ab_state,
    matrix_state,
    quick,
    series_step,
    with_matrix,
)


async def opened(pilot: Any) -> None:
    await shows(pilot, "kimi")
    await pilot.press("3")
    await shows(pilot, "guidellm")


async def ab_begun(pilot: Any, fleet: FakeFleet, typed: str = "ab base reason") -> None:
    await pilot.press(":")
    await until(pilot, lambda: pilot.app.screen.prompt is not None)
    await pilot.press(*typed, "enter")
    await shows(pilot, "Begin")
    await hear(pilot, fleet, ["right", "enter"])


async def test_an_ab_is_asked_with_its_cost_and_shown_as_it_goes_on() -> None:
    fleet = with_matrix()
    fleet.series_steps[AB.series_id] = [
        series_step(ab_state(0), "planned", "2 configurations × 3 restarts"),
        series_step(ab_state(3), "measured", "trial 3 of 6, reason: 89.6 tok/s of one stream", data={"wait": True}),
        series_step(
            ab_state(6, stage=SeriesStage.DONE, left="kimi runs as it was found"),
            "done",
            "reason is 1.41 times faster",
            exit_code=ExitCode.DONE,
        ),
    ]
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press(":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*"ab base reason", "enter")
        await shows(pilot, "A/B on kimi, gpu-a", "2 configurations × 3 restarts, about", "put back as it runs now")
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: isinstance(app.screen, SeriesScreen))
        await shows(pilot, "running", "3/6 trials", "▸ measuring", "89.6", "one restart alone")
        fleet.gate.set()
        await shows(
            pilot, "done", "6/6 trials", "kimi runs as it was found", "best is reason: 90.0 tok/s of one stream"
        )
        assert fleet.series_verbs == [("run", AB.series_id, None)]
        assert any("1.41 times faster" in event.text for event in app.own_events)


async def test_cancel_has_the_focus_before_a_series() -> None:
    fleet = with_matrix()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        app.ask_matrix("nccl")
        await shows(pilot, "Matrix nccl on kimi")
        await hear(pilot, fleet, ["enter"])
        await gone(pilot, "Begin")
        assert fleet.series_verbs == []


async def test_a_guarded_node_wants_its_name_before_a_matrix() -> None:
    fleet = with_matrix(nodes={name: NodeSettings(name, name, confirm="always") for name in ("gpu-a", "gpu-b")})
    fleet.series_steps[NCCL.series_id] = [series_step(matrix_state(), "done", "it is over", exit_code=ExitCode.DONE)]
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press(":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*"matrix nccl", "enter")
        await shows(pilot, "Type the node's name")
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "that is not the name of the node")
        await pilot.press(*"gpu-a", "tab", "right", "enter")
        await until(pilot, lambda: fleet.series_verbs == [("run", NCCL.series_id, "gpu-a")])


async def test_read_only_forbids_a_series() -> None:
    app = app_on(with_matrix(read_only=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        app.ask_matrix("nccl")
        await shows(pilot, "k2tui is read-only")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("ab base", "an A/B needs two profiles"),
        ("ab base base", "an A/B needs two profiles"),
        ("matrix none", "no matrix 'none'"),
        ("matrix", ":matrix needs a name; matrices of the config: nccl"),
        ("ab", ":ab needs two profiles; there are: base"),
    ],
)
async def test_a_typed_series_that_is_none_says_why(typed: str, said: str) -> None:
    fleet = with_matrix()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*typed, "enter")
        await shows(pilot, said)
        assert fleet.series_verbs == []


async def test_what_a_series_may_become_stands_above_the_line_with_what_it_costs() -> None:
    app = app_on(with_matrix())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press(":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*"matrix ")
        await shows(pilot, "matrix nccl", "kimi: 4 configurations × 2 restarts")
        await pilot.press("escape", ":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*"ab base ")
        await shows(pilot, "ab base reason", "extends base")
        await pilot.press("tab")
        await until(pilot, lambda: app.screen.prompt.field.value == "ab base reason")  # type: ignore[attr-defined]


async def test_profiles_and_matrices_are_completed() -> None:
    app = app_on(with_matrix())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        screen: Any = app.screen
        assert app.complete("ab b", screen) == ["ab base"]
        assert app.complete("ab base ", screen) == ["ab base reason"]
        assert app.complete("matrix ", screen) == ["matrix nccl"]
        assert app.complete("bench kimi-", screen) == ["bench kimi-2"]


async def test_an_interrupted_series_stands_above_the_benchmarks_and_goes_on() -> None:
    fleet = with_matrix()
    state = ab_state(3)
    fleet.series_kept = [matrix_state(), state]
    fleet.series_steps[AB.series_id] = [
        series_step(ab_state(4), "measured", "trial 4 of 6, base: 63.9 tok/s of one stream", data={"wait": True})
    ]
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await shows(pilot, "A/B on kimi", "3/6 trials", "interrupted", "matrix nccl on kimi")
        await pilot.press("shift+tab", "enter")
        await shows(pilot, "was interrupted: 3/6 trials done", "put back as it was found")
        await hear(pilot, fleet, ["right", "right", "enter"])
        await shows(pilot, "running", "4/6 trials")
        assert fleet.series_verbs == [("go_on", AB.series_id, None)]


async def test_an_interrupted_series_can_be_ended_or_left() -> None:
    fleet = with_matrix()
    state = ab_state(3)
    ended = ab_state(3, stage=SeriesStage.STOPPED, left="kimi runs as it was found")
    fleet.series_kept = [state]
    fleet.series_steps[AB.series_id] = [series_step(ended, "done", "ended by an operator", exit_code=ExitCode.DONE)]
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("shift+tab", "enter")
        await shows(pilot, "End, leave as found")
        await hear(pilot, fleet, ["enter"])
        await gone(pilot, "End, leave as found")
        assert fleet.series_verbs == []
        await pilot.press("enter")
        await shows(pilot, "End, leave as found")
        await hear(pilot, fleet, ["right", "right", "right", "enter"])
        await shows(pilot, "ended by an operator", "kimi runs as it was found")
        assert fleet.series_verbs == [("end", AB.series_id, None)]


async def test_a_confirmation_that_turns_out_to_be_due_is_asked_for() -> None:
    fleet = with_matrix()
    fleet.series_kept = [ab_state(3)]
    fleet.series_steps[AB.series_id] = [series_step(ab_state(4), "measured", "trial 4 of 6", data={"wait": True})]
    fleet.refusal = K2Error("kimi serves 3 requests", code="confirm_needed", subject="kimi")
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        app.ask_about(ab_state(3))
        await shows(pilot, "Go on")
        await hear(pilot, fleet, ["right", "right", "enter"])
        await shows(pilot, "kimi serves 3 requests", "anyway")
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: fleet.series_verbs == [("go_on", AB.series_id, "gpu-a")])


async def test_a_series_that_runs_here_is_ended_after_a_question() -> None:
    fleet = with_matrix()
    ended = ab_state(3, stage=SeriesStage.STOPPED, left="kimi runs as it was found")
    fleet.series_steps[AB.series_id] = [series_step(ab_state(3), "measured", "trial 3 of 6", data={"wait": True})]
    fleet.series_steps[f"end {AB.series_id}"] = [series_step(ended, "done", "ended", exit_code=ExitCode.DONE)]
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await ab_begun(pilot, fleet)
        await shows(pilot, "running", "3/6 trials")
        await pilot.press("enter")
        await shows(pilot, "It goes on. End makes no more trials")
        await hear(pilot, fleet, ["right", "right", "enter"])
        await shows(pilot, "ended by an operator", "kimi runs as it was found")
        assert [verb for verb, _, _ in fleet.series_verbs] == ["run", "end"]


async def test_a_trial_opens_its_benchmark_and_tells_why_it_failed() -> None:
    fleet = with_matrix()
    fleet.measured.insert(0, quick(1, 90.0, bench_id="b1", series_id=NCCL.series_id))
    state = matrix_state()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        app.open_series(NCCL.series_id, state)
        await shows(pilot, "Trials", "best is NCCL_PROTO=LL NCCL_ALGO=Ring", "▲ measured", "✓ measured")
        await pilot.press("j")
        await shows(pilot, "trial 2 hung: no progress for 6 min")
        await pilot.press("enter")
        await shows(pilot, "this trial was not measured")
        await pilot.press("k", "enter")
        await until(pilot, lambda: isinstance(app.screen, BenchResultScreen))


async def test_a_series_that_breaks_says_so_and_can_be_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = with_matrix()

    async def broken(plan: Any, *, confirm: str | None = None) -> Any:
        yield series_step(ab_state(2), "measured", "trial 2 of 6")
        raise RuntimeError("boom")

    monkeypatch.setattr(fleet, "run_series", broken)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await ab_begun(pilot, fleet)
        await shows(pilot, "A/B broke: RuntimeError: boom", "Nobody makes it now")


async def test_only_the_question_is_left_of_a_series_that_was_over_already() -> None:
    fleet = with_matrix()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        app.ask_about(matrix_state())
        await until(pilot, lambda: isinstance(app.screen, SeriesScreen))
        assert not isinstance(app.screen, QuestionDialog)


def test_a_trial_of_each_state_has_a_glyph_of_its_own() -> None:
    assert set(TRIAL_GLYPH) == set(TrialState)
    assert len({glyph for glyph, _ in TRIAL_GLYPH.values()}) == len(TrialState)

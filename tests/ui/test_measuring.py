"""Benchmarks by key: begun, told, looked at, ended, chosen, and taken behind a try."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from k2tui.core.benching.comparison import Answer, Comparison
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan, CachePolicy, Procedure
from k2tui.core.errors import ExitCode, K2Error
from k2tui.ui.screens.bench_live import BenchDialog
from k2tui.ui.screens.measure import MeasureDialog
from k2tui.ui.screens.question import QuestionDialog
from k2tui.ui.screens.sheet import LaunchSheet
from tests.fakes.fleet import FakeFleet
from tests.ui.helpers import app_on, gone, hear, shows, until
from tests.ui.measured import BUSY, gates, going, live, measured, quick, steps, with_matrix
from tests.ui.tried import tried
from tests.ui.working import found, serving


async def test_b_measures_beside_the_keys_and_shows_the_figure_in_place() -> None:
    fleet = tried()
    going(fleet)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await until(pilot, lambda: fleet.server("kimi").bench is not None)
        assert fleet.bench_plans == [("kimi", BenchPlan())]
        fleet.set("kimi", serving=serving(fleet.clock.at))
        await shows(pilot, "90.1 tok/s one stream", "so far", "request 2 of 3")
        await pilot.press("5")
        await shows(pilot, "Events")
        fleet.gate.set()
        await shows(pilot, "90.0 tok/s of one stream ±0.4 (95 % over 3 requests), every gate ok")
        assert fleet.server("kimi").bench is None


async def test_a_red_gate_is_told_with_its_reason() -> None:
    fleet = tried()
    fleet.bench_steps["kimi"] = steps(fleet, quick(0, 84.1, gates=gates(G2=BUSY)))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await shows(pilot, "84.1 tok/s of one stream", "G2: another client ran 3 requests")
        assert app.note is not None
        assert app.note.role == "warning"


async def test_a_benchmark_that_failed_says_why_and_what_it_had() -> None:
    fleet = tried()
    fleet.bench_steps["kimi"] = steps(fleet, quick(0, 90.0, error="the server was gone"))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await shows(pilot, "the benchmark failed: the server was gone", "until then 90.0 tok/s of one stream")


async def test_a_server_that_does_not_answer_is_not_measured() -> None:
    app = app_on(tried())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await shows(pilot, "kimi does not answer")
        assert app.measuring == {}


async def test_b_again_opens_the_live_figure_and_esc_lets_it_go_on() -> None:
    fleet = tried()
    going(fleet)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await until(pilot, lambda: fleet.server("kimi").bench is not None)
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, BenchDialog))
        await shows(pilot, "90.1 tok/s one stream", "request 1: 90.0 tok/s", "Stop it")
        await hear(pilot, fleet, ["escape"])
        await gone(pilot, "Stop it")
        assert fleet.benches_closed == []
        assert len(fleet.bench_plans) == 1


async def test_the_live_dialog_ends_with_the_figures_and_the_gates() -> None:
    fleet = tried()
    going(fleet)
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b", "b")
        await shows(pilot, "Stop it")
        fleet.gate.set()
        await shows(pilot, "TTFT, first token of any kind", "G7 ✓ no request failed", "All benchmarks")
        await gone(pilot, "Stop it")


async def test_stop_ends_the_measurement() -> None:
    fleet = tried()
    going(fleet)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b", "b")
        await shows(pilot, "Stop it")
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: fleet.benches_closed == ["kimi"])
        await shows(pilot, "what was measured until then is kept")
        await until(pilot, lambda: app.measuring == {})


async def test_what_another_k2tui_measures_can_be_looked_at_and_not_stopped() -> None:
    fleet = tried()
    fleet.set("kimi", bench=live(fleet))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await shows(pilot, "90.1 tok/s one stream", "not measured from here")
        await gone(pilot, "Stop it")
        fleet.set("kimi", bench=None)
        await shows(pilot, "it is over")
        assert fleet.bench_plans == []


async def test_where_clients_are_on_it_their_rate_is_shown_and_cancel_has_the_focus() -> None:
    fleet = tried()
    fleet.set("kimi", serving=serving(fleet.clock.at))
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await shows(pilot, "kimi serves 3 requests now: 271.4 tok/s total", "G2")
        await hear(pilot, fleet, ["enter"])
        await gone(pilot, "Measure anyway")
        assert fleet.bench_plans == []
        await pilot.press("b")
        await shows(pilot, "Measure anyway")
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: len(fleet.bench_plans) == 1)


async def test_figures_that_are_too_old_ask_nothing() -> None:
    fleet = tried()
    fleet.set("kimi", serving=serving(fleet.clock.at))
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    fleet.clock.go(600)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await until(pilot, lambda: len(fleet.bench_plans) == 1)


async def test_what_was_read_while_we_measured_is_no_client() -> None:
    fleet = tried()
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await until(pilot, lambda: len(fleet.bench_plans) == 1 and not app.measuring)
        fleet.set("kimi", serving=serving(fleet.clock.at))  # its last look at our own stream
        await pilot.press("b")
        await until(pilot, lambda: len(fleet.bench_plans) == 2 and not app.measuring)
        fleet.clock.go(60)
        fleet.set("kimi", serving=serving(fleet.clock.at))
        await pilot.press("b")
        await shows(pilot, "Measure anyway")


async def test_clients_that_come_while_it_is_measured_are_told() -> None:
    fleet = tried()
    said = "another client runs 2 requests, 180 tok/s total; the figure will be flagged (G2)"
    going(fleet)
    fleet.bench_steps["kimi"].insert(2, BenchEvent("clients", "kimi", 3.5, said, live=live(fleet)))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await shows(pilot, said)


@pytest.mark.parametrize(
    ("typed", "words"),
    [("bench kimi-2", [("kimi-2", BenchPlan())]), ("bench", [("kimi", BenchPlan())])],
)
async def test_the_colon_measures_too(typed: str, words: list[tuple[str, BenchPlan]]) -> None:
    fleet = tried(2)
    for name in ("kimi", "kimi-2"):
        fleet.bench_steps[name] = steps(fleet, quick(subject=name))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*typed, "enter")
        await until(pilot, lambda: fleet.bench_plans == words)


# ---- the dialog


async def dialog(pilot: Any, fleet: FakeFleet, right: int = 0) -> MeasureDialog:
    await pilot.press("B")
    await shows(pilot, "Measure kimi on gpu-a")
    await hear(pilot, fleet, ["down", *["right"] * right])
    screen = pilot.app.screen
    assert isinstance(screen, MeasureDialog)
    return screen


async def test_b_capital_offers_what_can_be_measured_and_enter_alone_does_nothing() -> None:
    fleet = with_matrix()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("B")
        await shows(pilot, "quick figure", "3 × 256 tokens of one stream, about 9 s at 90 tok/s, 25 s at most")
        await hear(pilot, fleet, ["enter"])
        await gone(pilot, "Measure kimi on gpu-a")
        assert fleet.bench_plans == []


async def test_keys_in_the_first_moment_do_nothing() -> None:
    fleet = with_matrix()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("B", "right", "enter")
        await shows(pilot, "Measure kimi on gpu-a")
        assert fleet.bench_plans == []


async def test_a_sweep_is_typed_and_measured_as_it_stands() -> None:
    fleet = with_matrix()
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await dialog(pilot, fleet, right=1)
        await shows(pilot, "5 points, each held 30 s", "about 3 min")
        await pilot.press("down", "end", *" 64", "down", "down", "end", "backspace", "5")
        await shows(pilot, "6 points, each held 35 s", "64 streams at")
        await pilot.press("down", "right", "down", "right", "enter")
        await until(pilot, lambda: bool(fleet.bench_plans))
        ((_, plan),) = fleet.bench_plans
        assert plan.procedure is Procedure.SWEEP
        assert plan.concurrencies == (1, 2, 4, 8, 16, 64)
        assert plan.hold_s == 35
        assert plan.policy is CachePolicy.COLD


async def test_more_requests_have_more_time() -> None:
    fleet = with_matrix()
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await dialog(pilot, fleet)
        await pilot.press("down", "down", "end", "0")
        await shows(pilot, "30 × 256 tokens of one stream", "250 s at most")
        await pilot.press("up", "up", "up", "right", "enter")
        await until(pilot, lambda: [plan.budget_s for _, plan in fleet.bench_plans] == [250.0])


async def test_a_field_that_is_wrong_says_so_and_nothing_is_measured() -> None:
    fleet = with_matrix()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "kimi")
        await dialog(pilot, fleet, right=2)
        await pilot.press("down", "end", *" 9")
        await shows(pilot, "prompt tokens: give a short and a long one")
        await pilot.press("up", "up", "right", "enter")
        await shows(pilot, "prompt tokens: give a short and a long one", "Measure kimi on gpu-a")
        assert fleet.bench_plans == []


async def test_a_full_run_gets_its_words() -> None:
    fleet = with_matrix()
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await dialog(pilot, fleet, right=3)
        await pilot.press("up", "right", "enter")
        await until(pilot, lambda: bool(fleet.bench_plans))
        assert fleet.bench_plans[0][1].procedure is Procedure.FULL
        assert fleet.bench_plans[0][1].full_args[:2] == ("--dataset-name", "random-ids")


async def test_a_found_server_is_measured_and_never_restarted() -> None:
    fleet = with_matrix()
    view = fleet.server("kimi")
    fleet.set("kimi", found=found(), settings=replace(view.settings, profile=None))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        screen = await dialog(pilot, fleet)
        assert [value for value, _ in screen.what.choices] == ["quick", "sweep", "prefill", "full"]


# ---- behind a try


async def try_it(pilot: Any, fleet: FakeFleet, *keys: str) -> None:
    await pilot.press("t")
    await shows(pilot, "try ")
    await pilot.press(*"NCCL_PROTO=Simple", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, LaunchSheet))
    await hear(pilot, fleet, keys)


COMPARED = Comparison(Answer.INCONCLUSIVE, "inconclusive: it looks slower, one restart alone has no interval", 0.97)


async def test_a_try_is_followed_by_a_figure_and_the_difference_to_the_one_before() -> None:
    fleet = measured(1)
    before, after = fleet.measured[0], quick(0, 87.3)
    fleet.bench_steps["kimi"] = steps(fleet, after)
    fleet.comparisons[before.bench_id, after.bench_id] = COMPARED
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await try_it(pilot, fleet)
        await shows(pilot, "a quick figure, compared with 90.0 tok/s one stream")
        await pilot.press("right", "enter")
        await shows(pilot, "87.3 tok/s of one stream, 90.0 before the try: inconclusive: it looks slower")
        assert [name for name, _ in fleet.bench_plans] == ["kimi"]
        assert any("90.0 before the try" in event.text for event in app.own_events)


async def test_b_in_the_sheet_leaves_the_figure_out() -> None:
    fleet = measured(1)
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await try_it(pilot, fleet, "b")
        await shows(pilot, "no figure")
        await pilot.press("right", "enter")
        await shows(pilot, "ready after")
        assert fleet.bench_plans == []


async def test_without_an_earlier_benchmark_a_try_takes_none_unless_it_is_asked_for() -> None:
    fleet = tried()
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await try_it(pilot, fleet)
        await shows(pilot, "no figure", "b: a quick one")
        await pilot.press("b")
        await shows(pilot, "a quick figure   b: none")
        await pilot.press("right", "enter")
        await shows(pilot, "90.0 tok/s of one stream ±0.4")


async def test_a_try_that_failed_is_not_measured() -> None:
    fleet = measured(1)
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    fleet.fails["kimi"] = None
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await try_it(pilot, fleet)
        await pilot.press("right", "enter")
        await shows(pilot, "reasoning is not apart from content")
        assert fleet.bench_plans == []


async def test_what_can_not_be_compared_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = measured(1)
    fleet.bench_steps["kimi"] = steps(fleet, quick(0, 87.3))

    async def refuse(a: str, b: str) -> Comparison:
        raise K2Error("state.db is locked", code="state", exit_code=ExitCode.BAD)

    monkeypatch.setattr(fleet, "compare_benches", refuse)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await try_it(pilot, fleet)
        await pilot.press("right", "enter")
        await shows(pilot, "state.db is locked")


# ---- beside live figures


async def test_the_base_stands_beside_the_live_figure_of_one_stream() -> None:
    fleet = measured(1)
    base = quick(240, 90.0, is_base=True)
    fleet.set("kimi", base=base, serving=serving(fleet.clock.at, running=1, decode_tokens_per_s=63.6))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "90.0 tok/s one stream, now 63.6 = 71 %")
        fleet.set("kimi", serving=serving(fleet.clock.at, running=4, decode_tokens_per_s=210.0))
        await shows(pilot, "90.0 tok/s one stream, 4 streams now")
        await gone(pilot, "now 63.6")


async def test_read_only_strikes_out_the_benchmark_and_says_why() -> None:
    fleet = tried(read_only=True)
    fleet.bench_steps["kimi"] = steps(fleet, quick())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("b")
        await shows(pilot, "bench kimi: not now, k2tui is read-only")
        assert fleet.bench_plans == []

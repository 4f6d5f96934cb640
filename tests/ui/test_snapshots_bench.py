"""Pictures of benchmarks: listed, whole, compared, while they go on, in series. Look at them when they change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.fakes.fleet import FakeFleet
from tests.ui.helpers import FakeCopier, app_on, shows, stands_still
from tests.ui.measured import (
    COMPARED,
    ab_state,
    going,
    live,
    matrix_state,
    measured,
    quick,
    results,
    series_step,
    sweep,
    with_matrix,
)
from tests.ui.test_snapshots import SIZES, Snap, pytestmark, size_name
from tests.ui.working import one_box, serving, working

__all__ = ["pytestmark"]


def picture(
    snap: Snap, fleet: FakeFleet, size: tuple[int, int], keys: list[str], said: tuple[str, ...] = (), **options: Any
) -> None:
    async def settle(pilot: Any) -> None:
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        await shows(pilot, *said)
        await stands_still(pilot)

    assert snap(app_on(fleet, copier=FakeCopier(), **options), terminal_size=size, run_before=settle)


def with_two_sweeps() -> FakeFleet:
    fleet = measured()
    fleet.measured.insert(2, sweep(40, 0.8, profile="base"))
    return fleet


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_benchmarks(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, measured(), size, ["3"], ("kimi-2",))


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_a_sweep_with_its_curve(snap_compare: Snap, size: tuple[int, int]) -> None:
    keys = ["3", "j"] + (["tab", "tab"] if size == (80, 24) else [])
    picture(snap_compare, measured(), size, keys, ("c=16",))


@pytest.mark.parametrize("size", [(200, 50), (80, 24)], ids=size_name)
def test_two_sweeps_are_marked(snap_compare: Snap, size: tuple[int, int]) -> None:
    keys = ["3", "j", "space", "space", "k"] + (["tab", "tab"] if size == (80, 24) else [])
    picture(snap_compare, with_two_sweeps(), size, keys, ("2 marked",))


@pytest.mark.parametrize("size", [(200, 50), (80, 24)], ids=size_name)
def test_history_of_a_figure(snap_compare: Snap, size: tuple[int, int]) -> None:
    keys = ["3", "tab", "tab"] if size == (80, 24) else ["3"]
    picture(snap_compare, measured(), size, keys, ("2 restarts",))


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_one_benchmark_whole(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, measured(), size, ["3", "enter"], ("E2E TOK/S" if size[0] > 100 else "TOK/S",))


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_a_comparison(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = measured()
    new, *_, base, _, _ = results()
    fleet.comparisons[base.bench_id, new.bench_id] = COMPARED
    picture(snap_compare, fleet, size, ["3", "c"], ("CONFOUNDED",))


def test_a_filter_of_benchmarks(snap_compare: Snap) -> None:
    picture(snap_compare, measured(), (120, 40), ["3", "/", *"valid tps>70", "enter"], ("3 of 7",))


def test_nothing_was_measured_yet(snap_compare: Snap) -> None:
    fleet = measured()
    fleet.measured = []
    picture(snap_compare, fleet, (80, 24), ["3"], ("nothing was measured yet",))


@pytest.mark.parametrize("theme", ["k2-light", "k2-mono"])
def test_benchmarks_in_the_other_themes(snap_compare: Snap, theme: str) -> None:
    picture(snap_compare, measured(theme=theme), (120, 40), ["3", "space"], ("kimi-2",))


def test_benchmarks_in_ascii(snap_compare: Snap) -> None:
    picture(snap_compare, measured(), (120, 40), ["3", "j"], ("c=16",), ascii_only=True)


# ---- while it goes on


def at_work() -> FakeFleet:
    """A fleet of six, of which kimi is being measured; kimi-2 has a base."""
    fleet = working(simulated=True)
    fleet.set("kimi", bench=live(fleet), serving=serving(fleet.clock.at, running=1, decode_tokens_per_s=90.0))
    return fleet


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_the_fleet_while_one_is_measured(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, at_work(), size, [], ("bench",))


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_the_box_while_it_is_measured(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = one_box(simulated=True)
    fleet.set("kimi", bench=live(fleet), serving=serving(fleet.clock.at, running=1))
    picture(snap_compare, fleet, size, [], ("so far",))


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_the_box_with_a_base(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = one_box(simulated=True)
    now = serving(fleet.clock.at, running=1, decode_tokens_per_s=63.6, ttft=None, itl=None, e2e=None)
    fleet.set("kimi", base=quick(240, 90.0, is_base=True), last_bench=quick(2, 89.7), serving=now)
    picture(snap_compare, fleet, size, [], ("= 71 %",))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=size_name)
def test_the_live_dialog(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = measured()
    going(fleet)
    picture(snap_compare, fleet, size, ["b", "b"], ("Stop it",))


@pytest.mark.parametrize("kind", ["quick", "sweep", "prefill", "full", "ab", "matrix"])
def test_the_dialog_that_measures(snap_compare: Snap, kind: str) -> None:
    fleet = with_matrix()
    steps = ["quick", "sweep", "prefill", "full", "ab", "matrix"].index(kind)

    async def settle(pilot: Any) -> None:
        await pilot.press("B")
        await shows(pilot, "Measure kimi on gpu-a")
        fleet.clock.go(1.0)
        await pilot.press("down", *["right"] * steps)
        await stands_still(pilot)

    assert snap_compare(app_on(fleet), terminal_size=(80, 24), run_before=settle)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=size_name)
def test_a_question_while_clients_are_on(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = measured()
    fleet.set("kimi", serving=serving(fleet.clock.at))
    picture(snap_compare, fleet, size, ["b"], ("Measure anyway",))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=size_name)
def test_a_try_is_followed_by_a_figure(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, measured(), size, ["t", *"NCCL_PROTO=Simple", "enter"], ("a quick figure",))


# ---- series


def asked(fleet: FakeFleet, size: tuple[int, int], snap: Snap, act: Callable[[Any], None], said: str) -> None:
    app = app_on(fleet)

    async def settle(pilot: Any) -> None:
        await shows(pilot, "kimi")
        act(app)
        await shows(pilot, said)
        await stands_still(pilot)

    assert snap(app, terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=size_name)
def test_what_a_matrix_costs(snap_compare: Snap, size: tuple[int, int]) -> None:
    asked(with_matrix(), size, snap_compare, lambda app: app.ask_matrix("nccl"), "Begin")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_an_ab_half_way(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = with_matrix()
    state = ab_state(3)
    fleet.set("kimi", bench=live(fleet))
    text = "trial 4 of 6, base: request 2 of 3"
    fleet.series_steps[state.plan.series_id] = [series_step(state, "bench", text, data={"wait": True})]

    async def settle(pilot: Any) -> None:
        await shows(pilot, "kimi")
        app.ask_ab("kimi", ["base", "reason"])
        await shows(pilot, "Begin")
        fleet.clock.go(1.0)
        await pilot.press("right", "enter")
        await shows(pilot, "Ranking", "best")
        await stands_still(pilot)

    app = app_on(fleet)
    assert snap_compare(app, terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_a_matrix_that_is_over(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = with_matrix()
    state = matrix_state()
    asked(fleet, size, snap_compare, lambda app: app.open_series(state.plan.series_id, state), "best is")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_series_above_the_benchmarks(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = with_matrix()
    fleet.series_kept = [ab_state(3), matrix_state()]
    picture(snap_compare, fleet, size, ["3", "shift+tab"], ("interrupted",))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=size_name)
def test_an_interrupted_series_is_asked_about(snap_compare: Snap, size: tuple[int, int]) -> None:
    state = ab_state(3)
    asked(with_matrix(), size, snap_compare, lambda app: app.ask_about(state), "Go on")

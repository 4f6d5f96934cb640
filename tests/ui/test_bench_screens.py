"""What was measured: listed, filtered, marked, compared, made the base, copied, plotted."""

from __future__ import annotations

from typing import Any

import pytest

from k2tui.core.benching.comparison import Answer, Comparison
from k2tui.core.errors import K2Error
from k2tui.ui.screens.bench_compare import BenchCompareScreen
from k2tui.ui.screens.bench_result import BenchResultScreen
from k2tui.ui.screens.benches import BenchesScreen
from tests.ui.helpers import FakeCopier, app_on, gone, rows_of, screen_text, shows, until
from tests.ui.measured import (
    COMPARED,
    measured,
    quick,
    results,
    steps,
    sweep,
)
from tests.ui.tried import tried


async def opened(pilot: Any) -> None:
    await shows(pilot, "kimi")
    await pilot.press("3")
    await shows(pilot, "guidellm")


def listed(app: Any) -> list[str]:
    return [row for row in rows_of(app) if "11-30 " in row or "11-28 " in row]


# ---- the table


@pytest.mark.parametrize("size", [(200, 50), (120, 40), (80, 24)])
async def test_every_figure_has_its_name_and_what_is_missing_is_a_dash(size: tuple[int, int]) -> None:
    app = app_on(measured())
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        text = screen_text(app)
        assert "90.0 tok/s one stream" in text
        assert "1 310 tok/s total, c=16" in text
        assert "sweep 1–32" in text
        assert "✓✗✓✓✓✓✓" in text
        assert "±0.4" in text
        assert "7 measured, 3 not valid" in text
        assert "0.00" not in text
        base = next(row for row in rows_of(app) if "63.6 tok/s" in row)
        assert base.strip().startswith("=")


async def test_the_selected_one_is_told_in_full_with_the_reason_of_each_gate() -> None:
    app = app_on(measured())
    async with app.run_test(size=(200, 50)) as pilot:
        await opened(pilot)
        await shows(pilot, "G6 ? the node tells no clocks", "no answer within the tokens that were asked for")
        await pilot.press("j", "j")
        await shows(pilot, "G2 ✗ another client ran 3 requests", "a gate is red: it is kept, and never compared")
        await pilot.press("j", "j", "j")
        await shows(pilot, "it failed: what was measured until then is kept", "connection reset")


async def test_a_sweep_shows_its_curve_and_a_figure_its_history() -> None:
    app = app_on(measured())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await shows(pilot, "tok/s one stream  ◆ base  ✗ red  │ 2 restarts")
        await pilot.press("j")
        await shows(pilot, "up of all streams, right of one", "c=16", "c=32", "A STREAM")


async def test_the_plot_takes_the_place_of_the_detail_on_a_small_screen() -> None:
    app = app_on(measured())
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await gone(pilot, "2 restarts")
        await pilot.press("tab", "tab")
        await shows(pilot, "2 restarts")
        await pilot.press("tab")
        await shows(pilot, "one stream, without prefill")


async def test_a_filter_looks_at_fields_and_plain_words() -> None:
    app = app_on(measured())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("/", *"flagged", "enter")
        await shows(pilot, "2 of 7")
        await pilot.press("escape")
        await gone(pilot, "2 of 7")
        await pilot.press("/", *"tps>80 valid", "enter")
        await shows(pilot, "2 of 7")
        await pilot.press("escape", "/", *"zebra", "enter")
        await shows(pilot, "no benchmark passes this filter")


async def test_o_and_a_letter_sort_and_unknown_figures_come_last() -> None:
    app = app_on(measured())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("o", "f")
        await shows(pilot, "by one stream")
        order = [row.split("tok/s")[0].split()[-1] for row in listed(app) if "tok/s" in row]
        assert order[:5] == ["90.0", "89.1", "84.1", "71.2", "63.6"]
        await pilot.press("o", "f")
        await shows(pilot, "backwards")
        assert "63.6" in listed(app)[0]


async def test_y_copies_the_marked_ones_as_markdown() -> None:
    copier = FakeCopier()
    app = app_on(measured(), copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("space", "space", "y")
        await shows(pilot, "copied 2 benchmarks as Markdown")
        lines = copier.texts[0].splitlines()
        assert len(lines) == 4
        assert set(lines[1]) <= set("|- ")
        assert "90.0 tok/s of one stream" in lines[2]


async def test_enter_opens_it_whole_with_its_requests() -> None:
    fleet = measured()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, BenchResultScreen))
        await shows(pilot, "E2E TOK/S", "ANSWER ms", "length")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BenchesScreen))


async def test_the_newest_of_the_server_that_one_came_from_is_selected() -> None:
    fleet = measured()
    fleet.measured.append(quick(9000, 55.5, subject="kimi-2"))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi-2")
        await pilot.press("j", "3")
        await shows(pilot, "G1 ? guidellm does not say")


async def test_what_is_measured_meanwhile_is_listed() -> None:
    fleet = measured(1)
    fleet.bench_steps["kimi"] = steps(fleet, quick(0, 88.8))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("b")
        await shows(pilot, "8 measured")
        assert "88.8" in listed(app)[0]
        screen = app.screen
        assert isinstance(screen, BenchesScreen)
        await until(pilot, lambda: screen.table.selected is not None and screen.table.selected.decode_tps == 88.8)


async def test_without_any_it_says_which_key_measures() -> None:
    app = app_on(tried())
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("3")
        await shows(pilot, "nothing was measured yet")


async def test_a_store_that_cant_be_read_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = measured()

    async def refuse(name: str | None = None) -> object:
        raise K2Error("state.db is locked", code="state")

    monkeypatch.setattr(fleet, "benches", refuse)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi")
        await pilot.press("3")
        await shows(pilot, "state.db is locked")


# ---- base and compare


async def test_the_base_is_made_and_taken_back_with_one_key() -> None:
    fleet = measured()
    new, *_ = results()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("=")
        await shows(pilot, "the base of kimi is 90.0 tok/s of one stream now")
        await until(pilot, lambda: listed(app)[0].strip().startswith("="))
        await pilot.press("=")
        await shows(pilot, "kimi has no base any more")
        assert fleet.bases == [("kimi", new.bench_id), ("kimi", None)]


async def test_a_red_one_cant_be_the_base() -> None:
    fleet = measured()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("j", "j", "=")
        await shows(pilot, "never compared, so it can't be the base")
        assert fleet.bases == []


async def test_the_selected_one_is_compared_with_the_base() -> None:
    fleet = measured()
    new, *_, base, _, _ = results()
    fleet.comparisons[base.bench_id, new.bench_id] = COMPARED
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, BenchCompareScreen))
        await shows(pilot, "B is faster", "CONFOUNDED", "×1.415", "95 % interval 1.392 to 1.438", "Welch")
        await shows(pilot, "NCCL_PROTO", "not set", "no answer in 256 tokens", "A has no sweep", "Not counted")
        assert "0.00" not in screen_text(app)


async def test_two_marked_ones_are_compared_the_older_one_as_a() -> None:
    fleet = measured()
    new, _, _, old, *_ = results()
    fleet.comparisons[old.bench_id, new.bench_id] = Comparison(Answer.NONE, "no verdict: the work is not the same")
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("space", "j", "j", "space", "c")
        await shows(pilot, "no verdict: the work is not the same", "A  kimi, quick, 71.2 tok/s one stream")


async def test_what_cant_be_compared_says_what_to_mark() -> None:
    fleet = measured()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("space", "space", "space", "c")
        await shows(pilot, "compare: mark two benchmarks")
        await pilot.press("V", "G", "c")
        await shows(pilot, "compare: mark two benchmarks")


async def test_the_base_itself_is_compared_with_nothing() -> None:
    app = app_on(measured())
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot)
        await pilot.press("j", "j", "j", "j", "c")
        await shows(pilot, "this is the base")
        await pilot.press("G", "c")
        await shows(pilot, "kimi-2 has no base")


async def test_two_marked_sweeps_share_a_plot() -> None:
    fleet = measured()
    fleet.measured.insert(2, sweep(40, 0.8))
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await opened(pilot)
        await pilot.press("j", "space", "space", "k")
        await shows(pilot, "● 11-30 13:30", "○ 11-30 13:20")

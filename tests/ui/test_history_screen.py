"""The history screen: what is asked, what is drawn, and the cursor over all plots."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from k2tui.core.errors import K2Error
from k2tui.core.series import Annotation, Quantity, SeriesKey
from k2tui.ui.plotted import server_plots, subjects_of
from k2tui.ui.screens.history import REFRESH_S, HistoryScreen
from k2tui.ui.widgets.plot import GUTTER
from k2tui.ui.widgets.time_axis import SPANS
from tests.fakes.fleet import DAY
from tests.ui.helpers import gone, rows_of, screen_text, shows, until
from tests.ui.pasts import AppAt, PastFleet, with_a_past

SIZES = [(200, 50), (120, 40), (80, 24)]


def history(fleet: PastFleet, **options: Any) -> AppAt:
    return AppAt(HistoryScreen("kimi"), fleet, **options)


def screen_of(app: AppAt) -> HistoryScreen:
    screen = app.screen
    assert isinstance(screen, HistoryScreen)
    return screen


async def drawn(pilot: Pilot[Any]) -> None:
    """The first figures are there."""
    await shows(pilot, "tok/s total", "now")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_row_is_as_wide_as_the_screen(size: tuple[int, int]) -> None:
    app = history(with_a_past())
    async with app.run_test(size=size) as pilot:
        await drawn(pilot)
        assert {len(row) for row in rows_of(app)} == {size[0]}


async def test_all_that_was_recorded_is_on_one_screen_and_the_rest_is_named() -> None:
    app = history(with_a_past())
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await shows(pilot, "Decode", "Prefill", "Requests  ━ running", "╌ queue", "KV cache", "TTFT p95")
        await shows(pilot, "GPU load of 8", "GPU memory of 8", "GPU power of 8", "GPU temperature of 8")
        await shows(pilot, "nothing recorded of ITL p95")


async def test_restarts_and_alerts_of_this_server_and_its_gpus_are_drawn_in() -> None:
    app = history(with_a_past())
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await shows(pilot, "1  13:56:00  kimi  restart: +NCCL_PROTO=LL", "2  13:58:30  gpu-a/7  GPU 7 is at 84")
        assert "stranger" not in screen_text(app)
        first = rows_of(app)[2][:60]
        assert [char for char in first[GUTTER:] if char in "12"] == ["1", "2"]


async def test_times_at_which_nobody_recorded_are_shaded() -> None:
    app = history(with_a_past())
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        row = rows_of(app)[2]
        assert "░░░░" in row
        fleet: Any = app.fleet
        fleet.forms = {key: lambda _: 1.0 for key in fleet.forms}
        fleet.clock.go(REFRESH_S)
        await gone(pilot, "░░")


async def test_one_plot_at_a_time_on_a_small_screen() -> None:
    app = history(with_a_past())
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "── Decode")
        assert "Prefill" not in screen_text(app)
        for title in ("Prefill", "Requests", "KV cache", "TTFT p95", "GPU load", "GPU memory"):
            await pilot.press("tab")
            await shows(pilot, f"── {title}")
        await pilot.press("shift+tab")
        await shows(pilot, "── GPU load")
        await pilot.press("up")
        await shows(pilot, "── TTFT p95")


async def test_shorter_and_longer_ask_for_other_times_and_stop_at_the_ends() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        for span_s, word in SPANS[2:]:
            await pilot.press(")")
            await shows(pilot, f"│ {word} ")
            await until(pilot, lambda s=span_s: fleet.asked_for[-1][:2] == (DAY - s, DAY))  # type: ignore[misc]
        await pilot.press(")")
        await shows(pilot, "7 d is the longest time that is plotted")
        await pilot.press(*"(((((((")
        await shows(pilot, "│ 5 m ", "5 m is the shortest time that is plotted")


async def test_no_more_steps_are_asked_for_than_can_be_seen_or_were_read() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await drawn(pilot)
        await pilot.press("(", "z")
        await until(pilot, lambda: fleet.asked_for[-1][1] - fleet.asked_for[-1][0] == 300.0)
        assert fleet.asked_for[-1][2] <= 150
        await pilot.press(")", ")", ")", ")", ")")
        await until(pilot, lambda: fleet.asked_for[-1][1] - fleet.asked_for[-1][0] == 604_800.0)
        assert 200 < fleet.asked_for[-1][2] <= 600


async def test_the_cursor_shows_the_figures_of_its_time_in_every_plot() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        assert screen_of(app).cursor is None
        while (screen_of(app).cursor or DAY) > DAY - 210:
            await pilot.press("left")
        at = screen_of(app).cursor
        assert at is not None
        await shows(pilot, "Decode  0 tok/s total ", "KV cache  0 % ", "GPU load of 8  mean 0 %", "at 13:56:")
        marked = [row.count("┃") for row in rows_of(app)]
        assert marked.count(2) > 10
        await pilot.press("right", "left")
        assert screen_of(app).cursor == pytest.approx(at, abs=1e-6)
        await pilot.press("end")
        assert screen_of(app).cursor is None
        await gone(pilot, "┃", "at 13:56")


async def test_home_goes_to_the_beginning_and_left_of_it_is_what_was_before() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await pilot.press("home")
        assert DAY - 900 <= (screen_of(app).cursor or 0) < DAY - 880
        await pilot.press("left")
        await until(pilot, lambda: fleet.asked_for[-1][:2] == (DAY - 1350, DAY - 450))
        assert DAY - 930 < (screen_of(app).cursor or 0) < DAY - 900
        await gone(pilot, "─ now")
        await pilot.press("end")
        await until(pilot, lambda: fleet.asked_for[-1][:2] == (DAY - 900, DAY))
        await shows(pilot, "now")


async def test_pages_go_back_in_time_and_no_further_than_anything_is_kept() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await pilot.press("pageup", "pageup")
        await until(pilot, lambda: fleet.asked_for[-1][:2] == (DAY - 1800, DAY - 900))
        await pilot.press("pagedown", "pagedown")
        await until(pilot, lambda: screen_of(app).until is None)
        await pilot.press(")", ")", ")", ")", "pageup")
        await shows(pilot, "nothing older is kept")
        await until(pilot, lambda: fleet.asked_for[-1][:2] == (DAY - 604_800, DAY))
        assert min(since for since, _, _ in fleet.asked_for) == DAY - 604_800


async def test_now_goes_on_by_itself_and_a_time_before_stands_still() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        asked = len(fleet.asked_for)
        fleet.clock.go(REFRESH_S - 1)
        await pilot.pause(0.3)
        assert len(fleet.asked_for) == asked
        fleet.clock.go(1)
        await until(pilot, lambda: len(fleet.asked_for) == asked + 1)
        assert fleet.asked_for[-1][1] == DAY + REFRESH_S
        await pilot.press("pageup")
        await until(pilot, lambda: len(fleet.asked_for) == asked + 2)
        fleet.clock.go(60)
        await pilot.pause(0.3)
        assert len(fleet.asked_for) == asked + 2


async def test_days_are_not_read_again_every_five_seconds() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await pilot.press(")", ")", ")", ")")
        await until(pilot, lambda: fleet.asked_for[-1][0] == DAY - 604_800)
        asked = len(fleet.asked_for)
        fleet.clock.go(4 * REFRESH_S)
        await pilot.pause(0.3)
        assert len(fleet.asked_for) == asked


async def test_a_slow_store_says_loading_and_keys_go_on() -> None:
    fleet = with_a_past()
    fleet.gate.clear()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "loading …", "── Decode")
        await pilot.press("tab", ")")
        await shows(pilot, "│ 1 h ")
        fleet.gate.set()
        await shows(pilot, "tok/s total")
        await gone(pilot, "loading")


async def test_a_slow_store_is_not_asked_twice_for_the_same() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        fleet.gate.clear()
        fleet.clock.go(REFRESH_S)
        asked = len(fleet.asked_for)
        await until(pilot, lambda: len(fleet.asked_for) == asked + 1)
        fleet.clock.go(3 * REFRESH_S)
        fleet.tell("kimi", "something else")
        await pilot.pause(0.4)
        assert len(fleet.asked_for) == asked + 1
        assert "loading" not in screen_text(app)


async def test_what_goes_wrong_is_a_sentence_and_the_plots_stay() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await drawn(pilot)
        fleet.broken = K2Error("the history can't be read: the disk is full", code="history", hint="make room")
        fleet.clock.go(REFRESH_S)
        await shows(pilot, "the history can't be read: the disk is full; make room", "━ running")
        fleet.broken = None
        fleet.clock.go(REFRESH_S)
        await gone(pilot, "the disk is full")


async def test_what_goes_wrong_at_first_is_said_where_the_plots_would_be() -> None:
    fleet = with_a_past()
    fleet.broken = K2Error("the history can't be read: the disk is full", code="history")
    app = history(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: screen_text(app).count("the disk is full") >= 1)
        assert "tok/s" not in screen_text(app)


async def test_nothing_recorded_is_said_and_not_drawn_as_zero() -> None:
    fleet = with_a_past()
    fleet.forms, fleet.annotated = {}, []
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: screen_text(app).count("nothing was recorded in this time") == 10)
        assert "⣀" not in screen_text(app)


async def test_a_held_screen_asks_for_nothing() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await pilot.press("p")
        asked = len(fleet.asked_for)
        fleet.clock.go(5 * REFRESH_S)
        await pilot.pause(0.3)
        assert len(fleet.asked_for) == asked
        await pilot.press("p")
        await until(pilot, lambda: len(fleet.asked_for) > asked)


async def test_a_detached_terminal_asks_for_nothing() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        screen_of(app).tell_attached(False)
        asked = len(fleet.asked_for)
        fleet.clock.go(5 * REFRESH_S)
        await pilot.pause(0.3)
        assert len(fleet.asked_for) == asked
        screen_of(app).tell_attached(True)
        await until(pilot, lambda: len(fleet.asked_for) > asked)


async def test_a_wider_plot_is_asked_for_more_finely() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        narrow = fleet.asked_for[-1][2]
        await pilot.press("z")
        await until(pilot, lambda: fleet.asked_for[-1][2] > 2 * narrow)


async def test_zoom_gives_one_plot_the_screen_and_the_time_axis() -> None:
    app = history(with_a_past())
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await pilot.press("tab", "z")
        await gone(pilot, "Decode")
        await shows(pilot, "── Prefill", "├13:50", "now")
        await pilot.press("z")
        await shows(pilot, "Decode")


async def test_enter_on_what_happened_puts_the_cursor_there() -> None:
    app = history(with_a_past())
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        await pilot.press("shift+tab", "down", "enter")
        await until(pilot, lambda: screen_of(app).cursor == DAY - 240)
        await shows(pilot, "at 13:56:00")


async def test_a_node_without_servers_has_a_history_too() -> None:
    fleet = with_a_past()
    app = AppAt(HistoryScreen("gpu-a", is_node=True), fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(
            pilot, "GPU load of 8", "CPU of all cores", "Memory  310 GB", "Disks  ━ read", "Network  ━ in", "╌ out"
        )
        assert "Decode" not in screen_text(app)


async def test_seven_bits_are_enough_for_the_plots() -> None:
    app = history(with_a_past(), ascii_only=True)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "Decode", "now")
        text = screen_text(app)
        assert text.isascii()
        assert "?" not in text.replace("? help", "").replace("84 ?C", "")


async def test_a_secret_in_what_happened_is_masked_and_no_escape_gets_out() -> None:
    fleet = with_a_past()
    fleet.annotated = [
        Annotation(DAY - 100, "server/kimi", "restart: +HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz1234\x1b[31m\nx")
    ]
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "HF_TOKEN=")
        assert "hf_abc" not in screen_text(app)
        assert "\x1b" not in screen_text(app)


async def test_the_fleet_is_told_what_is_looked_at() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        assert (fleet.shown.server, fleet.shown.nodes) == ("kimi", frozenset({"gpu-a"}))


def test_only_the_gpus_of_the_server_are_plotted() -> None:
    fleet = with_a_past()
    server, node = fleet.server("kimi"), fleet.nodes()[0]
    two = replace(server, settings=replace(server.settings, gpus=(2, 5)))
    plots = {plot.id: plot for plot in server_plots(two, node)}
    assert plots["load"].title == "GPU load of 2"
    assert plots["load"].curves[0].keys == tuple(SeriesKey(f"gpu/gpu-a/{n}", Quantity.GPU_LOAD) for n in (2, 5))
    assert (plots["vram"].top, plots["power"].top) == (98_304, 600.0)
    assert subjects_of(two, node) == {"server/kimi", "node/gpu-a", "gpu/gpu-a/2", "gpu/gpu-a/5"}


async def test_an_unchanged_past_paints_nothing() -> None:
    fleet = with_a_past()
    app = history(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await drawn(pilot)
        pane = screen_of(app).plots["decode"]
        before = pane._body
        fleet.tell("kimi", "something else")
        await pilot.pause(0.5)
        assert pane._body is before

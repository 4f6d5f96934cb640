"""The fleet screen at work: figures in the rows, filters, orders, groups, marks, and what somebody else started."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.absence import Absence
from k2tui.core.events import Event, Severity
from k2tui.core.views import ServerStatus
from k2tui.ui.scene import Scene
from k2tui.ui.screens.fleet import FleetScreen
from k2tui.ui.widgets.grid import columns_for, fitted, grid_rows, measures
from k2tui.ui.widgets.rows import ServerRows
from tests.fakes.fleet import DAY, connected, gpus, reading, settings_of
from tests.ui.helpers import FakeCopier, app_on, gone, rows_of, shows, until
from tests.ui.working import ARGV, troubled, working

SIZES = [(200, 50), (120, 40), (80, 24)]


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_what_the_servers_do_stands_in_their_rows(size: tuple[int, int]) -> None:
    app = app_on(working())
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "TOK/S", "90.1", "330", "12 %", "◇ vllm-8000")
        assert {len(row) for row in rows_of(app)} == {size[0]}


async def test_the_first_line_adds_up_what_all_do_and_counts_alerts() -> None:
    app = app_on(working())
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "692 tok/s total", "queue 8", "! 1 alert")
        await pilot.press("A")
        await shows(pilot, "acknowledged 1 alert")
        await gone(pilot, "! 1 alert")
        await pilot.press("A")
        await shows(pilot, "no alert waits")


@pytest.mark.parametrize(
    ("width", "there", "left_out"),
    [
        (170, ("UP", "TTFT95", "VRAM", "PROFILE", "TREND 5m", "AGE"), ()),
        (118, ("UP", "TTFT95", "VRAM", "AGE"), ("PROFILE", "TREND 5m")),
        (100, ("TOK/S", "KV", "GPU", "AGE"), ("UP", "TTFT95", "PROFILE", "TREND 5m")),
        (78, ("TOK/S", "RUN", "QUE", "KV"), ("UP", "TTFT95", "VRAM", "GPU", "PROFILE", "TREND 5m")),
    ],
)
def test_columns_go_in_order_when_the_screen_gets_narrow(
    width: int, there: tuple[str, ...], left_out: tuple[str, ...]
) -> None:
    fleet = working()
    scene = Scene.of(fleet, fleet.clock)
    titles = {column.title for column, _ in columns_for(width, fitted([measures(row) for row in grid_rows(scene)]))}
    assert titles >= set(there)
    assert not titles & set(left_out)


async def test_the_trend_is_drawn_where_there_is_room() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "TREND 5m")
        row = next(row for row in rows_of(app) if row.startswith(" gpu-a"))
        assert any(bar in row for bar in "▁▂▃▄▅▆▇█")


async def test_late_figures_are_dimmed_and_then_gone() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "90.1")
        fleet.clock.go(60)
        await gone(pilot, "90.1", "692 tok/s")


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("state==ready", ["gpu-a/kimi", "gpu-e/kimi-5", "gpu-f/vllm-8000"]),
        ("queue>6", ["gpu-e/kimi-5"]),
        ("foreign", ["gpu-f/vllm-8000"]),
        ("tag==prod and !loading", ["gpu-a/kimi", "gpu-c/kimi-3"]),
        ("free", ["gpu-a/kimi"]),
        ("temp>90 or link==down", ["gpu-a/kimi", "gpu-d/kimi-4"]),
        ("tps>=330", ["gpu-e/kimi-5"]),
    ],
)
async def test_a_filter_looks_at_any_field(typed: str, keys: list[str]) -> None:
    app = app_on(working())
    async with app.run_test(size=(160, 40)) as pilot:
        rows = app.screen.query_one(ServerRows)
        rows.find(typed)
        await shows(pilot, f"/{typed}  {len(keys)} of 6")
        assert [row.key for row in rows.seen()] == keys


async def test_a_filter_that_is_half_typed_keeps_the_last_good_one_and_says_what_is_missing() -> None:
    app = app_on(working())
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("/", *"kimi-5")
        await shows(pilot, "/kimi-5  1 of 6")
        await pilot.press(*" tp")
        await shows(pilot, "  1 of 6", "fields: tps", "330")
        await pilot.press(*"s>")
        await shows(pilot, "  1 of 6", "tps> needs a value (tok/s)", "330")
        await pilot.press(*"9")
        await shows(pilot, "/kimi-5 tps>9  1 of 6")
        await pilot.press("enter")
        await shows(pilot, "330")
        await pilot.press("/", *"tpps>9", "enter")
        await shows(pilot, "no field tpps at 1; did you mean tps?")
        await pilot.press("escape")
        await gone(pilot, "tpps")


async def test_tab_finishes_the_field_that_is_typed() -> None:
    app = app_on(working())
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("/", *"kimi and fore", "tab", "enter")
        await shows(pilot, "/kimi and foreign")


async def test_rows_are_sorted_by_a_figure_and_unknown_ones_come_last() -> None:
    app = app_on(working())
    async with app.run_test(size=(160, 40)) as pilot:
        rows = app.screen.query_one(ServerRows)
        await pilot.press("o", "d")
        await shows(pilot, "by tok/s")
        assert [row.key for row in rows.seen()][:3] == ["gpu-e/kimi-5", "gpu-f/vllm-8000", "gpu-d/kimi-4"]
        await pilot.press("o", "d")
        await shows(pilot, "by tok/s, backwards")
        assert [row.key for row in rows.seen()][:3] == ["gpu-a/kimi", "gpu-d/kimi-4", "gpu-f/vllm-8000"]


async def test_the_selected_row_stays_where_it_is_on_screen_when_rows_move() -> None:
    fleet = connected(settings_of(64))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        rows = app.screen.query_one(ServerRows)
        await pilot.press("o", "t", *["j"] * 30)
        await until(pilot, lambda: rows.selected is not None)
        assert rows.selected is not None
        key, place = rows.selected.key, rows.cursor - rows.top_row
        fleet.set("kimi-60", status=ServerStatus.CRASHED)
        fleet.set("kimi-61", status=ServerStatus.CRASHED)
        await until(pilot, lambda: rows.at(0) is not None and rows.at(0).key == "gpu-59/kimi-60")  # type: ignore[union-attr]
        assert rows.selected is not None
        assert (rows.selected.key, rows.cursor - rows.top_row) == (key, place)


async def test_groups_have_headings_with_counts_and_fold() -> None:
    app = app_on(working())
    async with app.run_test(size=(160, 40)) as pilot:
        rows = app.screen.query_one(ServerRows)
        await pilot.press("o", "g", "g")
        await shows(pilot, "▾ prod  3 servers  ✗ 1 crashed", "▾ lab  3 servers  ~ 1 stale", "602 tok/s total")
        assert rows.selected is None
        assert rows.selected_group is not None
        await pilot.press("enter")
        await shows(pilot, "▸ lab")
        await gone(pilot, "kimi-5")
        await pilot.press("r")
        await shows(pilot, "no server is selected")
        await pilot.press("enter")
        await shows(pilot, "▾ lab", "kimi-5")
        await pilot.press("o", "o")
        await gone(pilot, "▾ lab")


async def test_marks_stay_on_their_servers_and_are_counted() -> None:
    copier = FakeCopier()
    app = app_on(working(), copier=copier)
    async with app.run_test(size=(160, 40)) as pilot:
        rows = app.screen.query_one(ServerRows)
        await pilot.press("space")
        await shows(pilot, "1 marked", "◆ gpu-a")
        await pilot.press("j", "V")
        await shows(pilot, "3 marked", "◆ gpu-c")
        await pilot.press("o", "n", "o", "n")
        await shows(pilot, "by node, backwards")
        assert rows.marks.keys == {"gpu-a/kimi", "gpu-b/kimi-2", "gpu-c/kimi-3"}
        await pilot.press("y")
        await until(pilot, lambda: len(copier.texts) == 1)
        assert [line.split()[0] for line in copier.texts[0].splitlines()] == ["gpu-c", "gpu-b", "gpu-a"]


async def test_a_mark_on_a_heading_is_one_on_all_its_rows() -> None:
    app = app_on(working())
    async with app.run_test(size=(160, 40)) as pilot:
        await pilot.press("o", "g", "g", "space")
        await shows(pilot, "3 marked", "◆ ▾ lab")
        await pilot.press("g", "space")
        await gone(pilot, "3 marked")


async def test_the_fleet_hears_what_is_on_screen() -> None:
    fleet = connected(settings_of(64))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: fleet.shown.node == "gpu-a")
        rows = app.screen.query_one(ServerRows)
        assert fleet.shown.servers == {row.server.settings.name for row in rows.seen_servers() if row.server}
        assert len(fleet.shown.nodes) < 64
        assert fleet.shown.server == "kimi"
        await pilot.press("G")
        await until(pilot, lambda: fleet.shown.server == "kimi-64")
        assert "gpu-a" not in fleet.shown.nodes
        screen = app.screen
        assert isinstance(screen, FleetScreen)
        screen.tell_attached(False)
        assert not fleet.shown.attached


async def test_the_letter_after_o_means_nothing_else() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(160, 40)) as pilot:
        for letter, word in (("s", "by server"), ("r", "by run"), ("l", "by GPU"), ("k", "by KV")):
            await pilot.press("o", letter)
            await shows(pilot, word)
        assert isinstance(app.screen, FleetScreen)
        await pilot.press("o", "Z", "j")
        await shows(pilot, "by KV")


async def test_rows_whose_views_are_the_same_are_not_made_again() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(160, 40)) as pilot:
        rows = app.screen.query_one(ServerRows)
        await shows(pilot, "90.1")

        def lines() -> list[object]:
            scene = Scene.of(fleet, fleet.clock)
            return [rows.line_of(row, scene) for row in grid_rows(scene)]

        before = lines()
        fleet.read("gpu-a", troubled(fleet.clock))
        after = lines()
        assert [old is new for old, new in zip(before, after, strict=True)] == [False, True, True, True, True, True]


# ---- what somebody else started


async def test_a_foreign_server_is_marked_and_its_verbs_say_why_not() -> None:
    fleet = working()
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.press("G")
        await shows(pilot, "not started by k2tui: ann, pid 512, since 10:50", "foreign")
        for key, verb in (("r", "restart"), ("s", "stop")):
            await pilot.press(key)
            await shows(pilot, f"{verb} vllm-8000: not started by k2tui", "i shows the config that adopts it")
        assert fleet.asked == []


async def test_the_last_line_of_a_foreign_server_offers_to_adopt_it_and_no_verb() -> None:
    app = app_on(working())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "r restart  t try  b bench  s stop  v verify")
        await pilot.press("G")
        await shows(pilot, "enter open  i adopt  b bench  l log")
        assert "restart" not in rows_of(app)[-1]


async def test_memory_of_eight_large_gpus_is_not_cut_off() -> None:
    fleet = working()
    large = tuple(replace(gpu, memory_used_mib=121_900.0, memory_total_mib=143_771.0) for gpu in gpus(8))
    fleet.read("gpu-b", reading(fleet.clock, large))
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "0.9/1.1 T")


async def test_i_shows_the_config_that_adopts_it_and_y_copies_that() -> None:
    copier = FakeCopier()
    app = app_on(working(), copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("i")
        await shows(pilot, "kimi is in your config: there is nothing to adopt")
        await pilot.press("G", "i")
        await shows(pilot, "[servers.vllm-8000]", "port = 8000", "vllm.entrypoints.openai.api_server")
        await pilot.press("y")
        await until(pilot, lambda: len(copier.texts) == 1)
        assert copier.texts[0].startswith("[servers.vllm-8000]\n")


async def test_a_foreign_server_is_described_with_its_command_and_what_runs_below_it() -> None:
    app = app_on(working())
    async with app.run_test(size=(160, 50)) as pilot:
        await pilot.press("G", "d")
        await shows(
            pilot,
            "pid 512, started by ann",
            "api_server --model /shared/qwen3-30b",
            "NCCL_PROTO=LL",
            "VLLM::Worker_TP0",
        )


async def test_the_command_of_a_foreign_server_is_copied_as_it_runs() -> None:
    copier = FakeCopier()
    app = app_on(working(), copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("G", "Y")
        await until(pilot, lambda: copier.texts == [" ".join(ARGV)])


# ---- since you left


async def test_what_happened_meanwhile_stands_on_top_until_it_is_taken_away() -> None:
    fleet = working()
    fleet.away = Absence(DAY - 9 * 3600, DAY, (Event(DAY - 3600, "kimi", "kimi crashed", Severity.BAD),), complete=True)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "Since you left 9 h ago", "kimi crashed at 13:00")
        await pilot.press("escape")
        await gone(pilot, "Since you left")
        await shows(pilot, "Servers")
        assert app.is_running


async def test_acknowledging_takes_the_look_back_away_too() -> None:
    fleet = working()
    fleet.away = Absence(DAY - 9 * 3600, DAY, complete=True)
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "Since you left")
        await pilot.press("A")
        await gone(pilot, "Since you left", "! 1 alert")

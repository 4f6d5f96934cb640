"""The fleet screen: a grid of servers, sorted and filtered, and what is known of the selected one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.launch import Cause, LaunchPhase, Progress
from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings
from k2tui.core.views import ServerStatus
from k2tui.ui.screens.fleet import FleetScreen
from k2tui.ui.screens.server import ServerScreen
from k2tui.ui.widgets.grid import columns_for
from k2tui.ui.widgets.rows import ServerRows
from tests.fakes.fleet import FakeFleet, connected, settings_of
from tests.ui.helpers import app_on, gone, rows_of, screen_text, shows, until

SIZES = [(200, 50), (120, 40), (80, 24)]


def mixed(nodes: int = 5) -> FakeFleet:
    fleet = connected(settings_of(nodes))
    fleet.begin("kimi")
    fleet.ready("kimi")
    fleet.begin("kimi-2")
    fleet.phase("kimi-2", LaunchPhase.WEIGHTS, Progress(51, 64, "shards", "x"))
    fleet.begin("kimi-3")
    fleet.crash("kimi-3", Cause("CUDA out of memory", 3, "TP1", "oom_weights"))
    fleet.link("gpu-d", phase=LinkPhase.DOWN, reason="no answer in 10 s", retry_at=fleet.clock.at + 8)
    fleet.set("kimi-4", status=ServerStatus.STALE)
    return fleet


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_every_state_is_told_by_a_word(size: tuple[int, int]) -> None:
    app = app_on(mixed())
    async with app.run_test(size=size) as pilot:
        await shows(
            pilot, "● READY", "◐ LOADING", "80 %", "✗ CRASHED", "GPU memory ran out", "~ STALE", "no answer in 10 s"
        )
        assert {len(row) for row in rows_of(app)} == {size[0]}


async def test_the_first_line_counts() -> None:
    app = app_on(mixed())
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "5 nodes  1 out of reach", "● 1 ready", "✗ 1 crashed", "32 GPU", "VRAM 2.8/3.0 T")


async def test_the_selection_moves_preview_and_gpus() -> None:
    app = app_on(mixed())
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "kimi on gpu-a", "GPUs  gpu-a")
        await pilot.press("j", "j")
        await shows(pilot, "kimi-3 on gpu-c", "GPUs  gpu-c", "CUDA out of memory")
        await pilot.press("G")
        await shows(pilot, "kimi-5 on gpu-e")


async def test_enter_goes_in_and_back_keeps_the_selection() -> None:
    app = app_on(mixed())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ServerScreen))
        await shows(pilot, "gpu-b › kimi-2")
        await pilot.press("backspace")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        await shows(pilot, "kimi-2 on gpu-b")


async def test_a_filter_shows_matching_rows_and_escape_all_again() -> None:
    app = app_on(mixed())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("/", *"crash", "enter")
        await shows(pilot, "/crash  1 of 5")
        assert "kimi-2" not in screen_text(app)
        await pilot.press("escape")
        await shows(pilot, "kimi-2")
        await pilot.press("/", *"!crash", "enter")
        await gone(pilot, "kimi-3")
        await pilot.press("q")
        await shows(pilot, "kimi-3")
        assert app.is_running


async def test_rows_are_sorted_by_the_letter_after_o_and_the_cursor_stays_on_its_server() -> None:
    app = app_on(mixed())
    async with app.run_test(size=(120, 40)) as pilot:
        rows = app.screen.query_one(ServerRows)
        await pilot.press("j", "o")
        await shows(pilot, "sort: Node Server sTate")
        await pilot.press("t")
        await shows(pilot, "by state")
        first = next(row for row in rows.shown if "kimi" in row)
        assert "CRASHED" in first
        assert rows.selected is not None
        assert rows.selected.key == "gpu-b/kimi-2"
        await pilot.press("o", "o")
        await gone(pilot, "by state")


async def test_a_node_without_a_server_has_a_row_of_its_own() -> None:
    settings = settings_of(3)
    fleet = connected(
        settings_of(3, nodes={**settings.nodes, "bare": NodeSettings("bare", "bare")}, servers=settings.servers)
    )
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "bare")
        await pilot.press("G", "r")
        await shows(pilot, "no server is selected")


async def test_64_nodes_scroll() -> None:
    app = app_on(connected(settings_of(64)))
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi-2", "/64")
        await pilot.press("G")
        await shows(pilot, "kimi-64")
        await pilot.press("g")
        await gone(pilot, "kimi-64")


async def test_a_blocked_node_says_what_to_do() -> None:
    fleet = mixed()
    fleet.link("gpu-a", phase=LinkPhase.BLOCKED, code="login_refused", reason="login refused", hint="ssh-add your key")
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "! BLOCKED", "login refused")


@pytest.mark.parametrize("width", [60, 78, 100, 118, 140, 200])
def test_columns_fit_and_the_names_stay(width: int) -> None:
    columns = columns_for(width)
    assert sum(size + column.gap for column, size in columns) <= max(width, 85)
    assert [column.title for column, _ in columns][:3] == ["NODE", "SERVER", "STATE"]


async def test_the_node_command_selects_the_node() -> None:
    app = app_on(mixed())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"node gpu-c", "enter")
        await shows(pilot, "kimi-3 on gpu-c")


async def test_a_start_that_has_failed_while_its_process_lives_is_not_called_starting() -> None:
    fleet = mixed()
    run = Run("kimi-3", "20261130T140000Z-0001", "/x", alive=True)
    fleet.set("kimi-3", status=ServerStatus.CRASHED, doing="starting", run=run)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "✗ CRASHED")
        assert "✗ STARTING" not in screen_text(app)
        fleet.set("kimi-3", run=replace(run, alive=False))
        await shows(pilot, "✗ STARTING")

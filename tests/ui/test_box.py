"""The box screen: everything of one node at once, and nothing to press."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.absence import Absence
from k2tui.core.events import Event, Severity
from k2tui.core.launch import Advice, Cause, LaunchPhase, Progress
from k2tui.core.link import LinkPhase
from k2tui.core.pace import Shown
from k2tui.core.readings import DiskReading
from k2tui.core.views import ServerStatus
from k2tui.ui.screens.box import BoxScreen
from k2tui.ui.screens.fleet import FleetScreen
from k2tui.ui.screens.server import ServerScreen
from k2tui.ui.widgets.pane import Pane
from tests.fakes.fleet import DAY, FakeFleet, connected, gpus, reading, settings_of
from tests.ui.helpers import app_on, gone, rows_of, screen_text, shows, until
from tests.ui.working import found, one_box

SIZES = [(200, 50), (120, 40), (80, 24)]
SHARDS = Progress(51, 64, "shards", "Loading safetensors checkpoint shards")


def loading() -> FakeFleet:
    fleet = connected(settings_of())
    fleet.begin("kimi")
    fleet.phase("kimi", LaunchPhase.WEIGHTS, SHARDS)
    fleet.log("kimi", "[2026-11-30 14:00:01 TP0] Load weight begin. avail mem=94.20 GB")
    return fleet


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_one_screen_shows_gpus_server_phase_and_log(size: tuple[int, int]) -> None:
    app = app_on(loading())
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "LOADING", "kimi", "weights", "80 %", "51/64 shards", "GPUs", "Load weight begin", "? help")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_no_row_is_wider_than_the_screen(size: tuple[int, int]) -> None:
    app = app_on(loading())
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "LOADING")
        assert {len(row) for row in rows_of(app)} == {size[0]}
        assert len(rows_of(app)) == size[1]


async def test_the_fleet_is_opened_once_and_after_the_first_frame() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test() as pilot:
        await until(pilot, lambda: fleet.opened == 1)
        await pilot.pause()
        assert fleet.opened == 1


async def test_a_change_of_the_fleet_reaches_the_screen_by_itself() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "51/64 shards")
        fleet.phase("kimi", LaunchPhase.WEIGHTS, Progress(60, 64, "shards", "x"))
        await shows(pilot, "60/64 shards")
        fleet.ready("kimi")
        await shows(pilot, "READY", "47 tokens in 0.9 s")


async def test_a_crash_shows_the_line_that_explains_it_and_what_to_do() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "LOADING")
        cause = Cause("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", 812, "TP3", "oom_weights")
        fleet.crash("kimi", cause, Advice("Stop the process that holds the memory", "source"))
        await shows(
            pilot, "CRASHED", "GPU memory ran out", "rank TP3", "line 812", "CUDA out of memory", "→ Stop the process"
        )


async def test_the_bar_line_of_the_log_is_one_live_line() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        fleet.ring("kimi").set_open("shards:  50% Completed | 32/64")
        await shows(pilot, "32/64")
        fleet.ring("kimi").set_open("shards:  80% Completed | 51/64 [00:11<00:00]")
        await shows(pilot, "51/64 [00:11<00:00]")
        assert "32/64" not in screen_text(app)


async def test_a_node_without_nvidia_smi_says_so() -> None:
    fleet = connected(settings_of(), gpu_count=0)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "unknown: no nvidia-smi on gpu-a", "cpu 22 %")


async def test_late_figures_show_their_age_and_very_old_ones_are_unknown() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "409/600 W")
        fleet.clock.go(8)
        await shows(pilot, "8 s old")
        fleet.clock.go(20)
        await until(pilot, lambda: "409/600 W" not in screen_text(app))


async def test_gpus_fold_to_one_line_on_a_short_screen() -> None:
    app = app_on(loading())
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "0–7", "704/768 G", "max 79 C")


async def test_a_lost_gpu_is_told_by_its_own_words() -> None:
    fleet = loading()
    rows = list(gpus(8))
    rows[3] = type(rows[3])(3, "GPU-3", fault="GPU is lost")
    fleet.read("gpu-a", reading(fleet.clock, rows))
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "3:GPU is lost")


async def test_two_nodes_share_the_box_and_three_make_a_fleet() -> None:
    async with app_on(connected(settings_of(2))).run_test(size=(120, 40)) as pilot:
        assert isinstance(pilot.app.screen, BoxScreen)
        await shows(pilot, "gpu-a", "gpu-b", "kimi-2")
    async with app_on(connected(settings_of(3))).run_test(size=(120, 40)) as pilot:
        assert isinstance(pilot.app.screen, FleetScreen)


async def test_the_cursor_among_servers_chooses_the_log() -> None:
    fleet = connected(settings_of(2))
    for name in ("kimi", "kimi-2"):
        fleet.begin(name)
        fleet.log(name, f"this is {name} speaking")
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "this is kimi speaking")
        await pilot.press("j")
        await shows(pilot, "this is kimi-2 speaking")


async def test_no_server_in_the_config_still_shows_the_machine() -> None:
    fleet = connected(settings_of(1, 0))
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "GPUs", "cpu 22 %")


async def test_watch_opens_on_the_only_server() -> None:
    fleet = loading()
    app = app_on(fleet, watch=True)
    async with app.run_test(size=(120, 40)) as pilot:
        assert isinstance(app.screen, ServerScreen)
        await shows(pilot, "Load weight begin")
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


async def test_start_at_goes_straight_to_a_server_and_back_leads_home() -> None:
    app = app_on(loading(), start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, ServerScreen))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))


async def test_the_first_line_says_simulated_and_read_only() -> None:
    app = app_on(connected(settings_of(read_only=True), simulated=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "simulated", "read-only")


async def test_a_small_terminal_shows_one_pane_and_a_tiny_one_a_sentence() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test(size=(70, 20)) as pilot:
        await shows(pilot, "Log", "Load weight begin")
        assert "GPUs" not in screen_text(app)
        await pilot.press("tab")
        await shows(pilot, "Server")
    app = app_on(loading())
    async with app.run_test(size=(58, 12)) as pilot:
        await shows(pilot, "too small")
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


async def test_zoom_shows_one_pane_and_back_all_of_them() -> None:
    app = app_on(loading())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "GPUs", "Log")
        await pilot.press("z")
        await until(pilot, lambda: "GPUs" not in screen_text(app))
        await pilot.press("z")
        await shows(pilot, "GPUs", "Log")


async def test_events_stand_on_a_tall_box() -> None:
    fleet = loading()
    fleet.tell("gpu-a", "connected", Severity.GOOD)
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "Events", "connected")


async def test_a_held_screen_stands_still_and_counts() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "51/64")
        await pilot.press("p")
        fleet.phase("kimi", LaunchPhase.WEIGHTS, Progress(60, 64, "shards", "x"))
        fleet.log("kimi", "one", "two")
        await shows(pilot, "held: 2 lines and 1 change since")
        assert "60/64" not in screen_text(app)
        await pilot.press("p")
        await shows(pilot, "60/64", "two")


async def test_a_node_out_of_reach_shows_the_reason_and_the_countdown() -> None:
    fleet = loading()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        fleet.link("gpu-a", phase=LinkPhase.DOWN, reason="connection refused", retry_at=fleet.clock.at + 8, attempt=2)
        fleet.set("kimi", status=ServerStatus.STALE)
        await shows(pilot, "connection refused, retry in 8 s", "STALE")
        fleet.clock.go(3)
        await shows(pilot, "retry in 5 s")
        await pilot.press("C")
        await until(pilot, lambda: fleet.retried == ["gpu-a"])


async def test_the_title_of_the_focused_pane_stands_out() -> None:
    app = app_on(loading())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "LOADING")

        def marked() -> list[str | None]:
            panes = app.screen.query(Pane)
            return [
                pane.id for pane in panes if pane._rows and any(role == "title-focus" for _, role in pane._rows[0][0])
            ]

        await until(pilot, lambda: marked() == ["log"])
        await pilot.press("tab")
        await until(pilot, lambda: marked() == ["launch"])


# ---- at work


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_one_screen_shows_what_the_server_does_and_what_is_wrong(size: tuple[int, int]) -> None:
    app = app_on(one_box())
    async with app.run_test(size=size) as pilot:
        await shows(
            pilot,
            "READY",
            "47 tokens in 0.9 s",
            "271",
            "24 waiting",
            "12 %",
            "DP3: 24 waiting, the others 0",
            "TTFT",
            "/metrics, <5 s old",
            "GPU is lost",
            "hw heat",
            "Decode batch",
        )
        assert {len(row) for row in rows_of(app)} == {size[0]}


async def test_what_the_operator_of_a_box_sees_is_all_of_it() -> None:
    fleet = one_box()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: fleet.shown.server == "kimi")
        assert fleet.shown == Shown(frozenset({"gpu-a"}), frozenset({"kimi"}), "gpu-a", "kimi", attached=True)


async def test_a_look_back_stands_on_top_of_the_box() -> None:
    fleet = one_box()
    fleet.away = Absence(DAY - 9 * 3600, DAY, (Event(DAY - 3600, "kimi", "kimi crashed", Severity.BAD),), complete=True)
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "Since you left 9 h ago", "kimi crashed at 13:00", "READY", "271")
        await pilot.press("A")
        await gone(pilot, "Since you left")


async def test_a_disk_that_fills_says_when() -> None:
    fleet = one_box()
    told = reading(fleet.clock, gpus(8))
    disk = DiskReading("/data", 7 * 10**12, 36 * 10**10, growth_bytes_per_s=10**8)
    fleet.read("gpu-a", replace(told, host=replace(told.host, disks=(disk,))))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "/data 360 GB free, full in 1h00m")


async def test_figures_that_do_not_come_say_why() -> None:
    fleet = one_box()
    fleet.read("gpu-a", replace(fleet.nodes()[0].reading, gpus_trouble="nvidia-smi does not answer"))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "nvidia-smi does not answer")


async def test_two_servers_of_a_box_can_be_sorted_and_marked() -> None:
    fleet = connected(settings_of(2))
    fleet.begin("kimi-2")
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("o", "t", "space")
        await shows(pilot, "by state", "1 marked")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_what_somebody_else_started_meanwhile_is_listed_beside_the_only_server(size: tuple[int, int]) -> None:
    fleet = connected(settings_of())
    app = app_on(fleet)
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "not running")
        assert "◇" not in screen_text(app)
        fleet.find("sglang-31555", found())
        await shows(pilot, "○ down", "◇ sglang-31555")
        await pilot.press("j", "i")
        await shows(pilot, "[servers.sglang-31555]")
        await pilot.press("escape")
        fleet.lose("sglang-31555")
        await gone(pilot, "sglang-31555")
        assert getattr(app.screen.focused, "id", None) == "log"


async def test_one_server_is_no_list_to_sort_or_mark() -> None:
    app = app_on(one_box())
    async with app.run_test(size=(120, 40)) as pilot:
        for key in ("space", "V", "o"):
            await pilot.press(key)
            await shows(pilot, "there is no list here to sort or mark")
        assert "marked" not in rows_of(app)[0]

"""The server screen: phases with bars and times, witnesses, flags, runs and the log."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.launch import LaunchPhase, Progress
from k2tui.core.pace import Shown
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import Proof, ServerStatus, Witness
from k2tui.ui.screens.server import ServerScreen
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.run_rows import RunRows
from tests.fakes.fleet import FakeFleet, connected, settings_of
from tests.ui.helpers import app_on, gone, rows_of, screen_text, shows, until
from tests.ui.working import one_box, working

SIZES = [(200, 50), (120, 40), (80, 24)]


def loading() -> FakeFleet:
    fleet = connected(settings_of())
    fleet.begin("kimi")
    fleet.phase(
        "kimi",
        LaunchPhase.WEIGHTS,
        Progress(51, 64, "shards", "x"),
        ranks_seen=frozenset(f"TP{rank}" for rank in range(8)),
        ranks_loaded=frozenset({"TP0"}),
    )
    return fleet


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_phases_have_bars_and_times(size: tuple[int, int]) -> None:
    app = app_on(loading(), start_at="kimi")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "gpu-a › kimi", "arguments", "2.1 s", "distributed", "3.0 s", "weights", "80 %", "KV cache")
        assert {len(row) for row in rows_of(app)} == {size[0]}


async def test_the_time_of_the_present_phase_grows() -> None:
    fleet = loading()
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "80 %")
        fleet.clock.go(42)
        await shows(pilot, "42 s")


async def test_ranks_behind_are_counted() -> None:
    app = app_on(loading(), start_at="kimi")
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "ranks ▮▯▯▯▯▯▯▯  1 of 8 loaded")


async def test_a_slow_or_stalled_launch_says_so() -> None:
    fleet = loading()
    fleet.phase("kimi", LaunchPhase.POSTPROCESS, detail="stalled", quiet_since=fleet.clock.time() - 90)
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(80, 24)) as pilot:
        await shows(pilot, "stalled", "repack")


async def test_there_are_gpu_rows_only_where_there_is_an_nvidia_smi() -> None:
    async with app_on(loading(), start_at="kimi").run_test(size=(120, 40)) as pilot:
        await shows(pilot, "GPUs", "409/600 W")
    fleet = connected(settings_of(), gpu_count=0)
    fleet.begin("kimi")
    async with app_on(fleet, start_at="kimi").run_test(size=(120, 40)) as pilot:
        await shows(pilot, "State")
        assert "GPUs" not in screen_text(pilot.app)  # type: ignore[arg-type]


async def test_only_the_gpus_of_the_server_are_shown() -> None:
    settings = settings_of()
    fleet = connected(settings_of(servers={"kimi": replace(settings.servers["kimi"], gpus=(4, 5))}))
    fleet.begin("kimi")
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "413/600 W", "414/600 W")
        assert "409/600 W" not in screen_text(app)


async def test_witnesses_and_proof_are_told_apart() -> None:
    fleet = loading()
    at = fleet.clock.at
    effects = (Effect("completion", Outcome.PROVED, "47 tokens"), Effect("reasoning", Outcome.NOT_PROVED, "null"))
    proof = Proof(False, "reasoning is in content", effects)
    fleet.ready("kimi", proof)
    fleet.set(
        "kimi",
        status=ServerStatus.DEGRADED,
        witnesses=(Witness("process", True, "alive, pid 41233", at), Witness("http", None, "timed out", at - 60)),
    )
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "DEGRADED", "✗ proof", "reasoning is in content", "✗ reasoning", "✓ process", "? http")
        await shows(pilot, "60 s old" if "60 s old" in screen_text(app) else "1 m old")


async def test_flags_that_changed_since_the_run_before_come_first() -> None:
    fleet = loading()
    run = fleet.server("kimi").run
    assert run is not None
    older = replace(run, run_id="20261130T130000Z-0000", argv=(*run.argv, "--disable-cuda-graph"), alive=False)
    newer = replace(run, env=(*run.env, ("NCCL_DEBUG", "INFO")))
    fleet.set("kimi", run=newer, runs=(newer, older))
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "2 changed since", "- --disable-cuda-graph", "+ NCCL_DEBUG=INFO")


async def test_the_run_history_opens_the_log_of_an_earlier_run() -> None:
    fleet = loading()
    first = fleet.server("kimi").runs[0].run_id
    fleet.end("kimi", stop_asked=True)
    fleet.begin("kimi")
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "Runs", "stopped", "running")
        app.screen.set_focus(app.screen.query_one(RunRows))
        await pilot.press("j", "enter")
        await shows(pilot, f"log of {first}")


async def test_a_new_run_brings_its_own_log() -> None:
    fleet = loading()
    fleet.log("kimi", "the old log")
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "the old log")
        async for _ in fleet.restart("kimi"):
            pass
        await shows(pilot, "fired up and ready")
        assert "the old log" not in screen_text(app)


async def test_l_shows_the_log_alone_and_back_leads_out() -> None:
    app = app_on(loading())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("l")
        await until(pilot, lambda: isinstance(app.screen, ServerScreen) and app.screen.zoomed)
        await until(pilot, lambda: "Launch" not in screen_text(app))
        assert app.screen.focused is app.screen.query_one(LogPane)
        await pilot.press("escape")
        await shows(pilot, "Launch")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ServerScreen))


async def test_tab_goes_through_the_panes_and_moves_the_focus_mark() -> None:
    app = app_on(loading(), start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "Launch")
        seen = []
        for _ in range(6):
            seen.append(app.screen.focused.id if app.screen.focused else None)
            await pilot.press("tab")
        assert seen[0] == "log"
        assert len(set(seen)) == len(app.screen.visible_panes)  # type: ignore[attr-defined]


async def test_how_far_the_log_is_behind_is_said() -> None:
    fleet = loading()
    fleet.set("kimi", log_behind_bytes=3_200_000)
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "3.2 MB behind")
        fleet.set("kimi", log_behind_bytes=0)
        await gone(pilot, "behind")


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_a_server_that_serves_shows_its_figures_first(size: tuple[int, int]) -> None:
    app = app_on(one_box(), start_at="kimi")
    async with app.run_test(size=size) as pilot:
        await shows(pilot, "Serving", "271", "24 waiting", "DP3: 24 waiting, the others 0", "/metrics, <5 s old")


async def test_a_foreign_server_says_whose_it_is_and_what_it_runs_with() -> None:
    app = app_on(working(), start_at="vllm-8000")
    async with app.run_test(size=(160, 50)) as pilot:
        await shows(
            pilot, "not started by k2tui: ann, pid 512, since 10:50", "--model /shared/qwen3-30b", "its log, <5 s"
        )
        await pilot.press("r")
        await shows(pilot, "restart vllm-8000: not started by k2tui")


async def test_all_witnesses_are_heard_and_a_contradiction_is_spelled_out() -> None:
    fleet = one_box()
    said = "HTTP answers, but its scheduler has answered nothing for 40 s"
    fleet.set("kimi", disagreement=said, status=ServerStatus.HUNG)
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, f"! {said}", "port       30000 is open", "heartbeat  3 running", "33 s ago")
        await pilot.press("d")
        await shows(pilot, f"! {said}", "Serving  /metrics")


async def test_the_fleet_hears_which_server_is_looked_at() -> None:
    fleet = one_box()
    app = app_on(fleet, start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "Serving")
        assert fleet.shown == Shown(frozenset({"gpu-a"}), frozenset({"kimi"}), "gpu-a", "kimi")

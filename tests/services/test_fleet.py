"""The fleet and its verbs, on one simulated node reached by SSH and supervised by the real wrapper."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.launch import LaunchPhase
from k2tui.core.settings import ServerSettings, Settings
from k2tui.core.verbs import ProfileChange, VerbEvent
from k2tui.core.verdicts import Outcome
from k2tui.core.views import ServerStatus
from k2tui.demo.fleet import DemoFleet
from k2tui.services.doors import RealClock
from k2tui.services.fleet import Fleet, FleetDoors
from tests.demo.waiting import until
from tests.fakes.audit import MemoryAudit
from tests.fakes.history import MemoryHistory

KIMI, NODE = "kimi", "gpu-a"
PACE = 0.05


async def _nothing() -> None:
    return None


def fleet_on(
    demo: DemoFleet,
    settings: Settings | None = None,
    audit: MemoryAudit | None = None,
    history: MemoryHistory | None = None,
) -> Fleet:
    doors = FleetDoors(
        demo.make_link, _nothing, script, audit or MemoryAudit(), RealClock(), history, None, None, "tester@here"
    )
    return Fleet(settings or demo.settings, doors, simulated=True)


@asynccontextmanager
async def one_node(fault: str | None = None, *, verify_max_s: float = 20.0) -> AsyncIterator[tuple[DemoFleet, Fleet]]:
    async with DemoFleet(1, fault=fault, pace=PACE, up=False, verify_max_s=verify_max_s) as demo:
        fleet = fleet_on(demo)
        await fleet.open()
        try:
            yield demo, fleet
        finally:
            await fleet.close()


async def played(steps: AsyncIterator[VerbEvent]) -> list[VerbEvent]:
    return [step async for step in steps]


def kinds(steps: list[VerbEvent]) -> list[str]:
    """The steps without repeats of the same kind in a row."""
    names = [step.type for step in steps]
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


async def test_a_start_is_done_when_a_real_completion_came_back() -> None:
    async with one_node() as (_, fleet):
        steps = await played(fleet.start(KIMI))
        phases = [step.text for step in steps if step.type == "phase"]
        assert phases == sorted(phases, key=lambda word: LaunchPhase(word).order)
        assert steps[-1].exit_code is ExitCode.DONE
        assert kinds(steps)[-4:] == ["ready", "effect", "proved", "done"]
        view = fleet.server(KIMI)
        assert view.status is ServerStatus.READY
        assert view.proof is not None
        shown = {effect.check for effect in view.proof.effects if effect.outcome is Outcome.PROVED}
        assert shown >= {"identity", "completion", "reasoning", "tools"}
        assert {witness.name for witness in view.witnesses} >= {"process", "log", "completion"}


async def test_a_second_start_is_refused_and_a_restart_is_another_run() -> None:
    async with one_node() as (_, fleet):
        await played(fleet.start(KIMI))
        first = fleet.server(KIMI).run
        with pytest.raises(K2Error) as refused:
            await played(fleet.start(KIMI))
        assert refused.value.code == "already_running"
        steps = await played(fleet.restart(KIMI, ProfileChange(set={"mem-fraction-static": "0.7"})))
        told = [kind for kind in kinds(steps) if kind != "drain"]
        assert told[:5] == ["preflight", "stopping", "stopped", "seen", "started"]
        second = fleet.server(KIMI).run
        assert first is not None
        assert second is not None
        assert second.run_id != first.run_id
        assert "0.7" in second.argv
        assert fleet.plan("kimi-exp").warnings == ("kimi runs on the same GPUs: stop it first",)
        old = fleet.run_ring(KIMI, first.run_id)
        await until(lambda: any("fired up" in old[number] for number in range(old.start, old.end)))


async def test_a_crash_is_told_by_the_line_that_explains_it() -> None:
    async with one_node("oom:3") as (_, fleet):
        steps = await played(fleet.start(KIMI))
        assert steps[-1].exit_code is ExitCode.BAD
        failed = next(step for step in steps if step.type == "failed")
        assert "CUDA out of memory" in failed.text
        cause = failed.data["root_cause"]
        assert isinstance(cause, dict)
        assert "TP3" in str(cause["rank"])
        await until(lambda: fleet.server(KIMI).status is ServerStatus.CRASHED)


async def test_a_server_that_answers_nothing_is_not_ready() -> None:
    async with one_node("hang_after_ready", verify_max_s=1.0) as (_, fleet):
        steps = await played(fleet.start(KIMI))
        assert steps[-1].exit_code is ExitCode.BAD
        assert "no answer" in steps[-1].text
        assert fleet.server(KIMI).status is ServerStatus.DEGRADED


async def test_a_new_k2tui_finds_the_same_run_and_proves_it_again() -> None:
    async with one_node() as (demo, fleet):
        steps = fleet.start(KIMI)
        async for step in steps:
            if step.type == "started":
                break
        await fleet.close()  # the first k2tui is gone in mid-load
        again = fleet_on(demo)
        await again.open()
        try:
            await until(lambda: again.server(KIMI).status is ServerStatus.READY)
            launch = again.server(KIMI).launch
            assert launch is not None
            spans = [span.phase for span in launch.spans]
            assert spans[:3] == [LaunchPhase.ARGS, LaunchPhase.DISTRIBUTED, LaunchPhase.WEIGHTS]
        finally:
            await again.close()


async def test_a_stop_is_done_when_nothing_is_left_and_is_written_down() -> None:
    async with DemoFleet(1, pace=PACE, up=False) as demo:
        audit = MemoryAudit()
        fleet = fleet_on(demo, audit=audit)
        await fleet.open()
        try:
            await played(fleet.start(KIMI))
            steps = await played(fleet.stop(KIMI))
            assert kinds(steps) == ["stopping", "stopped", "done"]
            assert fleet.server(KIMI).status is ServerStatus.DOWN
            said = {witness.name: witness.ok for witness in fleet.server(KIMI).witnesses}
            assert said == {"process": None, "log": True}
            assert [(line[1], line[-1]) for line in audit.lines] == [
                ("start", "began"),
                ("start", "done"),
                ("stop", "began"),
                ("stop", "done"),
            ]
            with pytest.raises(K2Error) as refused:
                await played(fleet.stop(KIMI))
            assert (refused.value.code, refused.value.exit_code) == ("not_running", ExitCode.MISSING)
        finally:
            await fleet.close()


async def test_read_only_plans_and_starts_nothing() -> None:
    async with DemoFleet(1, pace=PACE, up=False) as demo:
        fleet = fleet_on(demo, replace(demo.settings, read_only=True))
        await fleet.open()
        try:
            assert "--tp-size" in fleet.plan(KIMI).command
            with pytest.raises(K2Error) as refused:
                await played(fleet.start(KIMI))
            assert refused.value.code == "read_only"
            assert fleet.server(KIMI).run is None
        finally:
            await fleet.close()


async def test_a_careful_node_wants_its_name() -> None:
    async with DemoFleet(1, pace=PACE, up=False) as demo:
        careful = replace(demo.settings.nodes[NODE], confirm="always")
        fleet = fleet_on(demo, replace(demo.settings, nodes={NODE: careful}))
        await fleet.open()
        try:
            assert fleet.plan(KIMI).confirm_needed is not None
            with pytest.raises(K2Error) as refused:
                await played(fleet.start(KIMI))
            assert refused.value.code == "confirm_needed"
            steps = await played(fleet.start(KIMI, confirm=NODE))
            assert steps[-1].exit_code is ExitCode.DONE
        finally:
            await fleet.close()


async def test_a_broken_connection_is_an_event_and_mends() -> None:
    async with one_node() as (demo, fleet):
        await until(lambda: fleet.nodes()[0].reading.host_at is not None)
        demo.cut(NODE)
        await until(lambda: [event.text for event in fleet.events].count("connected") == 2)
        await until(lambda: len(fleet.nodes()[0].reading.gpus) == 8)


async def test_a_log_that_is_already_there_is_only_watched(tmp_path: Path) -> None:
    async with one_node() as (demo, fleet):
        await played(fleet.start(KIMI))
        run = fleet.server(KIMI).run
        assert run is not None
        watched = ServerSettings(name="by-hand", node=NODE, log=run.log_path)
        settings = replace(demo.settings, servers={"by-hand": watched}, probe_generate="never")
        other = fleet_on(demo, settings)
        await other.open()
        try:
            await until(lambda: other.server("by-hand").status is ServerStatus.UNPROVED)
            ring = other.ring("by-hand")
            assert any("fired up" in ring[number] for number in range(ring.start, ring.end))
            with pytest.raises(K2Error) as refused:
                await played(other.stop("by-hand"))
            assert refused.value.code == "watched_only"
        finally:
            await other.close()


async def test_an_unknown_server_is_told_with_the_known_ones() -> None:
    async with one_node() as (_, fleet):
        with pytest.raises(K2Error, match="kimi") as missing:
            fleet.server("nonsense")
        assert missing.value.exit_code is ExitCode.MISSING


def knows(fleet: Fleet, launches: int) -> bool:
    return len(fleet.server(KIMI).around.past) == launches


async def test_launches_are_remembered_and_the_next_one_knows_them() -> None:
    history = MemoryHistory()
    async with DemoFleet(1, pace=PACE, up=False) as demo:
        for round_ in range(2):
            fleet = fleet_on(demo, history=history)
            await fleet.open()
            try:
                steps = await played(fleet.restart(KIMI))
                assert steps[-1].exit_code is ExitCode.DONE
                await until(partial(knows, fleet, round_))
            finally:
                await fleet.close()
            assert len(history.launches) == round_ + 1
    first, second = history.launches
    assert first.key == second.key
    assert first.ready_s is not None
    assert LaunchPhase.WEIGHTS in first.phases_s

"""Benchmarks of a fleet: measured beside the server, told step by step, kept whatever happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from k2tui.adapters.state.db import StateDb
from k2tui.core.benching.comparison import Answer
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import Settings
from tests.adapters.test_state_benches import RESULT
from tests.core.benching.files import bench_serving
from tests.fakes.truth_server import Behaviour, TruthServer
from tests.services.benching.stage import NAME, NODE, QUICK, Place, gate, measured, result_of, told
from tests.waiting import until

FAST = Behaviour(tok_s=400.0, ttft_s=0.01)


def kinds(steps: list[BenchEvent]) -> list[str]:
    names = [step.type for step in steps]
    return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


async def test_a_quick_figure_is_told_step_by_step_and_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(FAST) as server, place.watching(server.port) as fleet:
        steps = await told(fleet.bench(NAME, QUICK))
        result, done = result_of(steps), steps[-1]
        told_once = [kind for kind in kinds(steps) if kind not in ("figure", "note", "clients")]
        assert told_once[:3] == ["request", "connected", "request"]
        assert told_once[-5:] == ["request", "point", "gate", "result", "done"]
        assert done.exit_code is (ExitCode.DONE if result.valid else ExitCode.BAD)
        assert measured(result) >= 2
        assert result.decode_tps is not None
        assert done.text.startswith(f"quick: {result.decode_tps:.1f} tok/s of one stream")
        assert (result.subject, result.node, result.formula_set) == (NAME, NODE, "k2-1")
        assert result.system.model == "/m"
        assert {one.asked["max_tokens"] for one in server.measured} == {80}
        assert await place.store.bench(result.bench_id) == result
        assert await fleet.bench_result(result.bench_id[-4:]) == result
        listed = replace(result, requests=(), samples=())
        assert await fleet.benches(NAME) == (listed,)
        view = fleet.server(NAME)
        assert (view.bench, view.last_bench) == (None, listed)
        assert [event.text for event in fleet.events if event.subject == NAME][-1] == done.text
        assert place.benches() == [
            ("quick, streams 1, 80 tokens, fresh", "began"),
            ("quick, streams 1, 80 tokens, fresh", f"done: {result.bench_id}"),
        ]


async def test_the_live_figure_is_in_the_view_and_wakes_who_looks(tmp_path: Path) -> None:
    async with TruthServer(FAST) as server, Place(tmp_path).watching(server.port) as fleet:
        seen, before = [], fleet.news
        async for _ in fleet.bench(NAME, QUICK):
            live = fleet.server(NAME).bench
            assert live is not None
            seen += [live]
        assert {live.bench_id for live in seen} == {(await fleet.benches())[0].bench_id}
        assert any(live.decode_tps is not None for live in seen)
        assert fleet.server(NAME).bench is None
        assert fleet.news > before


async def test_without_metrics_gates_are_not_told_and_nothing_is_refused(tmp_path: Path) -> None:
    behaviour = replace(FAST, metrics="none", cache_report=False, flush=None)
    async with TruthServer(behaviour) as server, Place(tmp_path).watching(server.port) as fleet:
        result = result_of(await told(fleet.bench(NAME, QUICK)))
        assert [gate(result, name) for name in ("G1", "G2", "G3")] == [None, None, None]
        assert measured(result) >= 2
        assert result.error is None


async def test_others_are_shown_first_and_make_the_run_red(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(replace(FAST, others=2)) as server, place.watching(server.port) as fleet:
        steps = await told(fleet.bench(NAME, QUICK))
        assert (steps[0].type, steps[0].data["running"]) == ("clients", 2)
        assert steps[0].text.startswith("2 requests of others run on it")
        result = result_of(steps)
        assert gate(result, "G2") is False
        assert steps[-1].exit_code is ExitCode.BAD
        assert "not valid: " in steps[-1].text
        assert await place.store.bench(result.bench_id) == result


async def test_a_server_that_is_killed_in_mid_run_is_a_clear_failure_and_keeps_its_figures(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(FAST) as server, place.watching(server.port) as fleet:
        steps: list[BenchEvent] = []
        async for step in fleet.bench(NAME, replace(QUICK, repeats=50)):
            steps.append(step)
            if step.type == "request" and step.data["is_warm_up"] is False:
                server.kill()
        result = result_of(steps)
        assert steps[-1].exit_code is ExitCode.BAD
        assert result.error is not None
        assert "failed: " in steps[-1].text
        assert measured(result) >= 1
        assert result.decode_tps is not None
        assert await place.store.bench(result.bench_id) == result
        assert fleet.server(NAME).bench is None
        await until(lambda: fleet.events[-1].text == steps[-1].text, "the event")


async def test_a_measurement_that_is_closed_ends_and_keeps_what_it_has(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(FAST) as server, place.watching(server.port) as fleet:
        steps = cast("AsyncGenerator[BenchEvent, None]", fleet.bench(NAME, replace(QUICK, repeats=50, budget_s=300.0)))
        async for step in steps:
            if step.type == "request" and step.data["is_warm_up"] is False:
                break
        await steps.aclose()
        (kept,) = await fleet.benches(NAME)
        assert kept.error == "it was ended before its end"
        assert kept.decode_tps is not None
        assert not kept.valid
        assert fleet.server(NAME).bench is None
        assert place.generators == 0
        assert place.benches()[-1][1] == "left"
        await until(lambda: not server.streams, "a server without our requests")
        assert result_of(await told(fleet.bench(NAME, QUICK))).error is None


async def test_a_measurement_whose_task_is_cancelled_keeps_what_it_has(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(FAST) as server, place.watching(server.port) as fleet:
        steps: list[BenchEvent] = []

        async def follow() -> None:
            async for step in fleet.bench(NAME, replace(QUICK, repeats=50, budget_s=300.0)):
                steps.append(step)

        task = asyncio.ensure_future(follow())
        await until(lambda: any(step.type == "request" and not step.data["is_warm_up"] for step in steps))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: fleet.server(NAME).last_bench is not None, "a result that is kept")
        (kept,) = await fleet.benches(NAME)
        assert kept.error == "it was ended before its end"


async def test_a_fleet_that_is_closed_keeps_what_is_being_measured(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(FAST) as server:
        steps: list[BenchEvent] = []
        async with place.watching(server.port) as fleet:

            async def follow() -> None:
                async for step in fleet.bench(NAME, replace(QUICK, repeats=50, budget_s=300.0)):
                    steps.append(step)

            task = asyncio.ensure_future(follow())
            await until(lambda: any(step.type == "request" and not step.data["is_warm_up"] for step in steps))
        await task
        assert result_of(steps).error == "it was ended before its end"
    again = StateDb(tmp_path / "state.db")
    assert len(await again.benches()) == 1
    await again.close()


async def test_what_was_ended_before_its_first_figure_is_not_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(FAST) as server, place.watching(server.port) as fleet:
        steps = cast("AsyncGenerator[BenchEvent, None]", fleet.bench(NAME, QUICK))
        async for step in steps:
            if step.type == "request":
                break
        await steps.aclose()
        assert await fleet.benches() == ()
        assert fleet.server(NAME).last_bench is None


async def test_a_server_is_measured_once_at_a_time(tmp_path: Path) -> None:
    async with TruthServer(FAST) as server, Place(tmp_path).watching(server.port) as fleet:
        async for step in fleet.bench(NAME, QUICK):
            if step.type == "connected":
                with pytest.raises(K2Error) as refused:
                    await told(fleet.bench(NAME, QUICK))
                assert refused.value.code == "bench_running"
        assert len(server.measured) <= QUICK.repeats


async def test_two_k2tui_that_measure_one_server_flag_each_other(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = Place(tmp_path / "one"), Place(tmp_path / "two")
    async with (
        TruthServer(replace(FAST, tok_s=150.0)) as server,
        one.watching(server.port) as mine,
        two.watching(server.port) as theirs,
    ):
        plan = replace(QUICK, repeats=6)
        both = await asyncio.gather(told(mine.bench(NAME, plan)), told(theirs.bench(NAME, plan)))
        assert [gate(result_of(steps), "G2") for steps in both] == [False, False]


async def test_read_only_means_no_load_either(tmp_path: Path) -> None:
    async with TruthServer(FAST) as server, Place(tmp_path, read_only=True).watching(server.port) as fleet:
        with pytest.raises(K2Error) as refused:
            await told(fleet.bench(NAME, QUICK))
        assert (refused.value.code, refused.value.exit_code) == ("read_only", ExitCode.USAGE)
        assert server.truths == []


async def test_what_does_not_run_is_not_measured(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with place.watching(1, up=False) as fleet:
        with pytest.raises(K2Error) as refused:
            await told(fleet.bench(NAME, QUICK))
        assert (refused.value.code, refused.value.exit_code) == ("not_running", ExitCode.MISSING)
        with pytest.raises(K2Error) as unknown:
            await told(fleet.bench("nobody", QUICK))
        assert unknown.value.code == "no_such_server"
        assert place.benches() == []


async def test_a_port_that_nobody_listens_on_is_a_refusal_and_no_result(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer() as gone:
        port = gone.port
    async with place.watching(port) as fleet:
        with pytest.raises(K2Error) as refused:
            await told(fleet.bench(NAME, QUICK))
        assert (refused.value.code, refused.value.exit_code) == ("unreachable", ExitCode.MISSING)
        assert await fleet.benches() == ()
        assert place.benches()[-1][1] == "failed: unreachable"


async def test_a_url_is_measured_from_here_without_a_config(tmp_path: Path) -> None:
    place = Place(tmp_path)
    fleet = place.fleet(Settings())
    async with TruthServer(FAST) as server:
        url = f"http://127.0.0.1:{server.port}"
        result = result_of(await told(fleet.bench_url(f"{url}/v1/", QUICK)))
        assert (result.subject, result.node, result.error) == (f"{url}/v1", None, None)
        assert measured(result) >= 2
        assert (result.system.model, result.system.version, result.system.engine) == ("/m", "0.5.23", "sglang")
        assert any("from this machine" in note for note in result.notes)
        assert result.workload["measured_from"] == "remote"
        assert await fleet.benches(f"{url}/v1") == (replace(result, requests=(), samples=()),)
        assert result_of(await told(fleet.bench(url, QUICK))).subject == url
        assert place.generators == 0
    with pytest.raises(K2Error) as gone:
        await told(fleet.bench_url(url, QUICK))
    assert gone.value.exit_code is ExitCode.MISSING
    await fleet.close()
    await place.store.close()


async def test_a_store_that_fails_is_said_and_takes_no_figure_away(tmp_path: Path) -> None:
    class Full(StateDb):
        async def keep_bench(self, result: object) -> None:
            raise K2Error("history is not kept: the disk is full", code="history")

    place = Place(tmp_path, history=Full(tmp_path / "full.db"))
    async with TruthServer(FAST) as server, place.watching(server.port) as fleet:
        steps = await told(fleet.bench(NAME, QUICK))
        assert any(step.type == "note" and "the disk is full" in step.text for step in steps)
        assert measured(result_of(steps)) >= 2
        assert fleet.server(NAME).last_bench is not None


async def test_a_base_is_shown_from_then_on_and_after_a_restart_of_k2tui(tmp_path: Path) -> None:
    place = Place(tmp_path)
    await place.store.keep_bench(RESULT)
    newer = replace(RESULT, bench_id="20261129T110000Z-bbbb", began_at=RESULT.began_at + 60)
    await place.store.keep_bench(newer)
    await place.store.keep_bench(replace(RESULT, bench_id="20261129T110000Z-cccc", subject="glm"))
    async with place.watching(1) as fleet:
        await fleet.set_base(NAME, "aaaa")
        base = fleet.server(NAME).base
        assert base is not None
        assert (base.bench_id, base.is_base, base.requests) == (RESULT.bench_id, True, ())
        with pytest.raises(K2Error) as other:
            await fleet.set_base(NAME, "cccc")
        assert other.value.code == "other_server"
        with pytest.raises(K2Error) as unknown:
            await fleet.set_base(NAME, "dddd")
        assert unknown.value.exit_code is ExitCode.MISSING
    again = Place(tmp_path)
    async with again.watching(1) as fleet:
        await fleet.attend()
        await until(lambda: fleet.server(NAME).base is not None, "the base")
        base, last = fleet.server(NAME).base, fleet.server(NAME).last_bench
        assert (base.bench_id if base else None) == RESULT.bench_id
        assert (last.bench_id if last else None) == newer.bench_id
        await fleet.set_base(NAME, None)
        assert fleet.server(NAME).base is None
        assert not any(one.is_base for one in await fleet.benches())


async def test_two_kept_benchmarks_are_compared(tmp_path: Path) -> None:
    place = Place(tmp_path)
    fast = replace(RESULT.system, env=(("NCCL_PROTO", "LL128"),))
    for number, tps in enumerate((89.8, 90.0, 90.2, 90.1)):
        await place.store.keep_bench(
            replace(RESULT, bench_id=f"old-{number}", run_id=f"old-{number}", decode_tps=tps, profile="reason")
        )
        new = replace(RESULT, bench_id=f"new-{number}", run_id=f"new-{number}", decode_tps=tps * 1.1, profile="fast")
        await place.store.keep_bench(replace(new, system=fast, system_key="t" * 64))
    async with place.watching(1) as fleet:
        for a, b in (("old-0", "new-3"), ("reason", "fast")):
            comparison = await fleet.compare_benches(a, b)
            assert comparison.answer is Answer.FASTER
            assert (comparison.restarts_a, comparison.restarts_b, comparison.confounded) == (4, 4, False)
            assert [change.name for change in comparison.changes] == ["NCCL_PROTO"]


async def test_a_result_of_another_tool_is_taken_in_as_of_a_server(tmp_path: Path) -> None:
    async with Place(tmp_path).watching(1) as fleet:
        (taken,) = await fleet.import_bench(NAME, json.dumps(bench_serving()))
        assert (taken.subject, taken.node, taken.procedure) == (NAME, NODE, Procedure.IMPORTED)
        assert taken.tool != "k2tui"
        assert await fleet.bench_result(taken.bench_id) == taken
        assert fleet.server(NAME).last_bench is not None
        (far,) = await fleet.import_bench("http://gpu-b:30000/", json.dumps(bench_serving()))
        assert (far.subject, far.node) == ("http://gpu-b:30000", None)


async def test_what_is_no_result_of_a_tool_is_not_taken_in(tmp_path: Path) -> None:
    async with Place(tmp_path).watching(1) as fleet:
        for text in ("", "{}", "\x00", "[" * 5000):
            with pytest.raises(K2Error) as refused:
                await fleet.import_bench(NAME, text)
            assert refused.value.exit_code is ExitCode.USAGE
        with pytest.raises(K2Error) as unknown:
            await fleet.import_bench("nobody", "{}")
        assert unknown.value.exit_code is ExitCode.MISSING
        assert await fleet.benches() == ()


@pytest.mark.parametrize("procedure", [Procedure.IMPORTED])
async def test_a_procedure_of_another_tool_is_not_measured(tmp_path: Path, procedure: Procedure) -> None:
    async with TruthServer(FAST) as server, Place(tmp_path).watching(server.port) as fleet:
        with pytest.raises(K2Error) as refused:
            await told(fleet.bench(NAME, BenchPlan(procedure=procedure)))
        assert refused.value.exit_code is ExitCode.USAGE
        assert server.truths == []

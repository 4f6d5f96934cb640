"""A/B and matrix from end to end, on the simulated fleet."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.benching import gates
from k2tui.core.benching.comparison import Answer
from k2tui.core.benching.ranking import ranked
from k2tui.core.benching.series import Leave, SeriesEvent, SeriesStage, TrialState
from k2tui.core.errors import ExitCode
from k2tui.core.views import ServerStatus
from tests.services.benching.demo_stage import (
    NODE,
    QUICK,
    QUICKER,
    SERVER,
    SLOW,
    demo_of,
    k2_on,
    lenient,
    started,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def on_a_shared_machine() -> Iterator[None]:
    kept = gates.MOST_LAG_MS, gates.MOST_CPU_SHARE
    lenient()
    yield
    gates.MOST_LAG_MS, gates.MOST_CPU_SHARE = kept


async def test_an_ab_that_is_killed_half_way_is_gone_on_with_to_the_right_verdict(tmp_path: Path) -> None:
    async with demo_of(tmp_path / "demo") as demo:
        async with k2_on(demo.root) as fleet:
            found = await started(fleet)
        command = (sys.executable, "-m", "tests.services.benching.killed_series", str(demo.root), "3", "figure")
        process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
        assert await process.wait() == -signal.SIGKILL
        async with k2_on(demo.root) as fleet:
            (state,) = await fleet.serieses()
            plan = state.plan
            assert (state.stage, plan.found_run, plan.leave) == (SeriesStage.RUNNING, found, Leave.BEST)
            assert [trial.state.value for trial in state.trials] == [
                *("measured", "measured", "measuring"),
                *("waiting", "waiting", "waiting"),
            ]
            killed_run = state.trials[2].run_id
            steps = [step async for step in fleet.go_on_series(plan.series_id, confirm=NODE)]
            made = [step.data["trial"] for step in steps if step.type == "trial"]
            assert made == [3, 4, 5, 6]
            done, state = steps[-1], steps[-1].state
            assert done.exit_code is ExitCode.DONE, done.text
            assert {trial.state for trial in state.trials} == {TrialState.MEASURED}
            assert state.trials[2].run_id != killed_run
            assert len({trial.run_id for trial in state.trials}) == 6
            rounds = [plan.order[place : place + 2] for place in (0, 2, 4)]
            assert all(sorted(each) == [0, 1] for each in rounds)
            verdict = await fleet.compare_benches(f"{plan.series_id}:{SLOW}", f"{plan.series_id}:{QUICKER}")
            assert verdict.answer is Answer.FASTER, verdict.sentence
            assert verdict.ratio == pytest.approx(1 / 0.62, rel=0.1)
            assert [change.name for change in verdict.changes] == ["--cuda-graph-backend-decode"]
            assert (verdict.restarts_a, verdict.restarts_b, verdict.confounded) == (3, 3, False)
            now = fleet.server(SERVER)
            assert now.status is ServerStatus.READY
            assert now.run is not None
            assert now.run.profile == QUICKER
            assert QUICKER in (state.left or "")


async def test_a_matrix_with_a_hang_and_a_crash_gives_the_right_table_and_the_server_as_found(tmp_path: Path) -> None:
    async with demo_of(tmp_path / "demo", fault="nccl_tree") as demo, k2_on(demo.root) as fleet:
        found = await started(fleet)
        before = fleet.server(SERVER).run
        assert before is not None
        plan = replace(fleet.plan_matrix("nccl"), bench=QUICK)
        labels = [arm.label for arm in plan.arms]
        hangs, crashes = "NCCL_PROTO=LL NCCL_ALGO=Tree", "NCCL_PROTO=LL128 NCCL_ALGO=Tree"
        assert {hangs, crashes} < set(labels)
        assert len(labels) == 4
        steps: list[SeriesEvent] = []
        cut = False
        async for step in fleet.run_series(plan, confirm=NODE):
            steps.append(step)
            if not cut and step.step is not None and step.step.type == "started":
                cut = demo.fleet.cut(NODE) > 0  # a lost link in the first launch is waited for
        assert cut
        done, state = steps[-1], steps[-1].state
        assert (done.exit_code, state.stage) == (ExitCode.DONE, SeriesStage.DONE), done.text
        outcome: dict[str, list[str]] = {label: [] for label in labels}
        for trial in state.trials:
            outcome[labels[trial.arm]].append(trial.state.value)
        assert outcome.pop(hangs) == ["hung", "skipped"]
        assert outcome.pop(crashes) == ["failed", "skipped"]
        assert list(outcome.values()) == [["measured", "measured"]] * 2
        whys = {labels[trial.arm]: trial.why or "" for trial in state.trials if trial.state.value in ("hung", "failed")}
        assert Path(whys[hangs].rpartition("evidence: ")[2]).is_file()
        assert "it stood at distributed" in whys[hangs]
        assert "DistBackendError: NCCL error" in whys[crashes]
        rows = ranked(state, await fleet.benches(SERVER)).rows
        assert {row.label for row in rows[:2]} == {"NCCL_PROTO=LL NCCL_ALGO=Ring", "NCCL_PROTO=LL128 NCCL_ALGO=Ring"}
        assert all(row.n == 2 for row in rows[:2])
        assert all(row.place is None for row in rows[2:])
        now = fleet.server(SERVER)
        assert now.status is ServerStatus.READY
        assert now.run is not None
        assert (now.run.argv, now.run.env, now.run.run_id != found) == (before.argv, before.env, True)
        assert f"what run {found} was started with" in done.text

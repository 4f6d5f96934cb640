"""A series makes its restarts in turn, keeps where it is, and leaves the server as it was asked to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.benching.matrix import arm_orders
from k2tui.core.benching.ranking import ranked
from k2tui.core.benching.series import SeriesStage as Stage
from k2tui.core.benching.series import TrialState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import LaunchKind
from k2tui.core.preflight import Preflight, PreflightItem, Weight
from k2tui.core.settings import MatrixSettings, ProfileSettings
from k2tui.services.benching import trials
from k2tui.services.benching.owners import lives, me
from tests.services.benching.series_stage import SeriesStage, all_of, script_of, staged, until_event
from tests.services.verb_stage import COMMAND, ENGINE, NAME, NODE, Workplace
from tests.waiting import until


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    made = Workplace(tmp_path)
    yield made
    await made.clear()


def states(stage_state: object) -> list[TrialState]:
    return [trial.state for trial in stage_state.trials]  # type: ignore[attr-defined]  # a SeriesState


async def test_both_profiles_are_restarted_and_measured_in_turn_and_the_server_is_as_found(place: Workplace) -> None:
    async with staged(place) as stage:
        before = stage.k2.view.run
        assert before is not None
        plan = stage.ab(restarts=2)
        assert plan.order == arm_orders(2, 2, plan.seed)
        steps = await all_of(stage.serieses.run(plan, confirm=None))
        done, state = steps[-1], await stage.state()
        assert (done.type, done.exit_code, state.stage, state.owner) == ("done", ExitCode.DONE, Stage.DONE, None)
        assert done.state == state
        tags = [tag for tag, _ in stage.measures.asked]
        assert sorted(tags[:2]) == sorted(tags[2:]) == ["fast", "slow"]
        assert tags == [plan.arms[arm].label for arm in plan.order]
        assert [run for _, run in stage.measures.asked] == [trial.run_id for trial in state.trials]
        assert len({trial.run_id for trial in state.trials}) == 4
        results = await stage.store.benches(NAME)
        assert {result.bench_id for result in results} == {trial.bench_id for trial in state.trials}
        assert {result.series_id for result in results} == {plan.series_id}
        ranking = ranked(state, results)
        assert ranking.best == 1
        assert [row.label for row in ranking.rows] == ["fast", "slow"]
        now = stage.k2.view.run
        assert now is not None
        assert (stage.tag, now.argv, now.run_id != before.run_id) == ("old", before.argv, True)
        assert now.run_id in (state.left or "")
        runs = {run.run_id: run for run in await stage.k2.runs()}
        assert {runs[str(trial.run_id)].why for trial in state.trials} == {"ab"}
        lines = [(line[1], line[4]) for line in stage.k2.audit.lines if line[1] == "series"]
        assert lines == [("series", "began"), ("series", "done: done")]


async def test_left_on_the_best_it_is_not_restarted_again_where_the_best_came_last(place: Workplace) -> None:
    async with staged(place) as stage:
        plan = replace(stage.ab(restarts=1, leave="best"), order=(0, 1))
        steps = await all_of(stage.serieses.run(plan, confirm=None))
        state = await stage.state()
        assert (steps[-1].exit_code, stage.tag) == (ExitCode.DONE, "fast")
        assert [step.type for step in steps].count("leaving") == 0
        assert state.trials[1].run_id is not None
        assert state.trials[1].run_id in (state.left or "")


async def test_left_on_the_best_it_is_put_back_on_it_where_another_came_last(place: Workplace) -> None:
    async with staged(place) as stage:
        plan = replace(stage.ab(restarts=1, leave="best"), order=(1, 0))
        await all_of(stage.serieses.run(plan, confirm=None))
        assert stage.tag == "fast"


async def test_where_nothing_ran_nothing_is_left_running(place: Workplace) -> None:
    async with staged(place, up=False) as stage:
        plan = stage.ab(restarts=1)
        assert plan.found_run is None
        steps = await all_of(stage.serieses.run(plan, confirm=None))
        assert (steps[-1].exit_code, stage.tag) == (ExitCode.DONE, None)
        assert "is stopped, as it was found" in steps[-1].text


async def test_what_hangs_is_kept_as_evidence_and_skipped_and_what_crashes_too(place: Workplace) -> None:
    async with staged(place) as stage:
        plan = replace(stage.ab("mute", "bad", "fast", restarts=2, limit_s=1.5), order=(0, 1, 2, 0, 1, 2))
        steps = await all_of(stage.serieses.run(plan, confirm=None))
        state = await stage.state()
        assert [trial.state.value for trial in state.trials] == [
            *("hung", "failed", "measured"),
            *("skipped", "skipped", "measured"),
        ]
        hung, crashed = state.trials[0], state.trials[1]
        evidence = Path((hung.why or "").rpartition("evidence: ")[2])
        assert evidence.is_file()
        assert "not ready 1.5 s after its start" in (hung.why or "")
        assert "invalid choice: 'bad'" in (crashed.why or "")
        assert crashed.run_id is not None
        ranking = ranked(state)
        assert ranking.rows[0].label == "fast"
        assert "hung: mute; failed: bad" in ranking.sentence
        assert (steps[-1].exit_code, stage.tag) == (ExitCode.DONE, "old")
        assert [run.alive for run in await stage.k2.runs()].count(True) == 1


async def test_what_the_preflight_refuses_is_a_failed_configuration(place: Workplace) -> None:
    place.found = Preflight((PreflightItem("flags", Weight.BLOCK, "--nonsense is unknown"),))
    async with staged(place, up=False) as stage:
        steps = await all_of(stage.serieses.run(stage.ab(restarts=2), confirm=None))
        state = await stage.state()
        assert states(state) == [TrialState.FAILED] * 2 + [TrialState.SKIPPED] * 2
        assert "--nonsense is unknown" in (state.trials[0].why or "")
        assert (steps[-1].exit_code, state.stage) == (ExitCode.BAD, Stage.DONE)


async def test_a_red_gate_is_told_and_does_not_count(place: Workplace) -> None:
    async with staged(place) as stage:
        stage.measures.red.add("fast")
        await all_of(stage.serieses.run(stage.ab(restarts=1), confirm=None))
        state = await stage.state()
        fast = next(trial for trial in state.trials if state.plan.arms[trial.arm].label == "fast")
        assert (fast.state, fast.valid, fast.why) == (TrialState.MEASURED, False, "G2: another client was there")
        assert ranked(state).best == 0


async def test_what_could_not_be_measured_is_failed_with_the_reason(place: Workplace) -> None:
    async with staged(place) as stage:
        stage.measures.errors.append("the server is gone")
        await all_of(stage.serieses.run(stage.ab(restarts=1), confirm=None))
        state = await stage.state()
        assert [trial.state.value for trial in state.trials] == ["failed", "measured"]
        assert "the server is gone" in (state.trials[0].why or "")


async def test_a_matrix_is_planned_from_the_config_and_says_so_in_its_runs(place: Workplace) -> None:
    matrix = MatrixSettings("tags", NAME, profile="plain", flags={"tag": ("slow", "fast")}, restarts=1)
    key = LaunchKey(NODE, "toy", "sglang", "c")
    past = [PastLaunch(str(ready), NAME, key, 0.0, LaunchKind.READY, ready_s=ready) for ready in (240.0, 260.0, 250.0)]
    async with staged(place, matrices={"tags": matrix}, past=past) as stage:
        plan = stage.serieses.plan_matrix("tags")
        assert [arm.label for arm in plan.arms] == ["--tag slow", "--tag fast"]
        assert plan.launch_s == 250.0
        await all_of(stage.serieses.run(plan, confirm=None))
        whys = [run.why for run in await stage.k2.runs()]
        assert whys.count("matrix") == 3
        with pytest.raises(K2Error, match="no matrix 'other' in the config"):
            stage.serieses.plan_matrix("other")


async def test_a_server_that_cant_be_put_back_is_told_with_what_to_do(place: Workplace) -> None:
    path = script_of(place.directory, "found.py")
    place.use(COMMAND.replace(str(ENGINE), path))
    place.settings = replace(place.settings, profiles={**place.settings.profiles, **_own_commands()})
    async with staged(place) as stage:
        steps = stage.serieses.run(stage.ab(restarts=1), confirm=None)
        await until_event(steps, "measured")
        Path(path).unlink()
        done = (await all_of(steps))[-1]
        state = await stage.state()
        assert (done.exit_code, state.stage) == (ExitCode.BAD, Stage.FAILED)
        assert f"k2tui bench resume {state.plan.series_id} --end tries it again" in done.text
        script_of(place.directory, "found.py")
        again = await all_of(stage.serieses.go_on(state.plan.series_id, confirm=None))
        assert (again[-1].exit_code, stage.tag) == (ExitCode.DONE, "old")
        assert len(stage.measures.asked) == 2


def _own_commands() -> dict[str, ProfileSettings]:
    """The profiles of an A/B that share no file with what was found."""
    tags = ("slow", "fast")
    return {tag: ProfileSettings(tag, cmd=COMMAND.replace("--tag old", f"--tag {tag}")) for tag in tags}


async def test_a_busy_server_needs_the_nodes_name_before_anything_is_done(place: Workplace) -> None:
    place.use(f"RUNNING=3 {COMMAND}")
    async with staged(place) as stage:
        with pytest.raises(K2Error) as refused:
            await all_of(stage.serieses.run(stage.ab(restarts=1), confirm=None))
        assert (refused.value.code, refused.value.exit_code) == ("confirm_needed", ExitCode.USAGE)
        assert await stage.store.series() == ()
        steps = await all_of(stage.serieses.run(stage.ab(restarts=1), confirm=NODE))
        assert (steps[-1].exit_code, stage.tag) == (ExitCode.DONE, "old")


async def test_one_that_was_not_confirmed_waits_for_its_operator_where_others_use_the_server(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "IDLE_PATIENCE_S", 0.0)
    async with staged(place) as stage:
        plan = replace(stage.ab("busy", "fast", restarts=1), order=(0, 1))
        done = (await all_of(stage.serieses.run(plan, confirm=None)))[-1]
        state = await stage.state()
        assert (done.exit_code, state.stage, state.owner) == (ExitCode.USAGE, Stage.RUNNING, None)
        assert "needs a confirmation: 2 requests are running" in done.text
        assert f"k2tui bench resume {plan.series_id} --continue" in done.text
        assert stage.tag == "busy"
        steps = await all_of(stage.serieses.go_on(plan.series_id, confirm=NODE))
        assert (steps[-1].exit_code, stage.tag) == (ExitCode.DONE, "old")
        assert [tag for tag, _ in stage.measures.asked] == ["busy", "fast"]


async def test_where_the_node_is_lost_while_it_is_measured_it_is_measured_again(place: Workplace) -> None:
    async with staged(place) as stage:
        stage.measures.lost = 1
        plan = replace(stage.ab(restarts=1), order=(0, 1))
        steps = await all_of(stage.serieses.run(plan, confirm=None))
        assert [tag for tag, _ in stage.measures.asked] == ["slow", "slow", "fast"]
        assert len({run for _, run in stage.measures.asked}) == 2
        assert [step.text for step in steps if "measured again once the node is back" in step.text]
        assert states(await stage.state()) == [TrialState.MEASURED] * 2


async def test_a_read_only_k2tui_makes_none(place: Workplace) -> None:
    async with staged(place, up=False, read_only=True) as stage:
        with pytest.raises(K2Error) as refused:
            await all_of(stage.serieses.run(stage.ab(), confirm=None))
        assert refused.value.code == "read_only"


@pytest.mark.parametrize(
    ("profiles", "restarts", "leave"),
    [(("fast",), 3, "best"), (("fast", "fast"), 3, "best"), (("fast", "slow"), 0, "best"), (("fast", "slow"), 1, "x")],
)
async def test_an_ab_that_compares_nothing_is_refused(
    place: Workplace, profiles: tuple[str, ...], restarts: int, leave: str
) -> None:
    async with staged(place, up=False) as stage:
        with pytest.raises(K2Error) as refused:
            stage.serieses.plan_ab(NAME, profiles, restarts=restarts, leave=leave)
        assert refused.value.exit_code is ExitCode.USAGE
        with pytest.raises(K2Error, match="no profile nowhere"):
            stage.serieses.plan_ab(NAME, ("fast", "nowhere"), restarts=1, leave="best")


async def closed_at(stage: SeriesStage, kind: str, **data: object) -> str:
    """A series that was left there; its id."""
    plan = stage.ab(restarts=2)
    steps = stage.serieses.run(plan, confirm=None)
    await until_event(steps, kind, **data)
    await steps.aclose()  # type: ignore[attr-defined]  # it is a generator
    return plan.series_id


async def test_one_that_was_left_in_a_launch_is_gone_on_with_and_nothing_is_measured_twice(place: Workplace) -> None:
    async with staged(place) as stage:
        series_id = await closed_at(stage, "trial", trial=3)
        state = await stage.state()
        assert (state.stage, state.owner) == (Stage.RUNNING, None)
        assert states(state)[:3] == [TrialState.MEASURED, TrialState.MEASURED, TrialState.LAUNCHING]
        with pytest.raises(K2Error) as refused:
            await all_of(stage.serieses.run(stage.ab(), confirm=None))
        assert refused.value.code == "series_open"
    async with staged(place) as stage:
        steps = await all_of(stage.serieses.go_on(series_id[-4:], confirm=None))
        assert (steps[-1].exit_code, stage.tag) == (ExitCode.DONE, "old")
        assert states(await stage.state()) == [TrialState.MEASURED] * 4
        assert len(stage.measures.asked) == 2
        assert len(await stage.store.benches(NAME)) == 4
        with pytest.raises(K2Error) as over:
            await all_of(stage.serieses.go_on(series_id, confirm=None))
        assert over.value.code == "series_over"


async def test_what_was_measured_and_not_written_down_is_not_measured_again(place: Workplace) -> None:
    async with staged(place) as stage:
        series_id = await closed_at(stage, "bench", trial=2, step="result")
        assert states(await stage.state())[:2] == [TrialState.MEASURED, TrialState.MEASURING]
        await all_of(stage.serieses.go_on(series_id, confirm=None))
        state = await stage.state()
        assert states(state) == [TrialState.MEASURED] * 4
        assert len(stage.measures.asked) == 4
        assert len({trial.bench_id for trial in state.trials}) == 4


async def test_one_that_is_ended_makes_no_more_and_leaves_the_server_as_found(place: Workplace) -> None:
    async with staged(place) as stage:
        series_id = await closed_at(stage, "trial", trial=2)
        steps = await all_of(stage.serieses.end(series_id, confirm=None))
        state = await stage.state()
        assert (steps[-1].exit_code, state.stage, stage.tag) == (ExitCode.DONE, Stage.STOPPED, "old")
        assert states(state) == [TrialState.MEASURED] + [TrialState.SKIPPED] * 3
        assert len(stage.measures.asked) == 1


async def test_of_one_that_is_being_made_another_k2tui_keeps_its_hands_off(place: Workplace) -> None:
    async with staged(place) as stage:
        series_id = await closed_at(stage, "trial", trial=1)
        process = await asyncio.create_subprocess_exec("sleep", "600")
        try:
            owner = f"{me().rsplit(' ', 2)[0]} {process.pid} {_ticks(process.pid)}"
            assert lives(owner) is True
            await stage.store.keep_series(replace(await stage.state(), owner=owner))
            for verb in (stage.serieses.go_on, stage.serieses.end):
                with pytest.raises(K2Error) as refused:
                    await all_of(verb(series_id, confirm=None))
                assert refused.value.code == "series_busy"
            with pytest.raises(K2Error) as other:
                await all_of(stage.serieses.run(stage.ab(), confirm=None))
            assert other.value.code == "series_busy"
        finally:
            process.kill()
            await process.wait()
        await until(lambda: lives(owner) is False)
        steps = await all_of(stage.serieses.end(series_id, confirm=None))
        assert steps[-1].exit_code is ExitCode.DONE


def _ticks(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(") ")[2].split()[19]


def test_a_process_is_known_by_host_pid_and_start() -> None:
    host, pid, start = me().rsplit(" ", 2)
    assert lives(me()) is True
    assert lives(f"{host} {pid} {int(start) + 1}") is False
    assert lives(f"elsewhere {pid} {start}") is None
    assert lives("nonsense") is False

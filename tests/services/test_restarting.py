"""A restart, and what follows a failure, with real scripts on a real /proc and a small server that answers."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.preflight import Preflight, PreflightItem, Weight
from k2tui.core.verbs import Manner, OnFailure, ProfileChange, VerbEvent
from k2tui.core.verdicts import Outcome
from k2tui.services import stopping
from k2tui.services.restarting import WayBack, ended
from k2tui.services.verb_tools import Teller
from tests.fakes.clock import FakeClock
from tests.remote.node import is_alive
from tests.services.verb_stage import ENGINE, K2, NAME, NODE, Workplace, kinds, played, tag_of
from tests.waiting import until

NEW, BAD = ProfileChange(set={"tag": "new"}), ProfileChange(set={"tag": "bad"})
BACK = Manner(on_failure=OnFailure.ROLLBACK)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    made = Workplace(tmp_path)
    yield made
    await made.clear()


async def started(k2: K2) -> str:
    """A server that runs and was verified; the id of its run."""
    steps = await played(k2.verbs.start(k2.plan(), confirm=None, verify=True))
    assert steps[-1].exit_code is ExitCode.DONE, steps[-1].text
    return (await k2.runs())[0].run_id


def restarted(k2: K2, change: ProfileChange, manner: Manner | None = None) -> AsyncIterator[VerbEvent]:
    return k2.verbs.restart(k2.plan(change), confirm=None, verify=True, manner=manner)


@contextmanager
def foreign(port: int, *flags: str) -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's server of the same model, on this port."""
    command = [sys.executable, "-S", "-E", str(ENGINE), "--port", str(port), "--model-path", "toy", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        assert b"fired up" in process.stdout.readline()
        yield process
        assert is_alive(process.pid), "what is not ours was ended"
    finally:
        process.kill()
        process.communicate()


async def test_a_restart_writes_its_run_record_first_and_its_verdict_last(place: Workplace) -> None:
    async with place.k2() as k2:
        await started(k2)
        steps = await played(restarted(k2, NEW))
        assert kinds(steps)[:5] == ["preflight", "stopping", "stopped", "seen", "started"]
        assert kinds(steps)[-4:] == ["ready", "effect", "proved", "done"]
        assert steps[-1].exit_code is ExitCode.DONE
        assert [step.elapsed_s for step in steps] == sorted(step.elapsed_s for step in steps)
        new, old = await k2.runs()
        assert (tag_of(new), new.alive, new.replaces, new.why) == ("new", True, old.run_id, "restart")
        assert new.verdict is not None
        assert new.verdict.verified
        assert [(action, result) for _, action, _, _, result in k2.audit.lines] == [
            ("start", "began"),
            ("start", "done"),
            ("restart", "began"),
            ("stop", "began"),
            ("stop", "done"),
            ("start", "began"),
            ("start", "done"),
            ("restart", "done"),
        ]


async def test_a_bad_flag_with_roll_back_ends_where_it_began_verified(place: Workplace) -> None:
    async with place.k2() as k2:
        first = await started(k2)
        steps = await played(restarted(k2, BAD, BACK))
        names = kinds(steps)
        assert names[names.index("failed") :][:4] == ["failed", "rollback", "seen", "started"]
        done = steps[-1]
        assert (done.exit_code, done.data["back_to"], done.data["is_back"]) == (ExitCode.BAD, first, True)
        assert "invalid choice: 'bad'" in done.text
        assert f"{NAME} is where it was (run {first})" in done.text
        back, bad, was = await k2.runs()
        assert [tag_of(run) for run in (back, bad, was)] == ["old", "bad", "old"]
        assert (back.alive, back.why, back.replaces) == (True, "rollback", bad.run_id)
        verdicts = [run.verdict.verified for run in (back, bad, was) if run.verdict is not None]
        assert verdicts == [True, False, True]
        assert k2.plan().back_to == back.run_id


@pytest.mark.parametrize(("on_failure", "asks"), [(OnFailure.ASK, True), (OnFailure.LEAVE, False)])
async def test_a_failure_is_left_as_it_is_and_asked_about(place: Workplace, on_failure: OnFailure, asks: bool) -> None:
    async with place.k2() as k2:
        first = await started(k2)
        steps = await played(restarted(k2, BAD, Manner(on_failure=on_failure)))
        assert "rollback" not in kinds(steps)
        assert steps[-1].exit_code is ExitCode.BAD
        assert steps[-1].data == ({"back_to": first} if asks else {})
        assert [run.alive for run in await k2.runs()] == [False, False]


async def test_without_a_verified_run_there_is_no_way_back_and_that_is_said(place: Workplace) -> None:
    async with place.k2() as k2:
        await played(k2.verbs.start(k2.plan(), confirm=None, verify=False))
        steps = await played(restarted(k2, BAD, BACK))
        assert kinds(steps)[-2:] == ["rollback", "done"]
        assert "not rolled back: no run of kimi was verified yet" in steps[-1].text
        assert len(await k2.runs()) == 2


async def test_what_does_not_answer_after_its_start_is_rolled_back_with_its_evidence_kept(place: Workplace) -> None:
    place.max_s = 2.0
    async with place.k2() as k2:
        await started(k2)
        steps = await played(restarted(k2, ProfileChange(set={"hang": "true"}), BACK))
        names = kinds(steps)
        assert names[names.index("rollback") :][:4] == ["rollback", "evidence", "stopping", "stopped"]
        kept = next(step for step in steps if step.type == "evidence")
        assert Path(str(kept.data["path"])).is_file()
        assert steps[-1].data["is_back"] is True
        assert [run.alive for run in await k2.runs()] == [True, False, False]


async def test_the_evidence_of_what_gave_no_answer_is_kept_before_it_is_stopped(place: Workplace) -> None:
    place.max_s = 2.0
    async with place.k2() as k2:
        steps = await played(k2.verbs.start(k2.plan(ProfileChange(set={"hang": "true"})), confirm=None, verify=True))
        assert steps[-1].exit_code is ExitCode.BAD
        steps = await played(restarted(k2, NEW))
        assert kinds(steps)[:4] == ["preflight", "evidence", "stopping", "stopped"]
        assert steps[-1].exit_code is ExitCode.DONE


async def test_a_roll_back_that_fails_as_well_is_tried_once(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "SEE_LIMIT_S", 0.0)
    async with place.k2() as k2:
        await started(k2)
        with _on_port_after(k2, "stopped") as steps_of:
            steps = await steps_of(restarted(k2, NEW, BACK))
        assert kinds(steps).count("rollback") == 1
        assert steps[-1].exit_code is ExitCode.BAD
        assert steps[-1].data["is_back"] is False
        assert "failed as well" in steps[-1].text
        assert [run.alive for run in await k2.runs()] == [False]


async def test_a_port_that_somebody_takes_meanwhile_is_never_ready_and_can_be_gone_on_from(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopping, "SEE_LIMIT_S", 0.0)
    async with place.k2() as k2:
        await started(k2)
        with _on_port_after(k2, "stopped") as steps_of:
            steps = await steps_of(restarted(k2, NEW))
            assert "ready" not in kinds(steps)
            assert steps[-1].exit_code is ExitCode.BAD
            assert "is taken by pid" in steps[-1].text
            assert k2.view.planned is not None
        steps = await played(k2.verbs.go_on(confirm=None))
        assert steps[-1].exit_code is ExitCode.DONE
        assert tag_of((await k2.runs())[0]) == "new"


async def test_another_server_that_answers_on_its_port_proves_nothing(place: Workplace) -> None:
    """The launched one says that it is ready and listens nowhere; another one of the same model answers."""
    async with place.k2() as k2:
        with _on_port_after(k2, "started") as steps_of:
            steps = await steps_of(
                k2.verbs.start(k2.plan(ProfileChange(set={"mute": "true"})), confirm=None, verify=True)
            )
        assert steps[-1].exit_code is ExitCode.BAD
        assert "proved" not in kinds(steps)
        verdict = (await k2.runs())[0].verdict
        assert verdict is not None
        assert not verdict.verified
        assert ("identity", Outcome.NOT_PROVED) in [(effect.check, effect.outcome) for effect in verdict.effects]


class _on_port_after:
    """Somebody else's server comes up on the server's port after a step of this kind."""

    def __init__(self, k2: K2, step: str) -> None:
        self._k2, self._step = k2, step
        self._foreign = foreign(k2.watch.settings.port or 0)
        self._is_up = False

    def __enter__(self) -> _on_port_after:
        return self

    async def __call__(self, steps: AsyncIterator[VerbEvent]) -> list[VerbEvent]:
        told = []
        async for step in steps:
            told.append(step)
            if step.type == self._step and not self._is_up:
                self._is_up = True
                self._foreign.__enter__()
        return told

    def __exit__(self, *why: object) -> None:
        assert self._is_up
        self._foreign.__exit__(None, None, None)


BLOCK = PreflightItem("model", Weight.BLOCK, "no shard 17", "copy it again")
WARN = PreflightItem("disk", Weight.WARN, "2 GB left")


async def test_what_must_fail_is_refused_before_anything_is_done(place: Workplace) -> None:
    async with place.k2() as k2:
        first = await started(k2)
        place.found = Preflight((BLOCK, WARN))
        with pytest.raises(K2Error, match="no shard 17; copy it again") as refused:
            await played(restarted(k2, NEW))
        assert refused.value.code == "preflight"
        assert [run.run_id for run in await k2.keeper.scan()] == [first]
        assert k2.view.run is not None
        assert k2.view.run.alive


async def test_force_goes_on_and_tells_what_stands_in_the_way(place: Workplace) -> None:
    place.found = Preflight((BLOCK, WARN))
    async with place.k2() as k2:
        steps = await played(k2.verbs.start(k2.plan(), confirm=None, verify=True, manner=Manner(force=True)))
        assert [step.text for step in steps if step.type == "preflight"][1:] == ["no shard 17", "2 GB left"]
        assert steps[2].data == {"name": "disk", "weight": "warn", "hint": None}
        assert steps[-1].exit_code is ExitCode.DONE


async def test_a_start_takes_away_what_was_planned_before(place: Workplace) -> None:
    async with place.k2() as k2:
        plan = k2.plan(NEW)
        await k2.keeper.prepare(k2.watch.settings, plan.profile, started_by="bob@desk", why="restart", replaces=None)
        await started(k2)
        assert [tag_of(run) for run in await k2.keeper.scan()] == ["old"]


async def test_what_nothing_ran_before_is_taken_back_by_forgetting_it(place: Workplace) -> None:
    async with place.k2() as k2:
        plan = k2.plan(NEW)
        await k2.keeper.prepare(k2.watch.settings, plan.profile, started_by="bob@desk", why="start", replaces=None)
        steps = await played(k2.verbs.take_back(confirm=None))
        assert (len(steps), steps[0].exit_code, steps[0].text) == (
            1,
            ExitCode.DONE,
            "kimi is as it was: nothing ran before",
        )
        assert await k2.keeper.scan() == ()


async def test_verify_looks_at_all_again_and_writes_it_down(place: Workplace) -> None:
    async with place.k2() as k2:
        await played(k2.verbs.start(k2.plan(), confirm=None, verify=False))
        assert (await k2.runs())[0].verdict is None
        steps = await played(k2.verbs.verify())
        assert kinds(steps) == ["effect", "proved", "done"]
        verdict = (await k2.runs())[0].verdict
        assert verdict is not None
        assert verdict.verified
        await played(k2.verbs.stop(confirm_needed=None, confirm=None))
        with pytest.raises(K2Error) as refused:
            await played(k2.verbs.verify())
        assert refused.value.code == "not_running"


async def test_read_only_lets_no_verb_through(place: Workplace) -> None:
    async with place.k2() as k2:
        await started(k2)
        plan = k2.plan(NEW)
        await k2.keeper.prepare(k2.watch.settings, plan.profile, started_by="bob@desk", why="restart", replaces=None)
    async with place.k2(read_only=True) as k2:
        verbs = (
            restarted(k2, NEW),
            k2.verbs.stop(confirm_needed=None, confirm=None),
            k2.verbs.go_on(confirm=None),
            k2.verbs.take_back(confirm=None),
        )
        for verb in verbs:
            with pytest.raises(K2Error) as refused:
                await played(verb)
            assert refused.value.code == "read_only"
        assert k2.audit.lines == []
        assert set(k2.link.ran) <= {"scan", "log_size", "weights", "activity"}


async def test_read_only_verify_asks_and_writes_nothing_down(place: Workplace) -> None:
    async with place.k2() as k2:
        await played(k2.verbs.start(k2.plan(), confirm=None, verify=False))
    async with place.k2(read_only=True) as k2:
        steps = await played(k2.verbs.verify())
        assert kinds(steps) == ["effect", "proved", "done"]
        assert steps[-1].exit_code is ExitCode.DONE
        assert "not written down, because k2tui is read-only" in steps[-1].text
        assert (await k2.runs())[0].verdict is None
        assert k2.audit.lines == []
        assert "write_verdict" not in k2.link.ran


async def test_a_look_that_learns_nothing_leaves_what_was_proved_before(place: Workplace) -> None:
    """Another k2tui knows no key: the way back to a verified run is not taken away by that."""
    locked = ProfileChange(set={"api-key": "planted-secret-1"})
    async with place.k2() as k2:
        steps = await played(k2.verbs.start(k2.plan(locked), confirm=None, verify=True))
        assert steps[-1].exit_code is ExitCode.DONE, steps[-1].text
        proved = (await k2.runs())[0].verdict
    async with place.k2() as k2:
        steps = await played(k2.verbs.verify())
        assert steps[-1].exit_code is ExitCode.BAD
        assert "what was proved of it before stands" in steps[-1].text
        assert (await k2.runs())[0].verdict == proved


async def test_a_restart_that_was_taken_back_while_it_waited_stops_nothing(place: Workplace) -> None:
    busy = ProfileChange(env={"RUNNING": "2"})
    async with place.k2() as ana, place.k2() as bob:
        await played(ana.verbs.start(ana.plan(busy), confirm=None, verify=True))
        plan, manner = ana.plan(NEW), Manner(drain_s=0.1)
        steps = ana.verbs.restart(plan, confirm=NODE, verify=True, manner=manner)
        while (await anext(steps)).type != "drain":
            pass
        await until(lambda: bob.view.planned is not None)
        taken = await played(bob.verbs.take_back(confirm=NODE))
        assert taken[-1].exit_code is ExitCode.DONE
        with pytest.raises(K2Error, match="was taken back meanwhile, and nothing was stopped") as refused:
            await played(steps)
        assert (refused.value.code, "stop" in ana.link.ran) == ("overtaken", False)
        assert [(tag_of(run), run.alive) for run in await ana.runs()] == [("old", True)]


async def test_a_restart_that_somebody_else_began_while_it_waited_goes_on_with_that_run(place: Workplace) -> None:
    busy = ProfileChange(env={"RUNNING": "2"})
    async with place.k2() as ana, place.k2() as bob:
        await played(ana.verbs.start(ana.plan(busy), confirm=None, verify=True))
        steps = ana.verbs.restart(ana.plan(NEW), confirm=NODE, verify=True, manner=Manner(drain_s=0.1))
        while (await anext(steps)).type != "drain":
            pass
        await until(lambda: bob.view.planned is not None)
        his = await played(bob.verbs.go_on(confirm=NODE))
        assert his[-1].exit_code is ExitCode.DONE, his[-1].text
        mine = await played(steps)
        assert mine[-1].exit_code is ExitCode.DONE, mine[-1].text
        assert "stop" not in ana.link.ran
        assert [(tag_of(run), run.alive) for run in await ana.runs()] == [("new", True), ("old", False)]


@pytest.mark.parametrize("at", ["stopping", "stopped", "seen"])
async def test_a_node_that_goes_out_of_reach_in_the_middle_says_how_to_go_on(
    place: Workplace, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def lost(*_: object, **__: object) -> None:
        raise K2Error("gpu-a is not connected", code="lost", exit_code=ExitCode.UNREACHABLE)

    async with place.k2() as k2:
        await started(k2)
        steps = restarted(k2, NEW, BACK)
        while (await anext(steps)).type != at:
            pass
        with monkeypatch.context() as away:
            away.setattr(k2.link, "run", lost)
            with pytest.raises(K2Error, match="gpu-a is not connected; k2tui resume kimi --continue ends") as error:
                await played(steps)
        assert (error.value.code, error.value.exit_code) == ("lost", ExitCode.UNREACHABLE)
        steps_after = await played(k2.verbs.go_on(confirm=None))
        assert steps_after[-1].exit_code is ExitCode.DONE, steps_after[-1].text
        assert [(tag_of(run), run.alive) for run in await k2.runs()] == [("new", True), ("old", False)]


async def test_a_roll_back_leaves_alone_what_somebody_else_started_meanwhile(place: Workplace) -> None:
    async with place.k2() as ana, place.k2() as bob:
        await started(ana)
        await until(lambda: bob.view.run is not None and bob.view.run.verdict is not None)
        steps = []
        async for step in restarted(ana, NEW, BACK):
            steps.append(step)
            if step.type == "seen":
                his = await played(
                    bob.verbs.start(bob.plan(ProfileChange(set={"tag": "bob"})), confirm=None, verify=True)
                )
                assert his[-1].exit_code is ExitCode.DONE, his[-1].text
        assert kinds(steps)[-3:] == ["failed", "rollback", "done"]
        assert (steps[-1].exit_code, steps[-1].data["back_to"]) == (ExitCode.BAD, None)
        assert "is there now, and was left alone" in steps[-1].text
        assert [(tag_of(run), run.alive) for run in await ana.runs()] == [("bob", True), ("old", False)]


async def test_a_list_of_runs_that_is_older_than_a_start_does_not_take_it_away(place: Workplace) -> None:
    async with place.k2() as k2:
        await started(k2)
        await played(k2.verbs.stop(confirm_needed=None, confirm=None))
        before = await k2.keeper.scan()
        await started(k2)
        newest = k2.view.run
        assert newest is not None
        k2.watch.take_runs(before, 0.0)
        assert k2.view.run == newest
        await until(lambda: k2.view.run is not None and k2.view.run.alive)


@pytest.mark.parametrize(("is_good", "told"), [(None, ["done"]), (False, ["rollback", "done"])])
async def test_what_can_not_be_told_is_not_verified_and_no_reason_to_go_back(
    is_good: bool | None, told: list[str]
) -> None:
    launch: Any = SimpleNamespace(is_good=is_good, text="waited in the queue")
    nowhere = WayBack(None, "no run was verified")
    manner = Manner(on_failure=OnFailure.ROLLBACK)
    tools: Any = None  # a way back that there is not needs none
    steps = [step async for step in ended(tools, Teller("kimi", FakeClock()), launch, manner, nowhere)]
    assert [step.type for step in steps] == told
    assert steps[-1].exit_code is ExitCode.BAD

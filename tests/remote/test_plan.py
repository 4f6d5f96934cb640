"""A run is written down before it is started, and begun later, once, by whoever finds it."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import LaunchProfile, ServerSettings
from k2tui.core.verdicts import Effect, Outcome, RunVerdict
from k2tui.services.runs import RunKeeper, RunScripts
from tests.remote.node import EVERY_SHELL, Node, is_alive, quick, session
from tests.waiting import until

TOKEN = "hf_abcdefGHIJKLmnop12345678"
VERIFIED = RunVerdict(True, 1000.0, "answers", (Effect("completion", Outcome.PROVED, "a completion"),))


async def plan(node: Node, server: ServerSettings | None = None, profile: LaunchProfile | None = None) -> Run:
    profile = profile or node.profile(env={"HF_TOKEN": TOKEN}, secrets=frozenset({TOKEN}))
    return await node.keeper.prepare(
        server or node.server(), profile, started_by="ada@desk", why="restart", replaces="20260101T000000Z-abcd"
    )


def another(node: Node) -> RunKeeper:
    """Another k2tui, which knows no server of this node."""
    return RunKeeper(node.link, node.settings, RunScripts(quick))


async def refused(begin: RunKeeper, run: Run) -> K2Error:
    with pytest.raises(K2Error) as error:
        await begin.begin(run)
    return error.value


@EVERY_SHELL
async def test_a_planned_run_is_told_and_nothing_of_it_runs_or_is_locked(node: Node) -> None:
    server = node.server(gpus=(0, 1))
    run = await plan(node, server, node.profile(cwd=str(node.directory), setup="true"))
    assert await node.keeper.scan() == (run,)
    assert (run.is_planned, run.alive, run.child, run.exit_code) == (True, False, None, None)
    assert (run.why, run.replaces, run.started_by) == ("restart", "20260101T000000Z-abcd", "ada@desk")
    assert (run.cwd, run.setup, run.gpus, run.engine) == (str(node.directory), "true", (0, 1), "sglang")
    assert run.started_at is not None
    assert node.locks() == []
    assert not node.stubborn[-1].exists()


async def test_the_secrets_of_a_planned_run_are_in_one_file_that_only_its_user_reads(node: Node) -> None:
    run = await plan(node)
    holding = [name for name, data in node.files().items() if TOKEN.encode() in data]
    assert holding == [str(Path(run.directory, "env.sh").relative_to(node.home))]
    assert {stat.S_IMODE(path.stat().st_mode) for path in Path(run.directory).iterdir()} == {0o600}


@EVERY_SHELL
async def test_another_k2tui_begins_it_with_all_that_was_planned(node: Node) -> None:
    old = os.umask(0o027)
    try:
        planned = await plan(node, node.server(gpus=(0, 1)))
    finally:
        os.umask(old)
    (found,) = await another(node).scan()
    run = await another(node).begin(found)
    report = await node.report()
    assert (run.run_id, run.is_planned, run.alive, run.why) == (planned.run_id, False, True, "restart")
    assert (report["env"]["HF_TOKEN"], report["umask"]) == (TOKEN, 0o027)
    assert len(node.locks()) == 3
    assert {path.name for path in Path(run.directory).iterdir()} == {
        "spec.json",
        "argv",
        "log",
        "state.json",
        "sup.log",
        "sup.sh",
    }
    assert not [name for name, data in node.files().items() if TOKEN.encode() in data]


@EVERY_SHELL
async def test_a_run_that_was_begun_is_told_as_it_stands(node: Node) -> None:
    planned = await plan(node)
    run = await node.keeper.begin(planned)
    await node.report()
    assert await node.keeper.begin(planned) == run
    node.end("7")
    ended = await node.ended(run)
    assert await node.keeper.begin(planned) == ended


@EVERY_SHELL
async def test_of_several_who_begin_it_at_once_one_does_and_all_see_it_run(node: Node) -> None:
    planned = await plan(node)
    runs = await asyncio.gather(*(another(node).begin(planned) for _ in range(5)))
    assert {run.run_id for run in runs} == {planned.run_id}
    (child,) = {run.child for run in runs}
    assert child is not None
    assert is_alive(child.pid)
    assert (await node.report())["pids"]["main"] == child.pid
    await until(lambda: not Path(planned.directory, "claim.lock").exists())


@EVERY_SHELL
async def test_a_plan_whose_port_is_taken_stays_and_is_begun_when_it_is_free(node: Node) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        planned = await plan(node, node.server(port=door.getsockname()[1]))
        error = await refused(node.keeper, planned)
    assert error.code == "port_taken"
    assert node.locks() == []
    assert await node.keeper.scan() == (planned,)
    assert (await node.keeper.begin(planned)).alive


async def test_a_plan_behind_a_running_server_is_told_who_that_is(node: Node) -> None:
    server = node.server(gpus=(0,))
    run = await node.start(server)
    planned = await plan(node, server)
    error = await refused(another(node), planned)
    assert error.code == "already_running"
    assert run.run_id in error.message
    behind = await plan(node, node.server(gpus=(0,)))
    assert (await refused(another(node), behind)).code == "gpus_taken"
    await node.keeper.stop(run)
    assert (await another(node).begin(planned)).alive


@pytest.mark.parametrize(
    ("profile", "code"),
    [
        (LaunchProfile("p", ("sh",), {}, cwd="/no/such/directory"), "no_cwd"),
        (LaunchProfile("p", ("/no/such/program",), {}), "no_program"),
    ],
)
async def test_a_plan_that_can_never_run_is_gone_once_that_is_known(
    node: Node, profile: LaunchProfile, code: str
) -> None:
    planned = await plan(node, None, profile)
    assert (await refused(another(node), planned)).code == code
    assert await node.keeper.scan() == ()
    assert node.locks() == []


async def test_a_plan_whose_setup_line_fails_is_kept_with_its_end(node: Node) -> None:
    planned = await plan(node, None, node.profile(setup="echo no such module; exit 3"))
    error = await refused(another(node), planned)
    assert "no such module" in error.message
    assert "exit 3" in (error.hint or "")
    (run,) = await node.keeper.scan()
    assert (run.is_planned, run.alive, run.exit_code) == (False, False, 3)


@EVERY_SHELL
async def test_a_discarded_plan_leaves_nothing_and_can_not_be_begun(node: Node) -> None:
    planned = await plan(node)
    await another(node).discard(planned)
    await another(node).discard(planned)
    assert await node.keeper.scan() == ()
    assert not Path(planned.directory).exists()
    assert not [name for name, data in node.files().items() if TOKEN.encode() in data]
    error = await refused(node.keeper, planned)
    assert (error.code, error.exit_code) == ("no_such_run", ExitCode.MISSING)


async def test_what_was_begun_is_not_discarded(node: Node) -> None:
    planned = await plan(node)
    run = await node.keeper.begin(planned)
    with pytest.raises(K2Error) as error:
        await node.keeper.discard(planned)
    assert error.value.code == "not_planned"
    assert await node.keeper.scan() == (run,)


@EVERY_SHELL
async def test_of_one_who_begins_and_one_who_discards_at_once_one_wins(node: Node) -> None:
    for _ in range(4):
        planned = await plan(node)
        begun, discarded = await asyncio.gather(
            node.keeper.begin(planned), another(node).discard(planned), return_exceptions=True
        )
        if isinstance(begun, Run):
            assert isinstance(discarded, K2Error)
            await node.keeper.stop(begun)
        else:
            assert isinstance(begun, K2Error)
            assert begun.code == "no_such_run"
            assert discarded is None
            assert not Path(planned.directory).exists()
    assert not [name for name, data in node.files().items() if TOKEN.encode() in data]


@EVERY_SHELL
async def test_a_plan_that_nobody_began_for_a_day_is_forgotten_with_its_secrets(node: Node) -> None:
    live = await node.start()
    fresh, old, torn = await plan(node), await plan(node, node.server("qwen")), await plan(node)
    Path(torn.directory, "orders").unlink()
    for run, name in ((old, "20260101T000000Z-aaaa"), (torn, "20260101T000000Z-bbbb")):
        Path(run.directory).rename(Path(run.directory).with_name(name))
    newest = await plan(node)
    assert {run.run_id for run in await node.keeper.scan()} == {live.run_id, fresh.run_id, newest.run_id}
    assert sum(TOKEN.encode() in data for data in node.files().values()) == 2
    assert (await node.seen(live)).alive


async def test_a_plan_is_not_taken_for_an_old_run_when_another_starts(node: Node) -> None:
    server = node.server()
    planned = await plan(node, server)
    await node.start(server)
    assert planned in await node.keeper.scan()


@EVERY_SHELL
async def test_a_verdict_is_kept_with_the_run_and_told_by_everyones_scan(node: Node) -> None:
    run = await node.start()
    assert run.verdict is None
    await node.keeper.write_verdict(run, VERIFIED)
    assert (await another(node).scan())[0].verdict == VERIFIED
    Path(run.directory, "verdict").write_bytes(b"\xff{]")
    assert (await node.seen(run)).verdict is None


async def test_a_verdict_on_a_run_that_is_gone_is_told(node: Node) -> None:
    planned = await plan(node)
    await node.keeper.discard(planned)
    with pytest.raises(K2Error) as error:
        await node.keeper.write_verdict(planned, VERIFIED)
    assert error.value.code == "no_such_run"


async def test_the_newest_verified_run_is_kept_however_many_follow(node: Node) -> None:
    run = await node.start()
    node.end("0")
    run = await node.ended(run)
    state = Path(run.directory, "state.json").read_text()
    for minute in range(30):
        directory = Path(run.directory).with_name(f"20020101T00{minute:02}00Z-bbbb")
        directory.mkdir()
        (directory / "state.json").write_text(state)
    first, second = (Path(run.directory).with_name(f"20020101T00{minute}00Z-bbbb") for minute in ("03", "05"))
    for directory in (first, second):
        (directory / "verdict").write_text('{"verified":true,"at":1,"text":"answers"}\n')
    await node.start()
    await until(lambda: not first.exists())
    await until(lambda: len(list(first.parent.iterdir())) == 21)
    assert second.exists()


async def test_nothing_of_a_begin_stays_in_the_servers_session(node: Node) -> None:
    run = await node.keeper.begin(await plan(node))
    await node.report()
    assert run.session_id is not None
    assert run.child is not None
    leader, child = run.session_id, run.child.pid
    # The supervisor looks for old runs to throw away meanwhile, with helpers that come to their end.
    await until(lambda: set(session(leader)) == {leader, child})

"""A stop signals only what it identified, and returns when nothing of the session is left."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.runs import Run
from k2tui.services.doors import Script
from k2tui.services.runs import RunKeeper, RunScripts
from tests.remote.node import EVERY_SHELL, Node, is_alive, quick, session
from tests.waiting import until


def in_its_own_session(*command: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, start_new_session=True)


def append(path: str, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process that is nobody's server, leader of its own session."""
    process = in_its_own_session("sleep", "600")
    yield process.pid
    process.kill()
    process.wait()


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]


def change_state(run: Run, **fields: object) -> None:
    path = Path(run.directory, "state.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}, separators=(",", ":")))


async def test_a_polite_server_is_asked_and_nobody_is_killed(node: Node) -> None:
    run = await node.start()
    report = await node.keeper.stop(run)
    assert run.child is not None
    assert (report.was_running, report.asked, report.killed) == (True, (run.child.pid,), ())
    assert report.exit_code == 143
    ended = await node.seen(run)
    assert (ended.alive, ended.exit_code, ended.stop_asked) == (False, 143, True)
    assert node.locks() == []


async def test_only_the_server_itself_is_asked_to_end_not_its_workers(node: Node) -> None:
    run = await node.start(profile=node.profile("telling"))
    report = await node.keeper.stop(run)
    assert run.child is not None
    assert (report.asked, report.exit_code) == ((run.child.pid,), 0)
    assert b"worker was told" not in Path(run.log_path).read_bytes()


@EVERY_SHELL
async def test_of_a_stubborn_server_nothing_is_left(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf,twice,own group"))
    pids = (await node.report())["pids"]
    report = await node.keeper.stop(run, grace_s=1)
    assert not [name for name, pid in pids.items() if is_alive(pid)]
    assert run.session_id is not None
    assert session(run.session_id) == []
    assert report.exit_code == 143
    assert (await node.seen(run)).alive is False
    assert node.locks() == []


@EVERY_SHELL
async def test_what_does_not_end_within_the_grace_is_killed_and_named(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf"))
    assert run.child is not None
    os.kill(run.child.pid, 19)
    pids = (await node.report())["pids"]
    report = await node.keeper.stop(run, grace_s=1)
    assert {found.pid for found in report.killed} == set(pids.values())
    assert all("stubborn.py" in found.command for found in report.killed)
    assert report.exit_code == 137


@EVERY_SHELL
async def test_an_sglang_that_does_not_end_on_term_is_asked_to_quit_and_ends_its_whole_tree(node: Node) -> None:
    run = await node.start(profile=node.profile("quits,deaf"))
    pids = (await node.report())["pids"]
    report = await node.keeper.stop(run, grace_s=1, quit_s=60)
    assert (report.quit, report.killed, report.exit_code) == ((pids["main"],), (), 3)
    assert "asked to quit" in report.sentence
    assert b"crash dump written" in Path(run.log_path).read_bytes()
    assert not [name for name, pid in pids.items() if is_alive(pid)]


async def test_what_ignores_term_and_has_no_handler_for_quit_is_killed_without_it(node: Node) -> None:
    run = await node.start(profile=node.profile("stays"))
    report = await node.keeper.stop(run, grace_s=1, quit_s=600)
    assert (report.quit, [found.pid for found in report.killed], report.exit_code) == (
        (),
        [(await node.report())["pids"]["main"]],
        137,
    )


@pytest.mark.parametrize(("engine", "quit_s"), [("vllm", 600.0), ("sglang", 0.0)])
async def test_quit_is_for_an_sglang_that_is_given_time_for_it(node: Node, engine: str, quit_s: float) -> None:
    run = await node.start(node.server(engine=engine), node.profile("quits"))
    report = await node.keeper.stop(run, grace_s=1, quit_s=quit_s)
    assert (report.quit, len(report.killed), report.exit_code) == ((), 1, 137)


async def test_what_waits_in_the_kernel_and_can_not_be_killed_is_told_with_its_state(node: Node) -> None:
    run = await node.start(profile=node.profile("in the kernel"))
    held = (await node.report())["pids"]["in the kernel"]
    await until(lambda: state_of(held) == "D")
    unkillable = 'kill() { case $2 in KILL) ;; *) command kill "$@" ;; esac; }\n'

    def as_if(name: str) -> Script:
        return Script(name, unkillable + quick(name).text if name == "stop" else quick(name).text)

    stuck = RunKeeper(node.link, node.settings, RunScripts(as_if))
    with pytest.raises(K2Error) as error:
        await stuck.stop(run, grace_s=0)
    assert error.value.code == "still_running"
    assert f"pid {held}" in error.value.message
    assert "state D" in (error.value.hint or "")
    assert any(found.state == "D" for found in (await node.keeper.remains(run)).processes)
    await node.keeper.stop(run, grace_s=0)
    assert not is_alive(held)


async def test_a_worker_that_died_after_ready_leaves_a_server_that_can_be_stopped(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf,own group"))
    pids = (await node.report())["pids"]
    os.kill(pids["own group"], 9)
    report = await node.keeper.stop(run, grace_s=1)
    assert report.exit_code == 143
    assert not [name for name, pid in pids.items() if is_alive(pid)]


@EVERY_SHELL
async def test_a_state_with_other_start_times_signals_nobody(node: Node) -> None:
    run = await node.start()
    assert run.supervisor is not None
    assert run.child is not None
    right = Path(run.directory, "state.json").read_text()
    change_state(run, supervisor_start_ticks=1, child_start_ticks=1)
    report = await node.keeper.stop(run, grace_s=0)
    assert (report.was_running, report.asked, report.quit, report.killed) == (False, (), (), ())
    assert {found.pid for found in report.refused} == {run.supervisor.pid, run.child.pid}
    assert is_alive(run.child.pid)
    Path(run.directory, "state.json").write_text(right)


async def test_a_stop_is_written_down_before_anything_is_signalled(node: Node) -> None:
    run = await node.start()
    await node.keeper.stop(run, asked_by="ada@desk")
    assert Path(run.directory, "stop").read_text().split()[1] == "ada@desk"


@EVERY_SHELL
async def test_a_stop_that_can_not_be_written_down_is_no_crash_to_be_restarted_from(node: Node) -> None:
    """The disk is full: the supervisor reads of no stop, and is told by a signal."""
    run = await node.start(node.server(on_crash_restarts=3, on_crash_window_s=3600.0))
    Path(run.directory, "stop.tmp").mkdir()
    report = await node.keeper.stop(run, grace_s=20)
    assert (report.left, report.killed) == ((), ())
    assert (await node.ended(run)).restarts == 0
    assert "RESTART" not in Path(run.directory, "sup.log").read_text()


async def test_a_second_stop_says_that_nothing_ran(node: Node) -> None:
    run = await node.start()
    await node.keeper.stop(run)
    report = await node.keeper.stop(run)
    assert (report.was_running, report.asked, report.exit_code) == (False, (), 143)


async def test_two_stops_at_once_both_come_to_an_end(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf"))
    reports = await asyncio.gather(node.keeper.stop(run, grace_s=1), node.keeper.stop(run, grace_s=1))
    assert [report.exit_code for report in reports] == [143, 143]


@EVERY_SHELL
async def test_a_pid_that_is_somebody_elses_now_is_refused(node: Node, stranger: int) -> None:
    run = await node.start()
    node.end("0")
    run = await node.ended(run)
    Path(run.directory, "exit").unlink()
    change_state(run, supervisor_pid=stranger, child_pid=stranger, session_id=stranger)
    assert (await node.seen(run)).alive is False
    report = await node.keeper.stop(run, grace_s=0)
    assert [found.pid for found in report.refused] == [stranger]
    assert "sleep 600" in report.sentence
    assert (report.was_running, report.asked, report.killed) == (False, (), ())
    assert is_alive(stranger)


async def test_a_run_from_before_a_reboot_is_gone(node: Node) -> None:
    run = await node.start()
    change_state(run, boot_id="11111111-2222-3333-4444-555555555555")
    try:
        assert (await node.seen(run)).alive is False
        report = await node.keeper.stop(run, grace_s=0)
        assert (report.rebooted, report.was_running) == (True, False)
        assert run.child is not None
        assert is_alive(run.child.pid)
    finally:
        assert run.supervisor is not None
        change_state(run, boot_id=run.supervisor.boot_id)


@EVERY_SHELL
async def test_what_a_killed_supervisor_and_server_left_is_swept(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf,twice"))
    pids = (await node.report())["pids"]
    assert run.supervisor is not None
    os.kill(run.supervisor.pid, 9)
    os.kill(pids["main"], 9)
    await until(lambda: not is_alive(pids["main"]))
    assert (await node.seen(run)).alive is True
    report = await node.keeper.stop(run, grace_s=1)
    assert report.unsupervised
    assert set(report.asked) == {pids["deaf"], pids["twice"]}
    assert not [name for name, pid in pids.items() if is_alive(pid)]
    assert [found.pid for found in report.killed] == [pids["deaf"]]
    assert (await node.seen(run)).alive is False


async def test_what_took_a_session_of_its_own_and_the_port_is_named_and_left_alone(node: Node) -> None:
    server = node.server()
    holder = f"import socket,time; s=socket.create_server(('127.0.0.1',{server.port})); time.sleep(600)"
    run = await node.start(server)
    escaped = in_its_own_session("python3", "-c", holder)
    try:
        port = f":{server.port:04X} "
        await until(lambda: port in Path("/proc/net/tcp").read_text())
        report = await node.keeper.stop(run)
        assert [found.pid for found in report.outside] == [escaped.pid]
        assert "left alone" in report.sentence
        assert is_alive(escaped.pid)
    finally:
        escaped.kill()
        escaped.wait()


async def test_a_run_whose_directory_is_gone_is_told(node: Node) -> None:
    run = await node.start()
    await node.keeper.stop(run)
    shutil.rmtree(run.directory)
    with pytest.raises(K2Error) as error:
        await node.keeper.stop(run)
    assert (error.value.code, error.value.exit_code) == ("no_such_run", ExitCode.MISSING)


async def test_a_setup_line_that_takes_long_can_be_stopped(node: Node) -> None:
    server = node.server()
    profile = replace(node.profile(), setup="while :; do sleep 0.02; done")
    launch = asyncio.ensure_future(node.keeper.launch(server, profile, started_by="x"))
    await node.keeper.stop(await node.starting(), grace_s=1)
    run = await launch
    assert (run.alive, run.stop_asked) == (False, True)
    assert node.locks() == []


@EVERY_SHELL
async def test_evidence_of_a_run_that_hangs_is_kept_in_its_directory(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf"))
    append(run.log_path, b"\rshards: 1/2\r[2026-11-29 10:00:00 TP0] loading\n[2026-11-29 10:00:01 TP1] waiting\n")
    path = await node.keeper.keep_evidence(run)
    assert path is not None
    assert path.startswith(f"{run.directory}/evidence-")
    text = Path(path).read_text()
    assert all(word in text for word in ("TP0] loading", "TP1] waiting", "stubborn.py", "nvidia-smi"))
    assert is_alive((await node.report())["pids"]["deaf"])


async def test_evidence_of_a_run_that_failed_says_how_it_ended(node: Node) -> None:
    run = await node.start()
    append(run.log_path, b"[2026-11-29 10:00:00 TP0] CUDA out of memory\n")
    node.end("7")
    path = await node.keeper.keep_evidence(await node.ended(run))
    assert path is not None
    assert Path(path).parent == Path(run.directory)
    text = Path(path).read_text()
    assert all(
        word in text for word in ("ended with exit 7", "TP0] CUDA out of memory", "nvidia-smi", "the kernel said")
    )

"""The supervisor waits for the server's end, writes it down, and leaves no process of its session behind."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from k2tui.core.runs import Run
from k2tui.services import runs
from tests.remote.node import EVERY_SHELL, Node, is_alive, session
from tests.waiting import until

HARD_TO_KILL = "deaf,twice,own group"


def note(run: Run) -> str:
    return Path(run.directory, "sup.log").read_text()


async def test_the_exit_code_is_written_down(node: Node) -> None:
    run = await node.start()
    node.end("7")
    ended = await node.ended(run)
    assert (ended.exit_code, ended.alive, ended.stop_asked) == (7, False, False)
    assert ended.ended_at is not None
    await until(lambda: not node.locks())


async def test_a_server_killed_by_a_signal_ends_with_128_and_its_number(node: Node) -> None:
    run = await node.start()
    node.end("kill 9")
    assert (await node.ended(run)).exit_code == 137


async def test_a_server_that_ends_well_ends_with_0(node: Node) -> None:
    run = await node.start()
    node.end("0")
    assert (await node.ended(run)).exit_code == 0


@EVERY_SHELL
async def test_nothing_is_left_of_the_session_after_a_crash(node: Node) -> None:
    server = node.server()
    run = await node.start(server, node.profile(HARD_TO_KILL))
    pids = (await node.report())["pids"]
    assert len(pids) == 4
    node.end("7")
    assert (await node.ended(run)).exit_code == 7
    assert not [name for name, pid in pids.items() if is_alive(pid)]
    assert run.session_id is not None
    assert session(run.session_id) == []
    await until(lambda: not node.locks())
    await node.start(server)


async def test_the_lock_is_held_while_anything_is_left(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf"))
    deaf = (await node.report())["pids"]["deaf"]
    node.end("7")
    await until(lambda: (Path(run.directory) / "exit").exists())
    while is_alive(deaf):
        assert node.locks()
        assert (await node.seen(run)).alive


async def test_it_outlives_who_started_it(node: Node) -> None:
    run = await node.start()
    assert run.supervisor is not None
    assert run.child is not None
    os.kill(run.supervisor.pid, signal.SIGHUP)
    os.kill(run.supervisor.pid, 0)
    node.end("5")
    assert (await node.ended(run)).exit_code == 5


@EVERY_SHELL
async def test_an_end_that_is_asked_of_the_supervisor_reaches_the_server(node: Node) -> None:
    run = await node.start(node.server(on_crash_restarts=3, on_crash_window_s=3600.0))
    assert run.supervisor is not None
    os.kill(run.supervisor.pid, signal.SIGTERM)
    ended = await node.ended(run)
    assert (ended.exit_code, ended.restarts) == (143, 0)


@EVERY_SHELL
async def test_a_crash_is_followed_by_the_same_server_as_often_as_was_allowed(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RESTART_DELAY_S", 0)
    server = node.server(on_crash_restarts=2, on_crash_window_s=3600.0)
    run = await node.start(server, node.profile("deaf", "an 'argument'\n", env={"V": "a\nb"}))
    seen = []
    for _ in range(3):
        report = await node.report()
        seen.append(report)
        Path(f"{node.stubborn[-1]}.pids").unlink()
        node.end("9")
        await until(lambda pid=report["pids"]["deaf"]: not is_alive(pid))  # type: ignore[misc]
        if len(seen) < 3:
            await until(lambda: Path(f"{node.stubborn[-1]}.end").exists())
            Path(f"{node.stubborn[-1]}.end").unlink()
    ended = await node.ended(run)
    assert (ended.exit_code, ended.restarts) == (9, 2)
    assert len({report["pids"]["main"] for report in seen}) == 3
    assert len({str(report["argv"]) + report["env"]["V"] for report in seen}) == 1
    assert note(run).count("RESTART ") == 2
    assert "no restart: 2 within 3600 s already" in note(run)
    assert Path(run.log_path).read_bytes().count(b"to stdout\n") == 3


async def test_a_restart_is_seen_in_the_run(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "RESTART_DELAY_S", 0)
    run = await node.start(node.server(on_crash_restarts=1, on_crash_window_s=3600.0))
    node.end("kill 11")
    Path(f"{node.stubborn[-1]}.pids").unlink()
    await until(lambda: (Path(run.directory) / "sup.log").read_text().count("RESTART"))
    Path(f"{node.stubborn[-1]}.end").unlink()
    await node.report()
    again = await node.seen(run)
    assert again.alive
    assert (again.restarts, again.exit_code) == (1, None)
    assert run.child is not None
    assert again.child is not None
    assert again.child.pid != run.child.pid


async def test_a_server_that_is_stopped_while_it_waits_for_its_restart_stays_down(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RESTART_DELAY_S", 3600)
    run = await node.start(node.server(on_crash_restarts=5, on_crash_window_s=3600.0))
    node.end("7")
    await until(lambda: "RESTART" in note(run))
    report = await node.keeper.stop(run, grace_s=20)
    assert (report.exit_code, report.killed) == (7, ())
    ended = await node.ended(run)
    assert (ended.stop_asked, ended.exit_code) == (True, 7)


async def test_an_exit_that_is_no_crash_is_not_followed_by_a_restart(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "RESTART_DELAY_S", 0)
    run = await node.start(node.server(on_crash_restarts=5, on_crash_window_s=3600.0))
    node.end("0")
    ended = await node.ended(run)
    assert (ended.exit_code, ended.restarts) == (0, 0)


async def test_without_leave_a_crash_is_the_end(node: Node) -> None:
    run = await node.start()
    node.end("7")
    ended = await node.ended(run)
    assert "RESTART" not in note(ended)

"""Of what somebody else started only the tree below the engine is stopped, each process by its own identity."""

from __future__ import annotations

import os
import pwd
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.foreign import HandStarted, identity_of
from tests.remote.node import is_alive
from tests.waiting import until


@pytest.fixture(params=["dash", "bash", "busybox"])
def theirs(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[HandStarted]:
    started = HandStarted(tmp_path, ShellLink(shell_bin(request.param, tmp_path / "bin")))
    yield started
    started.end()


async def test_a_look_names_whose_it_is_its_session_and_every_pid_and_changes_nothing(theirs: HandStarted) -> None:
    await theirs.start("scheduler_TP0,grown", env={"HF_TOKEN": "hf_plantedsecretvalue", "MY_VAR": "1", "LANG": "C"})
    look = await theirs.look()
    assert (look.me, look.uid) == (str(os.getuid()), str(os.getuid()))
    assert theirs.shell is not None
    assert look.session == theirs.shell.pid
    assert look.leader.startswith("bash -c")
    assert look.tty == os.ttyname(theirs.terminal) or str(look.tty).startswith("/dev/pts/")
    assert {hit.pid for hit in look.tree} == set(theirs.pids.values())
    assert look.tree[0].pid == theirs.pids["main"]
    assert theirs.living() == set(theirs.pids)
    assert {"HF_TOKEN", "MY_VAR"} <= set(look.not_carried(frozenset()))
    assert "LANG" not in look.not_carried(frozenset())
    assert "plantedsecret" not in repr(look)


async def test_the_shell_that_it_was_started_in_and_its_other_jobs_stay(theirs: HandStarted) -> None:
    await theirs.start("scheduler_TP0,scheduler_TP1,grown")
    report = await theirs.stop()
    assert theirs.living() == set()
    assert theirs.others_live
    assert report.asked[0] == theirs.pids["main"]
    assert report.killed == ()


async def test_its_workers_are_asked_only_when_it_is_gone(theirs: HandStarted) -> None:
    await theirs.start("scheduler_TP0,grown")
    report = await theirs.stop()
    assert set(report.asked) == set(theirs.pids.values())
    assert report.asked[0] == theirs.pids["main"]


async def test_a_deaf_one_is_killed_with_all_below_it_and_nothing_else(theirs: HandStarted) -> None:
    await theirs.start("deaf_TP0,grown", "deaf")
    report = await theirs.stop(grace_s=0)
    assert theirs.living() == set()
    assert theirs.others_live
    assert {found.pid for found in report.killed} == set(theirs.pids.values())


async def test_one_with_a_use_for_quit_gets_it_before_it_is_killed(theirs: HandStarted) -> None:
    await theirs.start("scheduler_TP0", "quits")
    report = await theirs.stop(grace_s=0)
    assert theirs.pids["main"] not in {found.pid for found in report.killed}
    assert theirs.living() == set()


async def test_a_stopped_one_is_killed(theirs: HandStarted) -> None:
    await theirs.start()
    os.kill(theirs.pids["main"], signal.SIGSTOP)
    assert [found.pid for found in (await theirs.stop(grace_s=1)).killed] == [theirs.pids["main"]]


async def test_a_child_that_escaped_is_named_and_left_alone(theirs: HandStarted) -> None:
    await theirs.start("scheduler_TP0,escaped_TP1")
    look = await theirs.look()
    assert [hit.pid for hit in look.beside] == [theirs.pids["escaped_TP1"]]
    report = await theirs.stop()
    assert theirs.living() == {"escaped_TP1"}
    assert [found.pid for found in report.outside] == [theirs.pids["escaped_TP1"]]
    assert "left alone" in report.sentence


async def test_a_pid_that_is_another_process_by_now_is_not_signalled(theirs: HandStarted) -> None:
    await theirs.start()
    before = replace(theirs.main, start_ticks=theirs.main.start_ticks - 7)
    look = await theirs.look(before)
    assert (look.uid, look.tree) == (None, ())
    assert look.reused is not None
    report = await theirs.stop(before, grace_s=0)
    assert (report.was_running, report.asked, report.killed) == (False, (), ())
    assert [found.pid for found in report.refused] == [theirs.pids["main"]]
    assert theirs.living() == {"main"}


async def test_one_of_another_boot_is_gone(theirs: HandStarted) -> None:
    await theirs.start()
    other = replace(theirs.main, boot_id="11111111-2222-3333-4444-555555555555")
    report = await theirs.stop(other, grace_s=0)
    assert report.rebooted
    assert theirs.living() == {"main"}


async def test_one_that_is_gone_is_told(theirs: HandStarted) -> None:
    await theirs.start()
    main = theirs.main
    os.kill(main.pid, signal.SIGKILL)
    await until(lambda: not is_alive(main.pid))
    assert (await theirs.look(main)).uid is None
    assert (await theirs.stop(main)).was_running is False


@pytest.fixture
def nobodys() -> Iterator[int]:
    """A process of another user; only root can make one."""
    if os.geteuid() != 0:
        pytest.skip("only root may start what is another user's")
    process = subprocess.Popen(["sleep", "600"], user=pwd.getpwnam("nobody").pw_uid)
    yield process.pid
    process.kill()
    process.wait()


async def test_what_belongs_to_another_user_is_not_signalled(theirs: HandStarted, nobodys: int) -> None:
    look = await theirs.look(identity_of(nobodys))
    assert (look.me, look.uid) == ("0", str(pwd.getpwnam("nobody").pw_uid))
    report = await theirs.stop(identity_of(nobodys), grace_s=0)
    assert (report.asked, report.killed) == ((), ())
    assert is_alive(nobodys)

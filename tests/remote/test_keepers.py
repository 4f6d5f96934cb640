"""A run may be kept by tmux, systemd or docker as well, and is started, seen and stopped like any other.

tmux is the real one. systemd and docker are stand-ins, because a test machine has neither running; with
K2TUI_TEST_SYSTEMD=1 the user's own systemd is asked instead, and with K2TUI_TEST_IMAGE=NAME docker itself (any image
that has an sh).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import LaunchProfile
from tests.fakes.shell_link import ShellLink
from tests.remote.node import Node, is_alive, session
from tests.waiting import until


class Tmux:
    """The tmux server of a node, on a socket of its own."""

    def __init__(self, node: Node) -> None:
        assert isinstance(node.link, ShellLink)
        self.env = {"TMUX_TMPDIR": str(node.directory)}
        node.link.env = self.env

    def say(self, *words: str) -> str:
        done = subprocess.run(
            ["tmux", *words], env={**os.environ, **self.env}, capture_output=True, text=True, check=False
        )
        return done.stdout

    @property
    def sessions(self) -> set[str]:
        return set(self.say("list-sessions", "-F", "#{session_name}").split())

    @property
    def pane(self) -> str:
        """What the run's pane shows."""
        return self.say("capture-pane", "-p", "-t", "=k2tui-kimi_k2_6:")


def append(path: str, data: bytes) -> None:
    with open(path, "ab") as file:
        file.write(data)


@pytest.fixture
async def tmux(node: Node) -> AsyncIterator[Tmux]:
    if shutil.which("tmux") is None:
        pytest.skip("no tmux on this machine (scripts/need.sh tmux:tmux installs it)")
    made = Tmux(node)
    yield made
    await node.clear()
    made.say("kill-server")


async def in_tmux(node: Node, children: str = "") -> Run:
    return await node.start(node.server(supervisor="tmux", name="kimi k2.6"), node.profile(children))


async def test_a_run_in_tmux_can_be_attached_to_and_shows_its_log(node: Node, tmux: Tmux) -> None:
    run = await in_tmux(node)
    assert (run.kept_by, run.kept_as, run.alive) == ("tmux", "k2tui-kimi_k2_6", True)
    assert run.attach == "tmux attach -t =k2tui-kimi_k2_6"
    assert tmux.sessions == {"k2tui-kimi_k2_6"}
    append(run.log_path, b"weights: 3/64\x1b]0;a title\x07\n")
    await until(lambda: "weights: 3/64" in tmux.pane)
    assert "to stdout" in tmux.pane
    assert "a title" not in tmux.say("display-message", "-p", "-t", "=k2tui-kimi_k2_6:", "#{pane_title}")
    assert not {"TMUX", "TMUX_PANE"} & set((await node.report())["env"])


async def test_a_run_in_tmux_is_stopped_like_any_other(node: Node, tmux: Tmux) -> None:
    run = await in_tmux(node, "deaf,twice,own group")
    pids = (await node.report())["pids"]
    report = await node.keeper.stop(run, grace_s=1)
    assert (report.asked, report.exit_code) == ((pids["main"],), 143)
    assert not [name for name, pid in pids.items() if is_alive(pid)]
    assert run.session_id is not None
    await until(lambda: not session(run.session_id or 0))
    await until(lambda: not tmux.sessions)
    assert node.locks() == []


async def test_closing_the_pane_stops_the_run_cleanly(node: Node, tmux: Tmux) -> None:
    run = await in_tmux(node, "deaf,twice")
    pids = (await node.report())["pids"]
    tmux.say("kill-pane", "-t", "=k2tui-kimi_k2_6:")
    ended = await node.ended(run)
    assert (ended.exit_code, ended.stop_asked) == (143, True)
    assert not [name for name, pid in pids.items() if is_alive(pid)]
    await until(lambda: not node.locks())


async def test_what_is_typed_in_the_pane_does_not_reach_the_server(node: Node, tmux: Tmux) -> None:
    run = await in_tmux(node)
    assert run.supervisor is not None
    for key in ("C-c", "C-\\", "C-z"):
        tmux.say("send-keys", "-t", "=k2tui-kimi_k2_6:", key)
    append(run.log_path, b"after the keys\n")
    await until(lambda: "after the keys" in tmux.pane)
    assert (await node.seen(run)).alive
    node.end("5")
    assert (await node.ended(run)).exit_code == 5


async def test_a_second_start_in_tmux_is_told_who_runs(node: Node, tmux: Tmux) -> None:
    server = node.server(supervisor="tmux")
    run = await node.start(server)
    with pytest.raises(K2Error) as error:
        await node.keeper.launch(server, node.profile(), started_by="bob@desk")
    assert error.value.code == "already_running"
    assert run.run_id in error.value.message
    await until(lambda: tmux.sessions == {"k2tui-kimi"})


async def test_a_session_that_has_the_name_is_left_alone(node: Node, tmux: Tmux) -> None:
    tmux.say("new-session", "-d", "-s", "k2tui-kimi", "sleep", "600")
    run = await node.start(node.server(supervisor="tmux"))
    assert run.kept_as == f"k2tui-kimi-{run.run_id[-4:]}"
    await node.keeper.stop(run)
    await until(lambda: tmux.sessions == {"k2tui-kimi"})


SYSTEMD_RUN = """#!/bin/sh
here=${0%/*}
while [ "$1" != -- ]; do
  case $1 in --unit) unit=$2; shift ;; esac
  shift
done
shift
echo "XDG_RUNTIME_DIR=$XDG_RUNTIME_DIR" >"$here/$unit.unit"
setsid "$@" </dev/null >/dev/null 2>&1 &
echo $! >"$here/$unit.pid"
"""
SYSTEMCTL = """#!/bin/sh
for unit; do :; done
echo "MainPID=$(cat "${0%/*}/$unit.pid")"
"""
LOGINCTL = """#!/bin/sh
echo "Linger=$(cat "${0%/*}/linger")"
"""


def put(node: Node, name: str, text: str) -> Path:
    """A program of the node."""
    assert isinstance(node.link, ShellLink)
    path = node.link.bin / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def systemd(node: Node, linger: str = "yes") -> Path:
    """A systemd of the user; the directory where its units are seen."""
    where = put(node, "loginctl", LOGINCTL).parent
    (where / "linger").write_text(linger)
    if "K2TUI_TEST_SYSTEMD" not in os.environ:
        put(node, "systemd-run", SYSTEMD_RUN)
        put(node, "systemctl", SYSTEMCTL)
    return where


async def test_a_run_under_systemd_is_a_unit_of_the_user_and_is_stopped_like_any_other(node: Node) -> None:
    where = systemd(node)
    run = await node.start(node.server(supervisor="systemd"), node.profile("deaf,twice"))
    pids = (await node.report())["pids"]
    assert (run.kept_by, run.kept_as, run.alive) == ("systemd", f"k2tui-kimi-{run.run_id}", True)
    if "K2TUI_TEST_SYSTEMD" not in os.environ:
        assert (where / f"{run.kept_as}.unit").read_text() == f"XDG_RUNTIME_DIR=/run/user/{os.getuid()}\n"
    report = await node.keeper.stop(run, grace_s=1)
    assert (report.asked, report.exit_code) == ((pids["main"],), 143)
    assert not [name for name, pid in pids.items() if is_alive(pid)]


async def test_without_linger_systemd_is_refused_with_what_to_do(node: Node) -> None:
    systemd(node, "no")
    with pytest.raises(K2Error) as error:
        await node.keeper.launch(node.server(supervisor="systemd"), node.profile(), started_by="bob@desk")
    assert "loginctl enable-linger" in error.value.message
    assert await node.keeper.scan() == ()
    assert not node.stubborn[-1].exists()


async def test_a_keeper_that_the_node_does_not_have_is_refused_before_anything_is_written(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(node.link, ShellLink)
    for tool in ("mkdir", "date", "cat", "rm", "mv", "tr", "readlink", "ln", "grep", "sed"):
        (node.link.bin / tool).symlink_to(shutil.which(tool) or tool)
    monkeypatch.setenv("PATH", str(node.link.bin))
    for supervisor, tool in (("tmux", "tmux"), ("systemd", "systemd-run"), ("docker", "docker")):
        server = node.server(supervisor=supervisor, image="engine:1")
        with pytest.raises(K2Error) as error:
            await node.keeper.prepare(server, node.profile(), started_by="bob@desk")
        assert f"no {tool} on the node" in error.value.message
    assert node.files() == {}


IMAGE = os.environ.get("K2TUI_TEST_IMAGE")
POLITE = "trap 'echo told to end; exit 0' TERM"
DEAF = "trap '' TERM"
TOKEN = "hf_abcdefGHIJKLmnop12345678"


def docker(node: Node) -> Path:
    """A docker on the node, and where it keeps its containers."""
    assert isinstance(node.link, ShellLink)
    if IMAGE is None:
        stand_in = Path(__file__).with_name("containers.py").read_text()
        put(node, "docker", f"#!{sys.executable} -SE\n{stand_in}")
    return node.link.bin / "containers"


async def contained(node: Node, first: str = POLITE, setup: str | None = None) -> Run:
    """A run in a container that has come up."""
    script = f'{first}; echo "$VALUE|$HF_TOKEN|$SET_UP"; while :; do sleep 0.05; done'
    profile = LaunchProfile(
        "p", ("sh", "-c", script), {"VALUE": "a b\nc", "HF_TOKEN": TOKEN}, setup, None, frozenset({TOKEN})
    )
    server = node.server(supervisor="docker", image=IMAGE or "engine:1")
    run = await node.keeper.launch(server, profile, started_by="ada@desk")
    await until(lambda: f"c|{TOKEN}|" in Path(run.log_path).read_text())
    if IMAGE is None:
        await until((docker(node) / str(run.kept_as)).exists)
    return run


async def test_a_run_in_a_container_gets_its_variables_and_no_process_list_shows_them(node: Node) -> None:
    docker(node)
    run = await contained(node, setup="export SET_UP=yes")
    assert (run.kept_by, run.kept_as, run.alive) == ("docker", f"k2tui-kimi-{run.run_id}", True)
    assert f"a b\nc|{TOKEN}|yes\n" in Path(run.log_path).read_text()
    assert run.child is not None
    words = Path(f"/proc/{run.child.pid}/cmdline").read_bytes().split(b"\0")
    assert {b"--rm", b"HF_TOKEN", f"k2tui.run={run.run_id}".encode(), b"host"} <= set(words)
    assert not [word for word in words if TOKEN.encode() in word or b"SET_UP=" in word]
    assert run.argv[:2] == ("sh", "-c")


async def test_a_container_is_asked_to_end_and_its_exit_is_written_down(node: Node) -> None:
    docker(node)
    run = await contained(node)
    assert (await node.keeper.remains(run)).container == run.kept_as
    report = await node.keeper.stop(run, grace_s=30)
    assert (report.container, report.asked, report.exit_code) == (("TERM",), (), 0)
    assert "told to end" in Path(run.log_path).read_text()
    assert (await node.keeper.remains(run)).is_clean


async def test_a_container_that_does_not_end_is_killed(node: Node) -> None:
    docker(node)
    run = await contained(node, DEAF)
    report = await node.keeper.stop(run, grace_s=1)
    assert (report.container, report.exit_code) == (("TERM", "KILL"), 137)
    assert (await node.keeper.remains(run)).is_clean


async def test_a_container_does_not_outlive_its_supervisor_once_it_is_stopped(node: Node) -> None:
    docker(node)
    run = await contained(node)
    assert run.supervisor is not None
    assert run.child is not None
    os.kill(run.supervisor.pid, 9)
    os.kill(run.child.pid, 9)
    await until(lambda: not session(run.session_id or 0))
    assert (await node.keeper.remains(run)).container == run.kept_as
    report = await node.keeper.stop(run, grace_s=30)
    assert (report.unsupervised, report.container) == (True, ("TERM",))
    assert (await node.keeper.remains(run)).is_clean


async def test_a_container_whose_client_was_killed_is_swept(node: Node) -> None:
    docker(node)
    run = await contained(node)
    assert run.child is not None
    os.kill(run.child.pid, 9)
    ended = await node.ended(run)
    assert ended.exit_code == 137
    assert (await node.keeper.remains(run)).is_clean


async def test_a_container_of_that_name_with_another_label_is_left_alone(node: Node) -> None:
    if IMAGE is not None:
        pytest.skip("the label of a real container can't be changed")
    containers = docker(node)
    run = await contained(node)
    kept = containers / str(run.kept_as)
    right = kept.read_text()
    kept.write_text(right.replace(run.run_id, "somebody-elses"))
    assert (await node.keeper.remains(run)).container is None
    assert (await node.keeper.stop(run, grace_s=5)).container == ()
    kept.write_text(right)


async def test_docker_without_an_image_is_refused_here(node: Node) -> None:
    with pytest.raises(K2Error) as error:
        await node.keeper.launch(node.server(supervisor="docker"), node.profile(), started_by="bob@desk")
    assert "names no image" in error.value.message
    assert not node.home.exists()

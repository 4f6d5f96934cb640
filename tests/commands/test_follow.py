"""`k2tui logs -f` over a real sshd."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sshd import Sshd, running

CONFIG = """
[nodes.gpu-a]
host = "127.0.0.1"
port = {port}
user = "{user}"
identity = "{identity}"
[servers.by-hand]
node = "gpu-a"
log = "{log}"
"""


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    yield from running(tmp_path / "sshd")


@pytest.fixture
def follower(sshd: Sshd, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    log, config = tmp_path / "server.log", tmp_path / "config.toml"
    log.write_text("first\n", encoding="utf-8")
    node = sshd.node("gpu-a")
    config.write_text(CONFIG.format(port=node.port, user=node.user, identity=node.identity, log=log), encoding="utf-8")
    known = tmp_path / "home" / ".ssh" / "known_hosts"
    known.parent.mkdir(parents=True)
    known.write_text(sshd.known_hosts_line, encoding="ascii")
    command = [sys.executable, "-m", "k2tui", "--config", str(config), "logs", "-f", "by-hand"]
    env = {**os.environ, "HOME": str(tmp_path / "home")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_cut_connection_is_told_aside_and_no_line_is_lost(
    sshd: Sshd, follower: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert follower.stdout is not None
    assert follower.stdout.readline() == "first\n"
    sshd.cut()
    with (tmp_path / "server.log").open("a", encoding="utf-8") as log:
        log.write("second\nthird\n")
    assert [follower.stdout.readline(), follower.stdout.readline()] == ["second\n", "third\n"]
    follower.send_signal(signal.SIGINT)
    _, aside = follower.communicate()
    assert follower.returncode == 130
    assert "gpu-a: connected" in aside
    assert "Traceback" not in aside


def test_a_key_that_changed_meanwhile_ends_it_with_the_reason(sshd: Sshd, follower: subprocess.Popen[str]) -> None:
    assert follower.stdout is not None
    assert follower.stdout.readline() == "first\n"
    sshd.new_host_key()
    sshd.restart()
    _, aside = follower.communicate()
    assert follower.returncode == 4
    assert "changed" in aside


def test_half_a_line_of_a_log_that_was_rotated_stays_apart(follower: subprocess.Popen[str], tmp_path: Path) -> None:
    assert follower.stdout is not None
    log = tmp_path / "server.log"
    with log.open("a", encoding="utf-8") as old:
        old.write("second\nhalf")
    assert follower.stdout.readline() == "first\n"
    assert follower.stdout.readline() == "second\n"
    log.rename(tmp_path / "server.log.1")
    log.write_text("new\n", encoding="utf-8")
    assert [follower.stdout.readline(), follower.stdout.readline()] == ["half\n", "new\n"]

"""`k2tui start` over a real sshd, when the way to the node ends while it waits."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sshd import Sshd, running

CONFIG = """
[nodes.gpu-a]
host = "127.0.0.1"
port = {port}
user = "{user}"
identity = "{identity}"
home = "{home}"
[servers.toy]
node = "gpu-a"
port = {free}
profile = "base"
[profiles.base]
cmd = "{engine} -m sglang.launch_server --model-path {model}"
"""
ENGINE = "#!/bin/sh\nexec sleep 600\n"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    yield from running(tmp_path / "sshd")


@pytest.fixture
def starter(sshd: Sshd, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A start of a server that says nothing for ever."""
    engine, config, known = tmp_path / "engine", tmp_path / "config.toml", tmp_path / "home/.ssh/known_hosts"
    engine.write_text(ENGINE, encoding="ascii")
    engine.chmod(0o700)
    node = sshd.node("gpu-a")
    values = {"port": node.port, "user": node.user, "identity": node.identity, "home": tmp_path / "k2"}
    model = tmp_path / "model"
    model.mkdir()
    text = CONFIG.format(**values, free=free_port(), engine=engine, model=model)
    config.write_text(text, encoding="utf-8")
    known.parent.mkdir(parents=True)
    known.write_text(sshd.known_hosts_line, encoding="ascii")
    command = [sys.executable, "-m", "k2tui", "--config", str(config), "start", "toy", "--json"]
    env = {**os.environ, "HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()
        for state in (tmp_path / "k2").glob("runs/toy/*/state.json"):
            os.killpg(json.loads(state.read_text(encoding="ascii"))["session_id"], signal.SIGKILL)


def until(starter: subprocess.Popen[str], kind: str) -> dict[str, Any]:
    assert starter.stdout is not None
    for line in starter.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["type"] == kind:
            return event
    pytest.fail(f"no {kind} was told: {starter.communicate()}")


def test_a_lost_connection_is_told_and_mends(sshd: Sshd, starter: subprocess.Popen[str]) -> None:
    until(starter, "started")
    sshd.stop()
    assert "toy goes on there" in until(starter, "link")["text"]
    sshd.start()
    assert until(starter, "link")["text"] == "gpu-a is back"


def test_a_key_that_changed_ends_the_wait_and_not_the_server(sshd: Sshd, starter: subprocess.Popen[str]) -> None:
    until(starter, "started")
    sshd.new_host_key()
    sshd.restart()
    assert until(starter, "error")["code"] == "host_key_changed"
    assert starter.wait() == 4
    assert any("sleep 600" in process for process in sshd.processes())

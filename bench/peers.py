"""A public monitor of the same servers, in the same minute: what it costs beside k2tui."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure
from bench.fleet import COLUMNS, ROWS, Nodes, busy_percent, shown
from bench.processes import InTerminal, environment

PEER = "sgtop"
"""Reads SGLang's HTTP side alone: no GPUs, no logs, no SSH."""
SERVERS = 16
INTERVAL_S = 2
INSTALL_S = 180.0
SETTLED_S = 15.0


def figures() -> Iterator[Figure]:
    """The peer and k2tui, each on 16 servers that a real engine's HTTP side stands behind."""
    what = f"{PEER}, {SERVERS} servers at {INTERVAL_S} s"
    with tempfile.TemporaryDirectory() as folder:
        try:
            program = _installed(Path(folder))
        except (OSError, subprocess.SubprocessError) as error:
            yield Figure(what, None, "", note=f"not installed here: {_last_line(error)}", optional=True)
            return
        with shown(SERVERS) as (nodes, app):
            ours, _ = busy_percent(app)
            theirs = _peer_percent(program, nodes, Path(folder))
        yield Figure(what, theirs, "% of a core", note="servers alone, without SSH")
        yield Figure(
            f"k2tui with {SERVERS} nodes, 128 GPUs, their logs and servers by SSH", ours / theirs, f"× {PEER}'s CPU"
        )


def _installed(folder: Path) -> Path:
    """The program, in an environment that is thrown away."""
    venv = folder / "venv"
    for command in (
        [sys.executable, "-m", "venv", str(venv)],
        [str(venv / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", PEER],
    ):
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_S)
    return venv / "bin" / PEER


def _peer_percent(program: Path, nodes: Nodes, home: Path) -> float:
    spec = ",".join(f"server-{number}=127.0.0.1:{nodes.engine_port}" for number in range(SERVERS))
    command = [str(program), "--fleet", spec, "--interval", str(INTERVAL_S)]
    env = {**environment(home), "LINES": str(ROWS), "COLUMNS": str(COLUMNS)}
    with InTerminal(command, env, columns=COLUMNS, rows=ROWS) as peer:
        peer.wait_for(rb"server-\d")
        time.sleep(SETTLED_S)
        return busy_percent(peer)[0]


def _last_line(error: Exception) -> str:
    said = getattr(error, "stderr", None) or str(error)
    lines = [line for line in str(said).strip().splitlines() if line.strip()]
    return lines[-1][:160] if lines else os.strerror(getattr(error, "errno", 0) or 0)

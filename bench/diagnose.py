"""`k2tui diagnose` on a log of a gigabyte, and on a gigabyte without a newline: time and memory."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.figures import Figure
from bench.intake import busy_server
from bench.processes import environment, k2tui

GIGABYTE = 1 << 30
RSS_LIMIT_MB = 200.0


def figures() -> Iterator[Figure]:
    """Both logs, each by a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        for name, block in (("1 GB of a busy server", busy_server(50_000)), ("1 GB without a newline", b"x" * 4096)):
            log = home / "big.log"
            _write(log, block)
            cpu_s, rss_mb = _diagnosed(log, home)
            yield Figure(f"diagnose {name}", cpu_s, "CPU-s")
            yield Figure(f"diagnose {name}, memory", rss_mb, "MB", RSS_LIMIT_MB)


def _write(log: Path, block: bytes) -> None:
    block *= max(1, (1 << 22) // len(block))
    with log.open("wb") as out:
        while out.tell() < GIGABYTE:
            out.write(block)


def _diagnosed(log: Path, home: Path) -> tuple[float, float]:
    """(CPU seconds, largest resident set in MB) of one `k2tui diagnose`."""
    command = k2tui("diagnose", "--json", str(log))
    process = subprocess.Popen(command, env=environment(home), cwd=home, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

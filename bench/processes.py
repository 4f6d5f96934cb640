"""Processes, run to their end or in a terminal of their own, and what they cost."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PATIENCE_S = 60.0
LONGEST_MATCH = 512
"""Bytes that a pattern may span; what was searched before is not searched again."""


def k2tui(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "k2tui", *arguments]


def environment(home: Path) -> dict[str, str]:
    """Of an operator who has nothing: no config, no history."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "K2TUI_", "TMUX"))}
    kept.pop("NO_COLOR", None)
    ours = {"HOME": str(home), "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    nobody = {"K2TUI_ONLY": "K2TUI_BENCH=nobody"}  # engines that happen to run on this machine are not measured
    return {**kept, **ours, **nobody}


def cpu_s(command: Sequence[str], env: Mapping[str, str], *, times: int = 5) -> float:
    """User and system CPU of a process and its children; the best of several runs, so that neighbours count little."""
    return min(_cpu_once(command, env) for _ in range(times))


def _cpu_once(command: Sequence[str], env: Mapping[str, str]) -> float:
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(command, env=env, cwd=env["HOME"], stdout=nowhere, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


class InTerminal:
    """A program in a pseudo-terminal. What it writes is kept with the time at which it came."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], *, columns: int = 120, rows: int = 40) -> None:
        self.began = time.monotonic()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.chdir(env["HOME"])
            os.execvpe(command[0], list(command), dict(env))
        self._output = bytearray()
        self._arrived: list[tuple[int, float]] = []
        self._news = threading.Condition()
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except OSError:
                data = b""
            with self._news:
                if not data:
                    self._ended = True
                self._output += data
                self._arrived.append((len(self._output), time.monotonic()))
                self._news.notify_all()
            if not data:
                return

    @property
    def size(self) -> int:
        """Bytes written so far."""
        with self._news:
            return len(self._output)

    def press(self, keys: str) -> float:
        """Type; the time at which that was done."""
        at = time.monotonic()
        os.write(self._fd, keys.encode())
        return at

    def wait_for(self, pattern: bytes, *, after: int = 0, patience_s: float = PATIENCE_S) -> tuple[int, float]:
        """(end, time) of the first match at or after an offset. Raises RuntimeError when it never comes."""
        wanted, end_at, looked = re.compile(pattern), time.monotonic() + patience_s, after
        with self._news:
            known = len(self._output)
            while not (found := wanted.search(self._output, looked)):
                if self._ended or not self._news.wait(timeout=max(0.0, end_at - time.monotonic())):
                    raise RuntimeError(f"{pattern!r} did not come; the last output: {bytes(self._output[-400:])!r}")
                looked = max(after, known - LONGEST_MATCH)
                known = len(self._output)
            return found.end(), next(at for size, at in self._arrived if size >= found.end())

    def cpu_s(self) -> float:
        """User and system CPU of the program so far, without its children."""
        return process_cpu_s(self.pid)

    def rss_mb(self) -> float:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 1024

    def close(self) -> None:
        """End it, nicely first."""
        try:
            os.kill(self.pid, signal.SIGTERM)
            for _ in range(50):
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    return
                time.sleep(0.1)
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        finally:
            os.close(self._fd)

    def __enter__(self) -> InTerminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def process_cpu_s(pid: int) -> float:
    """User and system CPU of a live process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S

"""The engine's children, titled as SGLang's, and the ways in which the whole tree goes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

_FOR_EVER_S = "2147483647"
_NO_FILES = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]


@dataclass
class Family:
    """The child processes: one scheduler a rank, and the detokenizer."""

    ranks: int
    children: dict[int, str] = field(default_factory=dict)
    """pid to title, schedulers first."""

    def start(self) -> None:
        """Real processes in the engine's session, so that `ps`, nvidia-smi and a sweep have something to see."""
        program = _titled_sleep()
        if program is None:
            return
        one = self.ranks == 1
        titles = ["sglang::scheduler" + ("" if one else f"_TP{rank}") for rank in range(self.ranks)]
        for title in (*titles, "sglang::detokenizer"):
            pid = os.posix_spawn(program, [title, _FOR_EVER_S], os.environ, file_actions=_NO_FILES)
            self.children[pid] = title

    def schedulers(self) -> Sequence[tuple[int, str]]:
        """(pid, title) of each rank, in order."""
        return [(pid, title) for pid, title in self.children.items() if "scheduler" in title]

    def reap(self) -> Sequence[tuple[int, int, int]]:
        """Children that ended since the last call: (rank, pid, exit code); the detokenizer has rank -1."""
        ended = []
        order = list(self.children)
        for pid in order:
            with contextlib.suppress(ChildProcessError):
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    title = self.children.pop(pid)
                    rank = order.index(pid) if "scheduler" in title else -1
                    ended.append((rank, pid, os.waitstatus_to_exitcode(status)))
        return ended

    def end(self) -> None:
        """Kill and reap every child."""
        for pid in list(self.children):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
            del self.children[pid]


def kill_self() -> NoReturn:
    """SIGKILL to itself: how SGLang ends after a failure, exit status 137."""
    os.kill(os.getpid(), signal.SIGKILL)
    raise SystemExit(137)


def process_start(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat, which tells a process from a later one with its pid; None when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(") ")[2].split()[19]
    except (OSError, IndexError):
        return None


def _titled_sleep() -> str | None:
    """A `sleep` that may be called by another name; None where sleep is an applet of a bigger program."""
    path = shutil.which("sleep")
    if path is None or os.path.basename(os.path.realpath(path)) not in ("sleep", "gsleep"):
        return None
    return path

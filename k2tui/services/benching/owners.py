"""Which k2tui makes a series: a process that can't be mistaken for a later one."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

_UNKNOWN = "-"


def me() -> str:
    """This process: `HOST PID START`, START in clock ticks after the boot (field 22 of /proc/PID/stat), `-` where the
    system does not tell."""
    return f"{socket.gethostname()} {os.getpid()} {_started(os.getpid())}"


def lives(owner: str) -> bool | None:
    """Is that process still there? None: it is one of another machine, which can't be looked at from here."""
    host, pid_word, start = (["", "", *owner.rsplit(" ", 2)])[-3:]
    if not (pid_word.isascii() and pid_word.isdigit()):
        return False
    if host != socket.gethostname():
        return None
    pid = int(pid_word)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        pass
    now = _started(pid)
    return _UNKNOWN in (start, now) or start == now


def _started(pid: int) -> str:
    with suppress(OSError, IndexError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        words = stat.read().rpartition(") ")[2].split()
        return "dead" if words[0] in "ZX" else words[19]
    return _UNKNOWN

"""A demo is a throw-away: whatever runs under its root is killed, also when the demo itself was."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from k2tui.demo.engine.processes import process_start

PREFIX = "k2tui-demo-"
MOST_ROUNDS, ROUND_S = 150, 0.02
"""After three seconds only the kernel can help."""


def processes_under(root: Path) -> Iterator[int]:
    """Processes whose PATH or demo node lies under the root."""
    marks = [f"{name}={root}/".encode() for name in ("PATH", "K2_DEMO_NODE")]
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            variables = (entry / "environ").read_bytes().split(b"\0")
            if any(variable.startswith(mark) for variable in variables for mark in marks):
                yield int(entry.name)


def end_all(root: Path) -> int:
    """SIGKILL until nothing is left; how many there were. Looks again, since a shell may just have forked."""
    seen: set[int] = set()
    for _ in range(MOST_ROUNDS):
        if not (found := list(processes_under(root))):
            break
        seen.update(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(ROUND_S)
    return len(seen)


def remove_stale(parent: Path | None = None) -> list[Path]:
    """Roots of demos that are gone without having cleaned up; they are removed."""
    removed = []
    for root in sorted((parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}*")):
        with contextlib.suppress(OSError):
            if root.stat().st_uid != os.getuid():
                continue
            pid, _, start = (root / "owner").read_text(encoding="ascii").partition(":")
            if pid.isdigit() and process_start(int(pid)) != start:
                end_all(root)
                shutil.rmtree(root, ignore_errors=True)
                removed.append(root)
    return removed

"""The scheduler process of a run on this node: found by its identity, signalled without a race."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from tests.real.stage import claim

TITLE = b"sglang::scheduler"


@dataclass(frozen=True)
class Scheduler:
    """A process that can't be mistaken for another."""

    pid: int
    start_ticks: int

    @classmethod
    def of(cls, run: Path) -> Scheduler:
        """The one child of the run's engine, in the run's session, that calls itself a scheduler."""
        state = json.loads((run / "state.json").read_text(encoding="ascii"))
        engine, session = state["child_pid"], state["session_id"]
        claim(_stat(engine)[2] == state["child_start_ticks"], f"pid {engine} is no longer the engine of {run.name}")
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                parent, in_session, ticks = _stat(int(entry.name))
                if (parent, in_session) == (engine, session) and (entry / "cmdline").read_bytes().startswith(TITLE):
                    found.append(cls(int(entry.name), ticks))
            except OSError:
                continue
        claim(len(found) == 1, f"not one scheduler below pid {engine}: {found}")
        return found[0]

    def send(self, number: signal.Signals) -> None:
        """Signal this very process."""
        door = os.pidfd_open(self.pid)
        try:
            claim(_stat(self.pid)[2] == self.start_ticks, f"pid {self.pid} is another process by now")
            signal.pidfd_send_signal(door, number)
        finally:
            os.close(door)


def _stat(pid: int) -> tuple[int, int, int]:
    """(parent, session, start ticks) of a process. Raises OSError when it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    return int(fields[1]), int(fields[3]), int(fields[19])

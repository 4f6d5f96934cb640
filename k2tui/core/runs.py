"""A run: one start of a server on a node, and what the node keeps of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process that can't be mistaken for another: a pid alone can."""

    boot_id: str
    pid: int
    start_ticks: int
    """Field 22 of /proc/PID/stat."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run as the node's run directory tells it."""

    server: str
    run_id: str
    """YYYYMMDDTHHMMSSZ-xxxx, the node's clock and four random hex digits."""
    directory: str
    """Absolute path on the node."""
    supervisor: ProcessIdentity | None = None
    child: ProcessIdentity | None = None
    session_id: int | None = None
    alive: bool | None = None
    """True while a process of the run's session with a checked identity lives; None when not looked at."""
    port: int | None = None
    gpus: tuple[int, ...] = ()
    argv: tuple[str, ...] = ()
    """Secrets masked."""
    env: tuple[tuple[str, str], ...] = ()
    """The profile's variables, secrets masked."""
    profile: str | None = None
    started_by: str | None = None
    """user@host of the operator's machine."""
    exit_code: int | None = None
    ended_at: float | None = None
    """Unix time of the node's clock; None while it runs, or when no exit was recorded."""
    stop_asked: bool = False
    """An operator asked it to stop (a file in the run directory says so)."""

    @property
    def log_path(self) -> str:
        """The run's one log file on the node."""
        return f"{self.directory}/log"

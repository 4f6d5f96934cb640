"""Engines that run on a node and that k2tui did not start, and what the processes of a node are."""

from __future__ import annotations

from dataclasses import dataclass, field

from k2tui.core.runs import ProcessIdentity


@dataclass(frozen=True, slots=True)
class NodeProcess:
    """One process of a node that matters here: an engine's, or one that holds a GPU."""

    identity: ProcessIdentity
    parent: int
    session: int
    user: str
    title: str
    """Its command line, or the title that it gave itself; secrets masked."""
    began_at: float | None = None
    """Unix time by the node's clock."""

    @property
    def pid(self) -> int:
        """Its pid on the node."""
        return self.identity.pid


@dataclass(frozen=True, slots=True)
class FoundServer:
    """An engine's main process that somebody else started."""

    process: NodeProcess
    engine: str
    """sglang | vllm."""
    argv: tuple[str, ...]
    """Exactly, but for masked secrets; control characters other than newlines are U+FFFD."""
    env: tuple[tuple[str, str], ...] = ()
    """The allowed variables of its environment, by name; empty also where it can't be read (`env_unknown`)."""
    env_unknown: bool = False
    cwd: str | None = None
    port: int | None = None
    """The one it listens on; else what its command says."""
    listening: bool | None = None
    """None: nobody could tell which ports it has."""
    log: str | None = None
    """The regular file that its output goes to; None for a pipe or a terminal (`log_note` says which)."""
    log_note: str | None = None
    workers: tuple[NodeProcess, ...] = ()
    """Schedulers, detokenizers and other processes below it."""
    gpus: tuple[int, ...] = ()
    """Indices of the GPUs that it or its workers hold, as far as the driver's list tells."""
    container: str | None = None
    """What it runs in, such as `docker 0123456789ab` or `slurm job 4711`; None where it is in none."""
    api_key: str | None = field(default=None, repr=False)
    """The key that its command names, for k2tui's own questions; never shown."""

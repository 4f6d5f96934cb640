"""Whose a process is: k2tui's own run, somebody else's server, a server of the config."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone

from k2tui.core.errors import K2Error
from k2tui.core.foreign.command import DEFAULT_PORTS
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.readings import GpuProcess, GpuReading
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerView

_DEEPEST = 20
"""Generations between a worker and its main process."""
_RUN_LOG = re.compile(r"/runs/[^/]+/[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}/log")


def owner_of(process: NodeProcess, processes: Iterable[NodeProcess], servers: Iterable[ServerView]) -> str | None:
    """The name of the server that a process belongs to; None when it belongs to none.

    `processes` and `servers` are those of its node. A process belongs to a run by its identity or its session, or to
    what one of its ancestors belongs to.
    """
    known = {each.pid: each for each in processes}
    mains, sessions = _mains(servers)
    each: NodeProcess | None = process
    for _ in range(_DEEPEST):
        if each is None:
            break
        if name := mains.get(each.identity) or sessions.get((each.identity.boot_id, each.session)):
            return name
        each = known.get(each.parent)
    return None


def _mains(servers: Iterable[ServerView]) -> tuple[dict[ProcessIdentity, str], dict[tuple[str, int], str]]:
    """Main processes by identity, and sessions of living runs by boot and number."""
    mains: dict[ProcessIdentity, str] = {}
    sessions: dict[tuple[str, int], str] = {}
    for server in servers:
        name = server.settings.name
        if server.found is not None:
            mains[server.found.process.identity] = name
            mains.update((worker.identity, name) for worker in server.found.workers)
        run = server.run
        if run is not None and run.alive:
            mains.update((identity, name) for identity in (run.child, run.supervisor) if identity is not None)
            if run.supervisor is not None and run.session_id is not None:
                sessions[run.supervisor.boot_id, run.session_id] = name
    return mains, sessions


def is_of_a_run(found: FoundServer, runs: Iterable[Run]) -> bool:
    """k2tui started it, as one of these runs."""
    return any(_is_of(found.process, run) or found.log == run.log_path for run in runs)


def _is_of(process: NodeProcess, run: Run) -> bool:
    if process.identity in (run.child, run.supervisor):
        return True
    boot = run.supervisor.boot_id if run.supervisor is not None else None
    return run.alive is True and process.session == run.session_id and process.identity.boot_id == boot


def writes_a_run_log(found: FoundServer) -> bool:
    """Its log lies in a run's directory: some k2tui started it, perhaps another operator's, perhaps this moment."""
    return found.log is not None and _RUN_LOG.search(found.log) is not None


def with_gpus(found: FoundServer, gpus: Sequence[GpuReading], held: Collection[GpuProcess]) -> FoundServer:
    """The server with the GPUs that it or its workers hold, as far as the driver's list tells."""
    pids = {found.process.pid, *(worker.pid for worker in found.workers)}
    uuids = {each.gpu_uuid for each in held if each.pid in pids}
    indices = tuple(sorted(gpu.index for gpu in gpus if gpu.uuid in uuids))
    return found if indices == found.gpus else replace(found, gpus=indices)


def adopts(found: FoundServer, servers: Iterable[ServerSettings]) -> str | None:
    """The server of the config that a found one is, because it has its log or its port; None when it is none.

    `servers` are those of its node. What lies on the log of a watched server, or on the port that one would be started
    on, is that server, although somebody else started it.
    """
    candidates = list(servers)
    for server in candidates:
        if server.log is not None and found.log is not None and _same_path(server.log, found.log):
            return server.name
    for server in candidates:
        port = server.port if server.port is not None or server.log else DEFAULT_PORTS[server.engine]
        if found.port is not None and port == found.port:
            return server.name
    return None


def _same_path(written: str, real: str) -> bool:
    """A path of the config is the real one, as far as its text tells: `~` is some home directory."""
    return written == real or (written.startswith("~/") and real.endswith(written[1:]))


def not_ours(found: FoundServer, name: str) -> K2Error:
    """Why a server that somebody else started is neither stopped nor started anew."""
    process = found.process
    parts = [f"{name} was started by {process.user}", "not by k2tui", f"pid {process.pid}"]
    if found.container is not None:
        parts.append(f"in {found.container}")
    if process.began_at is not None:
        began = datetime.fromtimestamp(process.began_at, timezone.utc)
        parts.append(f"since {began:%Y-%m-%d %H:%M} UTC")
    return K2Error(
        f"{', '.join(parts)}: k2tui only looks at it",
        code="not_ours",
        subject=name,
        hint=f"stop it as {process.user} on the node; to start it from here the next time, put the config lines into "
        "your config that key i shows and `k2tui servers --json` has as adopt_toml",
    )

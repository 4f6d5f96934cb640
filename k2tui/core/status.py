"""One word for a server, joined from what its witnesses say. No single witness makes it READY."""

from __future__ import annotations

from k2tui.core.launch import Launch, LaunchKind
from k2tui.core.runs import Run
from k2tui.core.views import Proof, ServerStatus

STALE_AFTER_S = 10.0
"""A server not looked at for longer than this, on a node out of reach, is stale."""

_BY_KIND = {
    LaunchKind.LOADING: ServerStatus.LOADING,
    LaunchKind.CRASHED: ServerStatus.CRASHED,
    LaunchKind.HUNG: ServerStatus.HUNG,
    LaunchKind.MISCONFIGURED: ServerStatus.MISCONFIGURED,
    LaunchKind.DEGRADED: ServerStatus.DEGRADED,
    LaunchKind.STOPPED: ServerStatus.DOWN,
}


def server_status(
    *,
    seen_age_s: float | None,
    link_up: bool,
    run: Run | None,
    launch: Launch | None,
    proof: Proof | None,
    watched_only: bool = False,
) -> ServerStatus:
    """The word for a server.

    `seen_age_s` is the age of the last look at its process or log, None before the first. `watched_only` is a
    server that k2tui knows by its log alone: there is no run to ask.
    """
    if seen_age_s is None:
        return ServerStatus.UNKNOWN
    if not link_up and seen_age_s > STALE_AFTER_S:
        return ServerStatus.STALE
    if watched_only:
        return _by_log(launch, proof)
    if run is None:
        return ServerStatus.DOWN
    if run.alive is False:
        return _ended(run, launch)
    return _by_log(launch, proof)


def _ended(run: Run, launch: Launch | None) -> ServerStatus:
    """A run whose process is gone: down when that was asked for, else what its log says of the end."""
    if run.stop_asked:
        return ServerStatus.DOWN
    if launch is not None and launch.kind in (LaunchKind.MISCONFIGURED, LaunchKind.STOPPED):
        return _BY_KIND[launch.kind]
    return ServerStatus.CRASHED


def _by_log(launch: Launch | None, proof: Proof | None) -> ServerStatus:
    if launch is None:
        return ServerStatus.LOADING
    if launch.kind is not LaunchKind.READY:
        return _BY_KIND[launch.kind]
    if proof is None:
        return ServerStatus.UNPROVED
    return ServerStatus.READY if proof.ok else ServerStatus.DEGRADED

"""One word for a server, joined from what its witnesses say. No single witness makes it READY."""

from __future__ import annotations

from dataclasses import replace

from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
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
    answers: bool = False,
    dead: bool = False,
    found: bool | None = None,
    http_ok: bool | None = None,
    generates: bool = False,
) -> ServerStatus:
    """The word for a server.

    `seen_age_s` is the age of the last look at its process or log, None before the first. `watched_only` is a
    server that k2tui knows by its log alone: there is no run to ask. `answers`: as `answers_all_the_same` has it;
    a silence is no more than a suspicion, and an answer wins over it. `dead`: its scheduler is gone or gives no sign
    of life, whatever its HTTP side says. `found`: somebody else started it, and its process is there (True) or gone
    (False); where it has no log that can be read, `http_ok` says how far it came. `generates`: its own count of
    tokens grows, so it answers others; what somebody else started is not asked while it is busy, so that is enough.
    """
    status = _by_witnesses(
        seen_age_s=seen_age_s,
        link_up=link_up,
        run=run,
        launch=without_silence(launch) if answers and launch is not None else launch,
        proof=proof,
        watched_only=watched_only,
        found=found,
        http_ok=http_ok,
    )
    if found and generates and status is ServerStatus.UNPROVED:
        status = ServerStatus.READY
    return ServerStatus.HUNG if dead and status in _SERVES else status


_SERVES = (ServerStatus.READY, ServerStatus.UNPROVED, ServerStatus.DEGRADED)


def _by_witnesses(
    *,
    seen_age_s: float | None,
    link_up: bool,
    run: Run | None,
    launch: Launch | None,
    proof: Proof | None,
    watched_only: bool,
    found: bool | None,
    http_ok: bool | None,
) -> ServerStatus:
    if seen_age_s is None:
        return ServerStatus.UNKNOWN
    if not link_up and seen_age_s > STALE_AFTER_S:
        return ServerStatus.STALE
    if watched_only:
        return _by_log(launch, proof)
    if found is not None:
        return _of_found(found, launch, proof, http_ok)
    if run is None:
        return ServerStatus.DOWN
    if run.alive is False:
        return _ended(run, launch)
    return _by_log(launch, proof)


def is_hung_by_silence(launch: Launch | None) -> bool:
    """Its log says that it came up, and then nothing where something should stand; no line says that it failed."""
    return (
        launch is not None
        and launch.kind is LaunchKind.HUNG
        and launch.phase.order >= LaunchPhase.READY.order
        and launch.failed_at is None
    )


def answers_all_the_same(
    launch: Launch | None,
    *,
    silent_s: float | None,
    proof: Proof | None,
    proof_age_s: float | None,
    idle_age_s: float | None,
) -> bool:
    """What looks hung by its log has answered since: a completion, or HTTP that says it is well and has nothing to do.

    `idle_age_s` is the age of such an HTTP answer, None without one. A completion that failed since wins over it.
    """
    if silent_s is None or not is_hung_by_silence(launch):
        return False
    if proof is not None and proof_age_s is not None and proof_age_s < silent_s:
        return proof.ok
    return idle_age_s is not None and idle_age_s < silent_s


def without_silence(launch: Launch) -> Launch:
    """A launch that looked hung, as it is when its silence means nothing."""
    if not is_hung_by_silence(launch):
        return launch
    return replace(launch, kind=LaunchKind.READY, detail=None, cause=None, silence=None)


def _ended(run: Run, launch: Launch | None) -> ServerStatus:
    """A run whose process is gone: down when that was asked for, else what its log says of the end."""
    if run.stop_asked:
        return ServerStatus.DOWN
    if launch is not None and launch.kind in (LaunchKind.MISCONFIGURED, LaunchKind.STOPPED):
        return _BY_KIND[launch.kind]
    return ServerStatus.CRASHED


def _of_found(there: bool, launch: Launch | None, proof: Proof | None, http_ok: bool | None) -> ServerStatus:
    """A server of somebody else: nobody knows whether its end was asked for, and its log may not be readable."""
    if not there:
        failed = launch is not None and launch.kind in (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED)
        return _BY_KIND[launch.kind] if launch is not None and failed else ServerStatus.DOWN
    if launch is not None and launch.spans and not (launch.kind is LaunchKind.LOADING and http_ok):
        return _by_log(launch, proof)
    if not http_ok:
        return ServerStatus.LOADING
    return ServerStatus.UNPROVED if proof is None else ServerStatus.READY if proof.ok else ServerStatus.DEGRADED


def _by_log(launch: Launch | None, proof: Proof | None) -> ServerStatus:
    if launch is None:
        return ServerStatus.LOADING
    if launch.kind is not LaunchKind.READY:
        return _BY_KIND[launch.kind]
    if proof is None:
        return ServerStatus.UNPROVED
    return ServerStatus.READY if proof.ok else ServerStatus.DEGRADED

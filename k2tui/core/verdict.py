"""What a launch is, once somebody looked at its process: crashed, hung, slow, or up and wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from k2tui.core.bar_steps import target_bar
from k2tui.core.clock import placed
from k2tui.core.failing import best_suspect
from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase
from k2tui.core.probes import chat_timed_out, finding

LIMITS_S: Mapping[LaunchPhase, float] = {
    LaunchPhase.ARGS: 300.0,
    LaunchPhase.DISTRIBUTED: 120.0,
    LaunchPhase.WEIGHTS: 120.0,
    LaunchPhase.POSTPROCESS: 300.0,
    LaunchPhase.KV_CACHE: 300.0,
    LaunchPhase.CUDA_GRAPH: 300.0,
    LaunchPhase.WARMUP: 120.0,
    LaunchPhase.READY: 120.0,
    LaunchPhase.SERVING: 300.0,
}
"""How long a phase may be silent at least, whatever its own pace was."""

_GAPS = 6.0
"""A silence this many times as long as the longest before it is no pause any more."""
_SLOW_WORK_S = 1200.0
"""Compilations of kernels are silent for many minutes."""
_BAR_TIMES = 2.0
"""Repacking the weights may take this many times as long as reading them did."""
_SLOW_S = 30.0
_DEAD_UNDER_PARENT_S = 30.0
"""A parent cleans up within seconds of its scheduler's end; one that lives longer will not."""

_ASKED_EXITS = frozenset((143, 130, -15, -2))
"""Ended by SIGTERM or SIGINT."""
_REFUSED_EXIT = 2


def limit_s(launch: Launch) -> float:
    """How long the launch may be silent where it is, by its phase and its own pace."""
    least = LIMITS_S[launch.phase]
    if launch.phase in (LaunchPhase.WEIGHTS, LaunchPhase.CUDA_GRAPH):
        least = max(least, _GAPS * launch.largest_gap_s)
    if launch.phase is LaunchPhase.POSTPROCESS:
        bar = target_bar(launch)
        least = max(least, _BAR_TIMES * (bar.elapsed_s or 0) if bar is not None else 0.0)
    compiles = launch.phase is LaunchPhase.CUDA_GRAPH and launch.args.get("enable_torch_compile") == "True"
    return max(least, _SLOW_WORK_S) if launch.slow_work or compiles else least


def silence_s(launch: Launch, now: float | None) -> float | None:
    """Seconds since the last real progress, or since it failed; None where a clock is missing."""
    since = launch.quiet_since if launch.quiet_since is not None else launch.failed_at
    if now is None or since is None:
        return None
    return max(0.0, now - placed(since, now))


def observed(
    launch: Launch,
    *,
    now: float | None,
    process_alive: bool | None,
    exit_code: int | None = None,
    stop_asked: bool = False,
    probe: Mapping[str, object] | None = None,
) -> Launch:
    """The launch of a log in the light of what is known besides. `now` is the node's log clock."""
    quiet_s = silence_s(launch, now)
    launch = replace(launch, silence_s=quiet_s)
    if exit_code is not None or process_alive is False:
        return replace(launch, kind=LaunchKind.STOPPED, detail=None) if stop_asked else _gone(launch, exit_code)
    if launch.kind is LaunchKind.CRASHED:
        return _dead_under_parent(launch, now) if process_alive else launch
    if launch.kind in (LaunchKind.STOPPED, LaunchKind.MISCONFIGURED):
        return launch
    if probe is not None and (serves(launch) or launch.is_job):
        if chat_timed_out(probe):
            return replace(launch, kind=LaunchKind.HUNG, detail=None, cause=_silent_cause(launch, believe_health=True))
        if (found := finding(probe)) is not None:
            kind = LaunchKind.MISCONFIGURED if found[1] else LaunchKind.DEGRADED
            return replace(launch, kind=kind, finding=found[0], detail=None)
    if serves(launch) and launch.other_port is not None:
        return replace(launch, kind=LaunchKind.MISCONFIGURED, cause=launch.other_port)
    if quiet_s is None:
        return launch
    return _by_silence(launch, quiet_s, process_alive)


def serves(launch: Launch) -> bool:
    """The server is up by its own word."""
    return launch.kind is LaunchKind.READY


def _gone(launch: Launch, exit_code: int | None) -> Launch:
    """The process is no more."""
    if launch.kind in (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED, LaunchKind.STOPPED):
        return launch
    suspect = best_suspect(launch)
    if suspect is None and (exit_code == 0 or exit_code in _ASKED_EXITS):
        return replace(launch, kind=LaunchKind.STOPPED, detail=None)
    kind = LaunchKind.CRASHED
    if exit_code == _REFUSED_EXIT and launch.phase is LaunchPhase.ARGS:
        kind = LaunchKind.MISCONFIGURED
    cause = launch.cause if suspect is None else suspect.cause
    return replace(launch, kind=kind, detail=None, cause=cause)


def _dead_under_parent(launch: Launch, now: float | None) -> Launch:
    """A scheduler that failed under a parent that lives on: nothing will come of it any more."""
    if now is None or launch.failed_at is None:
        return launch
    if now - placed(launch.failed_at, now) <= _DEAD_UNDER_PARENT_S:
        return launch
    return replace(launch, kind=LaunchKind.HUNG, cause=launch.cause or _silent_cause(launch))


def _by_silence(launch: Launch, quiet_s: float, process_alive: bool | None) -> Launch:
    if serves(launch):
        return _silent_server(launch, quiet_s, process_alive)
    if launch.phase is LaunchPhase.WARMUP and launch.args.get("node_rank", "0") != "0":
        return launch  # a further node never says that it is ready
    limit = limit_s(launch)
    if quiet_s > limit:
        if not process_alive:
            return replace(launch, detail="stalled")
        return replace(launch, kind=LaunchKind.HUNG, detail=None, cause=_silent_cause(launch))
    if quiet_s >= max(_SLOW_S, limit / 2) or launch.largest_gap_s >= _SLOW_S:
        return replace(launch, detail="slow")
    return launch


def _silent_server(launch: Launch, quiet_s: float, process_alive: bool | None) -> Launch:
    """A server that is up may be silent; with requests in its batch it may not."""
    busy = bool(launch.traffic.running)
    doubt = launch.health_failed is not None
    if process_alive and (busy or doubt) and quiet_s > (LIMITS_S[LaunchPhase.SERVING if busy else LaunchPhase.READY]):
        return replace(launch, kind=LaunchKind.HUNG, detail=None, cause=_silent_cause(launch, believe_health=doubt))
    if busy and quiet_s > _SLOW_S:
        return replace(launch, detail="stalled")
    return launch


def _silent_cause(launch: Launch, *, believe_health: bool = False) -> Cause | None:
    """The line that explains a silence: a wait message, a failed health check, else the last line of progress."""
    if launch.waiting is not None:
        return launch.waiting
    if believe_health and launch.health_failed is not None:
        return launch.health_failed
    return progress_line(launch, "silence")


def progress_line(launch: Launch, failure: str) -> Cause | None:
    """The last line of real progress, as a cause of that class."""
    mark = launch.mark
    return None if mark is None else Cause(mark.line, mark.line_number, mark.rank, failure)

"""What a launch is, once somebody looked at its process: crashed, hung, slow, or up and wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from k2tui.core.byte_progress import with_bytes
from k2tui.core.clock import placed
from k2tui.core.failing import best_suspect
from k2tui.core.findings import of_probed_port, runs_otherwise
from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase
from k2tui.core.patience import LIMITS_S, limit_of
from k2tui.core.probes import asked_port, chat_timed_out, finding
from k2tui.core.silence import Silence, SilenceWord
from k2tui.core.silence_verdict import NOT_SEEN, SLOW_S, has_long_pauses, judge
from k2tui.core.surroundings import NOTHING_KNOWN, Surroundings

__all__ = ["LIMITS_S", "limit_s", "observed", "progress_line", "serves", "silence_s"]

_DEAD_UNDER_PARENT_S = 30.0
"""A parent cleans up within seconds of its scheduler's end; one that lives longer will not."""

_ASKED_EXITS = frozenset((143, 130, -15, -2))
"""Ended by SIGTERM or SIGINT."""
_REFUSED_EXIT = 2


def limit_s(launch: Launch, around: Surroundings = NOTHING_KNOWN) -> float:
    """How long the launch may be silent where it is, by its phase, its own pace and its history."""
    return limit_of(launch, around).seconds


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
    around: Surroundings = NOTHING_KNOWN,
) -> Launch:
    """The launch of a log in the light of what is known besides. `now` is the node's log clock."""
    quiet_s = silence_s(launch, now)
    launch = replace(with_bytes(launch, around.checkpoint), silence_s=quiet_s)
    if exit_code is not None or process_alive is False:
        return replace(launch, kind=LaunchKind.STOPPED, detail=None) if stop_asked else _gone(launch, exit_code)
    if launch.kind is LaunchKind.CRASHED:
        return _dead_under_parent(launch, now) if process_alive else launch
    if launch.kind in (LaunchKind.STOPPED, LaunchKind.MISCONFIGURED):
        return launch
    if probe is not None:
        launch = of_probed_port(launch, asked_port(probe))
    if serves(launch) and (otherwise := runs_otherwise(launch)) is not None:
        return replace(launch, kind=LaunchKind.MISCONFIGURED, finding=otherwise.name)
    if probe is not None and (serves(launch) or launch.is_job):
        if chat_timed_out(probe):
            return replace(launch, kind=LaunchKind.HUNG, detail=None, cause=_silent_cause(launch, believe_health=True))
        if (found := finding(probe)) is not None:
            kind = LaunchKind.MISCONFIGURED if found[1] else LaunchKind.DEGRADED
            return replace(launch, kind=kind, finding=found[0], detail=None)
    if quiet_s is None:
        return launch
    return _by_silence(launch, quiet_s, process_alive, around)


def serves(launch: Launch) -> bool:
    """The server is up by its own word."""
    return launch.kind is LaunchKind.READY


def _gone(launch: Launch, exit_code: int | None) -> Launch:
    """The process is no more."""
    if launch.kind in (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED, LaunchKind.STOPPED):
        return launch
    suspect = best_suspect(launch)
    if (suspect is None or not suspect.fatal) and (exit_code == 0 or exit_code in _ASKED_EXITS):
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


def _by_silence(launch: Launch, quiet_s: float, process_alive: bool | None, around: Surroundings) -> Launch:
    if serves(launch):
        return _silent_server(launch, quiet_s, process_alive)
    if launch.phase is LaunchPhase.WARMUP and launch.args.get("node_rank", "0") != "0":
        return launch  # a further node never says that it is ready
    silence = judge(launch, quiet_s, process_alive, around)
    launch = replace(launch, silence=silence)
    match None if silence is None else silence.word:
        case SilenceWord.HUNG:
            return replace(launch, kind=LaunchKind.HUNG, detail=None, cause=_silent_cause(launch))
        case SilenceWord.STALLED:
            return replace(launch, detail="stalled")
        case SilenceWord.SLOW:
            return replace(launch, detail="slow")
        case SilenceWord.HEALTHY:
            return launch
        case None:
            return replace(launch, detail="slow") if has_long_pauses(launch, around) else launch


def _silent_server(launch: Launch, quiet_s: float, process_alive: bool | None) -> Launch:
    """A server that is up may be silent. One whose own health check failed hangs; one whose last batch line had
    requests is only doubted: a streamed request ends without a line."""
    busy = bool(launch.traffic.running)
    doubt = launch.health_failed is not None
    limit = LIMITS_S[LaunchPhase.SERVING if busy else LaunchPhase.READY]
    by = "requests are in its batch" if busy else "its health check failed"
    if process_alive and doubt and quiet_s > limit:
        silence = Silence(SilenceWord.HUNG, limit, by, (NOT_SEEN,))
        cause = _silent_cause(launch, believe_health=doubt)
        return replace(launch, kind=LaunchKind.HUNG, detail=None, cause=cause, silence=silence)
    if busy and quiet_s > SLOW_S:
        return replace(launch, detail="stalled", silence=Silence(SilenceWord.STALLED, SLOW_S, by, (NOT_SEEN,)))
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

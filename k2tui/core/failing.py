"""How a launch fails: lines that may explain it, the best of them, and the phase of the rank that failed."""

from __future__ import annotations

from dataclasses import replace

from k2tui.core.facts import Fault
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase, Suspect
from k2tui.core.movement import OVER, cause_of

_SUSPECTS = 24

_OOM_BY_PHASE = {
    LaunchPhase.ARGS: "oom_start",
    LaunchPhase.DISTRIBUTED: "oom_start",
    LaunchPhase.WEIGHTS: "oom_weights",
    LaunchPhase.POSTPROCESS: "oom_weights",
    LaunchPhase.KV_CACHE: "oom_kv",
    LaunchPhase.CUDA_GRAPH: "oom_graphs",
    LaunchPhase.WARMUP: "oom_serving",
    LaunchPhase.READY: "oom_serving",
    LaunchPhase.SERVING: "oom_serving",
}


def suspected(launch: Launch, fault: Fault, now: float | None) -> Launch:
    """The launch with one more line that may explain a failure; it has failed when that line's process did."""
    if launch.kind is LaunchKind.STOPPED:
        return launch
    phase = _phase_of(launch, fault)
    failure = _OOM_BY_PHASE[phase] if fault.failure == "oom" else fault.failure
    refusal = fault.refusal and launch.phase is LaunchPhase.ARGS
    suspect = Suspect(
        cause_of(fault.line, failure), fault.text, int(fault.standing), fault.fatal, refusal, fault.chain, phase, now
    )
    kept = launch.suspects
    place = next((at for at, old in enumerate(kept) if fault.chain and old.chain == fault.chain), None)
    if place is not None:
        kept = (*kept[:place], suspect, *kept[place + 1 :])
    elif len(kept) < _SUSPECTS:
        kept = (*kept, suspect)
    elif not fault.fatal:
        kept = (*kept[1:], suspect)
    launch = replace(launch, suspects=kept, engine=launch.engine or fault.engine)
    if fault.fatal or launch.kind in OVER:
        return fail(launch, now)
    return launch


def _phase_of(launch: Launch, fault: Fault) -> LaunchPhase:
    """Where the rank that failed had got to."""
    named = fault.phase
    if named is LaunchPhase.SERVING and launch.spans and launch.phase.order < LaunchPhase.READY.order:
        named = LaunchPhase.WARMUP  # the scheduler's loop runs, but nothing was served yet
    if named is not None:
        return named
    if fault.refusal:
        return LaunchPhase.ARGS
    own = launch.rank_phases.get(fault.line.rank or "")
    if fault.chain and own is not None and launch.phase.order < LaunchPhase.READY.order:
        return own
    return launch.phase


def fail(launch: Launch, now: float | None) -> Launch:
    """The launch has failed; the best line so far explains it."""
    if launch.kind is LaunchKind.STOPPED:
        return launch
    suspect = best_suspect(launch)
    kind = LaunchKind.MISCONFIGURED if suspect is not None and suspect.refusal else LaunchKind.CRASHED
    failed_at = now if launch.failed_at is None else launch.failed_at
    launch = replace(launch, kind=kind, detail=None, failed_at=failed_at)
    if suspect is None:
        return launch
    phase = suspect.phase or launch.phase
    if not launch.spans and phase is LaunchPhase.ARGS:  # an excerpt: another rank's stack may tell where they all were
        phase = (
            next((one.phase for one in launch.suspects if one.phase not in (None, LaunchPhase.ARGS)), phase) or phase
        )
    return replace(launch, cause=suspect.cause, phase=phase)


def best_suspect(launch: Launch) -> Suspect | None:
    """The line that explains most; of equals one that ended its process, then the first that said so."""
    best = max(launch.suspects, key=lambda suspect: (suspect.standing, suspect.fatal), default=None)
    if best is None:
        return None
    said_first = next(suspect for suspect in launch.suspects if suspect.text == best.text)
    return replace(best, cause=said_first.cause)

"""Launches made of durations, for what compares them."""

from __future__ import annotations

from collections.abc import Mapping

from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import PHASES, Bar, Launch, LaunchKind, LaunchPhase, PhaseSpan, Progress

P = LaunchPhase
KEY = LaunchKey("gpu-a", "/models/kimi", "sglang", "c0ffee")
OTHER_FLAGS = LaunchKey("gpu-a", "/models/kimi", "sglang", "decaf")
BEGAN = 1_780_000_000.0
TOOK: Mapping[LaunchPhase, float] = {
    P.ARGS: 20.0,
    P.DISTRIBUTED: 5.0,
    P.WEIGHTS: 10.0,
    P.POSTPROCESS: 220.0,
    P.KV_CACHE: 2.0,
    P.CUDA_GRAPH: 40.0,
    P.WARMUP: 6.0,
}


def past(
    number: int = 1,
    *,
    key: LaunchKey = KEY,
    ready: bool = True,
    cached_share: float | None = None,
    without: tuple[LaunchPhase, ...] = (),
    **took_s: float,
) -> PastLaunch:
    """An earlier launch with these seconds in place of the usual ones."""
    phases = {**TOOK, **{P(name): seconds for name, seconds in took_s.items()}}
    phases = {phase: seconds for phase, seconds in phases.items() if phase not in without}
    return PastLaunch(
        run_id=f"run-{number}",
        server="kimi",
        key=key,
        began_at=BEGAN + number,
        kind=LaunchKind.READY if ready else LaunchKind.CRASHED,
        phases_s=phases,
        ready_s=sum(phases.values()) if ready else None,
        cached_share=cached_share,
    )


def launch(
    phase: LaunchPhase = P.READY,
    *,
    bars: tuple[Bar, ...] = (),
    kind: LaunchKind | None = None,
    without: tuple[LaunchPhase, ...] = (),
    **took_s: float,
) -> Launch:
    """A launch that has come to `phase`, with these seconds in place of the usual ones."""
    took = {**TOOK, P.READY: 30.0, **{P(name): seconds for name, seconds in took_s.items()}}
    spans: list[PhaseSpan] = []
    at = BEGAN
    for passed in PHASES[: phase.order]:
        if passed not in without and passed in took:
            spans.append(PhaseSpan(passed, at, at + took[passed]))
            at += took[passed]
    spans.append(PhaseSpan(phase, at, None))
    if kind is None:
        kind = LaunchKind.READY if phase.order >= P.READY.order else LaunchKind.LOADING
    return Launch(phase=phase, kind=kind, spans=tuple(spans), bars=bars, args={"model_path": KEY.model})


def now_in(launch: Launch, seconds: float) -> float:
    """The log clock, so long after the present phase began."""
    began = launch.spans[-1].began
    assert began is not None
    return began + seconds


def bar(*points: tuple[float, int], total: int = 64, phase: LaunchPhase = P.WEIGHTS, began: float = 0.0) -> Bar:
    """A bar with these steps: (seconds after `began`, done)."""
    progress = Progress(points[-1][1], total, "shards", "Multi-thread loading shards")
    return Bar(progress, phase, points=tuple((began + at, done) for at, done in points))

"""What a load generator tells, in small: requests, counters and a whole measurement that every gate likes."""

from __future__ import annotations

from typing import Any

from k2tui.core.benching.facts import ClientCost, Counters, Flush, Measured, PointFigures, RequestFigures
from k2tui.core.benching.gates import gates_of
from k2tui.core.benching.plan import BenchPlan, BenchTarget
from k2tui.core.benching.result import GateResult, GpuSample

NODE = BenchTarget("kimi", port=30000, node="gpu-a")
URL = BenchTarget("http://gpu-a:30000", port=30000)


def asked(number: int = 0, decode_tps: float | None = 90.0, **other: Any) -> RequestFigures:
    """A request that ended by its length."""
    usual: dict[str, Any] = {
        "c": 1,
        "began_s": float(number),
        "e2e_ms": 3000.0,
        "isl": 400,
        "osl": 256,
        "cached": 3,
        "ttft_any_ms": 120.0,
        "ttft_answer_ms": 150.0,
        "e2e_tps": 85.0,
        "chunks": 256,
        "finish": "length",
    }
    return RequestFigures(**{"number": number, "decode_tps": decode_tps, **usual, **other})


def counters(when: str, **other: Any) -> Counters:
    return Counters(0.0, when, **{"running": 0.0, "queued": 0.0, **other})


def told(*requests: RequestFigures, **other: Any) -> Measured:
    """A measurement whose counters know these requests and no others; three requests where none are given."""
    mine = requests or (asked(0, 90.0), asked(1, 91.0), asked(2, 92.0))
    tokens, prompts = sum(one.osl or 0 for one in mine), sum(one.isl or 0 for one in mine)
    usual: dict[str, Any] = {
        "formula_set": "k2-1",
        "prompt_set": "ab" * 32,
        "model": "kimi-k2",
        "requests": mine,
        "points": (PointFigures(1, agg_tps_total=80.0, wall_s=10.0, sent=len(mine), icl_ms={10.0: 90, 12.0: 10}),),
        "counters": (
            counters("before", generation_tokens=1e6, prompt_tokens=2e6, cached_tokens=0.0, requests=500.0),
            counters(
                "after",
                generation_tokens=1e6 + tokens,
                prompt_tokens=2e6 + prompts,
                cached_tokens=3.0 * len(mine),
                requests=500.0 + len(mine),
            ),
        ),
        "clients": (ClientCost(1, lag_p50_ms=0.1, lag_p99_ms=0.9, cpu_share=0.05),),
        "wall_s": 12.0,
        "ended": True,
    }
    return Measured(**{**usual, **other})


def gate(name: str, measured: Measured, plan: BenchPlan | None = None, **other: Any) -> GateResult:
    """One of the seven."""
    target = other.pop("target", NODE)
    found = gates_of(measured, plan=plan or BenchPlan(), target=target, **other)
    return next(one for one in found if one.id == name)


def clocks(*mhz: float | None, gpu: int = 0, held_back: tuple[str, ...] = ()) -> list[GpuSample]:
    return [GpuSample(float(at), gpu, clock_mhz=clock, held_back=held_back) for at, clock in enumerate(mhz)]


EMPTIED = Flush(0.0, True)

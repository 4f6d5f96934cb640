"""Benchmarks of several starts of a server, as a comparison gets them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k2tui.core.benching.facts import RequestFigures
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchResult, BenchSystem, GateResult

SYSTEM = BenchSystem(
    model="/shared/kimi",
    engine="sglang",
    version="0.5.9",
    argv=(("tp-size", "8"),),
    env=(("NCCL_PROTO", "Simple"),),
    gpus="8 × NVIDIA H200",
)
WORK: Mapping[str, object] = {"max_tokens": 256, "concurrencies": [1], "policy": "fresh"}
RED = (GateResult("G2", False, "another client was active"),)


def with_env(**env: str) -> BenchSystem:
    """The usual system with other variables."""
    return BenchSystem(
        model=SYSTEM.model,
        engine=SYSTEM.engine,
        version=SYSTEM.version,
        argv=SYSTEM.argv,
        env=tuple(sorted(env.items())),
        gpus=SYSTEM.gpus,
    )


def bench(number: int, tps: float | None, *, prefix: str = "a", **changes: Any) -> BenchResult:
    """A quick figure of one start."""
    usual: dict[str, Any] = {
        "bench_id": f"{prefix}-{number}",
        "subject": "kimi",
        "node": "gpu-a",
        "procedure": Procedure.QUICK,
        "began_at": float(number),
        "formula_set": "k2-1",
        "run_id": f"run-{prefix}-{number}",
        "decode_tps": tps,
        "workload_key": "work-1",
        "workload": WORK,
        "system": SYSTEM,
        "system_key": "system-1",
    }
    return BenchResult(**{**usual, **changes})


def starts(values: Iterable[float], *, prefix: str = "a", **changes: Any) -> list[BenchResult]:
    """One benchmark of each of several starts."""
    return [bench(number, value, prefix=prefix, **changes) for number, value in enumerate(values)]


def requests(rates: Sequence[float]) -> tuple[RequestFigures, ...]:
    """Requests of one stream with these tok/s."""
    return tuple(RequestFigures(c=1, number=n, began_s=float(n), decode_tps=rate) for n, rate in enumerate(rates))

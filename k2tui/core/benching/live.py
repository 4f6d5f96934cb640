"""A benchmark that goes on: what it tells while it does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchResult
from k2tui.core.errors import ExitCode


@dataclass(frozen=True, slots=True)
class BenchLive:
    """How far a benchmark is, and the figure so far."""

    bench_id: str
    procedure: Procedure
    began_at: float
    """time.monotonic."""
    text: str
    """A few words on what it does: `request 2 of 3`, `8 streams, 12 s of 30`."""
    c: int | None = None
    fraction: float | None = None
    """0 to 1; None where its end is not known."""
    decode_tps: float | None = None
    """Provisional tok/s of one stream; None before the first."""
    total_tps: float | None = None
    """Provisional tok/s of all streams."""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class BenchEvent:
    """One step of a benchmark; one JSON line each under `--json`."""

    type: str
    """clients | connected | figure | request | point | flush | gate | note | result | done."""
    subject: str
    elapsed_s: float
    text: str
    """One sentence for a person."""
    live: BenchLive | None = None
    result: BenchResult | None = None
    """Only on `result`."""
    data: Mapping[str, object] = field(default_factory=dict)
    exit_code: ExitCode | None = None
    """Only on `done`: DONE when it is valid, BAD when it was measured and a gate is red, or when it failed."""

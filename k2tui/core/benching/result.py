"""A benchmark that was made: its figures, its gates, and the keys that say what it may be compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from k2tui.core.benching.facts import PrefillSlope, RequestFigures
from k2tui.core.benching.plan import Procedure


@dataclass(frozen=True, slots=True)
class Spread:
    """A distribution in a few numbers, all in the unit of what it is of."""

    n: int | None
    """How many values; None, as `p90` and `largest`, only where another tool did not write it."""
    p50: float
    p90: float | None = None
    largest: float | None = None
    p99: float | None = None
    """None below a hundred values: there is no such percentile."""
    smallest: float | None = None


@dataclass(frozen=True, slots=True)
class GateResult:
    """One condition that a run must meet to be compared."""

    id: str
    """G1 to G7."""
    ok: bool | None
    """None: could not be told."""
    reason: str
    """One sentence, also when it is met."""


@dataclass(frozen=True, slots=True)
class BenchPoint:
    """One concurrency."""

    c: int
    agg_tps_steady: float | None = None
    """Total tok/s of all streams in the steady window."""
    agg_tps_total: float | None = None
    """Total tok/s over the whole time."""
    steady: bool = False
    window_s: float | None = None
    decode_tps: float | None = None
    """Median tok/s of one stream, without prefill."""
    sent: int = 0
    failed: int | None = 0
    """None: another tool did not write it."""
    output_tokens: int | None = None
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """ttft_any_ms, ttft_answer_ms, e2e_ms, decode_tps, icl_ms, itl_ms; absent where there are no values."""
    tokens_per_chunk: Mapping[int, int] = field(default_factory=dict)
    wall_s: float | None = None
    prompt_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class GpuSample:
    """One GPU while it was measured."""

    at_s: float
    """From the run's start."""
    gpu: int
    clock_mhz: float | None = None
    power_w: float | None = None
    temp_c: float | None = None
    held_back: tuple[str, ...] = ()
    """What holds its clocks down, a word each; idle is none."""


@dataclass(frozen=True, slots=True)
class BenchSystem:
    """What was measured, as far as it bears on speed; None where it is not known. Secrets are masked."""

    model: str | None = None
    revision: str | None = None
    """A mark of the model's files: its config's SHA-256, or a revision."""
    quantization: str | None = None
    engine: str | None = None
    version: str | None = None
    argv: tuple[tuple[str, str], ...] = ()
    """Flags with their values, normalised and sorted: full names with dashes; without ports, names, logs and keys."""
    env: tuple[tuple[str, str], ...] = ()
    """NCCL_*, SGLANG_*, CUDA_*, TORCH_*, VLLM_*, sorted."""
    image: str | None = None
    gpus: str | None = None
    """`8 × NVIDIA H200`."""
    driver: str | None = None
    power_limit_w: float | None = None
    topology: str | None = None


@dataclass(frozen=True, slots=True)
class BenchResult:
    """One benchmark, whole. In lists `requests` and `samples` may be left out."""

    bench_id: str
    """YYYYMMDDTHHMMSSZ-xxxx, this machine's clock."""
    subject: str
    """The server's name, or a URL."""
    node: str | None
    procedure: Procedure
    began_at: float
    """Unix time."""
    tool: str = "k2tui"
    tool_version: str = ""
    formula_set: str = ""
    run_id: str | None = None
    """The run of the server that was measured: the replicate of a comparison."""
    series_id: str | None = None
    """The A/B or matrix that it is part of."""
    profile: str | None = None
    elapsed_s: float | None = None
    decode_tps: float | None = None
    """Median over the requests of one stream, without prefill: the headline of a quick figure."""
    decode_tps_min: float | None = None
    decode_tps_max: float | None = None
    decode_tps_cv: float | None = None
    decode_tps_low: float | None = None
    decode_tps_high: float | None = None
    """95 % interval over the requests of this one run (t); says nothing of another start."""
    e2e_tps: float | None = None
    ttft_any_ms: float | None = None
    ttft_answer_ms: float | None = None
    tpot_ms: float | None = None
    """1000 / decode_tps."""
    slope: PrefillSlope | None = None
    points: tuple[BenchPoint, ...] = ()
    requests: tuple[RequestFigures, ...] = ()
    gates: tuple[GateResult, ...] = ()
    samples: tuple[GpuSample, ...] = ()
    workload_key: str | None = None
    workload: Mapping[str, object] = field(default_factory=dict)
    """What the workload key is the hash of."""
    system_key: str | None = None
    system: BenchSystem = BenchSystem()
    notes: tuple[str, ...] = ()
    """What an operator should know, a sentence each: `c_first assumed`, ended early."""
    error: str | None = None
    """Why it failed; what was measured is kept."""
    is_base: bool = False
    """The operator made it the base of its server."""

    @property
    def valid(self) -> bool:
        """No gate is red, nothing failed, and there is a figure: it may be compared."""
        return self.error is None and not any(gate.ok is False for gate in self.gates) and self.headline is not None

    @property
    def headline(self) -> float | None:
        """The one figure of it: tok/s of one stream; the most total tok/s for a sweep without a single stream; tok/s
        of prefill for a slope."""
        if self.decode_tps is not None:
            return self.decode_tps
        best = self.best_total_tps
        return best if best is not None or self.slope is None else self.slope.prefill_tps

    @property
    def best_total_tps(self) -> float | None:
        """The most tok/s of all streams together: of the steady windows, else over the whole time."""
        steady = [point.agg_tps_steady for point in self.points if point.steady and point.agg_tps_steady is not None]
        whole = [point.agg_tps_total for point in self.points if point.agg_tps_total is not None]
        return max(steady or whole, default=None)

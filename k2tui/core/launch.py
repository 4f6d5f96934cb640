"""The launch model: how far a server came, and what it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class LaunchPhase(Enum):
    """The steps of a launch, in order. A launch stays in the phase where it failed."""

    ARGS = "args"
    DISTRIBUTED = "distributed"
    WEIGHTS = "weights"
    POSTPROCESS = "postprocess"
    """After the bar's 100 %, before `Load weight end` of every rank: repacking, silent for minutes."""
    KV_CACHE = "kv_cache"
    CUDA_GRAPH = "cuda_graph"
    WARMUP = "warmup"
    READY = "ready"
    SERVING = "serving"

    @property
    def order(self) -> int:
        """Place in the sequence, from 0."""
        return PHASES.index(self)


PHASES: tuple[LaunchPhase, ...] = tuple(LaunchPhase)


class LaunchKind(Enum):
    """What a launch is. Definitions: ARCHITECTURE.md, "The launch model"."""

    LOADING = "loading"
    READY = "ready"
    CRASHED = "crashed"
    HUNG = "hung"
    MISCONFIGURED = "misconfigured"
    DEGRADED = "degraded"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class Progress:
    """One bar as it was last drawn."""

    done: int
    total: int
    unit: str
    """What is counted: shards, tensors, graphs, sizes, samples."""
    label: str
    """The bar's own words, without numbers."""
    by: str = "count"
    """`count` or `bytes`: what the fraction is made of."""

    @property
    def fraction(self) -> float:
        """0 to 1."""
        return self.done / self.total


@dataclass(frozen=True, slots=True)
class Cause:
    """The one physical line that explains a failure."""

    line: str
    line_number: int
    """Counts newline-terminated lines of the file, from 1."""
    rank: str | None
    """As printed, such as `TP3` or `DP0 TP1`; None where the line has no rank."""
    failure: str
    """The failure class, such as `oom_weights`, `port_taken`, `bad_argument` (JSON key `class`)."""


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, and where that is known from."""

    text: str
    basis: str
    """`source` (the engine's code or message says so), `thread` (a public report), or `inferred`."""


@dataclass(frozen=True, slots=True)
class PhaseSpan:
    """When a phase began and ended, in seconds of the log's own clock (naive local time of the node)."""

    phase: LaunchPhase
    began: float | None
    ended: float | None
    """None while it lasts, or when no clock was seen."""

    @property
    def elapsed_s(self) -> float | None:
        """Seconds; None while unknown."""
        return None if self.began is None or self.ended is None else self.ended - self.began


@dataclass(frozen=True, slots=True)
class Launch:
    """All that is known of one launch from its log, its process and its probes."""

    phase: LaunchPhase = LaunchPhase.ARGS
    kind: LaunchKind = LaunchKind.LOADING
    detail: str | None = None
    """`slow` or `stalled` while loading; None otherwise."""
    progress: Progress | None = None
    """The last bar until ready; from ready on the target model's weight bar where the log has one."""
    cause: Cause | None = None
    engine: str | None = None
    version: str | None = None
    spans: tuple[PhaseSpan, ...] = ()
    """One for each phase reached, in order of reaching."""
    quiet_since: float | None = None
    """Log clock of the last real progress, None before the first; what the stall rules look at."""
    ranks_expected: int | None = None
    """tp x pp x dp of the server's own arguments; None until they were seen."""
    ranks_seen: frozenset[str] = frozenset()
    ranks_loaded: frozenset[str] = frozenset()
    """Ranks that printed their `Load weight end`."""
    port: int | None = None
    """The port of the HTTP server's own line."""
    model: str | None = None
    kv_tokens: int | None = None
    """`max_total_num_tokens`: the KV cache's capacity in tokens."""

"""The launch model: how far a server came, and what it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from k2tui.core.silence import Silence


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
    """What is counted: shards, tensors, groups, graphs, kernels, samples, items."""
    label: str
    """The bar's own words, without numbers."""
    bytes_done: int | None = None
    """Of the shards that are done; None where sizes or their order are not known."""
    bytes_total: int | None = None

    @property
    def by(self) -> str:
        """`count` or `bytes`: what the fraction is made of."""
        return "count" if self.bytes_done is None or not self.bytes_total else "bytes"

    @property
    def fraction(self) -> float:
        """0 to 1."""
        if self.bytes_done is None or not self.bytes_total:
            return self.done / self.total
        return self.bytes_done / self.bytes_total


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
class Finding:
    """A setting that a clean log hides: without effect, ignored, or not what the model needs."""

    name: str
    """Such as `other_port`, `backend_ignored`, `cpu_fallback`, `no_reasoning_parser`, `dead_flag`."""
    text: str
    """One sentence: what is so, and what to do."""
    basis: str
    """As of `Advice`."""
    line_number: int
    """The line that shows it."""


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
class Bar:
    """A progress bar over its whole life: a second one with the same words is another bar."""

    progress: Progress
    phase: LaunchPhase
    """The phase in which it was drawn."""
    draft: bool = False
    """It belongs to the draft model of speculative decoding."""
    elapsed_s: int | None = None
    """By its own count."""
    points: tuple[tuple[float, int], ...] = ()
    """(log clock, done) of its newest steps, oldest first; at most `BAR_POINTS`."""


BAR_POINTS = 32


@dataclass(frozen=True, slots=True)
class Mark:
    """A line that showed real progress."""

    line: str
    line_number: int
    rank: str | None
    is_bar: bool = False


@dataclass(frozen=True, slots=True)
class Suspect:
    """A line that may explain a failure, with what is needed to choose between several."""

    cause: Cause
    text: str
    """Its message, without what stands in front of it."""
    standing: int
    """`facts.Standing`; higher is better."""
    fatal: bool = False
    """The process that printed it did not live on."""
    refusal: bool = False
    """The engine refused its arguments."""
    chain: int = 0
    phase: LaunchPhase | None = None
    """The phase of the rank that failed: by its stack, else by its last marker."""
    at: float | None = None
    """Log clock at which it was said."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """What the server's own lines say of its work."""

    running: int | None = None
    """Requests in the batch by the newest batch line; None when an answered request came after it."""
    queued: int | None = None
    usage: float | None = None
    """Share of the KV cache in use, 0 to 1."""
    tokens_per_s: tuple[tuple[str, float], ...] = ()
    """Generated tokens a second, by data-parallel rank (an empty name without one)."""

    @property
    def total_tokens_per_s(self) -> float | None:
        """All streams of all data-parallel ranks together; None before the first decode line."""
        return sum(rate for _, rate in self.tokens_per_s) if self.tokens_per_s else None


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
    marks_back: int = 0
    """How many of the newest marks in a row were minutes before `quiet_since`: the log's clock may have been set."""
    ranks_expected: int | None = None
    """Ranks of this log by the server's own arguments (tp x pp x dp, of this node); None until they were seen."""
    ranks_seen: frozenset[str] = frozenset()
    ranks_loaded: frozenset[str] = frozenset()
    """Ranks that printed their `Load weight end`."""
    port: int | None = None
    """The port of the HTTP server's own line."""
    port_asked: int | None = None
    """The port of the command line, where the log shows one."""
    model: str | None = None
    kv_tokens: int | None = None
    """`max_total_num_tokens`: the KV cache's capacity in tokens."""
    args: Mapping[str, str] = field(default_factory=dict)
    """The server's own arguments that the model looks at, as printed."""
    arg_names: frozenset[str] = frozenset()
    """Every argument that this version has; empty where it did not print them."""
    ranks_begun: frozenset[str] = frozenset()
    """Ranks that printed `Load weight begin`."""
    rank_phases: Mapping[str, LaunchPhase] = field(default_factory=dict)
    """The newest phase of each rank by its own markers."""
    drafting: bool = False
    """The draft model is the one that loads now."""
    bars: tuple[Bar, ...] = ()
    """Every bar, oldest first; the first of a long row of small ones fall out."""
    mark: Mark | None = None
    """The last line of real progress."""
    largest_gap_s: float = 0.0
    """The longest silence between two steps of this phase."""
    slow_work: bool = False
    """This phase said that it compiles."""
    suspects: tuple[Suspect, ...] = ()
    """Lines that may explain a failure, in order."""
    waiting: Cause | None = None
    """A wait message since the last progress: no failure, but it explains a silence."""
    health_failed: Cause | None = None
    """`Health check failed` since the last progress."""
    traffic: Traffic = Traffic()
    is_job: bool = False
    """A script over a data set prints here, not a server."""
    failed_at: float | None = None
    """Log clock at which the log first said that it failed."""
    finding: str | None = None
    """What a probe found wrong although the log is clean, such as `reasoning_parser`."""
    silence_s: float | None = None
    """Seconds since the last real progress, at the newest observation; None without one."""
    clock_ahead_s: float = 0.0
    """How far the node's clock is ahead of the log's: a container may print another time zone."""
    silence: Silence | None = None
    """What that silence is; None while there is progress, or nobody can tell."""
    findings: tuple[Finding, ...] = ()
    """What it runs with otherwise than one would wish, although its log is clean; in the order of their lines."""

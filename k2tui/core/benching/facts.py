"""What the load generator tells: facts of one measurement, before anyone judges them.

Times are seconds from the generator's start on its own monotonic clock, unless the name says otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class RequestFigures:
    """One request. None is "can't be said", never 0."""

    c: int
    """Streams at the same time when it was sent."""
    number: int
    began_s: float
    e2e_ms: float | None = None
    """Until its last token; None where there was none."""
    isl: int | None = None
    """Prompt tokens, as the server counts them."""
    osl: int | None = None
    """Completion tokens, as the server counts them: reasoning, content and tool calls alike."""
    reasoning_tokens: int | None = None
    cached: int | None = None
    """Prompt tokens that came out of the cache."""
    ttft_any_ms: float | None = None
    """First reasoning, content or tool delta that is not empty."""
    ttft_answer_ms: float | None = None
    """First content."""
    decode_tps: float | None = None
    """(c_last - c_first) / (t_last - t_first): tok/s of this stream, without its prefill."""
    e2e_tps: float | None = None
    """c_last / (t_last - t_send): with its prefill."""
    chunks: int = 0
    """Events that carried tokens."""
    c_first_assumed: bool = False
    """The server did not say how many tokens the first event carried: taken as one."""
    usage_missing: bool = False
    """The server never counted: `osl`, `decode_tps` and `e2e_tps` are None."""
    finish: str | None = None
    """As the server said: length, stop, tool_calls, abort."""
    matched: str | None = None
    """What ended it, where SGLang says so; `NaN happened` is a fault."""
    error: str | None = None
    """One sentence; None for a request that ended as it should."""
    is_warm_up: bool = False
    """Not part of any figure."""


@dataclass(frozen=True, slots=True)
class PointFigures:
    """All that was measured at one concurrency."""

    c: int
    agg_tps_steady: float | None = None
    """Total tok/s of all streams inside the steady window."""
    agg_tps_total: float | None = None
    """Tokens of all streams over the whole time, ramp and tail included."""
    steady: bool = False
    """The window was at least 10 s and two mean requests long."""
    window_s: float | None = None
    wall_s: float | None = None
    sent: int = 0
    failed: int = 0
    output_tokens: int | None = None
    prompt_tokens: int | None = None
    icl_ms: Mapping[float, int] = field(default_factory=dict)
    """Gap between two chunks to how often: the middle of a bucket that is 1 % wide."""
    itl_ms: Mapping[float, int] = field(default_factory=dict)
    """Gap a token to how many tokens, with continuous usage; empty without."""
    tokens_per_chunk: Mapping[int, int] = field(default_factory=dict)
    """Tokens that a chunk carried to how many chunks; empty without continuous usage."""


@dataclass(frozen=True, slots=True)
class Counters:
    """The server's own counters at one moment; None: it does not tell."""

    at_s: float
    when: str
    """before | after | point:C (before the point of that concurrency)."""
    generation_tokens: float | None = None
    prompt_tokens: float | None = None
    cached_tokens: float | None = None
    requests: float | None = None
    running: float | None = None
    queued: float | None = None


@dataclass(frozen=True, slots=True)
class ClientCost:
    """What measuring cost the machine that measured."""

    c: int
    lag_p50_ms: float | None = None
    lag_p99_ms: float | None = None
    """How late the generator's loop woke up."""
    cpu_share: float | None = None
    """Of one core, 0 to 1, while the clock ran."""


@dataclass(frozen=True, slots=True)
class Flush:
    """An attempt to empty the cache."""

    at_s: float
    ok: bool | None
    """None: the server has no such endpoint."""
    says: str = ""


@dataclass(frozen=True, slots=True)
class OthersSeen:
    """The server ran more requests than ours at one moment."""

    at_s: float
    running: int
    ours: int


@dataclass(frozen=True, slots=True)
class PrefillSlope:
    """TTFT over the length of the prompt."""

    short_tokens: float
    """Median prompt tokens that were not in the cache, of the short ones."""
    long_tokens: float
    short_ms: float
    """Median TTFT."""
    long_ms: float
    prefill_tps: float | None
    """(P2 - P1) / (ttft(P2) - ttft(P1)); None where the long ones were not slower."""
    isl_over_ttft: float | None = None
    """Of the long ones; holds queue and the first decode step."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything that one measurement told."""

    formula_set: str | None = None
    prompt_set: str | None = None
    """SHA-256 of the prompts without their nonces."""
    nonce: str | None = None
    python: str | None = None
    model: str | None = None
    engine: str | None = None
    version: str | None = None
    """The server's, as it says itself."""
    ignore_eos: bool | None = None
    """Whether requests went on behind the end that the model makes; None: it was not told."""
    prompt_lengths: tuple[int, int] | None = None
    """Tokens of the prompts of a prefill slope that were made; None: it was not told."""
    notes: tuple[str, ...] = ()
    """What the server refused and was left out, a sentence each."""
    requests: tuple[RequestFigures, ...] = ()
    points: tuple[PointFigures, ...] = ()
    counters: tuple[Counters, ...] = ()
    clients: tuple[ClientCost, ...] = ()
    flushes: tuple[Flush, ...] = ()
    others: tuple[OthersSeen, ...] = ()
    slope: PrefillSlope | None = None
    wall_s: float | None = None
    error: str | None = None
    """Why it ended before its end; what was measured until then is there."""
    error_code: str | None = None
    ended: bool = False
    """The generator came to its own end."""

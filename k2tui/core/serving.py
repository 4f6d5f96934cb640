"""What a server's live figures are: requests, tokens a second, cache and latencies, each with its source and age."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Latency:
    """Percentiles of one latency over a window, in seconds. None: no request ended in the window."""

    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    count: int
    """Observations in the window."""


@dataclass(frozen=True, slots=True)
class RankServing:
    """What one data-parallel rank does."""

    rank: int
    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None
    decode_tokens_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class ServingReading:
    """A server's work at one moment. None is "this source does not say", never 0."""

    at: float
    """time.monotonic at which its newest figures came."""
    source: str
    """loads | metrics | server_info | log: where the main figures are from."""
    running: int | None = None
    """Requests in the batch, all ranks together."""
    waiting: int | None = None
    """Requests in the queue, all ranks together."""
    kv_usage: float | None = None
    """Share of the KV cache in use, 0 to 1; the fullest rank's."""
    decode_tokens_per_s: float | None = None
    """Generated tokens a second, all streams of all ranks together; from counters or log lines."""
    prefill_tokens_per_s: float | None = None
    """Prompt tokens a second that were computed (not from the cache), all ranks together."""
    cache_hit: float | None = None
    """Share of the prompt tokens that came from the prefix cache, 0 to 1, over the window."""
    accept_length: float | None = None
    """Tokens a step of speculative decoding; None without it."""
    retracted: int | None = None
    """Requests taken back out of the batch for lack of KV memory, in the window."""
    capacity_tokens: int | None = None
    """Tokens that the KV cache holds, as computed at the start."""
    most_running: int | None = None
    """Requests that may run at once."""
    window_s: float | None = None
    """What rates and latencies are taken over; None where there was only one look."""
    ttft: Latency | None = None
    itl: Latency | None = None
    e2e: Latency | None = None
    ranks: tuple[RankServing, ...] = ()
    """Data-parallel ranks, where there are several."""
    bad_rank: str | None = None
    """The rank that does otherwise than the rest, and how: `DP3: 24 waiting, the others 0`."""
    stuck: str | None = None
    """A gauge that does not move although it should, in one sentence; its figure is not used."""
    latencies_at: float | None = None
    """time.monotonic of the look that the latencies are from, where it is another one."""
    decode_source: str | None = None
    """What the decode rate is from: counter | gauge | log, or the source's name where nothing runs."""
    rate_window_s: float | None = None
    """Seconds that the decode rate is taken over, where it is from a counter."""

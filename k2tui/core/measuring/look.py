"""One look at one source of a server's figures, as it was said; what it means is worked out over several."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from k2tui.core.measuring.latency import Histogram


@dataclass(frozen=True, slots=True)
class RankLook:
    """What one data-parallel rank says of itself. None: this source does not say."""

    rank: int
    running: int | None = None
    waiting: int | None = None
    kv_usage: float | None = None
    """0 to 1."""
    gauge_tokens_per_s: float | None = None
    """The engine's own figure for generated tokens a second. It may stick: it is believed only when it moves."""
    decode_tokens: float | None = None
    """Generated since the start."""
    capacity_tokens: int | None = None
    most_running: int | None = None
    accept_length: float | None = None
    cache_hit: float | None = None
    """0 to 1, over a window of the engine's own."""
    written_at: float | None = None
    """Unix time by the node's clock at which the scheduler wrote this; None where it does not say."""
    used_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Counters:
    """What grows from the start to the end of an engine, all ranks together. None: not there (yet)."""

    decode_tokens: float | None = None
    by_step: bool = True
    """They are counted at each step; False: only when a request ends, so that their rate comes in bursts."""
    prefill_tokens: float | None = None
    """Prompt tokens that were computed."""
    cache_hits: float | None = None
    """Prompt tokens that came from the prefix cache."""
    cache_asked: float | None = None
    """Prompt tokens that were looked for in it."""
    retracted: float | None = None
    drafts: float | None = None
    """Steps of speculative decoding."""
    accepted: float | None = None
    """Drafted tokens that were taken."""
    ttft: Histogram | None = None
    itl: Histogram | None = None
    e2e: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """Everything of one answer."""

    at: float
    """time.monotonic."""
    source: str
    """loads | metrics | server_info."""
    ranks: tuple[RankLook, ...] = ()
    counters: Counters = Counters()
    active: int | None = None
    """Requests that the HTTP side has open on routes that generate; they may not have reached a scheduler."""

    @property
    def running(self) -> int | None:
        """Requests in the batch, all ranks together; None when no rank says."""
        return whole_sum(rank.running for rank in self.ranks)

    @property
    def waiting(self) -> int | None:
        """Requests in the queue, all ranks together."""
        return whole_sum(rank.waiting for rank in self.ranks)

    @property
    def at_work(self) -> int | None:
        """Requests in the batch, in the queue, or open at the HTTP side; None when nothing says."""
        known = [count for count in (self.running, self.waiting) if count is not None]
        inside = sum(known) if known else None
        return inside if self.active is None else max(self.active, inside or 0)


def whole_sum(counts: Iterable[int | None]) -> int | None:
    """The sum of what is known; None when nothing is."""
    known = [count for count in counts if count is not None]
    return sum(known) if known else None

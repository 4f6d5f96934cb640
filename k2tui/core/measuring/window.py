"""A server's figures over the last minute: rates from counters, percentiles from buckets, a gauge that sticks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from k2tui.core.launch import Traffic
from k2tui.core.measuring.latency import Histogram, difference, latency
from k2tui.core.measuring.look import Counters, Look, RankLook, whole_sum
from k2tui.core.measuring.ranks import bad_rank
from k2tui.core.measuring.stuck import stuck_gauge
from k2tui.core.serving import Latency, RankServing, ServingReading

WINDOW_S = 60.0
"""What percentiles, cache hits and retractions are taken over."""
LONG_WINDOW_S = 300.0
"""A single earlier look may be so old."""
RATE_S = 10.0
"""What tokens a second are taken over, where looks come as often."""
LOG_WINS_S = 6.0
"""Log lines that are so much newer than the last look have the main figures."""
OLD_S = 40.0
"""A counter that was not read for so long says nothing of now."""


@dataclass(frozen=True, slots=True)
class LogFigures:
    """What the newest batch line of a log says."""

    at: float
    """time.monotonic at which it was written, as far as the clocks tell."""
    traffic: Traffic


@dataclass(frozen=True, slots=True)
class ServingWindow:
    """The newest looks of each source, oldest first."""

    loads: tuple[Look, ...] = ()
    metrics: tuple[Look, ...] = ()
    info: Look | None = None


def seen(window: ServingWindow, look: Look) -> ServingWindow:
    """The window with one more look."""
    if look.source == "loads":
        return replace(window, loads=_kept((*window.loads, look)))
    if look.source == "metrics":
        restarted = bool(window.metrics) and _went_back(window.metrics[-1].counters, look.counters)
        return replace(window, metrics=(look,) if restarted else _kept((*window.metrics, look)))
    return replace(window, info=look)


def serving_reading(window: ServingWindow, log: LogFigures | None = None) -> ServingReading | None:
    """What the server does, by the best that answered; None where nothing did."""
    main = _main(window)
    if log is not None and log.traffic.running is not None and (main is None or log.at > main.at + LOG_WINS_S):
        return _of_log(window, log)
    return None if main is None else _of_looks(window, main)


def _kept(looks: tuple[Look, ...]) -> tuple[Look, ...]:
    newest = looks[-1]
    kept = tuple(look for look in looks if newest.at - look.at <= WINDOW_S)
    if len(kept) > 1 or len(looks) < 2 or newest.at - looks[-2].at > LONG_WINDOW_S:
        return kept
    return looks[-2:]


def _went_back(old: Counters, new: Counters) -> bool:
    """A counter is lower than it was: the engine began again."""
    pairs = ((old.decode_tokens, new.decode_tokens), (old.cache_asked, new.cache_asked))
    return any(before is not None and (after is None or after < before) for before, after in pairs)


def _main(window: ServingWindow) -> Look | None:
    """The look that the main figures are from: loads, or what there is instead of them."""
    loads, metrics = window.loads[-1:], window.metrics[-1:]
    if loads and not (metrics and metrics[0].at - loads[0].at > OLD_S):
        return loads[0]
    return metrics[0] if metrics else window.info


def _of_looks(window: ServingWindow, main: Look) -> ServingReading:
    looks = {"loads": window.loads, "metrics": window.metrics}.get(main.source, (main,))
    stuck = stuck_gauge(looks, window.metrics)
    rate, rate_source, rate_s = _decode_rate(window, main, stuck=stuck is not None)
    reading = ServingReading(
        at=main.at,
        source=main.source,
        running=main.running,
        waiting=main.waiting,
        kv_usage=_fullest(main),
        decode_tokens_per_s=rate,
        decode_source=rate_source,
        rate_window_s=rate_s,
        bad_rank=bad_rank(looks),
        stuck=stuck,
        ranks=_ranks(window, main, stuck=stuck is not None) if len(main.ranks) > 1 else (),
    )
    return _filled(reading, window)


def _of_log(window: ServingWindow, log: LogFigures) -> ServingReading:
    traffic = log.traffic
    rate = traffic.total_tokens_per_s
    reading = ServingReading(
        at=log.at,
        source="log",
        running=traffic.running,
        waiting=traffic.queued,
        kv_usage=traffic.usage,
        decode_tokens_per_s=rate,
        decode_source=None if rate is None else "log",
    )
    return _filled(reading, window)


def _filled(reading: ServingReading, window: ServingWindow) -> ServingReading:
    """With everything that does not hang on the newest look."""
    known = [look for look in (*window.loads[-1:], *window.metrics[-1:], window.info) if look is not None]
    reading = replace(
        reading,
        capacity_tokens=_any(known, lambda look: whole_sum(rank.capacity_tokens for rank in look.ranks)),
        most_running=_any(known, lambda look: whole_sum(rank.most_running for rank in look.ranks)),
        accept_length=_mean(window, lambda rank: rank.accept_length),
        cache_hit=_mean(window, lambda rank: rank.cache_hit),
    )
    if len(window.metrics) < 2:
        return reading
    old, new = window.metrics[0], window.metrics[-1]
    hits, asked = _grown(old, new, "cache_hits"), _grown(old, new, "cache_asked")
    drafts, accepted = _grown(old, new, "drafts"), _grown(old, new, "accepted")
    retracted = _grown(old, new, "retracted")
    base = _rate_base(window.metrics)
    prefill = None if base is None or reading.at - new.at > OLD_S else _rate(base, new, "prefill_tokens")
    return replace(
        reading,
        prefill_tokens_per_s=prefill,
        cache_hit=hits / asked if hits is not None and asked else reading.cache_hit,
        accept_length=1 + accepted / drafts if accepted is not None and drafts else reading.accept_length,
        retracted=None if retracted is None else round(retracted),
        window_s=new.at - old.at,
        ttft=_latency(old.counters.ttft, new.counters.ttft),
        itl=_latency(old.counters.itl, new.counters.itl),
        e2e=_latency(old.counters.e2e, new.counters.e2e),
        latencies_at=new.at,
    )


def _decode_rate(window: ServingWindow, main: Look, *, stuck: bool) -> tuple[float | None, str | None, float | None]:
    """(tokens a second of all streams, `counter` or `gauge`, the seconds that a counter's is taken over)."""
    counted: tuple[float | None, str | None, float | None] = (None, None, None)
    new = window.metrics[-1] if window.metrics else None
    base = _rate_base(window.metrics)
    if new is not None and base is not None and abs(main.at - new.at) <= OLD_S:
        rate = _rate(base, new, "decode_tokens")
        if rate is not None:
            counted = (rate, "counter", new.at - base.at)
            if new.counters.by_step and new.at >= main.at - 1.5 and new.at - base.at <= RATE_S:
                return counted
    if main.running == 0 and not main.waiting:
        return 0.0, main.source, None
    gauge = _gauge(main)
    if gauge is not None and not stuck:
        return gauge, "gauge", None
    return counted


def _rate_base(looks: tuple[Look, ...]) -> Look | None:
    """The look that the newest one is compared with for a rate."""
    if len(looks) < 2:
        return None
    newest = looks[-1]
    near = next(look for look in looks if newest.at - look.at <= RATE_S)
    base = looks[-2] if near is newest else near
    return base if 0.5 <= newest.at - base.at <= OLD_S else None


def _grown(old: Look, new: Look, name: str) -> float | None:
    """How much a counter grew; one that appears with its first count began at nothing."""
    after: float | None = getattr(new.counters, name)
    before: float | None = getattr(old.counters, name)
    return None if after is None else max(0.0, after - (before or 0.0))


def _rate(old: Look, new: Look, name: str) -> float | None:
    grown = _grown(old, new, name)
    return None if grown is None else grown / (new.at - old.at)


def _gauge(look: Look) -> float | None:
    known = [rank.gauge_tokens_per_s for rank in look.ranks if rank.gauge_tokens_per_s is not None]
    return sum(known) if known else None


def _fullest(look: Look) -> float | None:
    return max((rank.kv_usage for rank in look.ranks if rank.kv_usage is not None), default=None)


def _ranks(window: ServingWindow, main: Look, *, stuck: bool) -> tuple[RankServing, ...]:
    rates = _rank_rates(window, main)
    return tuple(
        RankServing(
            rank.rank,
            rank.running,
            rank.waiting,
            rank.kv_usage,
            rates.get(rank.rank, None if stuck else rank.gauge_tokens_per_s),
        )
        for rank in main.ranks
    )


def _rank_rates(window: ServingWindow, main: Look) -> Mapping[int, float]:
    base = _rate_base(window.metrics)
    if base is None or window.metrics[-1].at < main.at - 1.5:
        return {}
    new = window.metrics[-1]
    before = {rank.rank: rank.decode_tokens or 0.0 for rank in base.ranks}
    return {
        rank.rank: max(0.0, rank.decode_tokens - before.get(rank.rank, 0.0)) / (new.at - base.at)
        for rank in new.ranks
        if rank.decode_tokens is not None
    }


def _any(looks: list[Look], take: Callable[[Look], int | None]) -> int | None:
    """The first that knows."""
    return next((value for look in looks if (value := take(look)) is not None), None)


def _mean(window: ServingWindow, take: Callable[[RankLook], float | None]) -> float | None:
    """Over the ranks of the first source that knows; metrics first, whose figures are of the last batches."""
    for look in (*window.metrics[-1:], *window.loads[-1:], window.info):
        known = [] if look is None else [value for rank in look.ranks if (value := take(rank)) is not None]
        if known:
            return sum(known) / len(known)
    return None


def _latency(old: Histogram | None, new: Histogram | None) -> Latency | None:
    return latency(difference(new, old))

"""Percentiles over a window, from the differences of a histogram's buckets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from k2tui.core.measuring.prometheus import Sample
from k2tui.core.serving import Latency


@dataclass(frozen=True, slots=True)
class Histogram:
    """Observations since the engine's start, or in a window."""

    bounds: tuple[float, ...]
    """Upper ends of the buckets in seconds, growing; the last is endless."""
    counts: tuple[float, ...]
    """Observations up to each bound: each holds the ones before it."""

    @property
    def count(self) -> float:
        """All observations."""
        return self.counts[-1]


def merged(samples: Iterable[Sample]) -> Histogram | None:
    """One histogram of all label sets (ranks, streaming or not); None without any, and for what is none.

    Label sets with other bounds are joined at the bounds that all of them have: only there the sum is exact.
    """
    by_set: dict[tuple[tuple[str, str], ...], dict[float, float]] = {}
    for sample in samples:
        bound = _bound(sample.labels.get("le"))
        if bound is None or sample.value < 0:
            continue
        key = tuple(sorted(pair for pair in sample.labels.items() if pair[0] != "le"))
        by_set.setdefault(key, {})[bound] = sample.value
    whole = [buckets for buckets in by_set.values() if math.inf in buckets]
    if not whole:
        return None
    bounds = tuple(sorted(set.intersection(*(set(buckets) for buckets in whole))))
    counts = tuple(sum(buckets[bound] for buckets in whole) for bound in bounds)
    return Histogram(bounds, counts) if _is_growing(counts) else None


def difference(new: Histogram | None, old: Histogram | None) -> Histogram | None:
    """What was observed between two looks; since the restart, where the engine was restarted between them.

    Without an old one every observation of the new one is of the window: a histogram appears with its first.
    """
    if new is None or old is None or old.bounds != new.bounds or old.count > new.count:
        return new
    counts = tuple(after - before for after, before in zip(new.counts, old.counts, strict=True))
    return Histogram(new.bounds, counts) if _is_growing(counts) else new


def percentile(histogram: Histogram, share: float) -> float | None:
    """Seconds below which this share (0 to 1) of the observations lies; None when nothing was observed.

    Straight between the two ends of a bucket. In the endless bucket it is the last finite bound, or more: the
    histogram does not know how much more.
    """
    if histogram.count <= 0:
        return None
    wanted = share * histogram.count
    low, below = 0.0, 0.0
    for bound, count in zip(histogram.bounds, histogram.counts, strict=True):
        if count >= wanted and count > below:
            if math.isinf(bound):
                return low
            return low + (bound - low) * (wanted - below) / (count - below)
        low, below = bound, count
    return None


def latency(histogram: Histogram | None) -> Latency | None:
    """The three percentiles that are shown; None where this engine has no such histogram."""
    if histogram is None:
        return None
    p50_s, p95_s, p99_s = (percentile(histogram, share) for share in (0.5, 0.95, 0.99))
    return Latency(p50_s, p95_s, p99_s, round(histogram.count))


def _bound(text: str | None) -> float | None:
    try:
        bound = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(bound) or bound < 0 else bound


def _is_growing(counts: Sequence[float]) -> bool:
    return bool(counts) and counts[0] >= 0 and all(a <= b for a, b in pairwise(counts))

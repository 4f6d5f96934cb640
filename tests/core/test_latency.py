"""Percentiles from buckets: what was observed in a window, and what the buckets do not know."""

from __future__ import annotations

import math

import pytest

from k2tui.core.measuring.latency import Histogram, difference, latency, merged, percentile
from k2tui.core.measuring.prometheus import Sample
from k2tui.core.serving import Latency

INF = math.inf


def histogram(*pairs: tuple[float, float]) -> Histogram:
    bounds, counts = zip(*pairs, strict=True)
    return Histogram(bounds, counts)


def buckets(labels: dict[str, str], **counts: float) -> list[Sample]:
    """`_0_1=3` is le="0.1", `inf=5` is le="+Inf"."""
    return [
        Sample({**labels, "le": "+Inf" if name == "inf" else name.strip("_").replace("_", ".")}, count)
        for name, count in counts.items()
    ]


@pytest.mark.parametrize(
    ("share", "seconds"),
    [
        (0.0, 0.0),
        (0.25, 0.05),  # half of the first bucket
        (0.5, 0.1),
        (0.75, 0.15),
        (1.0, 0.2),
    ],
)
def test_a_percentile_lies_straight_between_the_ends_of_its_bucket(share: float, seconds: float) -> None:
    evenly = histogram((0.1, 10), (0.2, 20), (0.4, 20), (INF, 20))
    assert percentile(evenly, share) == pytest.approx(seconds)


def test_an_empty_bucket_is_skipped() -> None:
    gap = histogram((0.1, 0), (0.2, 0), (0.4, 4), (INF, 4))
    assert percentile(gap, 0.5) == pytest.approx(0.3)


def test_beyond_the_last_bound_it_is_that_bound_or_more() -> None:
    slow = histogram((0.1, 1), (60.0, 2), (INF, 10))
    assert percentile(slow, 0.99) == 60.0
    assert percentile(histogram((INF, 4)), 0.5) == 0.0


def test_nothing_observed_has_no_percentile() -> None:
    assert percentile(histogram((0.1, 0), (INF, 0)), 0.5) is None
    assert latency(histogram((0.1, 0), (INF, 0))) == Latency(None, None, None, 0)
    assert latency(None) is None


def test_a_window_is_the_difference_of_two_looks() -> None:
    old, new = histogram((0.1, 5), (0.2, 5), (INF, 5)), histogram((0.1, 5), (0.2, 9), (INF, 9))
    assert difference(new, old) == histogram((0.1, 0), (0.2, 4), (INF, 4))


@pytest.mark.parametrize(
    "old",
    [
        None,  # it appeared with its first observation
        histogram((0.1, 50), (0.2, 50), (INF, 50)),  # the engine was restarted
        histogram((0.1, 1), (INF, 1)),  # other buckets
        histogram((0.1, 6), (0.2, 6), (INF, 7)),  # one bucket went back
    ],
)
def test_without_a_fitting_old_look_the_window_is_all_of_the_new_one(old: Histogram | None) -> None:
    new = histogram((0.1, 5), (0.2, 9), (INF, 9))
    assert difference(new, old) == new


def test_ranks_are_merged_bucket_by_bucket() -> None:
    samples = buckets({"dp_rank": "0"}, _0_1=1, _0_2=2, inf=2) + buckets({"dp_rank": "1"}, _0_1=0, _0_2=4, inf=5)
    assert merged(samples) == histogram((0.1, 1), (0.2, 6), (INF, 7))


def test_other_buckets_are_merged_where_all_have_a_bound() -> None:
    samples = buckets({"a": "0"}, _0_1=1, _0_2=2, inf=2) + buckets({"a": "1"}, _0_2=4, _0_3=5, inf=5)
    assert merged(samples) == histogram((0.2, 6), (INF, 7))


def test_a_label_set_without_its_end_does_not_count() -> None:
    assert merged(buckets({}, _0_1=1, _0_2=2)) is None
    assert merged([]) is None
    assert merged(buckets({}, _0_1=5, _0_2=2, inf=9)) is None
    assert merged([Sample({"le": "wide"}, 1.0), Sample({"le": "nan"}, 1.0), Sample({}, 1.0)]) is None

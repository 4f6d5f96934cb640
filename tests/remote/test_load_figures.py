"""The formulas, on logs whose figures can be worked out by hand."""

from __future__ import annotations

import math
import statistics
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.remote import load_figures as figures
from k2tui.remote.load_stream import CONTENT, EMPTY, FINISH, REASONING, USAGE, Stream
from k2tui.remote.load_tokens import Tokens

Event = tuple[float, int, int, int | None]


def log(*events: Event, total: int | None = None, sent_at: float = 0.0, **more: Any) -> Stream:
    """A stream that ended as it should."""
    made = Stream()
    made.sent_at, made.status, made.head_at = sent_at, 200, sent_at
    made.events = list(events)
    counts = [count for *_, count in events if count is not None]
    total = total if total is not None else (counts[-1] if counts else None)
    made.usage = None if total is None else {"prompt_tokens": 10, "completion_tokens": total}
    made.ended_at = events[-1][0] if events else sent_at
    made.finish = "length"
    for name, value in more.items():
        setattr(made, name, value)
    return made


def steady(first: float, gap: float, count: int, sent_at: float = 0.0) -> Stream:
    """A token every `gap` seconds."""
    return log(*((first + i * gap, CONTENT, 4, i + 1) for i in range(count)), sent_at=sent_at)


def test_decode_tps_counts_from_the_first_token_to_the_last() -> None:
    made = steady(2.0, 0.1, 11)
    assert figures.decode_tps(Tokens(made)) == pytest.approx(10.0)
    assert figures.e2e_tps(made, Tokens(made)) == pytest.approx(11 / 3.0)
    assert figures.e2e_ms(made, Tokens(made)) == pytest.approx(3000)


def test_usage_and_done_never_extend_the_last_token() -> None:
    made = log((1.0, CONTENT, 1, 1), (2.0, CONTENT, 1, 11), (2.0, FINISH, 0, 11), (9.0, USAGE, 0, 11), done_at=10.0)
    assert figures.decode_tps(Tokens(made)) == pytest.approx(10.0)
    assert figures.e2e_ms(made, Tokens(made)) == pytest.approx(2000)


def test_a_bundle_at_the_start_is_not_counted_as_speed() -> None:
    made = log((1.0, CONTENT, 1, 5), (2.0, CONTENT, 1, 15))
    assert figures.decode_tps(Tokens(made)) == pytest.approx(10.0)


def test_tokens_that_a_parser_keeps_back_count_when_the_server_counts_them() -> None:
    made = log((1.0, REASONING, 1, 1), (2.0, EMPTY, 0, 17), (3.0, CONTENT, 1, 18))
    tokens = Tokens(made)
    assert (list(tokens.times), list(tokens.counts or ())) == ([1.0, 2.0, 3.0], [1, 17, 18])
    assert figures.ttft_answer_ms(made) == pytest.approx(3000)


def test_text_that_carries_no_new_token_is_no_chunk_of_tokens() -> None:
    made = log((1.0, CONTENT, 1, 1), (2.0, CONTENT, 1, 2), (5.0, CONTENT, 1, 2))
    assert list(Tokens(made).times) == [1.0, 2.0]


def test_without_counts_on_the_way_the_first_event_is_taken_as_one_token() -> None:
    made = log((1.0, CONTENT, 1, None), (2.0, CONTENT, 1, None), (3.0, FINISH, 0, None), (3.5, USAGE, 0, 21))
    tokens = Tokens(made)
    assert (tokens.first_assumed, tokens.total) == (True, 21)
    assert figures.decode_tps(tokens) == pytest.approx(10.0)


def test_a_first_event_without_a_count_is_flagged() -> None:
    made = log((1.0, CONTENT, 1, None), (2.0, CONTENT, 1, 3), (3.0, CONTENT, 1, 5))
    tokens = Tokens(made)
    assert tokens.first_assumed
    assert figures.decode_tps(tokens) == pytest.approx(2.0)


@pytest.mark.parametrize("counts", [(1, 1, 1), (0, 0, 0), (5, 3, 4)])
def test_a_count_that_stands_still_or_falls_is_none(counts: tuple[int, ...]) -> None:
    events = [(1.0 + place, CONTENT, 1, count) for place, count in enumerate(counts)]
    tokens = Tokens(log(*events, total=9))
    assert (tokens.counts, tokens.first_assumed, len(tokens.times)) == (None, True, 3)


@pytest.mark.parametrize(
    "made",
    [
        log(),
        log((1.0, EMPTY, 0, 0)),
        log((1.0, CONTENT, 1, 1)),
        log((1.0, CONTENT, 1, 1), (1.0, CONTENT, 1, 2)),
        log((1.0, CONTENT, 1, None), (2.0, CONTENT, 1, None)),
    ],
    ids=["nothing", "a role", "one token", "no time between", "nobody counts"],
)
def test_what_has_no_rate_has_none(made: Stream) -> None:
    assert figures.decode_tps(Tokens(made)) is None


def test_a_stream_that_was_cut_counts_as_far_as_its_server_had_counted() -> None:
    cut = log((1.0, CONTENT, 1, 1), (2.0, CONTENT, 1, 11), finish=None, was_cut=True)
    line = figures.request_figures(cut, 1, 1, 0.0, False)
    assert (line["osl"], line["decode_tps"], line["finish"], line["error"]) == (11, 10.0, None, None)
    blind = log((1.0, CONTENT, 1, None), (2.0, CONTENT, 1, None), finish=None, was_cut=True)
    assert figures.request_figures(blind, 1, 1, 0.0, False)["usage_missing"]


def test_cached_and_reasoning_tokens_are_those_of_the_details() -> None:
    made = steady(1.0, 0.1, 3)
    made.usage = {
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
        "reasoning_tokens": 0,
    }
    line = figures.request_figures(made, 1, 1, 0.0, False)
    assert (line["cached"], line["reasoning_tokens"]) == (4, 2)


def test_tokens_between_two_events_are_spread_over_the_gap() -> None:
    tokens = Tokens(log((1.0, CONTENT, 1, 2), (2.0, CONTENT, 1, 12)))
    assert [tokens.until(at) for at in (0.5, 1.0, 1.5, 2.0, 9.0)] == [0.0, 2.0, 7.0, 12.0, 12.0]


def test_without_counts_on_the_way_the_sum_is_spread_over_the_events() -> None:
    tokens = Tokens(log(*((float(at), CONTENT, 1, None) for at in (1, 2, 3)), total=21))
    assert [tokens.until(at) for at in (0.0, 1.0, 2.5, 3.0)] == [0.0, 1.0, 16.0, 21.0]


def test_the_steady_window_is_from_the_last_first_token_to_the_first_gap_in_the_batch() -> None:
    # Two streams of 10 tok/s each: one from 1 s, one from 3 s; the first ends at 21 s and is not replaced.
    one, two = steady(1.0, 0.1, 201), steady(3.0, 0.1, 301)
    point = figures.point_figures(2, [one, two], [one, two], 21.0, 0.0, 33.0)
    assert (point["window_s"], point["steady"]) == (18.0, False)  # mean request 27 s: not twice as long
    assert point["agg_tps_steady"] == pytest.approx(20.0)
    assert point["agg_tps_total"] == pytest.approx(502 / 33, rel=1e-4)
    assert (point["sent"], point["failed"], point["output_tokens"], point["prompt_tokens"]) == (2, 0, 502, 20)


def test_a_window_of_ten_seconds_and_two_requests_is_steady() -> None:
    logs = [steady(1.0 + 5 * i, 0.1, 50, sent_at=0.9 + 5 * i) for i in range(4)]
    assert figures.point_figures(1, logs, logs[:1], 21.0, 0.9, 21.0)["steady"]
    assert not figures.point_figures(1, logs, logs[:1], 10.9, 0.9, 21.0)["steady"]


@pytest.mark.parametrize("under_at", [None, 0.5])
def test_without_a_window_there_is_no_steady_rate(under_at: float | None) -> None:
    made = steady(1.0, 0.1, 50)
    point = figures.point_figures(1, [made], [made], under_at, 0.0, 6.0)
    assert [point[name] for name in ("agg_tps_steady", "window_s", "steady")] == [None, None, False]


def test_one_stream_that_nobody_counted_leaves_no_total() -> None:
    made = steady(1.0, 0.1, 50)
    blind = log((1.0, CONTENT, 1, None), (2.0, CONTENT, 1, None))
    point = figures.point_figures(2, [made, blind], [made, blind], 5.0, 0.0, 6.0)
    assert [point[name] for name in ("agg_tps_steady", "agg_tps_total", "output_tokens")] == [None, None, None]


def test_a_request_that_failed_is_counted_and_leaves_the_total_of_the_others() -> None:
    made, failed = steady(1.0, 0.1, 50), log(finish=None, error="HTTP 500: no")
    point = figures.point_figures(2, [made, failed], [made, failed], 5.9, 0.0, 6.0)
    assert (point["sent"], point["failed"], point["output_tokens"]) == (2, 1, 50)
    assert point["agg_tps_steady"] == pytest.approx(10.0)


def test_gaps_are_counted_in_buckets_of_one_percent() -> None:
    made = log((1.0, CONTENT, 1, 2), (1.02, CONTENT, 1, 6), (1.02, CONTENT, 1, 7))
    found = figures.histograms([Tokens(made)])
    assert found["tokens_per_chunk"] == {"1": 1, "2": 1, "4": 1}
    gaps = {float(middle): count for middle, count in found["icl_ms"].items()}
    assert sorted(gaps.values()) == [1, 1]
    assert min(abs(middle / 20 - 1) for middle in gaps) < 0.006
    tokens = {float(middle): count for middle, count in found["itl_ms"].items()}
    assert next(count for middle, count in tokens.items() if abs(middle / 5 - 1) < 0.006) == 4


@given(st.floats(0.001, 1e6))
def test_a_bucket_is_within_half_a_percent_of_what_is_in_it(value: float) -> None:
    assert float(figures.middle_of(figures.bucket_of(value))) == pytest.approx(value, rel=0.0051)


@given(st.floats(0.0, 1e6), st.floats(0.0, 1e6))
def test_a_longer_gap_is_in_no_lower_bucket(a: float, b: float) -> None:
    assert figures.bucket_of(min(a, b)) <= figures.bucket_of(max(a, b))


def test_the_prefill_slope_is_free_of_what_every_request_costs() -> None:
    short, long = [(256.0, 50.0 + 12.8)] * 3, [(8192.0, 50.0 + 409.6)] * 3
    slope = figures.prefill_slope(short, long)
    assert slope is not None
    assert slope["prefill_tps"] == pytest.approx(20_000, rel=1e-3)
    assert slope["isl_over_ttft"] == pytest.approx(8192 / 0.4596, rel=1e-3)


def test_without_a_rise_there_is_no_prefill_rate() -> None:
    slope = figures.prefill_slope([(256.0, 50.0)], [(8192.0, 50.0)])
    assert slope is not None
    assert slope["prefill_tps"] is None
    assert figures.prefill_slope([], [(1.0, 1.0)]) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_is_numpys(values: list[float], share: float) -> None:
    assert figures.quantile(values, share) == pytest.approx(float(np.quantile(values, share)), abs=1e-6, rel=1e-9)


@pytest.mark.parametrize(("values", "t"), [([9.0, 11.0], 12.706), ([9.0, 10.0, 11.0], 4.303), ([1.0, 3.0] * 30, 2.042)])
def test_the_interval_is_students(values: list[float], t: float) -> None:
    expected = t * statistics.stdev(values) / math.sqrt(len(values)) / statistics.fmean(values)
    assert figures.half_width(values) == pytest.approx(expected)
    assert figures.half_width(values[:1]) is None

"""From what was measured to a result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.facts import Measured, PointFigures, PrefillSlope
from k2tui.core.benching.figures import result_of, spread_of, spread_of_counts
from k2tui.core.benching.plan import BenchPlan, BenchTarget, CachePolicy, Procedure
from k2tui.core.benching.result import BenchResult, BenchSystem
from tests.core.benching.told import NODE, URL, asked, told

SWEEP = BenchPlan(procedure=Procedure.SWEEP, concurrencies=(1, 8))


def made(measured: Measured, plan: BenchPlan | None = None, target: BenchTarget = NODE, **other: Any) -> BenchResult:
    return result_of(
        measured, plan=plan or BenchPlan(), target=target, bench_id="20260810T120000Z-ab12", began_at=1.7e9, **other
    )


def test_the_headline_is_the_median_with_its_spread_and_interval() -> None:
    result = made(told(asked(0, 88.0), asked(1, 90.0), asked(2, 95.0)))
    assert (result.decode_tps, result.decode_tps_min, result.decode_tps_max) == (90.0, 88.0, 95.0)
    assert result.decode_tps_cv == pytest.approx(0.03962, abs=1e-4)  # sample deviation 3.6056 over the mean 91
    # 91 ± 4.3027 · 3.6056 / √3
    assert result.decode_tps_low == pytest.approx(82.04, abs=0.01)
    assert result.decode_tps_high == pytest.approx(99.96, abs=0.01)
    assert result.tpot_ms == pytest.approx(1000 / 90)
    assert (result.ttft_any_ms, result.ttft_answer_ms, result.e2e_tps) == (120.0, 150.0, 85.0)
    assert result.valid


def test_warm_up_requests_and_errors_are_in_no_figure() -> None:
    warm = asked(0, 10.0, is_warm_up=True, ttft_any_ms=9000.0)
    failed = asked(1, 5.0, error="reset", finish=None)
    result = made(told(warm, failed, asked(2, 90.0)))
    assert (result.decode_tps, result.decode_tps_min, result.ttft_any_ms) == (90.0, 90.0, 120.0)
    assert result.points[0].spreads["decode_tps"].n == 1
    assert len(result.requests) == 3
    assert not result.valid


def test_one_request_has_no_interval_and_no_variation() -> None:
    result = made(told(asked()))
    assert (result.decode_tps, result.decode_tps_cv, result.decode_tps_low) == (90.0, None, None)


def test_nothing_that_is_missing_becomes_zero() -> None:
    silent = asked(0, None, osl=None, e2e_tps=None, ttft_any_ms=None, ttft_answer_ms=None, e2e_ms=None, cached=None)
    result = made(told(silent, points=()))
    names = ("decode_tps", "e2e_tps", "ttft_any_ms", "ttft_answer_ms", "tpot_ms", "decode_tps_min", "decode_tps_cv")
    assert {name: getattr(result, name) for name in names} == dict.fromkeys(names)
    (point,) = result.points
    assert (point.agg_tps_steady, point.agg_tps_total, point.output_tokens, point.decode_tps) == (None,) * 4
    assert point.spreads == {}
    assert not result.valid


def test_a_rate_of_zero_is_no_figure() -> None:
    result = made(told(asked(0, 0.0, ttft_any_ms=0.0), points=(PointFigures(1, agg_tps_total=0.0),)))
    assert (result.decode_tps, result.ttft_any_ms, result.points[0].agg_tps_total) == (None, None, None)


def test_reasoning_alone_has_no_answer_and_a_note_says_so() -> None:
    result = made(told(asked(ttft_answer_ms=None)))
    assert (result.ttft_any_ms, result.ttft_answer_ms) == (120.0, None)
    assert any("only reasoning" in note for note in result.notes)


def test_a_first_event_that_was_taken_as_one_token_is_noted() -> None:
    assert any("taken as one in 2 requests" in note for note in made(told(*2 * [asked(c_first_assumed=True)])).notes)
    assert not any("taken as one" in note for note in made(told()).notes)


def test_a_request_that_was_cut_counts_by_its_rate_where_it_came_far_enough() -> None:
    cut = asked(2, 70.0, osl=200, finish=None, e2e_tps=1.0)
    result = made(told(asked(0, 90.0), asked(1, 92.0), cut, replace(cut, number=3, osl=5, decode_tps=1.0)))
    assert (result.decode_tps, result.decode_tps_min, result.e2e_tps) == (90.0, 70.0, 85.0)
    assert any("2 requests were cut when the time was over; 1 of them" in note for note in result.notes)
    assert "Ended early: 2 of 3 requests, in 12 s; they agree so well." in result.notes
    late = made(told(asked(0), wall_s=26.0))
    assert "Ended early: 1 of 3 requests, in 26 s; the time was over." in late.notes


def test_a_slow_server_whose_first_request_was_cut_has_a_figure() -> None:
    result = made(told(asked(0, 2.0, osl=48, finish=None)))
    assert result.decode_tps == 2.0


def test_a_failure_keeps_what_was_measured_and_is_never_valid() -> None:
    result = made(told(asked(0, 90.0), error="the server closed its port", ended=False))
    assert (result.decode_tps, result.error, result.valid) == (90.0, "the server closed its port", False)


def test_a_measurement_that_broke_off_is_a_failure() -> None:
    assert made(told(ended=False)).error == "the measurement broke off before its end"
    nothing = made(told(asked(error="401: no key", finish=None)))
    assert nothing.error == "no request was answered: 401: no key"


def test_a_sweep_has_a_point_for_each_concurrency_and_its_headline_from_the_single_stream() -> None:
    many = [asked(number, 60.0 + number, c=8) for number in range(8)]
    points = (
        PointFigures(8, agg_tps_steady=480.0, agg_tps_total=450.0, steady=True, window_s=22.0, sent=8),
        PointFigures(1, agg_tps_total=80.0, window_s=3.0, sent=1),
    )
    result = made(told(asked(0, 90.0), *many, points=points), SWEEP)
    assert [(point.c, point.decode_tps, point.steady) for point in result.points] == [(1, 90.0, False), (8, 63.5, True)]
    assert (result.decode_tps, result.best_total_tps) == (90.0, 480.0)
    assert any("At c=1 there is a window of 3.0 s" in note for note in result.notes)
    alone = made(told(*many, points=points[:1]), SWEEP)
    assert (alone.decode_tps, alone.headline) == (None, 480.0)


def test_a_point_that_was_not_finished_has_what_its_requests_tell() -> None:
    result = made(told(asked(0, 60.0, c=8), asked(1, c=8, error="gone", osl=None), points=(), ended=False), SWEEP)
    (point,) = result.points
    assert (point.c, point.sent, point.failed, point.output_tokens, point.agg_tps_total) == (8, 2, 1, 256, None)


def test_a_prefill_slope_has_no_rate_of_a_stream_and_is_valid_by_its_own() -> None:
    slope = PrefillSlope(256, 8192, 60.0, 860.0, prefill_tps=9920.0, isl_over_ttft=9525.0)
    plan = BenchPlan(procedure=Procedure.PREFILL)
    result = made(told(asked(0, 300.0, osl=8), slope=slope, points=()), plan)
    assert (result.decode_tps, result.ttft_any_ms, result.points) == (None, None, ())
    assert (result.headline, result.valid) == (9920.0, True)


def test_long_prompts_that_were_not_slower_give_no_prefill_rate_and_a_note() -> None:
    slope = PrefillSlope(256, 8192, 60.0, 55.0, prefill_tps=None)
    result = made(told(asked(), slope=slope), BenchPlan(procedure=Procedure.PREFILL))
    assert result.headline is None
    assert any("no prefill rate can be told" in note for note in result.notes)


def test_a_url_is_measured_from_here_and_says_so() -> None:
    assert any("from this machine" in note for note in made(told(), target=URL).notes)
    assert not any("from this machine" in note for note in made(told()).notes)


def test_a_warm_cache_and_what_the_server_refused_are_noted() -> None:
    result = made(told(notes=("The server refused ignore_eos.",)), BenchPlan(policy=CachePolicy.WARM))
    assert result.notes[0] == "The server refused ignore_eos."
    assert any("warm cache" in note for note in result.notes)


def test_what_the_server_says_of_itself_completes_the_system() -> None:
    known = BenchSystem(version="0.5.23")
    result = made(told(engine="sglang", version="0.5.22"), system=known)
    assert (result.system.engine, result.system.version, result.system.model) == ("sglang", "0.5.23", "kimi-k2")
    assert result.system_key is not None


def test_without_the_generators_first_line_there_is_no_workload_key() -> None:
    assert made(told()).workload_key is not None
    assert made(told(formula_set=None)).workload_key is None


def test_a_99th_percentile_needs_a_hundred_values() -> None:
    few, enough = spread_of(map(float, range(1, 100))), spread_of(map(float, range(1, 101)))
    assert few is not None
    assert enough is not None
    assert (few.n, few.p99, few.largest) == (99, None, 99.0)
    assert enough.p99 == pytest.approx(99.01)  # numpy: percentile(arange(1, 101), 99)
    assert spread_of([]) is None
    assert spread_of_counts({}) is None


@given(st.dictionaries(st.floats(0.001, 1e4), st.integers(1, 60), min_size=1, max_size=20))
def test_counted_values_have_the_spread_of_the_single_ones(counts: dict[float, int]) -> None:
    whole = spread_of([value for value, count in counts.items() for _ in range(count)])
    counted = spread_of_counts(counts)
    assert whole is not None
    assert counted is not None
    assert (counted.n, counted.smallest, counted.largest) == (whole.n, whole.smallest, whole.largest)
    assert (counted.p50, counted.p90) == pytest.approx((whole.p50, whole.p90))
    assert (counted.p99 is None) == (whole.p99 is None)
    assert counted.p99 is None or counted.p99 == pytest.approx(whole.p99)

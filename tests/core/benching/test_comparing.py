"""Two sets of benchmarks side by side: the verdict, and all that forbids one."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.comparing import compare
from k2tui.core.benching.comparison import Answer, Changed
from k2tui.core.benching.facts import PrefillSlope
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem
from k2tui.core.benching.statistics import replicates
from tests.core.benching.starts import RED, SYSTEM, WORK, bench, requests, starts, with_env

SLOW, FAST = [63.2, 63.6, 64.0], [89.6, 90.0, 90.5]
LL: dict[str, Any] = {"prefix": "b", "system": with_env(NCCL_PROTO="LL"), "system_key": "system-2"}


def simulated(draw: random.Random, tps: float, spread: float, number: int, prefix: str) -> list[BenchResult]:
    return starts([tps * math.exp(draw.gauss(0.0, spread)) for _ in range(number)], prefix=prefix)


# Verdicts


def test_three_restarts_each_give_the_verdict_with_its_interval_and_what_changed() -> None:
    found = compare(starts(SLOW), starts(FAST, **LL))
    assert found.answer is Answer.FASTER
    assert found.sentence == (
        "B is faster: 90.0 against 63.6 tok/s of one stream, ratio 1.416 (95 % 1.40 to 1.43, 3 restarts each);"
        " indicative: 4 restarts of each would make it firm; one thing changed: NCCL_PROTO Simple → LL"
    )
    assert (found.basis, found.restarts_a, found.restarts_b, found.more_restarts) == ("restarts", 3, 3, None)
    assert [found.low, found.ratio, found.high] == pytest.approx([1.397, 1.4155, 1.434], abs=1e-3)


def test_the_slower_one_is_said_to_be_slower() -> None:
    found = compare(starts(FAST), starts(SLOW, prefix="b"))
    assert found.answer is Answer.SLOWER
    assert found.sentence.startswith("B is slower: 63.6 against 90.0 tok/s of one stream, ratio 0.706")


def test_four_restarts_each_are_not_only_indicative() -> None:
    found = compare(starts([*SLOW, 63.5]), starts([*FAST, 90.2], prefix="b"))
    assert found.answer is Answer.FASTER
    assert "indicative" not in found.sentence
    assert "4 restarts each" in found.sentence


def test_an_interval_inside_of_two_percent_is_no_difference_even_without_one_in_it() -> None:
    found = compare(starts([90.0, 90.01, 90.02, 90.01]), starts([90.5, 90.51, 90.52, 90.51], prefix="b"))
    assert found.answer is Answer.SAME
    assert found.low is not None
    assert found.low > 1.0
    assert found.sentence.startswith("no difference beyond ±2 %: 90.5 against 90.0 tok/s of one stream, ratio 1.006")


def test_what_varies_too_much_is_inconclusive_and_says_what_would_decide_it() -> None:
    found = compare(starts([60.0, 66.0, 63.0]), starts([64.0, 70.0, 67.0], prefix="b"))
    assert found.answer is Answer.INCONCLUSIVE
    assert found.more_restarts is not None
    assert f"about {found.more_restarts} more restarts of each would decide it (80 % power)" in found.sentence


def test_starts_that_are_unequal_in_number_are_told_apart() -> None:
    assert "3 restarts of A and 2 of B" in compare(starts(SLOW), starts(FAST[:2], prefix="b")).sentence


@given(
    st.lists(st.floats(50.0, 70.0), min_size=2, max_size=5),
    st.lists(st.floats(50.0, 70.0), min_size=2, max_size=5),
)
def test_the_verdict_the_other_way_round_is_its_opposite(a: list[float], b: list[float]) -> None:
    one, other = compare(starts(a), starts(b, prefix="b")), compare(starts(b, prefix="b"), starts(a))
    opposite = {Answer.FASTER: Answer.SLOWER, Answer.SLOWER: Answer.FASTER}
    assert other.answer is opposite.get(one.answer, one.answer)
    assert one.more_restarts == other.more_restarts
    assert one.ratio == pytest.approx(1 / (other.ratio or math.nan))


# How often it is wrong, and how often it sees what is there


@pytest.mark.parametrize(("of_a", "of_b"), [(2, 2), (3, 3), (4, 4), (2, 5)])
def test_the_same_configuration_is_called_faster_or_slower_at_most_once_in_twenty(of_a: int, of_b: int) -> None:
    draw, rounds = random.Random(1000 * of_a + of_b), 2000
    answers = Counter(
        compare(simulated(draw, 90.0, 0.015, of_a, "a"), simulated(draw, 90.0, 0.015, of_b, "b")).answer
        for _ in range(rounds)
    )
    each, both = (share + 3 * math.sqrt(share * (1 - share) / rounds) for share in (0.025, 0.05))
    assert answers[Answer.FASTER] / rounds <= each
    assert answers[Answer.SLOWER] / rounds <= each
    assert (answers[Answer.FASTER] + answers[Answer.SLOWER]) / rounds <= both


def test_two_starts_of_the_same_are_never_called_faster_by_their_requests() -> None:
    draw = random.Random(8)
    for _ in range(20):
        a, b = (90 * math.exp(draw.gauss(0.0, 0.02)) for _ in range(2))
        one = bench(0, a, requests=requests([a * (1 + draw.gauss(0, 0.001)) for _ in range(3)]))
        other = bench(0, b, prefix="b", requests=requests([b * (1 + draw.gauss(0, 0.001)) for _ in range(3)]))
        assert compare([one], [other]).answer is Answer.INCONCLUSIVE


def test_as_many_restarts_as_were_named_see_the_effect_four_times_of_five() -> None:
    effect, spread, rounds, draw = 0.04, 0.02, 600, random.Random(21)
    n = replicates(spread, effect)
    assert n is not None
    seen = sum(
        compare(simulated(draw, 90.0, spread, n, "a"), simulated(draw, 90.0 * (1 + effect), spread, n, "b")).answer
        is Answer.FASTER
        for _ in range(rounds)
    )
    assert seen / rounds >= 0.8 - 3 * math.sqrt(0.16 / rounds)


def test_the_restarts_that_are_missing_are_those_of_the_observed_spread_and_effect() -> None:
    spread = 0.02  # of four values at ±1 and ±1 standard deviations, times √(3/4)
    step = spread * math.sqrt(3 / 4)
    a = [90 * math.exp(x * step) for x in (-1, -1, 1, 1)]
    found = compare(starts(a), starts([value * 1.025 for value in a], prefix="b"))
    assert found.answer is Answer.INCONCLUSIVE
    assert found.more_restarts == (replicates(spread, 0.025) or 0) - 4


def test_about_the_same_speed_asks_for_what_would_show_that_nothing_differs() -> None:
    found = compare(starts([89.0, 90.0, 91.0]), starts([89.0, 90.0, 91.0], prefix="b"))
    assert found.answer is Answer.INCONCLUSIVE
    assert found.more_restarts is not None
    assert 1 <= found.more_restarts <= 12


# What one start alone may say


def test_one_start_each_looks_faster_by_its_requests_and_stays_inconclusive() -> None:
    a = bench(0, 63.6, requests=requests([63.0, 63.6, 64.0]))
    b = bench(0, 90.0, prefix="b", requests=requests([89.5, 90.0, 90.6]))
    found = compare([a], [b])
    assert (found.answer, found.basis) == (Answer.INCONCLUSIVE, "requests")
    assert found.sentence.startswith(
        "inconclusive: B looks faster: 90.0 against 63.6 tok/s of one stream, ratio 1.415 (95 % 1.40 to 1.44"
        " over requests, not restarts: indicative only, another start may differ by more);"
        " 2 restarts of each give an interval over restarts"
    )
    assert found.more_restarts is None


def test_one_start_each_without_requests_has_a_ratio_and_no_interval() -> None:
    found = compare([bench(0, 60.0)], [bench(0, 90.0, prefix="b")])
    assert (found.answer, found.low, found.high, found.basis) == (Answer.INCONCLUSIVE, None, None, None)
    assert found.ratio == pytest.approx(1.5)
    assert "one restart alone has no interval" in found.sentence


def test_requests_of_warming_up_and_of_many_streams_are_no_rates_of_one() -> None:
    rates = requests([63.0, 64.0])
    extra = (replace(rates[0], decode_tps=5.0, is_warm_up=True), replace(rates[0], decode_tps=7.0, c=8))
    found = compare([bench(0, 63.5, requests=(*rates, *extra))], [bench(0, 63.5, prefix="b", requests=rates)])
    assert found.ratio == pytest.approx(1.0)


# The replicate


def test_several_benchmarks_of_one_start_are_one_value() -> None:
    repeated = [bench(n, tps, run_id="run-1") for n, tps in enumerate([60.0, 62.0, 90.0])]
    found = compare([*repeated, bench(7, 62.0)], starts(FAST, prefix="b"))
    assert found.restarts_a == 2
    assert "62.0" in found.sentence


def test_benchmarks_without_a_run_are_of_one_start_as_far_as_anyone_knows() -> None:
    unknown = starts(SLOW, run_id=None)
    found = compare(unknown, starts(FAST, prefix="b"))
    assert (found.restarts_a, found.restarts_b, found.answer) == (1, 3, Answer.INCONCLUSIVE)


def test_benchmarks_without_a_run_but_of_other_servers_or_configurations_are_of_other_starts() -> None:
    a = [
        bench(0, 63.6, run_id=None),
        bench(1, 63.5, run_id=None, subject="kimi-2"),
        bench(2, 64.0, run_id=None, system_key="s"),
    ]
    assert compare(a, starts(FAST, prefix="b")).restarts_a == 3


# What is not counted


def test_a_run_with_a_red_gate_is_named_and_not_counted() -> None:
    found = compare([*starts(SLOW), bench(9, 200.0, gates=RED)], starts(FAST, prefix="b"))
    assert found.restarts_a == 3
    assert found.left_out == ("a-9: G2 is red: another client was active",)


def test_a_failed_run_and_one_without_a_figure_are_not_counted() -> None:
    failed, empty = bench(8, 60.0, error="the server went away"), bench(9, None)
    found = compare([*starts(SLOW), failed, empty], starts(FAST, prefix="b"))
    assert found.left_out == ("a-8: it failed: the server went away", "a-9: it has no figure")


def test_nothing_valid_is_no_verdict() -> None:
    found = compare([bench(0, 60.0, gates=RED)], starts(FAST, prefix="b"))
    assert found.answer is Answer.NONE
    assert found.sentence == "no verdict: A has no valid run: a-0: G2 is red: another client was active"
    assert compare(starts(SLOW), []).sentence == "no verdict: B has no valid run"


def test_unequal_work_is_no_verdict_and_is_named() -> None:
    work = {**WORK, "max_tokens": 512, "concurrencies": [1, 8]}
    found = compare(starts(SLOW), starts(FAST, prefix="b", workload_key="work-2", workload=work))
    assert (found.answer, found.ratio, found.rows) == (Answer.NONE, None, ())
    assert found.sentence == (
        "no verdict: the work is not the same: concurrencies 1 against 1, 8, max_tokens 256 against 512"
    )


def test_work_that_nobody_knows_is_compared_with_none() -> None:
    found = compare(starts(SLOW, workload_key=None), starts(FAST, prefix="b", workload_key=None))
    assert (found.answer, found.sentence) == (
        Answer.NONE,
        "no verdict: the work is not the same: the work of a-2 is not known",
    )


def test_other_formulas_are_no_verdict() -> None:
    found = compare(starts(SLOW), starts(FAST, prefix="b", formula_set="sglang-0.5.9"))
    assert found.answer is Answer.NONE
    assert found.sentence == "no verdict: their figures have other formulas: k2-1 against sglang-0.5.9"


def test_of_several_workloads_the_one_that_both_did_counts() -> None:
    longer = {**WORK, "max_tokens": 512}
    others = starts([10.0, 11.0], prefix="long", workload_key="work-2", workload=longer)
    found = compare([*starts(SLOW), *others], starts(FAST, prefix="b"))
    assert (found.answer, found.restarts_a) == (Answer.FASTER, 3)
    assert found.left_out == (
        "long-0: other work: max_tokens 512 against 256",
        "long-1: other work: max_tokens 512 against 256",
    )


def test_of_two_shared_workloads_the_one_with_most_restarts_counts() -> None:
    longer: dict[str, Any] = {"workload_key": "work-2", "workload": {**WORK, "max_tokens": 512}}
    a = [*starts(SLOW), *starts([50.0], prefix="x", **longer)]
    b = [*starts(FAST, prefix="b"), *starts([70.0, 71.0, 72.0, 73.0], prefix="y", **longer)]
    assert compare(a, b).restarts_b == 3


# What changed


def test_two_things_that_changed_are_confounded() -> None:
    system = replace(with_env(NCCL_PROTO="LL"), argv=(("disable-radix-cache", ""), ("tp-size", "8")))
    found = compare(starts(SLOW), starts(FAST, prefix="b", system=system, system_key="s"))
    assert found.confounded
    assert found.changes == (Changed("--disable-radix-cache", None, "on"), Changed("NCCL_PROTO", "Simple", "LL"))
    assert found.sentence.endswith("confounded: 2 things changed: --disable-radix-cache, NCCL_PROTO")


def test_nothing_changed_is_said() -> None:
    found = compare(starts(SLOW), starts(FAST, prefix="b"))
    assert (found.changes, found.confounded) == ((), False)
    assert found.sentence.endswith("nothing known changed between them")


def test_another_model_with_its_own_revision_is_one_thing() -> None:
    a, b = replace(SYSTEM, revision="aaa"), replace(SYSTEM, model="/shared/glm", revision="bbb")
    found = compare(starts(SLOW, system=a), starts(FAST, prefix="b", system=b, system_key="s"))
    assert [change.name for change in found.changes] == ["model", "revision"]
    assert not found.confounded
    assert found.sentence.endswith("one thing changed: model /shared/kimi → /shared/glm (with revision)")


def test_a_driver_and_a_version_are_two_things() -> None:
    a, b = replace(SYSTEM, driver="550"), replace(SYSTEM, driver="560", version="0.5.10")
    assert compare(starts(SLOW, system=a), starts(FAST, prefix="b", system=b, system_key="s")).confounded


def test_what_only_one_side_knows_is_no_change_and_is_named() -> None:
    b = replace(SYSTEM, driver="560")
    found = compare(starts(SLOW), starts(FAST, prefix="b", system=b, system_key="s"))
    assert found.changes == ()
    assert found.sentence.endswith("not known of both: driver")


def test_flags_of_an_unknown_command_did_not_all_change() -> None:
    found = compare(starts(SLOW), starts(FAST, prefix="b", system=BenchSystem(), system_key=None))
    assert found.changes == ()
    assert found.sentence.endswith("not known of both: model, engine, version, gpus, flags")


def test_a_side_of_several_configurations_is_confounded() -> None:
    a = [*starts(SLOW[:2]), bench(5, 64.0, system=with_env(NCCL_PROTO="LL128"), system_key="s3")]
    found = compare(a, starts(FAST, **LL))
    assert found.confounded
    assert "A is not one configuration: its runs differ in NCCL_PROTO" in found.sentence


# Figures side by side


def test_every_figure_stands_beside_the_other_and_says_why_it_is_missing() -> None:
    a = starts(SLOW, e2e_tps=50.0, ttft_any_ms=120.0, ttft_answer_ms=900.0)
    b = starts(FAST, prefix="b", e2e_tps=70.0, ttft_any_ms=100.0, requests=(replace(requests([1])[0], ttft_any_ms=1),))
    rows = {row.name: row for row in compare(a, b).rows}
    assert list(rows) == ["decode_tps", "e2e_tps", "ttft_any_ms", "ttft_answer_ms"]
    assert [rows["e2e_tps"].a, rows["e2e_tps"].b] == pytest.approx([50.0, 70.0])
    assert rows["decode_tps"].label == "tok/s of one stream, without prefill"
    assert rows["ttft_any_ms"].label == "TTFT, first token of any kind, ms"
    assert not rows["ttft_any_ms"].bigger_is_better
    assert rows["ttft_answer_ms"].b is None
    assert rows["ttft_answer_ms"].why_missing == (
        "B: no answer within the tokens that were asked for: reasoning or tool calls alone"
    )


def test_the_figures_of_the_sentence_are_those_of_the_table() -> None:
    found = compare(starts([60.0, 66.0]), starts([70.0, 77.0], prefix="b"))
    row = found.rows[0]
    assert row.a is not None
    assert row.b is not None
    assert f"{row.b:.1f} against {row.a:.1f}" in found.sentence
    assert found.ratio == pytest.approx(row.b / row.a)


def sweep(number: int, tps: float | None, *points: BenchPoint, prefix: str = "a") -> BenchResult:
    return bench(number, tps, prefix=prefix, procedure=Procedure.SWEEP, points=points)


def test_each_concurrency_of_a_sweep_has_its_row_and_an_unsteady_window_is_no_figure() -> None:
    a = sweep(0, 60.0, BenchPoint(1), BenchPoint(8, 400.0, 380.0, True), BenchPoint(32, 900.0, 850.0, True))
    b = sweep(0, 62.0, BenchPoint(1), BenchPoint(8, 410.0, 390.0, True), BenchPoint(32, 99.0, 840.0), prefix="b")
    rows = {row.name: row for row in compare([a], [b]).rows}
    assert rows["agg_tps_steady at 8"].label == "tok/s of all streams at 8, steady window"
    assert [rows["agg_tps_steady at 8"].a, rows["agg_tps_steady at 8"].b] == pytest.approx([400.0, 410.0])
    assert rows["agg_tps_steady at 32"].b is None
    assert rows["agg_tps_steady at 32"].why_missing == "B: no steady window at 32"
    assert "agg_tps_steady at 1" not in rows


def test_a_sweep_without_a_single_stream_is_compared_by_all_streams() -> None:
    a = [sweep(n, None, BenchPoint(8, tps, tps, True)) for n, tps in enumerate([400.0, 402.0])]
    b = [sweep(n, None, BenchPoint(8, tps, tps, True), prefix="b") for n, tps in enumerate([500.0, 502.0])]
    found = compare(a, b)
    assert found.answer is Answer.FASTER
    assert "501.0 against 401.0 tok/s of all streams" in found.sentence


def test_a_figure_that_a_start_has_not_got_is_not_compared() -> None:
    a = [sweep(0, 60.0, BenchPoint(8)), sweep(1, 61.0, BenchPoint(8))]
    b = [sweep(0, None, BenchPoint(8, 400.0, 400.0, True), prefix="b")]
    found = compare(a, b)
    assert (found.answer, found.ratio) == (Answer.NONE, None)
    assert found.sentence == "no verdict: there is no figure that all their runs have"


def prefill(number: int, tps: float, prefix: str = "a") -> BenchResult:
    slope = PrefillSlope(256.0, 8192.0, 50.0, 50.0 + 7936 / tps * 1000, tps)
    return bench(number, 30.0, prefix=prefix, procedure=Procedure.PREFILL, slope=slope)


def test_a_prefill_slope_is_compared_by_its_slope() -> None:
    a, b = [prefill(n, 5000.0 + n) for n in range(3)], [prefill(n, 7000.0 + n, "b") for n in range(3)]
    found = compare(a, b)
    assert found.answer is Answer.FASTER
    assert "7001.0 against 5001.0 tok/s of prefill" in found.sentence
    assert [row.name for row in found.rows] == ["prefill_tps"]

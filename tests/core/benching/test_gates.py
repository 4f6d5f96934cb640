"""When a measurement may be compared, and when not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.benching.facts import ClientCost, Flush, Measured, OthersSeen, PointFigures
from k2tui.core.benching.gates import gates_of
from k2tui.core.benching.plan import BenchPlan, CachePolicy
from tests.core.benching.told import EMPTIED, NODE, asked, clocks, counters, gate, told

COLD, WARM = BenchPlan(policy=CachePolicy.COLD), BenchPlan(policy=CachePolicy.WARM)


def test_a_clean_run_meets_every_gate_and_says_why() -> None:
    gates = gates_of(told(), plan=BenchPlan(), target=NODE, samples=clocks(*[1980.0] * 10))
    assert [gate.id for gate in gates] == ["G1", "G2", "G3", "G4", "G5", "G6", "G7"]
    assert [gate.ok for gate in gates] == [True] * 7, gates
    assert all(gate.reason for gate in gates)


def test_a_server_without_metrics_makes_no_run_bad() -> None:
    bare = told(asked(cached=None), asked(1, cached=None), counters=(counters("before", running=None),))
    gates = gates_of(bare, plan=BenchPlan(), target=NODE)
    assert {gate.id for gate in gates if gate.ok is None} == {"G1", "G2", "G3", "G6"}
    assert not [gate for gate in gates if gate.ok is False]
    assert all("could not be told" in gate.reason for gate in gates if gate.ok is None)


def test_nothing_at_all_is_judged_without_a_crash() -> None:
    assert [one.ok for one in gates_of(Measured(), plan=BenchPlan(), target=NODE)] == [None] * 7


def test_a_run_without_usage_is_flagged() -> None:
    silent = told(asked(osl=None, usage_missing=True, decode_tps=None), asked(1))
    found = gate("G1", silent)
    assert found.ok is False
    assert "1 of 2 requests" in found.reason


@pytest.mark.parametrize(("extra", "ok"), [(0, True), (5, True), (20, False), (-20, False)])
def test_tokens_must_agree_with_the_servers_counters_within_two_percent(extra: int, ok: bool) -> None:
    measured = told()
    before, after = measured.counters
    tokens = 3 * 256 + extra
    after = replace(after, generation_tokens=1e6 + tokens)
    assert gate("G1", replace(measured, counters=(before, after))).ok is ok


def test_tokens_of_warm_up_requests_count_in_the_sum() -> None:
    measured = told(asked(0, osl=64, is_warm_up=True), asked(1))
    assert gate("G1", measured).ok is True
    assert "320 tokens by usage" in gate("G1", measured).reason


def test_counters_that_hold_others_prove_nothing_about_our_tokens() -> None:
    measured = told(others=(OthersSeen(1.0, running=3, ours=1),))
    assert gate("G1", measured).ok is None
    assert gate("G2", measured).ok is False


def test_a_request_that_was_cut_leaves_the_sum_open() -> None:
    measured = told(asked(0), asked(1, osl=40, finish=None))
    before, after = measured.counters
    assert gate("G1", replace(measured, counters=(before, replace(after, generation_tokens=1e6 + 400)))).ok is None


def test_a_server_that_was_started_again_proves_nothing() -> None:
    measured = told()
    before, after = measured.counters
    assert gate("G1", replace(measured, counters=(before, replace(after, generation_tokens=10.0)))).ok is None


def test_a_second_client_is_flagged() -> None:
    seen = told(others=(OthersSeen(1.0, running=2, ours=1), OthersSeen(2.0, running=5, ours=1)))
    assert "ran 5 requests while 1 were ours" in gate("G2", seen).reason


def test_requests_that_nobody_here_sent_are_flagged() -> None:
    measured = told()
    before, after = measured.counters
    found = gate("G2", replace(measured, counters=(before, replace(after, requests=505.0))))
    assert found.ok is False
    assert "5 requests meanwhile, 3 of them ours" in found.reason


def test_a_request_that_ran_before_ours_is_flagged() -> None:
    measured = told()
    before, after = measured.counters
    busy = replace(before, running=1.0)
    assert gate("G2", replace(measured, counters=(busy, replace(after, requests=None)))).ok is False


def test_a_gauge_that_stayed_at_its_last_value_is_no_client() -> None:
    measured = told()
    before, after = measured.counters
    stuck = (replace(before, running=1.0), replace(after, running=1.0))
    assert gate("G2", replace(measured, counters=stuck)).ok is True
    assert gate("G1", replace(measured, counters=stuck)).ok is True


def test_a_gauge_and_tokens_that_are_not_ours_are_a_client() -> None:
    measured = told()
    before, after = measured.counters
    assert after.generation_tokens is not None
    more = replace(after, running=1.0, generation_tokens=after.generation_tokens + 100)
    found = gate("G2", replace(measured, counters=(replace(before, running=1.0), more)))
    assert found.ok is False
    assert "1 request before" in found.reason


def test_prompts_that_the_cache_knows_are_flagged() -> None:
    known = told(*(asked(number, cached=390) for number in range(3)))
    found = gate("G3", known)
    assert found.ok is False
    assert "97.5 %" in found.reason


def test_what_a_chat_template_puts_before_every_prompt_is_no_fault() -> None:
    found = gate("G3", told(*(asked(number, cached=16, isl=80) for number in range(3))))
    assert found.ok is True
    assert "20.0 %" in found.reason
    assert "chat template" in found.reason


def test_the_counters_prove_a_cold_cache_where_requests_do_not_say() -> None:
    mine = [asked(number, cached=None) for number in range(3)]
    measured = told(*mine)
    before, after = measured.counters
    assert gate("G3", measured).ok is True
    warm = replace(after, cached_tokens=1100.0)
    assert gate("G3", replace(measured, counters=(before, warm))).ok is False
    others = (OthersSeen(1.0, running=2, ours=1),)
    assert gate("G3", replace(measured, counters=(before, warm), others=others)).ok is None


def test_a_warm_cache_that_was_asked_for_is_told_and_no_fault() -> None:
    found = gate("G3", told(*(asked(number, cached=390) for number in range(3))), WARM)
    assert found.ok is True
    assert "97.5 %" in found.reason


def test_a_cache_that_could_not_be_emptied_is_not_cold() -> None:
    assert gate("G3", told(flushes=(EMPTIED,)), COLD).ok is True
    assert gate("G3", told(flushes=(EMPTIED, Flush(1.0, False, "400: busy"))), COLD).ok is False
    assert gate("G3", told(flushes=(Flush(1.0, None),)), COLD).ok is None
    assert gate("G3", told(), COLD).ok is None


def test_a_generator_that_wakes_up_late_is_flagged() -> None:
    late = ClientCost(8, lag_p99_ms=5.1, cpu_share=0.2)
    assert gate("G4", told(clients=(late,))).ok is False
    assert gate("G4", told(clients=(replace(late, lag_p99_ms=4.9),))).ok is True


def test_with_many_streams_the_lag_is_measured_by_the_gap_between_chunks() -> None:
    point = PointFigures(64, icl_ms={40.0: 100})
    slow = ClientCost(64, lag_p99_ms=9.0, cpu_share=0.5)
    assert gate("G4", told(clients=(slow,), points=(point,))).ok is True
    assert gate("G4", told(clients=(replace(slow, lag_p99_ms=11.0),), points=(point,))).ok is False
    assert gate("G4", told(clients=(slow,), points=())).ok is None


def test_a_generator_that_needs_its_whole_core_is_flagged() -> None:
    found = gate("G4", told(clients=(ClientCost(1, lag_p99_ms=0.5, cpu_share=0.71),)))
    assert found.ok is False
    assert "71 %" in found.reason


@pytest.mark.parametrize("finish", ["length", "stop", "tool_calls"])
def test_these_ends_are_good(finish: str) -> None:
    assert gate("G5", told(asked(finish=finish))).ok is True


def test_other_ends_are_flagged() -> None:
    assert gate("G5", told(asked(), asked(1, finish="abort"))).ok is False
    nan = gate("G5", told(asked(finish="stop", matched="NaN happened")))
    assert nan.ok is False
    assert "NaN" in nan.reason


def test_a_reasoning_parser_that_does_not_work_is_flagged() -> None:
    assert gate("G5", told(), target=replace(NODE, reasoning_proved=False)).ok is False
    assert gate("G5", told(), target=replace(NODE, reasoning_proved=None)).ok is True


def test_a_request_that_was_cut_is_no_bad_end() -> None:
    assert gate("G5", told(asked(), asked(1, finish=None))).ok is True


def test_a_gpu_that_is_held_back_is_flagged() -> None:
    found = gate("G6", told(), samples=clocks(1980.0, 1980.0, held_back=("hw heat",)))
    assert found.ok is False
    assert "GPU 0 (hw heat)" in found.reason
    assert gate("G6", told(), samples=clocks(1980.0, held_back=("set clocks",))).ok is True


def test_a_clock_that_drifts_is_flagged_and_one_stray_reading_is_not() -> None:
    steady = [1980.0] * 20
    assert gate("G6", told(), samples=clocks(*steady, 345.0)).ok is True
    drifting = clocks(*[1980.0] * 12, *[1800.0] * 8, gpu=3)
    found = gate("G6", told(), samples=[*clocks(*steady), *drifting])
    assert found.ok is False
    assert "GPU 3" in found.reason


def test_a_driver_that_does_not_say_clocks_is_not_told() -> None:
    assert gate("G6", told(), samples=clocks(None, None)).ok is None


def test_errors_are_flagged_with_the_first_of_them() -> None:
    found = gate("G7", told(asked(), asked(1, error="connection reset by the server", finish=None)))
    assert found.ok is False
    assert "1 request failed: connection reset" in found.reason
    assert gate("G7", told(error="the server is gone", error_code="server_gone")).ok is False

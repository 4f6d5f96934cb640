"""What looks alike and is not: other machines, windows, lengths, work. None of it is compared as equal."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from k2tui.core.benching.comparing import compare
from k2tui.core.benching.comparison import Answer
from k2tui.core.benching.document import result_json
from k2tui.core.benching.figures import result_of
from k2tui.core.benching.keys import key_of, workload_of
from k2tui.core.benching.plan import (
    FEWEST_PROMPT_TOKENS,
    MOST_STREAMS,
    MOST_TOKENS,
    BenchPlan,
    CachePolicy,
    Procedure,
)
from k2tui.core.benching.ranking import BEST, LIKE_BEST, ranked
from k2tui.core.benching.reading import Reader
from k2tui.core.benching.result import BenchPoint
from k2tui.core.benching.tools import read_tool_result
from k2tui.remote import load_spec
from tests.core.benching.files import bench_serving
from tests.core.benching.starts import bench, starts
from tests.core.benching.test_comparing import sweep
from tests.core.benching.test_ranking import series
from tests.core.benching.told import NODE, told

A, B = [60.0, 60.2, 60.4], [66.0, 66.2, 66.4]


def test_another_machine_is_something_that_changed() -> None:
    found = compare(starts(A), starts(B, prefix="b", node="gpu-b"))
    assert found.answer is Answer.FASTER
    assert [(change.name, change.a, change.b) for change in found.changes] == [("node", "gpu-a", "gpu-b")]
    assert "one thing changed: node gpu-a → gpu-b" in found.sentence


def test_a_flag_and_another_machine_are_confounded() -> None:
    other = replace(starts([1.0])[0].system, version="0.5.23")
    found = compare(starts(A), starts(B, prefix="b", node="gpu-b", system=other, system_key="system-2"))
    assert found.confounded
    assert "confounded: 2 things changed: node, version" in found.sentence


def test_a_side_of_two_machines_is_no_one_configuration() -> None:
    mixed = [*starts(B, prefix="b"), *starts(B, prefix="c", node="gpu-b")]
    found = compare(starts(A), mixed)
    assert found.confounded
    assert "its runs differ in node" in found.sentence


def test_two_urls_are_two_servers() -> None:
    urls = [starts(values, prefix=name, node=None, subject=f"http://{name}:1") for values, name in ((A, "a"), (B, "b"))]
    assert [change.name for change in compare(*urls).changes] == ["server"]


def test_a_steady_window_is_never_held_against_a_whole_time() -> None:
    a = [sweep(n, None, BenchPoint(8, tps, 0.8 * tps, True)) for n, tps in enumerate([400.0, 401.0])]
    b = [sweep(n, None, BenchPoint(8, tps, 0.8 * tps), prefix="b") for n, tps in enumerate([400.0, 401.0])]
    found = compare(a, b)
    assert (found.answer, found.ratio) == (Answer.SAME, 1.0)
    assert "tok/s of all streams over the whole time" in found.sentence


def test_totals_are_held_against_each_other_at_the_same_number_of_streams() -> None:
    a = [sweep(n, None, BenchPoint(8, 400.0 + n, 1.0, True), BenchPoint(32, 900.0, 1.0, True)) for n in range(2)]
    b = [sweep(n, None, BenchPoint(8, 400.0 + n, 1.0, True), BenchPoint(32, 900.0), prefix="b") for n in range(2)]
    assert compare(a, b).answer is Answer.SAME


def prefill_work(longest: tuple[int, int] | None) -> str:
    plan = BenchPlan(Procedure.PREFILL)
    return key_of(workload_of(plan, NODE, told(prompt_lengths=longest)))


def test_prompts_that_the_model_does_not_take_whole_are_other_work() -> None:
    assert prefill_work(None) == prefill_work((256, 8192))
    assert prefill_work((256, 3968)) != prefill_work((256, 8192))


def test_the_generator_says_how_long_its_prompts_are() -> None:
    plan = BenchPlan(Procedure.PREFILL)
    reader = Reader(plan, bench_id="b", began_at=0.0)
    assert reader.read('{"type":"connected","order":[1],"prompt_lengths":[256,3968]}') is not None
    assert reader.measured.prompt_lengths == (256, 3968)
    result = result_of(
        told(prompt_lengths=(256, 3968)), plan=plan, target=NODE, bench_id="b", began_at=0.0, elapsed_s=1.0
    )
    assert "The long prompts have 3968 tokens, not 8192: the model takes no longer ones." in result.notes


@pytest.mark.parametrize(("policy", "noted"), [(CachePolicy.FRESH, True), (CachePolicy.WARM, False)])
def test_a_seed_says_that_a_cache_may_know_its_prompts(policy: CachePolicy, noted: bool) -> None:
    result = result_of(told(), plan=BenchPlan(seed=7, policy=policy), target=NODE, bench_id="b", began_at=0.0)
    assert any("a cache may know them" in note for note in result.notes) is noted


def test_a_trial_of_other_work_is_not_ranked_with_the_others() -> None:
    state = series([60.0, 60.5], [90.0, 90.5], [61.0, 61.5])
    keys = ["w", "w", "other", "other", "w", "w"]
    trials = tuple(replace(trial, workload_key=key) for trial, key in zip(state.trials, keys, strict=True))
    found = ranked(replace(state, trials=trials))
    assert [(row.label, row.mark) for row in found.rows if row.n] == [
        ("p2", BEST),
        ("p0", LIKE_BEST),
    ]
    (left_out,) = [row for row in found.rows if not row.n]
    assert (left_out.label, left_out.not_valid) == ("p1", 2)
    assert left_out.why == "not valid 2 times: its work is not that of the others: they can't be compared"


def test_what_the_results_say_of_their_work_counts_as_well() -> None:
    state = series([60.0], [90.0], [61.0])
    trials = tuple(replace(trial, bench_id=f"a-{trial.number}") for trial in state.trials)
    results = [
        bench(number, tps, workload_key=key) for number, tps, key in ((1, 60.0, "w"), (2, 90.0, "x"), (3, 61.0, "w"))
    ]
    assert [row.label for row in ranked(replace(state, trials=trials), results).rows if row.n] == ["p2", "p0"]


def test_a_result_that_is_taken_in_as_of_another_server_is_another_result() -> None:
    own = bench(1, 60.0, bench_id="20261129T100000Z-aaaa")
    as_it_was, as_other = (
        read_tool_result(result_json(own), subject=subject, now=0.0)[0] for subject in ("kimi", "glm")
    )
    assert as_it_was.bench_id == own.bench_id
    assert (as_other.subject, as_other.bench_id) != ("kimi", own.bench_id)
    assert as_other.bench_id != own.bench_id
    assert read_tool_result(result_json(own), subject="glm", now=9.0)[0].bench_id == as_other.bench_id


def test_each_of_a_thousand_measurements_of_one_file_has_its_own_id() -> None:
    lines = "\n".join(json.dumps({**bench_serving(), "duration": 10.0 + number}) for number in range(1000))
    results = read_tool_result(lines, subject="kimi", now=1.8e9)
    assert len({result.bench_id for result in results}) == len(results) == 1000
    again = read_tool_result(lines, subject="kimi", now=1.8e9)
    assert [result.bench_id for result in again] == [result.bench_id for result in results]


def test_what_may_be_asked_for_is_what_the_generator_takes() -> None:
    assert (MOST_STREAMS, MOST_TOKENS) == (load_spec.MOST_STREAMS, load_spec.MOST_TOKENS)
    for length, is_taken in ((FEWEST_PROMPT_TOKENS, True), (FEWEST_PROMPT_TOKENS - 1, False)):
        line = json.dumps({"target": {"port": 1}, "plan": {"prompt_lengths": [length, 99]}}).encode()
        if is_taken:
            assert load_spec.read_spec(line).plan.prompt_lengths == (length, 99)
        else:
            with pytest.raises(ValueError, match="prompt_lengths"):
                load_spec.read_spec(line)

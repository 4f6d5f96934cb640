"""Result files of other tools: what they mean, and what they do not know."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.document import read_result, result_json
from k2tui.core.benching.figures import result_of
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.result import BenchResult, BenchSystem
from k2tui.core.benching.tools import read_tool_result
from tests.core.benching.files import aiperf, bench_serving, guidellm, vllm_serve
from tests.core.benching.told import NODE, told

NOW = 1.8e9


def read(*documents: dict[str, Any], **about: Any) -> tuple[BenchResult, ...]:
    text = "\n".join(json.dumps(document) for document in documents)
    return read_tool_result(text, subject="kimi", now=NOW, **about)


def one(document: dict[str, Any], **about: Any) -> BenchResult:
    (result,) = read(document, **about)
    return result


def why(result: BenchResult, gate: str) -> tuple[bool | None, str]:
    found = next(each for each in result.gates if each.id == gate)
    return found.ok, found.reason


def test_bench_serving_of_several_streams_has_a_total_and_a_rate_of_one() -> None:
    result = one(bench_serving())
    assert (result.tool, result.tool_version, result.formula_set) == (
        "sglang.bench_serving",
        "0.5.23",
        "sglang.bench_serving 0.5.23",
    )
    (point,) = result.points
    assert (point.c, point.agg_tps_total, point.decode_tps) == (8, 204.8, 80.0)
    assert (point.output_tokens, point.prompt_tokens, point.wall_s) == (20480, 40960, 100.0)
    assert (point.spreads["ttft_any_ms"].p50, point.spreads["ttft_any_ms"].p90) == (120.0, 180.0)
    assert point.spreads["ttft_any_ms"].p99 is None  # of 80 requests
    assert "itl_ms" in point.spreads  # the native backend divides a gap by the tokens that came after it
    assert (result.decode_tps, result.ttft_any_ms, result.headline) == (None, None, 204.8)
    assert (result.procedure, result.began_at, result.elapsed_s) == (Procedure.IMPORTED, NOW, 100.0)
    assert len(result.gates) == 7
    assert result.valid


def test_bench_serving_of_one_stream_has_the_headline_of_a_quick_figure() -> None:
    result = one(bench_serving(max_concurrency=1))
    assert (result.decode_tps, result.ttft_any_ms, result.tpot_ms) == (80.0, 120.0, 12.5)
    assert result.ttft_answer_ms is None


def test_a_ttft_of_zero_is_no_ttft_and_its_tpot_is_no_rate() -> None:
    blind = dict.fromkeys(("median_ttft_ms", "mean_ttft_ms", "p99_ttft_ms", "median_itl_ms", "p99_itl_ms"), 0.0)
    result = one(bench_serving(max_concurrency=1, **blind))
    (point,) = result.points
    assert (result.decode_tps, result.ttft_any_ms, result.tpot_ms, point.decode_tps) == (None,) * 4
    assert point.spreads.keys() == {"e2e_ms"}
    assert any("#23954" in note for note in result.notes)
    assert point.agg_tps_total == 204.8


def test_tokens_that_may_be_the_length_that_was_asked_for_are_not_proved() -> None:
    assert why(one(bench_serving()), "G1")[0] is True
    ok, reason = why(one(bench_serving(backend="sglang-oai-chat")), "G1")
    assert ok is None
    assert "does not ask for usage" in reason
    ok, reason = why(one(bench_serving(backend="sglang-oai-chat", total_output_tokens_retokenized=2000)), "G1")
    assert ok is False
    assert "its text has 2000" in reason


def test_gaps_of_an_openai_backend_are_between_chunks() -> None:
    (point,) = one(bench_serving(backend="sglang-oai-chat")).points
    assert "icl_ms" in point.spreads
    assert "itl_ms" not in point.spreads


def test_its_peak_counts_chunks_and_is_left_out() -> None:
    assert "9999" not in result_json(one(bench_serving()))


def test_output_details_give_whole_spreads_and_the_failures() -> None:
    details = {
        "ttfts": [0.1, 0.2, 0.3, 0.0],
        "itls": [[0.01, 0.02], [0.03], [], []],
        "errors": ["", "", "", "Traceback ..."],
        "output_lens": [3, 2, 1, 0],
    }
    result = one(bench_serving(completed=3, **details))
    (point,) = result.points
    assert (point.sent, point.failed) == (4, 1)
    ttft, gaps = point.spreads["ttft_any_ms"], point.spreads["itl_ms"]
    assert (ttft.n, ttft.p50, ttft.largest, ttft.smallest) == (3, 200.0, 300.0, 100.0)
    assert (gaps.n, gaps.p50) == (3, 20.0)
    assert why(result, "G7") == (False, "1 request failed")
    assert not result.valid


def test_without_details_nobody_knows_what_failed() -> None:
    result = one(bench_serving())
    assert result.points[0].failed is None
    assert why(result, "G7")[0] is None


def test_a_run_in_which_nothing_ended_is_a_failure() -> None:
    zeros = {name: 0.0 for name in bench_serving() if name.endswith("_ms")}
    result = one(bench_serving(completed=0, total_output_tokens=0, output_throughput=0.0, **zeros))
    (point,) = result.points
    assert (point.agg_tps_total, point.decode_tps, point.output_tokens, point.spreads) == (None, None, None, {})
    assert result.error == "no request came to its end"
    assert not result.valid


def test_an_older_file_without_p90_has_none() -> None:
    old = {name: value for name, value in bench_serving().items() if not name.startswith(("p90", "p95", "server_info"))}
    result = one(old)
    assert result.points[0].spreads["ttft_any_ms"].p90 is None
    assert (result.formula_set, result.system) == ("sglang.bench_serving", BenchSystem())


def test_the_servers_info_is_the_system_and_holds_no_secret() -> None:
    system = one(bench_serving()).system
    assert (system.engine, system.version, system.model) == ("sglang", "0.5.23", "/shared/kimi")
    assert system.argv == (("disable-radix-cache", ""), ("mem-fraction-static", "0.9"), ("tp-size", "8"))
    assert "verysecret" not in result_json(one(bench_serving()))


def test_the_servers_own_command_is_preferred_to_what_it_resolved() -> None:
    info = {"version": "0.5.23", "launch_command": "python -m sglang.launch_server --model /m --tp 4", "tp_size": 4}
    assert one(bench_serving(server_info=info)).system.argv == (("tp-size", "4"),)


def test_cached_prompts_are_flagged_where_the_file_tells_them() -> None:
    report = {"total_prompt_tokens": 1000, "total_cached_tokens": 500}
    assert why(one(bench_serving(cache_report=report)), "G3")[0] is False
    assert why(one(bench_serving()), "G3")[0] is None


def test_each_line_of_a_file_is_a_result_and_one_that_was_cut_is_left_out() -> None:
    lines = json.dumps(bench_serving()) + "\n" + json.dumps(bench_serving(max_concurrency=16)) + '\n{"tag": nul'
    results = read_tool_result(lines, subject="kimi", now=NOW)
    assert [result.points[0].c for result in results] == [8, 16]
    assert len({result.bench_id for result in results}) == 2
    assert results == read_tool_result(lines, subject="kimi", now=NOW)


def test_a_full_run_of_ours_has_its_own_system_and_place() -> None:
    ours = BenchSystem(engine="sglang", version="0.5.23+ours")
    result = one(bench_serving(), procedure=Procedure.FULL, node="gpu-a", run_id="r-1", system=ours)
    assert (result.procedure, result.node, result.run_id, result.system) == (Procedure.FULL, "gpu-a", "r-1", ours)
    assert result.workload["measured_from"] == "node"
    assert result.workload_key != one(bench_serving()).workload_key


def test_vllm_bench_serve_is_read_by_its_own_words() -> None:
    result = one(vllm_serve())
    assert (result.tool, result.formula_set) == ("vllm bench serve", "vllm bench serve")
    assert result.decode_tps == pytest.approx(1000 / 11.25)
    assert (result.ttft_any_ms, result.points[0].spreads["icl_ms"].p50) == (130.0, 11.1)
    assert why(result, "G7") == (True, "none of 40 requests failed")
    assert any("without any text" in note for note in result.notes)
    assert any("20260808-101112" in note for note in result.notes)
    assert why(one(vllm_serve(failed=2)), "G7")[0] is False


def test_aiperf_is_read_by_its_own_words() -> None:
    result = one(aiperf())
    (point,) = result.points
    assert (result.formula_set, point.c, point.agg_tps_total, point.decode_tps) == ("aiperf 0.13.0", 16, 850.0, 58.8)
    assert (point.spreads["ttft_any_ms"].p99, point.spreads["ttft_any_ms"].largest) == (420.0, 630.0)
    assert (point.spreads["ttft_answer_ms"].p50, point.spreads["e2e_ms"].p50) == (800.0, 9000.0)
    assert (point.wall_s, point.output_tokens, point.sent, point.failed) == (60.0, 51000, 100, 0)
    assert result.system.model == "kimi"
    assert result.valid


def test_aiperf_in_seconds_or_without_a_metric_is_no_other_figure() -> None:
    seconds = {"unit": "sec", "p50": 0.21, "p90": 0.3, "p99": 0.4, "max": 0.5, "min": 0.1, "count": 100}
    found = {
        name: value for name, value in aiperf(time_to_first_token=seconds).items() if name != "inter_chunk_latency"
    }
    (point,) = one(found).points
    assert point.spreads["ttft_any_ms"].p50 == pytest.approx(210.0)
    assert "icl_ms" not in point.spreads


def test_an_aiperf_run_that_was_not_finished_is_a_failure() -> None:
    assert one(aiperf(was_cancelled=True)).error == "it was cancelled before its end"
    assert one(aiperf(is_complete=False, incomplete_reason="records stalled")).error == "records stalled"
    failed = one(aiperf(error_request_count={"unit": "requests", "avg": 3.0}))
    assert why(failed, "G7") == (False, "3 requests failed")


def test_guidellms_itl_is_the_rate_and_its_tpot_is_left_out() -> None:
    result = one(guidellm())
    (point,) = result.points
    assert (result.formula_set, point.c) == ("guidellm 0.8.1", 1)
    assert result.decode_tps == pytest.approx(1000 / 11.25)
    assert (result.ttft_any_ms, result.ttft_answer_ms) == (120.0, None)
    assert (point.spreads["e2e_ms"].p50, point.spreads["ttft_any_ms"].p99) == (3000.0, None)
    assert "11.7" not in result_json(result)
    assert (result.began_at, result.elapsed_s, result.system.model) == (1.7e9, 150.0, "kimi")
    assert "1 requests were cut when the time was over." in result.notes


def test_guidellms_zeros_of_an_empty_distribution_are_nothing() -> None:
    (point,) = one(guidellm()).points
    assert "ttft_answer_ms" not in point.spreads


def test_a_guidellm_report_has_a_result_for_each_of_its_benchmarks() -> None:
    report = guidellm()
    more = json.loads(json.dumps(report["benchmarks"][0]))
    more["config"] |= {"id_": "two", "strategy": {"type_": "concurrent", "streams": 32}}
    report["benchmarks"].append(more)
    results = read(report)
    assert [result.points[0].c for result in results] == [1, 32]
    assert len({result.bench_id for result in results}) == 2
    assert results[1].decode_tps is None


def test_a_result_of_ours_comes_in_as_it_is() -> None:
    ours = result_of(told(), plan=BenchPlan(), target=NODE, bench_id="20260810T120000Z-ab12", began_at=1.7e9)
    (result,) = read_tool_result(result_json(ours), subject="other", now=NOW)
    assert (result.subject, result.workload_key, result.decode_tps) == ("other", ours.workload_key, ours.decode_tps)


def test_no_two_tools_do_the_same_work() -> None:
    results = [one(bench_serving()), one(vllm_serve()), one(aiperf()), one(guidellm())]
    assert len({result.workload_key for result in results}) == 4


def test_every_result_survives_its_own_document() -> None:
    for document in (bench_serving(), vllm_serve(), aiperf(), guidellm()):
        result = one(document)
        assert read_result(result_json(result)) == result


@pytest.mark.parametrize("text", ["", "hello", "[]", "{}", '{"benchmarks": []}', "null\nnull", '{"median_ttft_ms": 1}'])
def test_a_file_of_no_tool_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="the file is no"):
        read_tool_result(text, subject="kimi", now=NOW)


NAMES = sorted({*bench_serving(), *vllm_serve(), *aiperf(), *guidellm()})
WRONG = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
ANYTHING = st.recursive(
    WRONG, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=3)
)


@given(
    st.sampled_from([bench_serving, vllm_serve, aiperf, guidellm]),
    st.dictionaries(st.sampled_from(NAMES), ANYTHING, max_size=8),
)
def test_no_wrong_value_breaks_the_reading_or_becomes_a_figure_of_zero(file: Any, wrong: dict[str, Any]) -> None:
    try:
        results = read({**file(), **wrong})
    except ValueError:
        return
    for result in results:
        assert read_result(result_json(result)) == result
        figures = [result.decode_tps, result.ttft_any_ms, *(point.agg_tps_total for point in result.points)]
        assert 0.0 not in figures

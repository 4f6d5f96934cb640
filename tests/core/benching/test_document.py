"""Results as JSON and back, and as tables."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import fields, replace
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from k2tui.core.benching.document import read_result, result_json
from k2tui.core.benching.export import csv_of, jsonl_of, markdown_of
from k2tui.core.benching.facts import PointFigures, PrefillSlope, RequestFigures
from k2tui.core.benching.figures import result_of
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem, GateResult, GpuSample, Spread
from tests.core.benching.told import NODE, asked, told

TEXT = st.text(st.characters(categories=("L", "N", "P", "S")), max_size=12)
FIGURE = st.none() | st.floats(-1e9, 1e9)
COUNT = st.none() | st.integers(0, 1 << 40)
WORDS = st.lists(TEXT, max_size=2).map(tuple)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 40), 1 << 40) | st.floats(-1e9, 1e9) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "p50": st.floats(0, 1e9),
    "tokens_per_chunk": st.dictionaries(st.integers(1, 99), st.integers(1, 99), max_size=3),
    "workload": st.dictionaries(TEXT, JSON, max_size=3),
    "requests": st.lists(st.builds(lambda n: asked(n), st.integers(0, 9)), max_size=2).map(tuple),
}

SPREADS = st.builds(Spread, n=COUNT, p50=st.floats(0, 1e9), p90=FIGURE, largest=FIGURE, p99=FIGURE, smallest=FIGURE)
POINTS = st.builds(
    BenchPoint,
    c=st.integers(1, 1024),
    agg_tps_steady=FIGURE,
    steady=st.booleans(),
    decode_tps=FIGURE,
    sent=st.integers(0, 999),
    failed=COUNT,
    spreads=st.dictionaries(TEXT, SPREADS, max_size=2),
    tokens_per_chunk=BY_NAME["tokens_per_chunk"],
)
RESULTS = st.builds(
    BenchResult,
    bench_id=TEXT,
    subject=TEXT,
    node=st.none() | TEXT,
    procedure=st.sampled_from(Procedure),
    began_at=st.floats(0, 4e9),
    tool=TEXT,
    decode_tps=FIGURE,
    decode_tps_cv=FIGURE,
    ttft_answer_ms=FIGURE,
    slope=st.none() | st.just(PrefillSlope(256.0, 8192.0, 60.0, 860.0, 9920.0)),
    points=st.lists(POINTS, max_size=2).map(tuple),
    requests=BY_NAME["requests"],
    gates=st.lists(st.builds(GateResult, id=TEXT, ok=st.none() | st.booleans(), reason=TEXT), max_size=2).map(tuple),
    samples=st.lists(
        st.builds(
            GpuSample, at_s=st.floats(0, 99), gpu=st.integers(0, 7), held_back=st.lists(TEXT, max_size=2).map(tuple)
        ),
        max_size=2,
    ).map(tuple),
    workload_key=st.none() | TEXT,
    workload=BY_NAME["workload"],
    system=st.builds(BenchSystem, model=st.none() | TEXT, argv=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple)),
    notes=WORDS,
    error=st.none() | TEXT,
    is_base=st.booleans(),
)


def measured(**other: Any) -> BenchResult:
    return result_of(told(**other), plan=BenchPlan(), target=NODE, bench_id="20260810T120000Z-ab12", began_at=1.7e9)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(RESULTS)
def test_a_result_comes_back_from_its_document(result: BenchResult) -> None:
    assert read_result(result_json(result)) == result


def test_a_measured_result_comes_back_with_everything_in_it() -> None:
    point = PointFigures(1, agg_tps_total=80.0, icl_ms={11.2: 255}, tokens_per_chunk={1: 250, 4: 2})
    result = measured(points=(point,))
    assert read_result(result_json(result)) == result


def test_the_document_has_the_names_of_the_contract() -> None:
    document = json.loads(result_json(measured()))
    assert document["type"] == "result"
    assert document["valid"] is True
    assert document["procedure"] == "quick"
    for name in (
        "decode_tps",
        "e2e_tps",
        "ttft_any_ms",
        "ttft_answer_ms",
        "tpot_ms",
        "decode_tps_min",
        "decode_tps_max",
    ):
        assert isinstance(document[name], float), name
    assert {"c", "agg_tps_steady", "agg_tps_total"} <= document["points"][0].keys()
    assert {"isl", "osl", "decode_tps", "finish"} <= document["requests"][0].keys()
    assert {"id", "ok", "reason"} == document["gates"][0].keys()
    assert len(document["workload_key"]) == len(document["system_key"]) == 64


def test_a_missing_figure_is_null_and_decode_tps_is_there_though_a_gate_is_red() -> None:
    document = json.loads(result_json(measured(requests=(asked(ttft_answer_ms=None), asked(1, error="reset")))))
    assert document["ttft_answer_ms"] is None
    assert (document["valid"], document["decode_tps"]) == (False, 90.0)


@given(st.text() | st.binary())
def test_what_is_no_result_is_none(text: str | bytes) -> None:
    assert read_result(text) is None


@given(st.dictionaries(st.sampled_from([one.name for one in fields(BenchResult)]), JSON, max_size=8))
def test_no_document_can_break_the_reading(document: dict[str, Any]) -> None:
    found = read_result(
        json.dumps({"bench_id": "a", "subject": "b", "procedure": "quick", **document, "type": "result"})
    )
    assert found is None or read_result(result_json(found)) == found


def test_a_later_versions_fields_are_left_out() -> None:
    result = measured()
    document = {**json.loads(result_json(result)), "of_tomorrow": 1}
    assert read_result(json.dumps(document)) == result


def sweep() -> BenchResult:
    spread = Spread(3, p50=120.0, p90=130.0, largest=140.0)
    points = (
        BenchPoint(1, agg_tps_total=80.0, decode_tps=90.0, sent=3, output_tokens=768, prompt_tokens=1200, wall_s=9.6),
        BenchPoint(8, agg_tps_steady=480.0, steady=True, sent=24, failed=1, spreads={"ttft_any_ms": spread}),
    )
    return replace(measured(), procedure=Procedure.SWEEP, points=points, subject="=cmd()|kimi")


def test_a_csv_has_a_row_for_each_concurrency_and_an_empty_cell_for_what_is_missing() -> None:
    rows = list(csv.DictReader(csv_of([sweep()]).splitlines()))
    assert [row["c"] for row in rows] == ["1", "8"]
    assert [row["agg_tps_steady"] for row in rows] == ["", "480.0"]
    assert [row["ttft_any_ms_p90"] for row in rows] == ["", "130.0"]
    assert rows[0]["valid"] == "yes"
    assert rows[0]["began_at"] == "2023-11-14T22:13:20Z"


def test_a_csv_holds_no_formula_of_a_stranger() -> None:
    assert next(csv.DictReader(csv_of([sweep()]).splitlines()))["subject"] == "'=cmd()|kimi"


def test_a_markdown_table_says_what_a_figure_is() -> None:
    table = markdown_of([sweep(), replace(measured(), decode_tps=None, points=(), ttft_any_ms=None)])
    head, _, first, second = table.splitlines()
    assert head.count("|") == 9
    assert "91.0 tok/s of one stream" in first
    assert "=cmd()\\|kimi" in first
    assert "—" in second
    assert "0.0" not in second


def test_json_lines_use_bench_servings_names_only_where_the_formula_is_the_same() -> None:
    one, eight = map(json.loads, jsonl_of([sweep()]).splitlines())
    assert (one["max_concurrency"], one["output_throughput"], one["total_output_tokens"]) == (1, 80.0, 768)
    assert math.isclose(one["request_throughput"], 3 / 9.6)
    assert math.isclose(one["total_throughput"], (768 + 1200) / 9.6)
    assert (eight["completed"], eight["duration"], eight["input_throughput"]) == (23, None, None)
    assert not [name for name in one if name.startswith(("median_", "mean_"))]


def test_requests_of_a_result_are_read_one_by_one() -> None:
    document = json.loads(result_json(measured()))
    document["requests"][1] = {"c": "many"}
    found = read_result(json.dumps(document))
    assert found is not None
    assert [type(one) for one in found.requests] == [RequestFigures, RequestFigures]

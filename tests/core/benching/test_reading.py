"""The generator's lines, and whatever else may stand there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.benching.facts import Measured
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.reading import LONGEST_LINE, MOST_FACTS, Reader


def reader(plan: BenchPlan | None = None) -> Reader:
    return Reader(plan or BenchPlan(), bench_id="20260810T120000Z-ab12", began_at=7.0)


def line(kind: str, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}).encode() + b"\n"


QUICK = (
    line("hello", formula_set="k2-1", prompt_set="ab", nonce="n", python="3.12.3", model="kimi", connected_ms=1.5),
    line("counters", at_s=0.0, when="before", generation_tokens=1000, requests=5, running=0),
    line("connected", order=[1], note=None, ignore_eos=True, connections=1),
    line("request", c=1, number=0, began_s=0.1, osl=64, is_warm_up=True, finish="length"),
    line("figure", at_s=3.0, c=1, decode_tps=88.0, total_tps=88.0, tokens=192, done=0, of=3, text="request 1 of 3"),
    line("request", c=1, number=1, began_s=1.0, osl=256, decode_tps=90.0, ttft_any_ms=120.0, finish="length"),
    line("point", c=1, agg_tps_total=80.0, sent=3, icl_ms={"11.2": 255}, tokens_per_chunk={"1": 256}),
    line("client", c=1, lag_p50_ms=0.1, lag_p99_ms=0.8, cpu_share=0.04),
    line("counters", at_s=9.0, when="after", generation_tokens=1320, requests=7, running=0),
    line("end", wall_s=9.5),
)


def test_a_quick_measurement_is_folded_whole() -> None:
    read = reader()
    heard = [read.read(one) for one in QUICK]
    measured = read.measured
    assert [one.type for one in heard if one is not None] == [json.loads(one)["type"] for one in QUICK]
    assert (measured.formula_set, measured.model, measured.ignore_eos) == ("k2-1", "kimi", True)
    assert [one.osl for one in measured.requests] == [64, 256]
    assert measured.points[0].icl_ms == {11.2: 255}
    assert measured.points[0].tokens_per_chunk == {1: 256}
    assert [one.when for one in measured.counters] == ["before", "after"]
    assert (measured.ended, measured.wall_s, read.lost) == (True, 9.5, 0)


def test_unknown_is_none_and_never_zero() -> None:
    read = reader()
    read.read(line("request", c=1, number=1, began_s=1.0, decode_tps=None, ttft_any_ms=None))
    (request,) = read.measured.requests
    assert (request.decode_tps, request.ttft_any_ms, request.osl, request.cached) == (None,) * 4


def test_each_line_says_a_sentence() -> None:
    read = reader()
    texts = [heard.text for heard in map(read.read, QUICK) if heard is not None]
    assert "measuring kimi, connected in 2 ms" in texts
    assert "88.0 tok/s of one stream so far" in texts
    assert "request 1: 90.0 tok/s, TTFT 120 ms, 256 tokens" in texts


def test_a_failure_keeps_what_was_measured() -> None:
    read = reader()
    for one in QUICK[:6]:
        read.read(one)
    read.read(line("error", code="server_gone", message="the server closed its port"))
    measured = read.measured
    assert (measured.error, measured.error_code, measured.ended) == ("the server closed its port", "server_gone", False)
    assert len(measured.requests) == 2


def test_progress_of_a_quick_figure_goes_by_tokens_requests_and_time() -> None:
    read = reader(BenchPlan(repeats=3, max_tokens=256, budget_s=25.0))
    assert read.live.fraction is None
    read.read(line("figure", at_s=1.0, c=1, tokens=384, done=1, of=3))
    assert read.live.fraction == pytest.approx(0.5)
    assert read.live.text == "request 2 of 3"
    read.read(line("figure", at_s=20.0, c=1, tokens=400, done=1, of=3))
    assert read.live.fraction == pytest.approx(0.8)
    read.read(line("end", wall_s=21.0))
    assert read.live.fraction == 1.0


def test_progress_of_a_sweep_goes_by_points_and_how_long_one_is_held() -> None:
    read = reader(BenchPlan(procedure=Procedure.SWEEP, concurrencies=(1, 4, 8, 16), hold_s=30.0))
    read.read(line("connected", order=[8, 1, 16, 4]))
    read.read(line("figure", at_s=2.0, c=8, total_tps=400.0, tokens=10))
    read.read(line("figure", at_s=17.0, c=8, total_tps=410.0, tokens=900))
    assert read.live.fraction == pytest.approx(0.125)
    assert (read.live.c, read.live.total_tps, read.live.text) == (8, 410.0, "8 streams, 15 s of 30")
    read.read(line("point", c=8, agg_tps_total=400.0))
    assert read.live.fraction == pytest.approx(0.25)


def test_progress_never_goes_back_and_the_rate_stays_when_a_line_has_none() -> None:
    read = reader()
    read.read(line("figure", at_s=10.0, c=1, decode_tps=88.0, tokens=100, done=1, of=3))
    read.read(line("figure", at_s=2.0, c=1, decode_tps=None, tokens=0, done=0, of=3))
    assert read.live.fraction == pytest.approx(0.4)
    assert read.live.decode_tps == 88.0


@pytest.mark.parametrize(
    "wrong",
    [
        b"",
        b"\n",
        b"Traceback (most recent call last):",
        b"\xff\xfe\x00",
        b"null",
        b"[1, 2]",
        b'{"type": "request"}',
        b'{"type": "weather", "c": 1}',
        b'{"type": ["request"]}',
        b'{"type": "request", "c": "1", "number": 1, "began_s": 0}',
        b'{"type": "request", "c": NaN, "number": 1, "began_s": 0}',
        b'{"type": "request", "c": -1, "number": 1, "began_s": 0}',
        b'{"type": "request", "c": true, "number": 1, "began_s": 0}',
        b'{"type": "point", "c": 1e400}',
        b"[" * 100_000,
        b'{"type": "error", "message": ' + b"9" * 5000 + b"}",
        b'{"type": "figure", "c": 1, "text": "' + b"x" * LONGEST_LINE + b'"}',
    ],
)
def test_a_line_that_says_nothing_is_lost_and_counted(wrong: bytes) -> None:
    read = reader()
    assert read.read(wrong) is None
    assert (read.lost, read.measured) == (1, Measured())


def test_a_figure_that_is_no_number_is_none() -> None:
    read = reader()
    read.read(b'{"type":"request","c":1,"number":1,"began_s":0,"decode_tps":NaN,"osl":"256","ttft_any_ms":Infinity}')
    (request,) = read.measured.requests
    assert (request.decode_tps, request.osl, request.ttft_any_ms) == (None, None, None)


def test_text_of_a_node_reaches_nobody_with_escapes() -> None:
    read = reader()
    heard = read.read(line("error", code="refused", message="\x1b[31mno\x07 \u202ereally" + "x" * 9000))
    assert heard is not None
    assert heard.text.isprintable()
    assert len(heard.text) <= 4096
    assert read.measured.error == heard.text


def test_a_flood_of_lines_is_bounded() -> None:
    read = reader()
    one = line("others", at_s=1.0, running=2, ours=1)
    for _ in range(MOST_FACTS + 5):
        read.read(one)
    assert len(read.measured.others) == MOST_FACTS
    assert read.lost == 5


KINDS = st.sampled_from(["hello", "connected", "counters", "flush", "figure", "request", "point", "client", "slope"])
NAMES = st.sampled_from(
    ["c", "number", "began_s", "at_s", "when", "ok", "icl_ms", "order", "text", "done", "of", "osl"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(st.tuples(KINDS, st.dictionaries(NAMES, JSON, max_size=8)), max_size=6))
def test_no_fields_can_break_the_reader(lines: list[tuple[str, dict[str, Any]]]) -> None:
    read = reader(BenchPlan(procedure=Procedure.SWEEP))
    for kind, fields in lines:
        heard = read.read(json.dumps({**fields, "type": kind}))
        assert heard is None or heard.text.isprintable()
        json.dumps(None if heard is None else heard.data, allow_nan=False)
    assert read.live.fraction is None or 0.0 <= read.live.fraction <= 1.0


@given(st.binary() | st.text())
def test_no_bytes_can_break_the_reader(raw: bytes | str) -> None:
    reader().read(raw)

"""What a stream does to hide its rate, against the truth of the server that does it."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from tests.fakes.truth_server import Behaviour, TruthServer
from tests.remote.load_stage import Line, Told, measured

TRAPS: dict[str, dict[str, Any]] = {
    "a plain stream": {},
    "only reasoning": {"kind": "reasoning"},
    "reasoning, then an answer": {"thinks": 40},
    "tool calls": {"kind": "tool"},
    "four tokens a chunk": {"bundle": 4, "tok_s": 200.0},
    "a parser that keeps 16 tokens back": {"swallows": (40, 16)},
    "a parser that keeps the last 30 back": {"swallows": (271, 30), "kind": "tool"},
    "a first chunk with only a role": {"role_first": True},
    "no chunk with only a role": {"role_first": False},
    "events in many segments": {"splits": True, "word": " wörtlich 😀 \\ \n", "tok_s": 60.0},
    "pings and CRLF": {"pings": True, "crlf": True},
    "the body ends with the connection": {"framing": "close"},
    "a late usage and a late end": {"tail_s": 0.3},
}


COUNTED_AT_THE_END: dict[str, dict[str, Any]] = {
    "a server that counts only at the end": {"usage": "final"},
    "and a parser that keeps the last 30 back": {"usage": "final", "swallows": (271, 30), "kind": "tool"},
}
TOKENS = 300

Pairs = list[tuple[Line, float]]


async def against_truth(**behaviour: Any) -> Pairs:
    """(what was said of a request, tok/s by the server's own clock), of each that was measured."""
    async with TruthServer(Behaviour(**behaviour)) as server:
        told = await measured(server.port, max_tokens=TOKENS)
        assert told.error is None
        return [(line, truth.decode_tps) for line, truth in zip(told.requests, server.measured, strict=True)]


@pytest.fixture(scope="module")
def sprung() -> dict[str, Pairs]:
    """All traps at the same time, each with a server of its own."""
    traps = {**TRAPS, **COUNTED_AT_THE_END}

    async def all_of_them() -> list[Pairs]:
        return await asyncio.gather(*(against_truth(**behaviour) for behaviour in traps.values()))

    return dict(zip(traps, asyncio.run(all_of_them()), strict=True))


def error(pairs: Pairs) -> float:
    """How far off the quietest request is: a busy machine delays tokens of one, a wrong formula those of all."""
    return min(abs(float(line["decode_tps"]) / truth - 1) for line, truth in pairs)


@pytest.mark.parametrize("trap", TRAPS)
def test_decode_tps_is_within_a_percent_of_the_servers_truth(trap: str, sprung: dict[str, Pairs]) -> None:
    assert error(sprung[trap]) < 0.01
    for line, _ in sprung[trap]:
        assert (line["osl"], line["usage_missing"], line["c_first_assumed"]) == (TOKENS, False, False)
        assert line["finish"] == "length"


@pytest.mark.parametrize("trap", COUNTED_AT_THE_END)
def test_without_counts_on_the_way_it_is_flagged_and_still_right(trap: str, sprung: dict[str, Pairs]) -> None:
    assert error(sprung[trap]) < 0.01
    for line, _ in sprung[trap]:
        assert (line["osl"], line["c_first_assumed"]) == (TOKENS, True)


async def test_a_server_that_never_counts_gives_no_rate_and_a_flag() -> None:
    async with TruthServer(Behaviour(usage="none")) as server:
        told = await measured(server.port)
    for line in told.requests:
        assert line["usage_missing"]
        assert [line[name] for name in ("osl", "isl", "decode_tps", "e2e_tps", "cached")] == [None] * 5
        assert line["ttft_any_ms"] > 0
    point = told.one("point")
    assert [point[name] for name in ("agg_tps_total", "agg_tps_steady", "output_tokens")] == [None] * 3
    assert (point["itl_ms"], point["tokens_per_chunk"]) == ({}, {})


async def test_time_to_the_answer_is_told_apart_from_time_to_any_token() -> None:
    async with TruthServer(Behaviour(thinks=50, tok_s=200.0)) as server:
        told = await measured(server.port)
        truth = server.measured[0]
    line = told.requests[0]
    assert line["ttft_any_ms"] == pytest.approx(truth.ttft_ms, abs=25)
    assert line["ttft_answer_ms"] == pytest.approx((truth.times[50] - truth.arrived_at) * 1000, rel=0.05)


def test_without_an_answer_its_time_is_missing_and_not_zero(sprung: dict[str, Pairs]) -> None:
    for line, _ in sprung["only reasoning"]:
        assert line["ttft_any_ms"] > 0
        assert line["ttft_answer_ms"] is None


def test_a_count_of_reasoning_that_is_always_zero_is_none(sprung: dict[str, Pairs]) -> None:
    for line, _ in sprung["only reasoning"]:  # the server says 0, as older SGLang does
        assert line["reasoning_tokens"] is None


async def test_what_a_chunk_carried_and_its_gaps_are_counted_token_by_token() -> None:
    async with TruthServer(Behaviour(bundle=4, tok_s=200.0)) as server:
        told = await measured(server.port)
    point = told.one("point")
    assert point["tokens_per_chunk"] == {"4": 50}
    assert sum(point["icl_ms"].values()) == 48
    assert sum(point["itl_ms"].values()) == 4 * 48
    assert _mean(point["itl_ms"]) == pytest.approx(5.0, rel=0.05)
    assert _mean(point["icl_ms"]) == pytest.approx(20.0, rel=0.05)


def _mean(histogram: dict[str, int]) -> float:
    return math.fsum(float(middle) * count for middle, count in histogram.items()) / sum(histogram.values())


ODD: dict[str, dict[str, Any]] = {
    "never counts": {"usage": "none"},
    "fails": {"fails": 9},
    "cuts at once": {"cuts_after": 1},
    "no metrics": {"metrics": "none", "flush": None},
    "reasoning": {"kind": "reasoning", "cache_report": False},
}


@pytest.mark.parametrize("oddity", ODD)
async def test_no_figure_is_ever_zero_for_want_of_one(oddity: str) -> None:
    async with TruthServer(Behaviour(**ODD[oddity])) as server:
        told = await measured(server.port)
    assert told.requests
    assert not list(_zeros(told))


def _zeros(told: Told) -> list[tuple[str, str]]:
    """Figures of time and rate that are zero."""
    figures = ("_ms", "_tps", "_s")
    return [
        (line["type"], name)
        for line in told.lines
        for name, value in line.items()
        if name.endswith(figures) and value == 0 and isinstance(value, (int, float))
    ]

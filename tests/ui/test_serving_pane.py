"""What a server does now: figures with their source and age, the bad rank named, and nothing old passed off as live."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.serving import Latency, RankServing, ServingReading
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerStatus, ServerView
from k2tui.ui.spans import Line, text_of, width_of
from k2tui.ui.widgets.grid_cells import count_words, latency_words, rate_words
from k2tui.ui.widgets.serving_pane import compact_lines, serving_lines, source_note, tokens_words
from tests.ui.working import serving

NOW = 1000.0
SERVER = ServerView(ServerSettings("kimi", "gpu-a"), ServerStatus.READY, serving=serving(NOW - 1))
RANKS = tuple(RankServing(rank, 3, 24 if rank == 3 else 0, 0.12) for rank in range(4))


def doing(**changes: Any) -> ServerView:
    assert SERVER.serving is not None
    return replace(SERVER, serving=replace(SERVER.serving, **changes))


def texts(lines: list[Line]) -> str:
    return "\n".join(text_of(line) for line in lines)


def test_all_figures_have_a_name_and_a_unit() -> None:
    said = texts(serving_lines(SERVER, NOW, 100, 20))
    for words in (
        "271 decode",
        "1 310 prefill",
        "all streams",
        "3 running",
        "0 waiting",
        "48 at most",
        "12 %",
        "41 k of 346 k tokens",
        "prefix hit 41 %",
        "12 requests over 1 m",
    ):
        assert words in said
    rows = {line.split()[0]: line.split()[1:5] for line in said.splitlines()}
    assert rows["TTFT"] == ["104", "210", "384", "ms"]
    assert rows["ITL"] == ["11", "13", "21", "ms"]
    assert rows["E2E"] == ["3.1", "8.2", "11.9", "s"]


def test_where_there_is_little_room_latencies_share_a_line() -> None:
    said = texts(serving_lines(SERVER, NOW, 78, 4))
    assert "271 tok/s total  3 running  0 waiting  KV 12 %" in said
    assert "TTFT 104/210/384 ms  ITL 11/13/21 ms" in said


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bad_rank": "DP3: 24 waiting, the others 0"}, "! DP3: 24 waiting, the others 0"),
        ({"stuck": "gen_throughput stands at 90.1 with nothing running"}, "! gen_throughput stands at 90.1"),
        ({"retracted": 2}, "2 requests taken back for lack of KV memory in 1 m"),
        ({"accept_length": 2.914}, "2.91 tokens a step accepted"),
        ({"ranks": RANKS}, "DP3 3+24 12 %"),
        ({"decode_tokens_per_s": None}, "— decode"),
        ({"capacity_tokens": None}, "KV cache"),
        ({"ttft": Latency(None, None, None, 0)}, "TTFT"),
    ],
)
def test_what_is_out_of_the_ordinary_is_said(changes: dict[str, Any], words: str) -> None:
    assert words in texts(serving_lines(doing(**changes), NOW, 100, 20))


@pytest.mark.parametrize(
    ("changes", "age_s", "words"),
    [
        ({}, 1.0, "/metrics, <5 s old"),
        ({}, 12.0, "/metrics, 12 s old"),
        ({"running": 0}, 12.0, "/metrics, <30 s old"),
        ({"running": 0}, 90.0, "/metrics, 1 m old"),
        ({"source": "loads"}, 1.0, "/v1/loads, <5 s old"),
        ({"source": "log"}, 1.0, "its log, <5 s old"),
    ],
)
def test_the_source_and_the_age_are_always_there(changes: dict[str, Any], age_s: float, words: str) -> None:
    assert text_of(source_note(doing(at=NOW - age_s, **changes).serving, NOW)) == words


def test_figures_dim_after_three_periods_and_go_after_ten() -> None:
    roles = {role for line in compact_lines(doing(at=NOW - 16), NOW, 100) for _, role in line}
    assert "stale" in roles
    assert "strong" not in roles
    assert texts(serving_lines(doing(at=NOW - 60), NOW, 100, 20)) == "the last figures are 1 m old"
    assert compact_lines(doing(at=NOW - 60), NOW, 100) == []


def test_latencies_of_another_look_have_an_age_of_their_own() -> None:
    assert "over 1 m, 40 s old" in texts(serving_lines(doing(latencies_at=NOW - 40), NOW, 100, 20))


def test_a_server_without_figures_says_which_kind_of_nothing() -> None:
    assert texts(serving_lines(replace(SERVER, serving=None), NOW, 100, 20)) == "no figures yet"
    down = replace(SERVER, serving=None, status=ServerStatus.DOWN)
    assert texts(serving_lines(down, NOW, 100, 20)) == "it does not serve"


@given(
    st.integers(20, 200),
    st.integers(1, 30),
    st.builds(
        ServingReading,
        at=st.just(NOW),
        source=st.sampled_from(["loads", "metrics", "log"]),
        running=st.none() | st.integers(0, 10**6),
        waiting=st.none() | st.integers(0, 10**6),
        kv_usage=st.none() | st.floats(0, 1),
        decode_tokens_per_s=st.none() | st.floats(0, 1e7),
        capacity_tokens=st.none() | st.integers(0, 10**9),
        stuck=st.none() | st.text(max_size=300),
        ttft=st.none() | st.builds(Latency, st.floats(0, 1e4), st.floats(0, 1e4), st.none(), st.integers(0, 10**9)),
        ranks=st.just(RANKS),
    ),
)
def test_the_pane_is_never_larger_than_its_room(width: int, height: int, reading: ServingReading) -> None:
    lines = serving_lines(replace(SERVER, serving=reading), NOW, width, height)
    assert len(lines) <= height
    assert all(width_of(line) <= max(width, 22) for line in lines)


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "—"), (0, "0"), (9.12, "9.1"), (99.97, "100"), (1284.4, "1 284"), (128_400.0, "128 k")],
)
def test_rates(value: float | None, words: str) -> None:
    assert rate_words(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(None, "—"), (0.0042, "4.2 ms"), (0.21, "210 ms"), (9.9, "9900 ms"), (12.5, "12.5 s")]
)
def test_latencies(value: float | None, words: str) -> None:
    assert latency_words(value) == words


@pytest.mark.parametrize(("value", "words"), [(None, "—"), (0, "0"), (9999, "9999"), (12_345, "12k")])
def test_counts(value: int | None, words: str) -> None:
    assert count_words(value) == words


@pytest.mark.parametrize(
    ("value", "words"), [(None, "—"), (812, "812"), (41_472, "41 k"), (345_600, "346 k"), (1_340_000, "1.3 M")]
)
def test_tokens(value: float | None, words: str) -> None:
    assert tokens_words(value) == words

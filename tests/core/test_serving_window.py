"""A server's figures over several looks: rates, the best source, restarts, and gauges that stick."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.launch import Traffic
from k2tui.core.measuring.latency import Histogram
from k2tui.core.measuring.look import Counters, Look, RankLook
from k2tui.core.measuring.metrics import of_metrics
from k2tui.core.measuring.window import LogFigures, ServingWindow, seen, serving_reading
from k2tui.core.serving import ServingReading

REPLIES = Path(__file__).parent.parent / "logs" / "replies"


def loads(at: float, *, running: int = 4, waiting: int = 0, gauge: float | None = 100.0, used: int = 0) -> Look:
    rank = RankLook(0, running=running, waiting=waiting, kv_usage=0.5, gauge_tokens_per_s=gauge, used_tokens=used)
    return Look(at, "loads", (rank,))


def metrics(at: float, decode: float | None, **counters: float) -> Look:
    known = Counters(decode_tokens=decode)
    return Look(at, "metrics", (RankLook(0, running=4, waiting=0),), replace(known, **counters))  # type: ignore[arg-type]


def window(*looks: Look) -> ServingWindow:
    known = ServingWindow()
    for look in looks:
        known = seen(known, look)
    return known


def reading(*looks: Look, log: LogFigures | None = None) -> ServingReading:
    found = serving_reading(window(*looks), log)
    assert found is not None
    return found


def log_line(at: float, running: int | None = 3) -> LogFigures:
    return LogFigures(at, Traffic(running=running, queued=2, usage=0.7, tokens_per_s=(("DP0", 40.0), ("DP1", 60.0))))


# sources


def test_nothing_is_known_before_anybody_answered() -> None:
    assert serving_reading(ServingWindow()) is None
    assert serving_reading(ServingWindow(), LogFigures(1.0, Traffic(running=None))) is None


def test_loads_have_the_main_figures_where_there_are_both() -> None:
    found = reading(metrics(10.0, 5.0), loads(10.1, running=7, waiting=2))
    assert (found.source, found.at, found.running, found.waiting, found.kv_usage) == ("loads", 10.1, 7, 2, 0.5)


def test_metrics_stand_in_where_there_are_no_loads() -> None:
    found = reading(metrics(10.0, 100.0), metrics(12.0, 300.0))
    assert (found.source, found.running, found.decode_tokens_per_s, found.decode_source) == (
        "metrics",
        4,
        100.0,
        "counter",
    )


def test_log_lines_win_where_the_last_look_is_old() -> None:
    fresh, old = reading(loads(100.0), log=log_line(105.0)), reading(loads(100.0), log=log_line(107.0))
    assert (fresh.source, old.source) == ("loads", "log")
    assert (old.at, old.running, old.waiting, old.kv_usage) == (107.0, 3, 2, 0.7)
    assert (old.decode_tokens_per_s, old.decode_source) == (100.0, "log")


def test_a_log_whose_newest_line_is_an_answer_tells_no_figures() -> None:
    assert reading(loads(100.0), log=log_line(200.0, running=None)).source == "loads"


# tokens a second


def test_a_rate_is_the_difference_of_a_counter_over_the_last_seconds() -> None:
    found = reading(*(look for at in range(0, 32, 2) for look in (metrics(at, 50.0 * at), loads(at + 0.1))))
    assert (found.decode_tokens_per_s, found.decode_source, found.rate_window_s) == (50.0, "counter", 10.0)


def test_a_gauge_is_the_rate_where_no_counter_is_as_new() -> None:
    found = reading(metrics(0.0, 0.0), loads(0.1), metrics(15.0, 900.0), loads(15.1, gauge=70.0))
    assert (found.decode_tokens_per_s, found.decode_source) == (70.0, "gauge")


def test_a_counter_that_waits_for_the_end_of_requests_is_only_a_last_resort() -> None:
    old = [metrics(at, 50.0 * at, by_step=False) for at in (0.0, 2.0)]
    assert reading(old[0], old[1], loads(2.1, gauge=70.0)).decode_source == "gauge"
    assert reading(old[0], old[1], loads(2.1, gauge=None)).decode_tokens_per_s == 50.0


def test_nothing_that_runs_makes_no_tokens_whatever_the_gauge_says() -> None:
    assert reading(loads(1.0, running=0, gauge=3.8)).decode_tokens_per_s == 0.0


def test_one_look_alone_has_no_rate() -> None:
    found = reading(metrics(1.0, 50.0))
    assert (found.decode_tokens_per_s, found.window_s, found.ttft) == (None, None, None)


def test_a_restart_begins_a_new_window() -> None:
    after = window(metrics(0.0, 900.0), metrics(2.0, 1000.0), metrics(4.0, 10.0))
    assert [look.at for look in after.metrics] == [4.0]
    assert serving_reading(seen(after, metrics(6.0, 30.0))).decode_tokens_per_s == 10.0  # type: ignore[union-attr]


def test_a_counter_that_appears_began_at_nothing() -> None:
    found = reading(metrics(0.0, None), metrics(2.0, 30.0, retracted=3.0))
    assert (found.decode_tokens_per_s, found.retracted) == (15.0, 3)


def test_the_window_is_a_minute_or_the_one_look_before() -> None:
    assert [look.at for look in window(*(metrics(at, at) for at in (0.0, 30.0, 60.0, 90.0))).metrics] == [
        30.0,
        60.0,
        90.0,
    ]
    assert [look.at for look in window(metrics(0.0, 1.0), metrics(200.0, 2.0)).metrics] == [0.0, 200.0]
    assert [look.at for look in window(metrics(0.0, 1.0), metrics(400.0, 2.0)).metrics] == [400.0]


# what the window is for


def test_shares_and_counts_are_of_the_window() -> None:
    found = reading(
        metrics(0.0, 0.0, cache_hits=100.0, cache_asked=1000.0, prefill_tokens=900.0, retracted=5.0),
        metrics(10.0, 0.0, cache_hits=400.0, cache_asked=2000.0, prefill_tokens=1600.0, retracted=7.0),
    )
    assert (found.cache_hit, found.prefill_tokens_per_s, found.retracted, found.window_s) == (0.3, 70.0, 2, 10.0)


def test_accept_length_is_a_step_and_what_was_taken_of_its_draft() -> None:
    found = reading(
        metrics(0.0, 0.0, drafts=10.0, accepted=10.0),
        metrics(10.0, 0.0, drafts=30.0, accepted=60.0),
    )
    assert found.accept_length == 3.5


def test_percentiles_are_of_the_window() -> None:
    def look(at: float, *counts: float) -> Look:
        return metrics(at, at, ttft=Histogram((0.1, 0.2, math.inf), counts))  # type: ignore[arg-type]

    found = reading(look(0.0, 50.0, 50.0, 50.0), look(10.0, 50.0, 60.0, 60.0))
    assert found.ttft is not None
    assert found.ttft.count == 10
    assert found.ttft.p50_s == pytest.approx(0.15)
    assert found.latencies_at == 10.0
    assert found.itl is None


def test_two_real_looks_of_a_real_load() -> None:
    names = ("sglang0523-qwen3.metrics-earlier", "sglang0523-qwen3.metrics-loaded")
    looks = [of_metrics((REPLIES / f"{name}.txt").read_bytes(), at) for name, at in zip(names, (0.0, 2.0), strict=True)]
    assert looks[0] is not None
    assert looks[1] is not None
    found = reading(looks[0], looks[1])
    assert found.decode_tokens_per_s == (5997 - 5633) / 2
    assert found.cache_hit == pytest.approx((3587 - 1001) / (6600 - 3986))
    assert found.itl is not None
    assert found.itl.count == 0
    assert found.capacity_tokens == 8192


# a gauge that sticks


def test_a_gauge_that_stands_while_nothing_runs_is_named() -> None:
    """SGLang 0.5.14 and its neighbours."""
    looks = [loads(at, running=0, gauge=3.8) for at in (0.0, 30.0)]
    found = reading(*looks)
    assert found.stuck == "the server's own tok/s figure has stood at 3.8 for 30 s while nothing runs; it is not used"
    assert found.decode_tokens_per_s == 0.0
    assert reading(looks[0]).stuck is None


def test_a_gauge_that_stands_while_tokens_come_is_named_and_not_used() -> None:
    looks: list[Look] = []
    for at in range(0, 70, 5):
        looks += [metrics(at, 10.0 * at), loads(at, gauge=99.0)]
    found = reading(*looks)
    assert found.stuck is not None
    assert found.stuck.startswith("the server's own tok/s figure has stood at 99.0 for 60 s")
    assert (found.decode_tokens_per_s, found.decode_source) == (10.0, "counter")


def test_without_counters_a_cache_that_moves_shows_that_tokens_come() -> None:
    looks = [loads(at, gauge=99.0, used=at) for at in range(0, 65, 5)]
    found = reading(*looks)
    assert found.stuck is not None
    assert found.decode_tokens_per_s is None


@pytest.mark.parametrize(
    "looks",
    [
        [loads(at, gauge=0.0, running=0) for at in (0.0, 60.0)],  # idle and zero
        [loads(at, gauge=99.0 + at) for at in range(0, 65, 5)],  # it moves
        [loads(at, gauge=99.0) for at in range(0, 65, 5)],  # nothing moves: that is another trouble
        [loads(0.0, gauge=99.0, used=0), loads(5.0, gauge=99.0, used=5)],  # too soon to tell
    ],
)
def test_a_gauge_with_a_reason_to_stand_is_not_named(looks: list[Look]) -> None:
    assert reading(*looks).stuck is None


# ranks


def ranks(at: float, *rows: tuple[int, int, float], written: tuple[float, ...] = ()) -> Look:
    """(running, waiting, KV usage) of each data-parallel rank."""
    return Look(
        at,
        "loads",
        tuple(
            RankLook(
                place,
                running=running,
                waiting=waiting,
                kv_usage=usage,
                gauge_tokens_per_s=10.0 * place,
                written_at=written[place] if written else None,
            )
            for place, (running, waiting, usage) in enumerate(rows)
        ),
    )


def test_ranks_are_summed_and_shown_each() -> None:
    found = reading(ranks(0.0, (4, 1, 0.5), (6, 0, 0.7)))
    assert (found.running, found.waiting, found.kv_usage, found.decode_tokens_per_s) == (10, 1, 0.7, 10.0)
    assert [(rank.rank, rank.running, rank.decode_tokens_per_s) for rank in found.ranks] == [(0, 4, 0.0), (1, 6, 10.0)]
    assert reading(loads(0.0)).ranks == ()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (((4, 0, 0.1), (4, 24, 0.1), (4, 0, 0.1)), "DP1: 24 waiting, the others 0"),
        (((4, 2, 0.1), (4, 24, 0.1), (4, 5, 0.1)), "DP1: 24 waiting, the others 2 to 5"),
        (((4, 0, 0.95), (4, 0, 0.3), (4, 0, 0.1)), "DP0: KV cache 95% full, the others 30%"),
        (((9, 0, 0.1), (8, 0, 0.1), (0, 0, 0.1)), "DP2: nothing runs, on the others 8 to 9"),
        (((4, 9, 0.1), (4, 8, 0.1), (4, 7, 0.1)), None),
        (((4, 3, 0.1), (4, 0, 0.1), (4, 0, 0.1)), None),
        (((1, 0, 0.1), (1, 0, 0.1), (0, 0, 0.1)), None),
        (((4, 24, 0.1),), None),
    ],
)
def test_a_rank_that_does_otherwise_is_named(rows: tuple[tuple[int, int, float], ...], sentence: str | None) -> None:
    assert reading(ranks(0.0, *rows), ranks(5.0, *rows)).bad_rank == sentence
    assert reading(ranks(0.0, *rows)).bad_rank is None


def test_a_rank_that_fell_silent_is_named() -> None:
    rows = ((4, 0, 0.1), (4, 0, 0.1))
    found = reading(ranks(0.0, *rows, written=(100.0, 88.0)), ranks(5.0, *rows, written=(105.0, 88.0)))
    assert found.bad_rank == "DP1: said nothing for 17 s, the others did"


def test_another_rank_each_time_is_chance() -> None:
    assert reading(ranks(0.0, (4, 9, 0.1), (4, 0, 0.1)), ranks(5.0, (4, 0, 0.1), (4, 9, 0.1))).bad_rank is None


def test_ranks_rates_are_from_their_counters_where_they_have_some() -> None:
    def look(at: float) -> Look:
        return Look(at, "metrics", tuple(RankLook(n, running=1, decode_tokens=at * (n + 1)) for n in range(2)))

    found = reading(look(0.0), look(2.0), ranks(2.1, (1, 0, 0.1), (1, 0, 0.1)))
    assert [rank.decode_tokens_per_s for rank in found.ranks] == [1.0, 2.0]

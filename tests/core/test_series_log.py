from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.clock import log_clock
from k2tui.core.grammar.batch_lines import batch_beats
from k2tui.core.lines import plain
from k2tui.core.over_time.log import series_of_log, unrecorded, where_unrecorded
from k2tui.core.series import Quantity, Samples, SeriesKey

LOGS = Path(__file__).parent.parent / "logs"
KEY = SeriesKey("server/kimi", Quantity.DECODE)
NOON = 1_796_040_000.0
"""2026-11-30 12:00 UTC; the logs here print it as 13:00."""
TO_UNIX_S = -3600.0


def at(second: float) -> str:
    """A stamp so many seconds after noon, as the log prints it."""
    moment = datetime(2026, 11, 30, 13) + timedelta(seconds=second)
    return moment.strftime("%Y-%m-%d %H:%M:%S")


def decode(second: float, rate: float, *, running: int = 8, usage: float = 0.25, ranks: str = "") -> str:
    return (
        f"[{at(second)}{ranks}] Decode batch, #running-req: {running}, #token: 20750, token usage: {usage}, "
        f"cuda graph: True, gen throughput (token/s): {rate}, #queue-req: 3"
    )


def prefill(second: float, *, new: int = 2, running: int = 6, tokens: int = 900) -> str:
    return (
        f"[{at(second)} TP0] Prefill batch, #new-seq: {new}, #new-token: {tokens}, #cached-token: 0, "
        f"token usage: 0.50, #running-req: {running}, #queue-req: 7"
    )


def stats(second: float, rate: float, *, engine: str = "Engine 000", running: int = 4) -> str:
    return (
        f"(APIServer pid=4502) INFO {at(second)[5:]} [loggers.py:335] {engine}: Avg prompt throughput: 31.0 tokens/s, "
        f"Avg generation throughput: {rate} tokens/s, Running: {running} reqs, Waiting: 2 reqs, "
        "GPU KV cache usage: 12.5%, Prefix cache hit rate: 0.0%"
    )


def series(*lines: str, since: float = NOON - 60, until: float = NOON + 3600) -> dict[Quantity, Samples]:
    found = series_of_log("kimi", lines, to_unix_s=TO_UNIX_S, since=since, until=until)
    assert all(one.key.subject == "server/kimi" and one.step_s == 60.0 for one in found)
    return {one.key.quantity: one for one in found}


def test_a_minute_is_what_its_batch_lines_say() -> None:
    found = series(decode(1, 500), decode(21, 700, running=10), decode(41, 600, usage=0.5))
    rate = found[Quantity.DECODE]
    assert (rate.began, rate.mean, rate.low, rate.high) == (NOON, (600,), (500,), (700,))
    assert found[Quantity.RUNNING].high == (10,)
    assert found[Quantity.WAITING].mean == (3,)
    assert found[Quantity.KV_USAGE].high == (0.5,)


def test_the_time_is_that_of_this_machine() -> None:
    assert log_clock(at(0)) + TO_UNIX_S == NOON
    assert series(decode(125, 500))[Quantity.DECODE].began == NOON + 120


def test_a_minute_without_a_line_is_unknown() -> None:
    assert series(decode(1, 500), decode(181, 700))[Quantity.DECODE].mean == (500, None, None, 700)


def test_prefill_lines_tell_the_queue_and_no_rate() -> None:
    found = series(prefill(5))
    assert (found[Quantity.RUNNING].mean, found[Quantity.WAITING].mean) == ((8,), (7,))
    assert Quantity.DECODE not in found


def test_a_health_check_is_no_work() -> None:
    assert series(prefill(5, new=1, tokens=1)) == {}


def test_replicas_add_up_and_the_fullest_cache_counts() -> None:
    found = series(
        decode(1, 500, ranks=" DP0 TP0"),
        decode(2, 300, ranks=" DP1 TP4", usage=0.75, running=2),
        decode(30, 700, ranks=" DP0 TP0"),
    )
    assert (found[Quantity.DECODE].mean, found[Quantity.DECODE].low) == ((900,), (800,))
    assert found[Quantity.RUNNING].mean == (10,)
    assert found[Quantity.KV_USAGE].mean == (0.75,)


def test_stages_of_a_pipeline_do_not_add_up() -> None:
    assert series(decode(1, 500, ranks=" PP0 TP0"), decode(2, 500, ranks=" PP1 TP0"))[Quantity.DECODE].mean == (500,)


def test_vllm_says_it_in_its_own_words_without_a_year() -> None:
    found = series(stats(3, 90.0), stats(13, 110.0), stats(14, 40.0, engine="Engine 001", running=1))
    assert found[Quantity.DECODE].mean == (140,)
    assert (found[Quantity.DECODE].began, found[Quantity.RUNNING].mean) == (NOON, (5,))
    assert found[Quantity.KV_USAGE].mean == (0.125,)


def test_an_idle_vllm_says_that_it_does_nothing() -> None:
    idle = stats(3, 0.0, running=0).replace("31.0", "0.0")
    assert series(idle)[Quantity.DECODE].mean == (0,)


@pytest.mark.parametrize(
    "around",
    [
        "node-0: {}",
        "2026-11-30T12:00:01.123456789Z stdout F {}",
        "sglang-1  | {}",
        '{{"log":"{}\\n","stream":"stdout","time":"2026-11-30T12:00:01Z"}}',
    ],
)
def test_what_a_collector_puts_around_it_is_taken_off(around: str) -> None:
    assert series(around.format(decode(1, 500)))[Quantity.DECODE].mean == (500,)


def test_other_times_and_other_lines_are_left_out() -> None:
    lines = (decode(-7200, 1), decode(1, 500), decode(7200, 2), "Decode batch", f"[{at(2)}] hello", "", "x" * 100_000)
    assert series(*lines)[Quantity.DECODE].mean == (500,)
    assert series("[9999-99-99 99:99:99] Decode batch, #running-req: 8, gen throughput (token/s): 5") == {}


def test_of_many_lines_in_ten_seconds_the_newest_counts() -> None:
    lines = [decode(second / 10, 500 + second / 10) for second in range(600)]
    assert len([*batch_beats(lines)]) == 6
    assert series(*lines)[Quantity.DECODE].mean == pytest.approx((534.9,))


@pytest.mark.parametrize(
    ("name", "replicas"),
    [
        ("real/sglang0523-qwen3-ready-load-sigterm.log", 1),
        ("real/sglang0514-h200-llama.log", 1),
        ("real/sglang0523-tp2-kimi-ready-then-scheduler-sigkill.log", 1),
        ("real/vllm011-qwen3-eager-ready-served-sigterm.log", 1),
        ("reports/c209-sgl-k8s-mtp-illegal-access.log", 16),
    ],
)
def test_real_logs_are_read(name: str, replicas: int) -> None:
    text = (LOGS / name).read_text("utf-8", "replace")
    lines = [plain(line) for line in text.split("\n")]
    printed = [float(rate) for rate in re.findall(r"gen(?:eration)? throughput(?: \(token/s\))?: ([\d.]+)", text)]
    found = {one.key.quantity: one for one in series_of_log("kimi", lines, to_unix_s=0.0, since=1.7e9, until=1.9e9)}
    rate = found[Quantity.DECODE]
    assert max(figure for figure in rate.high if figure is not None) <= replicas * max(printed)
    assert min(printed) <= min(figure for figure in rate.low if figure is not None)
    assert {Quantity.RUNNING, Quantity.KV_USAGE} <= set(found)


@given(st.lists(st.text(max_size=60) | st.sampled_from([decode(1, 5), prefill(2), stats(3, 1)]), max_size=20))
def test_no_line_breaks_it(lines: list[str]) -> None:
    for one in series_of_log("kimi", lines, to_unix_s=TO_UNIX_S, since=NOON, until=NOON + 600):
        assert one.began >= NOON - 60
        assert one.ended <= NOON + 660


def kept(*figures: float | None, began: float = NOON, step_s: float = 60.0, key: SeriesKey = KEY) -> Samples:
    return Samples(key, began, step_s, figures)


def test_a_gap_is_from_the_first_to_the_last_minute_without_a_figure() -> None:
    assert unrecorded([], NOON, NOON + 600) == (NOON, NOON + 600)
    assert unrecorded([kept(1, None, None, 1, None, 1)], NOON, NOON + 360) == (NOON + 60, NOON + 300)
    assert unrecorded([kept(1, 1, began=NOON - 60)], NOON - 30, NOON + 90) is None


def test_seconds_in_a_minute_make_it_recorded() -> None:
    assert unrecorded([kept(None, 5, began=NOON + 90, step_s=2.0)], NOON + 60, NOON + 120) is None


def test_only_what_nobody_recorded_is_filled() -> None:
    log = Samples(KEY, NOON, 60.0, (7, 8, 9), (6, 7, 8), (8, 9, 10))
    other = SeriesKey("server/kimi", Quantity.RUNNING)
    filled = where_unrecorded(log, [kept(1), kept(1, 1, 1, key=other)])
    assert filled is not None
    assert (filled.mean, filled.low) == ((None, 8, 9), (6, 7, 8))
    assert where_unrecorded(log, [kept(1, 1, 1)]) is None

"""A log that prints another time zone than its node keeps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.clock import log_clock
from k2tui.core.intake import LogIntake
from k2tui.core.launch import LaunchKind
from k2tui.core.zone import LogZone

NOON = log_clock("2026-11-29 12:00:00")
HOUR = 3600.0


def line(second: int, message: str, clock: str = "10") -> bytes:
    return f"[2026-11-29 {clock}:00:{second:02}] {message}\n".encode()


def loading(clock: str) -> LogIntake:
    """A node at noon, whose server's log says another hour."""
    intake = LogIntake()
    intake.feed(line(0, "server_args=ServerArgs(model_path='/m', tp_size=1)", clock), NOON)
    intake.feed(line(2, "Init torch distributed begin.", clock), NOON + 2)
    intake.feed(line(4, "Init torch distributed ends. mem usage=0.1 GB", clock), NOON + 4)
    intake.feed(line(6, "Load weight begin. avail mem=80 GB", clock), NOON + 6)
    return intake


def test_a_log_in_another_zone_is_not_silent_for_hours() -> None:
    launch = loading("10").observe(now=NOON + 16, process_alive=True)
    assert launch.kind is LaunchKind.LOADING
    assert launch.silence_s == 10
    assert launch.clock_ahead_s == 2 * HOUR


def test_a_log_from_the_future_is_of_another_zone_at_once() -> None:
    intake = LogIntake()
    intake.feed(line(0, "server_args=ServerArgs(model_path='/m', tp_size=1)", "17"), NOON)
    assert intake.launch.clock_ahead_s == -5 * HOUR


def test_a_silence_in_another_zone_is_found_all_the_same() -> None:
    assert loading("10").observe(now=NOON + 900, process_alive=True).kind is LaunchKind.HUNG


def test_one_line_that_was_kept_back_for_an_hour_moves_no_clock() -> None:
    zone = LogZone()
    zone.see(NOON, NOON - 1)
    zone.see(NOON, NOON - HOUR)
    assert zone.ahead_s == 0


def test_a_lag_that_is_no_quarter_of_an_hour_moves_no_clock() -> None:
    zone = LogZone()
    for second in range(10):
        zone.see(NOON + second, NOON + second - 400)
    assert zone.ahead_s == 0


@given(st.lists(st.tuples(st.floats(0, 1e10), st.floats(0, 1e10))))
def test_no_clocks_break_it(seen: list[tuple[float, float]]) -> None:
    zone = LogZone()
    for now, stamp in seen:
        zone.see(now, stamp)
    assert zone.ahead_s % 900 == 0


def test_what_was_kept_back_and_comes_all_at_once_moves_no_clock() -> None:
    zone = LogZone()
    for second in range(20):
        zone.see(NOON + second / 20, NOON - 2700 + second)
    assert zone.ahead_s == 0


def test_lines_without_a_difference_take_a_zone_back() -> None:
    zone = LogZone()
    for second in range(0, 10, 2):
        zone.see(NOON + second, NOON + second - HOUR)
    assert zone.ahead_s == HOUR
    zone.see(NOON + 10, NOON + 10)
    assert zone.ahead_s == 0


def test_no_zone_is_more_than_a_day_away() -> None:
    zone = LogZone()
    zone.see(NOON, NOON + 1000 * 24 * HOUR)
    assert zone.ahead_s == 0


def test_a_stamp_in_a_requests_text_hides_no_hang() -> None:
    intake = loading("12")
    intake.feed(b"[2031-01-01 00:00:07] Load weight begin. avail mem=80 GB\n", NOON + 7)
    assert intake.observe(now=NOON + 10, process_alive=True).kind is LaunchKind.LOADING
    hung = intake.observe(now=NOON + 910, process_alive=True)
    assert (hung.kind, hung.silence_s) == (LaunchKind.HUNG, 903)


def test_a_clock_that_was_set_back_while_somebody_looks_hides_no_hang() -> None:
    intake = LogIntake()
    intake.feed(line(0, "server_args=ServerArgs(model_path='/m', tp_size=1)", "18"), NOON + 6 * HOUR)
    intake.feed(line(5, "Load weight begin. avail mem=80 GB", "10"), NOON - 2 * HOUR + 5)
    intake.observe(now=NOON - 2 * HOUR + 10, process_alive=True)
    hung = intake.observe(now=NOON - 2 * HOUR + 910, process_alive=True)
    assert hung.kind is LaunchKind.HUNG
    assert hung.silence_s is not None
    assert 900 <= hung.silence_s <= 910


def test_a_clock_that_was_set_back_in_a_log_that_is_read_later_is_followed() -> None:
    intake = LogIntake()
    intake.feed(line(0, "server_args=ServerArgs(model_path='/m', tp_size=1)", "18"))
    for second in range(3):
        intake.feed(line(second, "Load weight begin. avail mem=80 GB", "10"))
    assert intake.observe(now=NOON, process_alive=True).silence_s == 2 * HOUR - 2
    assert intake.launch.largest_gap_s == 0


def test_one_line_that_comes_late_begins_no_silence() -> None:
    intake = loading("12")
    intake.feed(line(1, "Load weight begin. avail mem=80 GB", "11"))
    assert intake.observe(now=NOON + 7, process_alive=True).silence_s == 1

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
    intake.feed(line(1, "Init torch distributed begin.", clock), NOON + 1)
    intake.feed(line(2, "Init torch distributed ends. mem usage=0.1 GB", clock), NOON + 2)
    intake.feed(line(3, "Load weight begin. avail mem=80 GB", clock), NOON + 3)
    return intake


def test_a_log_in_another_zone_is_not_silent_for_hours() -> None:
    launch = loading("10").observe(now=NOON + 13, process_alive=True)
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

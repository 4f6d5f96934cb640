"""Marks of progress and the time between them."""

from __future__ import annotations

from k2tui.core.clock import log_clock
from k2tui.core.facts import Line
from k2tui.core.launch import Launch
from k2tui.core.movement import marked

LINE = Line("a step", "a step")


def test_the_time_between_a_stamp_without_a_year_and_one_with_it_is_no_gap() -> None:
    first = marked(Launch(), LINE, log_clock("11-29 10:00:00"))
    second = marked(first, LINE, log_clock("2026-11-29 10:00:05"))
    assert second.largest_gap_s == 0
    assert marked(second, LINE, log_clock("2026-11-29 10:00:45")).largest_gap_s == 40


def test_a_pause_that_was_a_clocks_jump_is_none() -> None:
    launch = marked(marked(Launch(), LINE, 100.0), LINE, 90_000.0)
    assert launch.largest_gap_s == 89_900
    for second in range(3):
        launch = marked(launch, LINE, 110.0 + second)
    assert (launch.quiet_since, launch.largest_gap_s) == (112, 0)

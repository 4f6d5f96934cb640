"""Log time."""

from __future__ import annotations

import calendar

import pytest

from k2tui.core.clock import bar_seconds, clock_or_none, log_clock, placed


def test_a_stamp_is_naive_seconds() -> None:
    assert log_clock("2026-11-29 16:32:11") == calendar.timegm((2026, 11, 29, 16, 32, 11))
    assert log_clock("2026-11-29 16:32:11.250") - log_clock("2026-11-29 16:32:11") == 0.25


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-40 00:00:00", "16:32:11"])
def test_what_is_no_date_has_no_clock(text: str) -> None:
    assert clock_or_none(text) is None
    with pytest.raises(ValueError):
        log_clock(text)


@pytest.mark.parametrize(
    ("stamp", "near", "placed_at"),
    [
        ("07-20 06:56:40", "2026-07-20 07:00:00", "2026-07-20 06:56:40"),
        ("12-31 23:59:50", "2027-01-01 00:00:10", "2026-12-31 23:59:50"),
        ("01-01 00:00:10", "2026-12-31 23:59:50", "2027-01-01 00:00:10"),
        ("02-29 12:00:00", "2027-03-01 00:00:00", "2027-02-28 12:00:00"),
        ("2025-07-20 06:56:40", "2026-07-20 07:00:00", "2025-07-20 06:56:40"),
    ],
)
def test_a_stamp_without_a_year_gets_the_nearest(stamp: str, near: str, placed_at: str) -> None:
    assert placed(log_clock(stamp), log_clock(near)) == log_clock(placed_at)


@pytest.mark.parametrize(("text", "seconds"), [("00:19", 19), ("31:40", 1900), ("7:43:41", 27821), ("?", None)])
def test_a_bar_counts_its_own_seconds(text: str, seconds: int | None) -> None:
    assert bar_seconds(text) == seconds

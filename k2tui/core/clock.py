"""Log time: the naive local seconds that stand in a log, and how they are shown."""

from __future__ import annotations

import calendar
import re
from datetime import datetime, timedelta
from functools import lru_cache

_STAMP = re.compile(r"(?:(\d{4})-)?(\d\d)-(\d\d)[ T](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,6}))?")

YEARLESS = 2000
"""The year given to a stamp that names none (vLLM's); no server's log is from then."""
_EPOCH = datetime(1970, 1, 1)
_YEARLESS_END = float(calendar.timegm((YEARLESS + 2, 1, 1, 0, 0, 0)))


@lru_cache(maxsize=512)
def log_clock(stamp: str) -> float:
    """Seconds of `2026-11-29 16:32:11[.250]` or `11-29 16:32:11`, as if it were UTC; ValueError for anything else.

    The second form has no year; it is put into the year 2000, and `placed` moves it to a real one.
    """
    found = _STAMP.match(stamp)
    if found is None:
        raise ValueError(f"not a time stamp: {stamp[:40]!r}")
    year = int(found[1]) if found[1] else YEARLESS
    month, day, hour, minute, second = (int(found[group]) for group in range(2, 7))
    whole = calendar.timegm((year, month, day, hour, minute, second))
    return whole + float(f"0.{found[7]}" if found[7] else 0)


def clock_or_none(stamp: str | None) -> float | None:
    """The same, None where there is no stamp or it is no date."""
    if stamp is None:
        return None
    try:
        return log_clock(stamp)
    except (ValueError, OverflowError):
        return None


def placed(at: float, near: float | None) -> float:
    """A stamp without a year, moved to the year that brings it nearest to `near`; others as they are."""
    if near is None or at >= _YEARLESS_END or near < _YEARLESS_END:
        return at
    moment = _EPOCH + timedelta(seconds=at)
    year = moment.year + round((near - at) / (365.2425 * 86400))
    leap_day = (moment.month, moment.day) == (2, 29) and not calendar.isleap(year)
    return (moment.replace(year=year, day=28 if leap_day else moment.day) - _EPOCH).total_seconds()


def is_yearless(at: float) -> bool:
    """It comes of a stamp without a year that was not moved to a real one."""
    return at < _YEARLESS_END


def bar_seconds(text: str) -> int | None:
    """Seconds of a bar's `MM:SS` or `H:MM:SS`; None for `?`."""
    parts = text.split(":")
    if not 2 <= len(parts) <= 3 or not all(part.isdigit() for part in parts):
        return None
    total = 0
    for part in parts:
        total = total * 60 + int(part)
    return total

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.over_time.ring import KEPT_STEPS, SeriesRing
from k2tui.core.series import Quantity, SeriesKey

A = SeriesKey("server/kimi", Quantity.DECODE)
B = SeriesKey("server/kimi", Quantity.RUNNING)
C = SeriesKey("server/kimi", Quantity.WAITING)
NOW = 898_000_000


def ring(*rows: tuple[int, float | None]) -> SeriesRing:
    """A ring of one series with these readings, steps counted from NOW."""
    made = SeriesRing([A])
    for at, figure in rows:
        made.put(NOW + at, (figure,))
    return made


def told(made: SeriesRing, first: int, end: int) -> tuple[float | None, ...]:
    return made.samples(0, NOW + first, NOW + end).mean


def test_readings_come_back_at_their_time() -> None:
    made = SeriesRing([A, B])
    for at in range(3):
        made.put(NOW + at, (at + 0.5, 10.0 + at))
    found = made.samples(1, NOW, NOW + 3)
    assert (found.key, found.began, found.step_s, found.mean) == (B, NOW * 2.0, 2.0, (10, 11, 12))
    assert made.samples(0, NOW, NOW + 3).mean == (0.5, 1.5, 2.5)


def test_what_no_source_says_is_unknown_and_never_zero() -> None:
    made = SeriesRing([A, B])
    made.put(NOW, (None, 0.0))
    assert (made.samples(0, NOW, NOW + 1).mean, made.samples(1, NOW, NOW + 1).mean) == ((None,), (0.0,))


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -1.0, 1e300])
def test_what_is_no_figure_is_unknown(figure: float) -> None:
    assert told(ring((0, figure)), 0, 1) == (None,)


def test_a_late_reading_that_is_one_step_off_leaves_no_hole() -> None:
    assert told(ring((0, 1), (2, 3)), 0, 3) == (1, 3, 3)


def test_a_pause_is_a_gap() -> None:
    assert told(ring((0, 1), (1, 1), (8, 3)), 0, 9) == (1, 1, *[None] * 6, 3)


def test_readings_at_a_slow_pace_stand_for_the_time_between_them() -> None:
    slow = ring((0, 1), (5, 2), (10, 3), (16, 4))
    assert told(slow, 0, 17) == (1, None, None, None, None, *[2] * 1, *[3] * 5, *[4] * 6)


def test_nothing_stands_for_more_than_half_a_minute() -> None:
    assert told(ring((0, 1), (20, 2), (40, 3)), 20, 41) == (2, *[None] * 19, 3)


def test_two_readings_of_one_step_are_the_newer_one() -> None:
    assert told(ring((0, 1), (0, 2)), 0, 1) == (2,)


def test_only_the_newest_minutes_are_held() -> None:
    made = ring(*((at, float(at)) for at in range(KEPT_STEPS + 10)))
    assert told(made, 8, 12) == (None, None, 10, 11)
    assert told(made, KEPT_STEPS + 8, KEPT_STEPS + 12) == (KEPT_STEPS + 8, KEPT_STEPS + 9, None, None)
    assert made.held(0, 0, NOW * 2).mean == tuple(map(float, range(10, KEPT_STEPS + 10)))


def test_after_a_long_pause_nothing_old_is_left() -> None:
    made = ring((0, 1), (KEPT_STEPS + 50, 2))
    assert made.held(0, 0, NOW * 2).mean == (2,)


def test_a_clock_that_was_set_back_begins_anew() -> None:
    made = ring((0, 1), (1, 2), (-1800, 3), (-1799, 4))
    assert made.held(0, 0, NOW * 2).mean == (3, 4)
    assert made.written_to == NOW - 1800


def test_a_reading_that_is_a_little_older_than_the_newest_is_taken_as_now() -> None:
    assert told(ring((0, 1), (2, 2), (1, 9)), 0, 3) == (1, 2, 9)


def test_the_recent_past_ends_with_the_newest_reading_while_it_comes_in_time() -> None:
    made = ring((0, 1), (1, 2), (2, 3))
    found = made.recent(0, 3, NOW + 4)
    assert found is not None
    assert (found.mean, found.ended) == ((1, 2, 3), (NOW + 3) * 2)


def test_the_recent_past_ends_now_when_nothing_comes() -> None:
    found = ring((0, 1), (1, 2), (2, 3)).recent(0, 4, NOW + 5)
    assert found is not None
    assert found.mean == (3, None, None, None)
    assert ring((0, 1)).recent(0, 4, NOW + 50) is None
    assert SeriesRing([A]).recent(0, 4, NOW) is None


def test_what_is_written_is_marked_as_far_as_there_was_anything() -> None:
    made = ring((0, 1), (9, 2))
    made.written(NOW + 30)
    assert made.written_to == NOW + 10
    made.written(NOW + 3)
    assert made.written_to == NOW + 10


def test_another_set_of_series_goes_on_where_the_old_one_ended() -> None:
    old = SeriesRing([A, B])
    old.put(NOW, (1, 2))
    old.put(NOW + 1, (3, 4))
    new = SeriesRing([B, C])
    new.take_over(old)
    new.put(NOW + 2, (5, 6))
    assert new.samples(0, NOW, NOW + 3).mean == (2, 4, 5)
    assert new.samples(1, NOW, NOW + 3).mean == (None, None, 6)


@given(st.lists(st.tuples(st.integers(0, 20), st.floats(0, 1e6, width=32)), min_size=1, max_size=200))
def test_every_figure_was_read_at_its_step_or_soon_after(readings: list[tuple[int, float]]) -> None:
    made = SeriesRing([A])
    at = NOW
    said: dict[int, list[float]] = {}
    for pause, figure in readings:
        at += pause
        made.put(at, (figure,))
        said.setdefault(at, []).append(figure)
    found = made.held(0, 0, at + 1)
    assert found.mean[-1] == said[at][-1]
    for number, known in enumerate(found.mean):
        step = round(found.began / 2) + number
        if known is not None:
            assert known in [one for later in range(step, step + 17) for one in said.get(later, ())]
        else:
            assert step not in said

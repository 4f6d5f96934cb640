from __future__ import annotations

from math import isclose

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.over_time.resample import resampled
from k2tui.core.series import Quantity, Samples, SeriesKey

KEY = SeriesKey("server/kimi", Quantity.DECODE)
DAY = 1_796_000_400.0
"""A whole number of minutes, of twos and of hours."""

Figures = tuple[float | None, ...]


def fine(*figures: float | None, at: float = DAY) -> Samples:
    return Samples(KEY, at, 2.0, figures)


def minutes(*figures: float | None, at: float = DAY) -> Samples:
    known = tuple(None if figure is None else figure - 1 for figure in figures)
    return Samples(KEY, at, 60.0, figures, known, tuple(None if one is None else one + 5 for one in known))


def over(*pieces: Samples, seconds: float, steps: int, since: float = DAY) -> Samples:
    return resampled(KEY, pieces, since, since + seconds, steps)


def test_a_step_is_the_mean_of_what_was_in_it_with_its_least_and_most() -> None:
    found = over(fine(1, 3, 5, 11), seconds=8, steps=2)
    assert (found.mean, found.low, found.high) == ((2, 8), (1, 5), (3, 11))
    assert (found.began, found.step_s, found.ended) == (DAY, 4.0, DAY + 8)


def test_the_extremes_of_minutes_are_those_of_the_readings_in_them() -> None:
    found = over(minutes(10, 20), seconds=120, steps=1)
    assert (found.mean, found.low, found.high) == ((15,), (9,), (24,))


def test_a_gap_stays_a_gap() -> None:
    assert over(fine(1, None, None, 4), seconds=8, steps=4).mean == (1, None, None, 4)
    assert over(fine(1), fine(4, at=DAY + 60), seconds=62, steps=31).mean == (1, *[None] * 29, 4)


def test_a_reading_covers_all_its_time_on_a_finer_axis() -> None:
    assert over(fine(1, None, 3), seconds=6, steps=12).mean == (1, 1, 1, 1, None, None, None, None, 3, 3, 3, 3)


def test_a_step_across_two_readings_weighs_them_by_their_time() -> None:
    assert over(fine(0, 8), seconds=3, steps=1).mean[0] == pytest.approx(8 / 3)


def test_of_two_pieces_of_one_step_the_first_counts_where_it_knows() -> None:
    assert over(fine(1, None, 3), fine(9, 9, 9, 9), seconds=8, steps=4).mean == (1, 9, 3, 9)


def test_minutes_count_only_where_no_seconds_are() -> None:
    found = over(minutes(100, 200, 300), fine(*[7] * 30, at=DAY + 60), seconds=180, steps=3)
    assert (found.mean, found.high) == ((100, 7, 300), (104, 7, 304))


def test_what_lies_outside_is_left_out() -> None:
    assert over(fine(5, 5, at=DAY - 4), fine(6, at=DAY + 4), seconds=4, steps=2).mean == (None, None)


def test_nothing_recorded_is_nothing_drawn() -> None:
    found = over(seconds=600, steps=5)
    assert (found.mean, found.low, found.high) == ((None,) * 5, (None,) * 5, (None,) * 5)


@pytest.mark.parametrize(("seconds", "steps"), [(0.0, 5), (-1.0, 5), (10.0, 0)])
def test_no_time_has_no_steps(seconds: float, steps: int) -> None:
    assert over(fine(1), seconds=seconds, steps=steps).mean == ()


figures = st.lists(st.none() | st.floats(0, 1e9), min_size=1, max_size=80).map(tuple)
spans = st.floats(1, 500)
offsets = st.floats(-200, 200)
counts = st.integers(1, 60)


@given(figures, spans, offsets, counts)
def test_a_mean_lies_between_its_extremes_and_those_are_readings(
    given_figures: Figures, seconds: float, offset: float, steps: int
) -> None:
    found = over(fine(*given_figures), seconds=seconds, steps=steps, since=DAY + offset)
    assert len(found.mean) == len(found.low) == len(found.high) == steps
    for mean, low, high in zip(found.mean, found.low, found.high, strict=True):
        assert (mean is None) == (low is None) == (high is None)
        if mean is not None and low is not None and high is not None:
            assert low <= mean <= high
            assert {low, high} <= set(given_figures)


@given(figures, spans, offsets, counts)
def test_a_step_is_known_exactly_where_a_known_reading_lies_in_it(
    given_figures: Figures, seconds: float, offset: float, steps: int
) -> None:
    since, width = DAY + offset, seconds / steps
    found = over(fine(*given_figures), seconds=seconds, steps=steps, since=since)
    for at, mean in enumerate(found.mean):
        begin, end = since + at * width, since + (at + 1) * width
        shared = [
            min(end, DAY + 2 * number + 2) - max(begin, DAY + 2 * number)
            for number, figure in enumerate(given_figures)
            if figure is not None
        ]
        if max(shared, default=-1.0) > 1e-5:
            assert mean is not None
        if max(shared, default=-1.0) < -1e-5:
            assert mean is None


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60).map(tuple), counts)
def test_what_flowed_in_all_is_kept(given_figures: tuple[float, ...], steps: int) -> None:
    seconds = 2.0 * len(given_figures)
    found = over(fine(*given_figures), seconds=seconds, steps=steps)
    flowed = sum(mean for mean in found.mean if mean is not None) * found.step_s
    assert isclose(flowed, 2.0 * sum(given_figures), rel_tol=1e-6, abs_tol=1e-6)

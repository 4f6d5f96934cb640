"""A reading's course in one line: as wide as asked, gaps as gaps, nothing unknown drawn as a figure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.words import UNKNOWN
from k2tui.ui.spans import text_of, width_of
from k2tui.ui.widgets import sparkline as module
from k2tui.ui.widgets.sparkline import GAP, GAP_ROLE, LEVELS, sparkline

FIGURES = st.lists(st.none() | st.floats(0, 1e9), max_size=60)


@pytest.mark.parametrize(
    ("values", "width", "text"),
    [
        ((0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0), 8, LEVELS),
        ((0.0, 0.0, 0.0), 3, "▁▁▁"),
        ((7.0, 0.0), 2, "█▁"),
        ((7.0, None, 7.0), 3, f"█{GAP}█"),
        ((7.0, 7.0, None), 3, f"██{GAP}"),
        ((None, None, 7.0), 3, "  █"),
        ((7.0,), 4, "   █"),
        ((0.0, 7.0, 7.0, 7.0), 2, "▅█"),
        ((None, None, 7.0, None), 2, " █"),
        ((0.0, -3.0, 7.0), 3, "▁▁█"),
    ],
)
def test_figures_as_bars(values: tuple[float | None, ...], width: int, text: str) -> None:
    assert text_of(sparkline(values, width)) == text


@pytest.mark.parametrize("values", [(), (None,), (None, None, None)])
def test_nothing_known_is_a_dash(values: tuple[None, ...]) -> None:
    assert text_of(sparkline(values, 4)) == f"{UNKNOWN}   "


def test_a_given_top_is_the_highest_bar_and_what_is_above_it_is_no_higher() -> None:
    assert text_of(sparkline((50.0, 100.0, 250.0), 3, top=100.0)) == "▅██"


def test_a_gap_is_told_by_its_colour_as_well() -> None:
    assert sparkline((7.0, None, 7.0), 3, "gpu-busy") == (("█", "gpu-busy"), (GAP, GAP_ROLE), ("█", "gpu-busy"))


@given(FIGURES, st.integers(1, 40))
def test_it_is_as_wide_as_asked(values: list[float | None], width: int) -> None:
    assert width_of(sparkline(values, width)) == width


@given(FIGURES.filter(len))
def test_what_is_unknown_is_never_a_bar(values: list[float | None]) -> None:
    text = text_of(sparkline(values, len(values)))
    bars = [char in LEVELS for char in text]
    assert bars == [value is not None for value in values]


def test_the_same_figures_are_drawn_once() -> None:
    values = (1.0, 2.0, None)
    assert sparkline(values, 3) is sparkline(values, 3)
    assert sparkline(values, 3) is not sparkline(values, 3, "good")
    assert sparkline(values, 3, top=9.0) != sparkline(values, 3)


def test_a_list_may_change_under_the_same_identity() -> None:
    values = [7.0, 7.0]
    before = sparkline(values, 2)
    values[0] = 0.0
    assert text_of(before) == "██"
    assert text_of(sparkline(values, 2)) == "▁█"


def test_what_is_kept_is_bounded() -> None:
    for number in range(3 * module._KEPT):
        sparkline((float(number), 1.0), 2)
    assert len(module._made) <= module._KEPT

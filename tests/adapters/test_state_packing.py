from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.adapters.state.packing import packed, unpacked

figures = st.none() | st.floats(0, 1e15)


@given(st.lists(figures, min_size=1, max_size=200))
def test_figures_come_back_to_a_part_of_their_range(given_figures: list[float | None]) -> None:
    back = unpacked(packed(given_figures), len(given_figures))
    assert back is not None
    known = [figure for figure in given_figures if figure is not None]
    for was, figure in zip(given_figures, back, strict=True):
        assert (was is None) == (figure is None)
        if was is not None and figure is not None:
            assert figure == pytest.approx(was, abs=(max(known) - min(known)) / 65_000, rel=1e-12)


@given(st.lists(st.none() | st.integers(0, 65_534), min_size=1, max_size=200))
def test_whole_figures_come_back_exactly(given_figures: list[int | None]) -> None:
    assert unpacked(packed(given_figures), len(given_figures)) == given_figures


@pytest.mark.parametrize("figure", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_figure_is_unknown(figure: float) -> None:
    assert unpacked(packed([1.0, figure]), 2) == [1.0, None]


def test_a_quiet_hour_takes_few_bytes() -> None:
    assert len(packed([42.0] * 180)) < 40
    assert len(packed([0.1 * number for number in range(180)])) <= 17 + 2 * 180


@given(st.binary(max_size=100), st.integers(1, 30))
def test_no_bytes_break_it(blob: bytes, count: int) -> None:
    back = unpacked(blob, count)
    assert back is None or len(back) == count


@given(st.binary(min_size=1, max_size=8), st.integers(0, 60))
def test_a_spoiled_block_is_nothing_or_as_long_as_it_should_be(noise: bytes, at: int) -> None:
    blob = packed([1.5 * number for number in range(180)])
    back = unpacked(blob[:at] + noise + blob[at + len(noise) :], 180)
    assert back is None or len(back) == 180


@pytest.mark.parametrize("blob", [None, 7, "text", b"", packed([1.0, 2.0])[:-1], packed([1.0, 2.0, 3.0])])
def test_what_is_no_block_of_that_length_is_left_out(blob: object) -> None:
    assert unpacked(blob, 2) is None

"""Lines of roles keep their width, whatever is in them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k2tui.ui.spans import cell, cells, chunks, clip, cut, ends, spread, text_of, width_of, window, wrapped

texts = st.text(alphabet="ab é模🙂 ", max_size=30)
lines = st.lists(st.tuples(texts, st.just("text")), max_size=6).map(tuple)


@given(texts, st.integers(0, 40))
def test_a_cut_text_fits(text: str, width: int) -> None:
    assert cells(cut(text, width)) <= width


@given(texts, st.integers(1, 40), st.booleans())
def test_a_cell_has_exactly_its_width(text: str, width: int, right: bool) -> None:
    assert cells(cell(text, width, right=right)[0]) == width


@given(lines, st.integers(1, 60))
def test_a_clipped_line_fits(line: tuple[tuple[str, str], ...], width: int) -> None:
    assert width_of(clip(line, width)) <= width


@given(lines, lines, st.integers(1, 80))
def test_two_ends_fit(left: tuple[tuple[str, str], ...], right: tuple[tuple[str, str], ...], width: int) -> None:
    assert width_of(ends(left, right, width)) <= width


@given(texts, st.integers(2, 20), st.integers(1, 8))
def test_wrapped_rows_fit_and_are_not_too_many(text: str, width: int, rows: int) -> None:
    out = wrapped(text, width, rows)
    assert len(out) <= rows
    assert all(cells(row) <= width for row in out)


@given(st.text(alphabet="abc", max_size=60), st.integers(1, 20))
def test_wrapping_without_a_limit_loses_nothing(text: str, width: int) -> None:
    assert "".join(wrapped(text, width, 1000)) == text


@given(lines, st.integers(2, 30))
def test_chunks_hold_all_of_a_line(line: tuple[tuple[str, str], ...], width: int) -> None:
    rows = list(chunks(line, width, 1000))
    assert "".join(text_of(row) for row in rows) == text_of(line)
    assert all(width_of(row) <= width for row in rows)


@given(lines, st.integers(0, 30), st.integers(1, 30))
def test_a_window_fits(line: tuple[tuple[str, str], ...], left: int, width: int) -> None:
    assert width_of(tuple(window(line, left, width))) <= width


def test_items_are_never_broken() -> None:
    items = [(("one", "text"),), (("twotwo", "text"),), (("three", "text"),)]
    assert [text_of(row) for row in spread(items, 11)] == ["one  twotwo", "three"]

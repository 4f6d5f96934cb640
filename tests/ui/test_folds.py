"""The same line of several ranks in one row: which lines, and that none is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.ring import LineRing
from k2tui.ui.folds import BLOCK, Folds
from k2tui.ui.logline import parsed
from k2tui.ui.logrows import LogRows


def said(rank: int | None, message: str, second: int = 1) -> str:
    where = "" if rank is None else f" TP{rank}"
    return f"[2026-11-30 14:00:{second:02}{where}] {message}"


def ring_of(*texts: str, capacity: int = 50_000) -> LineRing:
    ring = LineRing(capacity)
    ring.extend(texts)
    return ring


def rows_of(rows: LogRows) -> list[tuple[int, ...]]:
    """All rows from the first to the last, each by the lines that it tells."""
    found, row, before = [], rows.first, -1
    while row != before and rows.view.count:
        found.append(rows.lines_of(row))
        row, before = rows.step(row, 1), row
    return found


ALL = [said(rank, "Load weight begin.") for rank in range(8)]


def test_eight_ranks_that_say_the_same_have_one_row() -> None:
    assert rows_of(LogRows(ring_of(*ALL, "after"))) == [tuple(range(8)), (8,)]


def test_two_messages_of_each_rank_are_two_rows_though_they_stand_between_each_other() -> None:
    texts = [said(rank, message) for rank in (3, 1, 0) for message in ("one", "two")]
    assert rows_of(LogRows(ring_of(*texts))) == [(0, 2, 4), (1, 3, 5)]


def test_vllm_says_it_for_several_workers_too() -> None:
    texts = [f"(Worker_TP{rank} pid=30{rank}) INFO 11-30 14:00:01 [model.py:7] Loading took 3 s" for rank in range(2)]
    assert rows_of(LogRows(ring_of(*texts))) == [(0, 1)]


def test_what_the_same_rank_says_again_has_a_row_of_its_own() -> None:
    texts = [said(0, "tick"), said(1, "tick"), said(0, "tick"), said(1, "tick")]
    assert rows_of(LogRows(ring_of(*texts))) == [(0, 1), (2, 3)]


def test_what_is_said_later_has_a_row_of_its_own() -> None:
    assert rows_of(LogRows(ring_of(said(0, "tick", 1), said(1, "tick", 2), said(2, "tick", 9)))) == [(0, 1), (2,)]


def test_lines_without_a_rank_or_a_time_stand_alone() -> None:
    assert len(rows_of(LogRows(ring_of(said(None, "x"), said(None, "x"), "[a] x", "[b] x", "", "")))) == 6


def test_all_lines_have_rows_when_they_are_not_merged_or_something_is_searched() -> None:
    rows = LogRows(ring_of(*ALL))
    rows.view.search("weight")
    assert len(rows_of(rows)) == 8
    rows.view.search("")
    assert len(rows_of(rows)) == 1
    rows.toggle_merge()
    assert len(rows_of(rows)) == 8


def test_a_line_that_was_gone_to_opens_its_row() -> None:
    rows = LogRows(ring_of("before", *ALL))
    assert rows.row_of(5) == 1
    rows.open(5)
    assert rows.row_of(5) == 5
    assert len(rows_of(rows)) == 9


def test_steps_go_over_rows_and_stop_at_the_ends() -> None:
    rows = LogRows(ring_of("first", *ALL, "last"))
    assert rows.step(0, 1) == 1
    assert rows.step(0, 2) == 9
    assert rows.step(9, -1) == 1
    assert rows.step(9, -99) == rows.first == 0
    assert rows.step(0, 99) == rows.last == 9
    assert rows.below(1) == 8


def test_a_row_whose_first_line_fell_out_of_the_ring_is_still_told() -> None:
    ring = ring_of(*ALL, capacity=8)
    rows = LogRows(ring)
    assert len(rows_of(rows)) == 1
    ring.extend(["new"])
    assert [lines[0] for lines in rows_of(rows)] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_nothing_is_folded_across_the_edge_of_a_block() -> None:
    texts = [*["x"] * (BLOCK - 4), *ALL]
    first, second = rows_of(LogRows(ring_of(*texts)))[-2:]
    assert (len(first), len(second)) == (4, 4)


messages = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a", "b", "c d"]), st.integers(1, 4)), max_size=80)


@given(messages, st.integers(1, 60))
def test_every_line_is_in_exactly_one_row_and_rows_hold_the_same_words(
    given_lines: list[tuple[int, str, int]], capacity: int
) -> None:
    ring = ring_of(capacity=capacity)
    rows = LogRows(ring)
    for line in given_lines:
        ring.extend([said(*line)])
        rows.row_of(ring.end)  # a look in between, as a screen does
    told = [number for row in rows_of(rows) for number in row if number >= ring.start]
    assert sorted(told) == list(range(ring.start, ring.end))
    for row in rows_of(rows):
        held = [parsed(ring[number]) for number in row if number >= ring.start]
        assert len({line.message for line in held}) == 1
        assert len({line.rank for line in held}) == len(held)


@given(messages)
def test_the_rows_do_not_depend_on_when_one_looks(given_lines: list[tuple[int, str, int]]) -> None:
    ring, watched = ring_of(), None
    for line in given_lines:
        ring.extend([said(*line)])
        watched = watched or LogRows(ring)
        watched.row_of(ring.end)
    assert watched is None or rows_of(watched) == rows_of(LogRows(ring))


@given(st.lists(st.text(max_size=20), max_size=40))
def test_no_text_can_break_it(texts: list[str]) -> None:
    folds = Folds(ring_of(*texts))
    assert all(folds.leader(number) <= number for number in range(len(texts)))

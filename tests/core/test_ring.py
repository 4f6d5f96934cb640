"""The newest lines by their number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.ring import LineRing


def test_a_full_ring_keeps_the_newest_lines_under_their_old_numbers() -> None:
    ring = LineRing(capacity=3)
    ring.extend(["a", "b"])
    ring.extend(["c", "d"])
    assert (ring.start, ring.end, len(ring)) == (1, 4, 3)
    assert [ring[number] for number in range(1, 4)] == ["b", "c", "d"]


def test_a_line_that_fell_out_can_not_be_read() -> None:
    ring = LineRing(capacity=1)
    ring.extend(["a", "b"])
    for number in (0, 2, -1):
        with pytest.raises(IndexError):
            ring[number]


def test_long_lines_push_out_more() -> None:
    ring = LineRing(capacity=100, max_chars=10)
    ring.extend(["12345", "67890", "abc"])
    assert [ring[number] for number in range(ring.start, ring.end)] == ["67890", "abc"]


def test_one_line_longer_than_the_ring_is_still_shown() -> None:
    ring = LineRing(max_chars=10)
    ring.extend(["x" * 50])
    assert ring[0] == "x" * 50


def test_only_a_change_changes_the_revision() -> None:
    ring = LineRing()
    ring.extend([])
    ring.set_open("")
    assert ring.revision == 0
    ring.set_open("bar 1/4")
    ring.set_open("bar 1/4")
    assert ring.revision == 1
    ring.extend(["a"])
    assert ring.revision == 2


def test_a_cleared_ring_goes_on_counting() -> None:
    ring = LineRing()
    ring.extend(["a", "b"])
    ring.clear()
    ring.extend(["c"])
    assert (ring.start, ring.end, ring[2]) == (2, 3, "c")


@given(st.integers(1, 7), st.integers(1, 30), st.lists(st.lists(st.text("ab", max_size=9), max_size=9), max_size=20))
def test_a_ring_is_the_tail_of_all_that_came(capacity: int, max_chars: int, batches: list[list[str]]) -> None:
    ring = LineRing(capacity, max_chars)
    everything: list[str] = []
    for batch in batches:
        ring.extend(batch)
        everything += batch
        assert ring.end == len(everything)
        assert len(ring) <= capacity
        held = [ring[number] for number in range(ring.start, ring.end)]
        assert held == everything[ring.start :]
        assert sum(map(len, held)) <= max_chars or len(held) == 1

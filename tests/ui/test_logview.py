"""Which lines are shown and where the hits are, without a screen."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.ring import LineRing
from k2tui.ui.logline import parts_of
from k2tui.ui.logview import BITE, LogView, finder, rank_order


def all_of(view: LogView) -> list[str]:
    while view.advance():
        pass
    return [view.ring[view.number_at(position)] for position in range(view.count)]


lines = st.lists(st.text(alphabet="abcAB \t[]:", max_size=12), max_size=60)


@given(lines, st.text(alphabet="abAB", min_size=1, max_size=2), st.integers(1, 40))
def test_showing_only_is_the_same_as_choosing_lines(texts: list[str], needle: str, capacity: int) -> None:
    ring = LineRing(capacity)
    view = LogView(ring)
    view.set_filter(only=needle)
    for text in texts:
        ring.extend([text])
        view.advance()
    held = texts[-capacity:] if texts else []
    assert all_of(view) == [text for text in held if finder(needle).search(text)]


@given(lines, st.text(alphabet="abAB", min_size=1, max_size=2))
def test_hits_are_the_lines_with_the_text_and_go_round(texts: list[str], needle: str) -> None:
    ring = LineRing()
    ring.extend(texts)
    view = LogView(ring)
    view.search(needle)
    view.advance()
    expected = [number for number, text in enumerate(texts) if finder(needle).search(text)]
    assert view.hits == len(expected)
    if expected:
        assert view.hit_after(expected[-1]) == expected[0]
        assert view.hit_before(expected[0]) == expected[-1]
    else:
        assert view.hit_after(0) is None


def test_many_lines_are_looked_at_in_bites() -> None:
    ring = LineRing()
    ring.extend(["x"] * (BITE + 1))
    view = LogView(ring)
    view.search("x")
    assert view.advance() is True
    assert not view.complete
    assert view.advance() is False
    assert view.hits == BITE + 1


def test_without_a_filter_no_line_is_looked_at() -> None:
    ring = LineRing()
    ring.extend(["x"] * 10)
    view = LogView(ring)
    assert not view.looks
    assert view.complete
    assert view.count == 10


def test_capitals_count_once_one_is_typed() -> None:
    assert finder("nccl").search("NCCL INFO")
    assert not finder("Nccl").search("NCCL INFO")


def test_ranks_are_ordered_by_their_numbers() -> None:
    assert sorted(["TP10", "TP2", "DP1 TP0", "DP0 TP3"], key=rank_order) == ["DP0 TP3", "DP1 TP0", "TP2", "TP10"]


def test_the_parts_of_lines_of_both_engines() -> None:
    sglang = parts_of("[2026-11-30 14:00:01 DP0 TP1 EP1] Load weight end.")
    assert (sglang.time, sglang.rank, sglang.level, sglang.message) == (
        "14:00:01",
        "DP0 TP1 EP1",
        0,
        "Load weight end.",
    )
    vllm = parts_of("(Worker_TP1 pid=307) ERROR 11-30 14:00:01 [core.py:77] it broke")
    assert (vllm.time, vllm.rank, vllm.level, vllm.message) == ("14:00:01", "TP1", 2, "it broke")
    assert parts_of("torch.OutOfMemoryError: CUDA out of memory").level == 2
    assert parts_of("x.py:3: UserWarning: hm").level == 1


@given(st.text())
def test_no_line_can_break_the_parts(text: str) -> None:
    assert 0 <= parts_of(text).level <= 2

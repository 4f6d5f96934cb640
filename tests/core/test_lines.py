"""Bytes to lines."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from k2tui.core.lines import LINE_LIMIT, LineSplitter, plain


@st.composite
def cut_up(draw: st.DrawFn) -> tuple[bytes, list[bytes]]:
    """Bytes that look like a log, and a way to cut them."""
    parts = draw(
        st.lists(
            st.one_of(
                st.sampled_from(
                    [b"\n", b"\r", b"\r\n", b"\x1b[31m", b"\xe2\x9c\x93", b"\xff", b"\t", b"bar 1/2", b"\x00"]
                ),
                st.binary(max_size=8),
            ),
            max_size=40,
        )
    )
    data = b"".join(parts)
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return data, [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"\n\n", ["", ""]),
        (b"\r 10%\r 20%\r 30%\nnext\n", [" 30%", "next"]),
        (b"(Worker pid=1) \rshards 1/4\n", ["shards 1/4"]),
        (b"shown\r\r\n", ["shown"]),
        ("über ✓\n".encode(), ["über ✓"]),
        (b"bad \xff byte\n", ["bad � byte"]),
        (b"a\tb\n", ["a       b"]),
        (b"\x1b[1;36m(APIServer pid=1)\x1b[0;0m INFO\n", ["(APIServer pid=1) INFO"]),
        (b"title \x1b]0;owned\x07gone\n", ["title gone"]),
        ("unicode\u2028stays one line\n".encode(), ["unicode\u2028stays one line"]),
    ],
)
def test_bytes_become_lines(data: bytes, lines: list[str]) -> None:
    assert LineSplitter().feed(data) == lines


def test_an_unfinished_line_can_be_looked_at_and_still_grows() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"Load wei") == []
    assert splitter.open_line == "Load wei"
    assert splitter.feed(b"ght begin\n") == ["Load weight begin"]
    assert splitter.open_line == ""


def test_a_redrawn_line_tells_what_it_showed_before() -> None:
    splitter = LineSplitter()
    first = splitter.cut(b"\r 0/4\r 1/4\r 2/")
    assert first.open_redraws == [" 0/4", " 1/4"]
    assert splitter.open_line == " 2/"
    second = splitter.cut(b"4\r 3/4\n\r 0/9\r 1/9\n")
    assert second.lines == [" 3/4", " 1/9"]
    assert second.redraws == {0: [" 2/4", " 3/4"], 1: [" 0/9", " 1/9"]}


def test_a_line_that_was_redrawn_and_wiped_keeps_its_last_look() -> None:
    splitter = LineSplitter()
    splitter.feed(b"\rbar 4/4\r")
    assert splitter.open_line == "bar 4/4"
    assert splitter.feed(b"\n") == ["bar 4/4"]


def test_a_ten_megabyte_line_keeps_its_head_and_tail_and_counts_the_rest() -> None:
    data = b"HEAD" + b"x" * 10_000_000 + b"TAIL\nnext\n"
    splitter = LineSplitter()
    lines = [line for start in range(0, len(data), 65536) for line in splitter.feed(data[start : start + 65536])]
    assert len(lines) == 2
    assert len(lines[0]) < LINE_LIMIT + 100
    assert lines[0].startswith("HEAD")
    assert lines[0].endswith("TAIL")
    assert f"{10_000_008 - LINE_LIMIT:,} characters left out" in lines[0]
    assert LineSplitter().feed(data) == lines


def test_what_is_left_at_the_end_is_a_line_too() -> None:
    splitter = LineSplitter()
    splitter.feed(b"done\nno newline \xe2\x9c")
    assert splitter.flush() == ["no newline �"]
    assert splitter.flush() == []


@given(st.text())
def test_plain_text_never_steers_the_terminal(text: str) -> None:
    for character in plain(text):
        assert character not in "\x1b\x07\x08\x7f\x9b\r\u202e"
        assert ord(character) >= 32 or character == "\n"


@given(cut_up())
@example((b"\n\t\n", [b"\n", b"\t\n"]))
def test_how_the_bytes_are_cut_makes_no_difference(case: tuple[bytes, list[bytes]]) -> None:
    data, pieces = case
    whole, parted = LineSplitter(), LineSplitter()
    lines = whole.feed(data)
    assert [line for piece in pieces for line in parted.feed(piece)] == lines
    assert parted.open_line == whole.open_line
    assert parted.flush() == whole.flush()
    assert len(lines) == data.count(b"\n")


@given(st.lists(st.integers(1, 60_000), min_size=1, max_size=4), st.integers(1, 50_000))
def test_a_long_line_is_capped_the_same_however_it_comes(sizes: list[int], step: int) -> None:
    data = b"".join(bytes([65 + place]) * size for place, size in enumerate(sizes)) + b"\n"
    parted = LineSplitter()
    lines = [line for start in range(0, len(data), step) for line in parted.feed(data[start : start + step])]
    assert lines == LineSplitter().feed(data)

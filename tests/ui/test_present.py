"""Text and glyphs: as easy to test as arithmetic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core import words
from k2tui.core.launch import LaunchPhase
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.views import ServerStatus
from k2tui.core.words import UNKNOWN
from k2tui.ui import present
from k2tui.ui.present import Freshness, freshness


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, UNKNOWN),
        (0.04, "0.0 s"),
        (2.14, "2.1 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.6, "1m00s"),
        (220, "3m40s"),
        (3599.7, "1h00m"),
        (11_520, "3h12m"),
        (93_600, "1d02h"),
        (-3, "0.0 s"),
    ],
)
def test_durations(seconds: float | None, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, UNKNOWN), (0, "0 B"), (999, "999 B"), (3_140_000, "3.1 MB"), (310e9, "310 GB"), (1.9e12, "1.9 TB")],
)
def test_sizes(value: float | None, text: str) -> None:
    assert words.size(value) == text


@given(st.floats(0, 1e15))
def test_a_size_has_three_figures_at_most(value: float) -> None:
    assert len(words.size(value)) <= 8


@given(st.floats(0, 1), st.integers(1, 60))
def test_a_bar_is_as_wide_as_asked(fraction: float, width: int) -> None:
    filled, rest = present.bar(fraction, width)
    assert len(filled) + len(rest) == width


def test_a_bar_is_full_only_at_the_end() -> None:
    assert present.bar(1.0, 10) == ("━" * 10, "")
    assert present.bar(0.999, 10)[0] != "━" * 10
    assert present.percent(0.996) == "99 %"
    assert present.percent(1.0) == "100 %"


@pytest.mark.parametrize(
    ("age_s", "expected"),
    [
        (0.0, Freshness.FRESH),
        (3.0, Freshness.FRESH),
        (3.1, Freshness.LATE),
        (6.0, Freshness.LATE),
        (6.1, Freshness.DIM),
        (20.0, Freshness.DIM),
        (20.1, Freshness.GONE),
        (None, Freshness.GONE),
    ],
)
def test_figures_age(age_s: float | None, expected: Freshness) -> None:
    assert freshness(age_s, 2.0) is expected


def test_unknown_is_a_dash_and_never_a_zero() -> None:
    assert present.number(None, "W") == UNKNOWN
    assert present.percent(None) == UNKNOWN
    assert present.of_total(None, 98304, 1024, "G") == f"{UNKNOWN}/96 G"
    assert present.age(None) == UNKNOWN


def test_every_state_has_a_glyph_of_one_cell_and_every_phase_a_word() -> None:
    for status in ServerStatus:
        assert len(present.STATUS_GLYPH[status]) == 1
        assert status in present.STATUS_ROLE
    assert set(words.PHASE_WORDS) == set(LaunchPhase)


@given(st.text())
def test_ascii_text_is_ascii_and_as_long(text: str) -> None:
    assert present.ascii_text(text).isascii()
    assert len(present.ascii_text(text)) == len(text)


def test_glyphs_have_their_own_ascii() -> None:
    assert present.ascii_text("● READY ━━╸── 80 % → ✗") == "* READY ##+-- 80 % > x"


@pytest.mark.parametrize(
    ("link", "text"),
    [
        (LinkState(LinkPhase.UP, round_trip_s=0.018), "link 18 ms"),
        (LinkState(LinkPhase.DOWN, reason="refused", retry_at=108.0), "refused, retry in 8 s"),
        (LinkState(LinkPhase.BLOCKED, reason="host key unknown"), "host key unknown"),
        (LinkState(LinkPhase.CONNECTING), "connecting"),
        (LinkState(), "not tried yet"),
    ],
)
def test_links_in_words(link: LinkState, text: str) -> None:
    assert present.link_words(link, 100.0) == text


def test_the_time_of_a_run_is_read_from_its_id() -> None:
    assert present.run_time("20261129T140231Z-1a2b") == "11-29 14:02"
    assert present.run_time("by-hand") == "by-hand"

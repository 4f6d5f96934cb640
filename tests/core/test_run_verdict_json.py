"""A verdict comes back from a run's directory as it went in, and nothing else is taken for one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.run_verdict_json import MOST_CHARS, read_verdict, verdict_json
from k2tui.core.verdicts import Effect, Outcome, RunVerdict

TEXT = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")), max_size=50).filter(str.isprintable)
EFFECTS = st.builds(Effect, TEXT, st.sampled_from(Outcome), TEXT, st.none() | TEXT)
VERDICTS = st.builds(
    RunVerdict,
    st.booleans(),
    st.floats(0, 1e11),
    TEXT,
    st.lists(EFFECTS, max_size=5).map(tuple),
    st.none() | TEXT,
    st.none() | st.lists(TEXT.filter(bool), max_size=5).map(tuple),
)


@given(VERDICTS)
def test_a_verdict_comes_back_from_one_line_of_ascii(verdict: RunVerdict) -> None:
    line = verdict_json(verdict)
    assert line.isascii()
    assert line.isprintable()
    assert read_verdict(line) == verdict


def test_a_huge_verdict_is_cut_and_still_one() -> None:
    effects = tuple(Effect("c" * 1000, Outcome.CANNOT, "🙂" * 1000, "s" * 1000) for _ in range(1000))
    line = verdict_json(RunVerdict(True, 1.0, "t" * 1000, effects, "v" * 1000, ("f" * 1000,) * 1000))
    assert len(line) <= MOST_CHARS
    read = read_verdict(line)
    assert read is not None
    assert read.verified
    assert 0 < len(read.effects) < 1000


def test_a_shell_finds_out_that_it_is_verified() -> None:
    assert '"verified":true' in verdict_json(RunVerdict(True, 1.0, "answers"))
    assert '"verified":true' not in verdict_json(RunVerdict(False, 1.0, "no answer"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"verified":1,"at":1,"text":""}',
        '{"verified":true,"at":true,"text":""}',
        '{"verified":true,"at":NaN,"text":""}',
        '{"verified":true,"at":-1,"text":""}',
        '{"verified":true,"at":1}',
        '{"verified":true,"at":1,"text":"' + "x" * MOST_CHARS + '"}',
    ],
)
def test_what_is_none_is_not_taken_for_one(text: str) -> None:
    assert read_verdict(text) is None


def test_an_effect_that_can_not_be_read_is_left_out_and_no_escape_gets_through() -> None:
    effects = [{"check": "a", "outcome": "proved", "text": "b\x1b[2J"}, {"check": "a", "outcome": "?", "text": ""}, 3]
    read = read_verdict(
        json.dumps({"verified": True, "at": 1, "text": "x\x1b]", "effects": effects, "modified": [1, "m"]})
    )
    assert read is not None
    assert [effect.text for effect in read.effects] == ["b [2J"]
    assert (read.text, read.modified) == ("x ]", ("m",))


@given(st.text() | st.recursive(st.none() | st.booleans() | st.text(), st.lists).map(json.dumps))
def test_no_text_breaks_the_reader(text: str) -> None:
    read_verdict(text)

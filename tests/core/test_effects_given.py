"""Texts in each parser family's markup, judged by what a real SGLang 0.5.23 made of each of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.effects import reasoning, tools
from k2tui.core.effects.answers import Answer, Call, StreamedAnswer, read_answer
from k2tui.core.effects.completion import broken_by, speaks
from k2tui.core.effects.on_node import parse_listener, parse_ranks

REAL = json.loads((Path(__file__).parent.parent / "logs/replies/sglang0523.given_texts.json").read_text("utf-8"))


def calls_of(reply: dict[str, list[dict[str, str]]]) -> tuple[Call, ...]:
    return tuple(Call(row["name"], row["parameters"]) for row in reply["calls"])


@pytest.mark.parametrize("parser", sorted(REAL["reasoning"]))
def test_a_real_reasoning_parser_takes_its_own_texts_apart(parser: str) -> None:
    texts = reasoning.given_texts(parser)
    assert len(texts) == len(REAL["reasoning"][parser]) > 0
    for text, reply in zip(texts, REAL["reasoning"][parser], strict=True):
        assert reasoning.judge_given(text, reply["reasoning_text"], reply["text"]) is None
        assert reasoning.judge_given(text, "", text.text) is not None or text.reasoning == ""
        assert reasoning.judge_given(text, text.text, "") is not None


@pytest.mark.parametrize("parser", tools.FAMILIES)
def test_a_real_tool_call_parser_finds_the_calls_in_its_own_texts(parser: str) -> None:
    for calls, reply in zip((tools.ONE, tools.TWO), REAL["tools"][parser], strict=True):
        found = calls_of(reply)
        assert tools.judge_parsed(calls, found, "it") is None
        assert tools.judge_parsed(calls, found[1:], "it") is not None
        assert tools.judge_parsed(calls, (Call("get_weather", '{"city": "Rome"}'), *found[1:]), "it") is not None


def test_a_parser_whose_markup_is_not_known_is_asked_nothing() -> None:
    assert reasoning.given_texts("kimi_k3") == ()
    assert tools.call_text("trinity", tools.ONE) is None


def test_every_mark_that_a_text_holds_is_one_that_is_looked_for() -> None:
    for parser in REAL["reasoning"]:
        (thought, *_) = reasoning.given_texts(parser)
        assert any(mark in thought.text for mark in reasoning.MARKS), parser
    for parser in set(tools.FAMILIES) - {"pythonic", "gpt-oss"}:  # plain brackets; a channel of its own
        assert any(mark in (tools.call_text(parser, tools.ONE) or "") for mark in tools.MARKS), parser


@pytest.mark.parametrize(
    ("text", "makes_sense"),
    [
        ("51", True),
        ("17 times 3 is 51.", True),
        ("十七乘以三等于五十一。", True),
        ("Fifty-one.", True),
        ("Okay, the user is asking me a simple question that I need to answer in one", True),
        (" weM we with sevenM we thanl\ufffd thanl\ufffd ", False),
        ("aeson Kurz]);\n_rule \u0e2d\u0e22\u0e39 nabla 2517 Skalierung prosecut lijk", False),
        ("3", False),
    ],
)
def test_an_answer_speaks_of_the_question_or_reads_like_a_sentence(text: str, makes_sense: bool) -> None:
    assert speaks(text) is makes_sense


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        ("51", False),
        ("!!!", False),
        ("!" * 32, True),
        ("0 0 0 0 0 0 0 0", True),
        ("ababababab", True),
        ("17 times 3 is 51. 17 times 3 is 51.", False),
        ("The answer is 51 \ufffd", False),
        ("\ufffd\ufffd\ufffd 51 \ufffd\ufffd x", True),
        ("   \n", True),
    ],
)
def test_what_no_model_means_to_say_is_broken(text: str, is_broken: bool) -> None:
    assert (broken_by(Answer(text, tokens=9)) is not None) is is_broken


@given(st.binary(max_size=300))
def test_nothing_that_a_server_or_a_node_says_breaks_the_reading(data: bytes) -> None:
    streamed = StreamedAnswer()
    streamed.take(data)
    streamed.answer(1.0)
    parse_listener(data)
    parse_ranks(data + b"\nk2end\n")


NAMES = st.sampled_from(["choices", "message", "content", "tool_calls", "function", "usage", "delta", "error"])
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
)


@given(DOCUMENTS)
def test_no_document_is_too_odd_for_an_answer(document: object) -> None:
    read_answer(document, 1.0)
    StreamedAnswer().take(json.dumps(document).encode())


@given(st.text(max_size=200))
def test_the_rules_for_garbage_never_raise(text: str) -> None:
    broken_by(Answer(text, tokens=3))
    speaks(text)

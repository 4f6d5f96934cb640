"""The parsers split what the model says as SGLang's do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from k2tui.demo.engine.answers import ANSWER, THOUGHT, Splitter, endless, script_for

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def said(
    body: dict[str, Any], *, reasoning: str | None = None, tools: str | None = None, kimi: bool = True
) -> tuple[str, str, str | None]:
    """(reasoning, content, call) of a whole answer."""
    script = script_for(body, kimi=kimi)
    splitter = Splitter(script, reasoning, tools, kimi)
    pieces = [splitter.take(token) for token in script.tokens]
    calls = [piece.call.name for piece in pieces if piece.call is not None]
    return "".join(p.reasoning for p in pieces), "".join(p.content for p in pieces), calls[0] if calls else None


def test_without_a_parser_the_thought_stands_in_the_content() -> None:
    assert said({}) == ("", f"<think>{''.join(THOUGHT)}</think>{''.join(ANSWER)}", None)


@pytest.mark.parametrize("parser", ["kimi_k2", "qwen3", "deepseek-r1", "auto"])
def test_a_parser_sets_the_thought_apart(parser: str) -> None:
    assert said({}, reasoning=parser) == ("".join(THOUGHT), "".join(ANSWER), None)


def test_a_parser_for_other_marks_splits_nothing() -> None:
    reasoning, content, _ = said({}, reasoning="mistral")
    assert reasoning == ""
    assert "</think>" in content


@pytest.mark.parametrize("switch", ["thinking", "enable_thinking"])
def test_thinking_can_be_turned_off(switch: str) -> None:
    assert said({"chat_template_kwargs": {switch: False}}, reasoning="kimi_k2") == ("", "".join(ANSWER), None)


def test_a_parser_of_a_family_that_always_thinks_takes_a_whole_answer_for_thought() -> None:
    silent = {"chat_template_kwargs": {"thinking": False}}
    assert said(silent, reasoning="deepseek-r1") == ("".join(ANSWER), "", None)


def test_a_tool_call_is_found_by_its_parser() -> None:
    assert said({"tools": [TOOL]}, reasoning="kimi_k2", tools="kimi_k2") == ("".join(THOUGHT), "", "get_weather")
    assert said({"tools": [TOOL]}, reasoning="qwen3", tools="qwen", kimi=False)[2] == "get_weather"


@pytest.mark.parametrize("parser", [None, "qwen", "llama3"])
def test_without_its_parser_a_tool_call_is_text(parser: str | None) -> None:
    _, content, call = said({"tools": [TOOL]}, reasoning="kimi_k2", tools=parser)
    assert call is None
    assert "<|tool_call_begin|>functions.get_weather:0" in content


def test_the_arguments_fit_the_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["C", "F"]},
            "days": {"type": "integer"},
            "cities": {"type": "array", "items": {"type": "string"}},
            "left out": {"type": "string"},
        },
        "required": ["unit", "days", "cities"],
    }
    script = script_for({"tools": [{"function": {"name": "f", "parameters": schema}}]}, kimi=True)
    assert script.call is not None
    assert json.loads(script.call.arguments) == {"unit": "C", "days": 1, "cities": ["Paris"]}


def test_tool_choice_none_is_honoured() -> None:
    assert script_for({"tools": [TOOL], "tool_choice": "none"}, kimi=True).call is None


def test_ignore_eos_repeats_and_only_the_first_thought_is_split() -> None:
    script = script_for({}, kimi=True)
    splitter = Splitter(script, "kimi_k2", None, True)
    tokens = endless(script, ignore_eos=True)
    content = "".join(splitter.take(next(tokens)).content for _ in range(3 * (len(script.tokens) - 1)))
    assert content.count("<think>") == 2
    assert splitter.reasoning_tokens == 30

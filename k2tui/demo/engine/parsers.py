"""SGLang's parsers on a whole text, for `/separate_reasoning` and `/parse_function_call`: the families of the demo."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_THINK = ("<think>", "</think>")
_MARKS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(
        (
            *("kimi_k2", "qwen3", "qwen3-thinking", "deepseek-r1", "deepseek-v3", "glm45", "dots", "interns1"),
            *("step3", "step3p5", "mimo", "hunyuan", "nemotron_3", "ling3", "nanbeige", "minimax"),
        ),
        _THINK,
    ),
    "kimi": ("◁think▷", "◁/think▷"),
}
ALWAYS_THINK = frozenset(("deepseek-r1", "step3", "step3p5", "qwen3-thinking", "minimax"))
"""Their answers begin as a thought, with or without the mark."""
_KIMI_SECTION = "<|tool_calls_section_begin|>"
_KIMI_CALL = re.compile(
    r"<\|tool_call_begin\|>\s*(?:functions\.)?([\w.\-]+):\d+\s*<\|tool_call_argument_begin\|>"
    r"\s*(\{.*?\})\s*<\|tool_call_end\|>",
    re.DOTALL,
)
_QWEN_CALL = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)


def separated(text: str, parser: str) -> dict[str, Any] | None:
    """The reply of `/separate_reasoning`; None for a family that the demo does not play."""
    marks = _MARKS.get(parser)
    if marks is None:
        return None
    opening, closing = marks
    if parser not in ALWAYS_THINK and opening not in text:
        return {"reasoning_text": "", "text": text}
    while text.startswith(opening):
        text = text[len(opening) :]
    thought, closed, rest = text.partition(closing)
    if not closed and parser == "kimi_k2" and _KIMI_SECTION in text:
        thought, section, rest = text.partition(_KIMI_SECTION)
        rest = section + rest
    return {"reasoning_text": thought, "text": rest}


def parsed(text: str, tools: Sequence[Any], parser: str) -> dict[str, Any] | None:
    """The reply of `/parse_function_call`; None for a family that the demo does not play."""
    reader = _READERS.get(parser)
    if reader is None:
        return None
    functions = [tool.get("function") or {} for tool in tools if isinstance(tool, dict)]
    names = [str(function.get("name")) for function in functions]
    normal, calls = reader(text, names) if names else (text, [])
    return {"normal_text": normal, "calls": calls}


def _kimi(text: str, names: Sequence[str]) -> tuple[str, list[dict[str, Any]]]:
    """A call counts its place in the answer; what it calls is not looked at."""
    if _KIMI_SECTION not in text:
        return text, []
    calls = [
        {"tool_index": place, "name": found[1], "parameters": found[2]}
        for place, found in enumerate(_KIMI_CALL.finditer(text))
    ]
    return text[: text.find(_KIMI_SECTION)], calls


def _qwen(text: str, names: Sequence[str]) -> tuple[str, list[dict[str, Any]]]:
    """A call counts its tool's place in the request; one of a tool that is not there is dropped."""
    if "<tool_call>\n" not in text:
        return text, []
    calls = []
    for written in _QWEN_CALL.findall(text):
        try:
            call = json.loads(written)
        except ValueError:
            continue
        if isinstance(call, dict) and call.get("name") in names:
            arguments = json.dumps(call.get("parameters") or call.get("arguments", {}), ensure_ascii=False)
            calls.append({"tool_index": names.index(call["name"]), "name": call["name"], "parameters": arguments})
    return text[: text.find("<tool_call>\n")].strip(), calls


_READERS: Mapping[str, Callable[[str, Sequence[str]], tuple[str, list[dict[str, Any]]]]] = {
    "kimi_k2": _kimi,
    **dict.fromkeys(("qwen", "qwen25"), _qwen),
}

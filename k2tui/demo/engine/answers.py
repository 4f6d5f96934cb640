"""What the simulated model says, token by token, and how SGLang's parsers take it apart."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k2tui.demo.engine.parsers import ALWAYS_THINK

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
THOUGHT = (
    *(" Okay,", " the user", " wants", " a short", " answer.", " I should", " check", " the arithmetic", " first:"),
    *(" 17", " times", " 3", " is", " 51;", " and", " 64", " shards", " minus", " 51", " leaves", " 13."),
    *(" That", " looks", " right,", " so", " I can", " reply", " now."),
)
ANSWER = (
    *("\n\nThe", " answer", " is 51", " of", " 64,", " which", " is about", " 80%.", " The", " remaining"),
    *(" 13 shards", " load", " in", " under", " a", " second."),
)
END = ""
"""The end-of-turn token: it counts, and shows nothing."""

_THINK_PARSERS = frozenset(
    (
        *("auto", "kimi_k2", "qwen3", "qwen3-thinking", "deepseek-r1", "deepseek-v3", "deepseek-v4", "glm45", "dots"),
        *("interns1", "nanbeige", "step3", "mimo", "hunyuan", "nemotron_3", "ling3"),
    )
)
"""Reasoning parsers that split on the think marks; another one leaves the text as it is."""
_KIMI_CALL = ("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>")
_KIMI_CALL_END = ("<|tool_call_end|>", "<|tool_calls_section_end|>")
_KIMI_TOOL_PARSERS = frozenset(("auto", "kimi_k2"))
_QWEN_TOOL_PARSERS = frozenset(("auto", "qwen", "qwen25", "hermes"))


@dataclass(frozen=True)
class ToolCall:
    """One call as the model wrote it."""

    name: str
    arguments: str


@dataclass(frozen=True)
class Script:
    """What the model will say to one request."""

    tokens: tuple[str, ...]
    call: ToolCall | None = None
    call_at: int = 0
    """Index of the first token of the call."""


def script_for(body: Mapping[str, Any], *, kimi: bool) -> Script:
    """One answer to everything: a thought unless it is turned off, then the answer, or a call of the first tool."""
    switches = body.get("chat_template_kwargs") or {}
    silent = switches.get("thinking") is False or switches.get("enable_thinking") is False
    thought = () if silent else (THINK_OPEN, *THOUGHT, THINK_CLOSE)
    tools = body.get("tools") if body.get("tool_choice") != "none" else None
    if not tools:
        return Script((*thought, *ANSWER, END))
    function = tools[0].get("function") or {}
    call = ToolCall(str(function.get("name", "")), json.dumps(_example(function.get("parameters") or {})))
    marks: tuple[str, ...]
    if kimi:
        marks = (*_KIMI_CALL[:2], f"functions.{call.name}:0", _KIMI_CALL[2], call.arguments, *_KIMI_CALL_END)
    else:
        wanted = json.dumps({"name": call.name, "arguments": json.loads(call.arguments)})
        marks = ("<tool_call>", "\n ", wanted, " \n", "</tool_call>")
    return Script((*thought, *marks, END), call, len(thought))


def bare_script() -> Script:
    """The answer to a prompt without a chat template."""
    return Script((*THOUGHT, END))


def _example(schema: Mapping[str, Any]) -> Any:
    """A value that fits a JSON schema, as far as tools need it."""
    if schema.get("enum"):
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        wanted = schema.get("required") or list(properties)
        return {name: _example(properties.get(name) or {}) for name in wanted}
    if kind == "array":
        return [_example(schema.get("items") or {})]
    return {"integer": 1, "number": 1.5, "boolean": True, "null": None}.get(str(kind), "Paris")


@dataclass(frozen=True)
class Piece:
    """What one token becomes for the client."""

    reasoning: str = ""
    content: str = ""
    call: ToolCall | None = None


@dataclass
class Splitter:
    """SGLang's reasoning and tool-call parsers, for the marks that this model uses."""

    script: Script
    reasoning_parser: str | None
    tool_parser: str | None
    kimi: bool
    reasoning_tokens: int = 0
    called: bool = False
    _index: int = 0
    _thinking: bool = field(init=False)

    def __post_init__(self) -> None:
        self._thinking = self.reasoning_parser in ALWAYS_THINK

    @property
    def splits_thought(self) -> bool:
        return self.reasoning_parser in _THINK_PARSERS

    @property
    def finds_calls(self) -> bool:
        known = _KIMI_TOOL_PARSERS if self.kimi else _QWEN_TOOL_PARSERS
        return self.script.call is not None and self.tool_parser in known

    def take(self, token: str) -> Piece:
        """The next token of the answer."""
        index, self._index = self._index % len(self.script.tokens), self._index + 1
        # A parser splits the first thought only: what ignore_eos repeats after it is content.
        first_thought = self.splits_thought and self._index < len(self.script.tokens)
        if first_thought and (token == THINK_OPEN or self._thinking):
            self._thinking = token != THINK_CLOSE
            self.reasoning_tokens += 1
            return Piece() if token in (THINK_OPEN, THINK_CLOSE) else Piece(reasoning=token)
        if self.finds_calls and index >= self.script.call_at:
            if token == self._last_mark and not self.called:
                self.called = True
                return Piece(call=self.script.call)
            return Piece()
        return Piece(content=token)

    @property
    def _last_mark(self) -> str:
        return _KIMI_CALL_END[1] if self.kimi else "</tool_call>"


def endless(script: Script, *, ignore_eos: bool) -> Iterator[str]:
    """The script's tokens; over and over without its end when the end is to be ignored."""
    yield from script.tokens if not ignore_eos else script.tokens[:-1]
    while ignore_eos:
        yield from script.tokens[:-1]


def call_id(name: str, *, kimi: bool) -> str:
    """`functions.get_weather:0` for Kimi, which wants it back unchanged; random elsewhere."""
    return f"functions.{name}:0" if kimi else f"call_{secrets.token_hex(12)}"


def rough_tokens(texts: Sequence[str]) -> int:
    """A token count for a prompt: words and a frame around each message."""
    return sum(len(text.split()) + 4 for text in texts)

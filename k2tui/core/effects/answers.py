"""What a completion came back with, in one piece or as a stream; OpenAI's shape as SGLang and vLLM write it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_CHARS = 20_000
"""Of one answer that is looked at: no answer of a few hundred tokens is longer."""


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of an answer."""

    name: str
    arguments: str
    """As text; the JSON of it where the server sent a table."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What of a completion the checks look at."""

    content: str = ""
    reasoning: str = ""
    """Of the field reasoning_content (SGLang, older vLLM) or reasoning (vLLM)."""
    calls: tuple[Call, ...] = ()
    tokens: int | None = None
    finish: str | None = None
    elapsed_s: float = 0.0

    @property
    def is_cut(self) -> bool:
        """It ended at max_tokens."""
        return self.finish == "length"

    @property
    def is_empty(self) -> bool:
        """Nothing came."""
        return self.tokens == 0 or not (self.content.strip() or self.reasoning.strip() or self.calls)

    @property
    def text(self) -> str:
        """All that it said."""
        return f"{self.reasoning}\n{self.content}".strip()


def read_answer(document: object, elapsed_s: float) -> Answer | None:
    """A whole reply of /v1/chat/completions or /v1/completions; None for what is none."""
    reply = as_dict(document)
    choices = as_list(reply.get("choices"))
    if not choices:
        return None
    choice = as_dict(choices[0])
    message = as_dict(choice.get("message"))
    return Answer(
        content=(as_text(message.get("content")) or as_text(choice.get("text")) or "")[:MOST_CHARS],
        reasoning=_reasoning(message)[:MOST_CHARS],
        calls=tuple(_call(call) for call in as_list(message.get("tool_calls"))[:64]),
        tokens=_tokens(reply),
        finish=as_text(choice.get("finish_reason")),
        elapsed_s=elapsed_s,
    )


@dataclass
class StreamedAnswer:
    """A completion that comes piece by piece."""

    content: str = ""
    reasoning: str = ""
    pieces: int = 0
    """Pieces with text; at least as many tokens were made."""
    tokens: int | None = None
    finish: str | None = None
    is_over: bool = False
    trouble: str | None = None
    """What the server said instead of a piece."""
    _length: int = field(default=0, repr=False)

    def take(self, data: bytes) -> None:
        """The data of one event."""
        if data == b"[DONE]":
            self.is_over = True
            return
        try:
            document = as_dict(json.loads(data))
        except (ValueError, RecursionError):
            return
        if "error" in document:
            error = document["error"]
            self.trouble = as_text(as_dict(error).get("message")) or as_text(error) or "an error"
        self.tokens = _tokens(document) or self.tokens
        choices = as_list(document.get("choices"))
        choice = as_dict(choices[0]) if choices else {}
        delta = as_dict(choice.get("delta"))
        content, reasoning = as_text(delta.get("content")) or "", _reasoning(delta)
        if (content or reasoning) and self._length < MOST_CHARS:
            self.pieces += 1
            self._length += len(content) + len(reasoning)
            self.content += content
            self.reasoning += reasoning
        self.finish = as_text(choice.get("finish_reason")) or self.finish

    def answer(self, elapsed_s: float) -> Answer:
        """What came until now; the tokens are counted by their pieces where the server did not get to say."""
        tokens = self.pieces if self.tokens is None else self.tokens
        return Answer(self.content, self.reasoning, (), tokens, self.finish, elapsed_s)


def as_dict(value: Any) -> dict[str, Any]:
    """The table, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    """The text; None for anything else."""
    return value if isinstance(value, str) else None


def printable_line(text: str, most: int = 200) -> str:
    """One printable line: what a server says is not to be trusted."""
    return "".join(char if char.isprintable() else " " for char in text[: most * 2])[:most].strip()


def parsed_arguments(arguments: str) -> Mapping[str, Any] | None:
    """The arguments of a call; None when they are no JSON table."""
    try:
        parsed = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def first_of(text: str, marks: Sequence[str]) -> str | None:
    """The first of these marks, in their order, that stands in the text."""
    return next((mark for mark in marks if mark in text), None)


def _reasoning(message: Mapping[str, Any]) -> str:
    return as_text(message.get("reasoning_content")) or as_text(message.get("reasoning")) or ""


def _tokens(document: Mapping[str, Any]) -> int | None:
    tokens = as_dict(document.get("usage")).get("completion_tokens")
    return tokens if isinstance(tokens, int) and not isinstance(tokens, bool) and 0 <= tokens < 10**9 else None


def _call(value: object) -> Call:
    call = as_dict(value)
    function = as_dict(call.get("function"))
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return Call(as_text(function.get("name")) or "", text[:MOST_CHARS], as_text(call.get("id")))

"""The checks by name, and what each looks for in an operator's words."""

from __future__ import annotations

from collections.abc import Mapping

IDENTITY = "identity"
COMPLETION = "completion"
MODEL = "model"
NAME = "name"
KEY = "key"
REASONING = "reasoning"
LACKING = "lacking"
TOOLS = "tools"
GRAPHS = "graphs"
SPECULATION = "speculation"
CONTEXT = "context"
RANKS = "ranks"
METRICS = "metrics"
VALUE = "value"
ENVIRONMENT = "environment"

SPLITTERS = (
    "reasoning-parser",
    "tool-call-parser",
    "model-path",
    "chat-template",
    "default-chat-template-kwargs",
    "enable-strict-thinking",
    "enable-auto-tool-choice",
)
"""Flags that decide how an answer is split."""

_WORDS: Mapping[str, str] = {
    IDENTITY: "the server that was launched",
    COMPLETION: "a plain answer",
    NAME: "its name",
    KEY: "its key",
    REASONING: "reasoning apart from content",
    TOOLS: "tool calls parse",
    GRAPHS: "graphs as asked",
    SPECULATION: "speculative decoding",
    CONTEXT: "context length",
    RANKS: "number of ranks",
    METRICS: "metrics",
}


def words_of(check: str, setting: str) -> str:
    """A few words for an operator; empty for what the identity shows."""
    return f"{setting} as resolved" if check.startswith(f"{VALUE} ") else _WORDS.get(check, "")

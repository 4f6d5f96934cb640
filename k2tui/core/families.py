"""Model families by the name of their checkpoint: who thinks, and which parsers split their answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Models that answer in one format."""

    name: str
    pattern: re.Pattern[str]
    """What the last part of a model's path holds."""
    thinks: bool
    """It thinks unless a request says otherwise."""
    reasoning: Mapping[str, tuple[str, ...]]
    """Engine to reasoning parsers that split it, the best first."""
    tools: Mapping[str, tuple[str, ...]]
    """Engine to tool-call parsers that find its calls."""


def _family(
    name: str,
    pattern: str,
    *,
    thinks: bool,
    reasoning: tuple[str, str] = ("", ""),
    tools: tuple[str, str] = ("", ""),
) -> Family:
    def by_engine(words: tuple[str, str]) -> Mapping[str, tuple[str, ...]]:
        return {engine: tuple(text.split()) for engine, text in zip(("sglang", "vllm"), words, strict=True) if text}

    return Family(name, re.compile(pattern, re.IGNORECASE), thinks, by_engine(reasoning), by_engine(tools))


FAMILIES: tuple[Family, ...] = (
    _family(
        "Kimi-K2.5 or Kimi-K2-Thinking",
        r"kimi[-_.]?k2(?:[-_.]?5|\.\d|.*think)|^k25\b",
        thinks=True,
        reasoning=("kimi_k2", "kimi_k2"),
        tools=("kimi_k2", "kimi_k2"),
    ),
    _family("Kimi-K2", r"kimi[-_.]?k2", thinks=False, tools=("kimi_k2", "kimi_k2")),
    _family(
        "DeepSeek-R1",
        r"deepseek[-_.]?r1",
        thinks=True,
        reasoning=("deepseek-r1 qwen3-thinking", "deepseek_r1"),
        tools=("deepseekv3", "deepseek_v3"),
    ),
    _family(
        "Qwen3 thinking",
        r"qwen3.*thinking",
        thinks=True,
        reasoning=("qwen3 qwen3-thinking deepseek-r1", "qwen3 deepseek_r1"),
        tools=("qwen qwen25", "hermes"),
    ),
    _family("Qwen3-Coder", r"qwen3.*coder", thinks=False, tools=("qwen3_coder", "qwen3_coder qwen3_xml")),
    _family("Qwen3 embedding", r"qwen3.*(?:embed|rerank|base)", thinks=False),
    _family("Qwen3 instruct", r"qwen3.*instruct", thinks=False, tools=("qwen qwen25", "hermes")),
    _family(
        "Qwen3",
        r"qwen3[-_.]\d+(?:\.\d+)?b(?![a-z])",
        thinks=True,
        reasoning=("qwen3 qwen3-thinking", "qwen3"),
        tools=("qwen qwen25", "hermes"),
    ),
    _family("QwQ", r"\bqwq\b", thinks=True, reasoning=("deepseek-r1 qwen3", "deepseek_r1 qwen3"), tools=("qwen25", "")),
    _family(
        "GLM-4.5 and later",
        r"glm[-_.]?(?:4\.[5-9]|5)(?!.*v\b)",
        thinks=True,
        reasoning=("glm45", "glm45"),
        tools=("glm glm45 glm47", "glm45 glm47"),
    ),
)
"""The first that fits. From the parsers' own source (sglang parser/reasoning_parser.py and function_call, vLLM
reasoning and tool_parsers) and the model cards; a family whose format is not sure is not here."""


def family_of(model_path: str) -> Family | None:
    """The family that the name of this checkpoint tells; None when it tells none."""
    name = model_path.rstrip("/").rpartition("/")[2]
    return next((family for family in FAMILIES if family.pattern.search(name)), None)

"""Is reasoning apart from content? Texts in each family's marks, and what an answer shows.

The marks and what is always thought are those of SGLang 0.5.23 (parser/reasoning_parser.py); each text was given to
`/separate_reasoning` of that release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.effects.answers import Answer, first_of
from k2tui.core.effects.checks import LACKING, REASONING
from k2tui.core.verdicts import Effect, Outcome

THOUGHT = "17 times 3 is 51."
REPLY = "The answer is 51."

_PLAIN = ("<think>", "</think>")
_ALWAYS_THINK = frozenset(("deepseek-r1", "step3", "step3p5", "qwen3-thinking", "minimax", "iquest_q1", "gigachat35"))
"""Their parsers take everything before the closing mark for thought, and an answer without one as a whole."""
_THINK_TAG = frozenset(
    (
        *("deepseek-v3", "dots", "glm45", "ling3", "hunyuan", "kimi_k2", "mimo", "poolside_v1", "qwen3"),
        *("nanbeige", "nemotron_3", "granite_thinking_parser", "interns1", *_ALWAYS_THINK),
    )
)
_OTHER_MARKS: Mapping[str, tuple[str, str]] = {
    "kimi": ("◁think▷", "◁/think▷"),
    "mistral": ("[THINK]", "[/THINK]"),
    "minimax-m3": ("<mm:think>", "</mm:think>"),
    "gpt-oss": (
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    "gemma4": ("<|channel>thought\n", "<channel|>"),
}
MARKS = (
    *("<think>", "</think>", "◁think▷", "◁/think▷", "[THINK]", "[/THINK]", "<|START_THINKING|>", "<|END_THINKING|>"),
    *("<mm:think>", "</mm:think>", "<|channel|>", "<|channel>thought"),
)
"""What a parser takes out of an answer."""
THINK_OFF: Mapping[str, bool] = {"thinking": False, "enable_thinking": False}
"""chat_template_kwargs of the families that have a switch: Kimi and DeepSeek, Qwen and GLM."""
DECIDED_CHARS = 8
"""So much content after the thinking, and no mark in it, decides a stream."""


@dataclass(frozen=True, slots=True)
class GivenText:
    """A text for /separate_reasoning, and what must come apart."""

    text: str
    reasoning: str
    content: str


def given_texts(parser: str) -> tuple[GivenText, ...]:
    """What a parser is asked to take apart: with a thought, and without. Empty: its markup is not known."""
    opening, closing = _OTHER_MARKS.get(parser, _PLAIN)
    if parser not in _THINK_TAG and parser not in _OTHER_MARKS:
        return ()
    thought = GivenText(f"{opening}{THOUGHT}{closing}\n\n{REPLY}", THOUGHT, REPLY)
    if parser in _ALWAYS_THINK:
        return thought, GivenText(f"{THOUGHT}{closing}\n\n{REPLY}", THOUGHT, REPLY)
    if parser == "gpt-oss":  # every answer of it has channels
        return (thought,)
    return thought, GivenText(REPLY, "", REPLY)


def thought_of(parser: str) -> str | None:
    """A thought in this family's marks, for something to follow it; None: its markup is not known."""
    opening, closing = _OTHER_MARKS.get(parser, _PLAIN)
    return f"{opening}{THOUGHT}{closing}" if given_texts(parser) and parser != "gpt-oss" else None


def thinks_always(parser: str) -> bool:
    """There is no answer without a thought for this parser."""
    return parser in _ALWAYS_THINK


def judge_given(given: GivenText, reasoning: str, content: str) -> str | None:
    """What is wrong with what came apart; None when nothing is."""
    if (reasoning.strip(), content.strip()) == (given.reasoning, given.content):
        return None
    if given.reasoning and not reasoning.strip():
        return "the parser finds no reasoning in a text of its own family"
    if not given.reasoning and reasoning.strip():
        return "the parser takes an answer without a thought for reasoning"
    return "the parser does not take a text of its own family apart"


def is_decided(content: str, reasoning: str) -> bool:
    """A stream has shown what it can: content after the thinking, or a mark in the content."""
    after = content.strip()
    return first_of(content, MARKS) is not None or (bool(reasoning.strip()) and len(after) >= DECIDED_CHARS)


def judge_thinking(answer: Answer, where: str) -> tuple[Outcome, str]:
    """What an answer with thinking on shows; `where`: `in one piece` or `in the stream`."""
    mark = first_of(answer.content, MARKS)
    if mark is not None:
        return Outcome.NOT_PROVED, f"thinking stands in content {where} ({mark}), not apart in reasoning_content"
    if answer.reasoning.strip():
        if answer.is_cut and not answer.content.strip():
            return Outcome.PROVED, f"{where}, cut at {answer.tokens} tokens before the answer began"
        return Outcome.PROVED, where
    if answer.is_cut:
        return Outcome.NOT_PROVED, f"{answer.tokens} tokens went into content {where} and none into reasoning_content"
    return Outcome.CANNOT, f"the model did not think {where}"


def judge_unparsed(answer: Answer) -> Effect | None:
    """What a server without a reasoning parser lacks, by an answer as its clients get it; None: nothing is seen."""
    mark = first_of(answer.content, MARKS)
    if mark is None:
        return None
    text = f"thinking stands in content ({mark}): it was started without --reasoning-parser"
    return Effect(LACKING, Outcome.CANNOT, text)


def judge_silent(answer: Answer, parser: str) -> tuple[Outcome, str]:
    """What an answer with thinking off shows."""
    mark = first_of(answer.content, MARKS)
    if mark is not None:
        return Outcome.NOT_PROVED, f"with thinking off a mark is left in content ({mark})"
    if answer.content.strip() or answer.calls:
        return Outcome.PROVED, "none left in content with thinking off"
    if thinks_always(parser):
        return Outcome.CANNOT, f"{parser} takes what comes with thinking off for reasoning as well"
    if answer.reasoning.strip() and not answer.is_cut:
        return Outcome.NOT_PROVED, "with thinking off the whole answer stands in reasoning_content"
    return Outcome.CANNOT, "with thinking off the model thought all the same"


def joined(thinking: Sequence[tuple[Outcome, str]], silent: tuple[Outcome, str], setting: str | None) -> Effect:
    """One effect out of the answers with thinking on, and of the one with thinking off."""
    every = [*thinking, silent]
    missing = [text for outcome, text in every if outcome is Outcome.NOT_PROVED]
    if missing:
        return Effect(REASONING, Outcome.NOT_PROVED, "; ".join(dict.fromkeys(missing)), setting)
    shown = [text for outcome, text in thinking if outcome is Outcome.PROVED]
    unknown = [text for outcome, text in every if outcome is Outcome.CANNOT]
    if not shown:
        words = "; ".join(unknown) or "the model did not think"
        return Effect(REASONING, Outcome.CANNOT, f"could not tell about reasoning: {words}", setting)
    more = [silent[1]] if silent[0] is Outcome.PROVED else []
    text = "; ".join((f"reasoning apart from content {' and '.join(shown)}", *more, *unknown))
    return Effect(REASONING, Outcome.PROVED, text, setting)

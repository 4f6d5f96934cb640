"""Is a completion an answer, or only tokens? Simple rules, each of which can be said in a sentence."""

from __future__ import annotations

import re

from k2tui.core.effects.answers import Answer
from k2tui.core.effects.checks import COMPLETION
from k2tui.core.verdicts import Effect, Outcome

PROMPT = "What is 17 times 3? Answer in one short sentence."
_SPEAKS_OF_IT = re.compile(r"(?<!\d)(?:51|17)(?!\d)|fifty|seventeen|times|multipl|五十一", re.IGNORECASE)
_ORDINARY = frozenset(
    (
        *("the", "a", "an", "is", "are", "was", "of", "to", "and", "in", "it", "i"),
        *("you", "this", "that", "so", "what", "user", "question", "answer", "asks", "asking", "okay", "sure"),
        *("let", "me", "be", "for", "with", "need", "should", "short", "sentence", "one", "here", "can"),
        *("will", "just", "simple", "math"),
    )
)
_WORD = re.compile(r"[A-Za-z']+")
ORDINARY_SHARE = 0.25
"""Of the words of an English sentence far more are among the ordinary ones; of words by chance hardly any."""
FEWEST_WORDS = 6
LONG_ENOUGH = 8
"""Characters; less shows no repetition."""
REPEATED_MOST = 12
"""Characters of the piece that is said over and over."""
REPEATED_OFTEN = 4
BROKEN_SHARE = 0.05


def judge_completion(answer: Answer) -> Effect:
    """Proved: it speaks of the question, or reads like a sentence. Not proved: nothing, or the same over and over, or
    characters that are none. Neither: it can't be told from a model with random weights."""
    broken = broken_by(answer)
    if broken is not None:
        return Effect(COMPLETION, Outcome.NOT_PROVED, broken)
    count = "an answer" if answer.tokens is None else f"{answer.tokens} token{'s' if answer.tokens != 1 else ''}"
    came = f"{count} in {answer.elapsed_s:.1f} s"
    if answer.calls or speaks(answer.text):
        return Effect(COMPLETION, Outcome.PROVED, came)
    text = f"{came}, but they say nothing of the question: they look like random tokens"
    return Effect(COMPLETION, Outcome.CANNOT, text)


def broken_by(answer: Answer) -> str | None:
    """Why this can't be what the model means to say; None when it can."""
    if answer.is_empty:
        return "the completion came back empty"
    text = answer.text
    seen = "".join(text.split())
    if seen.rstrip("\ufffd").count("\ufffd") > BROKEN_SHARE * len(seen):  # the last one may be cut in its middle
        return "the completion is full of characters that are none: broken output"
    if len(seen) >= LONG_ENOUGH:
        if len(set(seen)) == 1:
            return f"the completion repeats one character ({seen[0]}): its numbers are not numbers"
        piece = _repeated(seen)
        if piece is not None:
            return f"the completion repeats {piece!r} over and over"
    return None


def speaks(text: str) -> bool:
    """It names what was asked for, or a good part of its words are ordinary English ones."""
    if _SPEAKS_OF_IT.search(text):
        return True
    words = [word.lower() for word in _WORD.findall(text)]
    ordinary = sum(word in _ORDINARY for word in words)
    return len(words) >= FEWEST_WORDS and ordinary >= ORDINARY_SHARE * len(words)


def _repeated(text: str) -> str | None:
    """The piece that the whole text is made of, at least four times; a last one may be cut."""
    for size in range(2, REPEATED_MOST + 1):
        piece = text[:size]
        if len(text) >= REPEATED_OFTEN * size and (piece * (len(text) // size + 1)).startswith(text):
            return piece
    return None

"""What a benchmark came to, in one sentence of the last line. Pure."""

from __future__ import annotations

from k2tui.core.benching.comparison import Answer, Comparison
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.words import best_of_several, gate_words, headline, interval_words

_ANSWER_ROLE = {
    Answer.FASTER: "good",
    Answer.SLOWER: "warning",
    Answer.SAME: "text",
    Answer.INCONCLUSIVE: "text",
    Answer.NONE: "warning",
}


def outcome(result: BenchResult) -> tuple[str, str]:
    """`kimi: 90.0 tok/s of one stream ±0.4 (95 % over 3 requests), every gate ok`, and the role of it."""
    figure = headline(result)
    interval = interval_words(result)
    several = best_of_several(result)
    parts = (f"{figure} {interval}" if interval is not None else figure, *(() if several is None else (several,)))
    measured = "; ".join(parts)
    if result.error is not None:
        so_far = "" if result.headline is None else f"; until then {measured}"
        return f"{result.subject}: the benchmark failed: {result.error}{so_far}", "bad"
    gates = gate_words(result.gates)
    is_red = any(gate.ok is False for gate in result.gates)
    said = f"not valid: {gates}" if is_red else gates
    return f"{result.subject}: {measured}, {said}", "warning" if is_red or not result.valid else "good"


def difference(before: BenchResult, after: BenchResult, comparison: Comparison) -> tuple[str, str]:
    """`kimi: 90.0 tok/s of one stream, 63.6 before the try: faster …`, and the role of it."""
    old = "no figure" if before.decode_tps is None else f"{before.decode_tps:.1f}"
    text = f"{after.subject}: {headline(after)}, {old} before the try"
    for result, whose in ((after, "this figure"), (before, "the one before")):
        if not result.valid:  # a verdict would speak of A and B, which nobody chose here
            why = result.error if result.error is not None else gate_words(result.gates)
            return f"{text}; not compared, {whose} is not valid: {why}", answer_role(Answer.NONE)
    text = f"{text}: {comparison.sentence}"
    return text, answer_role(comparison.answer)


def answer_role(answer: Answer) -> str:
    """How a verdict is drawn."""
    return _ANSWER_ROLE[answer]

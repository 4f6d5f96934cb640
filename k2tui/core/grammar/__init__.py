"""Log lines to facts. A format is known in exactly one place: a row of one of the tables."""

from __future__ import annotations

from collections.abc import Iterator

from k2tui.core.facts import LaunchFact, Line
from k2tui.core.grammar import bars, beats, common, remarks, sglang, tracebacks, vllm
from k2tui.core.grammar.gate import gate
from k2tui.core.grammar.prefix import parse_line
from k2tui.core.grammar.rule import REQUEST_LOGS, Rule

RULES: tuple[Rule, ...] = (*sglang.RULES, *vllm.RULES, *common.RULES, *remarks.RULES)
"""Every rule of every engine: a new row here is all that a new line needs."""

WORDS: tuple[str, ...] = (*(rule.word for rule in RULES), *bars.WORDS, *beats.WORDS, *tracebacks.WORDS)

GATE = gate(WORDS)
"""Finds the lines that any rule may know; the others cost this one search."""


def read_facts(line: Line) -> Iterator[tuple[LaunchFact, str | None]]:
    """Every fact that the line states, each with the engine whose line it is (None: any)."""
    message = line.message
    if message.startswith(REQUEST_LOGS):
        return
    if "%" in message and "|" in message:
        for bar in bars.read_bars(line):
            yield bar, None
    for rule in RULES:
        if rule.word in message:
            fact = rule.read(line)
            if fact is not None:
                yield fact, rule.engine
    if any(word in message for word in beats.WORDS):
        beat = beats.read_beat(line)
        if beat is not None:
            yield beat, beats.ENGINES.get(beat.kind)


def read_line(line: Line | str) -> LaunchFact | None:
    """The first fact that the line states; None for a line that nobody knows, whatever it holds."""
    if isinstance(line, str):
        line = parse_line(line)
    return next((fact for fact, _ in read_facts(line)), None)

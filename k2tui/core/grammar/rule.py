"""A log rule: a word, and what to do with a line that holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from k2tui.core.facts import LaunchFact, Line, PhaseReached
from k2tui.core.launch import LaunchPhase

Reader = Callable[[Line], LaunchFact | None]

REQUEST_LOGS = (
    "Receive: ",
    "Receive OpenAI: ",
    "Finish: ",
    '{"timestamp": "',
    "Received request ",
    "Added request ",
    "Generated response ",
)
"""What stands in front of users' own words, which may look like anything."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a table."""

    word: str
    """What must be in the line; with a capital, a digit or a sign in it, which makes the search for it cheap."""
    read: Reader
    engine: str | None = None
    """Whose line it is; None for lines that any Python server prints."""


def says(fact: LaunchFact) -> Reader:
    """A rule whose word says it all."""

    def read(line: Line) -> LaunchFact:
        return replace(fact, line=line)

    return read


def opens(word: str, fact: LaunchFact) -> Reader:
    """A rule whose word counts at the head of a message only: users may write it elsewhere."""

    def read(line: Line) -> LaunchFact | None:
        return replace(fact, line=line) if line.message.lstrip().startswith(word) else None

    return read


def reaches(phase: LaunchPhase) -> Reader:
    """A marker of a phase."""

    def read(line: Line) -> LaunchFact:
        return PhaseReached(phase, line=line)

    return read

"""One log line in its parts, for colours and filters: when, which rank, how bad."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from k2tui.core.facts import Line

LEVELS = ("all", "warnings", "errors")

_LEVEL_OF = {"WARNING": 1, "ERROR": 2, "CRITICAL": 2}
_BAD = re.compile(
    r"\bTraceback \(most|\b[A-Za-z.]*(?:Error|Exception)(?=:|$)|out of memory|SIGQUIT|\b(?:ERROR|FATAL|Killed)\b"
)
_DOUBTFUL = re.compile(r"\b[A-Za-z]*Warning:|\bWARNING\b")


@dataclass(frozen=True, slots=True)
class LineParts:
    """What stands in front of a line, and how bad it is."""

    time: str | None
    """HH:MM:SS; None where the line has none."""
    rank: str | None
    level: int
    """0 said in passing, 1 a warning, 2 an error."""
    message: str


def parts_of(text: str) -> LineParts:
    """The parts of a line; a line in no known format is all message."""
    line = parsed(text)
    level = _LEVEL_OF.get(line.level or "", 0)
    if level < 2 and _BAD.search(line.message):
        level = 2
    elif not level and _DOUBTFUL.search(line.message):
        level = 1
    time = None if line.stamp is None else line.stamp.partition(" ")[2][:8]
    return LineParts(time, line.rank, level, line.message)


def parsed(text: str) -> Line:
    """The line by the grammar's own reader of prefixes."""
    return _parser()(text)


def is_noise(message: str) -> bool:
    """The line is known to be harmless, whatever its words sound like."""
    return _noise()(message)


@cache
def _parser() -> Callable[[str], Line]:
    """Its tables are built when the first line is drawn, not before."""
    from k2tui.core.grammar.prefix import parse_line  # noqa: PLC0415  keeps the first paint cheap

    return parse_line


@cache
def _noise() -> Callable[[str], bool]:
    from k2tui.core.grammar import noise  # noqa: PLC0415  keeps the first paint cheap

    return noise.is_noise

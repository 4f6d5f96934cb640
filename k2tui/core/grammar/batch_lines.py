"""The batch lines and statistics of a long log, the newest of each ten seconds: many lines in little time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from k2tui.core.facts import Beat, BeatKind, Line
from k2tui.core.grammar.beats import HEAD, read_beat
from k2tui.core.grammar.prefix import pieces
from k2tui.core.grammar.wrapping import Wrapping

_STAMP = re.compile(r"(?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d")
"""A logger's time stamp up to its tens of seconds."""
_STAMP_WITHIN = 120
_WORDS = ("Decode batch", "Prefill batch", "Avg prompt throughput")
_KINDS = frozenset((2, 4, 7, 8))
"""Groups of HEAD: decode, prefill that is no health check's, statistics."""
_BATCHES = frozenset((BeatKind.DECODE, BeatKind.PREFILL, BeatKind.STATS))
_ENGINE = re.compile(r"Engine (\d+): ")
_LONGEST = 2000
"""A batch line is shorter than this; what is longer holds users' words."""


def batch_beats(lines: Iterable[str]) -> Iterator[tuple[str, str, Beat]]:
    """(stamp as printed, data-parallel rank or an empty name, heartbeat); of each rank the newest in ten seconds.

    Lines are whole and plain, in the order of the log.
    """
    head, stamp = HEAD.match, _STAMP.search
    newest: dict[tuple[str, str | None, int | None], str] = {}
    for text in lines:
        if len(text) > _LONGEST:
            continue
        found = head(text)
        if found is not None:
            kind = found.lastindex
            if kind in _KINDS and (when := stamp(text, 0, _STAMP_WITHIN)) is not None:
                newest[when[0], found[1] if kind in (2, 4) else text[when.end() : when.end() + 60], kind] = text
        elif any(word in text for word in _WORDS) and (when := stamp(text)) is not None:
            newest[when[0], text[: when.start()], text.find("Decode batch")] = text
    wrapping = Wrapping()
    for text in newest.values():
        for inner, _ in wrapping.inside(text):
            for line in pieces(inner):
                beat = read_beat(line) if line.stamp is not None else None
                if beat is not None and beat.kind in _BATCHES and not beat.probe and line.stamp is not None:
                    yield line.stamp, _replica(line), beat


def _replica(line: Line) -> str:
    """Which data-parallel replica speaks, where several do."""
    for word in (line.rank or "").split():
        if word.startswith("DP"):
            return word
    found = _ENGINE.match(line.message)
    return "" if found is None else found[1]

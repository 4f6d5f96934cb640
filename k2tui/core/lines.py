"""Bytes in, whole lines out."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
"""Terminal escapes (CSI, OSC, two-byte), control characters, and marks that turn the reading direction."""

_HEAD_CHARS = 48 * 1024
_TAIL_CHARS = 16 * 1024
LINE_LIMIT = _HEAD_CHARS + _TAIL_CHARS
"""A longer line (token dumps, binary rubbish) keeps its head and its tail; the characters between are counted."""

_NOT_PLAIN = bytes(code for code in (*range(32), 127) if code != 0x0A)
"""ASCII bytes that a line can't show as they are; a newline parts lines."""


def plain(text: str) -> str:
    """The line without terminal escapes and control characters, tabs expanded."""
    if text.isprintable():
        return text
    return _ESCAPES.sub("", text).expandtabs(8)


class Batch(NamedTuple):
    """What one piece of a log gave."""

    lines: list[str]
    """Finished lines as they look: of a redrawn line, the last thing that was drawn."""
    redraws: dict[int, list[str]]
    """For a line of this batch that was redrawn: what it showed in turn, without what `open_redraws` gave before."""
    open_redraws: list[str]
    """What the unfinished line showed and lost again within this piece."""


class LineSplitter:
    """Any pieces of a log to lines; how the bytes are cut makes no difference.

    Only `\\n` ends a line (line numbers count those). `\\r` starts the line's text anew, as on a terminal.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._held = 0
        self._head = ""
        self._lost = 0
        self._shown = ""

    @property
    def open_line(self) -> str:
        """The unfinished last line as it looks now."""
        return self._segment() or self._shown

    @property
    def open_text(self) -> str:
        """What was drawn since the last `\\r` of the unfinished line."""
        return self._segment()

    def feed(self, data: bytes) -> list[str]:
        """The lines that `data` finished, as they look."""
        return self.cut(data).lines

    def flush(self) -> list[str]:
        """The unfinished line, when there is one: nothing more will come."""
        self._extend(self._decoder.decode(b"", final=True))
        last = self._close()
        return [last] if last else []

    def cut(self, data: bytes) -> Batch:
        """The lines that `data` finished, and what redrawn ones showed before."""
        ascii_only = data.isascii() and not self._decoder.getstate()[0]
        text = data.decode("ascii") if ascii_only else self._decoder.decode(data)
        lines = text.split("\n")
        last = lines.pop()
        redraws: dict[int, list[str]] = {}
        if not lines:
            return Batch([], redraws, self._extend(last))
        shown: list[str] = self._extend(lines[0])
        first = self._close()
        if shown:
            redraws[0] = [*shown, first]
        if not ascii_only or len(data.translate(None, _NOT_PLAIN)) != len(data):
            self._make_plain(lines, redraws)
        elif max(map(len, lines)) > LINE_LIMIT:
            lines = [_capped(line) for line in lines]
        lines[0] = first
        return Batch(lines, redraws, self._extend(last))

    def _make_plain(self, lines: list[str], redraws: dict[int, list[str]]) -> None:
        for index in range(1, len(lines)):
            line = lines[index]
            if line.isprintable() and len(line) <= LINE_LIMIT:
                continue
            if "\r" not in line:
                lines[index] = _capped(line)
                continue
            seen = [_capped(part) for part in line.split("\r")]
            drawn = [part for part in seen if part.strip()]
            lines[index] = drawn[-1] if drawn else seen[-1]
            if len(drawn) > 1:
                redraws[index] = drawn

    def _extend(self, text: str) -> list[str]:
        """Adds to the unfinished line; gives what was drawn and wiped by a `\\r` in it."""
        if "\r" not in text:
            self._hold(text)
            return []
        wiped: list[str] = []
        pieces = text.split("\r")
        self._hold(pieces[0])
        for piece in pieces[1:]:
            seen = self._segment()
            if seen.strip():
                wiped.append(seen)
                self._shown = seen
            self._forget()
            self._hold(piece)
        return wiped

    def _hold(self, text: str) -> None:
        if not text:
            return
        self._parts.append(text)
        self._held += len(text)
        if self._held > 2 * LINE_LIMIT:
            whole = "".join(self._parts)
            if not self._head:
                self._head, whole = whole[:_HEAD_CHARS], whole[_HEAD_CHARS:]
            self._lost += len(whole) - _TAIL_CHARS
            self._parts = [whole[-_TAIL_CHARS:]]
            self._held = _TAIL_CHARS

    def _segment(self) -> str:
        if not self._parts:
            return ""
        text = "".join(self._parts)
        self._parts = [text]
        if self._head:
            return _joined(self._head, self._lost + len(text) - _TAIL_CHARS, text[-_TAIL_CHARS:])
        return _capped(text)

    def _forget(self) -> None:
        self._parts, self._held, self._head, self._lost = [], 0, "", 0

    def _close(self) -> str:
        """The unfinished line is finished; gives how it looks."""
        seen = self._segment()
        if self._shown and not seen.strip():
            seen = self._shown
        self._forget()
        self._shown = ""
        return seen


def _capped(text: str) -> str:
    if len(text) <= LINE_LIMIT:
        return plain(text)
    return _joined(text[:_HEAD_CHARS], len(text) - LINE_LIMIT, text[-_TAIL_CHARS:])


def _joined(head: str, lost: int, tail: str) -> str:
    return f"{plain(head)} … {lost:,} characters left out … {plain(tail)}"

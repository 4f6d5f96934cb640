"""How plain commands speak: text for people, JSON for programs, errors in the same way everywhere."""

from __future__ import annotations

import errno
import json
import select
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from k2tui.core.errors import ConfigErrors, ExitCode, K2Error
from k2tui.core.lines import plain
from k2tui.core.secrets import mask


class Output:
    """Where a command's answer goes. What came from a node is made plain and masked before it leaves."""

    def __init__(self, *, as_json: bool, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.as_json = as_json
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self.is_terminal = self._out.isatty()
        self._live = False

    def json(self, value: object) -> None:
        """One document, or one event, on a line of its own."""
        value = masked_json(value)
        text = json.dumps(value, ensure_ascii=False)
        self._write((text if self._can_say(text) else json.dumps(value)) + "\n")

    def line(self, text: str) -> None:
        """One line of text; a live line before it is ended first."""
        self._end_live()
        self._write(safe(text) + "\n")

    def live(self, text: str) -> None:
        """A line that the next one overwrites; only on a terminal."""
        if self.is_terminal:
            self._write(f"\r\x1b[K{safe(text)}")
            self._live = True

    def aside(self, text: str) -> None:
        """Something to know that is not part of the answer."""
        self._end_live()
        if self.as_json:
            self.json({"type": "note", "text": safe(text)})
        else:
            self._err.write(f"k2tui: {safe(text)}\n")
            self._err.flush()

    def want_reader(self) -> None:
        """Raise BrokenPipeError when nobody reads any more, as after tmux has ended.

        What watches and has nothing new to say would never find out by writing.
        """
        try:
            handle = self._out.fileno()
        except (OSError, ValueError):  # no file: a test, or closed
            return
        poller = select.poll()
        poller.register(handle, 0)
        if any(state & (select.POLLERR | select.POLLHUP) for _, state in poller.poll(0)):
            raise BrokenPipeError(errno.EPIPE, "nobody reads")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as their widest cell."""
        cells = [list(head), *([safe(cell) for cell in row] for row in rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(head))]
        for row in cells:
            self.line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())

    def error(self, error: K2Error) -> int:
        """Say what went wrong; the exit code is the answer."""
        self._end_live()
        if self.as_json:
            self.json(error_json(error))
        elif isinstance(error, ConfigErrors):
            self._err.write("".join(f"{safe(line)}\n" for line in error.lines))
        else:
            self._err.write(f"k2tui: {safe(str(error))}\n")
        return int(error.exit_code)

    def interrupted(self) -> int:
        """ctrl+c: what runs on the node runs on."""
        self._end_live()
        if self.as_json:
            self.json({"type": "error", "code": "interrupted", "message": "interrupted", "subject": None, "hint": None})
        else:
            self._err.write("k2tui: interrupted; what runs on the node runs on\n")
        return int(ExitCode.INTERRUPTED)

    def _end_live(self) -> None:
        if self._live:
            self._write("\n")
            self._live = False

    def _write(self, text: str) -> None:
        if not self._can_say(text):  # a terminal that is not UTF-8, or a word that is no text
            encoding = self._encoding()
            text = text.encode(encoding, "backslashreplace").decode(encoding)
        self._out.write(text)
        self._out.flush()

    def _can_say(self, text: str) -> bool:
        try:
            text.encode(self._encoding())
        except UnicodeEncodeError:
            return False
        return True

    def _encoding(self) -> str:
        return self._out.encoding or "utf-8"


def safe(text: str) -> str:
    """Text that may reach a terminal: no escapes, no secrets."""
    return mask(plain(text))


def masked_json(value: object) -> object:
    """The same document with the secrets in its texts masked."""
    match value:
        case str():
            return mask(value)
        case Mapping():
            return {key: masked_json(item) for key, item in value.items()}
        case list() | tuple():
            return [masked_json(item) for item in value]
    return value


def error_json(error: K2Error) -> dict[str, object]:
    """An error for programs."""
    return {
        "type": "error",
        "code": error.code,
        "message": error.message,
        "subject": error.subject,
        "hint": error.hint,
    }

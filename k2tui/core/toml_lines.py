"""On which line of a TOML text each key stands; the parsers of the standard library do not say."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from contextlib import suppress

KeyPath = tuple[str, ...]
Locate = Callable[[KeyPath], int | None]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACES = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = re.compile(
    r'"""(?:[^\\]|\\[\s\S])*?"""(?:"{0,2})'
    r"|'''[\s\S]*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'"
)
_SCALAR = re.compile(r"""[^,\]}\n#"'][^,\]}\n#]*""")
_BROKEN_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_KEY_GUESS = re.compile(r"""\s*([A-Za-z0-9_."'-]+(?:\s+[A-Za-z0-9_."'-]+)*?)\s*=""")
_TABLE_GUESS = re.compile(r"^[ \t]*\[\[?[ \t]*([^\]\n=]+?)[ \t]*\]", re.MULTILINE)


def key_lines(text: str) -> Locate:
    """A function from a key's path to its line, from 1, for a text that a TOML parser accepted.

    Elements of arrays have their index as last part. A path that is not written there is found by the table it is in.
    """
    lines: dict[KeyPath, int] = {}
    scanner = _Scanner(text, lines)
    with suppress(_NotTomlError, RecursionError):  # what was found so far is right; the parser judges the text
        scanner.document()

    def locate(path: KeyPath) -> int | None:
        for length in range(len(path), 0, -1):
            if path[:length] in lines:
                return lines[path[:length]]
        return None

    return locate


def broken_place(text: str, message: str) -> tuple[int, int | None, str | None]:
    """(line, column or None, dotted key or None) of a parser's complaint, as far as it and the text say it."""
    found = _BROKEN_AT.search(message)
    line = int(found[1]) if found else _last_line_read(text)
    column = int(found[2]) if found else None
    row = text.split("\n")[line - 1] if line <= text.count("\n") + 1 else ""
    key = _KEY_GUESS.match(row)
    before = "\n".join(text.split("\n")[: line if key is None else line - 1])
    tables = _TABLE_GUESS.findall(before)
    parts = [*tables[-1:], *([key[1]] if key else [])]
    return line, column, ".".join(parts) or None


def _last_line_read(text: str) -> int:
    """Where a string or list begins that never ends; the parser only says that it does not end."""
    scanner = _Scanner(text, {})
    with suppress(_NotTomlError, RecursionError):
        scanner.document()
    return scanner.line


def dotted(path: KeyPath) -> str:
    """A key as one writes it: `servers.kimi.node`, quoted where it must be."""
    return ".".join(part if _BARE_KEY.fullmatch(part) else toml_string(part) for part in path)


def toml_string(text: str) -> str:
    """Text between double quotes, escaped as TOML wants it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


class _NotTomlError(Exception):
    """The scanner lost its way."""


class _Scanner:
    def __init__(self, text: str, lines: dict[KeyPath, int]) -> None:
        self._text = text
        self._at = 0
        self._ends = [at for at, char in enumerate(text) if char == "\n"]
        self._lines = lines
        self._elements: dict[KeyPath, int] = {}

    def document(self) -> None:
        table: KeyPath = ()
        while self._skip(_BLANK) < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> KeyPath:
        line = self.line
        many = self._text.startswith("[[", self._at)
        self._at += 2 if many else 1
        path: KeyPath = ()
        keys = self._key()
        for place, part in enumerate(keys):
            path = (*path, part)
            self._lines.setdefault(path, line)
            if many and place == len(keys) - 1:
                self._elements[path] = self._elements.get(path, -1) + 1
            if path in self._elements:
                path = (*path, str(self._elements[path]))
                self._lines.setdefault(path, line)
        self._expect("]]" if many else "]")
        return path

    def _pair(self, table: KeyPath) -> None:
        line = self.line
        path = table
        for part in self._key():
            path = (*path, part)
            self._lines.setdefault(path, line)
        self._expect("=")
        self._value(path)

    def _key(self) -> KeyPath:
        parts: list[str] = []
        while True:
            self._skip(_SPACES)
            if found := _BARE_KEY.match(self._text, self._at):
                parts.append(found[0])
            elif found := _STRINGS.match(self._text, self._at):
                parts.append(_unquoted(found[0]))
            else:
                raise _NotTomlError
            self._at = found.end()
            self._skip(_SPACES)
            if self._peek() != ".":
                return tuple(parts)
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACES)
        char = self._peek()
        if char == "{":
            self._group("}", lambda index: self._pair(path))
        elif char == "[":
            self._group("]", lambda index: self._element((*path, str(index))))
        else:
            found = _STRINGS.match(self._text, self._at) or _SCALAR.match(self._text, self._at)
            if found is None:
                raise _NotTomlError
            self._at = found.end()

    def _element(self, path: KeyPath) -> None:
        self._lines.setdefault(path, self.line)
        self._value(path)

    def _group(self, end: str, item: Callable[[int], None]) -> None:
        self._at += 1
        index = 0
        while self._skip(_BLANK) < len(self._text) and self._peek() != end:
            item(index)
            index += 1
            self._skip(_BLANK)
            if self._peek() == ",":
                self._at += 1
        self._expect(end)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._at

    def _expect(self, text: str) -> None:
        self._skip(_SPACES)
        if not self._text.startswith(text, self._at):
            raise _NotTomlError
        self._at += len(text)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    @property
    def line(self) -> int:
        """The line that it has come to, from 1."""
        return bisect_left(self._ends, self._at) + 1


def _unquoted(key: str) -> str:
    """A quoted key's text."""
    if key.startswith("'"):
        return key[1:-1]
    try:
        return str(json.loads(key))
    except ValueError:  # \U and \e are TOML's own
        return re.sub(r"\\U([0-9A-Fa-f]{8})", lambda found: chr(int(found[1], 16)), key[1:-1])

"""What is wrong with a config: collected, so that an operator sees all of it in one run, a line each."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from datetime import date, time
from typing import Any

from k2tui.core.config_checks import ListOf, Reader, UnfitError
from k2tui.core.errors import ConfigErrors
from k2tui.core.secrets import MASK, is_secret_name, mask
from k2tui.core.toml_lines import KeyPath, Locate, dotted

_SHOWN = 60
"""Characters of a value that an error shows."""
_WORDS = 24
"""Names that an error lists before it stops."""


Schema = Mapping[str, Reader | ListOf]


class Findings:
    """The errors of one config."""

    def __init__(self, path: str, locate: Locate) -> None:
        self._path = path
        self._locate = locate
        self._found: list[tuple[int, int, KeyPath, str]] = []

    def add(self, key: KeyPath, found: str, expected: str, *, meant: str | None = None) -> None:
        """One error: what stands there, what should, and the nearest right word if there is one."""
        line = self._locate(key)
        sentence = error_line(self._path, line, dotted(key), found, expected, meant)
        self._found.append((line or 0, len(self._found), key, sentence))

    def unknown(self, key: KeyPath, value: str, known: Collection[str], kind: str) -> None:
        """A name that is not one of the known."""
        self.add(key, shown(key, value), f"{kind}{listed(known)}", meant=nearest(value, known))

    def dangling(self, key: KeyPath, wanted: str, known: Collection[str] | None, kind: str) -> None:
        """Check that a name leads to a table; `known` is None where that can't be told."""
        if known is None or wanted in known:
            return
        if known:
            self.unknown(key, wanted, known, f"the name of a {kind}")
        else:
            self.add(key, shown(key, wanted), f"the name of a {kind}: the file has no [{kind}s.{wanted}]")

    def unknown_key(self, key: KeyPath, value: object, known: Iterable[str]) -> None:
        """A key that nothing reads."""
        names = list(known)
        expected = f"another key here: {', '.join(names)}"
        self.add(key, f"an unknown key (= {shown(key, value)})", expected, meant=nearest(key[-1], names))

    def read(self, key: KeyPath, value: object, reader: Reader | ListOf) -> Any:
        """The value as a setting; None after an error was added."""
        if isinstance(reader, ListOf):
            return self._read_list(key, value, reader)
        try:
            return reader(value)
        except UnfitError as error:
            at, piece = (*key, *error.below), _below(value, error.below)
            meant = nearest(str(piece), error.words) if error.words else None
            self.add(at, error.found or shown(at, piece), error.expected, meant=meant)
            return None

    def _read_list(self, key: KeyPath, value: object, reader: ListOf) -> tuple[Any, ...] | None:
        if not isinstance(value, list):
            self.add(key, shown(key, value), f"a list, such as {reader.example}")
            return None
        before = len(self._found)
        items = tuple(self.read((*key, str(index)), item, reader.item) for index, item in enumerate(value))
        return items if len(self._found) == before else None

    def table(
        self, key: KeyPath, value: object, schema: Schema, reserved: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """The right values of a table; wrong ones, unknown and reserved keys are added as errors."""
        right: dict[str, Any] = {}
        for name, item in self.entries(key, value).items():
            at = (*key, name)
            if reserved and name in reserved:
                self.add(at, shown(at, item), reserved[name])
            elif name not in schema:
                self.unknown_key(at, item, schema)
            elif (setting := self.read(at, item, schema[name])) is not None:
                right[name] = setting
        return right

    def entries(self, key: KeyPath, value: object) -> Mapping[str, object]:
        """The value as a table; an empty one after an error was added."""
        if isinstance(value, dict):
            return value
        self.add(key, shown(key, value), f"a table: [{dotted(key)}]")
        return {}

    def touches(self, key: KeyPath) -> bool:
        """True when something at or below this key is wrong."""
        return any(found[: len(key)] == key for _, _, found, _ in self._found)

    def raise_if_any(self) -> None:
        """All errors at once, in the order of the file."""
        if self._found:
            raise ConfigErrors(tuple(sentence for _, _, _, sentence in sorted(self._found)), subject=self._path)


def error_line(
    path: str, line: int | None, key: str | None, found: str, expected: str, meant: str | None = None
) -> str:
    """`FILE, line N, KEY: found VALUE, expected ...; did you mean K?`, on one line whatever it holds."""
    place = ", ".join([path, *([f"line {line}"] if line else []), *([key] if key else [])])
    ending = f"; did you mean {meant}?" if meant else ""
    return _printable(f"{place}: found {found}, expected {expected}{ending}")


def shown(key: KeyPath, value: object) -> str:
    """A value as an error shows it: short, on one line, secrets masked."""
    if isinstance(value, Mapping):
        return "a table"
    name = next((part for part in reversed(key) if not part.isdigit()), "")
    if isinstance(value, (str, int, float)) and key != ("keys",) and is_secret_name(name):
        return MASK
    if isinstance(value, (date, time)):
        text = f"the date {value.isoformat()}"
    elif isinstance(value, float):
        text = str(value)
    else:
        text = json.dumps(value, ensure_ascii=False, default=str)
    text = mask(text)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def listed(names: Collection[str]) -> str:
    """The names in brackets, with a blank in front; nothing when there are none."""
    known = list(names)
    return f" ({', '.join(known[:_WORDS])}{', ...' if len(known) > _WORDS else ''})" if known else ""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415  a config without errors does not pay for it

    close = get_close_matches(word, list(known), n=1)
    return close[0] if close else None


def _below(value: object, path: tuple[str, ...]) -> object:
    for part in path:
        if isinstance(value, dict):
            value = value[part]
        elif isinstance(value, list):
            value = value[int(part)]
    return value


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)

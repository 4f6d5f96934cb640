"""Checks of single values of the config: what is accepted, and the sentence that says so when it is not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from k2tui.core.commandline import CommandError, parse_command
from k2tui.core.flags import FLAG_NAME, identity, is_flag, normal

Reader = Callable[[object], Any]
"""Turns a value of the document into a setting, or raises UnfitError."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,63}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HIGHEST_GPU = 1023
_RESTART = re.compile(r"restart:(\d{1,3})/(\d{1,6})(s|m|h|d)")
_DURATION = re.compile(r"(\d{1,6})(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_KEY_MODIFIER = re.compile(r"(?:ctrl|shift|alt|super|hyper|meta)\+")
_KEY_NAMES = frozenset(
    [
        *("enter", "escape", "tab", "space", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown"),
        *("up", "down", "left", "right", *(f"f{number}" for number in range(1, 25))),
    ]
)


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list whose values are all read in one way."""

    item: Reader
    example: str


class UnfitError(Exception):
    """A value that does not fit."""

    def __init__(
        self, expected: str, *, found: str | None = None, below: tuple[str, ...] = (), words: tuple[str, ...] = ()
    ) -> None:
        super().__init__(expected)
        self.expected = expected
        """What would be right, and what to do."""
        self.found = found
        """What was found, when the value itself is not the best way to say it."""
        self.below = below
        """Keys under the one that was read, where the wrong piece is."""
        self.words = words
        """What could have been meant."""


def text(value: object) -> str:
    """Any text that is not empty and has no control characters."""
    if not isinstance(value, str) or not value.strip():
        raise UnfitError("a text that is not empty, in quotes")
    return _clean(value)


def line(value: object) -> str:
    """Text on one line."""
    if "\n" in (found := text(value)):
        raise UnfitError("text on one line")
    return found


def switch(value: object) -> bool:
    """true or false; a number is neither."""
    if not isinstance(value, bool):
        raise UnfitError("true or false, without quotes")
    return value


def port(value: object) -> int:
    """A TCP port."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65535:
        raise UnfitError("a port, a number from 1 to 65535")
    return value


def seconds(value: object) -> float:
    """A duration in seconds, more than nothing."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise UnfitError("a number of seconds above 0")
    return float(value)


def wait(value: object) -> float:
    """A duration in seconds, or none at all."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value < 0:
        raise UnfitError("a number of seconds, 0 or more")
    return float(value)


def one_of(*words: str) -> Reader:
    """One of a few words."""

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise UnfitError(f"one of {', '.join(words)}", words=words)
        return value

    return read


def name(value: object) -> str:
    """The name of a node, server or profile: it becomes a directory and an argument."""
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        raise UnfitError("a name of letters, digits, _ . @ - that starts with a letter or digit, at most 64 long")
    return value


def address(value: object) -> str:
    """A host, user, jump host: one word that no ssh could take for an option."""
    if not isinstance(value, str) or not value or value.startswith("-") or re.search(r"\s", value):
        raise UnfitError("one word that is not empty and has no - in front")
    return _clean(value)


def path(value: object) -> str:
    """An absolute path on a node."""
    if not isinstance(value, str) or not value.startswith("/"):
        raise UnfitError("an absolute path, such as /data/k2tui")
    return line(value)


def home_path(value: object) -> str:
    """An absolute path, or one in a home directory."""
    if not isinstance(value, str) or not (value.startswith(("/", "~/")) or value == "~"):
        raise UnfitError("an absolute path, or one that starts with ~/")
    return line(value)


def program(value: object) -> str:
    """A python interpreter: a path or a name that is looked up in PATH."""
    if not isinstance(value, str) or not value or value.startswith(("-", "~")) or value != value.strip():
        raise UnfitError("an absolute path of a python, such as /opt/sglang/bin/python, or its name")
    if "/" in value and not value.startswith("/"):
        raise UnfitError("an absolute path of a python, such as /opt/sglang/bin/python, or its name")
    return line(value)


def gpus(value: object) -> tuple[int, ...]:
    """`0-7`, `0,2,4-5`: GPU numbers, each once."""
    expected = 'GPU numbers in quotes, such as "0-7" or "0,2,4-5", each once'
    if not isinstance(value, str):
        raise UnfitError(expected)
    found: list[int] = []
    for piece in value.split(","):
        ends = re.fullmatch(r"\s*(\d{1,4})\s*(?:-\s*(\d{1,4})\s*)?", piece)
        if ends is None:
            raise UnfitError(expected)
        first, last = int(ends[1]), int(ends[2] or ends[1])
        if last < first or last > _HIGHEST_GPU:
            raise UnfitError(expected)
        found.extend(range(first, last + 1))
    if len(set(found)) != len(found):
        raise UnfitError(expected)
    return tuple(found)


def on_crash(value: object) -> tuple[int, float]:
    """`stay`, or `restart:N/DURATION`: (restarts, window in seconds)."""
    if value == "stay":
        return 0, 0.0
    found = _RESTART.fullmatch(value) if isinstance(value, str) else None
    if found is None or int(found[1]) == 0 or int(found[2]) == 0:
        raise UnfitError('"stay", or "restart:N/TIME" such as "restart:2/1h" (30s, 5m, 1h, 1d)')
    return int(found[1]), float(int(found[2]) * _SECONDS[found[3]])


def duration(value: object) -> float:
    """`60s`, `2m`: a duration in seconds; `0s` is none."""
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise UnfitError('a TIME in quotes, such as "60s" (30s, 5m, 1h, 1d)')
    return float(int(found[1]) * _SECONDS[found[2]])


def limit(value: object) -> float:
    """`6m`: a duration in seconds that is not none."""
    if (found := duration(value)) <= 0:
        raise UnfitError('a TIME above 0 in quotes, such as "6m" (30s, 5m, 1h, 1d)')
    return found


def whole(lowest: int, highest: int) -> Reader:
    """A whole number in a range, its ends included."""

    def read(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
            raise UnfitError(f"a whole number from {lowest} to {highest}")
        return value

    return read


def image(value: object) -> str:
    """The name of a container image: one word that docker can't take for an option."""
    if not isinstance(value, str) or _IMAGE.fullmatch(value) is None:
        raise UnfitError('the name of an image, such as "lmsysorg/sglang:v0.5.9"')
    return value


def command(value: object) -> str:
    """A pasted command line that can be run without a shell."""
    found = text(value)
    try:
        parse_command(found)
    except CommandError as error:
        raise UnfitError(error.expected, found=error.found) from error
    return found


def flag_name(value: object) -> str:
    """A flag's name, with or without dashes in front, `_` or `-` inside."""
    if not isinstance(value, str) or FLAG_NAME.fullmatch(normal(value)) is None:
        raise UnfitError('a flag\'s name, such as "reasoning-parser"')
    return normal(value)


def unset_name(value: object) -> str:
    """A flag's or a variable's name. A variable keeps its underscores."""
    found = flag_name(value)
    return value if isinstance(value, str) and re.fullmatch(r"[A-Z_][A-Z0-9_]*", value) else found


def flag_value(value: object) -> object:
    """A switch, a scalar, several values, or one JSON argument."""
    if isinstance(value, (bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, list):
        if not value:
            raise UnfitError("at least one value; true gives the flag alone, false takes it away")
        return tuple(_list_item(item, index) for index, item in enumerate(value))
    if isinstance(value, dict):
        return _json(value, ())
    raise UnfitError("true, false, a text, a number, a list of these, or a table for one JSON argument")


def variable(value: object) -> str:
    """An environment variable's value."""
    if not isinstance(value, str):
        raise UnfitError('a text in quotes, such as "1"')
    return _clean(value)


def variable_name(value: str) -> str:
    """An environment variable's name."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value) is None:
        raise UnfitError("a variable's name of letters, digits and _, such as NCCL_PROTO", found="this name")
    return value


def key(value: object) -> str:
    """A key of the keyboard, as Textual names it."""
    expected = 'a key: a character such as "f", or a name such as "f5", "space", "ctrl+r"'
    if not isinstance(value, str):
        raise UnfitError(expected)
    last = _KEY_MODIFIER.sub("", value)
    has_modifier = last != value
    is_character = len(last) == 1 and last.isprintable() and last != " "
    if not (last in _KEY_NAMES or (is_character and (not has_modifier or last.isalnum()))):
        raise UnfitError(expected)
    return value


def _list_item(item: object, index: int) -> object:
    if isinstance(item, bool) or not isinstance(item, (str, int, float)):
        raise UnfitError("a text or a number in the list", below=(str(index),))
    if isinstance(item, str) and is_flag(item):
        raise UnfitError("a value without a dash in front: an engine would take it for a flag", below=(str(index),))
    if isinstance(item, float) and not math.isfinite(item):
        raise UnfitError("a finite number", below=(str(index),))
    return _clean(item) if isinstance(item, str) else item


def _json(value: object, at: tuple[str, ...]) -> object:
    """The value as JSON can hold it: no dates, no infinities."""
    if isinstance(value, dict):
        return {key: _json(item, (*at, key)) for key, item in value.items()}
    if isinstance(value, list):
        return [_json(item, (*at, str(index))) for index, item in enumerate(value)]
    if isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise UnfitError("a value that JSON can hold: text, number, true, false, list or table", below=at)


def _clean(value: str) -> str:
    """The text, when nothing in it could steer a terminal or end a C string."""
    if "\0" in value:
        raise UnfitError("text without a NUL byte")
    if _CONTROL.search(value):
        raise UnfitError("text without control characters")
    return value


def twice(names: Mapping[str, object]) -> tuple[str, str] | None:
    """Two keys of one flag table that mean the same flag; None when all differ."""
    seen: dict[str, str] = {}
    for each in names:
        if (first := seen.setdefault(identity(each), each)) != each:
            return first, each
    return None

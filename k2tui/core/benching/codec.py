"""A fact of a benchmark as JSON and back: its fields by their own names, whatever somebody else wrote there."""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from k2tui.core.printable import printable

MOST_CHARS = 4_096
"""Of one text."""
MOST_ITEMS = 100_000
"""Of one list or table."""
_MOST = 1e18
"""No figure of a benchmark is larger; neither is NaN or infinity, which compare as such."""
_DEEPEST = 20

_Fact = TypeVar("_Fact")


class _Wrong(Enum):
    """What stands there is no value of that type."""

    WRONG = "wrong"


_WRONG = _Wrong.WRONG


def document_of(fact: object) -> dict[str, object]:
    """A frozen dataclass as a JSON object: fields by their names, enums by their values, keys of tables as text."""
    return {one.name: _plain(getattr(fact, one.name)) for one in fields(cast(Any, fact))}


def read_fact(kind: type[_Fact], document: object, *, least: float = -_MOST) -> _Fact | None:
    """The fact that a JSON object tells, and None where a field that it needs is missing or wrong.

    Never raises. A field with a default has it where its value is of a wrong type, not finite, or less than `least`; a
    list loses the items that are wrong. Texts are printable and of at most `MOST_CHARS` characters.
    """
    found = _read(kind, document, least)
    return None if found is _WRONG else cast(_Fact, found)


def read_json(text: str | bytes) -> object:
    """What a JSON text says; None for what is none."""
    try:
        return cast(object, json.loads(text))
    except (ValueError, RecursionError):
        return None


def _plain(value: object) -> object:
    if is_dataclass(value):
        return document_of(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value


@lru_cache(maxsize=64)
def _fields(kind: type) -> tuple[tuple[str, Any, bool], ...]:
    """(name, type, has no default) of each field of a dataclass."""
    hints = get_type_hints(kind)
    return tuple(
        (one.name, hints[one.name], one.default is MISSING and one.default_factory is MISSING)
        for one in fields(kind)
        if one.init
    )


def _read(kind: Any, value: object, least: float) -> object:
    """The value as this type; `_WRONG` where it is none."""
    how, parts = _way(kind)
    return how(parts, value, least)


@lru_cache(maxsize=256)
def _way(kind: Any) -> tuple[Callable[[Any, object, float], object], Any]:
    """How a value of this type is read, and what of the type that needs: asked for each of a million values."""
    if is_dataclass(kind):
        return _read_dataclass, kind
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read_optional, get_args(kind)
    if origin is tuple:
        return _read_tuple, get_args(kind)
    if origin is not None and issubclass(cast(type, origin), Mapping):
        return _read_table, get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _read_enum, kind
    return _read_plain, kind


def _read_enum(kind: type[Enum], value: object, least: float) -> object:
    return next((one for one in kind if type(one.value) is type(value) and one.value == value), _WRONG)


def _read_dataclass(kind: type, document: object, least: float) -> object:
    if not isinstance(document, dict):
        return _WRONG
    found: dict[str, object] = {}
    for name, hint, is_needed in _fields(kind):
        value = _read(hint, document[name], least) if name in document else _WRONG
        if value is not _WRONG:
            found[name] = value
        elif is_needed:
            return _WRONG
    return kind(**found)


def _read_optional(kinds: tuple[Any, ...], value: object, least: float) -> object:
    if value is None:
        return None if type(None) in kinds else _WRONG
    for kind in kinds:
        if kind is not type(None) and (found := _read(kind, value, least)) is not _WRONG:
            return found
    return _WRONG


def _read_tuple(kinds: tuple[Any, ...], value: object, least: float) -> object:
    if not isinstance(value, list):
        return _WRONG
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        read = (_read(kinds[0], item, least) for item in value[:MOST_ITEMS])
        return tuple(item for item in read if item is not _WRONG)
    if len(kinds) != len(value):
        return _WRONG
    found = tuple(_read(kind, item, least) for kind, item in zip(kinds, value, strict=True))
    return _WRONG if _WRONG in found else found


def _read_table(kinds: tuple[Any, ...], value: object, least: float) -> object:
    if not isinstance(value, dict):
        return _WRONG
    found: dict[object, object] = {}
    for name, item in list(value.items())[:MOST_ITEMS]:
        key, read = _key(kinds[0], name), _read(kinds[1], item, least)
        if key is not _WRONG and read is not _WRONG:
            found[key] = read
    return found


def _key(kind: Any, name: str) -> object:
    """A key of a table: numbers are written as text there, and are positive."""
    if kind is str:
        return printable(name[:MOST_CHARS])
    try:
        number = float(name)
    except ValueError:
        return _WRONG
    if not 0 < number < _MOST:
        return _WRONG
    return number if kind is float else int(number) if number.is_integer() else _WRONG


def _read_plain(kind: Any, value: object, least: float) -> object:
    if kind is str:
        return printable(value[:MOST_CHARS]) if isinstance(value, str) else _WRONG
    if kind is bool:
        return value if isinstance(value, bool) else _WRONG
    if kind in (int, float):
        if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= _MOST:
            return _WRONG
        if kind is float:
            return float(value)
        return int(value) if isinstance(value, int) or value.is_integer() else _WRONG
    return _any(value) if kind in (object, Any) else _WRONG


def _any(value: object, deep: int = 0) -> object:
    """Any JSON value, made safe: texts printable, no number that is none, not too deep."""
    if isinstance(value, str):
        return printable(value[:MOST_CHARS])
    if isinstance(value, list | dict) and deep >= _DEEPEST:
        return None
    if isinstance(value, list):
        return [_any(item, deep + 1) for item in value[:MOST_ITEMS]]
    if isinstance(value, dict):
        return {printable(name[:MOST_CHARS]): _any(item, deep + 1) for name, item in value.items()}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value if -_MOST <= value <= _MOST else None
    return value

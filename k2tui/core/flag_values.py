"""Is a typed value what a flag takes? Said before a start, with what was expected."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterator, Mapping

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.flags import identity, normal

_SIZE = re.compile(r"\d+(?:\.\d+)?(?:k|M|G|T)|\d+(?:Ki|Mi|Gi|Ti)|-?\d+")
"""What SGLang's own reader of sizes takes: SI units with decimals, IEC units without, or a plain whole number."""
_WORDS: Mapping[str, str] = {
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "json": "JSON",
    "size": "a whole number, perhaps with a unit: 64k, 1.5M, 2Ki",
}
_FEW = 8
"""Choices that a sentence names; of more, the nearest."""


def flag_index(build: Build) -> Mapping[str, BuildFlag]:
    """Every name of a build's flags, and what other spellings of them come to."""
    index = {name: flag for flag in reversed(build.flags) for name in reversed(flag.names)}
    for flag in build.flags:
        index.setdefault(identity(flag.name), flag)
    return index


def flag_in(index: Mapping[str, BuildFlag], name: str) -> BuildFlag | None:
    """The flag of this name, with or without dashes, in any of its spellings."""
    plain = normal(name)
    return index.get(plain) or index.get(identity(plain))


def find_flag(build: Build | None, name: str) -> BuildFlag | None:
    """The build's flag of this name, in any of its spellings; None when it has none, or is not known."""
    return None if build is None else flag_in(flag_index(build), name)


def takes_words(flag: BuildFlag) -> str:
    """What follows the flag, in a few words: `a whole number`, `one of auto, fa3`, `nothing`."""
    if flag.takes is Takes.NOTHING:
        return "nothing: it is a switch"
    several = "several words, each " if flag.takes is Takes.SEVERAL else ""
    maybe = ", or nothing" if flag.takes is Takes.MAYBE else ""
    if flag.choices is not None:
        return f"{several}one of {', '.join(flag.choices)}{maybe}"
    return f"{several}{_WORDS.get(flag.type or '', 'text')}{maybe}"


def wrong_value(flag: BuildFlag, text: str) -> str | None:
    """What is wrong with this value and what was expected, in one sentence; None when it is fine."""
    name, text = f"--{flag.name}", text.strip()
    if flag.takes is Takes.NOTHING:
        return f"{name} takes no value, found {text}" if text not in ("", "true", "false") else None
    if not text:
        return None if flag.takes is Takes.MAYBE else f"{name} takes {takes_words(flag)}, found nothing"
    if flag.type == "json":
        return next(_json_trouble(name, text), None)
    words = text.split() if flag.takes is Takes.SEVERAL else [text]
    return next((found for word in words if (found := _wrong_word(flag, word)) is not None), None)


def _wrong_word(flag: BuildFlag, word: str) -> str | None:
    name = f"--{flag.name}"
    if flag.choices is not None:
        if word in flag.choices:
            return None
        if len(flag.choices) <= _FEW:
            return f"{name} takes one of {', '.join(flag.choices)}, found {word}"
        near = difflib.get_close_matches(word, flag.choices, n=3, cutoff=0.5) or list(flag.choices[:3])
        return f"{name} takes one of {len(flag.choices)} words, found {word}; near are {', '.join(near)}"
    is_right = _RIGHT.get(flag.type or "")
    if is_right is None or is_right(word):
        return None
    return f"{name} takes {_WORDS[flag.type or '']}, found {word}"


def _json_trouble(name: str, text: str) -> Iterator[str]:
    try:
        json.loads(text)
    except ValueError as error:
        if not isinstance(error, json.JSONDecodeError):
            yield f"{name} takes JSON: {error}"
            return
        here = text[error.pos : error.pos + 12]
        at = f"before {here!r}" if here else "at its end"
        yield f"{name} takes JSON: {error.msg.lower()} in column {error.pos + 1}, {at}"
    except RecursionError:
        yield f"{name} takes JSON: this is nested too deep"


def _is_whole(word: str) -> bool:
    return re.fullmatch(r"[+-]?\d+", word) is not None


def _is_number(word: str) -> bool:
    return re.fullmatch(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:inf|nan)", word) is not None


_RIGHT: Mapping[str, Callable[[str], bool]] = {
    "int": _is_whole,
    "float": _is_number,
    "bool": lambda word: word.casefold() in ("true", "false", "1", "0", "yes", "no"),
    "size": lambda word: _SIZE.fullmatch(word) is not None,
}

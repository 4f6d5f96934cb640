"""A build as JSON: what remote/read_build.py says of it, what is kept on this side, what programs are told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.lines import plain

MOST_FLAGS = 3000
MOST_WORDS = 500
LONGEST = 1000
"""Characters of one text. What a node says is cut, whatever it is."""

_TAKES = {takes.value: takes for takes in Takes}
_TYPES = frozenset({"str", "int", "float", "bool", "json", "size"})


@dataclass(frozen=True, slots=True)
class BuildAnswer:
    """What a node says of an engine."""

    stamp: str | None = None
    """Changes when the engine's files do."""
    build: Build | None = None
    """None: it is as it was when it had this stamp, or there is none."""
    missing: str | None = None
    """Why there is none."""


def parse_answer(text: str) -> BuildAnswer:
    """What remote/read_build.py or remote/read_build.sh said; ValueError for anything else."""
    for line in text.splitlines():
        if line.startswith("k2none "):
            return BuildAnswer(missing=plain(line[7 : 7 + LONGEST]))
        if line.startswith('{"k2build": 1'):
            document = _document(line)
            stamp, missing = _text(document, "stamp"), _text(document, "missing")
            if missing is not None or document.get("same") is True:
                return BuildAnswer(stamp, None, missing)
            return BuildAnswer(stamp, _build(document))
    raise ValueError("no build in the answer")


def parse_build(text: str) -> Build:
    """A build from its document; ValueError when it is none."""
    return _build(_document(text))


def build_json(build: Build) -> str:
    """The document of a build; `parse_build` reads it."""
    return json.dumps({**build_object(build), "flags": [flag_object(flag) for flag in build.flags]})


def build_object(build: Build) -> dict[str, object]:
    """All of a build but its flags."""
    return {
        "engine": build.engine,
        "version": build.version,
        "how": build.how,
        "path": build.path,
        "modified": None if build.modified is None else list(build.modified),
        "commit": build.commit,
        "note": build.note,
        "took_s": build.took_s,
        "loaded": None if build.loaded is None else list(build.loaded),
    }


def flag_object(flag: BuildFlag) -> dict[str, object]:
    """One flag, as it is written down."""
    return {
        "name": flag.name,
        "takes": flag.takes.value,
        "aliases": list(flag.aliases),
        "type": flag.type,
        "default": flag.default,
        "choices": None if flag.choices is None else list(flag.choices),
        "required": flag.required,
        "help": flag.help,
        "deprecated": flag.deprecated,
        "replacement": flag.replacement,
        "refused": flag.refused,
    }


def _document(text: str) -> Mapping[str, object]:
    try:
        found: object = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
    if not isinstance(found, dict):
        raise ValueError("no document")
    return found


def _build(document: Mapping[str, object]) -> Build:
    engine, flags = _text(document, "engine"), document.get("flags")
    if engine is None or not isinstance(flags, list):
        raise ValueError("no build in the document")
    read = (_flag(one) for one in flags[:MOST_FLAGS])
    took_s = document.get("took_s")
    return Build(
        engine=engine,
        flags=tuple(flag for flag in read if flag is not None),
        version=_text(document, "version"),
        how=_text(document, "how") or "source",
        path=_text(document, "path"),
        modified=_words(document, "modified"),
        commit=_text(document, "commit"),
        note=_text(document, "note"),
        took_s=float(took_s) if isinstance(took_s, int | float) and 0 <= took_s < 1e6 else None,
        loaded=_words(document, "loaded"),
    )


def _flag(one: object) -> BuildFlag | None:
    if not isinstance(one, dict):
        return None
    name, kind = _text(one, "name"), _text(one, "type")
    takes = _TAKES.get(str(one.get("takes")))
    if not name or takes is None:
        return None
    return BuildFlag(
        name=name,
        takes=takes,
        aliases=_words(one, "aliases") or (),
        type="bool" if takes is Takes.NOTHING else kind if kind in _TYPES else None,
        default=_text(one, "default"),
        choices=_words(one, "choices"),
        required=one.get("required") is True,
        help=_text(one, "help"),
        deprecated=one.get("deprecated") is True,
        replacement=_text(one, "replacement"),
        refused=one.get("refused") is True,
    )


def _text(document: Mapping[str, object], name: str) -> str | None:
    """A text without anything that steers a terminal."""
    value = document.get(name)
    return _plain(value) if isinstance(value, str) else None


def _words(document: Mapping[str, object], name: str) -> tuple[str, ...] | None:
    value = document.get(name)
    if not isinstance(value, list):
        return None
    return tuple(_plain(word) for word in value[:MOST_WORDS] if isinstance(word, str))


def _plain(text: str) -> str:
    return " ".join(plain(text[:LONGEST]).split("\n"))

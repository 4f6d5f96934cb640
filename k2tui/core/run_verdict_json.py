"""A run's verdict as one line of text in its directory."""

from __future__ import annotations

import json

from k2tui.core.printable import printable
from k2tui.core.verdicts import Effect, Outcome, RunVerdict

MOST_CHARS = 60_000
"""A longer line was not written here."""
_MOST_FILES, _MOST_WORDS = 20, 300


def verdict_json(verdict: RunVerdict) -> str:
    """One line of ASCII, cut so that it is never longer than MOST_CHARS."""
    files = verdict.modified
    document = {
        "verified": verdict.verified,
        "at": verdict.at,
        "text": _cut(verdict.text),
        "version": None if verdict.version is None else _cut(verdict.version),
        "modified": None if files is None else [_cut(path) for path in files[:_MOST_FILES]],
        "effects": [],
    }
    effects = [
        {
            "check": _cut(effect.check),
            "outcome": effect.outcome.value,
            "text": _cut(effect.text),
            "setting": None if effect.setting is None else _cut(effect.setting),
        }
        for effect in verdict.effects
    ]
    # a shell on the node looks for "verified":true, so no blank after a colon
    # what would not fit is left out from the end
    line = json.dumps(document, separators=(",", ":"))
    for effect in effects:
        document["effects"] = [*_list(document["effects"]), effect]
        longer = json.dumps(document, separators=(",", ":"))
        if len(longer) > MOST_CHARS:
            break
        line = longer
    return line


def read_verdict(text: str) -> RunVerdict | None:
    """The verdict in a node's file; None when it is none. What it says of an effect and can't be read is left out."""
    if len(text) > MOST_CHARS:
        return None
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    verified, at, said, files = (
        found.get("verified"),
        _time(found.get("at")),
        _word(found.get("text")),
        found.get("modified"),
    )
    if not isinstance(verified, bool) or at is None or said is None:
        return None
    return RunVerdict(
        verified=verified,
        at=at,
        text=said,
        effects=tuple(effect for one in _list(found.get("effects")) if (effect := _effect(one)) is not None),
        version=_word(found.get("version")),
        modified=tuple(filter(None, map(_word, files))) if isinstance(files, list) else None,
    )


def _effect(found: object) -> Effect | None:
    if not isinstance(found, dict):
        return None
    check, text = _word(found.get("check")), _word(found.get("text"))
    outcome = next((one for one in Outcome if one.value == found.get("outcome")), None)
    if check is None or text is None or outcome is None:
        return None
    return Effect(check, outcome, text, _word(found.get("setting")))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_WORDS else f"{text[: _MOST_WORDS - 1]}…"


def _word(value: object) -> str | None:
    return printable(value) if isinstance(value, str) else None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _time(value: object) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e12 else None  # type: ignore[operator,arg-type]

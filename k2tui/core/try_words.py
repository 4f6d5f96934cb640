"""A change as an operator types it after `:try`, and back: `+flag value -flag NAME=value -NAME`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import identity, normal
from k2tui.core.verbs import ProfileChange

FORMS = "+flag or +flag value sets a flag, -flag takes it away, NAME=value sets a variable, -NAME takes it away"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_ASSIGNED = re.compile(r"\+?([A-Z_][A-Z0-9_]*)=(.*)", re.DOTALL)
_GIVEN = re.compile(r"(?:\+|--)([A-Za-z0-9][A-Za-z0-9_.-]*)(?:=(.*))?", re.DOTALL)
_TAKEN = re.compile(r"-([A-Za-z_][A-Za-z0-9_.-]*)(=.*)?", re.DOTALL)


def parse_try(text: str) -> ProfileChange:
    """The change that these words ask for; K2Error says which word is wrong, and why."""
    flags: dict[str, str] = {}
    unset: list[str] = []
    env: dict[str, str] = {}
    seen: dict[str, str] = {}
    for word, values in _groups(_words(text)):
        if assigned := _ASSIGNED.fullmatch(word):
            name = assigned[1]
            _once(seen, name, word)
            _no_values(word, values)
            env[name] = assigned[2]
        elif given := _GIVEN.fullmatch(word):
            if word.startswith("+") and _VARIABLE.fullmatch(given[1]):
                raise _wrong(f"{word!r} has the name of a variable and no value", f"{given[1]}=VALUE sets it")
            name = normal(given[1])
            _once(seen, identity(name), word)
            value = _value(word, given[2], values)
            if value == "false":
                unset.append(name)
            else:
                flags[name] = value
        elif taken := _TAKEN.fullmatch(word):
            if taken[2] is not None:
                raise _wrong(f"{word!r} takes something away and gives it a value", f"+{word[1:]} would set it")
            name = taken[1]
            _once(seen, name if _VARIABLE.fullmatch(name) else identity(name), word)
            _no_values(word, values)
            unset.append(name)
        else:
            raise _wrong(f"{word!r} is neither a flag nor a variable", FORMS)
    if not seen:
        raise _wrong("there is nothing to try", FORMS)
    return ProfileChange(set=flags, unset=tuple(unset), env=env)


def describe(change: ProfileChange) -> str:
    """The words of a change; `parse_try` makes the same change of them, whatever it began from."""
    words = [_flag_words(name, value) for name, value in change.set.items()]
    words += [f"-{name}" for name in change.unset]
    words += [f"{name}={_quoted(value)}" for name, value in change.env.items()]
    return " ".join(words)


def same_on(change: ProfileChange, *, run: str | None) -> ProfileChange:
    """The same change, begun from another run; None: from the server's profile."""
    return ProfileChange(run=run, set=change.set, unset=change.unset, env=change.env)


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise _wrong("a quote is not closed", "put ' or \" at both ends of a value with blanks in it") from None


def _groups(words: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each word that begins something, with the values that follow it."""
    at = 0
    while at < len(words):
        end = at + 1
        while end < len(words) and not _begins(words[end]):
            end += 1
        if not _begins(words[at]):
            raise _wrong(f"{words[at]!r} follows no flag", FORMS)
        yield words[at], words[at + 1 : end]
        at = end


def _begins(word: str) -> bool:
    """True for what is no value: a sign with a name behind it, or a variable with its value."""
    return any(form.fullmatch(word) for form in (_ASSIGNED, _GIVEN, _TAKEN))


def _value(word: str, joined: str | None, values: list[str]) -> str:
    if joined is None:
        return " ".join(values) if values else "true"
    if values:
        raise _wrong(f"{values[0]!r} follows {word!r}, which has its value", FORMS)
    return joined


def _no_values(word: str, values: list[str]) -> None:
    if values:
        raise _wrong(f"{values[0]!r} follows {word!r}, which takes no further value", FORMS)


def _once(seen: dict[str, str], name: str, word: str) -> None:
    if name in seen:
        raise _wrong(f"{seen[name]!r} and {word!r} are about the same thing", "say it once")
    seen[name] = word


def _flag_words(name: str, value: str) -> str:
    flag = f"--{name}" if _VARIABLE.fullmatch(name) else f"+{name}"
    if value == "true":
        return flag
    if value == "false":
        return f"-{name}"
    words = value.split(" ")
    is_simple = all(words) and not any(_begins(word) for word in words)
    return f"{flag} {' '.join(map(_quoted, words))}" if is_simple else f"{flag}={_quoted(value)}"


def _quoted(value: str) -> str:
    return shlex.quote(value) if value else ""


def _wrong(message: str, hint: str) -> K2Error:
    return K2Error(message, code="bad_change", hint=hint, exit_code=ExitCode.USAGE)

"""What a half-typed flag or variable may become: names of the build, then its choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.flag_values import find_flag, takes_words
from k2tui.core.flags import normal

Variables = Mapping[str, tuple[tuple[str, ...], str]]
"""Name of a variable to its known values (none: anything) and a line of help."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One line that a half-typed one may become."""

    text: str
    """The whole line. It ends in a blank or `=` while a value is still to follow."""
    note: str = ""
    """What it means, a few words."""


def candidates(line: str, build: Build | None, variables: Variables | None = None) -> tuple[Candidate, ...]:
    """Whole lines that begin as typed, best first; after a name its values. Empty where anything may follow."""
    typed = line.lstrip()
    if not typed:
        return ()
    name, is_value, value = _split(typed)
    if is_value:
        return tuple(_values(name, value, typed, build, variables or {}))
    return (*_flags(typed, build), *_variables(typed, variables or {}))


def common_start(found: Iterable[Candidate]) -> str:
    """What all of them begin with."""
    texts = [candidate.text for candidate in found]
    if not texts:
        return ""
    first, last = min(texts), max(texts)
    length = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:length]


def _split(typed: str) -> tuple[str, bool, str]:
    """(name, True once a value is being typed, the value so far)."""
    ends = [at for at in (typed.find(" "), typed.find("=")) if at > 0]
    if not ends:
        return typed, False, ""
    at = min(ends)
    return typed[:at], True, typed[at + 1 :].lstrip()


def _flags(typed: str, build: Build | None) -> list[Candidate]:
    word = normal(typed)
    if build is None or (word.isupper() and not typed.startswith("-")):  # `NCCL` is the beginning of a variable
        return []
    begun: list[BuildFlag] = []
    inside: list[BuildFlag] = []
    for flag in build.flags:
        names = flag.names
        if flag.refused:
            continue
        if any(name.startswith(word) for name in names):
            begun.append(flag)
        elif len(word) > 1 and any(word in name for name in names):
            inside.append(flag)
    order = [*sorted(begun, key=lambda flag: (flag.deprecated, flag.name)), *sorted(inside, key=lambda f: f.name)]
    return [_named(flag) for flag in order]


def _named(flag: BuildFlag) -> Candidate:
    note = flag.help or takes_words(flag)
    if flag.deprecated:
        note = f"deprecated{f', use {flag.replacement}' if flag.replacement else ''}: {note}"
    return Candidate(f"--{flag.name}" + ("" if flag.takes is Takes.NOTHING else " "), note)


def _variables(typed: str, variables: Variables) -> list[Candidate]:
    word = typed.upper()
    if typed.startswith("-") or not typed[0].isalpha():
        return []
    return [Candidate(f"{name}=", note) for name, (_, note) in sorted(variables.items()) if name.startswith(word)]


def _values(name: str, value: str, typed: str, build: Build | None, variables: Variables) -> list[Candidate]:
    if name in variables:
        return [Candidate(f"{name}={known}") for known in variables[name][0] if known.startswith(value)]
    flag = find_flag(build, name)
    if flag is None:
        return []
    choices = flag.choices or (("true", "false") if flag.type == "bool" and flag.takes is not Takes.NOTHING else ())
    if flag.takes is Takes.SEVERAL:
        before, _, value = value.rpartition(" ")
        head = f"{name} {before} " if before else f"{name} "
    else:
        head = f"{name}{'=' if typed[len(name) : len(name) + 1] == '=' else ' '}"
    default = flag.default
    return [
        Candidate(f"{head}{choice}", "the default" if choice == default else "")
        for choice in choices
        if choice.startswith(value)
    ]

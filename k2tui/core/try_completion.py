"""What a half-typed `:try` may become: flags of the build, variables with their values, what runs and can be taken
away."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from k2tui.core.builds import Build, BuildFlag
from k2tui.core.flag_completion import Candidate, Variables, candidates
from k2tui.core.flags import arguments

_LAST_BEGUN = re.compile(r"(?:^|(?<=\s))(?:[+-]|--|[A-Z_])\S*(?:\s+[^\s+-][^\s=]*)?\s?$")
"""The last sign or variable of a line, with the value that follows it."""


def try_candidates(
    line: str, build: Build | None, variables: Variables, argv: Sequence[str], env: Mapping[str, str]
) -> tuple[Candidate, ...]:
    """Whole lines that begin as typed; `argv` and `env` are of what runs now, and all that is known without a build."""
    found = _LAST_BEGUN.search(line)
    if found is None:
        return ()
    head, typed = line[: found.start()], found[0]
    if typed.startswith("-") and not typed.startswith("--"):
        word = typed[1:]
        names = _begun_with(word, (*_flags_of(argv), *env))
        return tuple(Candidate(f"{head}-{name}", "takes it away") for name in names)
    sign = "+" if typed.startswith("+") else ""
    plain = f"--{typed[1:]}" if sign else typed
    more = candidates(plain, build or _running(argv), variables)
    return tuple(Candidate(head + _signed(one.text, sign), one.note) for one in more)


def _signed(text: str, sign: str) -> str:
    return f"{sign}{text[2:]}" if sign and text.startswith("--") else text


def _flags_of(argv: Sequence[str]) -> list[str]:
    return [part.name for part in arguments(argv).parts if part.name is not None]


def _begun_with(word: str, names: Iterable[str]) -> list[str]:
    return sorted({name for name in names if name.startswith(word)})


def _running(argv: Sequence[str]) -> Build:
    """The flags of a command as if they were all that its engine takes."""
    return Build(
        "sglang", tuple(BuildFlag(name, help="it runs with this flag") for name in dict.fromkeys(_flags_of(argv)))
    )

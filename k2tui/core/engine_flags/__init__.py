"""The flags of known releases of SGLang and vLLM: one table, made from the releases' own source.

The modules of rows are loaded and read when a release is asked for. `scripts/engine_flags.py` writes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from k2tui.core.builds import Build
from k2tui.core.engine_flags.rows import Row, parse_row
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.versions import release as numbers

ENGINES = ("sglang", "vllm")


class Span(NamedTuple):
    """What is the same from one release to another, both included."""

    first: int
    """Places in `versions`."""
    last: int
    rows: tuple[Row, ...]
    fields: tuple[str, ...]
    """Arguments of the engine that no flag sets."""


@cache
def versions(engine: str) -> tuple[str, ...]:
    """The releases that are known, oldest first."""
    return tuple(_texts(engine)[0].split())


@cache
def spans(engine: str) -> tuple[Span, ...]:
    """The whole table of an engine."""
    known = {version: place for place, version in enumerate(versions(engine))}
    found: list[Span] = []
    for head, rows in _parts(engine):
        first, last = head.split()
        flags = tuple(parse_row(row) for row in rows if not row.startswith("."))
        fields = tuple(word[1:] for row in rows if row.startswith(".") for word in row.split())
        found.append(Span(known[first], known[last], flags, fields))
    return tuple(found)


@cache
def place_of(engine: str, version: str) -> int | None:
    """The place of this release, or of the nearest lower one; None for an older one than all."""
    wanted = numbers(version)
    if wanted is None:
        return None
    lower = [at for at, known in enumerate(versions(engine)) if (number := numbers(known)) is None or number <= wanted]
    return lower[-1] if lower else None


@cache
def release(engine: str, version: str) -> Build:
    """What a release accepts. One that is not known is told by the nearest lower one, and says so.

    Raises K2Error (no_release) for an engine that is not known, and for a version before all or without a number.
    """
    if engine not in ENGINES:
        raise _no_release(f"{engine} is no engine that is known here", engine, f"engines: {', '.join(ENGINES)}")
    known = versions(engine)
    place = place_of(engine, version)
    if place is None:
        what = "no version" if numbers(version) is None else "older than all that are known"
        raise _no_release(f"{engine} {version} is {what}", version, f"known: {', '.join(known)}")
    taken = known[place]
    is_same = numbers(taken) == numbers(version)
    note = (
        None if is_same else f"{engine} {version} is not known: these are the flags of {taken}, the nearest lower one"
    )
    flags = [row.flag for span in spans(engine) if span.first <= place <= span.last for row in span.rows]
    return Build(engine, tuple(sorted(flags, key=lambda flag: flag.name)), version=taken, how="table", note=note)


def releases_with(engine: str, name: str) -> tuple[tuple[str, str], ...]:
    """(first, last) of each row of releases that accept a flag of this name, oldest first; empty: none does."""
    known = versions(engine)
    places = sorted({at for span in spans(engine) if _has(span, name) for at in range(span.first, span.last + 1)})
    found: list[tuple[int, int]] = []
    for at in places:
        if found and found[-1][1] == at - 1:
            found[-1] = (found[-1][0], at)
        else:
            found.append((at, at))
    return tuple((known[first], known[last]) for first, last in found)


def replacement_of(engine: str, name: str) -> str | None:
    """What the last releases that had a flag said should be used instead, with dashes; None: they said nothing."""
    told = [
        (span.last, row.flag.replacement)
        for span in spans(engine)
        for row in span.rows
        if name in row.flag.names and row.flag.replacement is not None
    ]
    return max(told)[1] if told else None


def _has(span: Span, name: str) -> bool:
    return any(name in row.flag.names for row in span.rows)


def _parts(engine: str) -> Iterator[tuple[str, list[str]]]:
    """(span, its rows), rows that were wrapped put together."""
    head, rows = "", list[str]()
    for line in "".join(_texts(engine)[1:]).splitlines():
        if line.startswith("@ "):
            if rows:
                yield head, rows
            head, rows = line[2:], []
        elif line.startswith("  "):
            rows[-1] += line[1:]
        elif line:
            rows.append(line)
    if rows:
        yield head, rows


def _texts(engine: str) -> tuple[str, ...]:
    """The versions, then the rows."""
    if engine == "sglang":
        from k2tui.core.engine_flags import sglang_1, sglang_2, sglang_3  # noqa: PLC0415  most commands need none

        return sglang_1.VERSIONS, sglang_1.ROWS, sglang_2.ROWS, sglang_3.ROWS
    from k2tui.core.engine_flags import vllm_1, vllm_2  # noqa: PLC0415

    return vllm_1.VERSIONS, vllm_1.ROWS, vllm_2.ROWS


def _no_release(message: str, subject: str, hint: str) -> K2Error:
    return K2Error(message, code="no_release", subject=subject, hint=hint, exit_code=ExitCode.MISSING)

"""Write the table of an engine's flags anew from releases that lie unpacked: engine_flags.py ENGINE FOLDER=VERSION...

FOLDER holds the package, such as a wheel that was unpacked. The versions are given oldest first, all of them: the
table is written whole. Help is left out: it is the engine's own text, and a node has it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from k2tui.core.engine_flags.rows import flag_row
from k2tui.remote.sglang_source import read_sglang
from k2tui.remote.source_world import World
from k2tui.remote.vllm_source import read_vllm

FOLDER = Path(__file__).parent.parent / "k2tui" / "core" / "engine_flags"
LINES = 400
"""Of one module."""
WIDTH = 118


def main(words: list[str]) -> int:
    """Read the releases, write the modules."""
    engine, *folders = words
    read = {"sglang": read_sglang, "vllm": read_vllm}[engine]
    releases: dict[str, dict[str, str]] = {}
    for word in folders:
        folder, _, version = word.partition("=")
        flags, unread, fields = read(World(engine, f"{folder}/{engine}"))
        print(f"{version}: {len(flags)} flags, {len(fields)} fields, {len(unread)} not wholly read")
        releases[version] = rows_of(flags, fields)
    lines = list(table(releases))
    for old in FOLDER.glob(f"{engine}_*.py"):
        old.unlink()
    parts = list(pieces(lines))
    for number, part in enumerate(parts, 1):
        name = FOLDER / f"{engine}_{number}.py"
        title = f"Flags of {engine} by release, part {number} of {len(parts)}; written by scripts/engine_flags.py."
        versions = f'VERSIONS = """\n{" ".join(releases)}\n"""\n\n' if number == 1 else ""
        text = "\n".join(part)
        name.write_text(f'"""{title}"""\n\n{versions}ROWS = """\n{text}\n"""\n', encoding="utf-8")
    return 0


def rows_of(flags: Iterable[Mapping[str, object]], fields: Iterable[str]) -> dict[str, str]:
    """Name of a flag, or `.` and a field that has none, to its row."""
    left = list(fields)
    found: dict[str, str] = {}
    for flag in flags:
        own = str(flag["name"]).replace("-", "_")
        field = str(flag.get("dest") or own)
        is_field = field in left and (field == own or not flag.get("deprecated"))
        if is_field:
            left.remove(field)
        found[str(flag["name"])] = flag_row(flag, field if is_field else None)
    return {**found, **{f".{field}": f".{field}" for field in left}}


def table(releases: Mapping[str, Mapping[str, str]]) -> Iterable[str]:
    """Rows below the span of releases in which they are the same."""
    versions = list(releases)
    spans: dict[tuple[int, int], list[str]] = {}
    for name in sorted({name for rows in releases.values() for name in rows}):
        for row, places in groupby(range(len(versions)), lambda place: releases[versions[place]].get(name)):  # noqa: B023
            span = list(places)
            if row is not None:
                spans.setdefault((span[0], span[-1]), []).append(row)
    for first, last in sorted(spans):
        yield f"@ {versions[first]} {versions[last]}"
        rows = sorted(spans[first, last])
        fields = [row for row in rows if row.startswith(".")]
        for row in [*rows[len(fields) :], *([" ".join(fields)] if fields else [])]:
            yield from wrap(row, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def pieces(lines: list[str]) -> Iterable[list[str]]:
    """Parts of a module's length; each begins with the span of its first row."""
    piece: list[str] = []
    span = ""
    for line in lines:
        if len(piece) >= LINES and not line.startswith("  "):
            yield piece
            piece = [] if line.startswith("@") else [span]
        span = line if line.startswith("@") else span
        piece.append(line)
    yield piece


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

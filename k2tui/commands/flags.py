"""`k2tui flags SERVER|ENGINE==VERSION [NAME]`: what a server's build, or a known release, accepts."""

from __future__ import annotations

import argparse
import asyncio
import re

from k2tui.commands.narrow import only_server
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.build_document import build_object
from k2tui.core.builds import Build, Takes
from k2tui.core.engine_flags import release
from k2tui.core.errors import ExitCode
from k2tui.core.flag_report import FlagReport, report, reports, source_of

_UNSET = "None"
"""How Python's parsers write that there is no default: the engine chooses, or it is off."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
_VARIABLE_NOTE = "it is written like a variable, and these are flags; k2tui restart SERVER --env NAME=VALUE sets one"
CELL = 44
"""Characters of one cell of the table."""
_TAKES = {Takes.SEVERAL: "…", Takes.MAYBE: "?"}


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Exit 0 when the build accepts the flag or did once, 3 when no build ever did, or there is no such build."""
    engine, equals, version = args.build.partition("==")
    build = release(engine, version) if equals else asyncio.run(_installed(args.build, wires))
    output = Output(as_json=args.json)
    if args.name is None:
        return _all(build, output)
    return _one(report(build, args.name), output, asked=args.name)


async def _installed(name: str, wires: Wires) -> Build:
    fleet = wires.fleet(only_server(wires.settings(), name))
    try:
        return await fleet.read_build(name)
    finally:
        await fleet.close()


def _all(build: Build, output: Output) -> int:
    found = reports(build)
    if output.as_json:
        output.json({**build_object(build), "flags": [flag_json(one) for one in found]})
        return int(ExitCode.DONE)
    _head(build, output)
    rows = [
        (f"--{one.name}", _type(one), _cut(_default(one) or ""), _cut(_says(one)), _cut(", ".join(one.choices or ())))
        for one in found
    ]
    output.table(("FLAG", "TYPE", "DEFAULT", "SAYS", "CHOICES"), rows)
    return int(ExitCode.DONE)


def _one(one: FlagReport, output: Output, *, asked: str) -> int:
    if output.as_json:
        output.json(flag_json(one))
    else:
        rows = (
            ("", f"--{one.name}: {one.status}"),
            ("use", one.replacement),
            ("type", _type(one) if one.takes is not None else None),
            ("default", _default(one)),
            ("choices", None if one.choices is None else ", ".join(one.choices)),
            ("also", ", ".join(f"--{name}" for name in one.aliases) or None),
            (
                "effect",
                {"none": "none in this version", "yes": "yes, it is looked at after a start"}.get(one.effect or ""),
            ),
            ("note", _VARIABLE_NOTE if one.status == "unknown" and _VARIABLE.fullmatch(asked) else one.note),
            ("help", one.help),
            ("source", one.source),
        )
        for name, text in rows:
            if text is not None:
                output.line(text if not name else f"  {name:<8}{text}")
    return int(ExitCode.MISSING if one.status == "unknown" else ExitCode.DONE)


def flag_json(one: FlagReport) -> dict[str, object]:
    """One flag for programs."""
    return {
        "name": one.name,
        "type": one.type,
        "default": one.default,
        "choices": None if one.choices is None else list(one.choices),
        "aliases": list(one.aliases),
        "status": one.status,
        "replacement": one.replacement,
        "effect": one.effect,
        "note": one.note,
        "source": one.source,
        "takes": None if one.takes is None else one.takes.value,
        "required": one.required,
        "help": one.help,
    }


def _head(build: Build, output: Output) -> None:
    took = "" if build.took_s is None else f", read in {build.took_s:.2f} s"
    output.line(f"{len(build.flags)} flags of {source_of(build)}{took}")
    if build.commit is not None:
        output.line(f"at commit {build.commit[:12]}")
    if build.modified:
        output.line(f"modified: {', '.join(build.modified)}")
    if build.note is not None:
        output.line(build.note)


def _default(one: FlagReport) -> str | None:
    return None if one.default == _UNSET else one.default


def _type(one: FlagReport) -> str:
    required = " !" if one.required else ""
    return f"{one.type or '?'}{'' if one.takes is None else _TAKES.get(one.takes, '')}{required}"


def _says(one: FlagReport) -> str:
    if one.effect == "none":
        return "no effect"
    instead = f", use {one.replacement}" if one.replacement else ""
    return "" if one.status == "ok" else f"{one.status}{instead}"


def _cut(text: str) -> str:
    return text if len(text) <= CELL else f"{text[: CELL - 1]}…"

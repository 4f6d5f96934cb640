"""`k2tui config init | path | check | show`: the config file, before anything starts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from k2tui.commands.output import Output
from k2tui.core.errors import ExitCode, K2Error

if TYPE_CHECKING:
    from k2tui.core.settings import Settings


class ConfigFileDoor(Protocol):
    """The one config file of this run."""

    path: Path
    source: str
    """flag | environment | default: who says where it is."""

    def exists(self) -> bool: ...
    def load(self) -> Settings: ...
    def write_starter(self) -> None: ...


def main(args: argparse.Namespace, file: ConfigFileDoor) -> int:
    """Do what `args.action` says with this file; errors are said here, and the exit code is the answer."""
    output = Output(as_json=args.json)
    actions = {"init": _init, "path": _path, "check": _check, "show": _show}
    try:
        actions[args.action](file, output)
    except K2Error as error:
        return output.error(error)
    return int(ExitCode.DONE)


def _init(file: ConfigFileDoor, output: Output) -> None:
    file.write_starter()
    if output.as_json:
        output.json({"path": str(file.path), "written": True})
    else:
        output.line(f"{file.path} is written; edit it, then: k2tui config check")


def _path(file: ConfigFileDoor, output: Output) -> None:
    if output.as_json:
        output.json({"path": str(file.path), "source": file.source, "exists": file.exists()})
    else:
        output.line(str(file.path))


def _check(file: ConfigFileDoor, output: Output) -> None:
    settings = file.load()
    notes = _notes(settings)
    counts = {
        "nodes": len(settings.nodes),
        "servers": len(settings.servers),
        "profiles": len(settings.profiles),
    }
    if output.as_json:
        output.json({"ok": True, "path": settings.path, **counts, "notes": notes})
        return
    read = ", ".join(f"{count} {what if count != 1 else what[:-1]}" for what, count in counts.items())
    if settings.path is None:
        output.line(f"{file.path}: no file there, which is fine: k2tui shows this machine alone; {read}")
    else:
        output.line(f"{settings.path}: right; {read}")
    for note in notes:
        output.line(f"  {note}")


def _show(file: ConfigFileDoor, output: Output) -> None:
    from k2tui.core.config_document import commands_of, document_of, masked
    from k2tui.core.toml_text import toml_text

    settings = file.load()
    document = masked(document_of(settings))
    commands = commands_of(settings)
    if output.as_json:
        output.json({"path": settings.path, **document, "commands": commands})
        return
    output.line(f"# {settings.path or f'no file at {file.path}'}")
    for line in toml_text(document).rstrip("\n").split("\n"):
        output.line(line)
    for name, command in commands.items():
        output.line("")
        output.line(f"# {name} on {settings.servers[name].node} runs:")
        for line in command.split("\n"):
            output.line(f"#   {line}")


def _notes(settings: Settings) -> list[str]:
    """What is right but worth knowing."""
    from k2tui.core.profiles import warnings_of

    notes = [
        f"profiles.{name}.cmd: {warning}"
        for name, profile in settings.profiles.items()
        if profile.cmd is not None
        for warning in warnings_of(settings.profiles, name)
    ]
    if settings.from_ssh_config is not None:
        notes.append(f"fleet.from_ssh_config: {settings.from_ssh_config} of ~/.ssh/config is read at each start")
    return notes

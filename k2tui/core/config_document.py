"""Settings as the document that would give them: what `config show` prints."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from k2tui.core.commandline import parse_command
from k2tui.core.config_alerts import alerts_document
from k2tui.core.flags import arguments
from k2tui.core.profiles import command_text, resolve
from k2tui.core.secrets import MASK, is_secret_name, mask, masked_argv, masked_env
from k2tui.core.settings import MatrixSettings, NodeSettings, ProfileSettings, ServerSettings, Settings

_LONG_COMMAND = 100
"""Characters of a command that still read well on one line."""
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def document_of(settings: Settings) -> dict[str, Any]:
    """A document that gives these settings again. Secrets are in it: see `masked`."""
    document: dict[str, Any] = {
        "theme": settings.theme,
        "read_only": settings.read_only,
        "mouse": settings.mouse,
        "probe": {"generate": settings.probe_generate},
        "verify": {"checks": settings.verify_checks, "max_s": settings.verify_max_s},
        "alerts": alerts_document(settings.alerts),
    }
    if settings.from_ssh_config is not None:
        document["fleet"] = {"from_ssh_config": settings.from_ssh_config}
    if settings.keys:
        document["keys"] = dict(settings.keys)
    document["nodes"] = {name: _table(node) for name, node in settings.nodes.items()}
    document["servers"] = {name: _server(server) for name, server in settings.servers.items()}
    document["profiles"] = {name: _table(profile) for name, profile in settings.profiles.items()}
    document["matrix"] = {name: _matrix(matrix) for name, matrix in settings.matrices.items()}
    return {key: value for key, value in document.items() if value != {}}


def masked(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with the secrets of its profiles, setups and commands masked."""
    profiles = {name: _masked_profile(table) for name, table in document.get("profiles", {}).items()}
    servers = {name: {**table, **_masked_setup(table)} for name, table in document.get("servers", {}).items()}
    changed = {"servers": servers, "profiles": profiles, "alerts": _masked_alerts(document.get("alerts", {}))}
    return {**document, **{name: tables for name, tables in changed.items() if tables}}


def commands_of(settings: Settings) -> dict[str, str]:
    """The exact command of each server that has a profile, masked."""
    return {
        name: command_text(resolve(settings, server.profile, server))
        for name, server in settings.servers.items()
        if server.profile is not None
    }


def gpus_text(gpus: tuple[int, ...]) -> str:
    """`0-3,6`: the shortest way to write these numbers in this order."""
    runs: list[list[int]] = []
    for gpu in gpus:
        if runs and gpu == runs[-1][-1] + 1:
            runs[-1].append(gpu)
        else:
            runs.append([gpu])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def duration_text(seconds: float) -> str:
    """`90s`, `2m`: whole seconds as the config writes a TIME, in the largest unit that fits."""
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    return f"{int(seconds // size)}{unit}"


def profile_table(profile: ProfileSettings) -> dict[str, Any]:
    """The table that gives this profile, as one writes it: only what it says, a long command a flag a line.

    Secrets are in it.
    """
    table = {key: _listed(value) for key, value in _table(profile).items()}
    return {**table, "cmd": _laid_out(table["cmd"])} if "cmd" in table else table


def _laid_out(command: str) -> str:
    """A long command on one line as several that mean the same."""
    if "\n" in command or len(command) <= _LONG_COMMAND:
        return command
    pasted = parse_command(command)
    taken = arguments(pasted.argv)
    words = [f"{name}={shlex.quote(value) if value else ''}" for name, value in pasted.env.items()]
    words += [shlex.join(taken.head), *(shlex.join(part.tokens) for part in taken.parts)]
    lines = " \\\n  ".join(words) + "\n"
    again = parse_command(lines)
    return lines if (again.env, again.argv) == (pasted.env, pasted.argv) else command


def _listed(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _listed(item) for key, item in value.items()}
    return [_listed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _table(settings: NodeSettings | ProfileSettings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if field.name != "name" and value not in (None, (), {}):
            found[field.name] = dict(value) if isinstance(value, Mapping) else value
    return found


def _server(server: ServerSettings) -> dict[str, Any]:
    found = {
        field.name: getattr(server, field.name)
        for field in fields(server)
        if field.name not in ("name", "gpus", "drain_s") and not field.name.startswith("on_crash")
    }
    found["gpus"] = gpus_text(server.gpus) or None
    if server.on_crash_restarts:
        found["on_crash"] = f"restart:{server.on_crash_restarts}/{duration_text(server.on_crash_window_s)}"
    if server.drain_s:
        found["drain"] = duration_text(server.drain_s)
    return {key: value for key, value in found.items() if value is not None}


def _matrix(matrix: MatrixSettings) -> dict[str, Any]:
    found = {
        field.name: dict(value) if isinstance(value := getattr(matrix, field.name), Mapping) else value
        for field in fields(matrix)
        if field.name not in ("name", "launch_limit_s")
    }
    found["launch_limit"] = duration_text(matrix.launch_limit_s)
    return {key: value for key, value in found.items() if value not in (None, (), {})}


def _masked_profile(table: Mapping[str, Any]) -> dict[str, Any]:
    shown = dict(table)
    if "cmd" in shown:
        shown["cmd"] = mask(shown["cmd"])
    if "env" in shown:
        shown["env"] = masked_env(shown["env"])
    if "flags" in shown:
        shown["flags"] = {name: _masked_flag(name, value) for name, value in shown["flags"].items()}
    return shown


def _masked_setup(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"setup": mask(table["setup"])} if "setup" in table else {}


def _masked_alerts(table: Mapping[str, Any]) -> dict[str, Any]:
    return {**table, **({"command": list(masked_argv(table["command"]))} if "command" in table else {})}


def _masked_flag(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if is_secret_name(name):
        return MASK
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, tuple):
        return tuple(mask(item) if isinstance(item, str) else item for item in value)
    if isinstance(value, Mapping):
        return {key: _masked_flag(key, item) for key, item in value.items()}
    return value

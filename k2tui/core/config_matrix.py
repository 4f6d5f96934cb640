"""The matrices of a config: unattended series of restarts over flags and variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from k2tui.core import config_checks as check
from k2tui.core.config_findings import Findings, Schema, listed, shown
from k2tui.core.flags import normal
from k2tui.core.secrets import is_secret_name, mask
from k2tui.core.settings import MatrixSettings, ServerSettings
from k2tui.core.toml_lines import KeyPath

MOST_CONFIGURATIONS = 64
"""Of one matrix: three restarts of each would take days."""


def _profile_list(value: object) -> tuple[str, ...]:
    example = 'a list of profiles, each once, such as ["reason", "fast"]'
    if not isinstance(value, list) or not value:
        raise check.UnfitError(example)
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise check.UnfitError("the name of a profile", below=(str(index),))
        if item in value[:index]:
            raise check.UnfitError("each profile once", below=(str(index),))
    return tuple(value)


MATRIX: Schema = {
    "server": check.name,
    "profile": check.name,
    "profiles": _profile_list,
    "env": lambda value: value,  # read value by value
    "flags": lambda value: value,
    "restarts": check.whole(1, 20),
    "launch_limit": check.limit,
    "leave": check.one_of("as-found", "best"),
    "prescreen": check.switch,
    "max_tokens": check.whole(1, 100_000),
    "repeats": check.whole(1, 100),
}
_FIELDS: Mapping[str, str] = {"launch_limit": "launch_limit_s"}
"""Keys whose setting has its unit in the name."""


def read_matrix(findings: Findings, name: str, table: Mapping[str, Any]) -> MatrixSettings:
    """The settings of one matrix; what is wrong by itself is added to the findings."""
    at = ("matrix", name)
    env = _axes(findings, (*at, "env"), table.get("env", {}), check.variable_name, _variable)
    written = table.get("flags", {})
    flags = _axes(findings, (*at, "flags"), written, check.flag_name, _flag)
    if isinstance(written, dict) and (pair := check.twice(written)):
        first, second = pair
        findings.add((*at, "flags", second), f"the same flag as {first}", "each flag once; take one out")
    rest = {_FIELDS.get(key, key): value for key, value in table.items() if key not in ("env", "flags")}
    return MatrixSettings(
        name=name,
        env=MappingProxyType(env),
        flags=MappingProxyType({normal(flag): values for flag, values in flags.items()}),
        **{"server": "", **rest},
    )


def check_matrix(
    findings: Findings,
    matrix: MatrixSettings,
    servers: Mapping[str, ServerSettings],
    server_names: Collection[str] | None,
    profiles: Collection[str] | None,
) -> None:
    """It has a server that can be started, profiles that exist, and few enough configurations."""
    at = ("matrix", matrix.name)
    if not matrix.server and not findings.touches((*at, "server")):
        findings.add((*at, "server"), "nothing", f"the name of a server{listed(server_names or ())}")
    elif matrix.server:
        findings.dangling((*at, "server"), matrix.server, server_names, "server")
        server = servers.get(matrix.server)
        if server is not None and server.profile is None and not findings.touches(("servers", server.name)):
            expected = "a server with a profile: one with a log alone is only watched, and never restarted"
            findings.add((*at, "server"), shown((), matrix.server), expected)
    if matrix.profile is not None:
        findings.dangling((*at, "profile"), matrix.profile, profiles, "profile")
    for index, profile in enumerate(matrix.profiles):
        findings.dangling((*at, "profiles", str(index)), profile, profiles, "profile")
    _check_axes(findings, at, matrix)


def _check_axes(findings: Findings, at: KeyPath, matrix: MatrixSettings) -> None:
    if any(findings.touches((*at, key)) for key in ("env", "flags", "profiles")):
        return
    for key, written in (("env", matrix.env), ("flags", matrix.flags), ("profile", matrix.profile)):
        if matrix.profiles and written:
            expected = f"profiles or {key}, not both: whole profiles are compared, or combinations on top of one"
            findings.add((*at, key), shown((), written), expected)
            return
    if not (matrix.profiles or matrix.env or matrix.flags):
        expected = 'what is to be compared: env = { NCCL_PROTO = ["LL", "Simple"] }, flags, or profiles'
        findings.add((*at, "env"), "nothing", expected)
        return
    number = math.prod(map(len, (*matrix.env.values(), *matrix.flags.values()))) * max(1, len(matrix.profiles))
    if number > MOST_CONFIGURATIONS:
        expected = f"at most {MOST_CONFIGURATIONS}: each is started {matrix.restarts} times; take values out"
        findings.add(at, f"{number} configurations", expected)


def _axes(
    findings: Findings,
    key: KeyPath,
    value: object,
    read_name: Callable[[str], str],
    read_value: check.Reader,
) -> dict[str, tuple[Any, ...]]:
    """Name to its values, for those that are right."""
    right: dict[str, tuple[Any, ...]] = {}
    for name, items in findings.entries(key, value).items():
        at = (*key, name)
        try:
            read_name(name)
        except check.UnfitError as error:
            findings.add(at, error.found or "this name", error.expected)
            continue
        if is_secret_name(name):
            findings.add(at, "the name of a secret", "a name without one: what a series tries is kept and shown")
        elif not isinstance(items, list) or not items:
            findings.add(at, shown(at, items), 'a list with at least one value, such as ["LL", "Simple"]')
        else:
            values = tuple(findings.read((*at, str(index)), item, read_value) for index, item in enumerate(items))
            again = next((index for index, item in enumerate(items) if _is_in(item, items[:index])), None)
            if again is not None and not findings.touches(at):
                findings.add((*at, str(again)), shown(at, items[again]), "each value once")
            elif not findings.touches(at):
                right[name] = values
    return right


def _variable(value: object) -> str:
    return _open(check.variable(value))


def _flag(value: object) -> object:
    found = check.flag_value(value)
    for text in _texts(found):
        _open(text)
    return found


def _texts(value: object) -> Iterator[str]:
    """Every text in a value, names of a table included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from (name, *_texts(item))
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _texts(item)


def _is_in(value: object, others: Sequence[object]) -> bool:
    """The same value is among them; `true` and 1 are two."""
    return any(type(other) is type(value) and other == value for other in others)


def _open(text: str) -> str:
    """The text, when it can be kept and shown as it is."""
    if not text.isprintable():
        raise check.UnfitError("text on one line, of characters that can be shown")
    if mask(text) != text:
        raise check.UnfitError("a value without a secret: what a series tries is kept and shown", found="a secret")
    return text

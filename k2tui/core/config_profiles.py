"""The profiles of a config: read key by key, and held against each other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from k2tui.core import config_checks as check
from k2tui.core.commandline import parse_command
from k2tui.core.config_checks import UnfitError
from k2tui.core.config_findings import Findings, Schema, nearest, shown
from k2tui.core.flags import Arguments, arguments, engine_of, normal
from k2tui.core.profiles import Draft, draft_of
from k2tui.core.settings import ProfileSettings
from k2tui.core.toml_lines import KeyPath

PROFILE: Schema = {
    "extends": check.name,
    "cmd": check.command,
    "flags": lambda value: value,  # read key by key
    "env": lambda value: value,
    "unset": check.ListOf(check.unset_name, '["tp-size"]'),
}


def read_profile(findings: Findings, name: str, table: dict[str, Any]) -> ProfileSettings:
    at = ("profiles", name)
    flags = {
        normal(flag): value
        for flag, value in _pairs(findings, (*at, "flags"), table.get("flags", {}), check.flag_name, check.flag_value)
    }
    if isinstance(written := table.get("flags"), dict) and (pair := check.twice(written)):
        first, second = pair
        findings.add((*at, "flags", second), f"the same flag as {first}", "each flag once; take one out")
    env = dict(_pairs(findings, (*at, "env"), table.get("env", {}), check.variable_name, check.variable))
    if "cmd" in table and "extends" in table:
        expected = "cmd or extends, not both: a profile starts from one command"
        findings.add((*at, "extends"), shown((), table["extends"]), expected)
    return ProfileSettings(
        name=name,
        extends=table.get("extends"),
        cmd=table.get("cmd"),
        flags=flags,
        env=env,
        unset=table.get("unset", ()),
    )


def _pairs(
    findings: Findings,
    key: KeyPath,
    value: object,
    read_name: Callable[[str], str],
    read_value: check.Reader,
) -> list[tuple[str, Any]]:
    right = []
    for name, item in findings.entries(key, value).items():
        at = (*key, name)
        try:
            read_name(name)
        except UnfitError as error:
            findings.add(at, error.found or "this name", error.expected)
            continue
        setting = findings.read(at, item, read_value)
        if setting is not None:
            right.append((name, setting))
    return right


def check_profiles(findings: Findings, profiles: Mapping[str, ProfileSettings], names: Collection[str] | None) -> None:
    """Every `extends` leads to a base, and `unset` takes away what is there."""
    for name, profile in profiles.items():
        if profile.extends is not None and profile.extends != name:
            others = None if names is None else [other for other in names if other != name]
            findings.dangling(("profiles", name, "extends"), profile.extends, others, "profile")
    looping: set[str] = set()
    for name in profiles:
        way = _way(profiles, name)
        loop = way[way.index(way[-1]) :] if way[-1] in way[:-1] else []
        if loop and not looping.intersection(loop):
            findings.add(
                ("profiles", loop[0], "extends"),
                f"a loop: {' -> '.join(loop)}",
                "a chain that ends at a profile without extends",
            )
        looping.update(loop)
    for name, profile in profiles.items():
        way = _way(profiles, name)
        if profile.unset and not any(findings.touches(("profiles", each)) for each in way if each in profiles):
            _check_unset(findings, profiles, profile)


def _way(profiles: Mapping[str, ProfileSettings], name: str) -> list[str]:
    """The names along `extends`; ends at a base, at a name that is unknown, or at one that came before."""
    names = [name]
    while names[-1] in profiles and names[-1] not in names[:-1]:
        base = profiles[names[-1]].extends
        if base is None:
            break
        names.append(base)
    return names


def _check_unset(findings: Findings, profiles: Mapping[str, ProfileSettings], profile: ProfileSettings) -> None:
    draft = Draft(Arguments(()))
    if profile.cmd is not None:
        pasted = parse_command(profile.cmd)
        draft = Draft(arguments(pasted.argv), pasted.env)
    elif profile.extends is not None:
        draft = draft_of(profiles, profile.extends, "sglang")
    for index, name in enumerate(profile.unset):
        if not draft.has(name):
            key = ("profiles", profile.name, "unset", str(index))
            expected = "a flag or variable that the base gives"
            findings.add(key, shown((), name), expected, meant=nearest(name, draft.names()))


def engine_said(profiles: Mapping[str, ProfileSettings], name: str | None) -> str | None:
    """sglang or vllm, as the command that the profile rests on says it; None when it says nothing."""
    way = _way(profiles, name) if name is not None else []
    commands = [profiles[each].cmd for each in way if each in profiles]
    command = next((command for command in commands if command is not None), None)
    return engine_of(parse_command(command).argv) if command is not None else None

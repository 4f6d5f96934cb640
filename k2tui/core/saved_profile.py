"""A change of one start, written as a profile that gives the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import Part, identity, with_python
from k2tui.core.profiles import Draft, added_env, chain, draft_of, resolved
from k2tui.core.runs import Run
from k2tui.core.settings import FlagScalar, FlagValue, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange


def saved_profile(
    settings: Settings, server: ServerSettings, change: ProfileChange, as_name: str, *, runs: Sequence[Run] = ()
) -> ProfileSettings:
    """The profile `as_name` that starts the same as `change` does now.

    It extends the server's profile by what is other; a profile that is written over keeps what it extends. A command
    that has little in common with the profile is written out whole.
    """
    if not as_name.strip():
        raise K2Error("a profile needs a name", code="bad_name", subject=server.name, exit_code=ExitCode.USAGE)
    wanted = resolved(settings, server.profile, server, change, runs=runs).draft
    base = change.profile or server.profile
    if base is None or base not in settings.profiles:
        return _whole(as_name, wanted)
    if as_name != base and as_name in (profile.name for profile in chain(settings.profiles, base)):
        raise K2Error(
            f"profile {base} builds on {as_name}: written over, it would extend itself",
            code="extends_loop",
            subject=server.name,
            hint="choose another name",
            exit_code=ExitCode.USAGE,
        )
    own = settings.profiles[base] if as_name == base else ProfileSettings(as_name, extends=base)
    made = _with_difference(settings.profiles, own, wanted, server)
    found = draft_of({**settings.profiles, as_name: made}, as_name, server.engine)
    return made if _is_same(found, wanted, server) else _whole(as_name, _plain(wanted, server))


def _with_difference(
    profiles: Mapping[str, ProfileSettings], own: ProfileSettings, wanted: Draft, server: ServerSettings
) -> ProfileSettings:
    """`own` with what it takes to give `wanted`."""
    bare = replace(own, flags={}, env={}, unset=())
    empty = own.cmd is None and own.extends is None
    under = draft_of({**profiles, own.name: bare}, own.name, server.engine)
    flags: dict[str, FlagValue] = {}
    for part in wanted.arguments.parts:
        old = None if part.name is None else under.arguments.find(part.name)
        if part.name is not None and not _is_servers(part, server) and (old is None or old.values != part.values):
            flags[part.name] = _value(part.values)
    env = {name: value for name, value in _plain(wanted, server).env.items() if under.env.get(name) != value}
    unset = [
        part.name
        for part in under.arguments.parts
        if part.name is not None and wanted.arguments.find(part.name) is None and not _is_servers(part, server)
    ]
    unset += [name for name in under.env if name not in wanted.env]
    return replace(bare, flags=flags, env=env, unset=() if empty else tuple(dict.fromkeys(unset)))


def _is_same(one: Draft, other: Draft, server: ServerSettings) -> bool:
    return _shape(one, server) == _shape(other, server)


def _shape(draft: Draft, server: ServerSettings) -> tuple[object, ...]:
    """What decides whether two drafts run the same on this server; the order of flags does not."""
    plain = _plain(draft, server)
    argv = with_python(plain.arguments.head, server.python) if server.python is not None else plain.arguments.head
    flags = sorted((identity(part.name or ""), part.values) for part in plain.arguments.parts)
    return argv, flags, dict(plain.env)


def _plain(draft: Draft, server: ServerSettings) -> Draft:
    """Without what the server and k2tui give by themselves."""
    parts = tuple(part for part in draft.arguments.parts if not _is_servers(part, server))
    added = added_env(server)
    env = {name: value for name, value in draft.env.items() if added.get(name) != value}
    return Draft(replace(draft.arguments, parts=parts), env)


def _is_servers(part: Part, server: ServerSettings) -> bool:
    return part.name == "port" and server.port is not None


def _whole(name: str, draft: Draft) -> ProfileSettings:
    words = [f"{variable}={shlex.quote(value)}" for variable, value in draft.env.items()]
    return ProfileSettings(name, cmd=" ".join([*words, shlex.join(draft.arguments.argv)]))


def _value(values: Sequence[str]) -> FlagValue:
    if not values:
        return True
    return _scalar(values[0]) if len(values) == 1 else tuple(map(_scalar, values))


def _scalar(text: str) -> FlagScalar:
    """A number where it is written the same again, else the text."""
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if str(number) == text and text not in ("nan", "inf", "-inf"):
            return number
    return text

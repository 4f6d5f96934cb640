"""Profiles: what is written in the config, joined along `extends`, becomes exactly what runs on a server."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from k2tui.core.builds import Build, Takes
from k2tui.core.commandline import PastedCommand, parse_command
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flag_values import find_flag
from k2tui.core.flags import (
    FLAG_NAME,
    Arguments,
    arguments,
    flag_value,
    has_flag,
    identity,
    names_of,
    normal,
    with_python,
)
from k2tui.core.run_profile import run_named, started_with
from k2tui.core.runs import Run
from k2tui.core.secrets import MASK, masked_argv, masked_env, secret_values
from k2tui.core.settings import FlagValue, LaunchProfile, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange

__all__ = [
    "Draft",
    "PastedCommand",
    "Resolved",
    "chain",
    "command_lines",
    "command_text",
    "draft_of",
    "flag_value",
    "has_flag",
    "parse_command",
    "resolve",
    "resolved",
    "warnings_of",
]

ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADS: Mapping[str, tuple[str, ...]] = {
    "sglang": ("python3", "-m", "sglang.launch_server"),
    "vllm": ("vllm", "serve"),
}
_SGLANG_ENV: Mapping[str, str] = {
    "SPT_NOENV": "1",  # setproctitle leaves a worker's /proc/PID/environ readable
    "PYTHONUNBUFFERED": "1",  # a line is in the log when it is printed
}
_WRAP_AT = 100
CHANGE = "this change"
PASTED = "pasted command"


@dataclass(frozen=True)
class Draft:
    """What a chain of profiles gives so far."""

    arguments: Arguments
    env: Mapping[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """True when `unset` can take this name away: a flag or a variable."""
        return name in self.env or self.arguments.find(name) is not None

    def names(self) -> tuple[str, ...]:
        """All that `unset` can take away."""
        return (*names_of(self.arguments.parts), *self.env)

    def changed(
        self,
        engine: str,
        *,
        unset: Collection[str] = (),
        flags: Mapping[str, FlagValue] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Draft:
        """With names taken away first, then flags and variables put on top."""
        joined = {name: value for name, value in self.env.items() if name not in unset}
        parts = self.arguments
        for name in unset:
            parts = parts if name in self.env else parts.without(name)
        for name, value in (flags or {}).items():
            parts = parts.with_flag(name, value, engine)
        return Draft(parts, {**joined, **(env or {})})


Stage = tuple[str, Draft]
"""Who gave something, and all that is given so far."""


@dataclass(frozen=True)
class _Begun:
    """What a change is put on top of."""

    name: str
    what: str
    """The same in a sentence: `profile reason`."""
    stages: tuple[Stage, ...]
    setup: str | None
    cwd: str | None


@dataclass(frozen=True)
class Resolved:
    """What a start runs, and who gave each part of it."""

    profile: LaunchProfile
    draft: Draft
    """Before the server and k2tui add their own."""
    sources: Mapping[str, str]
    """`--tp-size` or a variable's name to who gave it: a profile's name, `run ID`, `pasted command`, `this change`,
    `server`, `k2tui`."""


def resolve(
    settings: Settings,
    profile_name: str | None,
    server: ServerSettings,
    change: ProfileChange | None = None,
    *,
    runs: Sequence[Run] = (),
    build: Build | None = None,
) -> LaunchProfile:
    """Exactly what a start of `server` from this profile, with this change on top, runs.

    `runs`: of the server, for a change that begins from one of them; `build`: says which flags take several words.
    """
    return resolved(settings, profile_name, server, change, runs=runs, build=build).profile


def resolved(
    settings: Settings,
    profile_name: str | None,
    server: ServerSettings,
    change: ProfileChange | None = None,
    *,
    runs: Sequence[Run] = (),
    build: Build | None = None,
) -> Resolved:
    """The same as `resolve`, with who gave what."""
    change = change or ProfileChange()
    begun = _begun(settings, profile_name, server, change, runs)
    _refuse_another_port(change, server)
    draft = _changed(begun.stages[-1][1], change, server.engine, begun.what, build)
    stages = [*begun.stages, (CHANGE, draft)]
    parts, env = draft.arguments, dict(draft.env)
    if server.port is not None:
        parts = parts.with_flag("port", server.port, server.engine)
    if server.gpus:
        env.setdefault("CUDA_VISIBLE_DEVICES", _visible(server.gpus))
    stages.append(("server", Draft(parts, dict(env))))
    env = {**env, **{name: value for name, value in added_env(server).items() if name not in env}}
    stages.append(("k2tui", Draft(parts, env)))
    argv = parts.argv if server.python is None else with_python(parts.argv, server.python)
    profile = LaunchProfile(
        name=begun.name, argv=argv, env=env, setup=begun.setup, cwd=begun.cwd, secrets=secret_values(argv, env)
    )
    return Resolved(profile, draft, _sources(stages, has_port=server.port is not None))


def added_env(server: ServerSettings) -> dict[str, str]:
    """The variables that a start of this server has in any case, unless its profile sets them otherwise."""
    gpus = {"CUDA_VISIBLE_DEVICES": _visible(server.gpus)} if server.gpus else {}
    return {**gpus, **(_SGLANG_ENV if server.engine == "sglang" else {})}


def chain(profiles: Mapping[str, ProfileSettings], name: str) -> tuple[ProfileSettings, ...]:
    """The profile with all that it extends, the base first."""
    found: list[ProfileSettings] = []
    wanted: str | None = name
    while wanted is not None:
        if wanted not in profiles:
            known = ", ".join(profiles) or "none"
            raise K2Error(
                f"there is no profile {wanted}",
                code="no_such_profile",
                subject=wanted,
                hint=f"known are: {known}",
                exit_code=ExitCode.USAGE,
            )
        if any(profile.name == wanted for profile in found):
            names = [profile.name for profile in found]
            loop = " -> ".join([*names[names.index(wanted) :], wanted])
            raise K2Error(
                f"profile {name} extends itself: {loop}",
                code="extends_loop",
                subject=name,
                hint="take one extends out",
                exit_code=ExitCode.USAGE,
            )
        found.append(profiles[wanted])
        wanted = profiles[wanted].extends
    return tuple(reversed(found))


def draft_of(profiles: Mapping[str, ProfileSettings], name: str, engine: str) -> Draft:
    """The profile joined along `extends`, before a server adds its own."""
    return _stages_of(profiles, name, engine)[-1][1]


def _stages_of(profiles: Mapping[str, ProfileSettings], name: str, engine: str) -> tuple[Stage, ...]:
    """The draft as it stands after each profile of the chain."""
    draft, stages = Draft(Arguments(_HEADS[engine])), []
    for profile in chain(profiles, name):
        if profile.cmd is not None:
            draft = _draft_of_command(parse_command(profile.cmd), engine)
        draft = draft.changed(engine, unset=profile.unset, flags=profile.flags, env=profile.env)
        stages.append((profile.name, draft))
    return tuple(stages)


def _draft_of_command(pasted: PastedCommand, engine: str) -> Draft:
    return Draft(arguments(pasted.argv).with_full_names(engine), pasted.env)


def _begun(
    settings: Settings, profile_name: str | None, server: ServerSettings, change: ProfileChange, runs: Sequence[Run]
) -> _Begun:
    """What the change is put on top of: a run, a pasted command, else a profile."""
    if change.run is not None:
        run = run_named(runs, change.run, server.name)
        names = dict.fromkeys(name for name in (run.profile, profile_name, server.profile) if name is not None)
        configured = [resolve(settings, name, server) for name in names if name in settings.profiles]
        was = started_with(run, configured, (*change.unset, *change.set, *change.env))
        draft = Draft(was.arguments, _without_added(was.env, run, server))
        label = f"run {run.run_id}"
        return _Begun(run.profile or label, label, ((label, draft),), was.setup, was.cwd)
    if change.cmd is not None:
        draft = _draft_of_command(parse_command(change.cmd), server.engine)
        return _Begun(PASTED, f"the {PASTED}", ((PASTED, draft),), server.setup, server.cwd)
    name = change.profile or profile_name or server.profile
    if name is None:
        raise K2Error(
            f"{server.name} has no profile",
            code="no_profile",
            subject=server.name,
            hint="it is only watched; give it a profile in the config, or start it with --profile",
            exit_code=ExitCode.USAGE,
        )
    stages = _stages_of(settings.profiles, name, server.engine)
    return _Begun(name, f"profile {name}", stages, server.setup, server.cwd)


def _refuse_another_port(change: ProfileChange, server: ServerSettings) -> None:
    """A change of the port would be passed over without a word: the server's own comes last."""
    asked = [value for name, value in change.set.items() if identity(name) == "port"]
    if server.port is not None and asked and asked[-1] != str(server.port):
        raise K2Error(
            f"{server.name} has its port {server.port} from [servers.{server.name}], which a start does not change",
            code="bad_change",
            subject=server.name,
            hint=f"change port in [servers.{server.name}], and start k2tui again",
            exit_code=ExitCode.USAGE,
        )


def _without_added(env: Mapping[str, str], run: Run, server: ServerSettings) -> dict[str, str]:
    """A run's variables without what k2tui and the server gave it: they give it again, as they are now."""
    added = added_env(replace(server, gpus=run.gpus))
    return {name: value for name, value in env.items() if added.get(name) != value}


def _visible(gpus: Sequence[int]) -> str:
    return ",".join(map(str, gpus))


def _sources(stages: Sequence[Stage], *, has_port: bool) -> dict[str, str]:
    """Who gave each flag and variable of the last stage the value that it has."""
    values: dict[str, object] = {}
    givers: dict[str, str] = {}
    for giver, draft in stages:
        now: dict[str, object] = {f"-{identity(part.name)}": part.values for part in draft.arguments.parts if part.name}
        now.update(draft.env)
        givers = {name: givers[name] if values.get(name) == value else giver for name, value in now.items()}
        values = now
    flags = {f"--{part.name}": givers[f"-{identity(part.name)}"] for part in stages[-1][1].arguments.parts if part.name}
    if has_port:
        flags["--port"] = "server"
    return {**flags, **{name: givers[name] for name in stages[-1][1].env}}


def warnings_of(profiles: Mapping[str, ProfileSettings], name: str) -> tuple[str, ...]:
    """What of the pasted command was left out or read otherwise, one sentence each."""
    commands = [profile.cmd for profile in chain(profiles, name) if profile.cmd is not None]
    return tuple(warning for command in commands for warning in parse_command(command).warnings)


def command_text(profile: LaunchProfile) -> str:
    """The exact command on one line, shell-quoted, secrets masked: `env A=b python3 -m ...`."""
    return " ".join([*_env_words(profile), *map(_quoted, masked_argv(profile.argv, profile.secrets))])


def command_lines(profile: LaunchProfile) -> tuple[str, ...]:
    """The same command on several lines that a shell reads as one: environment, program, a line for each flag."""
    lines: list[str] = []
    for word in _env_words(profile):
        if lines and len(lines[-1]) + len(word) < _WRAP_AT:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}" if lines else word)
    shown = arguments(masked_argv(profile.argv, profile.secrets))
    lines.append(("  " if lines else "") + _joined(shown.head))
    lines.extend(f"    {_joined(part.tokens)}" for part in shown.parts)
    return (*(f"{line} \\" for line in lines[:-1]), lines[-1])


def _changed(draft: Draft, change: ProfileChange, engine: str, what: str, build: Build | None) -> Draft:
    """The draft (of `what`) with an operator's change for one start."""
    for name in change.unset:
        if not draft.has(name):
            near = difflib.get_close_matches(name, draft.names(), n=3, cutoff=0.5) or draft.names()[:12]
            raise _bad_change(f"{what} has no {name} to unset", f"it has {', '.join(near)}")
    flags: dict[str, FlagValue] = {}
    for name, text in change.set.items():
        if FLAG_NAME.fullmatch(normal(name)) is None:
            raise _bad_change(f"{name!r} is no flag's name", "write it as in --set reasoning-parser=kimi_k2")
        flags[name] = _typed(text, draft.arguments, name, build)
    for name, text in change.env.items():
        if ENV_NAME.fullmatch(name) is None:
            raise _bad_change(f"{name!r} is no variable's name", "write it as in --env NCCL_PROTO=LL")
        if "\0" in text:
            raise _bad_change(f"the value of {name} holds a NUL byte", "no program can be given one")
    return draft.changed(engine, unset=change.unset, flags=flags, env=change.env)


def _typed(text: str, parts: Arguments, name: str, build: Build | None) -> FlagValue:
    """A value as typed: `true`, `false`, else the text; words, where the flag takes or holds several values."""
    if "\0" in text:
        raise _bad_change(f"the value of {name} holds a NUL byte", "no program can be given one")
    if text in ("true", "false"):
        return text == "true"
    old = parts.find(name)
    has_several = old is not None and len(old.values) > 1
    if len(text.split()) > 1 and (has_several or _takes_several(build, name)):
        return tuple(text.split())
    return text


def _takes_several(build: Build | None, name: str) -> bool:
    flag = find_flag(build, name)
    return flag is not None and flag.takes is Takes.SEVERAL


def _bad_change(message: str, hint: str) -> K2Error:
    return K2Error(message, code="bad_change", hint=hint, exit_code=ExitCode.USAGE)


def _env_words(profile: LaunchProfile) -> list[str]:
    shown = masked_env(profile.env, profile.secrets)
    words = [f"{name}={_quoted(value) if value else ''}" for name, value in shown.items()]
    return ["env", *words] if words else []


def _joined(tokens: Sequence[str]) -> str:
    return " ".join(map(_quoted, tokens))


def _quoted(token: str) -> str:
    """Quoted for a shell; a mask alone needs no quotes."""
    bare = token.replace(MASK, "x")
    return token if shlex.quote(bare) == bare else shlex.quote(token)

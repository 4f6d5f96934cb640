"""Profiles: what is written in the config, joined along `extends`, becomes exactly what runs on a server."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from k2tui.core.commandline import PastedCommand, parse_command
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import FLAG_NAME, Arguments, arguments, flag_value, has_flag, names_of, normal, with_python
from k2tui.core.secrets import MASK, masked_argv, masked_env, secret_values
from k2tui.core.settings import FlagValue, LaunchProfile, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange

__all__ = [
    "Draft",
    "PastedCommand",
    "chain",
    "command_lines",
    "command_text",
    "draft_of",
    "flag_value",
    "has_flag",
    "parse_command",
    "resolve",
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


def resolve(
    settings: Settings, profile_name: str | None, server: ServerSettings, change: ProfileChange | None = None
) -> LaunchProfile:
    """Exactly what a start of `server` from this profile, with this change on top, runs."""
    change = change or ProfileChange()
    name = change.profile or profile_name or server.profile
    if name is None:
        raise K2Error(
            f"{server.name} has no profile",
            code="no_profile",
            subject=server.name,
            hint="it is only watched; give it a profile in the config, or start it with --profile",
            exit_code=ExitCode.USAGE,
        )
    draft = _changed(draft_of(settings.profiles, name, server.engine), change, server.engine, name)
    parts, env = draft.arguments, dict(draft.env)
    if server.port is not None:
        parts = parts.with_flag("port", server.port, server.engine)
    if server.gpus:
        env.setdefault("CUDA_VISIBLE_DEVICES", ",".join(map(str, server.gpus)))
    if server.engine == "sglang":
        for variable, value in _SGLANG_ENV.items():
            env.setdefault(variable, value)
    argv = parts.argv
    if server.python is not None:
        argv = with_python(argv, server.python)
    return LaunchProfile(
        name=name, argv=argv, env=env, setup=server.setup, cwd=server.cwd, secrets=secret_values(argv, env)
    )


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
    draft = Draft(Arguments(_HEADS[engine]))
    for profile in chain(profiles, name):
        if profile.cmd is not None:
            pasted = parse_command(profile.cmd)
            draft = Draft(arguments(pasted.argv).with_full_names(engine), pasted.env)
        draft = draft.changed(engine, unset=profile.unset, flags=profile.flags, env=profile.env)
    return draft


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


def _changed(draft: Draft, change: ProfileChange, engine: str, profile: str) -> Draft:
    """The draft with an operator's change for one start."""
    for name in change.unset:
        if not draft.has(name):
            raise _bad_change(f"profile {profile} has no {name} to unset", f"it has {', '.join(draft.names())}")
    flags: dict[str, FlagValue] = {}
    for name, text in change.set.items():
        if FLAG_NAME.fullmatch(normal(name)) is None:
            raise _bad_change(f"{name!r} is no flag's name", "write it as in --set reasoning-parser=kimi_k2")
        flags[name] = _typed(text, draft.arguments, name)
    for name, text in change.env.items():
        if ENV_NAME.fullmatch(name) is None:
            raise _bad_change(f"{name!r} is no variable's name", "write it as in --env NCCL_PROTO=LL")
        if "\0" in text:
            raise _bad_change(f"the value of {name} holds a NUL byte", "no program can be given one")
    return draft.changed(engine, unset=change.unset, flags=flags, env=change.env)


def _typed(text: str, parts: Arguments, name: str) -> FlagValue:
    """A value as typed: `true`, `false`, else the text; words, where the flag holds several values already."""
    if "\0" in text:
        raise _bad_change(f"the value of {name} holds a NUL byte", "no program can be given one")
    if text in ("true", "false"):
        return text == "true"
    old = parts.find(name)
    if old is not None and len(old.values) > 1 and len(text.split()) > 1:
        return tuple(text.split())
    return text


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

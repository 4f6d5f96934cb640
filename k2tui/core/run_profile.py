"""A run's own configuration as something to begin from: its secrets put back, and which run to go back to."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from k2tui.core.effects import Command
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import Arguments, Part, arguments, identity
from k2tui.core.runs import Run
from k2tui.core.secrets import MASK, mask, masked_argv, masked_env
from k2tui.core.settings import LaunchProfile
from k2tui.core.settings_between import settings_between


@dataclass(frozen=True)
class StartedWith:
    """What a run was started with, as it can be run again."""

    arguments: Arguments
    env: dict[str, str]
    setup: str | None
    cwd: str | None


def run_named(runs: Sequence[Run], run_id: str, server: str) -> Run:
    """The run of this id. K2Error where the node and this side know none."""
    for run in runs:
        if run.run_id == run_id and not run.is_planned:
            return run
    raise K2Error(
        f"{server} has no run {run_id}",
        code="no_such_run",
        subject=server,
        hint=f"k2tui runs {server} lists those that are remembered",
        exit_code=ExitCode.MISSING,
    )


def started_with(run: Run, profiles: Sequence[LaunchProfile], replaced: Collection[str] = ()) -> StartedWith:
    """A run's command with the secrets that its directory does not keep, from `profiles`, by the names of their flags
    and variables. `replaced`: what a change gives or takes away anyway, by name. K2Error names what can't be filled in.
    """
    if not run.argv:
        raise K2Error(
            f"run {run.run_id} of {run.server} keeps no command, so it can't be started again",
            code="no_command",
            subject=run.server,
        )
    filled = _Filler(profiles, {identity(name) for name in replaced}, frozenset(replaced))
    found = StartedWith(
        filled.arguments(arguments(run.argv)), filled.env(dict(run.env)), filled.setup(run.setup), run.cwd
    )
    if filled.missing:
        names = ", ".join(filled.missing)
        raise K2Error(
            f"run {run.run_id} of {run.server} had a secret in {names}, which no run directory keeps and no profile of "
            "the config has",
            code="secret_unknown",
            subject=run.server,
            hint=f"put {names} into the profile, or give it with this start",
            exit_code=ExitCode.USAGE,
        )
    return found


def merged(of_node: Sequence[Run], kept: Sequence[Run]) -> tuple[Run, ...]:
    """What the node says of its runs, with those that only this side remembers; newest first, none only planned."""
    here = {run.run_id for run in of_node}
    runs = [run for run in (*of_node, *(run for run in kept if run.run_id not in here)) if not run.is_planned]
    return tuple(sorted(runs, key=lambda run: run.run_id.rpartition("-")[0], reverse=True))


def proved_before(runs: Sequence[Run]) -> Command | None:
    """The newest configuration whose effects were proved: what is the same in the next one need not be looked at
    again. None: nothing was proved."""
    verified = next(ways_back(runs), None)
    return None if verified is None else (verified.argv, dict(verified.env))


def ways_back(runs: Sequence[Run], live: Run | None = None) -> Iterator[Run]:
    """Runs that were verified, newest first; the live one in front when it was."""
    if live is not None and _is_verified(live):
        yield live
    for run in runs:
        if _is_verified(run) and (live is None or run.run_id != live.run_id):
            yield run


def ways_to_undo(runs: Sequence[Run], now: Run | None) -> Iterator[Run]:
    """Verified runs with another configuration than what runs, or ran last, newest first."""
    for run in runs:
        if _is_verified(run) and (now is None or (run.run_id != now.run_id and differs(run, now))):
            yield run


def differs(one: Run, other: Run) -> bool:
    """Were they started with another command, environment, directory or setup line?"""
    if (one.cwd, one.setup) != (other.cwd, other.setup):
        return True
    rows = settings_between((one.argv, dict(one.env)), (other.argv, dict(other.env)))
    return any(row.kind != " " for row in rows)


def _is_verified(run: Run) -> bool:
    return run.verdict is not None and run.verdict.verified and not run.is_planned


class _Filler:
    """Finds what stands behind a mask, in profiles whose masked text is the same."""

    def __init__(self, profiles: Sequence[LaunchProfile], flags: Collection[str], names: Collection[str]) -> None:
        self._profiles, self._flags, self._names = profiles, flags, names
        self.missing: list[str] = []

    def arguments(self, masked: Arguments) -> Arguments:
        """The same with every mask replaced, where it can be."""
        return replace(masked, head=self._head(masked.head), parts=tuple(map(self._part, masked.parts)))

    def env(self, masked: dict[str, str]) -> dict[str, str]:
        return {name: self._variable(name, value) for name, value in masked.items()}

    def setup(self, masked: str | None) -> str | None:
        if masked is None or MASK not in masked:
            return masked
        for profile in self._profiles:
            if profile.setup is not None and mask(profile.setup, profile.secrets) == masked:
                return profile.setup
        self.missing.append("the setup line")
        return masked

    def _head(self, head: tuple[str, ...]) -> tuple[str, ...]:
        if not any(MASK in token for token in head):
            return head
        for profile in self._profiles:
            if masked_argv(profile.argv, profile.secrets)[: len(head)] == head:
                return tuple(profile.argv[: len(head)])
        self.missing.append("the program")
        return head

    def _part(self, part: Part) -> Part:
        if not any(MASK in token for token in part.tokens):
            return part
        if part.name is not None and identity(part.name) in self._flags:
            return part
        for profile in self._profiles:
            real = arguments(profile.argv).parts
            shown = arguments(masked_argv(profile.argv, profile.secrets)).parts
            for known, masked in zip(real, shown, strict=False):
                if _is_same_flag(masked, part) and masked.values == part.values:
                    return replace(part, tokens=known.tokens)
        self.missing.append(f"--{part.name}" if part.name is not None else "an argument")
        return part

    def _variable(self, name: str, value: str) -> str:
        if MASK not in value or name in self._names:
            return value
        for profile in self._profiles:
            if name in profile.env and masked_env({name: profile.env[name]}, profile.secrets)[name] == value:
                return profile.env[name]
        self.missing.append(name)
        return value


def _is_same_flag(one: Part, other: Part) -> bool:
    if one.name is None or other.name is None:
        return one.name is other.name
    return identity(one.name) == identity(other.name)

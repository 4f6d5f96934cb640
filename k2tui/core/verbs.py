"""What a start, restart or stop tells while it goes on; one JSON line each under `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from k2tui.core.errors import ExitCode
from k2tui.core.launch import Launch
from k2tui.core.settings import LaunchProfile


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """What an operator changes for one start, on top of a profile."""

    profile: str | None = None
    set: Mapping[str, str] = field(default_factory=dict)
    """Flag to value as typed; `true` is a bare switch, `false` removes it."""
    unset: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What a start would do; nothing has been done."""

    server: str
    node: str
    profile: LaunchProfile
    command: str
    """The exact command, shell-quoted, secrets masked: what the sheet shows and `Y` copies."""
    replaces_run: str | None = None
    """Id of the live run that a restart would stop."""
    confirm_needed: str | None = None
    """The sentence why the node's name must be given; None when it need not."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VerbEvent:
    """One step of a verb."""

    type: str
    """preflight | stopping | stopped | started | phase | progress | link | ready | proved | failed | done."""
    server: str
    elapsed_s: float
    text: str
    """One sentence for a person."""
    launch: Launch | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    """More for programs; units in key names."""
    exit_code: ExitCode | None = None
    """Only on `done`."""

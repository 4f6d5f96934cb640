"""What a start, restart or stop tells while it goes on; one JSON line each under `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from k2tui.core.builds import Build
from k2tui.core.errors import ExitCode
from k2tui.core.launch import Launch
from k2tui.core.preflight import SettingCheck
from k2tui.core.settings import LaunchProfile


@dataclass(frozen=True, slots=True)
class ProfileChange:
    """What an operator changes for one start, on top of a profile."""

    profile: str | None = None
    run: str | None = None
    """Begin from what this run of the server was started with, instead of a profile: a run's id."""
    cmd: str | None = None
    """Begin from this pasted command line, instead of a profile."""
    set: Mapping[str, str] = field(default_factory=dict)
    """Flag to value as typed; `true` is a bare switch, `false` removes it."""
    unset: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


class OnFailure(Enum):
    """What follows a launch that failed, or did not show what it should."""

    ASK = "ask"
    """Leave it as it is and ask the operator."""
    ROLLBACK = "rollback"
    """Keep the evidence, then go back to the last verified configuration."""
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a restart is done."""

    drain_s: float = 0.0
    """How long running requests may go on before the stop; 0: none."""
    on_failure: OnFailure = OnFailure.ASK
    why: str = "restart"
    """start | restart | try | undo | rollback | adopt | matrix | ab: written into the run."""
    force: bool = False
    """Go on where the preflight says that it must fail."""


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
    sources: Mapping[str, str] = field(default_factory=dict)
    """Name of a flag (with dashes) or variable to who gave it: a profile's name, `this change`, `server`, `k2tui`."""
    checks: tuple[SettingCheck, ...] = ()
    """What is known of each flag and variable on the build that will run, from what is known now."""
    build: Build | None = None
    """The build that will run, when it was read already."""
    expects: tuple[str, ...] = ()
    """What will be looked at after the start, a few words each: `reasoning apart from content`."""
    back_to: str | None = None
    """The run whose configuration a roll-back would start; None when there is none, or it can't be."""
    no_way_back: str | None = None
    """Why a roll-back can't be done, in one sentence; None when it can."""
    undo_to: str | None = None
    """The newest verified run with another configuration than the one that runs: what an undo starts."""


@dataclass(frozen=True, slots=True)
class VerbEvent:
    """One step of a verb."""

    type: str
    """preflight | config | drain | evidence | stopping | stopped | seen | started | phase | progress | weights | link |
    ready | effect | proved | failed | rollback | done."""
    server: str
    elapsed_s: float
    text: str
    """One sentence for a person."""
    launch: Launch | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    """More for programs; units in key names."""
    exit_code: ExitCode | None = None
    """Only on `done`."""

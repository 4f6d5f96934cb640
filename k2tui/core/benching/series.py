"""A/B and matrix: one benchmark over several restarts of several configurations."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from k2tui.core.benching.plan import BenchPlan
from k2tui.core.errors import ExitCode
from k2tui.core.verbs import ProfileChange, VerbEvent


class Leave(Enum):
    """How the server is left at the end."""

    AS_FOUND = "as-found"
    BEST = "best"


class TrialState(Enum):
    """Where one restart of one configuration is."""

    WAITING = "waiting"
    LAUNCHING = "launching"
    MEASURING = "measuring"
    MEASURED = "measured"
    HUNG = "hung"
    """Its launch made no progress within its limit; evidence was kept."""
    FAILED = "failed"
    """It crashed, was refused, or could not be measured."""
    SKIPPED = "skipped"
    """An earlier trial of the same configuration hung or failed, or the pre-screen did."""


@dataclass(frozen=True, slots=True)
class Arm:
    """One configuration of a series."""

    label: str
    """What makes it different: `NCCL_PROTO=LL NCCL_ALGO=Ring`, or a profile's name."""
    change: ProfileChange
    """On top of nothing but what it names: its `profile` is always set."""


@dataclass(frozen=True, slots=True)
class SeriesPlan:
    """An unattended series of restarts; nothing has been done."""

    series_id: str
    """YYYYMMDDTHHMMSSZ-xxxx."""
    name: str
    """The matrix's name, or `A/B`."""
    server: str
    node: str
    arms: tuple[Arm, ...]
    restarts: int = 3
    """Of each arm: the replicates."""
    order: tuple[int, ...] = ()
    """The arm of each trial, in the order in which they are made: each round has every arm once, shuffled."""
    launch_limit_s: float = 360.0
    leave: Leave = Leave.AS_FOUND
    found_run: str | None = None
    """Id of the run that was there at the beginning; None: nothing ran, and nothing is left running."""
    bench: BenchPlan = BenchPlan()
    prescreen: bool = False
    seed: int = 0
    launch_s: float | None = None
    """What a launch usually takes here; None: not known."""
    confirm_needed: str | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One restart of one arm, and its measurement."""

    number: int
    arm: int
    state: TrialState = TrialState.WAITING
    run_id: str | None = None
    bench_id: str | None = None
    decode_tps: float | None = None
    valid: bool | None = None
    """None before it was measured."""
    why: str | None = None
    """Why it hung, failed, was skipped or is not valid; one sentence."""
    elapsed_s: float | None = None
    workload_key: str | None = None
    """Of its benchmark: speeds of unequal work are never ranked."""


class SeriesStage(Enum):
    """Where a series is."""

    RUNNING = "running"
    LEAVING = "leaving"
    """All trials are done; the server is put as it is to be left."""
    DONE = "done"
    STOPPED = "stopped"
    """The operator ended it before its end."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class SeriesState:
    """A series as it stands; kept on this side after each step, so that a killed k2tui can go on."""

    plan: SeriesPlan
    trials: tuple[Trial, ...]
    stage: SeriesStage = SeriesStage.RUNNING
    began_at: float = 0.0
    """Unix time."""
    updated_at: float = 0.0
    left: str | None = None
    """How the server was left, in one sentence; None before that."""
    prescreened: tuple[tuple[str, str], ...] = ()
    """(arm's label, what the pre-screen said)."""
    owner: str | None = None
    """host, pid and start of the k2tui that makes it; None: nobody now."""


@dataclass(frozen=True, slots=True)
class SeriesEvent:
    """One step of a series."""

    type: str
    """planned | prescreen | trial | launch | bench | measured | skipped | leaving | done."""
    state: SeriesState
    elapsed_s: float
    text: str
    step: VerbEvent | None = None
    """A step of the restart that goes on now."""
    data: dict[str, object] = field(default_factory=dict)
    exit_code: ExitCode | None = None
    """Only on `done`."""

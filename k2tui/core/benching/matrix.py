"""A series of restarts: which configurations, in which order, what it costs, and what comes next."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.series import Arm, Leave, SeriesPlan, SeriesState, Trial, TrialState
from k2tui.core.errors import ExitCode, K2Error, no_such
from k2tui.core.profiles import draft_of
from k2tui.core.secrets import mask
from k2tui.core.settings import FlagValue, MatrixSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange

_WORDS = 40
"""Characters of one setting in a label."""
_BEGUN = (TrialState.LAUNCHING, TrialState.MEASURING)
_BAD = (TrialState.HUNG, TrialState.FAILED)

_Setting = tuple[str, FlagValue, bool]
"""A name, its value in one configuration, and whether it is a variable."""


def arms_of(matrix: MatrixSettings, settings: Settings) -> tuple[Arm, ...]:
    """The configurations of a matrix: its profiles, or every combination of its values on top of its profile.

    An empty value of a variable, and False of a flag, leave it out. Raises K2Error where its server or a profile is
    not in the settings.
    """
    server = _server(matrix, settings)
    if matrix.profiles:
        return profile_arms(matrix.profiles)
    base = matrix.profile or server.profile
    if base is None:
        raise K2Error(
            f"{server.name} has no profile",
            code="no_profile",
            subject=server.name,
            hint=f"give it one, or give [matrix.{matrix.name}] one",
            exit_code=ExitCode.USAGE,
        )
    has = draft_of(settings.profiles, base, server.engine).has
    axes: list[list[_Setting]] = [[(name, value, True) for value in values] for name, values in matrix.env.items()]
    axes += [[(name, value, False) for value in values] for name, values in matrix.flags.items()]
    telling = [len(axis) > 1 for axis in axes]
    arms = []
    for chosen in product(*axes):
        varied = [setting for setting, tells in zip(chosen, telling, strict=True) if tells]
        words = [_words(*setting) for setting in varied or chosen]
        gone = [name for name, value, is_env in chosen if is_env and value == "" and has(name)]
        change = ProfileChange(
            profile=base,
            set={name: _typed(value) for name, value, is_env in chosen if not is_env},
            unset=tuple(gone),
            env={name: str(value) for name, value, is_env in chosen if is_env and value != ""},
        )
        arms.append(Arm(" ".join(words) or base, change))
    return _told_apart(arms)


def profile_arms(profiles: Sequence[str]) -> tuple[Arm, ...]:
    """Whole profiles as configurations: what an A/B compares."""
    return _told_apart([Arm(name, ProfileChange(profile=name)) for name in profiles])


def arm_orders(arms: int, restarts: int, seed: int) -> tuple[int, ...]:
    """The arm of each trial: `restarts` rounds, each with every arm once, each shuffled.

    So a drift of the machine falls on all arms alike (a randomised block design), and an end before the end leaves
    about as many trials of each.
    """
    draw = random.Random(seed)
    order: list[int] = []
    for _ in range(restarts):
        block = list(range(arms))
        draw.shuffle(block)
        order += block
    return tuple(order)


def matrix_plan(
    matrix: MatrixSettings,
    settings: Settings,
    *,
    series_id: str,
    seed: int,
    found_run: str | None = None,
    launch_s: float | None = None,
    confirm_needed: str | None = None,
) -> SeriesPlan:
    """What a matrix of the config would do. Raises as `arms_of` does."""
    return series_plan(
        arms_of(matrix, settings),
        series_id=series_id,
        name=matrix.name,
        server=matrix.server,
        node=_server(matrix, settings).node,
        seed=seed,
        restarts=matrix.restarts,
        launch_limit_s=matrix.launch_limit_s,
        leave=Leave(matrix.leave),
        bench=BenchPlan(max_tokens=matrix.max_tokens, repeats=matrix.repeats),
        prescreen=matrix.prescreen,
        found_run=found_run,
        launch_s=launch_s,
        confirm_needed=confirm_needed,
    )


def series_plan(
    arms: Sequence[Arm],
    *,
    series_id: str,
    name: str,
    server: str,
    node: str,
    seed: int,
    restarts: int = 3,
    launch_limit_s: float = 360.0,
    leave: Leave = Leave.AS_FOUND,
    bench: BenchPlan | None = None,
    prescreen: bool = False,
    found_run: str | None = None,
    launch_s: float | None = None,
    confirm_needed: str | None = None,
) -> SeriesPlan:
    """A series over these configurations, its order drawn by `seed`."""
    return SeriesPlan(
        series_id=series_id,
        name=name,
        server=server,
        node=node,
        arms=tuple(arms),
        restarts=restarts,
        order=arm_orders(len(arms), restarts, seed),
        launch_limit_s=launch_limit_s,
        leave=leave,
        found_run=found_run,
        bench=bench or BenchPlan(),
        prescreen=prescreen,
        seed=seed,
        launch_s=launch_s,
        confirm_needed=confirm_needed,
    )


def cost_s(plan: SeriesPlan) -> float | None:
    """Seconds that all of it takes when nothing hangs, the launch that leaves the server included; None: not known."""
    if plan.launch_s is None:
        return None
    last = plan.launch_s if plan.leave is Leave.BEST or plan.found_run is not None else 0.0
    return len(plan.order) * (plan.launch_s + _measuring_s(plan.bench)) + last


def cost_sentence(plan: SeriesPlan) -> str:
    """`6 configurations × 3 restarts, about 2 h 10`."""
    what = f"{_count(len(plan.arms), 'configuration')} × {_count(plan.restarts, 'restart')}"
    seconds = cost_s(plan)
    return f"{what}; time not known: no launch of it is remembered" if seconds is None else f"{what}, {_about(seconds)}"


def begun(plan: SeriesPlan, *, began_at: float, owner: str | None = None) -> SeriesState:
    """A series of which nothing was done yet; trials count from 1. `began_at`: unix time."""
    trials = tuple(Trial(number, arm) for number, arm in enumerate(plan.order, 1))
    return SeriesState(plan, trials, began_at=began_at, updated_at=began_at, owner=owner)


def next_trial(state: SeriesState) -> Trial | None:
    """What is to be made next: a trial that was interrupted, else the first that waits. None: all are over."""
    return next(
        (trial for trial in state.trials if trial.state in _BEGUN),
        next((trial for trial in state.trials if trial.state is TrialState.WAITING), None),
    )


def with_trial(state: SeriesState, trial: Trial, *, now: float) -> SeriesState:
    """The series with this trial in the place of the one with its number.

    Where it hung or failed and its configuration was never measured, what still waits of that is skipped: it would
    most likely do the same, a limit of minutes each time. `now`: unix time.
    """
    trials = tuple(trial if old.number == trial.number else old for old in state.trials)
    state = replace(state, trials=trials, updated_at=now)
    was_measured = any(one.arm == trial.arm and one.state is TrialState.MEASURED for one in trials)
    if trial.state not in _BAD or was_measured:
        return state
    what = "hung" if trial.state is TrialState.HUNG else "failed"
    return with_arm_skipped(state, trial.arm, f"its start in trial {trial.number} {what}", now=now)


def with_arm_skipped(state: SeriesState, arm: int, why: str, *, now: float) -> SeriesState:
    """The series without the trials of this configuration that still wait."""
    trials = tuple(
        replace(trial, state=TrialState.SKIPPED, why=why)
        if trial.arm == arm and trial.state is TrialState.WAITING
        else trial
        for trial in state.trials
    )
    return replace(state, trials=trials, updated_at=now)


def _server(matrix: MatrixSettings, settings: Settings) -> ServerSettings:
    if matrix.server not in settings.servers:
        raise no_such("server", matrix.server, settings.servers)
    return settings.servers[matrix.server]


def _words(name: str, value: FlagValue, is_env: bool) -> str:
    """One setting as a label tells it: `NCCL_PROTO=LL`, `--tp-size 8`, `without --x`."""
    if is_env:
        return _short(f"{name}={value}") if value != "" else f"without {name}"
    if isinstance(value, bool):
        return f"--{name}" if value else f"without --{name}"
    return _short(f"--{name} {_typed(value)}")


def _short(text: str) -> str:
    text = mask(text)
    return text if len(text) <= _WORDS else f"{text[: _WORDS - 1]}…"


def _typed(value: FlagValue) -> str:
    """A flag's value as an operator would type it for one start."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return str(value)


def _told_apart(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """The same arms; labels that are the same get a number."""

    def numbered() -> Iterator[Arm]:
        taken: set[str] = set()
        for arm in arms:
            label, number = arm.label, 1
            while label in taken:
                number += 1
                label = f"{arm.label} ({number})"
            taken.add(label)
            yield replace(arm, label=label)

    return tuple(numbered())


def _measuring_s(bench: BenchPlan) -> float:
    """Seconds that one benchmark of this plan takes at most, about."""
    return bench.hold_s * len(bench.concurrencies) if bench.procedure is Procedure.SWEEP else bench.budget_s


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _about(seconds: float) -> str:
    """`about 3 min`, `about 45 min`, `about 2 h 10`: no finer than anyone could foresee."""
    minutes = max(1, round(seconds / 60))
    if minutes < 10:
        return f"about {minutes} min"
    minutes = round(minutes / 5) * 5
    if minutes < 60:
        return f"about {minutes} min"
    hours, rest = divmod(round(minutes / 10) * 10, 60)
    return f"about {hours} h {rest}" if rest else f"about {hours} h"

"""A/B and matrix: planned, made, gone on with, listed."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

from k2tui.commands.bench_run import reached
from k2tui.commands.narrow import only_server
from k2tui.commands.output import Output
from k2tui.commands.verbs import event_json
from k2tui.commands.wires import Wires
from k2tui.core.benching.matrix import cost_sentence
from k2tui.core.benching.ranking import ranked
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.series import SeriesEvent, SeriesPlan, SeriesStage, SeriesState
from k2tui.core.benching.series_document import state_json
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import Settings
from k2tui.core.words import UNKNOWN
from k2tui.services.benching.owners import lives
from k2tui.services.fleet import Fleet

HEAD = ("BEGAN", "ID", "NAME", "SERVER", "STAGE", "TRIALS", "LEFT")


def main(args: argparse.Namespace, wires: Wires, output: Output) -> int:
    """Do what `args.action` names."""
    return asyncio.run(_run(args, replace(wires.settings(), probe_generate="never"), wires, output))


async def _run(args: argparse.Namespace, settings: Settings, wires: Wires, output: Output) -> int:
    if args.action == "series":
        return await _list(settings, wires, output)
    name = await _server_of(args, settings, wires)
    settings = only_server(settings, name)
    fleet = wires.fleet(settings)
    try:
        await reached(fleet, settings, [name])
        await fleet.runs(name)
        if args.action == "resume":
            verb = fleet.go_on_series if args.go_on else fleet.end_series
            return await _stream(verb(args.series, confirm=args.confirm), fleet, output)
        plan = _plan(args, fleet)
        if args.dry_run:
            return _dry_run(plan, output)
        return await _stream(fleet.run_series(plan, confirm=args.confirm), fleet, output)
    finally:
        await fleet.close()


async def _server_of(args: argparse.Namespace, settings: Settings, wires: Wires) -> str:
    """The server that the series is about."""
    if args.action == "ab":
        return str(args.server)
    if args.action == "matrix":
        if args.name not in settings.matrices:
            raise K2Error(
                f"no matrix {args.name!r} in the config",
                code="no_such_matrix",
                subject=args.name,
                hint=f"matrices: {', '.join(settings.matrices) or 'none'}; [matrix.{args.name}] would be one",
                exit_code=ExitCode.MISSING,
            )
        return settings.matrices[args.name].server
    fleet = wires.fleet(settings)
    try:
        fitting = [state for state in await fleet.serieses() if args.series in state.plan.series_id]
    finally:
        await fleet.close()
    if len(fitting) != 1:
        raise K2Error(
            f"{'several series are' if fitting else 'no series is'} called {args.series}",
            code="no_such_series",
            subject=args.series,
            hint="k2tui bench series lists them",
            exit_code=ExitCode.MISSING,
        )
    return fitting[0].plan.server


def _plan(args: argparse.Namespace, fleet: Fleet) -> SeriesPlan:
    if args.action == "matrix":
        return fleet.plan_matrix(args.name)
    profiles = tuple(args.profiles)
    if len(set(profiles)) < len(profiles) or len(profiles) < 2:
        said = "names a profile twice" if len(profiles) > 1 else f"has {profiles[0]} alone"
        raise K2Error(
            f"an A/B of {args.server} needs two profiles or more, and this one {said}",
            code="usage",
            subject=args.server,
            hint=f"profiles: {', '.join(fleet.settings.profiles) or 'none'}",
            exit_code=ExitCode.USAGE,
        )
    return fleet.plan_ab(args.server, profiles, restarts=args.restarts, leave=args.leave)


def _dry_run(plan: SeriesPlan, output: Output) -> int:
    if output.as_json:
        output.json(
            {
                "type": "planned",
                "text": cost_sentence(plan),
                "server": plan.server,
                "node": plan.node,
                "arms": [arm.label for arm in plan.arms],
                "order": [plan.arms[arm].label for arm in plan.order],
                "restarts": plan.restarts,
                "leave": plan.leave.value,
                "confirm_needed": plan.confirm_needed,
            }
        )
        return int(ExitCode.DONE)
    output.line(f"{plan.name} on {plan.server}: {cost_sentence(plan)}; it is left {plan.leave.value}")
    for number, arm in enumerate(plan.order, 1):
        output.line(f"  {number:>3}  {plan.arms[arm].label}")
    if plan.restarts == 1:
        output.line("  one restart of each gives no verdict: another start may differ by more")
    if plan.confirm_needed is not None:
        output.line(f"  needs --confirm {plan.node}: {plan.confirm_needed}")
    return int(ExitCode.DONE)


async def _stream(steps: AsyncIterator[SeriesEvent], fleet: Fleet, output: Output) -> int:
    code, state = ExitCode.BAD, None
    try:
        async with aclosing(steps) as following:  # type: ignore[type-var]
            async for step in following:
                state = step.state
                told = await _tell(step, fleet, output)
                code = code if told is None else told
    except asyncio.CancelledError:  # ctrl-c
        if state is not None:
            verb = f"k2tui bench resume {state.plan.series_id}"
            output.aside(
                f"the series is kept: {verb} --continue goes on, {verb} --end leaves {state.plan.server} as found"
            )
        raise
    return int(code)


async def _tell(step: SeriesEvent, fleet: Fleet, output: Output) -> ExitCode | None:
    """Say it; the exit code where it was the last step."""
    if output.as_json:
        output.json(_document(step))
    else:
        tell = output.line if is_milestone(step) else output.live
        tell(f"{step.elapsed_s:7.0f} s  {step.type:<9}  {step.text}")
    if step.exit_code is not None:
        await _tell_ranked(step, fleet, output)
    return step.exit_code


_MILESTONES = frozenset({"started", "ready", "failed", "rollback", "link", "evidence"})
"""Of a restart inside a series: what stays on the screen. The trial's own line says what it came to."""


def is_milestone(step: SeriesEvent) -> bool:
    """Whether it gets a line of its own; the others, two hundred in a series of four, are overwritten by the next."""
    if step.step is not None:
        return step.step.type in _MILESTONES
    return step.type != "bench" or "step" not in step.data


def _document(step: SeriesEvent) -> dict[str, object]:
    document: dict[str, object] = {
        "type": step.type,
        "series": step.state.plan.series_id,
        "server": step.state.plan.server,
        "elapsed_s": step.elapsed_s,
        "text": step.text,
        **step.data,
    }
    if step.step is not None:
        document["step"] = event_json(step.step)
    if step.exit_code is not None:
        document["exit_code"] = int(step.exit_code)
        document["state"] = state_json(step.state)
    return document


async def _tell_ranked(step: SeriesEvent, fleet: Fleet, output: Output) -> None:
    state = step.state
    results: tuple[BenchResult, ...] = tuple(
        result for result in await fleet.benches(state.plan.server) if result.series_id == state.plan.series_id
    )
    if not output.as_json:
        ranking = ranked(state, results)
        for line in ranking.lines():
            if line != ranking.sentence or line not in step.text:  # the last step may have said it
                output.line(line)


async def _list(settings: Settings, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(settings)
    try:
        states = await fleet.serieses()
    finally:
        await fleet.close()
    if output.as_json:
        output.json({"series": [state_json(state) for state in states]})
    elif states:
        output.table(HEAD, [_row(state) for state in states])
    else:
        output.line("no series was made yet; k2tui bench ab and k2tui bench matrix make one")
    return int(ExitCode.DONE)


def _row(state: SeriesState) -> list[str]:
    done = sum(1 for trial in state.trials if trial.state.value not in ("waiting", "launching", "measuring"))
    stage = state.stage.value
    if state.stage in (SeriesStage.RUNNING, SeriesStage.LEAVING) and (
        state.owner is None or lives(state.owner) is False
    ):
        stage = "interrupted"
    return [
        time.strftime("%Y-%m-%d %H:%M", time.localtime(state.began_at)),
        state.plan.series_id,
        state.plan.name,
        state.plan.server,
        stage,
        f"{done}/{len(state.trials)}",
        state.left or UNKNOWN,
    ]

"""`k2tui start`, `restart` and `stop`: the keys' verbs, as a stream of lines."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

from k2tui.commands.narrow import narrowed
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.launch import Progress
from k2tui.core.settings import Settings
from k2tui.core.verbs import LaunchPlan, ProfileChange, VerbEvent
from k2tui.services.fleet import Fleet

BAR_CELLS = 24


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Run the verb that `args.command` names."""
    output = Output(as_json=args.json)
    # A verb asks for the answers that it needs; one more on doubt would only keep a busy server busy.
    settings = replace(narrowed(wires.settings(), args.server), probe_generate="never")
    return asyncio.run(_run(args, settings, wires, output))


async def _run(args: argparse.Namespace, settings: Settings, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(settings)
    try:
        if args.command != "stop" and args.dry_run:
            return _dry_run(fleet.plan(args.server, change_of(args)), output)
        if args.server in settings.servers:
            await fleet.link(settings.servers[args.server].node).connect()
        await fleet.open()
        await fleet.settle()
        return await _stream(_steps(args, fleet), output, until_started=args.command != "stop" and args.no_wait)
    finally:
        await fleet.close()


def _steps(args: argparse.Namespace, fleet: Fleet) -> AsyncIterator[VerbEvent]:
    if args.command == "stop":
        return fleet.stop(args.server, confirm=args.confirm)
    verb = fleet.start if args.command == "start" else fleet.restart
    return verb(args.server, change_of(args), confirm=args.confirm, verify=not args.no_verify)


async def _stream(steps: AsyncIterator[VerbEvent], output: Output, *, until_started: bool) -> int:
    async for step in steps:
        if output.as_json:
            output.json(event_json(step))
        elif step.type == "progress" and step.launch is not None and step.launch.progress is not None:
            output.live(bar(step.launch.progress))
        else:
            output.line(f"{step.elapsed_s:7.1f} s  {step.type:<9}  {step.text}")
        if step.exit_code is not None:
            return int(step.exit_code)
        if until_started and step.type == "started":
            return int(ExitCode.DONE)
    return int(ExitCode.BAD)


def _dry_run(plan: LaunchPlan, output: Output) -> int:
    if output.as_json:
        output.json(
            {
                "type": "plan",
                "server": plan.server,
                "node": plan.node,
                "profile": plan.profile.name,
                "command": plan.command,
                "setup": plan.profile.setup,
                "cwd": plan.profile.cwd,
                "confirm_needed": plan.confirm_needed,
                "warnings": list(plan.warnings),
            }
        )
        return int(ExitCode.DONE)
    output.line(f"on {plan.node}, profile {plan.profile.name}; nothing was done")
    for name, value in (("cwd", plan.profile.cwd), ("setup", plan.profile.setup)):
        if value is not None:
            output.line(f"  {name}: {value}")
    output.line(f"  {plan.command}")
    for warning in (*plan.warnings, *((plan.confirm_needed,) if plan.confirm_needed else ())):
        output.line(f"  ! {warning}")
    return int(ExitCode.DONE)


def change_of(args: argparse.Namespace) -> ProfileChange:
    """What `--profile`, `--set`, `--unset` and `--env` ask for."""
    return ProfileChange(
        profile=args.profile,
        set=dict(_pair(text, "--set") for text in args.set),
        unset=tuple(args.unset),
        env=dict(_pair(text, "--env") for text in args.env),
    )


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or (not equals and option == "--env"):
        raise K2Error(
            f"{option} {text!r} is not NAME=VALUE",
            code="usage",
            hint=f"for example {option} " + ("tp-size=8" if option == "--set" else "NCCL_PROTO=LL"),
            exit_code=ExitCode.USAGE,
        )
    return name, value if equals else "true"


def bar(progress: Progress) -> str:
    """`[############------------]  50%  32/64 shards  Multi-thread loading shards`."""
    full = round(progress.fraction * BAR_CELLS)
    cells = "#" * full + "-" * (BAR_CELLS - full)
    return f"[{cells}] {progress.fraction:4.0%}  {progress.done}/{progress.total} {progress.unit}  {progress.label}"


def event_json(step: VerbEvent) -> dict[str, object]:
    """One step for programs."""
    launch = step.launch
    document: dict[str, object] = {
        "type": step.type,
        "server": step.server,
        "elapsed_s": step.elapsed_s,
        "text": step.text,
        **step.data,
    }
    if launch is not None:
        document.setdefault("kind", launch.kind.value)
        document.setdefault("phase", launch.phase.value)
    if step.exit_code is not None:
        document["exit_code"] = int(step.exit_code)
    return document

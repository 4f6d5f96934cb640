"""The commands that change servers: the keys' verbs, as a stream of lines."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from k2tui.commands.dry_run import dry_run
from k2tui.commands.narrow import narrowed, only_servers
from k2tui.commands.output import Output
from k2tui.commands.undo import undo_of
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.launch import Progress
from k2tui.core.settings import ServerSettings, Settings
from k2tui.core.several import Several
from k2tui.core.verbs import Manner, OnFailure, ProfileChange, VerbEvent
from k2tui.services.fleet import Fleet

BAR_CELLS = 24
_HALF_DONE = ("drain", "evidence", "stopping", "stopped", "seen", "rollback")
"""The last step of a restart whose next run is planned and not begun."""
STARTS = ("start", "restart", "undo")
"""Commands that end in a launch of their own choosing."""


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Run the verb that `args.command` names."""
    output = Output(as_json=args.json)
    names = names_of(args)
    settings = wires.settings()
    settings = narrowed(settings, names[0]) if len(names) == 1 else only_servers(settings, names)
    # A verb asks for the answers that it needs; one more on doubt would only keep a busy server busy.
    return asyncio.run(_run(args, names, replace(settings, probe_generate="never"), wires, output))


def names_of(args: argparse.Namespace) -> tuple[str, ...]:
    """The servers that a command is about, each once."""
    return (args.server,) if isinstance(args.server, str) else tuple(dict.fromkeys(args.server))


async def _run(args: argparse.Namespace, names: Sequence[str], settings: Settings, wires: Wires, output: Output) -> int:
    change = change_of(args) if args.command in ("start", "restart") else ProfileChange()
    if len(names) > 1:
        _refuse_for_several(args)
    fleet = wires.fleet(settings)
    try:
        if args.command in STARTS and args.dry_run:
            return await dry_run(fleet, names, change, output, undo=args.command == "undo")
        for node in dict.fromkeys(settings.servers[name].node for name in names if name in settings.servers):
            await fleet.link(node).connect()
        await fleet.open()
        await fleet.settle()
        until_started = args.command in STARTS and args.no_wait
        if len(names) > 1:
            return await _several(args, fleet, names, change, output)
        steps = await _steps(args, fleet, names[0], change)
        plans = args.command in ("restart", "undo", "resume")
        return await _stream(steps, output, until_started=until_started, plans=plans)
    finally:
        await fleet.close()


async def _steps(args: argparse.Namespace, fleet: Fleet, name: str, change: ProfileChange) -> AsyncIterator[VerbEvent]:
    match args.command:
        case "stop":
            return fleet.stop(name, confirm=args.confirm)
        case "verify":
            return fleet.verify(name)
        case "adopt":
            return fleet.adopt(name, confirm=args.confirm)
        case "resume":
            verb = fleet.go_on if args.go_on else fleet.take_back
            return verb(name, confirm=args.confirm)
        case "undo":
            change = await undo_of(fleet, name)
    manner = manner_of(args, fleet.server(name).settings)
    launch = fleet.start if args.command == "start" else fleet.restart
    return launch(name, change, confirm=args.confirm, verify=not args.no_verify, manner=manner)


def manner_of(args: argparse.Namespace, server: ServerSettings) -> Manner:
    """How it is done: as the options say, and the config where they say nothing."""
    chosen = args.on_failure or server.on_failure
    drain_s = server.drain_s if args.drain is None else args.drain
    return Manner(drain_s=drain_s, on_failure=OnFailure(chosen), why=args.command, force=args.force)


async def _several(
    args: argparse.Namespace, fleet: Fleet, names: Sequence[str], change: ProfileChange, output: Output
) -> int:
    """One after the other, or all at once; what was not touched is said at the end."""
    several = Several(tuple(names))
    manner = manner_of(args, fleet.server(names[0]).settings)
    confirmed = () if args.confirm is None else args.confirm.split(",")
    changes = dict.fromkeys(names, change)
    async for step in fleet.restart_many(changes, confirm=confirmed, parallel=args.parallel, manner=manner):
        several = several.after(step)
        _tell(step, output, named=True)
    if output.as_json:
        document: dict[str, object] = {
            "type": "all",
            "text": several.sentence,
            "verified": list(several.verified),
            "failed": list(several.failed),
            "untouched": list(several.untouched),
            "exit_code": int(several.code),
        }
        output.json(document)
    else:
        output.line(several.sentence)
    return int(several.code)


def _refuse_for_several(args: argparse.Namespace) -> None:
    asked = {"--run": args.run is not None, "--no-wait": args.no_wait, "--no-verify": args.no_verify}
    for option, given in asked.items():
        if given:
            raise _usage(f"{option} is for one server", "restart them one by one, or leave it out")


async def _stream(steps: AsyncIterator[VerbEvent], output: Output, *, until_started: bool, plans: bool) -> int:
    """`plans`: a restart, whose next run is written down before anything is stopped."""
    last: VerbEvent | None = None
    try:
        async for step in steps:
            last = step
            _tell(step, output)
            if step.exit_code is not None:
                return int(step.exit_code)
            if until_started and step.type == "started":
                return int(ExitCode.DONE)
    except asyncio.CancelledError:
        if plans and last is not None and last.type in _HALF_DONE:
            ways = f"k2tui resume {last.server} --continue ends it, --undo takes it back"
            output.aside(f"the restart of {last.server} is half done: {ways}")
        raise
    return int(ExitCode.BAD)


def _tell(step: VerbEvent, output: Output, *, named: bool = False) -> None:
    if output.as_json:
        output.json(event_json(step))
        return
    if step.type == "progress" and step.launch is not None and step.launch.progress is not None:
        if not named:  # several bars on one line say nothing
            output.live(bar(step.launch.progress))
        return
    who = f"{step.server}  " if named else ""
    output.line(f"{step.elapsed_s:7.1f} s  {who}{step.type:<9}  {step.text}")
    hint = step.data.get("hint")
    if step.type == "done" and hint:
        output.line(f"{'':9}  {hint}")
    if isinstance(step.data.get("back_to"), str) and step.exit_code is ExitCode.BAD and "is_back" not in step.data:
        output.line(f"{'':9}  it is left as it is; k2tui restart {step.server} --run {step.data['back_to']} goes back")


def change_of(args: argparse.Namespace) -> ProfileChange:
    """What `--profile`, `--run`, `--cmd`, `--set`, `--unset` and `--env` ask for."""
    beginnings = {"--profile": args.profile, "--run": args.run, "--cmd": args.cmd}
    given = [option for option, value in beginnings.items() if value is not None]
    if len(given) > 1:
        raise _usage(f"{' and '.join(given)} both say what to begin from", "give one of them")
    return ProfileChange(
        profile=args.profile,
        run=args.run,
        cmd=None if args.cmd is None else _command(args.cmd),
        set=dict(_pair(text, "--set") for text in args.set),
        unset=tuple(args.unset),
        env=dict(_pair(text, "--env") for text in args.env),
    )


def _command(path: str) -> str:
    """The command line in a file, or on standard input: it may hold secrets, so it is no argument."""
    try:
        if path == "-":
            return sys.stdin.read()
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise _usage(f"--cmd {path} can't be read: {why}", "name a file with one command line, or -") from None


def _pair(text: str, option: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or (not equals and option == "--env"):
        example = "tp-size=8" if option == "--set" else "NCCL_PROTO=LL"
        raise _usage(f"{option} {text!r} is not NAME=VALUE", f"for example {option} {example}")
    return name, value if equals else "true"


def _usage(message: str, hint: str) -> K2Error:
    return K2Error(message, code="usage", hint=hint, exit_code=ExitCode.USAGE)


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

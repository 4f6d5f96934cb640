"""`k2tui logs SERVER`: the log of this run or of an earlier one, and on as it grows."""

from __future__ import annotations

import argparse
import asyncio

from k2tui.commands.narrow import only_server
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.lines import LineSplitter
from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.core.settings import Settings
from k2tui.services.doors import NodeLink, RealClock
from k2tui.services.fleet_events import NodeTeller
from k2tui.services.follow import LogFollower, log_size, read_range
from k2tui.services.node_watch import NodeWatch
from k2tui.services.runs import RunKeeper, RunScripts

READ_BYTES = 1 << 20


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Print the log."""
    settings = only_server(wires.settings(), args.server)
    return asyncio.run(_run(args, settings, wires, Output(as_json=args.json)))


async def _run(args: argparse.Namespace, settings: Settings, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(settings)
    server = settings.servers[args.server]
    link = fleet.link(server.node)
    try:
        await link.connect()
        path = server.log
        if path is None or args.run is not None:
            keeper = RunKeeper(link, settings.nodes[server.node], RunScripts(wires.script))
            path = _chosen(await keeper.scan(), args.server, args.run).log_path
        if args.follow:
            await _follow(link, wires, path, output)
        else:
            await _print(link, wires, path, output)
        return int(ExitCode.DONE)
    finally:
        await fleet.close()


def _chosen(runs: tuple[Run, ...], server: str, run_id: str | None) -> Run:
    """The newest run of the server, or the one that was named (a part of its id will do)."""
    own = [run for run in runs if run.server == server]
    wanted = own if run_id is None else [run for run in own if run_id in run.run_id]
    if not wanted:
        known = ", ".join(run.run_id for run in own[:5]) or "none"
        raise K2Error(
            f"{server} has no run" + ("" if run_id is None else f" {run_id}"),
            code="no_such_run",
            subject=server,
            hint=f"runs kept there: {known}",
            exit_code=ExitCode.MISSING,
        )
    return wanted[0]


async def _print(link: NodeLink, wires: Wires, path: str, output: Output) -> None:
    _, size = await log_size(link, wires.script("log_size"), path)
    splitter = LineSplitter()
    offset = 0
    while offset < size:
        data = await read_range(link, wires.script("read"), path, offset, min(READ_BYTES, size - offset))
        if not data:
            break
        offset += len(data)
        _say(splitter.feed(data), output)
    _say(splitter.flush(), output)


async def _follow(link: NodeLink, wires: Wires, path: str, output: Output) -> None:
    """For ever, over lost connections too; what happens to the connection is said aside."""
    splitter = LineSplitter()
    follower = LogFollower(link, wires.script("follow"), path, clock=RealClock())
    teller = NodeTeller(link.name)
    closing: list[asyncio.Task[None]] = []

    def link_changed() -> None:
        told = teller.of_link(watch.state)
        if told is not None:
            output.aside(f"{told[0]}: {told[1]}")
        if watch.state.phase is LinkPhase.BLOCKED:
            closing.append(asyncio.ensure_future(follower.close()))

    watch = NodeWatch(link, wires.script("probe"), RealClock(), link_changed)
    teller.of_link(link.state)
    watch.start()
    try:
        async for chunk in follower.chunks():
            if chunk.event in ("missing", "denied", "not-a-file"):
                raise K2Error(
                    f"{link.name}: {path} is {chunk.event.replace('-', ' ')}",
                    code="no_log",
                    subject=path,
                    exit_code=ExitCode.MISSING,
                )
            if chunk.event is not None:  # another file, or the same one cut: what was half a line stays one
                _say(splitter.flush(), output)
            _say(splitter.feed(chunk.data), output)
        await link.connect()  # it is blocked: this says why
    finally:
        await follower.close()
        await watch.close()


def _say(lines: list[str], output: Output) -> None:
    for line in lines:
        if output.as_json:
            output.json({"type": "line", "text": line})
        else:
            output.line(line)

"""`k2tui doctor [NODE…]`: the way to each node, what is there, and what to do about what is not."""

from __future__ import annotations

import argparse
import asyncio

from k2tui.commands.narrow import only_nodes
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode
from k2tui.core.settings import Settings
from k2tui.services.doctor import Finding, examine
from k2tui.services.doors import RealClock

MARK = {True: "ok", False: "BAD", None: "-"}


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Examine the nodes. Exit 0 when all is well, 4 when no node could be reached, else 1."""
    settings = only_nodes(wires.settings(), args.nodes)
    return asyncio.run(_run(settings, wires, Output(as_json=args.json)))


async def _run(settings: Settings, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(settings)
    try:
        reports = await asyncio.gather(
            *(
                examine(
                    fleet.link(name),
                    node,
                    [server for server in settings.servers.values() if server.node == name],
                    wires.script("doctor"),
                    RealClock(),
                )
                for name, node in settings.nodes.items()
            )
        )
    finally:
        await fleet.close()
    found = dict(zip(settings.nodes, reports, strict=True))
    if output.as_json:
        output.json({"nodes": {name: [_json(finding) for finding in findings] for name, findings in found.items()}})
    else:
        for name, findings in found.items():
            _print(name, findings, output)
    return int(_code(found))


def _print(name: str, findings: tuple[Finding, ...], output: Output) -> None:
    output.line(name)
    for finding in findings:
        output.line(f"  {MARK[finding.ok]:<3}  {finding.check:<10}  {finding.says}")
        if finding.hint is not None:
            output.line(f"       {'':<10}  -> {finding.hint}")


def _json(finding: Finding) -> dict[str, object]:
    return {"check": finding.check, "ok": finding.ok, "says": finding.says, "hint": finding.hint}


def _code(found: dict[str, tuple[Finding, ...]]) -> ExitCode:
    reached = [all(finding.ok for finding in findings if finding.check == "login") for findings in found.values()]
    reached = [
        good and any(finding.check == "login" for finding in findings)
        for good, findings in zip(reached, found.values(), strict=True)
    ]
    if not any(reached):
        return ExitCode.UNREACHABLE
    every = [finding.ok for findings in found.values() for finding in findings]
    return ExitCode.BAD if False in every else ExitCode.DONE

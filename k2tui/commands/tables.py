"""`k2tui nodes` and `k2tui servers`: the fleet as a table, a document, or a line for each change."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable

from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.telling import bar_json
from k2tui.core.views import NodeView, ServerView
from k2tui.services.fleet import Fleet

UNKNOWN = "—"


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Print the table that `args.command` names."""
    return asyncio.run(_run(args, wires, Output(as_json=args.json)))


async def _run(args: argparse.Namespace, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(wires.settings())
    rows = _nodes if args.command == "nodes" else _servers
    await fleet.open()
    try:
        await fleet.settle()
        if args.watch:
            return await _watch(fleet, rows, output)
        documents = rows(fleet)
        if output.as_json:
            output.json({args.command: documents})
        else:
            _print(args.command, fleet, output)
        unreached = [node for node in fleet.nodes() if node.link.phase is not LinkPhase.UP]
        all_out = bool(unreached) and len(unreached) == len(fleet.nodes())
        return int(ExitCode.UNREACHABLE if all_out else ExitCode.DONE)
    finally:
        await fleet.close()


async def _watch(fleet: Fleet, rows: Callable[[Fleet], list[dict[str, object]]], output: Output) -> int:
    """One line for each row that changed, for ever."""
    told: dict[object, dict[str, object]] = {}
    seen = -1
    while True:
        if fleet.revision != seen:
            seen = fleet.revision
            for row in rows(fleet):
                steady = {key: value for key, value in row.items() if not key.endswith("age_s")}
                if told.get(row["name"]) == steady:
                    continue
                told[row["name"]] = steady
                if output.as_json:
                    output.json({"type": "change", **row})
                else:
                    output.line("  ".join(f"{key}={_cell(value)}" for key, value in steady.items()))
        await asyncio.sleep(0.2)


def _print(which: str, fleet: Fleet, output: Output) -> None:
    if which == "nodes":
        output.table(
            ("NODE", "LINK", "GPUS", "VRAM USED", "LOAD", "NOTE"), [_node_cells(node) for node in fleet.nodes()]
        )
    else:
        nodes = {node.settings.name: node for node in fleet.nodes()}
        output.table(
            ("NODE", "SERVER", "STATE", "PHASE", "PROGRESS", "RUN", "NOTE"),
            [_server_cells(server, nodes[server.settings.node]) for server in fleet.servers()],
        )


def _nodes(fleet: Fleet) -> list[dict[str, object]]:
    return [node_json(node) for node in fleet.nodes()]


def _servers(fleet: Fleet) -> list[dict[str, object]]:
    links = {node.settings.name: node.link for node in fleet.nodes()}
    return [server_json(server) | link_json(links[server.settings.node]) for server in fleet.servers()]


def node_json(node: NodeView) -> dict[str, object]:
    """One node for programs; null is unknown."""
    reading = node.reading
    return {
        "name": node.settings.name,
        "host": node.settings.host,
        "transport": node.settings.transport,
        **link_json(node.link),
        "gpus": [
            {
                "index": gpu.index,
                "name": gpu.name,
                "utilization_percent": gpu.utilization_percent,
                "memory_used_mib": gpu.memory_used_mib,
                "memory_total_mib": gpu.memory_total_mib,
                "power_w": gpu.power_w,
                "temperature_c": gpu.temperature_c,
                "fault": gpu.fault,
            }
            for gpu in reading.gpus
        ],
        "no_gpus_because": reading.no_gpus_because,
        "load_1m": reading.host.load_1m,
        "memory_available_bytes": reading.host.memory_available_bytes,
        "memory_total_bytes": reading.host.memory_total_bytes,
    }


def link_json(link: LinkState) -> dict[str, object]:
    """How the way to a node stands, for programs."""
    return {"link": link.phase.value, "link_code": link.code, "link_reason": link.reason}


def server_json(server: ServerView) -> dict[str, object]:
    """One server for programs; null is unknown."""
    launch, run = server.launch, server.run
    progress = None if launch is None else launch.progress
    return {
        "name": server.settings.name,
        "node": server.settings.node,
        "status": server.status.value,
        "phase": None if launch is None else launch.phase.value,
        "progress": None if progress is None else bar_json(progress),
        "root_cause": None if launch is None or launch.cause is None else launch.cause.line,
        "run_id": None if run is None else run.run_id,
        "pid": None if run is None or run.child is None else run.child.pid,
        "alive": None if run is None else run.alive,
        "exit_code": None if run is None else run.exit_code,
        "profile": server.settings.profile if run is None else run.profile,
        "log": server.log_path,
        "proof": None if server.proof is None else server.proof.text,
    }


def _node_cells(node: NodeView) -> list[str]:
    reading = node.reading
    used = [gpu.memory_used_mib for gpu in reading.gpus if gpu.memory_used_mib is not None]
    total = [gpu.memory_total_mib for gpu in reading.gpus if gpu.memory_total_mib is not None]
    vram = f"{sum(used) / 1024:.0f}/{sum(total) / 1024:.0f} GiB" if total and used else UNKNOWN
    names = {gpu.name for gpu in reading.gpus if gpu.name is not None}
    gpus = f"{len(reading.gpus)} × {' + '.join(sorted(names)) or '?'}" if reading.gpus else UNKNOWN
    note = node.link.reason or reading.no_gpus_because or ""
    if node.link.hint:
        note = f"{note}; {node.link.hint}"
    return [node.settings.name, node.link.phase.value, gpus, vram, _cell(reading.host.load_1m), note]


def _server_cells(server: ServerView, node: NodeView) -> list[str]:
    launch, run = server.launch, server.run
    progress = None if launch is None else launch.progress
    bar = UNKNOWN if progress is None else f"{progress.fraction:.0%} {progress.done}/{progress.total} {progress.unit}"
    note = ""
    if node.link.phase is not LinkPhase.UP:
        note = node.link.reason or f"{node.settings.name} is not connected"
    elif launch is not None and launch.cause is not None:
        note = launch.cause.line.strip()
    elif server.proof is not None:
        note = server.proof.text
    return [
        server.settings.node,
        server.settings.name,
        server.status.value,
        UNKNOWN if launch is None else launch.phase.value,
        bar,
        UNKNOWN if run is None else run.run_id,
        note[:160],
    ]


def _cell(value: object) -> str:
    return UNKNOWN if value is None else str(value)

"""`k2tui nodes` and `k2tui servers`: the fleet as a table, a document, or a line for each change."""

from __future__ import annotations

import argparse

from k2tui.commands.listing import Listing, Moment, Row, run
from k2tui.commands.rows import node_json, server_json
from k2tui.commands.wires import Wires
from k2tui.core.fields import NODE_FIELDS, SERVER_FIELDS, node_fields, server_fields
from k2tui.core.link import LinkPhase
from k2tui.core.query import Field
from k2tui.core.views import NodeView, ServerView
from k2tui.core.words import UNKNOWN
from k2tui.services.fleet import Fleet

NOTE_LENGTH = 160


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Print the table that `args.command` names."""
    return run(args, wires, NODES if args.command == "nodes" else SERVERS)


def _nodes(fleet: Fleet, now: Moment) -> list[Row]:
    servers = fleet.servers()
    rows = []
    for node in fleet.nodes():
        fields = node_fields(node, now.monotonic)
        document = node_json(node, servers, now.monotonic)
        rows.append(Row((node.settings.name,), document, _node_cells(node, fields), fields))
    return rows


def _servers(fleet: Fleet, now: Moment) -> list[Row]:
    nodes = {node.settings.name: node for node in fleet.nodes()}
    rows = []
    for server in fleet.servers():
        node = nodes[server.settings.node]
        fields = server_fields(server, node, now.monotonic, wall=now.wall)
        document = server_json(server, node.link, now.monotonic)
        rows.append(Row((server.settings.name,), document, _server_cells(server, node, fields), fields))
    return rows


def _node_cells(node: NodeView, fields: dict[str, Field]) -> list[str]:
    reading = node.reading
    used = [gpu.memory_used_mib for gpu in reading.gpus if gpu.memory_used_mib is not None]
    total = [gpu.memory_total_mib for gpu in reading.gpus if gpu.memory_total_mib is not None]
    vram = f"{sum(used) / 1024:.0f}/{sum(total) / 1024:.0f} GiB" if total and used else UNKNOWN
    names = {gpu.name for gpu in reading.gpus if gpu.name is not None}
    gpus = f"{len(reading.gpus)} × {' + '.join(sorted(names)) or '?'}" if reading.gpus else UNKNOWN
    known = fields["vram"] is not None
    return [
        node.settings.name,
        node.link.phase.value,
        gpus,
        figure(fields["load"], "{:.0f} %"),
        vram if known else UNKNOWN,
        figure(fields["power"], "{:.0f} W"),
        figure(fields["temp"], "{:.0f} °C"),
        figure(fields["load1"], "{:.2f}"),
        figure(fields["disk"], "{:.0f} %"),
        _node_note(node),
    ]


def _node_note(node: NodeView) -> str:
    reading = node.reading
    note = node.link.reason or reading.gpus_trouble or reading.no_gpus_because or ""
    return f"{note}; {node.link.hint}" if node.link.hint else note


def _server_cells(server: ServerView, node: NodeView, fields: dict[str, Field]) -> list[str]:
    launch, run = server.launch, server.run
    progress = None if launch is None else launch.progress
    bar = UNKNOWN if progress is None else f"{progress.fraction:.0%} {progress.done}/{progress.total} {progress.unit}"
    requests = (fields["running"], fields["queue"])
    return [
        server.settings.node,
        server.settings.name,
        server.status.value,
        UNKNOWN if launch is None else launch.phase.value,
        bar,
        figure(fields["tps"], "{:.1f}"),
        UNKNOWN if requests == (None, None) else "/".join(figure(each, "{:.0f}") for each in requests),
        figure(fields["kv"], "{:.0f} %"),
        figure(fields["ttft"], "{:.0f} ms"),
        UNKNOWN if run is None else run.run_id,
        _server_note(server, node)[:NOTE_LENGTH],
    ]


def _server_note(server: ServerView, node: NodeView) -> str:
    launch, found, serving = server.launch, server.found, server.serving
    if node.link.phase is not LinkPhase.UP:
        return node.link.reason or f"{node.settings.name} is not connected"
    if launch is not None and launch.cause is not None:
        return launch.cause.line.strip()
    planned, name = server.planned, server.settings.name
    if planned is not None:
        ways = f"k2tui resume {name} --continue ends it, --undo takes it back"
        return f"a restart was interrupted: run {planned.run_id} never started; {ways}"
    trouble = None if serving is None else serving.bad_rank or serving.stuck
    if trouble is not None:
        return trouble
    if found is not None:
        parts = [f"started by {found.process.user}, pid {found.process.pid}"]
        parts += [f"in {found.container}"] if found.container else []
        parts += [found.log_note] if found.log_note else []
        return "; ".join(parts)
    return "" if server.proof is None else server.proof.text


def figure(value: Field, form: str) -> str:
    """A number in its form; an unknown one as such."""
    return form.format(value) if isinstance(value, int | float) else UNKNOWN


NODES = Listing(
    "nodes",
    ("NODE", "LINK", "GPUS", "GPU LOAD", "VRAM USED", "POWER", "HOTTEST", "LOAD 1M", "DISK", "NOTE"),
    NODE_FIELDS,
    _nodes,
)
SERVERS = Listing(
    "servers",
    ("NODE", "SERVER", "STATE", "PHASE", "PROGRESS", "TOK/S", "RUN/Q", "KV", "TTFT P95", "RUN", "NOTE"),
    SERVER_FIELDS,
    _servers,
)

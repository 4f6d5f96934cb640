"""`k2tui gpus`: every GPU of every node, what it does and who holds it; `--free` those that nobody uses."""

from __future__ import annotations

import argparse

from k2tui.commands.listing import Listing, Moment, Row, run
from k2tui.commands.rows import gpu_json, link_json
from k2tui.commands.tables import figure
from k2tui.commands.wires import Wires
from k2tui.core.fields import GPU_FIELDS, gpu_fields, node_fields
from k2tui.core.gpu_words import gpu_warnings, is_free
from k2tui.core.link import LinkPhase
from k2tui.core.owners import Owners
from k2tui.core.query import Field
from k2tui.core.readings import GpuReading
from k2tui.core.views import NodeView
from k2tui.core.words import UNKNOWN
from k2tui.services.fleet import Fleet

NOTE_LENGTH = 120


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Print the table."""
    if args.free:
        args.filter = f"({args.filter}) and free" if args.filter else "free"
    return run(args, wires, GPUS)


def _gpus(fleet: Fleet, now: Moment) -> list[Row]:
    servers = fleet.servers()
    rows = []
    for node in fleet.nodes():
        owners = Owners(node, servers)
        of_node = node_fields(node, now.monotonic)
        for gpu in node.reading.gpus:
            fields = gpu_fields(node, gpu, now.monotonic, owners=owners, of_node=of_node)
            age = fields["age"]
            document = {
                "node": node.settings.name,
                **gpu_json(gpu, node.reading, owners),
                "age_s": round(age, 1) if isinstance(age, float) else None,
                **link_json(node.link),
            }
            cells = _cells(node, gpu, fields, owners)
            rows.append(Row((node.settings.name, str(gpu.index)), document, cells, fields))
    return rows


def _cells(node: NodeView, gpu: GpuReading, fields: dict[str, Field], owners: Owners) -> list[str]:
    known = fields["vram_used"] is not None and gpu.memory_total_mib is not None
    limit = "" if gpu.power_limit_w is None else f"/{gpu.power_limit_w:.0f}"
    return [
        node.settings.name,
        str(gpu.index),
        gpu.name or UNKNOWN,
        figure(fields["load"], "{:.0f} %"),
        figure(fields["vram_used"], f"{{:.1f}}/{(gpu.memory_total_mib or 0.0) / 1024:.0f} GiB") if known else UNKNOWN,
        figure(fields["power"], f"{{:.0f}}{limit} W"),
        figure(fields["temp"], "{:.0f} °C"),
        _held_back(fields["throttle"]),
        _pcie(fields),
        _holders(node, gpu, owners) if node.reading.gpu_processes_at is not None else UNKNOWN,
        _note(node, gpu)[:NOTE_LENGTH],
    ]


def _held_back(words: Field) -> str:
    return UNKNOWN if not isinstance(words, str) else words or "-"


def _pcie(fields: dict[str, Field]) -> str:
    generation, lanes = fields["pcie_gen"], fields["pcie_width"]
    return UNKNOWN if generation is None or lanes is None else f"gen{generation} x{lanes}"


def _holders(node: NodeView, gpu: GpuReading, owners: Owners) -> str:
    """The servers on it; of other processes the user and the name; `free` where nobody uses it."""
    names = list(owners.servers_on(gpu))
    for holder in owners.holders(gpu):
        if holder.server is None:
            user = "?" if holder.process is None else holder.process.user
            title = holder.process.title if holder.process is not None else holder.held.name or "?"
            names.append(f"{user}: {title[:40]} ({holder.held.pid})")
    return ", ".join(names) or ("free" if is_free(node.reading, gpu) else "-")


def _note(node: NodeView, gpu: GpuReading) -> str:
    if node.link.phase is not LinkPhase.UP:
        return node.link.reason or f"{node.settings.name} is not connected"
    if node.reading.gpus_trouble is not None:
        return node.reading.gpus_trouble
    return "; ".join(warning.text for warning in gpu_warnings(gpu))


def _without(fleet: Fleet) -> list[str]:
    """Why a node has no row."""
    told = []
    for node in fleet.nodes():
        if not node.reading.gpus:
            why = node.reading.no_gpus_because or node.link.reason or "its GPUs are not known yet"
            told.append(f"{node.settings.name}: {why}")
    return told


GPUS = Listing(
    "gpus",
    ("NODE", "GPU", "NAME", "LOAD", "VRAM", "POWER", "TEMP", "CLOCKS HELD BY", "PCIE", "HELD BY", "NOTE"),
    GPU_FIELDS,
    _gpus,
    _without,
)

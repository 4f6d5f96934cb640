"""A part of the fleet as a table, one document, or a line for each change."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from k2tui.commands.changes import differs
from k2tui.commands.output import Output
from k2tui.commands.rows import Document
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase
from k2tui.core.pace import Shown
from k2tui.core.query import Field, Query, QueryError, parse
from k2tui.core.views import ServerStatus
from k2tui.services.doors import RealClock
from k2tui.services.fleet import Fleet

WATCH_PERIOD_S = 0.5
"""Between two comparisons of what is told and what is so."""
FIGURES_LIMIT_S = 3.0
"""How long one answer waits for what needs a second look: processes of GPUs, tokens a second."""


@dataclass(frozen=True)
class Moment:
    """The clocks at one look."""

    monotonic: float
    wall: float
    """Unix time."""


@dataclass(frozen=True)
class Row:
    """One line of a table, in all its shapes."""

    key: tuple[str, ...]
    """What it is, such as a node and a number: the same as long as it is the same thing."""
    document: Document
    cells: Sequence[str]
    fields: Mapping[str, Field]


@dataclass(frozen=True)
class Listing:
    """What a command lists."""

    name: str
    """The key of the document."""
    head: Sequence[str]
    fields: Mapping[str, str]
    """Name to meaning of what a filter may ask for."""
    rows: Callable[[Fleet, Moment], list[Row]]
    asides: Callable[[Fleet], Sequence[str]] = lambda _: ()
    """What people should know beside the table: why something is not in it."""


def run(args: argparse.Namespace, wires: Wires, listing: Listing) -> int:
    """Connect, look, tell. `args.filter` leaves out rows; `args.watch` goes on for ever."""
    wanted = query_of(args.filter, listing.fields)
    return asyncio.run(_run(args, wires, Output(as_json=args.json), listing, wanted))


def query_of(text: str | None, names: Mapping[str, str]) -> Query | None:
    """A filter as it was typed; K2Error says what is wrong with it."""
    if not text:
        return None
    try:
        return parse(text, names)
    except QueryError as error:
        raise K2Error(
            f"--filter {text!r}: {error}",
            code="usage",
            subject="--filter",
            hint=f"fields: {', '.join(names)}",
            exit_code=ExitCode.USAGE,
        ) from None


async def _run(args: argparse.Namespace, wires: Wires, output: Output, listing: Listing, wanted: Query | None) -> int:
    fleet = wires.fleet(wires.settings())
    try:
        await opened(fleet)

        def rows() -> list[Row]:
            found = listing.rows(fleet, moment())
            return found if wanted is None else [row for row in found if wanted.matches(row.fields) is True]

        if args.watch:
            return await _watch(fleet, rows, output)
        await figures(fleet)
        if output.as_json:
            output.json({listing.name: [row.document for row in rows()]})
        else:
            output.table(listing.head, [row.cells for row in rows()])
            for sentence in listing.asides(fleet):
                output.aside(sentence)
        return exit_code(fleet)
    finally:
        await fleet.close()


async def opened(fleet: Fleet, *, limit_s: float = 30.0) -> None:
    """Watch all of it closely, and wait until each node was looked at or is known to be out of reach."""
    nodes, servers = fleet.settings.nodes, fleet.settings.servers
    fleet.look_at(Shown(nodes=frozenset(nodes), servers=frozenset(servers)))
    await fleet.open()
    await fleet.settle(limit_s=limit_s)


async def figures(fleet: Fleet, *, limit_s: float = FIGURES_LIMIT_S) -> None:
    """Wait, but not for long, until the figures are there that a first look can't have."""
    clock = RealClock()
    end = clock.monotonic() + limit_s
    while clock.monotonic() < end and not (_processes_known(fleet) and _rates_known(fleet)):
        await clock.sleep(0.1)


def _processes_known(fleet: Fleet) -> bool:
    up = [node for node in fleet.nodes() if node.link.phase is LinkPhase.UP]
    return all(
        node.processes_at is not None and (node.reading.gpu_processes_at is not None or not node.reading.gpus)
        for node in up
    )


def _rates_known(fleet: Fleet) -> bool:
    ready = [server for server in fleet.servers() if server.status is ServerStatus.READY]
    return all(server.serving is not None and server.serving.window_s is not None for server in ready)


def exit_code(fleet: Fleet) -> int:
    """Whether anything was reached at all."""
    out = [node.link.phase is not LinkPhase.UP for node in fleet.nodes()]
    return int(ExitCode.UNREACHABLE if out and all(out) else ExitCode.DONE)


def moment() -> Moment:
    """Now."""
    clock = RealClock()
    return Moment(clock.monotonic(), clock.time())


async def _watch(fleet: Fleet, rows: Callable[[], list[Row]], output: Output) -> int:
    """One line for each row that changed, came or went, for ever."""
    told: dict[tuple[str, ...], Row] = {}
    seen = -1
    while True:
        output.want_reader()
        if fleet.revision != seen:
            seen = fleet.revision
            now = {row.key: row for row in rows()}
            for key, row in now.items():
                before = told.get(key)
                if before is not None and not differs(before.document, row.document):
                    continue
                told[key] = row
                if output.as_json:
                    output.json({"type": "change", **row.document})
                elif before is None or list(before.cells) != list(row.cells):
                    output.line("  ".join(cell for cell in row.cells if cell))
            for key in [key for key in told if key not in now]:
                gone = told.pop(key)
                if output.as_json:
                    output.json({"type": "change", "gone": True, **gone.document})
                else:
                    output.line(f"{' '.join(key)} is gone")
        await asyncio.sleep(WATCH_PERIOD_S)

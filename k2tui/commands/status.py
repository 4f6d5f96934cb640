"""`k2tui status`: the whole fleet in a few sentences, in a document, or in one short line for tmux's status bar."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from k2tui.commands.changes import differs
from k2tui.commands.listing import FIGURES_LIMIT_S, exit_code, figures, opened
from k2tui.commands.output import Output
from k2tui.commands.rows import Document, alert_json
from k2tui.commands.wires import Wires
from k2tui.core.alerts import Alert, subject_words
from k2tui.core.summary import BAD, Summary, summary_of
from k2tui.core.views import ServerStatus, ServerView
from k2tui.services.doors import RealClock
from k2tui.services.fleet import Fleet

LINE_LIMIT_S = 5.0
"""How long a line for a status bar waits at all, for nodes that do not answer and for figures."""
WATCH_PERIOD_S = 2.0
ALERTS_SHOWN = 10
CAUSE_LENGTH = 160

_MARKS: Sequence[tuple[Sequence[ServerStatus], str, str]] = (
    ((ServerStatus.READY,), "●", " ready"),
    ((ServerStatus.LOADING, ServerStatus.UNPROVED), "◐", " loading"),
    (BAD, "✗", " bad"),
    ((ServerStatus.STALE, ServerStatus.UNKNOWN), "?", " unseen"),
)
"""Statuses, their mark in the line, and what stands in its place with `--ascii`."""


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Tell how the fleet stands."""
    return asyncio.run(_run(args, wires, Output(as_json=args.json)))


async def _run(args: argparse.Namespace, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(wires.settings())
    try:
        began = RealClock().monotonic()
        if args.line:
            await opened(fleet, limit_s=LINE_LIMIT_S)
        else:
            await opened(fleet)
        left_s = LINE_LIMIT_S - (RealClock().monotonic() - began) if args.line else FIGURES_LIMIT_S
        await figures(fleet, limit_s=min(left_s, FIGURES_LIMIT_S))
        if args.watch:
            return await _watch(args, fleet, output)
        _tell(args, await _now(fleet), output)
        return exit_code(fleet)
    finally:
        await fleet.close()


async def _watch(args: argparse.Namespace, fleet: Fleet, output: Output) -> int:
    """Once more whenever it is another, for ever: tmux shows the newest line of a command that runs on."""
    told: Document | None = None
    line: str | None = None
    while True:
        output.want_reader()
        summary = await _now(fleet)
        document = status_json(summary)
        if told is None or differs(told, document):
            told = document
            if args.json:
                output.json({"type": "change", **document})
            elif not args.line:
                _tell(args, summary, output)
                output.line("")
            elif (new := status_line(summary, ascii_only=args.ascii)) != line:
                output.line(line := new)
        await asyncio.sleep(WATCH_PERIOD_S)


async def _now(fleet: Fleet) -> Summary:
    return summary_of(fleet.nodes(), fleet.servers(), await fleet.kept_alerts(), RealClock().monotonic())


def _tell(args: argparse.Namespace, summary: Summary, output: Output) -> None:
    if args.json:
        output.json(status_json(summary))
    elif args.line:
        output.line(status_line(summary, ascii_only=args.ascii))
    else:
        for sentence in status_sentences(summary):
            output.line(sentence)


def status_json(summary: Summary) -> Document:
    """The fleet for programs. Null is unknown, never 0."""
    decode, prefill = summary.decode_tokens_per_s, summary.prefill_tokens_per_s
    return {
        "nodes": {
            "total": summary.nodes,
            "up": summary.nodes_up,
            "lost": [
                {"name": node.settings.name, "link": node.link.phase.value, "reason": node.link.reason}
                for node in summary.lost
            ],
        },
        "servers": {
            "total": summary.servers,
            "by_status": {status.value: summary.by_status[status] for status in _known(summary)},
            "foreign": summary.foreign,
            "bad": [
                {"name": server.settings.name, "node": server.settings.node, "status": server.status.value}
                for server in summary.bad
            ],
        },
        "gpus": {
            "total": summary.gpus,
            "busy": summary.gpus_busy,
            "free": summary.gpus_free,
            "with_fault": summary.gpus_faulty,
            "memory_used_mib": summary.memory_used_mib,
            "memory_total_mib": summary.memory_total_mib,
        },
        "running": summary.running,
        "waiting": summary.waiting,
        "decode_tokens_per_s": None if decode is None else round(decode, 1),
        "prefill_tokens_per_s": None if prefill is None else round(prefill, 1),
        "alerts": {
            "open": None if summary.alerts is None else len(summary.alerts),
            "newest": [alert_json(alert) for alert in (summary.alerts or ())[:ALERTS_SHOWN]],
        },
    }


def status_sentences(summary: Summary) -> list[str]:
    """The fleet for people, a sentence a line."""
    sentences = [_of_nodes(summary), _of_servers(summary)]
    sentences += [f"  {server.settings.name} on {server.settings.node} {_trouble(server)}" for server in summary.bad]
    if summary.gpus:
        sentences.append(_of_gpus(summary))
    if work := _of_work(summary):
        sentences.append(work)
    return sentences + _of_alerts(summary.alerts)


def status_line(summary: Summary, *, ascii_only: bool = False) -> str:
    """`k2: 3● 1◐ 1✗ 1284 tok/s q12 !1`: servers, tokens a second, queue, open alerts. What is none is left out."""
    words = []
    for statuses, mark, word in _MARKS:
        if count := summary.count(*statuses):
            words.append(f"{count}{word if ascii_only else mark}")
    if summary.lost:
        words.append(f"{len(summary.lost)} lost")
    if summary.decode_tokens_per_s is not None:
        words.append(f"{summary.decode_tokens_per_s:.0f} tok/s")
    if summary.waiting:
        words.append(f"q{summary.waiting}")
    if summary.alerts:
        words.append(f"!{len(summary.alerts)}")
    return f"k2: {' '.join(words) or 'nothing runs'}"


def _of_nodes(summary: Summary) -> str:
    lost = [
        f", {node.settings.name} {node.link.phase.value}" + (f" ({node.link.reason})" if node.link.reason else "")
        for node in summary.lost
    ]
    return f"{_counted(summary.nodes, 'node')}: {summary.nodes_up} up{''.join(lost)}"


def _of_servers(summary: Summary) -> str:
    counts = [f"{summary.by_status[status]} {status.value}" for status in _known(summary)]
    foreign = f", {summary.foreign} of them started by somebody else" if summary.foreign else ""
    return f"{_counted(summary.servers, 'server')}{foreign}: {', '.join(counts) or 'none'}"


def _trouble(server: ServerView) -> str:
    cause = None if server.launch is None or server.launch.cause is None else server.launch.cause.line.strip()
    return f"is {server.status.value}" + (f": {cause[:CAUSE_LENGTH]}" if cause else "")


def _of_gpus(summary: Summary) -> str:
    parts = [f"{summary.gpus_busy} busy", f"{summary.gpus_free} free"]
    parts += [f"{summary.gpus_faulty} with a fault"] if summary.gpus_faulty else []
    used, total = summary.memory_used_mib, summary.memory_total_mib
    memory = "" if used is None or total is None else f"; {used / 1024:.0f} of {total / 1024:.0f} GiB in use"
    return f"{_counted(summary.gpus, 'GPU')}: {', '.join(parts)}{memory}"


def _of_work(summary: Summary) -> str:
    parts = []
    if summary.decode_tokens_per_s is not None:
        parts.append(f"{summary.decode_tokens_per_s:.1f} tok/s, all streams together")
    if summary.running is not None:
        parts.append(f"{_counted(summary.running, 'request')} running")
    if summary.waiting is not None:
        parts.append(f"{summary.waiting} waiting")
    return "; ".join(parts)


def _of_alerts(alerts: Sequence[Alert] | None) -> list[str]:
    if alerts is None:
        return ["alerts: not known, for no k2tui is open that watches"]
    sentences = [_counted(len(alerts), "open alert") + (":" if alerts else "")]
    sentences += [f"  {subject_words(alert.subject)}: {alert.text}" for alert in alerts[:ALERTS_SHOWN]]
    return sentences + ([f"  and {more} more"] if (more := len(alerts) - ALERTS_SHOWN) > 0 else [])


def _known(summary: Summary) -> list[ServerStatus]:
    """The statuses that a server has, in their usual order."""
    return [status for status in ServerStatus if summary.by_status.get(status)]


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"

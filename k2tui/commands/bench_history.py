"""What was measured: listed, shown, compared, exported, taken in, made the base."""

from __future__ import annotations

import argparse
import asyncio
import sys

from k2tui.commands.bench_run import is_url
from k2tui.commands.bench_text import (
    HISTORY_HEAD,
    comparison_lines,
    history_row,
    request_lines,
    result_lines,
    system_lines,
)
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.benching.comparison import Answer, Comparison
from k2tui.core.benching.document import result_document
from k2tui.core.benching.export import csv_of, jsonl_of, markdown_of
from k2tui.core.errors import ExitCode, K2Error
from k2tui.services.fleet import Fleet

_MOST_BYTES = 256 << 20
"""Of another tool's result file: guidellm keeps every request in it."""


def main(args: argparse.Namespace, wires: Wires, output: Output) -> int:
    """Do it; nothing of it asks a node."""
    return asyncio.run(_run(args, wires, output))


async def _run(args: argparse.Namespace, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(wires.settings())
    try:
        match args.action:
            case "history":
                return await _history(args, fleet, output)
            case "show":
                return await _show(args, fleet, output)
            case "compare":
                return _compared(await fleet.compare_benches(args.a, args.b), output)
            case "base":
                return await _base(args, fleet, output)
            case "import":
                return await _import(args, fleet, output)
            case _:
                raise AssertionError(args.action)
    finally:
        await fleet.close()


async def _history(args: argparse.Namespace, fleet: Fleet, output: Output) -> int:
    everything = await fleet.benches(args.server)
    if not everything and args.server is not None:
        await _refuse_unknown(args.server, fleet)
    results = everything[: args.most]
    if args.export is not None:
        makers = {"json": jsonl_of, "csv": csv_of, "md": markdown_of}
        for line in makers[args.export](results).splitlines():
            output.line(line)
    elif output.as_json:
        output.json({"benches": [result_document(result) for result in results]})
    elif results:
        output.table(HISTORY_HEAD, [history_row(result) for result in results])
    else:
        whose = "" if args.server is None else f" of {args.server}"
        output.line(f"nothing was measured{whose} yet; k2tui bench {args.server or 'SERVER'} does")
    return int(ExitCode.DONE)


async def _refuse_unknown(name: str, fleet: Fleet) -> None:
    """K2Error where neither the config nor the history knows this name; a URL may always be asked for."""
    if name in fleet.settings.servers or is_url(name):
        return
    measured = {result.subject for result in await fleet.benches(None)}
    raise K2Error(
        f"nothing was measured of {name!r}, and no server of the config has this name",
        code="no_such_server",
        subject=name,
        hint=f"known are: {', '.join(sorted({*fleet.settings.servers, *measured})) or 'none'}",
        exit_code=ExitCode.MISSING,
    )


async def _show(args: argparse.Namespace, fleet: Fleet, output: Output) -> int:
    result = await fleet.bench_result(args.bench)
    if output.as_json:
        output.json(result_document(result))
        return int(ExitCode.DONE)
    for line in (*result_lines(result), *request_lines(result.requests), *system_lines(result)):
        output.line(line)
    return int(ExitCode.DONE)


def _compared(comparison: Comparison, output: Output) -> int:
    """0 for a verdict that is not against B; 1 for slower, inconclusive and no verdict."""
    if output.as_json:
        output.json(comparison_json(comparison))
    else:
        for line in comparison_lines(comparison):
            output.line(line)
    return int(ExitCode.DONE if comparison.answer in (Answer.FASTER, Answer.SAME) else ExitCode.BAD)


def comparison_json(comparison: Comparison) -> dict[str, object]:
    """The whole verdict for programs."""
    return {
        "type": "comparison",
        "answer": comparison.answer.value,
        "text": comparison.sentence,
        "ratio": comparison.ratio,
        "ratio_low": comparison.low,
        "ratio_high": comparison.high,
        "basis": comparison.basis,
        "restarts_a": comparison.restarts_a,
        "restarts_b": comparison.restarts_b,
        "more_restarts": comparison.more_restarts,
        "confounded": comparison.confounded,
        "changes": [{"name": one.name, "a": one.a, "b": one.b} for one in comparison.changes],
        "rows": [
            {"name": row.name, "label": row.label, "a": row.a, "b": row.b, "why_missing": row.why_missing}
            for row in comparison.rows
        ],
        "left_out": list(comparison.left_out),
    }


async def _base(args: argparse.Namespace, fleet: Fleet, output: Output) -> int:
    bench_id = None if args.bench == "none" else (await fleet.bench_result(args.bench)).bench_id
    await fleet.set_base(args.server, bench_id)
    said = f"{args.server} has no base now" if bench_id is None else f"{bench_id} is the base of {args.server}"
    if output.as_json:
        output.json({"type": "base", "server": args.server, "bench_id": bench_id, "text": said})
    else:
        output.line(said)
    return int(ExitCode.DONE)


async def _import(args: argparse.Namespace, fleet: Fleet, output: Output) -> int:
    for result in await fleet.import_bench(args.subject, _text(args.file)):
        if output.as_json:
            output.json(result_document(result))
        else:
            for line in result_lines(result):
                output.line(line)
    return int(ExitCode.DONE)


def _text(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read(_MOST_BYTES)
        with open(path, encoding="utf-8") as file:
            return file.read(_MOST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise K2Error(
            f"{path} can't be read: {why}",
            code="usage",
            subject=path,
            hint="name the result file that the tool wrote",
            exit_code=ExitCode.USAGE,
        ) from None

"""`k2tui bench`: measure, keep, compare; one action a module."""

from __future__ import annotations

import argparse

from k2tui.commands.output import Output
from k2tui.commands.wires import Wires


def main(args: argparse.Namespace, wires: Wires) -> int:
    """Do what `args.action` names."""
    output = Output(as_json=args.json)
    match args.action:
        case "run":
            from k2tui.commands import bench_run

            return bench_run.main(args, wires, output)
        case "ab" | "matrix" | "resume" | "series":
            from k2tui.commands import bench_series

            return bench_series.main(args, wires, output)
        case _:
            from k2tui.commands import bench_history

            return bench_history.main(args, wires, output)

"""`k2tui demo --check`: the whole journey on the simulated fleet, without a screen."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from k2tui.commands.output import Output
from k2tui.core.errors import ExitCode

MARK = {True: "ok", False: "FAILED", None: "-"}


class StepLike(Protocol):
    """One step of the journey."""

    @property
    def name(self) -> str: ...
    @property
    def ok(self) -> bool | None: ...
    @property
    def detail(self) -> str: ...
    @property
    def elapsed_s(self) -> float | None: ...


class ReportLike(Protocol):
    """The journey when it is over."""

    @property
    def ok(self) -> bool: ...
    def to_json(self) -> dict[str, object]: ...


Play = Callable[[str | None, Callable[[StepLike], object]], Awaitable[ReportLike]]
"""(fault, what each step is told to) plays the journey; cli.py knows how."""


def main(args: argparse.Namespace, play: Play) -> int:
    """Play it. Exit 0 when every step held, else 1."""
    output = Output(as_json=args.json)

    def tell(step: StepLike) -> None:
        if not output.as_json:
            took = "" if step.elapsed_s is None else f"{step.elapsed_s:6.1f} s"
            output.line(f"{MARK[step.ok]:<6}  {took:>8}  {step.name:<38}  {step.detail}")

    async def journey() -> ReportLike:
        return await play(args.fault, tell)

    report = asyncio.run(journey())
    if output.as_json:
        output.json(report.to_json())
    return int(ExitCode.DONE if report.ok else ExitCode.BAD)

"""`k2tui bench SERVER|URL`: one benchmark, told while it goes on."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress

from k2tui.commands.bench_text import result_lines
from k2tui.commands.narrow import narrowed
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.benching.document import result_document
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan, CachePolicy, Procedure
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import Settings
from k2tui.services.fleet import Fleet

_MOST_PROMPTS = 10_000


def main(args: argparse.Namespace, wires: Wires, output: Output) -> int:
    """Measure; 0 when it is valid, 1 when a gate is red or it failed."""
    plan = plan_of(args)
    if is_url(args.target):
        return asyncio.run(_url(args, plan, wires, output))
    if args.api_key_env is not None:
        raise _usage("--api-key-env is for a URL", "a server's key comes from its profile")
    settings = narrowed(wires.settings(), args.target)
    return asyncio.run(_server(args.target, plan, settings, wires, output))


def is_url(target: str) -> bool:
    """No server's name has this form."""
    return target.startswith(("http://", "https://"))


def plan_of(args: argparse.Namespace) -> BenchPlan:
    """What the options ask for."""
    procedure, concurrencies = Procedure.QUICK, (1,)
    if args.sweep is not None:
        procedure, concurrencies = Procedure.SWEEP, args.sweep
    elif args.prefill:
        procedure = Procedure.PREFILL
    elif args.full:
        procedure = Procedure.FULL
    if args.words and procedure is not Procedure.FULL:
        raise _usage(f"{args.words[0]!r} is one word too many", "only --full takes words of another program, after --")
    return BenchPlan(
        procedure=procedure,
        concurrencies=concurrencies,
        max_tokens=args.max_tokens,
        repeats=args.repeats,
        policy=CachePolicy(args.cache),
        budget_s=args.budget,
        hold_s=args.hold,
        prompts=() if args.prompts is None else prompts_of(args.prompts),
        prompt_lengths=args.lengths or BenchPlan().prompt_lengths,
        seed=args.seed,
        full_client=args.client,
        full_args=tuple(args.words),
    )


def prompts_of(path: str) -> tuple[str, ...]:
    """One prompt a line; a line that is a JSON string, or an object with `prompt` or `text`, is read as that."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.rstrip("\n") for line in file if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise _usage(f"--prompts {path} can't be read: {why}", "name a file with a prompt a line") from None
    if not lines:
        raise _usage(f"--prompts {path} holds no prompt", "write one a line")
    if len(lines) > _MOST_PROMPTS:
        raise _usage(f"--prompts {path} holds {len(lines)} prompts", f"{_MOST_PROMPTS} are enough")
    return tuple(_prompt(line) for line in lines)


def _prompt(line: str) -> str:
    with suppress(ValueError):
        value = json.loads(line)
        if isinstance(value, str):
            return value
        if isinstance(value, dict):
            for key in ("prompt", "text"):
                if isinstance(value.get(key), str):
                    return str(value[key])
    return line


async def _server(name: str, plan: BenchPlan, settings: Settings, wires: Wires, output: Output) -> int:
    fleet = wires.fleet(settings)
    try:
        await reached(fleet, settings, [name])
        return await _tell(fleet.bench(name, plan), output)
    finally:
        await fleet.close()


async def reached(fleet: Fleet, settings: Settings, names: Sequence[str]) -> None:
    """Look at the nodes of these servers; K2Error where one can't be reached."""
    for node in dict.fromkeys(settings.servers[name].node for name in names if name in settings.servers):
        await fleet.link(node).connect()
    await fleet.open()
    await fleet.settle()


async def _url(args: argparse.Namespace, plan: BenchPlan, wires: Wires, output: Output) -> int:
    api_key = None
    if args.api_key_env is not None:
        api_key = os.environ.get(args.api_key_env)
        if not api_key:
            raise _usage(f"--api-key-env {args.api_key_env}: there is no such variable", "export it first")
    fleet = wires.fleet(Settings())
    try:
        return await _tell(fleet.bench_url(args.target, plan, api_key=api_key), output)
    finally:
        await fleet.close()


async def _tell(steps: AsyncIterator[BenchEvent], output: Output) -> int:
    code = ExitCode.BAD
    async with aclosing(steps) as following:  # type: ignore[type-var]
        async for step in following:
            code = step.exit_code if step.exit_code is not None else code
            if output.as_json:
                _document(step, output)
            else:
                _lines(step, output)
    return int(code)


def _document(step: BenchEvent, output: Output) -> None:
    """The result is the last document: it says with `valid` what the exit code says."""
    if step.result is not None:
        output.json(result_document(step.result))
    elif step.exit_code is None:
        output.json({"type": step.type, "subject": step.subject, "elapsed_s": step.elapsed_s, "text": step.text})


def _lines(step: BenchEvent, output: Output) -> None:
    if step.type == "figure":
        output.live(f"{step.elapsed_s:7.1f} s  {step.text}")
    elif step.result is not None:
        for line in result_lines(step.result):
            output.line(line)
    elif step.exit_code is None:
        output.line(f"{step.elapsed_s:7.1f} s  {step.type:<9}  {step.text}")


def _usage(message: str, hint: str) -> K2Error:
    return K2Error(message, code="usage", hint=hint, exit_code=ExitCode.USAGE)

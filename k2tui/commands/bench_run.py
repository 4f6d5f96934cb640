"""`k2tui bench SERVER|URL`: one benchmark, told while it goes on."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace
from difflib import get_close_matches

from k2tui.commands.bench_arguments import BENCH_ACTIONS
from k2tui.commands.bench_text import result_lines
from k2tui.commands.narrow import narrowed
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.benching import targets
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
    try:
        return _measure(args, plan, wires, output)
    except KeyboardInterrupt:
        output.aside("the benchmark was ended; what it measured until then is in k2tui bench history")
        raise


def _measure(args: argparse.Namespace, plan: BenchPlan, wires: Wires, output: Output) -> int:
    if is_url(args.target):
        return asyncio.run(_url(args, plan, wires, output))
    if args.api_key_env is not None:
        raise _usage("--api-key-env is for a URL", "a server's key comes from its profile")
    # Nothing of ours may run beside it: what this command wants to know, its own requests tell.
    settings = replace(narrowed(wires.settings(), args.target), probe_generate="never")
    _refuse_misspelled(args.target, settings)
    return asyncio.run(_server(args.target, plan, settings, wires, output))


def _refuse_misspelled(target: str, settings: Settings) -> None:
    """`k2tui bench histroy` looks for no server of that name on every node."""
    meant = () if target in settings.servers else get_close_matches(target, BENCH_ACTIONS, n=1, cutoff=0.75)
    if meant:
        raise K2Error(
            f"no server {target!r} in the config",
            code="no_such_server",
            subject=target,
            hint=f"was k2tui bench {meant[0]} meant? servers: {', '.join(settings.servers) or 'none'}",
            exit_code=ExitCode.MISSING,
        )


def is_url(target: str) -> bool:
    """No server's name has this form."""
    return targets.is_url(target)


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
    # Of the config it needs one thing: whether k2tui may make work for anybody at all.
    fleet = wires.fleet(Settings(read_only=wires.settings().read_only))
    try:
        return await _tell(fleet.bench_url(args.target, plan, api_key=api_key), output)
    finally:
        await fleet.close()


async def _tell(steps: AsyncIterator[BenchEvent], output: Output) -> int:
    code = ExitCode.BAD
    teller = _Teller(output)
    async with aclosing(steps) as following:  # type: ignore[type-var]
        async for step in following:
            code = step.exit_code if step.exit_code is not None else code
            if output.as_json:
                _document(step, output)
            else:
                teller.tell(step)
    return int(code)


def _document(step: BenchEvent, output: Output) -> None:
    """The result is the last document: it says with `valid` what the exit code says."""
    if step.result is not None:
        output.json(result_document(step.result))
    elif step.exit_code is None:
        output.json({"type": step.type, "subject": step.subject, "elapsed_s": step.elapsed_s, "text": step.text})


class _Teller:
    """A benchmark as lines for a person: how it goes on, then the result. What the result says is said once."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._notes: list[BenchEvent] = []

    def tell(self, step: BenchEvent) -> None:
        if step.result is not None:
            result = step.result
            for note in self._notes:
                if note.text not in (*result.notes, result.error):
                    self._line(note)
            for line in result_lines(result):
                self._output.line(line)
        elif step.type == "note":
            self._notes.append(step)
        elif step.type == "figure" or (step.type == "request" and _of_many(step)):
            self._output.live(f"{step.elapsed_s:7.1f} s  {step.text}")
        elif step.type != "gate" and step.exit_code is None:
            self._line(step)

    def _line(self, step: BenchEvent) -> None:
        self._output.line(f"{step.elapsed_s:7.1f} s  {step.type:<9}  {step.text}")


def _of_many(step: BenchEvent) -> bool:
    """Whether it is one of a sweep's requests: they come by the dozen, and their point says what they came to."""
    return step.live is not None and step.live.procedure is Procedure.SWEEP


def _usage(message: str, hint: str) -> K2Error:
    return K2Error(message, code="usage", hint=hint, exit_code=ExitCode.USAGE)

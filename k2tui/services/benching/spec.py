"""What the load generator is told, as it reads it: its program, and one JSON line about server and plan."""

from __future__ import annotations

import json

from k2tui.core.benching.keys import ignores_eos
from k2tui.core.benching.plan import BenchPlan, BenchTarget
from k2tui.services.doors import Script


def arguments_of(target: BenchTarget) -> tuple[str, str, str]:
    """PYTHON SETUP CWD of remote/measure.sh; empty is not known."""
    return target.python or "", target.setup or "", target.cwd or ""


def opening(program: Script, target: BenchTarget, plan: BenchPlan) -> bytes:
    """All that is written to remote/measure.sh: how long the program is, the program, the line about what to measure.

    The API key is in it, and so on no command line.
    """
    text = program.text.encode()
    return b"%d\n%b%b\n" % (len(text), text, spec_line(target, plan))


def spec_line(target: BenchTarget, plan: BenchPlan) -> bytes:
    """The server and the plan, by the names of their fields."""
    document = {
        "target": {
            "host": target.host,
            "port": target.port,
            "path": target.path,
            "tls": target.tls,
            "api_key": target.api_key,
            "model": target.model,
            "engine": target.engine,
            "speculative": target.speculative,
        },
        "plan": {
            "procedure": plan.procedure.value,
            "concurrencies": plan.concurrencies,
            "max_tokens": plan.max_tokens,
            "repeats": plan.repeats,
            "policy": plan.policy.value,
            "budget_s": plan.budget_s,
            "hold_s": plan.hold_s,
            "prompts": plan.prompts,
            "prompt_lengths": plan.prompt_lengths,
            "ignore_eos": ignores_eos(plan, target),
            "seed": plan.seed,
        },
    }
    return json.dumps(document).encode("ascii")

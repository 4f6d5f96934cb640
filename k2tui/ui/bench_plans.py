"""What is typed into the dialog that measures, as a plan, and what it costs in one sentence. Pure."""

from __future__ import annotations

import math
import shlex

from k2tui.core.benching.plan import (
    FEWEST_PROMPT_TOKENS,
    MOST_STREAMS,
    MOST_TOKENS,
    BenchPlan,
    CachePolicy,
    Procedure,
)
from k2tui.core.views import ServerView

DEFAULT_STREAMS = "1 2 4 8 16"
DEFAULT_LENGTHS = "256 8192"
DEFAULT_ARGS = "--dataset-name random-ids --num-prompts 64 --random-input-len 1024 --random-output-len 256"
HELP = {
    "quick": "One stream, a few requests one after the other: a figure within seconds.",
    "sweep": "So many streams at a time, one point each, in a shuffled order: total tok/s against one stream's.",
    "prefill": "Short and long prompts with one token of answer: prefill tok/s as the slope of TTFT over their length.",
    "full": "sglang.bench_serving on the node, detached, with these words. Its result is kept here.",
    "ab": "It is restarted with each of two profiles in turn and measured: only restarts tell what a change does.",
    "matrix": "Restarts over the combinations of a matrix of the config, measured and ranked.",
}
CACHE_WORDS = (
    (CachePolicy.FRESH.value, "fresh: prompts begin with a nonce"),
    (CachePolicy.COLD.value, "cold: flushed before each point"),
    (CachePolicy.WARM.value, "warm: the same prompts again"),
)


class BadField(ValueError):
    """What is wrong with a field, in one sentence."""


def count_of(text: str, what: str, most: int) -> int:
    """A whole number from 1 on; BadField says what is wrong."""
    text = text.strip()
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise BadField(f"{what}: {text or 'nothing'!r} is no number from 1 to {most}")
    return int(text)


def streams_of(text: str) -> tuple[int, ...]:
    """`1 2 4 8` or `1,2,4,8`."""
    parts = text.replace(",", " ").split()
    if not parts:
        raise BadField("streams: give numbers such as 1 2 4 8")
    return tuple(dict.fromkeys(count_of(part, "streams", MOST_STREAMS) for part in parts))


def lengths_of(text: str) -> tuple[int, int]:
    """`256 8192`."""
    parts = text.replace(",", " ").split()
    if len(parts) != 2:
        raise BadField("prompt tokens: give a short and a long one, such as 256 8192")
    short, long = (count_of(part, "prompt tokens", MOST_TOKENS) for part in parts)
    if not FEWEST_PROMPT_TOKENS <= short < long:
        raise BadField(f"prompt tokens: the first must be the shorter one, of {FEWEST_PROMPT_TOKENS} or more")
    return short, long


def words_of(text: str) -> tuple[str, ...]:
    """Words for another program, quoted as in a shell."""
    try:
        return tuple(shlex.split(text))
    except ValueError:
        raise BadField("arguments: a quote is not closed") from None


def bench_plan(kind: str, typed: dict[str, str]) -> BenchPlan:
    """The plan of these fields; BadField says what is wrong with one."""
    policy = CachePolicy(typed["cache"])
    if kind == "full":
        return BenchPlan(Procedure.FULL, full_args=words_of(typed["args"]))
    if kind == "prefill":
        repeats = count_of(typed["repeats"], "repeats", 1000)
        lengths = lengths_of(typed["lengths"])
        return BenchPlan(Procedure.PREFILL, repeats=repeats, policy=policy, prompt_lengths=lengths)
    tokens = count_of(typed["tokens"], "max tokens", MOST_TOKENS)
    if kind == "sweep":
        streams = streams_of(typed["streams"])
        hold_s = float(count_of(typed["hold"], "seconds", 86_400))
        return BenchPlan(Procedure.SWEEP, streams, tokens, policy=policy, hold_s=hold_s)
    repeats = count_of(typed["repeats"], "repeats", 1000)
    usual = BenchPlan()
    longer = max(1.0, tokens * repeats / (usual.max_tokens * usual.repeats))
    return BenchPlan(Procedure.QUICK, (1,), tokens, repeats, policy, budget_s=usual.budget_s * longer)


def cost_words(plan: BenchPlan, view: ServerView) -> str:
    """What it takes, as far as can be foreseen."""
    if plan.procedure is Procedure.QUICK:
        known = next(
            (one.decode_tps for one in (view.last_bench, view.base) if one is not None and one.decode_tps), None
        )
        about = (
            ""
            if known is None
            else f", about {math.ceil(plan.repeats * plan.max_tokens / known)} s at {known:.0f} tok/s"
        )
        return f"{plan.repeats} × {plan.max_tokens} tokens of one stream{about}, {plan.budget_s:.0f} s at most"
    if plan.procedure is Procedure.SWEEP:
        points = len(plan.concurrencies)
        most = max(plan.concurrencies)
        minutes = max(1, round(points * (plan.hold_s + 5) / 60))
        held = f"{points} point{'' if points == 1 else 's'}, each held {plan.hold_s:.0f} s or three requests long"
        return f"{held}: about {minutes} min or more; {most} streams at most"
    if plan.procedure is Procedure.PREFILL:
        short, long = plan.prompt_lengths
        return f"{plan.repeats} prompts of {short} tokens and {plan.repeats} of {long}, one after the other"
    return "How long it takes is in its arguments; a broken link leaves it going on, closing k2tui ends it"

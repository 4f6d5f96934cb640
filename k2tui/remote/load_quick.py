"""The quick figure: one stream, a few requests, within seconds. Nothing is flushed."""

from __future__ import annotations

import asyncio
from time import perf_counter

from k2tui.remote.load_client import Pending
from k2tui.remote.load_figures import decode_tps, half_width, point_figures
from k2tui.remote.load_live import Live
from k2tui.remote.load_meter import Meter
from k2tui.remote.load_session import WARM_UP_TOKENS, Session
from k2tui.remote.load_tokens import Tokens

TIGHT = 0.01
"""Half of the 95 % interval, as a share of the figure."""
WARM_UP_SHARE = 0.2
"""Of the budget, at most, once the first token is there."""


async def quick(session: Session) -> None:
    """Measure and say it. Raises GoneError, after what was measured is said."""
    plan, loop = session.plan, asyncio.get_running_loop()
    ends_at = perf_counter() + plan.budget_s
    budget = loop.call_later(plan.budget_s, session.client.cut)
    live = Live(session, plan.repeats)
    logs: list[Pending] = []
    meter = None
    try:
        await _warm_up(session, live, ends_at)
        meter, began_at = Meter(), perf_counter()
        while len(logs) < plan.repeats and perf_counter() < ends_at and not session.is_stopped and not _is_tight(logs):
            if not logs:
                live.about(logs, 1, "")
            live.text = f"request {len(logs) + 1} of {plan.repeats}"
            nonce, text = session.prompts.first() if plan.policy == "warm" else session.prompts.next()
            log = await session.request(nonce, text, plan.max_tokens, c=1)
            if log.sent_at:
                logs.append(log)
            live.done = len(logs)
    finally:
        budget.cancel()
        live.close()
        if meter is not None and logs:
            session.say("point", **point_figures(1, logs, (), None, began_at, _end(logs)))
            session.say("client", **meter.figures(1))


async def _warm_up(session: Session, live: Live, ends_at: float) -> None:
    """Its share of the budget is over once it has a token; a server that is slow to its first one gets the time."""
    live.text = "warm-up"
    share_at = perf_counter() + session.plan.budget_s * WARM_UP_SHARE
    nonce, text = session.prompts.first()
    tokens = min(WARM_UP_TOKENS, session.plan.max_tokens)
    warming = asyncio.ensure_future(session.request(nonce, text, tokens, c=1, is_warm_up=True))
    while not warming.done() and perf_counter() < ends_at:
        await asyncio.wait({warming}, timeout=0.1)
        if perf_counter() >= share_at and any(log.events for log in session.client.active):
            session.client.cut()
    await warming


def _is_tight(logs: list[Pending]) -> bool:
    rates = [decode_tps(Tokens(log)) for log in logs if log.error is None and log.finish is not None]
    width = half_width([rate for rate in rates if rate is not None])
    return width is not None and width <= TIGHT


def _end(logs: list[Pending]) -> float:
    return max(log.ended_at or log.sent_at for log in logs)

"""A restart within the time that a launch may take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

from k2tui.core.verbs import VerbEvent
from k2tui.services.doors import Clock
from k2tui.services.tasks import ended

TICK_S = 1.0
_OVER = ("ready", "failed", "proved", "done")


class TimeUp(Exception):
    """The launch came to no end within its limit."""


async def within(
    steps: AsyncIterator[VerbEvent], limit_s: float, *, clock: Clock, is_up: Callable[[], bool]
) -> AsyncIterator[VerbEvent]:
    """The steps of a restart; TimeUp where its launch is not ready `limit_s` seconds after it began.

    What comes before the start (drain, stop) and after ready (proof) has limits of its own. Time in which the node is
    out of reach (`is_up` is false) does not count: nobody can say then how far it is.
    """
    spent_s, counts = 0.0, False
    waiting: asyncio.Future[VerbEvent] | None = None
    try:
        while True:
            waiting = asyncio.ensure_future(_next(steps))
            last = clock.monotonic()
            while not waiting.done():
                nap = asyncio.ensure_future(
                    clock.sleep(min(TICK_S, max(0.01, limit_s - spent_s)) if counts else TICK_S)
                )
                try:
                    await asyncio.wait({waiting, nap}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    nap.cancel()
                now = clock.monotonic()
                spent_s += now - last if counts and is_up() else 0.0
                last = now
                if counts and spent_s >= limit_s and not waiting.done():
                    raise TimeUp
            try:
                event = waiting.result()
            except StopAsyncIteration:
                return
            if event.type == "started":
                spent_s, counts = 0.0, True
            elif event.type in _OVER:
                counts = False
            yield event
    finally:
        await ended(_task(waiting))
        await closed(steps)


async def closed(steps: AsyncIterator[Any]) -> None:
    """End what tells these steps."""
    close = getattr(steps, "aclose", None)
    if close is not None:
        await close()


async def _next(steps: AsyncIterator[VerbEvent]) -> VerbEvent:
    return await steps.__anext__()


def _task(waiting: asyncio.Future[VerbEvent] | None) -> asyncio.Task[VerbEvent] | None:
    return waiting if isinstance(waiting, asyncio.Task) else None

"""Keeps the events list on this side, so that the next k2tui shows yesterday's too."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from k2tui.core.errors import K2Error
from k2tui.core.events import Event, Severity
from k2tui.services.doors import Clock, EventHistory
from k2tui.services.tasks import ended

BATCH_S = 1.0
"""What comes within this time is written together."""
MOST_AT_ONCE = 500
MOST_WAITING = 5000
"""What comes faster than the store takes it is lost, the oldest first; a sentence says how much."""
RETRY_S = 60.0
REMEMBERED_S = 2 * 86_400.0
CLOSE_S = 5.0


class EventKeeper:
    """Writes events in the background, many at once. A store that fails costs the memory and one sentence."""

    def __init__(self, store: EventHistory | None, *, clock: Clock, tell: Callable[[str, str, Severity], None]) -> None:
        """`tell(subject, sentence, severity)` puts an event on the list."""
        self._store, self._clock, self._tell = store, clock, tell
        self._waiting: deque[Event] = deque()
        self._lost = 0
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._said = False

    async def earlier(self, most: int) -> tuple[Event, ...]:
        """What earlier k2tui saw in the last two days, oldest first."""
        if self._store is None:
            return ()
        try:
            return await self._store.noted(self._clock.time() - REMEMBERED_S, most)
        except K2Error as error:
            self._say(error)
            return ()

    def keep(self, event: Event) -> None:
        """Write it down before long; costs nothing now."""
        if self._store is None or self._closing.is_set():
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft()
            self._lost += 1
        self._waiting.append(event)
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._write(self._store))

    async def close(self) -> None:
        """Write what is left."""
        self._closing.set()
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_S)
            await ended(self._task)

    async def _write(self, store: EventHistory) -> None:
        while self._waiting:
            await self._pause(BATCH_S)
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(MOST_AT_ONCE, len(self._waiting)))]
                if self._lost:
                    text = f"{self._lost} events were not kept: they came too fast"
                    batch.insert(0, Event(batch[0].at, "", text, Severity.WARNING))
                    self._lost = 0
                try:
                    await store.note(batch)
                except K2Error as error:
                    self._waiting.extendleft(reversed(batch))
                    self._say(error)
                    if self._closing.is_set():
                        return
                    await self._pause(RETRY_S)

    async def _pause(self, seconds: float) -> None:
        """So long, or until the end."""
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        closing = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait({sleep, closing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            closing.cancel()

    def _say(self, error: K2Error) -> None:
        if not self._said:
            self._said = True
            self._tell("", str(error), Severity.WARNING)

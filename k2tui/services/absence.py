"""Says that somebody looks; and when nobody did for a while, gathers what happened meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from k2tui.core.absence import SHORTEST_S, Absence
from k2tui.core.absence_events import happened, was_asked
from k2tui.core.errors import K2Error
from k2tui.core.events import Event, Severity
from k2tui.core.views import NodeView, ServerView
from k2tui.services.doors import Clock, EventHistory
from k2tui.services.tasks import ended

LOOKING_S = 60.0
BEFORE_S = 2 * 86_400.0
"""What was noted so long before says how things stood when the operator left."""
MOST_NOTED = 2000
AGAIN_S = 30.0
"""Once all nodes were asked: logs are still read, and nodes come back."""
GATHERS_S = 1800.0
CLOSE_S = 5.0


class AbsenceWatch:
    """One visit of an operator: begun by the app, never by a plain command."""

    def __init__(
        self,
        store: EventHistory | None,
        *,
        clock: Clock,
        tell: Callable[[str, str, Severity], None],
        on_change: Callable[[], None],
    ) -> None:
        """`tell(subject, sentence, severity)` puts an event on the list; `on_change`: the absence is another."""
        self._store, self._clock, self._tell, self._on_change = store, clock, tell, on_change
        self._absence: Absence | None = None
        self._noted: tuple[Event, ...] = ()
        self._next_at = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def absence(self) -> Absence | None:
        """None where it was short, or is not known yet."""
        return self._absence

    def open(self) -> None:
        """Begin, in the background."""
        if self._task is None and self._store is not None:
            self._task = asyncio.ensure_future(self._visit(self._store))

    def look(self, nodes: Sequence[NodeView], servers: Sequence[ServerView]) -> None:
        """Gather what the nodes told by now; to be called every two seconds or so."""
        absence, now = self._absence, self._clock.monotonic()
        if absence is None or now < self._next_at or self._clock.time() - absence.back_at > GATHERS_S:
            return
        complete = absence.complete or all(was_asked(node, servers) for node in nodes)
        found = replace(absence, events=happened(absence, nodes, servers, self._noted), complete=complete)
        if complete:
            self._next_at = now + AGAIN_S
        if found != absence:
            self._absence = found
            self._on_change()

    async def close(self) -> None:
        """The operator leaves now."""
        task, self._task = self._task, None
        await ended(task)
        if task is not None and self._store is not None:
            leaving = asyncio.ensure_future(self._look_in(self._store))
            await asyncio.wait({leaving}, timeout=CLOSE_S)
            await ended(leaving)

    async def _visit(self, store: EventHistory) -> None:
        try:
            left, now = await store.left_at(), self._clock.time()
            if left is not None and now - left >= SHORTEST_S:
                self._noted = await store.noted(left - BEFORE_S, MOST_NOTED)
                self._absence = Absence(left, now)
                self._on_change()
        except K2Error as error:
            self._tell("", str(error), Severity.WARNING)
        while True:
            await self._look_in(store)
            await self._clock.sleep(LOOKING_S)

    async def _look_in(self, store: EventHistory) -> None:
        try:
            await store.looking(self._clock.time())
        except K2Error:
            return  # said once, by who writes more than a time

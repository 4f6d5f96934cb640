"""What is noticed and remembered over time: events, readings, alerts, and what happened while nobody looked."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from k2tui.core.absence import Absence
from k2tui.core.events import Event, Severity
from k2tui.core.over_time.notes import annotations_of, clock_ahead_s
from k2tui.core.series import Annotation
from k2tui.core.settings import AlertSettings
from k2tui.core.views import NodeView, ServerView
from k2tui.services.absence import AbsenceWatch
from k2tui.services.alarm import Alarm, CommandRunner
from k2tui.services.doors import Clock, EventHistory, NodeLink, Script
from k2tui.services.event_keeper import EventKeeper
from k2tui.services.recorder import ReadingStore, Recorder
from k2tui.services.tasks import ended

if TYPE_CHECKING:
    from k2tui.services.backfill import Backfill

EVENTS_KEPT = 1000


class PastStore(ReadingStore, EventHistory, Protocol):
    """Where all of it is kept on this side."""


@dataclass(frozen=True)
class Looked:
    """All of a fleet at one moment."""

    nodes: Sequence[NodeView]
    servers: Sequence[ServerView]
    links: Mapping[str, NodeLink]
    """By node."""


class Chronicle:
    """`look` is called every two seconds while an operator is there; a plain command only lists events."""

    def __init__(
        self,
        store: PastStore | None,
        settings: AlertSettings,
        *,
        clock: Clock,
        log_since: Script,
        runner: CommandRunner | None,
        on_change: Callable[[], None],
    ) -> None:
        self.events: deque[Event] = deque(maxlen=EVENTS_KEPT)
        self._store, self._clock, self._on_change = store, clock, on_change
        self._keeper = EventKeeper(store, clock=clock, tell=self._complain)
        self.recorder = Recorder(store, clock=clock, tell=self._complain)
        self.alarm = Alarm(
            settings,
            clock=clock,
            tell=self._complain,
            on_change=on_change,
            store=store,
            runner=runner,
            baseline=self.recorder,
        )
        self._absence = AbsenceWatch(store, clock=clock, tell=self._complain, on_change=on_change)
        self._log_since = log_since
        self._backfill: Backfill | None = None
        """None while nobody was away."""
        self._attended = False
        self._recalling: asyncio.Task[None] | None = None
        self._complained: set[tuple[str, str]] = set()
        self._servers: Sequence[ServerView] = ()
        self._offsets: dict[str, float | None] = {}

    def record(self, subject: str, text: str, severity: Severity = Severity.INFO) -> None:
        """Put an event on the list."""
        event = Event(self._clock.time(), subject, text, severity)
        self.events.append(event)
        if self._attended:
            self._keeper.keep(event)
        self._on_change()

    def _complain(self, subject: str, text: str, severity: Severity) -> None:
        """As `record`; but that the store fails is said by each who uses it, and listed once."""
        if (subject, text) not in self._complained:
            self._complained.add((subject, text))
            self.record(subject, text, severity)

    def open(self) -> None:
        """An operator is there: take up what earlier k2tui left."""
        self._attended = True
        self._absence.open()
        self._recalling = asyncio.ensure_future(self._recall())

    async def _recall(self) -> None:
        earlier = await self._keeper.earlier(EVENTS_KEPT)
        if earlier:
            now = list(self.events)
            self.events.clear()
            self.events.extend((*earlier, *now))
            self._on_change()

    def look(self, seen: Looked) -> None:
        """Take in the fleet as it is."""
        self._servers = seen.servers
        self._offsets = {node.settings.name: node.reading.clock_offset_s for node in seen.nodes}
        self.recorder.take(seen.nodes, seen.servers)
        self.alarm.look(seen.nodes, seen.servers)
        self._absence.look(seen.nodes, seen.servers)
        absence = self._absence.absence
        if absence is None:
            return
        if self._backfill is None:
            self._backfill = self._new_backfill()
        for server in seen.servers:
            node = server.settings.node
            self._backfill.look(server, seen.links[node], clock_offset_s=self._offsets.get(node), since=absence.left_at)

    def _new_backfill(self) -> Backfill:
        from k2tui.services.backfill import Backfill  # noqa: PLC0415  keeps the first paint cheap

        return Backfill(
            self._store,
            self._log_since,
            clock=self._clock,
            tell=self._complain,
            on_filled=lambda _server: self._on_change(),
        )

    @property
    def absence(self) -> Absence | None:
        """What happened while nobody looked."""
        return self._absence.absence

    def annotations(self, since: float, until: float) -> tuple[Annotation, ...]:
        """Restarts, ends, alerts and the time nobody looked, oldest first."""
        ahead = {node: clock_ahead_s(offset) for node, offset in self._offsets.items() if offset is not None}
        absence = self._absence.absence
        away = None if absence is None else (absence.left_at, absence.back_at)
        return annotations_of(self._servers, self.alarm.alerts(), since, until, clocks_ahead_s=ahead, absent=away)

    async def close(self) -> None:
        """Write what is left; the store itself is let go of by its owner."""
        await ended(self._recalling)
        await self._absence.close()
        if self._backfill is not None:
            await self._backfill.close()
        await self.alarm.close()
        await self.recorder.close()
        await self._keeper.close()

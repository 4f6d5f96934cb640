"""Events, alerts and the last look, kept in memory for several k2tui at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from k2tui.core.alerts import Alert
from k2tui.core.errors import K2Error
from k2tui.core.events import Event


@dataclass
class MemoryEvents:
    """services.doors.EventHistory: refuses while it is told to be broken."""

    events: list[Event] = field(default_factory=list)
    alerts: dict[tuple[str, str, float], Alert] = field(default_factory=dict)
    left: float | None = None
    broken: bool = False
    batches: list[int] = field(default_factory=list)
    """How many events came at once, each time."""
    held: asyncio.Event | None = None
    """Answers wait for it."""

    async def note(self, events: Sequence[Event]) -> None:
        await self._answer()
        self.batches.append(len(events))
        self.events.extend(events)

    async def noted(self, since: float, most: int = 1000) -> tuple[Event, ...]:
        await self._answer()
        found = sorted((event for event in self.events if event.at >= since), key=lambda event: event.at)
        return tuple(found[-most:])

    async def put_alert(self, alert: Alert) -> None:
        await self._answer()
        self.alerts[alert.key] = alert

    async def put_alerts(self, since: float) -> tuple[Alert, ...]:
        await self._answer()
        return tuple(one for one in self.alerts.values() if one.ended_at is None or one.began_at >= since)

    async def claim_alert(self, alert: Alert) -> Alert | None:
        await self._answer()
        same = [one for one in self.alerts.values() if (one.rule, one.subject) == (alert.rule, alert.subject)]
        there = next((one for one in same if one.ended_at is None), self.alerts.get(alert.key))
        if there is None:
            self.alerts[alert.key] = alert
        return there

    async def left_at(self) -> float | None:
        await self._answer()
        return self.left

    async def looking(self, at: float) -> None:
        await self._answer()
        self.left = at

    async def _answer(self) -> None:
        await asyncio.sleep(0)
        if self.held is not None:
            await self.held.wait()
        if self.broken:
            raise K2Error("history is not kept: the disk is full", code="history")

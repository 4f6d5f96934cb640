"""Histories in memory: launches, readings, events."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from k2tui.core.errors import K2Error
from k2tui.core.history import PastLaunch
from k2tui.core.series import RateMinute, Samples, SeriesKey, UsualRate


@dataclass
class MemoryHistory:
    """services.doors.LaunchHistory: keeps launches until it ends; refuses while it is told to be broken."""

    launches: list[PastLaunch] = field(default_factory=list)
    broken: bool = False
    closed: bool = False
    recalls: int = 0
    to_say: list[str] = field(default_factory=list)
    held: asyncio.Event | None = None
    """Answers wait for it."""

    async def recall(self, host: str, model: str) -> tuple[PastLaunch, ...]:
        self.recalls += 1
        await self._answer()
        found = [one for one in self.launches if (one.key.host, one.key.model) == (host, model)]
        return tuple(sorted(found, key=lambda one: one.began_at, reverse=True))

    async def record(self, past: PastLaunch) -> None:
        await self._answer()
        run = (past.key.host, past.server, past.run_id)
        self.launches = [one for one in self.launches if (one.key.host, one.server, one.run_id) != run]
        self.launches.append(past)

    def notes(self) -> tuple[str, ...]:
        said, self.to_say = tuple(self.to_say), []
        return said

    async def close(self) -> None:
        self.closed = True

    async def _answer(self) -> None:
        await _answer(self.held, broken=self.broken)


@dataclass
class MemoryReadings:
    """services.recorder.ReadingStore: keeps readings until it ends; refuses while it is told to be broken."""

    samples: list[Samples] = field(default_factory=list)
    rates: list[RateMinute] = field(default_factory=list)
    usual: dict[str, UsualRate] = field(default_factory=dict)
    """By configuration."""
    thinned: list[float] = field(default_factory=list)
    broken: bool = False
    asked: list[tuple[SeriesKey, ...]] = field(default_factory=list)
    """Keys of every look at what is kept."""
    usual_asked: int = 0
    held: asyncio.Event | None = None
    """Answers wait for it."""

    async def keep(self, samples: Sequence[Samples]) -> None:
        await self._answer()
        self.samples += samples

    async def kept(self, keys: Sequence[SeriesKey], since: float, until: float) -> tuple[Samples, ...]:
        self.asked.append(tuple(keys))
        await self._answer()
        newest_first = reversed(self.samples)
        found = [one for one in newest_first if one.key in keys and one.began < until and one.ended > since]
        return tuple(sorted(found, key=lambda one: one.step_s))

    async def thin(self, now: float) -> None:
        await self._answer()
        self.thinned.append(now)

    async def add_rates(self, minutes: Sequence[RateMinute]) -> None:
        await self._answer()
        self.rates += minutes

    async def usual_rate(self, config: str, running: float) -> UsualRate | None:
        self.usual_asked += 1
        await self._answer()
        return self.usual.get(config)

    def told(self, key: SeriesKey) -> dict[float, float]:
        """The figures of one series by their time, the newest word of each."""
        return {
            one.began + at * one.step_s: figure
            for one in self.samples
            if one.key == key
            for at, figure in enumerate(one.mean)
            if figure is not None
        }

    async def _answer(self) -> None:
        await _answer(self.held, broken=self.broken)


async def _answer(held: asyncio.Event | None, *, broken: bool) -> None:
    if held is not None:
        await held.wait()
    if broken:
        raise K2Error("history is not kept: the disk is full", code="history")

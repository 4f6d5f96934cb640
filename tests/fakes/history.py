"""A launch history in memory."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from k2tui.core.errors import K2Error
from k2tui.core.history import PastLaunch


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
        if self.held is not None:
            await self.held.wait()
        if self.broken:
            raise K2Error("history is not kept: the disk is full", code="history")

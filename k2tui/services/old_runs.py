"""Logs of earlier runs, fetched when somebody looks."""

from __future__ import annotations

import asyncio

from k2tui.core.errors import K2Error
from k2tui.core.ring import LineRing
from k2tui.core.runs import Run
from k2tui.services.doors import NodeLink, Script
from k2tui.services.follow import log_size, read_range
from k2tui.services.tasks import ended

MOST_BYTES = 8 << 20
"""Of a larger log the tail is fetched, and the ring says so."""


class OldRuns:
    """One ring for each earlier run that was asked for."""

    def __init__(self, read: Script, size: Script) -> None:
        self._read, self._size = read, size
        self._rings: dict[str, LineRing] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def ring(self, link: NodeLink, run: Run) -> LineRing:
        """The run's lines; empty at first, filled as they come."""
        if run.directory not in self._rings:
            ring = self._rings[run.directory] = LineRing()
            task = asyncio.ensure_future(self._fetch(link, run, ring))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self._rings[run.directory]

    async def close(self) -> None:
        """Fetch no more."""
        await ended(*self._tasks)

    async def _fetch(self, link: NodeLink, run: Run, ring: LineRing) -> None:
        from k2tui.core.intake import LogIntake  # noqa: PLC0415  keeps the first paint cheap

        try:
            _, size = await log_size(link, self._size, run.log_path)
            offset = max(0, size - MOST_BYTES)
            if offset:
                ring.extend([f"··· {offset >> 20} MB before this were not fetched ···"])
            intake = LogIntake(ring=ring)
            while offset < size:
                data = await read_range(link, self._read, run.log_path, offset, min(1 << 20, size - offset))
                if not data:
                    break
                intake.feed(data)
                offset += len(data)
            intake.flush()
        except K2Error as error:
            ring.extend([f"··· not fetched: {error} ···"])

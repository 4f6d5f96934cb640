"""Which runs a node has, looked at often enough to be believed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.services.doors import Clock, NodeLink
from k2tui.services.runs import RunKeeper
from k2tui.services.tasks import ended

BUSY_PERIOD_S = 2.0
"""Between two looks while a server of the node is loading or being changed."""
CALM_PERIOD_S = 5.0


class RunScan:
    """Keeps the list of a node's runs fresh while its link is up."""

    def __init__(self, link: NodeLink, keeper: RunKeeper, *, clock: Clock, on_change: Callable[[], None]) -> None:
        self.runs: tuple[Run, ...] = ()
        self.at: float | None = None
        """time.monotonic of the last look; None before the first."""
        self.busy = False
        """True asks for the shorter period."""
        self.problem: K2Error | None = None
        """Why the last look failed; None when it did not."""
        self._link, self._keeper, self._clock, self._on_change = link, keeper, clock, on_change
        self._task: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()

    def start(self) -> None:
        """Begin to look, in the background."""
        self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Look no more."""
        await ended(self._task)

    async def look(self) -> tuple[Run, ...]:
        """Look now; raises K2Error when the node can't be asked."""
        async with self._looking:
            self.runs = await self._keeper.scan()
            self.at = self._clock.monotonic()
            self.problem = None
        self._on_change()
        return self.runs

    async def _run(self) -> None:
        while True:
            if self._link.state.phase is LinkPhase.UP:
                try:
                    await self.look()
                except K2Error as error:
                    self.problem = error
                    self._on_change()
                await self._clock.sleep(BUSY_PERIOD_S if self.busy else CALM_PERIOD_S)
            else:
                await self._clock.sleep(0.2)

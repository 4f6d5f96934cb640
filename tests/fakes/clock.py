"""Time that moves only when the test says so."""

from __future__ import annotations

import asyncio


class FakeClock:
    """services.doors.Clock. `slept` are the pauses that were asked for, in order."""

    def __init__(self) -> None:
        self.now = 100.0
        self.slept: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return 1_000_000_000.0 + self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, wake))
        await wake

    def advance(self, seconds: float) -> None:
        """Let time pass and wake whoever slept so long."""
        self.now += seconds
        due = [wake for end, wake in self._sleepers if end <= self.now + 1e-9]
        self._sleepers = [(end, wake) for end, wake in self._sleepers if end > self.now + 1e-9]
        for wake in due:
            if not wake.done():
                wake.set_result(None)

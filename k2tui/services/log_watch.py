"""One log of a node, from its bytes to lines and facts, for as long as somebody watches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from k2tui.core.errors import K2Error
from k2tui.core.ring import LineRing
from k2tui.core.runs import printable
from k2tui.services.doors import Clock, NodeLink, Script
from k2tui.services.follow import QUICK_S, LogChunk, LogFollower, log_size, read_range
from k2tui.services.tasks import ended

if TYPE_CHECKING:
    from k2tui.core.intake import LogIntake

WHOLE_BYTES = 8 << 20
"""A log up to this size is read from its first byte."""
HEAD_BYTES = 1 << 20
"""Of a larger one, this much of the head is read for the launch's facts ..."""
TAIL_BYTES = 2 << 20
"""... and this much of the tail for the screen."""
SLICE_BYTES = 64 << 10
"""What is parsed in one turn of the event loop: a few milliseconds, so that a key is never kept waiting."""
IDLE_FLUSH_S = 0.2
"""A line without its newline is looked at after this much silence (progress bars)."""
RETRY_S = 1.0
CALM_S = 2.0
"""Between two pieces of a log that nobody reads, of a server that is up: a line a second would else be a packet, a
wake-up and three processes on the node each."""


class LogScripts:
    """The scripts that reading a log needs."""

    def __init__(self, script: Callable[[str], Script]) -> None:
        self.follow = script("follow")
        self.size = script("log_size")
        self.read = script("read")


class LogWatch:
    """Follows one log; the ring and the launch are always as new as the bytes that came."""

    def __init__(
        self,
        link: NodeLink,
        scripts: LogScripts,
        path: str,
        *,
        clock: Clock,
        log_now: Callable[[], float | None],
        on_change: Callable[[], None],
        engine: str | None = None,
    ) -> None:
        self.path = path
        self.ring = LineRing()
        self.seen_at: float | None = None
        """time.monotonic of the last byte or heartbeat."""
        self.behind_bytes: int | None = None
        self.caught_up = False
        """True once everything that was there at the start has been read."""
        self.skipped = False
        """True when a part between head and tail was not read."""
        self.missing = False
        """True while the node says that there is no such file."""
        self.problem: str | None = None
        """Why some of it could not be read here, by a fault of k2tui's; None while all is well."""
        self._link, self._scripts, self._clock = link, scripts, clock
        self._log_now, self._on_change, self._engine = log_now, on_change, engine
        self._follower: LogFollower | None = None
        self._task: asyncio.Task[None] | None = None
        self._flush: asyncio.TimerHandle | None = None
        self._backfill_end = 0
        """What stands before it was there when the node was reached: it was not written just now."""
        self._openings = 0
        self._feeding = False
        self.intake = self._new_intake()

    def hurry(self, *, hurried: bool) -> None:
        """Whether each line is wanted as soon as it is written: it loads, or somebody reads it."""
        if self._follower is not None:
            self._follower.pace_s = QUICK_S if hurried else CALM_S

    def start(self) -> None:
        """Begin to follow, in the background."""
        self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Stop following; the file is left as it is."""
        if self._flush is not None:
            self._flush.cancel()
        await ended(self._task)
        if self._follower is not None:
            await self._follower.close()

    async def read_to_end(self, *, limit_s: float = 10.0) -> None:
        """Wait until everything that stands in the file now has been read, or the node can't be asked."""
        try:
            inode, size = await log_size(self._link, self._scripts.size, self.path)
        except K2Error:
            return
        end = self._clock.monotonic() + limit_s
        while self._clock.monotonic() < end:
            follower = self._follower
            if follower is not None and (follower.inode != inode or follower.offset >= size) and not self._feeding:
                self._flush_intake()
                return
            await self._clock.sleep(0.05)

    async def _run(self) -> None:
        """Until it is closed: a fault of ours costs a slice of the log, never the watch."""
        while True:
            try:
                follower = self._follower or await self._begin()
                await self._follow(follower)
                return
            except Exception as error:
                self._failed(error)
                await self._clock.sleep(RETRY_S)

    async def _begin(self) -> LogFollower:
        """Read the head of a large log, and be ready to follow the rest."""
        inode, size = await self._first_look()
        self._backfill_end = size
        offset = 0
        if size > WHOLE_BYTES:
            await self._feed(await self._read(0, HEAD_BYTES), live=False)
            self._flush_intake()
            offset = size - TAIL_BYTES
            self.skipped = True
            self.ring.clear()
            self.ring.extend([f"··· {(offset - HEAD_BYTES) >> 20} MB between the head and here were not read ···"])
        self.caught_up = size == 0
        self._follower = LogFollower(
            self._link, self._scripts.follow, self.path, clock=self._clock, inode=inode, offset=offset
        )
        return self._follower

    async def _follow(self, follower: LogFollower) -> None:
        async with aclosing(follower.chunks()) as chunks:  # type: ignore[type-var]  # it is an async generator
            async for chunk in chunks:
                await self._take(chunk, follower.openings)
                self._tell_change()

    async def _take(self, chunk: LogChunk, openings: int) -> None:
        self.seen_at = self._clock.monotonic()
        self.missing = chunk.event == "missing"
        if chunk.event in ("rotated", "truncated"):
            self._begin_again(chunk.event)
        if chunk.size is not None and openings != self._openings:
            self._openings, self._backfill_end = openings, chunk.size
        end = chunk.offset + len(chunk.data)
        self.behind_bytes = None if chunk.size is None else max(0, chunk.size - end)
        if chunk.data:
            await self._feed(chunk.data, live=end > self._backfill_end)
        if end >= self._backfill_end and not self.caught_up:
            self.caught_up = True
            self._flush_intake()

    async def _first_look(self) -> tuple[int, int]:
        """(inode, size) of the log, as soon as the node can be asked."""
        while True:
            try:
                return await log_size(self._link, self._scripts.size, self.path)
            except K2Error:
                await self._clock.sleep(1.0)

    async def _read(self, offset: int, size: int) -> bytes:
        while True:
            try:
                return await read_range(self._link, self._scripts.read, self.path, offset, size)
            except K2Error:
                await self._clock.sleep(1.0)

    async def _feed(self, data: bytes, *, live: bool) -> None:
        """Parse in slices, letting keys and paints through between them."""
        self._feeding = True
        try:
            for start in range(0, len(data), SLICE_BYTES):
                try:
                    self.intake.feed(data[start : start + SLICE_BYTES], self._log_now() if live else None)
                except Exception as error:  # the next slice may do better
                    self._failed(error)
                await asyncio.sleep(0)
        finally:
            self._feeding = False
        if self._flush is not None:
            self._flush.cancel()
        self._flush = asyncio.get_running_loop().call_later(IDLE_FLUSH_S, self._flush_now)

    def _flush_now(self) -> None:
        before = self.intake.launch
        self._flush_intake()
        if self.intake.launch is not before:
            self._tell_change()

    def _flush_intake(self) -> None:
        try:
            self.intake.flush()
        except Exception as error:
            self._failed(error)

    def _tell_change(self) -> None:
        try:
            self._on_change()
        except Exception as error:
            self._failed(error)

    def _failed(self, error: Exception) -> None:
        """Keep the first fault: those after it are often its echo."""
        if self.problem is None:
            words = printable(f"{type(error).__name__}: {error}")[:200]
            self.problem = f"log {self.path} could not be read here: {words}"

    def _new_intake(self) -> LogIntake:
        """To tell the year of a stamp without one, this machine's clock will do until the node's is known."""
        from k2tui.core.intake import LogIntake  # noqa: PLC0415  keeps the first paint cheap

        now = self._log_now()
        near = self._clock.time() if now is None else now
        return LogIntake(ring=self.ring, engine=self._engine, near=near)

    def _begin_again(self, event: str) -> None:
        """The file was replaced or cut: what comes now is another log."""
        self.intake = self._new_intake()
        self.problem = None
        self.skipped = False
        self.ring.extend([f"··· the log was {event} here ···"])
        self._backfill_end = 0

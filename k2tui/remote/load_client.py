"""Streams to one server: connections that are open before they are needed, and what is under way on them."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from time import perf_counter

from k2tui.remote.load_door import Door
from k2tui.remote.load_http import LOST, Connection, HttpError, ask
from k2tui.remote.load_stream import Stream

IDLE_S = 60.0
"""Without a byte of any kind a stream is given up."""
TAIL_S = 1.0
"""A server that says `[DONE]` and does not end its answer."""
RECENT_S = 5.0
"""The server's own count of running requests may be as old."""
OPENED_AT_ONCE = 64


class Pending(Stream):
    """A stream that can be waited for and cut."""

    def __init__(self, connection: Connection) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        super().__init__(self._tell)
        self.connection = connection
        self.was_used = connection.is_used
        """The connection had answered before."""

    def cut(self) -> None:
        """End it now; what came until now counts."""
        if not self.ended.done():
            self.was_cut = True
            self.connection.cut()

    def _tell(self, _: Stream) -> None:
        if not self.ended.done():
            self.ended.set_result(None)


class Client:
    """Sends requests and keeps what is under way."""

    def __init__(self, door: Door, path: str) -> None:
        self.active: set[Pending] = set()
        self.is_closed = False
        self._door, self._path, self._idle_s = door, path, IDLE_S
        self._free: list[Connection] = []
        self._in_flight: deque[tuple[float, int]] = deque()
        self._watch = asyncio.ensure_future(self._look_after())

    async def open(self, count: int) -> None:
        """Have this many connections open, each of which has answered once. Raises HttpError."""
        self._free = [connection for connection in self._free if connection.is_free]
        while len(self._free) < count:
            missing = min(OPENED_AT_ONCE, count - len(self._free))
            opened = await asyncio.gather(*(self._warm() for _ in range(missing)), return_exceptions=True)
            self._free += [one for one in opened if isinstance(one, Connection)]
            for one in opened:
                if isinstance(one, BaseException):
                    raise one

    async def stream(self, body: bytes) -> Pending:
        """One request to the end of its answer. What goes wrong with it is in the log; HttpError: it can't be sent."""
        sent = self._door.request("POST", self._path, body, "text/event-stream")
        connection = self._take() or await self._door.connect()
        log = await self._asked(connection, sent)
        if log.is_untouched and log.was_used and log.error == LOST:
            # Its server may have closed the connection because nobody had used it for a while: again, on a new one.
            with suppress(HttpError):
                log = await self._asked(await self._door.connect(), sent)
        return log

    async def _asked(self, connection: Connection, sent: bytes) -> Pending:
        log = Pending(connection)
        if self.is_closed:
            connection.cut()
            log.was_cut = True
            return log
        self.active.add(log)
        self._note()
        log.sent_at = connection.ask(sent, log)
        try:
            await log.ended
        finally:
            self.active.discard(log)
            self._note()
        if connection.is_free:
            self._free.append(connection)
        return log

    def most_in_flight(self) -> int:
        """The most that were under way at the same time within the last seconds."""
        self._forget(perf_counter() - RECENT_S)
        return max((count for _, count in self._in_flight), default=0)

    def cut(self) -> None:
        """End everything that is under way."""
        for log in list(self.active):
            log.cut()

    def close(self) -> None:
        """End everything; nothing more is sent."""
        self.is_closed = True
        self._watch.cancel()
        self.cut()
        for connection in self._free:
            connection.cut()
        self._free = []

    def _take(self) -> Connection | None:
        while self._free:
            connection = self._free.pop()
            if connection.is_free:
                return connection
        return None

    async def _warm(self) -> Connection:
        connection = await self._door.connect()
        with suppress(HttpError):  # whatever it answers; one that closes after each answer is opened anew
            await ask(connection, self._door.beside("GET", "/v1/models"), self._idle_s)
        return connection if connection.is_free else await self._door.connect()

    def _note(self) -> None:
        now = perf_counter()
        self._in_flight.append((now, len(self.active)))
        self._forget(now - RECENT_S)

    def _forget(self, before: float) -> None:
        """The last entry before the window stays: it is what held when the window began."""
        while len(self._in_flight) > 1 and self._in_flight[1][0] < before:
            self._in_flight.popleft()

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(min(1.0, self._idle_s / 4))
            now = perf_counter()
            for log in list(self.active):
                if log.done_at is not None and now - log.done_at > TAIL_S:
                    log.connection.cut()
                elif now - log.connection.heard_at > self._idle_s:
                    log.connection.cut(f"not a byte came for {self._idle_s:g} s")

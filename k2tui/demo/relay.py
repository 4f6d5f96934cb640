"""A TCP connection point in front of a server that can fall silent: nothing gets through, and nothing is closed."""

from __future__ import annotations

import asyncio

LOOPBACK = "127.0.0.1"


class Relay:
    """What a cable is to a machine: `cut` drops every byte both ways, as a dead network does; `mend` lets go on.

    Bytes that were on their way wait, as TCP would send them again. Who connects while it is cut hears nothing.
    """

    def __init__(self, to_port: int) -> None:
        self.port = 0
        self.is_cut = False
        self.accepted = 0
        """Connections so far."""
        self._to_port = to_port
        self._server: asyncio.Server | None = None
        self._ends: set[_End] = set()

    async def start(self) -> None:
        """Listen on a free port of this machine."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _End(self), LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Close all connections."""
        if self._server is not None:
            self._server.close()
        for end in tuple(self._ends):
            end.abort()

    def cut(self) -> None:
        """Let nothing through from now on."""
        self.is_cut = True
        for end in self._ends:
            end.look()

    def mend(self) -> None:
        """Let through what waited, and what comes."""
        self.is_cut = False
        for end in self._ends:
            end.look()

    def joined(self, end: _End) -> None:
        """A connection's end is there."""
        self._ends.add(end)

    def left(self, end: _End) -> None:
        """... and is gone."""
        self._ends.discard(end)

    async def meet(self, end: _End) -> None:
        """Connect to the server for a client."""
        loop = asyncio.get_running_loop()
        try:
            _, other = await loop.create_connection(lambda: _End(self, end), LOOPBACK, self._to_port)
        except OSError:
            end.abort()
            return
        end.pair(other)


class _End(asyncio.Protocol):
    """One of the two sockets of a connection."""

    def __init__(self, relay: Relay, other: _End | None = None) -> None:
        self._relay, self._other = relay, other
        self._transport: asyncio.Transport | None = None
        self._full = False
        self._meeting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._relay.joined(self)
        if self._other is None:
            self._relay.accepted += 1
            self._meeting = asyncio.ensure_future(self._relay.meet(self))
        self.look()

    def pair(self, other: _End) -> None:
        """The other socket is there: bytes may flow."""
        self._other = other
        self.look()

    def look(self) -> None:
        """Read only while there is somebody to hand it to."""
        if self._transport is None or self._transport.is_closing():
            return
        if self._relay.is_cut or self._full or self._other is None:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def data_received(self, data: bytes) -> None:
        if self._other is not None and self._other._transport is not None:
            self._other._transport.write(data)

    def pause_writing(self) -> None:
        self._hold(full=True)

    def resume_writing(self) -> None:
        self._hold(full=False)

    def _hold(self, *, full: bool) -> None:
        if self._other is not None:
            self._other._full = full
            self._other.look()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relay.left(self)
        if self._meeting is not None:
            self._meeting.cancel()
        if self._other is not None and self._other._transport is not None:
            self._other._transport.close()

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()

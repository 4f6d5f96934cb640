"""A node whose connection does what the test says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from k2tui.adapters.trouble import link_error, phase_after
from k2tui.core.link import LinkPhase, LinkState
from k2tui.services.doors import Completed, HttpDoor, RemoteStream, Script


class FakeStream:
    """A held script: `say` what it prints, `end` it, or `cut` the link under it."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[bytes | Exception] = asyncio.Queue()
        self.heard: list[bytes] = []
        self.closed = False

    def say(self, *lines: str) -> None:
        for line in lines:
            self._lines.put_nowait(f"{line}\n".encode())

    def end(self) -> None:
        self._lines.put_nowait(b"")

    def cut(self, error: Exception) -> None:
        self._lines.put_nowait(error)

    async def readline(self) -> bytes:
        line = await self._lines.get()
        if isinstance(line, Exception):
            raise line
        return line

    async def read(self, size: int) -> bytes:
        raise NotImplementedError

    async def write(self, data: bytes) -> None:
        self.heard.append(data)

    async def close(self) -> None:
        self.closed = True
        self.end()


class FakeLink:
    """services.doors.NodeLink. `fails` is the code that connecting fails with; None: it comes up."""

    def __init__(self, name: str = "gpu-a", *, fails: str | None = None) -> None:
        self.name = name
        self.fails = fails
        self.state = LinkState()
        self.connects = 0
        self.streams: list[FakeStream] = []
        self.asked: list[tuple[str, ...]] = []

    async def connect(self) -> None:
        if self.state.phase is LinkPhase.UP:
            return
        self.connects += 1
        if self.fails is not None:
            error = link_error(self.fails, self.name, f"{self.name}: {self.fails}")
            self.state = LinkState(phase_after(error), error.code, error.message)
            raise error
        self.state = LinkState(LinkPhase.UP)

    async def open(self, script: Script, args: Sequence[str] = ()) -> RemoteStream:
        self.asked.append(tuple(args))
        self.streams.append(FakeStream())
        return self.streams[-1]

    def lose(self) -> None:
        """The connection breaks under everything."""
        self.state = LinkState(LinkPhase.DOWN, "lost", "lost")
        for stream in self.streams:
            stream.cut(link_error("lost", self.name, f"the connection to {self.name} was lost"))

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        raise NotImplementedError

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpDoor:
        raise NotImplementedError

    async def trust_host_key(self) -> None:
        self.state = LinkState()

    async def drop(self) -> None:
        self.lose()

    async def close(self) -> None:
        self.state = LinkState()

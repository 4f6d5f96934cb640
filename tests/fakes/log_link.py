"""A node with one log and one HTTP server: the test says what is written, lost and answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from k2tui.adapters.trouble import link_error
from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase, LinkState
from k2tui.services.doors import Completed, HttpDoor, HttpReply, RemoteStream, Script

REPLIES = Path(__file__).parent.parent / "logs" / "replies"


class LogStream:
    """What remote/follow.sh prints."""

    def __init__(self) -> None:
        self._bytes = asyncio.StreamReader()

    def say(self, data: bytes) -> None:
        self._bytes.feed_data(data)

    async def readline(self) -> bytes:
        return await self._bytes.readline()

    async def read(self, size: int) -> bytes:
        return await self._bytes.read(size)

    async def write(self, data: bytes) -> None: ...

    async def close(self) -> None:
        if not self._bytes.at_eof():
            self._bytes.feed_eof()


@dataclass
class Web:
    """services.doors.HttpDoor: answers by path; None: no answer comes."""

    replies: dict[str, object] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def is_idle(self, running: int = 0) -> None:
        self.replies["/v1/loads"] = {"loads": [{"num_running_reqs": running, "num_waiting_reqs": 0}]}

    def completes(self) -> None:
        self.replies["/v1/models"] = json.loads((REPLIES / "sglang0523-qwen3.models.json").read_text("utf-8"))
        self.replies["/v1/chat/completions"] = json.loads((REPLIES / "sglang0523-qwen3.chat.json").read_text("utf-8"))

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        self.asked.append(path)
        if path not in self.replies:
            raise K2Error("no answer", code="http_timeout")
        return HttpReply(200, json.dumps(self.replies[path]).encode())

    async def events(
        self, path: str, *, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The whole answer as its one event."""
        yield (await self.ask("POST", path, body=body, headers=headers)).body

    async def aclose(self) -> None: ...


@dataclass
class LogLink:
    """services.doors.NodeLink whose log grows by `write` and goes on growing unseen while the link is lost."""

    data: bytes = b""
    name: str = "gpu-a"
    state: LinkState = LinkState(LinkPhase.UP)
    web: Web = field(default_factory=Web)
    streams: list[LogStream] = field(default_factory=list)
    chunk: int = 1 << 20
    """Bytes of one frame at most."""

    def write(self, text: str) -> None:
        self.data += text.encode()
        if self.state.phase is LinkPhase.UP and self.streams:
            self._send(self.streams[-1], len(self.data) - len(text.encode()))

    async def lose(self) -> None:
        self.state = LinkState(LinkPhase.DOWN)
        await self.streams[-1].close()

    def come_back(self) -> None:
        self.state = LinkState(LinkPhase.UP)

    def replace(self, text: str) -> None:
        """Another file stands there now."""
        self.data = text.encode()
        self.streams[-1].say(b"R 2\n")
        self._send(self.streams[-1], 0, inode=2)

    async def connect(self) -> None: ...

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        return Completed(0, f"1 {len(self.data)}\n".encode(), b"")

    async def open(self, script: Script, args: Sequence[str] = ()) -> RemoteStream:
        if self.state.phase is not LinkPhase.UP:
            raise link_error("lost", self.name, "lost")
        stream = LogStream()
        self.streams.append(stream)
        self._send(stream, int(args[2]))
        return stream

    def _send(self, stream: LogStream, offset: int, inode: int = 1) -> None:
        size = len(self.data)
        if offset == size:
            stream.say(f"H {inode} {offset} {size}\n".encode())
        for start in range(offset, size, self.chunk):
            piece = self.data[start : start + self.chunk]
            stream.say(f"D {inode} {start} {len(piece)} {size}\n".encode() + piece + b"E\n")

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpDoor:
        return self.web

    async def trust_host_key(self) -> None: ...

    async def drop(self) -> None:
        await self.lose()

    async def close(self) -> None: ...

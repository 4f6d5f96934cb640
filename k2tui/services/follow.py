"""The bytes of a log on a node, each exactly once, however often the connection breaks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase
from k2tui.services.doors import Clock, NodeLink, RemoteStream, Script

CHUNK_BYTES = 256 << 10
"""The most that is handed on at once."""
BEFORE_BYTES = 64
"""How much of what was read last is compared after a reconnect."""
QUICK_S = 0.25
"""Between two looks of the script at a log that grows."""
WAIT_S = 0.25
"""Between two looks at a link that is down."""
SLOWEST_S = 5.0
"""Between two tries on a link that is up, when the script does not come to run."""


@dataclass(frozen=True, slots=True)
class LogChunk:
    """A piece of the log, or a sign of life."""

    data: bytes
    """b"" for a heartbeat or an event."""
    inode: int
    offset: int
    """Of the first byte of `data`; without data, of the next byte to come."""
    size: int | None
    """Of the file when this was read; None when there is no file."""
    event: str | None = None
    """None | "rotated": another file stands there, read from 0 | "truncated": it was cut, read from 0 | "missing" |
    "denied": it can't be read | "not-a-file"."""


class LogFollower:
    """Follows one path. Only what was handed on counts, so that `inode` and `offset` are where to go on from."""

    def __init__(
        self, link: NodeLink, script: Script, path: str, *, clock: Clock, inode: int = 0, offset: int = 0
    ) -> None:
        self.path = path
        self.inode = inode
        """Of the file that is read; 0: whatever is there at the first look."""
        self.offset = offset
        """The next byte to come."""
        self.openings = 0
        """How often the script was started: what stood in the file by then was not written just now."""
        self.trouble: K2Error | None = None
        """Why nothing comes, when the link is up and the script does not run; None while all is well."""
        self._link, self._script, self._clock = link, script, clock
        self._before = b""
        self._pace_s = QUICK_S
        self._saying: set[asyncio.Future[None]] = set()
        self._stream: RemoteStream | None = None
        self._closed = False

    @property
    def pace_s(self) -> float:
        """The least time between two pieces of a log that grows all the time."""
        return self._pace_s

    @pace_s.setter
    def pace_s(self, seconds: float) -> None:
        if seconds != self._pace_s:
            self._pace_s = seconds
            self._say_pace()

    def _say_pace(self) -> None:
        """In the background; if it does not arrive, reading tells why."""
        stream = self._stream
        if stream is None:
            return

        async def write() -> None:
            with contextlib.suppress(K2Error, OSError):
                await stream.write(f"pace {max(1, round(self._pace_s / QUICK_S))}\n".encode("ascii"))

        saying = asyncio.ensure_future(write())
        self._saying.add(saying)
        saying.add_done_callback(self._saying.discard)

    async def chunks(self) -> AsyncIterator[LogChunk]:
        """For ever, or until `close`. While the link is down it waits; somebody else (a NodeWatch) brings it back."""
        pause_s = WAIT_S
        while not self._closed:
            if self._link.state.phase not in (LinkPhase.UP, LinkPhase.IDLE):
                await self._clock.sleep(WAIT_S)
                continue
            try:
                arguments = (self.path, str(self.inode), str(self.offset), self._before.hex())
                self._stream = await self._link.open(self._script, arguments)
                self.openings += 1
                if self._pace_s != QUICK_S:
                    self._say_pace()
            except K2Error as error:
                self.trouble = error
                await self._clock.sleep(pause_s)
                pause_s = min(SLOWEST_S, pause_s * 2)
                continue
            try:
                async with aclosing(self._frames(self._stream)) as frames:
                    async for chunk in frames:
                        self.trouble, pause_s = None, WAIT_S
                        yield chunk
            except K2Error as error:
                self.trouble = error
            finally:
                stream, self._stream = self._stream, None
                if stream is not None:
                    await stream.close()
            if not self._closed:
                await self._clock.sleep(pause_s)
                pause_s = min(SLOWEST_S, pause_s * 2)

    async def close(self) -> None:
        """End it; a chunk that is awaited does not come."""
        self._closed = True
        stream, self._stream = self._stream, None
        if stream is not None:
            await stream.close()

    async def _frames(self, stream: RemoteStream) -> AsyncGenerator[LogChunk, None]:
        """Until the stream ends. A frame that is not whole is forgotten: the next try asks for it again."""
        while (line := await stream.readline()).endswith(b"\n"):
            tag, *words = line.split()
            numbers = [int(word) for word in words if word.isdigit() and len(word) < 20]
            if self.inode == 0 and numbers:
                self.inode = numbers[0]
            match (tag, numbers):
                case (b"D", [self.inode, self.offset, length, size]):
                    data = await _exactly(stream, length)
                    if data is None or await stream.readline() != b"E\n":
                        return
                    for start in range(0, length, CHUNK_BYTES):
                        yield self._hand_on(data[start : start + CHUNK_BYTES], size)
                case (b"H", [self.inode, self.offset, size]):
                    yield LogChunk(b"", self.inode, self.offset, size)
                case (b"R" | b"T", [inode]):
                    self.inode, self.offset, self._before = inode, 0, b""
                    yield LogChunk(b"", inode, 0, None, "rotated" if tag == b"R" else "truncated")
                case (b"M", _):
                    yield LogChunk(b"", self.inode, self.offset, None, words[0].decode("ascii", "replace"))
                case _:
                    raise K2Error(f"{self._script.name} said {line[:80]!r}", code="protocol", subject=self._link.name)

    def _hand_on(self, data: bytes, size: int) -> LogChunk:
        chunk = LogChunk(data, self.inode, self.offset, size)
        self.offset += len(data)
        self._before = (self._before + data)[-BEFORE_BYTES:]
        return chunk


async def _exactly(stream: RemoteStream, size: int) -> bytes | None:
    pieces = []
    while size > 0:
        piece = await stream.read(size)
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


async def log_size(link: NodeLink, script: Script, path: str) -> tuple[int, int]:
    """(inode, size in bytes) of a file on the node; `script` is remote/log_size.sh."""
    done = await link.run(script, (path,))
    words = done.stdout.split()
    if done.code != 0 or len(words) != 2:
        raise _no_log(link.name, path, "is not a file" if done.code == 2 else "is not there")
    return int(words[0]), int(words[1])


async def read_range(link: NodeLink, script: Script, path: str, offset: int, size: int) -> bytes:
    """At most `size` bytes from `offset` on; fewer at the end of the file. `script` is remote/read.sh."""
    done = await link.run(script, (path, str(offset), str(size)), timeout_s=60.0)
    if done.code != 0:
        raise _no_log(link.name, path, "can't be read")
    return done.stdout


def _no_log(node: str, path: str, what: str) -> K2Error:
    return K2Error(f"{path} {what} on {node}", code="no_log", subject=path, exit_code=ExitCode.MISSING)

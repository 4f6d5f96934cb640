"""A remote command's three pipes, and what k2tui does with them: run it to its end, or hold it open."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Protocol

from k2tui.adapters.framing import Packed, after_mark
from k2tui.core.errors import ExitCode, K2Error
from k2tui.services.doors import Completed

NOISE_BYTES = 1 << 20
"""More than this before the mark is not an rc file that greets."""
OUTPUT_BYTES = 64 << 20
"""The most that a short script may print."""
LINE_BYTES = 4 << 20
"""A longer line is given in pieces."""
START_S = 30.0
"""How long the rc files of a login shell may take."""
_PIECE = 1 << 18


class Pipe(Protocol):
    """The raw ends of one command. Reads raise K2Error(code="lost") when the link broke."""

    async def read(self, size: int) -> bytes: ...
    async def read_error(self, size: int) -> bytes: ...

    async def write(self, data: bytes) -> None:
        """Raises OSError or K2Error when nobody reads any more."""
        ...

    async def write_eof(self) -> None: ...

    async def wait(self) -> int:
        """Its exit code, once both outputs ended; 128 + n for signal n."""
        ...

    async def end(self) -> None:
        """Close its stdin and let go of it; never longer than about two seconds."""
        ...


class ByteChannel(Protocol):
    """A TCP connection that somebody made on the node. Reads and writes raise OSError or K2Error."""

    async def read(self, size: int) -> bytes: ...
    async def write(self, data: bytes) -> None: ...
    async def close(self) -> None: ...

    def at_end(self) -> bool:
        """The server closed it; told without waiting."""
        ...


OpenChannel = Callable[[str, int], Awaitable[ByteChannel]]
"""Connect from the node to (host, port). Raises OSError or K2Error."""


async def complete(pipe: Pipe, packed: Packed, stdin: bytes, *, node: str) -> Completed:
    """Send everything, read everything. The caller sets the time limit."""
    send = asyncio.ensure_future(_send(pipe, packed.stdin + stdin))
    output = asyncio.ensure_future(_all(pipe.read, packed.name, node))
    errors = asyncio.ensure_future(_all(pipe.read_error, packed.name, node))
    try:
        _, out, err = await asyncio.gather(send, output, errors)
        code = await pipe.wait()
    finally:
        for task in (send, output, errors):
            task.cancel()
        await pipe.end()
    stdout = after_mark(out, packed.mark)
    if stdout is None:
        raise no_shell(node, out + err)
    stderr = after_mark(err, packed.mark)
    return Completed(code, stdout, err if stderr is None else stderr)


async def _send(pipe: Pipe, data: bytes) -> None:
    with contextlib.suppress(OSError, K2Error):  # a script may end before it read all; what it printed tells the rest
        await pipe.write(data)
        await pipe.write_eof()


async def _all(read: Callable[[int], Awaitable[bytes]], name: str, node: str) -> bytes:
    output = bytearray()
    while piece := await read(_PIECE):
        output += piece
        if len(output) > OUTPUT_BYTES:
            limit = f"{OUTPUT_BYTES >> 20} MB"
            raise K2Error(f"{name} on {node} printed more than {limit}", code="too_much_output", subject=node)
    return bytes(output)


def no_shell(node: str, said: bytes) -> K2Error:
    """The login came through, but no command was run."""
    words = " ".join(said.decode("utf-8", "replace").split())[:200]
    return K2Error(
        f"{node} let us in, but its login shell ran no command" + (f"; it said: {words}" if words else ""),
        code="no_shell",
        subject=node,
        hint="k2tui needs a login shell that runs commands, such as bash or sh",
        exit_code=ExitCode.UNREACHABLE,
    )


class HeldScript:
    """A script that stays until its stdin closes (services.doors.RemoteStream)."""

    def __init__(self, pipe: Pipe, packed: Packed, *, node: str, on_end: Callable[[], None] | None = None) -> None:
        self._pipe, self._packed, self._node = pipe, packed, node
        self._buffer = bytearray()
        self._on_end = on_end
        self._said = bytearray()
        self._listener = asyncio.ensure_future(self._listen())
        self._ended = False

    async def start(self) -> None:
        """Send the script and read up to its mark."""
        try:
            await asyncio.wait_for(self._start(), START_S)
        except asyncio.TimeoutError:
            await self.close()
            said = bytes(self._buffer + self._said)
            raise K2Error(
                f"{self._packed.name} on {self._node} did not start within {START_S:.0f} s",
                code="timeout",
                subject=self._node,
                hint="an rc file of the login shell waits or is slow" + (f": {said[-80:]!r}" if said else ""),
                exit_code=ExitCode.UNREACHABLE,
            ) from None
        except BaseException:
            await self.close()
            raise

    async def _start(self) -> None:
        with contextlib.suppress(OSError):
            await self._pipe.write(self._packed.stdin)
        while (rest := after_mark(bytes(self._buffer), self._packed.mark)) is None:
            piece = await self._pipe.read(_PIECE)
            self._buffer += piece
            if not piece or len(self._buffer) > NOISE_BYTES:
                await asyncio.wait({self._listener}, timeout=0.2)  # its last words may still be on their way
                raise no_shell(self._node, bytes(self._buffer[-400:] + self._said))
        self._buffer = bytearray(rest)

    async def _listen(self) -> None:
        """Take stderr off the wire, keeping its end, so that it never stops the script."""
        with contextlib.suppress(K2Error):
            while piece := await self._pipe.read_error(_PIECE):
                self._said += piece
                del self._said[:-4096]

    async def readline(self) -> bytes:
        seen = 0
        while (found := self._buffer.find(b"\n", seen)) < 0:
            seen = len(self._buffer)
            piece = b"" if seen >= LINE_BYTES else await self._pipe.read(_PIECE)
            if not piece:
                found = len(self._buffer) - 1
                break
            self._buffer += piece
        line = bytes(self._buffer[: found + 1])
        del self._buffer[: found + 1]
        return line

    async def read(self, size: int) -> bytes:
        if not self._buffer:
            return await self._pipe.read(size)
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def write(self, data: bytes) -> None:
        await self._pipe.write(data)

    async def close(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._listener.cancel()
        try:
            await self._pipe.end()
        finally:
            if self._on_end is not None:
                self._on_end()

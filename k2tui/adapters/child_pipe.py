"""The pipes of a process of this machine: a local shell, or the system's ssh."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence

from k2tui.core.errors import K2Error

CLOSE_S = 2.0
"""How long a process may take to see that its stdin closed."""
_BUFFER = 1 << 20


class ChildPipe:
    """A child in a session of its own, so that it and what it started can be ended together."""

    def __init__(
        self, process: asyncio.subprocess.Process, *, broke: Callable[[int, bytes], K2Error | None] | None = None
    ) -> None:
        self._process = process
        self._broke = broke
        self._last_words = bytearray()
        self._given_up_s = CLOSE_S
        """How long `end` waits: not at all for what did not end although its stdin is closed already."""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        *,
        broke: Callable[[int, bytes], K2Error | None] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> ChildPipe:
        """`broke`: says from exit code and stderr whether it was the way there that broke, not the command."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=pipe, stdout=pipe, stderr=pipe, limit=_BUFFER, start_new_session=True, env=env
            )
        except OSError as error:
            raise K2Error(f"can't start {argv[0]}: {error.strerror}", code="no_process") from error
        return cls(process, broke=broke)

    async def read(self, size: int) -> bytes:
        assert self._process.stdout is not None
        data = await self._process.stdout.read(size)
        if not data and self._broke is not None:
            await self._judge()
        return data

    async def read_error(self, size: int) -> bytes:
        assert self._process.stderr is not None
        data = await self._process.stderr.read(size)
        self._last_words += data
        del self._last_words[:-4096]
        return data

    async def _judge(self) -> None:
        """Raise when the end of the output is not the end of the command."""
        assert self._broke is not None
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._after(self._hear_out()), CLOSE_S)
        code = self._process.returncode
        problem = self._broke(code, bytes(self._last_words)) if code is not None else None
        if problem is not None:
            raise problem

    async def _after(self, output: Awaitable[None]) -> None:
        """The end of an output, then of the process. One task: a `gather` that is cancelled complains on stderr."""
        await output
        await self._process.wait()

    async def _hear_out(self) -> None:
        """Read stderr to its end, or wait while somebody else does."""
        assert self._process.stderr is not None
        while not self._process.stderr.at_eof():
            try:
                await self.read_error(4096)
            except RuntimeError:  # another coroutine waits for it
                await asyncio.sleep(0.01)

    def at_end(self) -> bool:
        """Its output ended and was read."""
        assert self._process.stdout is not None
        return self._process.stdout.at_eof()

    async def write(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        await self._process.stdin.drain()

    async def write_eof(self) -> None:
        assert self._process.stdin is not None
        self._given_up_s = 0.05
        self._process.stdin.close()

    async def wait(self) -> int:
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        stdout = self._process.stdout
        assert stdout is not None
        try:
            await asyncio.wait_for(self._after(_drain(stdout)), self._given_up_s)
        except asyncio.TimeoutError:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._process.wait(), CLOSE_S)


async def _drain(stream: asyncio.StreamReader) -> None:
    """A process that is still writing could not end otherwise."""
    with contextlib.suppress(RuntimeError):  # another reader is at it
        while await stream.read(_BUFFER):
            pass

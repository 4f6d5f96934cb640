"""One SSH connection that is up, by asyncssh: commands and TCP channels on it. Imported when the first one is made."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import asyncssh

from k2tui.adapters.trouble import PortClosed, forwarding_forbidden, link_error
from k2tui.core.errors import K2Error

CLOSE_S = 2.0
RETRIES_S = (0.05, 0.15, 0.4)
"""sshd frees a session's place a little after its client has seen the end."""
_PROHIBITED = 1
"""Reason of SSH_MSG_CHANNEL_OPEN_FAILURE (RFC 4254, 5.1)."""

logging.getLogger("asyncssh").setLevel(logging.WARNING)  # at debug level it writes down commands
logging.getLogger("asyncio").setLevel(logging.ERROR)  # a cut link is told as such; "socket.send() raised" says no more

T = TypeVar("T")


class SshWire:
    """A connection, and how much runs on it."""

    def __init__(self, connection: asyncssh.SSHClientConnection, node: str) -> None:
        self.connection = connection
        self.node = node
        self.streams = 0
        """Held scripts on it."""
        self.sessions = 0
        """These and the short ones, whether they run already or ask for a channel."""
        self.granted = 0
        """Those that have their channel."""
        self.cause: K2Error | None = None
        """Why it is gone; None while it lives, or when it was closed from here."""
        self.on_lost: Callable[[SshWire], None] | None = None

    @property
    def broken(self) -> bool:
        return self.connection.is_closed()

    def lost(self, error: Exception | None) -> None:
        """Called by asyncssh, once, whoever ended the connection."""
        said = f": {error}" if error is not None and str(error) else ""
        self.cause = link_error("lost", self.node, f"the connection to {self.node} was lost{said}")
        if self.on_lost is not None:
            self.on_lost(self)

    def why_lost(self) -> K2Error:
        return self.cause or link_error("lost", self.node, f"the connection to {self.node} was lost")

    async def command(self, line: str) -> ChannelPipe:
        """Start a command. Raises K2Error lost, or no_channel when sshd gives no more sessions."""
        process = await self._patiently(
            lambda: self.connection.create_process(line, encoding=None, request_pty=False, x11_forwarding=False)
        )
        return ChannelPipe(process, self)

    async def _patiently(self, start: Callable[[], Awaitable[T]]) -> T:
        for pause_s in (*RETRIES_S, None):
            try:
                return await start()
            except asyncssh.ChannelOpenError as error:
                if self.broken:
                    raise self.why_lost() from error
                if pause_s is None or error.code == _PROHIBITED:
                    raise K2Error(
                        f"{self.node} opens no further session: {error.reason}",
                        code="no_channel",
                        subject=self.node,
                        hint="MaxSessions in its sshd_config may be below 10",
                    ) from error
                await asyncio.sleep(pause_s)
            except (OSError, asyncssh.Error) as error:
                raise self.why_lost() from error
        raise AssertionError("unreachable")

    async def tcp(self, host: str, port: int) -> TcpChannel:
        """A connection from the node to (host, port)."""
        try:
            reader, writer = await self.connection.open_connection(host, port, encoding=None)
        except asyncssh.ChannelOpenError as error:
            if self.broken:
                raise self.why_lost() from error
            if error.code == _PROHIBITED:
                raise forwarding_forbidden(self.node, port) from error
            raise PortClosed(self.node, port, error.reason) from error
        except (OSError, asyncssh.Error) as error:
            raise self.why_lost() from error
        return TcpChannel(reader, writer, self)

    def abort(self) -> None:
        """Cut it at once."""
        self.connection.abort()

    async def close(self) -> None:
        self.connection.close()
        try:
            await asyncio.wait_for(self.connection.wait_closed(), CLOSE_S)
        except asyncio.TimeoutError:
            self.connection.abort()


class ChannelPipe:
    """A command on the connection (adapters.pipes.Pipe)."""

    def __init__(self, process: asyncssh.SSHClientProcess[Any], wire: SshWire) -> None:
        self._process, self._wire = process, wire

    async def read(self, size: int) -> bytes:
        try:
            data: bytes = await self._process.stdout.read(size)
        except (OSError, asyncssh.Error) as error:
            raise self._wire.why_lost() from error
        if not data:
            await self._settle()
            if self._wire.broken and self._process.returncode is None:
                raise self._wire.why_lost()
        return data

    async def read_error(self, size: int) -> bytes:
        try:
            data: bytes = await self._process.stderr.read(size)
        except (OSError, asyncssh.Error) as error:
            raise self._wire.why_lost() from error
        return data

    async def write(self, data: bytes) -> None:
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except (asyncssh.Error, OSError) as error:
            raise self._wire.why_lost() from error

    async def write_eof(self) -> None:
        with contextlib.suppress(OSError):
            self._process.stdin.write_eof()

    async def wait(self) -> int:
        await self._settle()
        code = self._process.returncode
        if code is None:
            raise self._wire.why_lost()
        return code if code >= 0 else 128 - code

    async def _settle(self) -> None:
        """Output has ended: the exit code comes right after, or never."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._process.wait_closed(), CLOSE_S)

    async def end(self) -> None:
        self._process.close()
        await self._settle()


class TcpChannel:
    """A direct-tcpip channel (adapters.pipes.ByteChannel)."""

    def __init__(self, reader: asyncssh.SSHReader[bytes], writer: asyncssh.SSHWriter[bytes], wire: SshWire) -> None:
        self._reader, self._writer, self._wire = reader, writer, wire

    async def read(self, size: int) -> bytes:
        try:
            return await self._reader.read(size)
        except (OSError, asyncssh.Error) as error:
            raise self._wire.why_lost() from error

    async def write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (OSError, asyncssh.Error) as error:
            raise self._wire.why_lost() from error

    async def close(self) -> None:
        self._writer.close()

    def at_end(self) -> bool:
        return self._reader.at_eof() or self._wire.broken

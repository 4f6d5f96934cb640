"""An SSH server on a loopback port that plays every node of the demo: a user name is a node, a command really runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from signal import SIGKILL, Signals
from typing import Any

import asyncssh

LOOPBACK = ("127.0.0.1", "localhost", "::1")
KILL_AFTER_S = 2.0
"""What a command may take to end by itself after its channel closed."""
_HIGH_WATER_BYTES = 1 << 20


class DemoSshd:
    """One listener; `environments` gives each node's name the environment of its commands (HOME, PATH, ...)."""

    def __init__(self, environments: Mapping[str, Mapping[str, str]], user_key: asyncssh.SSHKey) -> None:
        self.environments = environments
        self.host_key = asyncssh.generate_private_key("ssh-ed25519")
        self.port = 0
        self._user_key = user_key
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._connections: dict[str, set[asyncssh.SSHServerConnection]] = defaultdict(set)
        self.groups: set[int] = set()
        """Process groups of the commands that run now."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._refused: set[str] = set()
        self._shells: dict[str, str] = {}

    async def start(self) -> None:
        """Listen on a free port of 127.0.0.1."""
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=lambda: _Server(self),
            server_host_keys=[self.host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(
                self._user_key.export_public_key("openssh").decode()
            ),
            encoding=None,
            line_editor=False,
            keepalive_interval=0,
        )
        self.port = self._acceptor.get_port()

    async def close(self) -> None:
        """Drop every connection and kill every command that is left."""
        if self._acceptor is not None:
            self._acceptor.close()
        for name in list(self._connections):
            self.cut(name)
        for group in list(self.groups):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, SIGKILL)
        await self._idle.wait()

    def known_hosts_line(self) -> str:
        """What a client must know to trust it."""
        return f"[127.0.0.1]:{self.port} {self.host_key.export_public_key('openssh').decode().strip()}\n"

    def cut(self, node: str) -> int:
        """Break every connection of a node, as a dead network would; how many there were."""
        connections = list(self._connections.pop(node, ()))
        for connection in connections:
            connection.abort()
        return len(connections)

    def refuse(self, node: str, *, refused: bool = True) -> None:
        """Let no new connection of this node in (or again)."""
        (self._refused.add if refused else self._refused.discard)(node)

    def use_shell(self, node: str, shell: str) -> None:
        """Hand this node's commands to another login shell, as `SHELL -c COMMAND`."""
        self._shells[node] = shell

    def shell_of(self, node: str) -> str:
        """The node's login shell."""
        return self._shells.get(node, "/bin/sh")

    def began(self, group: int) -> None:
        self.groups.add(group)
        self._idle.clear()

    def ended(self, group: int) -> None:
        self.groups.discard(group)
        if not self.groups:
            self._idle.set()

    def allows(self, node: str) -> bool:
        """Whether there is such a node and it lets people in."""
        return node in self.environments and node not in self._refused

    def joined(self, node: str, connection: asyncssh.SSHServerConnection) -> None:
        self._connections[node].add(connection)

    def left(self, connection: asyncssh.SSHServerConnection) -> None:
        for connections in self._connections.values():
            connections.discard(connection)


class _Server(asyncssh.SSHServer):
    """One connection."""

    def __init__(self, sshd: DemoSshd) -> None:
        self._sshd = sshd
        self._node = ""
        self._connection: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._connection = conn

    def connection_lost(self, exc: Exception | None) -> None:
        if self._connection is not None:
            self._sshd.left(self._connection)

    def begin_auth(self, username: str) -> bool:
        self._node = username
        return True

    def auth_completed(self) -> None:
        assert self._connection is not None
        if not self._sshd.allows(self._node):
            self._connection.abort()
        self._sshd.joined(self._node, self._connection)

    def session_requested(self) -> asyncssh.SSHServerSession[bytes]:
        shell = self._sshd.shell_of(self._node)
        return _Command(self._sshd, self._sshd.environments[self._node], shell)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        if dest_host not in LOOPBACK:
            raise asyncssh.ChannelOpenError(asyncssh.OPEN_ADMINISTRATIVELY_PROHIBITED, "only loopback is forwarded")
        return True


class _Command(asyncssh.SSHServerSession[bytes]):
    """One `exec`: the command in the login shell's `-c`, its pipes tied to the channel byte by byte."""

    def __init__(self, sshd: DemoSshd, environment: Mapping[str, str], shell: str) -> None:
        self._sshd, self._environment, self._shell = sshd, environment, shell
        self._command = ""
        self._channel: asyncssh.SSHServerChannel[bytes] | None = None
        self._process: asyncio.SubprocessTransport | None = None
        self._pipes: _Pipes | None = None
        self._closed = False
        self._early = bytearray()
        """Input that came before the command had begun."""
        self._ended = False

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        self._command = command
        return True

    def shell_requested(self) -> bool:
        return True

    def session_started(self) -> None:
        task = asyncio.get_running_loop().create_task(self._start())
        task.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def _start(self) -> None:
        assert self._channel is not None
        pipes = _Pipes(self._sshd, self._channel)
        try:
            process, _ = await asyncio.get_running_loop().subprocess_exec(
                lambda: pipes,
                self._shell,
                *(("-c", self._command) if self._command else ()),
                cwd=self._environment["HOME"],
                env=dict(self._environment),
                start_new_session=True,
            )
        except OSError as error:
            self._channel.write_stderr(f"demo node: {error}\n".encode())
            self._channel.exit(127)
            return
        self._process, self._pipes = process, pipes
        pipes.write(bytes(self._early))
        self._early.clear()
        if self._ended:
            pipes.end_input()
        if self._closed:
            self._leave()

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if self._pipes is None:
            self._early += data
        else:
            self._pipes.write(data)

    def eof_received(self) -> bool:
        self._ended = True
        if self._pipes is not None:
            self._pipes.end_input()
        return True  # keep sending output

    def signal_received(self, signal: str) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError, KeyError):
                self._process.send_signal(Signals[f"SIG{signal}"])

    def pause_writing(self) -> None:
        self._hold(hold=True)

    def resume_writing(self) -> None:
        self._hold(hold=False)

    def connection_lost(self, exc: Exception | None) -> None:
        self._closed = True
        if self._process is not None:
            self._leave()

    def _hold(self, *, hold: bool) -> None:
        """Stop or go on reading what the command prints, while the channel is full."""
        for number in (1, 2):
            pipe: Any = None if self._process is None else self._process.get_pipe_transport(number)
            if pipe is not None and not pipe.is_closing():
                (pipe.pause_reading if hold else pipe.resume_reading)()

    def _leave(self) -> None:
        """The channel is gone: the command's pipes close, and it has a moment to end by itself."""
        assert self._process is not None
        for number in (0, 1, 2):
            pipe = self._process.get_pipe_transport(number)
            if pipe is not None:
                pipe.close()
        asyncio.get_running_loop().call_later(KILL_AFTER_S, self._kill, self._process.get_pid())

    def _kill(self, group: int) -> None:
        if group in self._sshd.groups:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, SIGKILL)


class _Pipes(asyncio.SubprocessProtocol):
    """The command's side of the pipes."""

    def __init__(self, sshd: DemoSshd, channel: asyncssh.SSHServerChannel[bytes]) -> None:
        self._sshd, self._channel = sshd, channel
        self._transport: asyncio.SubprocessTransport | None = None
        self._input: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport
        self._sshd.began(transport.get_pid())
        pipe = transport.get_pipe_transport(0)
        assert isinstance(pipe, asyncio.WriteTransport)
        pipe.set_write_buffer_limits(high=_HIGH_WATER_BYTES)
        self._input = pipe

    def write(self, data: bytes) -> None:
        """To the command's standard input."""
        if self._input is not None and not self._input.is_closing():
            self._input.write(data)

    def end_input(self) -> None:
        """The client sends no more."""
        if self._input is not None and not self._input.is_closing():
            self._input.write_eof()

    def pause_writing(self) -> None:
        self._channel.pause_reading()

    def resume_writing(self) -> None:
        self._channel.resume_reading()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        with contextlib.suppress(OSError):
            if fd == 1:
                self._channel.write(data)
            else:
                self._channel.write_stderr(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """The command has ended and all that it printed was sent."""
        assert self._transport is not None
        self._sshd.ended(self._transport.get_pid())
        code = self._transport.get_returncode() or 0
        with contextlib.suppress(OSError):
            if self._channel.is_closing():
                return
            if code < 0:
                self._channel.exit_with_signal(Signals(-code).name.removeprefix("SIG"))
            else:
                self._channel.exit(code)


def write_private_key(path: Path) -> asyncssh.SSHKey:
    """A throw-away user key, readable by its owner only."""
    key = asyncssh.generate_private_key("ssh-ed25519", comment="k2tui demo")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(key.export_private_key("openssh"))
    return key

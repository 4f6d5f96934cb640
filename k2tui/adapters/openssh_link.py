"""A node over the system's own ssh: for second factors, security keys and odd setups. One login serves all."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from k2tui.adapters.asyncssh_link import CONTROL, STREAMS, again, look_at
from k2tui.adapters.child_pipe import ChildPipe
from k2tui.adapters.framing import Packed, pack
from k2tui.adapters.handshakes import handshake
from k2tui.adapters.known_hosts import HostKeyError, OfferedKey, append_trusted
from k2tui.adapters.openssh_command import SshCommand, private_directory, ssh_environment
from k2tui.adapters.openssh_words import fingerprint_in, read_stderr
from k2tui.adapters.pipes import ByteChannel, HeldScript, complete
from k2tui.adapters.trouble import PortClosed, forwarding_forbidden, link_error, phase_after, took_too_long
from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.settings import NodeSettings
from k2tui.services.doors import Completed, Script

if TYPE_CHECKING:
    from k2tui.adapters.http_client import HttpClient

CONNECT_S = 20.0
HTTP_CONNECTIONS = 16
"""Each is a process here."""

_LEASH = (
    'd=$1; shift; exec 3<&0; "$@" </dev/null 3<&- & s=$!; { cat <&3 >/dev/null; kill $s; } 2>/dev/null & '
    'exec 3<&- </dev/null; wait $s; r=$?; rm -rf "$d"; exit $r'
)
"""Runs a master that ends when k2tui does, also when that is killed, and removes the directory of its socket."""
_MARKS = re.compile(rb"^k2[0-9a-f]{24}$", re.MULTILINE)
"""What framing.py lets every script print on stderr."""
_OPEN_FAILED = re.compile(rb"open failed: (?:connect failed: )?([^\r\n]+)")
"""A master's words when the node could not be made to connect to a port."""


class OpensshLink:
    """services.doors.NodeLink for `transport = "openssh"`."""

    def __init__(self, node: NodeSettings, *, trusted_hosts: Path, ssh_config: Sequence[Path] | None = None) -> None:
        self.name = node.name
        self._ssh = SshCommand(node, trusted_hosts, None if ssh_config is None else tuple(ssh_config))
        self._trusted_hosts = trusted_hosts
        self._state = LinkState()
        self._failure: K2Error | None = None
        self._offered: OfferedKey | None = None
        self._master: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._trying: asyncio.Task[None] | None = None
        self._master_said = b""
        self._held: set[HeldScript] = set()
        self._control = asyncio.Semaphore(CONTROL)
        self._closed = False

    @property
    def state(self) -> LinkState:
        return self._state

    async def connect(self) -> None:
        if self._closed:
            raise link_error("lost", self.name, f"the link to {self.name} is closed")
        if self._state.phase is LinkPhase.UP:
            return
        if self._trying is None or self._trying.done():
            self._trying = asyncio.ensure_future(self._try())
            self._trying.add_done_callback(look_at)
        await asyncio.shield(self._trying)

    async def _try(self) -> None:
        self._state = LinkState(LinkPhase.CONNECTING)
        try:
            await asyncio.wait_for(self._log_in(), CONNECT_S)
        except asyncio.TimeoutError:
            await self._end_master()
            error = link_error("timeout", self.name, f"{self.name} gave no login within {CONNECT_S:g} s")
            self._fail(error)
            raise error from None
        except K2Error as error:
            await self._end_master()
            self._fail(error)
            raise
        except BaseException:
            self._state = LinkState()
            raise
        self._failure, self._offered = None, None
        self._state = LinkState(LinkPhase.UP)

    async def _log_in(self) -> None:
        """Use the operator's own master connection when it is up, else hold one."""
        if shutil.which("ssh") is None:
            raise link_error("config", self.name, "there is no ssh program here", 'use transport = "asyncssh"')
        self._ssh.socket = None
        await self._ssh.resolve()
        if await self._ssh.operators_master_is_up():
            return
        async with handshake(self._ssh.first_hop):
            await self._hold_master()

    async def _hold_master(self) -> None:
        folder = private_directory()
        self._ssh.socket = socket = folder / "m"
        self._master = await asyncio.create_subprocess_exec(
            *("sh", "-c", _LEASH, "k2tui-master", str(folder)),
            *self._ssh.argv("-N", "-o", "ControlMaster=yes", "-o", "LogLevel=INFO"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            env=ssh_environment(),
        )
        while not socket.exists():
            if self._master.returncode is not None:
                raise await self._refused(self._master)
            await asyncio.sleep(0.02)
        self._watch = asyncio.ensure_future(self._watch_master(self._master))

    async def _refused(self, master: asyncio.subprocess.Process) -> K2Error:
        assert master.stderr is not None
        said = await master.stderr.read()
        error = read_stderr(self.name, self._ssh.who, 255, said) or link_error(
            "lost", self.name, f"ssh to {self.name} ended: {said.decode('utf-8', 'replace').strip()[-200:]}"
        )
        if error.code in ("host_key_unknown", "host_key_changed"):
            key = await self._ssh.shown_key(changed=error.code == "host_key_changed")
            if key is not None:
                return HostKeyError(key)
            fingerprint = fingerprint_in(said)
            error.message += f" ({fingerprint})" if fingerprint else ""
        return error

    async def _watch_master(self, master: asyncio.subprocess.Process) -> None:
        assert master.stderr is not None
        self._master_said = b""
        while piece := await master.stderr.read(4096):
            self._master_said = (self._master_said + piece)[-4096:]
        await master.wait()
        if master is self._master and not self._closed:
            self._master = None
            self._fail(read_stderr(self.name, self._ssh.who, 255, self._master_said) or again(None, self.name))

    def _fail(self, error: K2Error) -> None:
        self._failure = error
        self._offered = error.offered if isinstance(error, HostKeyError) else None
        fingerprint = None if self._offered is None else self._offered.fingerprint
        self._state = LinkState(phase_after(error), error.code, error.message, error.hint, fingerprint)

    async def _up(self) -> None:
        if self._state.phase in (LinkPhase.IDLE, LinkPhase.CONNECTING):
            await self.connect()
        if self._state.phase is not LinkPhase.UP:
            raise again(self._failure, self.name)

    def _broke(self, code: int, stderr: bytes) -> K2Error | None:
        """What a command's end says about the link."""
        error = read_stderr(self.name, self._ssh.who, code, stderr)
        if error is None and code == 255 and not _MARKS.sub(b"", stderr).strip():
            error = link_error("lost", self.name, f"the connection to {self.name} was lost")  # the master went down
        if error is not None and self._state.phase is LinkPhase.UP and self._master is None:
            self._fail(error)  # the operator's own master: nobody else watches it
        return error

    @staticmethod
    async def _start(argv: Sequence[str], broke: Callable[[int, bytes], K2Error | None]) -> ChildPipe:
        return await ChildPipe.start(argv, broke=broke, env=ssh_environment())

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        await self._up()
        packed = pack(script, args, limit_s=timeout_s)
        try:
            async with self._control:
                return await asyncio.wait_for(self._whole(packed, stdin), timeout_s)
        except asyncio.TimeoutError:
            raise took_too_long(self.name, script.name, timeout_s) from None

    async def _whole(self, packed: Packed, stdin: bytes) -> Completed:
        pipe = await self._start(self._ssh.argv(command=packed.command), self._broke)
        return await complete(pipe, packed, stdin, node=self.name)

    async def open(self, script: Script, args: Sequence[str] = ()) -> HeldScript:
        await self._up()
        packed = pack(script, args, limit_s=None)
        apart = len(self._held) >= STREAMS  # sshd allows 10 sessions a connection: this one gets its own
        pipe = await self._start(self._ssh.argv(command=packed.command, apart=apart), self._broke)
        held = HeldScript(pipe, packed, node=self.name, on_end=lambda: self._held.discard(held))
        self._held.add(held)
        await held.start()
        return held

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpClient:
        from k2tui.adapters.http_channel import http_client  # noqa: PLC0415  # httpx: after the first frame

        async def channel(host: str, to_port: int) -> ByteChannel:
            await self._up()
            pipe = await self._start(self._ssh.argv("-W", f"{host}:{to_port}"), self._no_channel(to_port))
            return _ForwardedChannel(pipe)

        return http_client(channel, port, timeout_s=timeout_s, connections=HTTP_CONNECTIONS)

    def _no_channel(self, port: int) -> Callable[[int, bytes], K2Error | None]:
        def broke(code: int, stderr: bytes) -> K2Error | None:
            if code == 255 and b"forwarding" in stderr:
                reasons = _OPEN_FAILED.findall(self._master_said) or [b"nothing listens there, or it is forbidden"]
                reason = reasons[-1].decode("utf-8", "replace")
                if "prohibited" in reason:
                    return forwarding_forbidden(self.name, port)
                return PortClosed(self.name, port, reason)
            return self._broke(code, stderr)

        return broke

    async def trust_host_key(self) -> None:
        await asyncio.to_thread(append_trusted, self._trusted_hosts, self._offered, node=self.name)
        self._offered = None
        self._failure = None
        self._state = LinkState()

    async def drop(self) -> None:
        await self._end_master()
        if self._state.phase is LinkPhase.UP:
            self._fail(again(None, self.name))

    async def _end_master(self) -> None:
        master, self._master = self._master, None
        if self._watch is not None:
            self._watch.cancel()
            self._watch = None
        self._ssh.socket = None
        if master is not None and master.stdin is not None:
            master.stdin.close()  # lets go of the leash
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(master.wait(), 2.0)

    async def close(self) -> None:
        self._closed = True
        if self._trying is not None:
            self._trying.cancel()
        await asyncio.gather(*(held.close() for held in tuple(self._held)), return_exceptions=True)
        await self._end_master()
        self._state = LinkState()


class _ForwardedChannel:
    """A TCP connection through `ssh -W` (adapters.pipes.ByteChannel). That the port is closed shows only later."""

    def __init__(self, pipe: ChildPipe) -> None:
        self._pipe = pipe

    async def read(self, size: int) -> bytes:
        return await self._pipe.read(size)

    async def write(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # the read that follows says why
            await self._pipe.write(data)

    async def close(self) -> None:
        await self._pipe.end()

    def at_end(self) -> bool:
        return self._pipe.at_end()

"""A node over one held SSH connection."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from k2tui.adapters.bastions import Bastions
from k2tui.adapters.framing import Packed, pack
from k2tui.adapters.known_hosts import HostKeyError, OfferedKey, append_trusted
from k2tui.adapters.pipes import ByteChannel, HeldScript, complete
from k2tui.adapters.trouble import link_error, phase_after, took_too_long
from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.settings import NodeSettings
from k2tui.services.doors import Completed, Script

if TYPE_CHECKING:
    from k2tui.adapters.http_client import HttpClient
    from k2tui.adapters.ssh_wire import ChannelPipe, SshWire

CONTROL = 4
"""Short scripts at a time: sshd allows 10 sessions a connection, and frees each a little late."""
STREAMS = 5
"""Held scripts on the first connection (a probe and four logs) ..."""
EXTRA_STREAMS = 8
"""... and on each further one, which is opened only when they are wanted."""
MOST_CONNECTIONS = 6
"""To one node, where its sshd allows so few sessions each (MaxSessions)."""


class AsyncsshLink:
    """services.doors.NodeLink for `transport = "asyncssh"`."""

    def __init__(
        self,
        node: NodeSettings,
        *,
        trusted_hosts: Path,
        ssh_config: Sequence[Path] | None = None,
        bastions: Bastions | None = None,
    ) -> None:
        self.name = node.name
        self._node = node
        self._trusted_hosts = trusted_hosts
        self._ssh_config = None if ssh_config is None else tuple(ssh_config)
        self._bastions = bastions or Bastions()
        self._state = LinkState()
        self._failure: K2Error | None = None
        self._offered: OfferedKey | None = None
        self._wire: SshWire | None = None
        self._extra: list[SshWire] = []
        self._trying: asyncio.Task[None] | None = None
        self._control = asyncio.Semaphore(CONTROL)
        self._placing = asyncio.Lock()
        self._most: int | None = None
        """Sessions that this sshd gives a connection, where that was found to be too few; None: enough so far."""
        self._short = 0
        """Short scripts that run now."""
        self._freed = asyncio.Event()
        self._closed = False

    @property
    def state(self) -> LinkState:
        return self._state

    async def connect(self) -> None:
        if self._closed:
            raise link_error("lost", self.name, f"the link to {self.name} is closed")
        if self._wire is not None and not self._wire.broken:
            return
        if self._trying is None or self._trying.done():
            self._trying = asyncio.ensure_future(self._try())
            self._trying.add_done_callback(look_at)
        await asyncio.shield(self._trying)

    async def _try(self) -> None:
        self._state = LinkState(LinkPhase.CONNECTING)
        try:
            wire = await self._dial()
        except K2Error as error:
            self._fail(error)
            raise
        except BaseException:
            self._state = LinkState()
            raise
        self._wire, self._offered, self._failure = wire, None, None
        wire.on_lost = self._lost
        self._state = LinkState(LinkPhase.UP)

    async def _dial(self) -> SshWire:
        # asyncssh takes most of a second to import: not before the first frame, and not on the event loop.
        module = await asyncio.to_thread(importlib.import_module, "k2tui.adapters.ssh_dial")
        node = self._node
        target = module.Target(node.name, node.host, node.user, node.port, node.identity, node.proxy_jump)
        around = module.Surroundings(self._trusted_hosts, self._ssh_config, self._bastions)
        return cast("SshWire", await module.dial(target, around))

    def _fail(self, error: K2Error) -> None:
        self._failure = error
        self._offered = error.offered if isinstance(error, HostKeyError) else None
        fingerprint = None if self._offered is None else self._offered.fingerprint
        self._state = LinkState(phase_after(error), error.code, error.message, error.hint, fingerprint)

    def _lost(self, wire: SshWire) -> None:
        if wire is self._wire:
            self._wire = None
            if not self._closed:
                self._fail(wire.why_lost())
        elif wire in self._extra:
            self._extra.remove(wire)

    async def _up(self) -> SshWire:
        """The connection; made now only if nobody tried before, so that a lost node is not called at every turn."""
        if self._wire is None and self._state.phase in (LinkPhase.IDLE, LinkPhase.CONNECTING):
            await self.connect()
        if self._wire is None:
            raise again(self._failure, self.name)
        return self._wire

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
        wire, pipe = await self._begin(packed.command, stays=False)
        try:
            return await complete(pipe, packed, stdin, node=wire.node)
        finally:
            self._let_go(wire, stayed=False)

    async def open(self, script: Script, args: Sequence[str] = ()) -> HeldScript:
        packed = pack(script, args, limit_s=None)
        wire, pipe = await self._begin(packed.command, stays=True)
        held = HeldScript(pipe, packed, node=self.name, on_end=lambda: self._let_go(wire, stayed=True))
        await held.start()
        return held

    async def _begin(self, command: str, *, stays: bool) -> tuple[SshWire, ChannelPipe]:
        """Start a command on a connection that has room for it; `_let_go` must follow its end."""
        while True:
            wire = await self._room(stays=stays)
            try:
                pipe = await wire.command(command)
                wire.granted += 1
                return wire, pipe
            except K2Error as error:
                self._give_back(wire, stays=stays)
                if error.code != "no_channel" or not 0 < wire.granted < STREAMS + CONTROL:
                    raise
                self._most = min(wire.granted, self._most or wire.granted)  # after several tries: it gives no more
            except BaseException:
                self._give_back(wire, stays=stays)
                raise

    async def _room(self, *, stays: bool) -> SshWire:
        """A connection with room for one more; its place is taken."""
        async with self._placing:
            while (wire := await self._free_wire(stays=stays)) is None:
                self._freed.clear()
                await self._freed.wait()
            wire.sessions += 1
            wire.streams += stays
            self._short += not stays
        return wire

    async def _free_wire(self, *, stays: bool) -> SshWire | None:
        """One that is there or is opened now; None when a short script should wait for another one's end."""
        main = await self._up()
        wires = [main, *(wire for wire in self._extra if not wire.broken)]
        for wire in wires:
            few = self._most is not None and wire.sessions >= self._most
            streams = stays and wire.streams >= (STREAMS if wire is main else EXTRA_STREAMS)
            if not few and not streams:
                return wire
        if not stays and self._short:
            return None
        if len(wires) >= MOST_CONNECTIONS:
            raise K2Error(
                f"{self.name} gives {self._most or EXTRA_STREAMS} sessions a connection, "
                f"and {MOST_CONNECTIONS} connections are full",
                code="no_channel",
                subject=self.name,
                hint="raise MaxSessions in its sshd_config to 10",
            )
        extra = await self._dial()
        extra.on_lost = self._lost
        self._extra.append(extra)
        return extra

    def _let_go(self, wire: SshWire, *, stayed: bool) -> None:
        """A command has ended."""
        wire.granted -= 1
        self._give_back(wire, stays=stayed)

    def _give_back(self, wire: SshWire, *, stays: bool) -> None:
        wire.sessions -= 1
        wire.streams -= stays
        self._short -= not stays
        self._freed.set()
        if wire in self._extra and wire.sessions == 0 and self._most is None:
            self._extra.remove(wire)
            asyncio.ensure_future(wire.close()).add_done_callback(look_at)

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpClient:
        from k2tui.adapters.http_channel import http_client  # noqa: PLC0415  # httpx: after the first frame

        async def channel(host: str, to_port: int) -> ByteChannel:
            return await (await self._up()).tcp(host, to_port)

        return http_client(channel, port, timeout_s=timeout_s)

    async def trust_host_key(self) -> None:
        await asyncio.to_thread(append_trusted, self._trusted_hosts, self._offered, node=self.name)
        self._offered = None
        self._failure = None
        self._state = LinkState()

    async def drop(self) -> None:
        for wire in (self._wire, *self._extra):
            if wire is not None:
                wire.abort()

    async def close(self) -> None:
        self._closed = True
        if self._trying is not None:
            self._trying.cancel()
        wires = [wire for wire in (self._wire, *self._extra) if wire is not None]
        self._wire, self._extra, self._state = None, [], LinkState()
        await asyncio.gather(*(wire.close() for wire in wires))


def look_at(task: asyncio.Future[None]) -> None:
    """A try that failed after its last waiter had left is no surprise."""
    if not task.cancelled():
        task.exception()


def again(failure: K2Error | None, node: str) -> K2Error:
    """The failure that still stands, as an exception of its own (one that was raised carries its traceback)."""
    if failure is None:
        return link_error("lost", node, f"{node} is not connected")
    return link_error(failure.code, node, failure.message, failure.hint)

"""This machine as a node: the same scripts, without SSH."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from k2tui.adapters.child_pipe import ChildPipe
from k2tui.adapters.framing import pack
from k2tui.adapters.pipes import HeldScript, complete
from k2tui.adapters.trouble import link_error, took_too_long
from k2tui.core.link import LinkPhase, LinkState
from k2tui.services.doors import Completed, Script

if TYPE_CHECKING:
    from k2tui.adapters.http_client import HttpClient


class LocalLink:
    """services.doors.NodeLink for `transport = "local"`. It can't be lost."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._phase = LinkPhase.IDLE
        self._held: set[HeldScript] = set()

    @property
    def state(self) -> LinkState:
        return LinkState(self._phase, round_trip_s=0.0 if self._phase is LinkPhase.UP else None)

    async def connect(self) -> None:
        self._phase = LinkPhase.UP

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        await self.connect()
        packed = pack(script, args, limit_s=timeout_s)

        async def whole() -> Completed:
            return await complete(await ChildPipe.start(("sh", "-c", packed.command)), packed, stdin, node=self.name)

        try:
            return await asyncio.wait_for(whole(), timeout_s)
        except asyncio.TimeoutError:
            raise took_too_long(self.name, script.name, timeout_s) from None

    async def open(self, script: Script, args: Sequence[str] = ()) -> HeldScript:
        await self.connect()
        packed = pack(script, args, limit_s=None)
        pipe = await ChildPipe.start(("sh", "-c", packed.command))
        held = HeldScript(pipe, packed, node=self.name, on_end=lambda: self._held.discard(held))
        self._held.add(held)
        await held.start()
        return held

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpClient:
        from k2tui.adapters.http_channel import http_client, open_local  # noqa: PLC0415  # httpx: after the first frame

        return http_client(open_local(self.name), port, timeout_s=timeout_s)

    async def trust_host_key(self) -> None:
        raise link_error("config", self.name, f"{self.name} is this machine: it has no host key to trust")

    async def drop(self) -> None:
        await asyncio.gather(*(held.close() for held in tuple(self._held)))

    async def close(self) -> None:
        await self.drop()
        self._phase = LinkPhase.IDLE

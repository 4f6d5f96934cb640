"""Jump hosts, each connected once and shared by all nodes behind it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from k2tui.core.errors import K2Error

if TYPE_CHECKING:
    from k2tui.adapters.ssh_wire import SshWire

Dial = Callable[[str, "SshWire | None"], Awaitable["SshWire"]]
"""Connect to one hop, written as ProxyJump has it, through the hop before it."""


class Bastions:
    """One for the whole process."""

    def __init__(self) -> None:
        self._tries: dict[str, asyncio.Task[SshWire]] = {}

    async def through(self, jump: str, dial: Dial) -> SshWire:
        """The connection at the end of `jump` (`[user@]host[:port]`, several with commas), made if it is not up."""
        chain = ""
        wire: SshWire | None = None
        for hop in (part.strip() for part in jump.split(",")):
            chain = f"{chain},{hop}" if chain else hop
            wire = await self._hop(chain, hop, wire, dial)
        assert wire is not None
        return wire

    async def _hop(self, chain: str, hop: str, before: SshWire | None, dial: Dial) -> SshWire:
        made = self._tries.get(chain)
        if made is None or (made.done() and (made.cancelled() or made.exception() or made.result().broken)):
            made = asyncio.ensure_future(dial(hop, before))
            made.add_done_callback(lambda task: task.cancelled() or task.exception())  # also when nobody waits any more
            self._tries[chain] = made
        return await asyncio.shield(made)  # one node that gives up does not end the others' try

    async def close(self) -> None:
        """Let go of all jump hosts; nodes behind them are lost."""
        tries, self._tries = tuple(self._tries.values()), {}
        for made in tries:
            made.cancel()
            with contextlib.suppress(asyncio.CancelledError, OSError, K2Error):
                await (await made).close()

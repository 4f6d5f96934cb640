"""What a proof looks at beside HTTP: the node's own word on the run, and the server's log."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

from k2tui.core.errors import K2Error
from k2tui.services.doors import NodeLink, Script
from k2tui.services.log_watch import LogWatch
from k2tui.services.subject import Subject

if TYPE_CHECKING:
    from k2tui.core.effects.on_node import Listener, RankProcess

LOOK_S = 8.0
"""A look at a node's /proc takes tenths of a second; one at a container some seconds at worst."""
LOG_S = 3.0
MOST_NAMES = 200
_NAME = re.compile(r"@?[A-Za-z_][A-Za-z0-9_]*")


class LogTail(Protocol):
    """A server's log as it is followed."""

    def end(self) -> int:
        """One past the newest line."""
        ...

    def lines(self, start: int) -> Sequence[str]:
        """What is still held from line `start` on."""
        ...

    async def read_to_end(self) -> None:
        """Return when what stands in it now was read, or after a few seconds."""
        ...


class WatchedLog:
    """The log that a watch follows, as a LogTail."""

    def __init__(self, log: LogWatch) -> None:
        self._log = log

    def end(self) -> int:
        return self._log.ring.end

    def lines(self, start: int) -> Sequence[str]:
        ring = self._log.ring
        return [ring[number] for number in range(max(start, ring.start), ring.end)]

    async def read_to_end(self) -> None:
        await self._log.read_to_end(limit_s=LOG_S)


class ProofScripts:
    """The scripts of proofs, each with what it shares with those of runs in front."""

    def __init__(self, script: Callable[[str], Script]) -> None:
        def joined(name: str) -> Script:
            return Script(name, "\n".join(script(part).text for part in ("runs", "container", name)))

        self.listener = joined("listener")
        self.rank_env = joined("rank_env")


class NodeLooks:
    """One run on its node. What can't be looked at is unknown, never an error."""

    def __init__(self, link: NodeLink, scripts: ProofScripts, directory: str) -> None:
        self._link, self._scripts, self._directory = link, scripts, directory

    async def listener(self, port: int) -> Listener:
        """Who listens there."""
        from k2tui.core.effects.on_node import Listener, parse_listener  # noqa: PLC0415  keeps the first paint cheap

        try:
            done = await self._link.run(self._scripts.listener, (self._directory, str(port)), timeout_s=LOOK_S)
        except K2Error as error:
            return Listener("unknown", None, str(error))
        return parse_listener(done.stdout)

    async def ranks(self, names: Iterable[str] = ()) -> tuple[RankProcess, ...]:
        """Its processes that do the work, with these variables (`@NAME`: only whether it is set). Empty: not known."""
        from k2tui.core.effects.on_node import parse_ranks  # noqa: PLC0415  keeps the first paint cheap

        asked = [name for name in names if _NAME.fullmatch(name)][:MOST_NAMES]
        try:
            done = await self._link.run(self._scripts.rank_env, (self._directory, *asked), timeout_s=LOOK_S)
        except K2Error:
            return ()
        return parse_ranks(done.stdout) or ()


def looks_at(subject: Subject, link: NodeLink, scripts: ProofScripts | None) -> NodeLooks | None:
    """The run of a server on its node; None for what k2tui did not start."""
    run = subject.run
    if scripts is None or run is None or subject.found is not None or subject.is_log_alone:
        return None
    return NodeLooks(link, scripts, run.directory)

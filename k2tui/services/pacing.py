"""What is on screen, told to whoever looks at nodes: the rest is looked at less often."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from k2tui.core.pace import NodePace, Shown, paced
from k2tui.services.doors import Clock
from k2tui.services.tasks import ended


class PacedProbe(Protocol):
    """services.node_watch.NodeWatch, as far as its pace goes."""

    detailed: bool

    def set_interval(self, seconds: float) -> None: ...


class Paced(Protocol):
    """services.run_scan.RunScan and services.found_servers.FoundServers, as far as their pace goes."""

    period_s: float


@dataclass(frozen=True)
class PacedNode:
    """All that looks at one node."""

    probe: PacedProbe
    scan: Paced | None = None
    found: Paced | None = None


class Pacer:
    """Holds what is shown, and sets the pace of every node."""

    def __init__(self, nodes: Mapping[str, PacedNode], *, clock: Clock) -> None:
        self.shown: Shown | None = None
        """None: nobody has said yet what is on screen (a plain command never does); all is looked at as if it was."""
        self._nodes, self._clock = nodes, clock
        self._paces: dict[str, NodePace] = {}
        self._waiting: asyncio.Task[None] | None = None

    def look_at(self, shown: Shown) -> None:
        """From now on this is on screen. Cheap when it is what was there before."""
        if shown != self.shown:
            self.shown = shown
            self._pace()

    async def close(self) -> None:
        """Let things go at the pace that they have."""
        waiting, self._waiting = self._waiting, None
        await ended(waiting)

    def _pace(self) -> None:
        assert self.shown is not None
        now = self._clock.monotonic()
        for name, node in self._nodes.items():
            pace = paced(self._paces.get(name, NodePace()), name, self.shown, now)
            self._paces[name] = pace
            node.probe.set_interval(pace.probe_s)
            node.probe.detailed = pace.detailed
            if node.scan is not None:
                node.scan.period_s = pace.scan_s
            if node.found is not None:
                node.found.period_s = pace.found_s
        due = [pace.slows_at for pace in self._paces.values() if pace.slows_at is not None]
        if due and (self._waiting is None or self._waiting.done()):
            self._waiting = asyncio.ensure_future(self._slow_down_at(min(due)))

    async def _slow_down_at(self, at: float) -> None:
        """Look again when a node has been out of sight for long enough; by then others may be due."""
        await self._clock.sleep(max(0.0, at - self._clock.monotonic()))
        self._waiting = None
        self._pace()

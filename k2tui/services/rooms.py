"""One node with everything that watches it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass

from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings
from k2tui.core.views import NodeView
from k2tui.services.doors import Clock, NodeLink, Script
from k2tui.services.found_servers import FoundServers, found_script
from k2tui.services.node_watch import NodeWatch
from k2tui.services.run_scan import RunScan, watching_script
from k2tui.services.runs import RunKeeper, RunScripts


@dataclass
class Room:
    """The watchers of one node; made by `furnished`."""

    settings: NodeSettings
    link: NodeLink
    watch: NodeWatch
    keeper: RunKeeper
    scan: RunScan
    found: FoundServers
    has_runs: bool
    """Some server of the node is k2tui's to start; where all are only watched there is nothing to scan for."""

    @property
    def view(self) -> NodeView:
        """The node as it is known now."""
        return NodeView(self.settings, self.watch.state, self.watch.reading, self.found.processes, self.found.at)

    @property
    def log_offset_s(self) -> float | None:
        """The node's log clock (naive local seconds) minus time.time() here; None until its probe told."""
        return self.watch.reading.clock_offset_s

    @property
    def is_looked_at(self) -> bool:
        """It was looked at once, or is known to be out of reach."""
        if self.link.state.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED) or self.scan.problem is not None:
            return True
        scanned = self.scan.at is not None or not self.has_runs
        return self.watch.reading.host_at is not None and scanned and self.found.is_settled

    def start(self) -> None:
        """Begin to watch."""
        self.watch.start()
        if self.has_runs:
            self.scan.start()
        self.found.start()

    def begin_runs(self) -> None:
        """Some server of the node is k2tui's to start from now on."""
        if not self.has_runs:
            self.has_runs = True
            self.scan.start()

    async def close(self) -> None:
        """Watch no more, and let go of the link."""
        closers: tuple[Awaitable[None], ...] = (self.found.close(), self.scan.close(), self.watch.close())
        await asyncio.gather(*closers, return_exceptions=True)
        await self.link.close()


@dataclass(frozen=True)
class Furniture:
    """What every room is made of."""

    make_link: Callable[[NodeSettings], NodeLink]
    script: Callable[[str], Script]
    clock: Clock
    scan_changed: Callable[[str], None]
    node_changed: Callable[[str], None]
    processes_looked_at: Callable[[str], None]
    """The processes of a node were looked at; mostly they are as before."""
    servers: Callable[[], Collection[str]]
    """Names of the config's servers: other runs are somebody else's."""

    def _of_config(self, runs: Iterable[Run]) -> tuple[Run, ...]:
        return tuple(run for run in runs if run.server in self.servers())

    def furnished(self, node: NodeSettings, *, has_runs: bool) -> Room:
        """The room of a node; nothing in it has started."""
        link = self.make_link(node)

        def scanned() -> None:
            self.scan_changed(node.name)

        def probed() -> None:
            self.node_changed(node.name)

        keeper = RunKeeper(link, node, RunScripts(self.script))
        watch = NodeWatch(link, self.script("probe"), self.clock, probed, disks=node.disks)
        scan = RunScan(
            link,
            keeper,
            clock=self.clock,
            on_change=scanned,
            watching=watching_script(self.script),
            home=node.home,
        )
        found = FoundServers(
            link,
            found_script(self.script),
            clock=self.clock,
            on_change=probed,
            reading=lambda: watch.reading,
            own_runs=lambda: None if has_runs and scan.at is None else self._of_config(scan.runs),
            on_look=lambda: self.processes_looked_at(node.name),
        )
        return Room(
            settings=node,
            link=link,
            watch=watch,
            keeper=keeper,
            scan=scan,
            found=found,
            has_runs=has_runs,
        )

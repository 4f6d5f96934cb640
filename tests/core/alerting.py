"""A fleet of one node, one GPU and one server, looked at again and again by the rules of the alerts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from k2tui.core.alerting.book import book_of
from k2tui.core.alerting.engine import AlertState, Step, step
from k2tui.core.alerting.rows import Moment, rows_of
from k2tui.core.alerting.trends import Trends, noticed
from k2tui.core.alerts import Alert
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.readings import DiskReading, GpuReading, HostReading, NodeReading
from k2tui.core.series import server_subject
from k2tui.core.serving import ServingReading
from k2tui.core.settings import AlertSettings, NodeSettings, ServerSettings
from k2tui.core.views import NodeView, ServerStatus, ServerView

DAY = 1_796_047_200.0
"""Unix time when time.monotonic is 0."""
UP = LinkState(LinkPhase.UP)
GPU = GpuReading(
    index=3,
    uuid="GPU-3",
    utilization_percent=90.0,
    memory_used_mib=80_000.0,
    memory_total_mib=96_000.0,
    power_w=500.0,
    power_limit_w=600.0,
    temperature_c=60.0,
    sm_clock_mhz=2400.0,
    sm_clock_max_mhz=2600.0,
    throttle_mask=0,
    pcie_bus="00000000:17:00.0",
)
DISK = DiskReading("/data", 10**13, 4 * 10**12, 0.0)


class Looker:
    """Takes a look every two seconds of a clock that it moves itself."""

    def __init__(self, settings: AlertSettings | None = None, *, every_s: float = 2.0) -> None:
        self.book = book_of(settings or AlertSettings())
        self.state = AlertState()
        self.trends = Trends()
        self.now = 100.0
        self.every_s = every_s
        self.usual: float | None = None
        self.node: NodeView | None = NodeView(NodeSettings("gpu-a", "gpu-a"), UP)
        self.gpu: GpuReading | None = GPU
        self.disks: tuple[DiskReading, ...] = (DISK,)
        self.reading: dict[str, Any] = {}
        """What the node's reading has beside its GPU and its disks."""
        self.server: ServerView | None = ServerView(ServerSettings("kimi", "gpu-a"), ServerStatus.READY)
        self.serving: dict[str, Any] | None = None
        self.fresh = True
        """New readings come with every look."""
        self.steps: list[Step] = []
        self._seen_at = self.now

    @property
    def at(self) -> float:
        """Unix time."""
        return DAY + self.now

    def look(self) -> Step:
        """Once, two seconds after the last time."""
        self.now += self.every_s
        if self.fresh:
            self._seen_at = self.now
        nodes, servers = self._nodes(), self._servers()
        self.trends = noticed(self.trends, nodes, servers, now=self.now, at=self.at)
        moment = Moment(self.now, self.at, self.trends, lambda server, serving: self.usual, servers)
        known = {server_subject(server.settings.name) for server in servers}
        done = step(self.state, self.book, rows_of(nodes, servers, moment), self.at, known)
        self.state = done.state
        self.steps.append(done)
        return done

    def look_for(self, seconds: float) -> None:
        """Again and again for so long."""
        for _ in range(round(seconds / self.every_s)):
            self.look()

    @property
    def raised(self) -> list[str]:
        """The names of all that was raised so far, in order."""
        return [alert.rule for one in self.steps for alert in one.raised]

    @property
    def ended(self) -> list[str]:
        """The names of all that ended so far, in order."""
        return [alert.rule for one in self.steps for alert in one.ended]

    def only(self) -> Alert:
        """The one alert that holds."""
        (alert,) = self.state.alerts
        return alert

    def set_gpu(self, **changes: Any) -> None:
        assert self.gpu is not None
        self.gpu = replace(self.gpu, **changes)

    def set_link(self, **changes: Any) -> None:
        assert self.node is not None
        self.node = replace(self.node, link=LinkState(**changes))

    def set_server(self, **changes: Any) -> None:
        assert self.server is not None
        self.server = replace(self.server, **changes)

    def _nodes(self) -> Sequence[NodeView]:
        if self.node is None:
            return ()
        defaults: dict[str, Any] = {
            "gpus": () if self.gpu is None else (self.gpu,),
            "gpus_at": None if self.gpu is None else self._seen_at,
            "host": HostReading(memory_total_bytes=10**12, memory_available_bytes=5 * 10**11, disks=self.disks),
            "host_at": self._seen_at,
            "clock_offset_s": 3600.0,
        }
        return (replace(self.node, reading=NodeReading(**{**defaults, **self.reading})),)

    def _servers(self) -> Sequence[ServerView]:
        if self.server is None:
            return ()
        if self.serving is None:
            return (self.server,)
        return (replace(self.server, serving=ServingReading(self._seen_at, "loads", **self.serving)),)

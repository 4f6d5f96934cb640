"""Everything that one repaint looks at, taken at one moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.alerts import Alert
from k2tui.core.events import Event
from k2tui.core.fields import PROBE_PERIOD_S, look_period_s, serving_period_s
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.ui.fleetlike import FleetLike, UiClock

_COUNTED_S = 900.0
"""A longer silence is told in minutes."""
LONGEST_S = 10.0
"""A scene is drawn again after this, whatever happens: minutes go by."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The fleet at one moment."""

    now: float
    """time.monotonic, the clock of every `*_at`."""
    wall: float
    """time.time of this machine."""
    nodes: tuple[NodeView, ...]
    servers: tuple[ServerView, ...]
    events: Sequence[Event] = ()
    alerts: Sequence[Alert] = ()
    simulated: bool = False
    read_only: bool = False

    @classmethod
    def of(cls, fleet: FleetLike, clock: UiClock) -> Scene:
        """What the fleet says now."""
        return cls(
            now=clock.monotonic(),
            wall=clock.time(),
            nodes=fleet.nodes(),
            servers=fleet.servers(),
            events=fleet.events,
            alerts=fleet.alerts(),
            simulated=fleet.simulated,
            read_only=fleet.settings.read_only,
        )

    @property
    def is_moving(self) -> bool:
        """Something is on its way: a launch, a verb, a silence that is counted."""
        return any(
            server.status is ServerStatus.LOADING or server.doing or server.bench is not None or self._counts(server)
            for server in self.servers
        )

    @property
    def good_for_s(self) -> float:
        """Seconds until it would read otherwise with nothing new from the fleet: ages grow, clocks run."""
        if self.is_moving or any(node.link.phase is LinkPhase.DOWN for node in self.nodes):
            return 1.0
        left = LONGEST_S
        for node in self.nodes:
            for seen in (node.reading.host_at, node.reading.gpus_at):
                if seen is not None:
                    left = min(left, seen + 1.5 * PROBE_PERIOD_S - self.now)
        for server in self.servers:
            if server.seen_at is not None:
                left = min(left, server.seen_at + 1.5 * look_period_s(server) - self.now)
            if server.serving is not None:
                left = min(left, server.serving.at + 1.5 * serving_period_s(server.serving) - self.now)
        return max(1.0, left)

    def node(self, name: str) -> NodeView | None:
        """A node by name."""
        return next((node for node in self.nodes if node.settings.name == name), None)

    def server(self, name: str | None) -> ServerView | None:
        """A server by name."""
        return next((server for server in self.servers if server.settings.name == name), None)

    def node_now(self, server: ServerView) -> float | None:
        """The clock (naive local seconds) of a server's node; None until its probe told the offset."""
        node = self.node(server.settings.node)
        if node is None or node.reading.clock_offset_s is None:
            return None
        return self.wall + node.reading.clock_offset_s

    def _counts(self, server: ServerView) -> bool:
        """A silence is told in seconds at first, and who ends it counts down."""
        launch, now = server.launch, self.log_now(server)
        if launch is None or launch.silence is None or launch.quiet_since is None or now is None:
            return False
        return now - launch.quiet_since < _COUNTED_S

    def log_now(self, server: ServerView) -> float | None:
        """The same as the server's log would print it: a container may have a clock of its own."""
        now, launch = self.node_now(server), server.launch
        return now if now is None or launch is None else now - launch.clock_ahead_s


def _began(launch: Launch, phase: LaunchPhase) -> float | None:
    return next((span.began for span in launch.spans if span.phase is phase), None)


def _first(launch: Launch) -> float | None:
    return next((span.began for span in launch.spans if span.began is not None), None)


def since(server: ServerView, log_now: float | None) -> float | None:
    """Seconds since the server became ready, or since its launch began while it loads; None when not known."""
    launch = server.launch
    if launch is None or log_now is None or server.status is ServerStatus.STALE:
        return None
    if launch.kind in (LaunchKind.READY, LaunchKind.DEGRADED):
        begun = _began(launch, LaunchPhase.READY)
    elif launch.kind is LaunchKind.LOADING:
        begun = _first(launch)
    else:
        return None
    return None if begun is None else max(0.0, log_now - begun)


def launch_took(launch: Launch) -> float | None:
    """Seconds from the launch's first line to ready; None before, or without a clock."""
    first, ready = _first(launch), _began(launch, LaunchPhase.READY)
    return None if first is None or ready is None else ready - first

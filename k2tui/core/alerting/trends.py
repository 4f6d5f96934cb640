"""What rules must remember of readings: counters that grow, and queues that do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from k2tui.core.views import NodeView, ServerView

STEP_S = 30.0
STEPS = 10
"""Steps that a queue must grow through: five minutes."""
LEAST_GROWTH = 20
"""Requests."""
GAP_S = 90.0
"""A queue that nobody saw for so long is looked at anew."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A counter of errors, as it was and as it is."""

    count: int
    grew_at: float | None = None
    """Unix time at which it was last seen to grow; None: it has not since the first look."""
    by: int = 0
    """How much it grew since the first look."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The least of a server's waiting requests in each of the last steps."""

    began: float
    """time.monotonic at which the present step began."""
    seen: float
    low: int
    lows: tuple[int, ...] = ()
    """Of the steps before it, oldest first."""

    @property
    def grows(self) -> bool:
        """It never became shorter through all steps, and much longer from the first to the last."""
        if len(self.lows) < STEPS or any(after < before for before, after in pairwise((*self.lows, self.low))):
            return False
        return self.low - self.lows[0] >= max(LEAST_GROWTH, self.lows[0] // 4)

    @property
    def shrinks(self) -> bool:
        """It is shorter than it was, or hardly there."""
        return self.low < LEAST_GROWTH // 2 or (bool(self.lows) and self.low <= 0.9 * max(self.lows))


@dataclass(frozen=True, slots=True)
class Trends:
    """Of all nodes and servers."""

    ecc: Mapping[tuple[str, str], Counted] = field(default_factory=dict)
    """(node, the GPU's uuid) to its uncorrected memory errors."""
    queues: Mapping[str, Queue] = field(default_factory=dict)
    """Server to its queue."""


def noticed(
    trends: Trends, nodes: Sequence[NodeView], servers: Sequence[ServerView], *, now: float, at: float
) -> Trends:
    """The trends after another look; `now` is time.monotonic, `at` unix time."""
    ecc: dict[tuple[str, str], Counted] = {}
    for node in nodes:
        for gpu in node.reading.gpus:
            count = gpu.ecc_uncorrected
            if count is None:
                continue
            was = trends.ecc.get((node.settings.name, gpu.uuid))
            if was is None or was.count != count:
                ecc[node.settings.name, gpu.uuid] = _counted(was, count, at)
    queues: dict[str, Queue] = {}
    for server in servers:
        serving = server.serving
        if serving is None or serving.waiting is None:
            continue
        before = trends.queues.get(server.settings.name)
        if before is None or before.seen != serving.at:
            queues[server.settings.name] = _queue(before, serving.waiting, serving.at)
    if not ecc and not queues:
        return trends
    return Trends(
        {**trends.ecc, **ecc} if ecc else trends.ecc, {**trends.queues, **queues} if queues else trends.queues
    )


def _counted(was: Counted | None, count: int, at: float) -> Counted:
    if was is None or count < was.count:  # the driver was loaded anew
        return Counted(count)
    return Counted(count, at, was.by + count - was.count)


def _queue(was: Queue | None, waiting: int, at: float) -> Queue:
    if was is None or at - was.seen > GAP_S:
        return Queue(at, at, waiting)
    if at - was.began < STEP_S:
        return replace(was, seen=at, low=min(was.low, waiting))
    return Queue(at, at, waiting, (*was.lows, was.low)[-STEPS:])

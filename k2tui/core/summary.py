"""A fleet in a few figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.alerts import Alert
from k2tui.core.fields import PERIODS_GONE, serving_period_s
from k2tui.core.gpu_words import is_busy, is_free
from k2tui.core.link import LinkPhase
from k2tui.core.views import NodeView, ServerStatus, ServerView

BAD = (ServerStatus.CRASHED, ServerStatus.HUNG, ServerStatus.MISCONFIGURED, ServerStatus.DEGRADED)
"""Statuses that somebody has to do something about."""


@dataclass(frozen=True, slots=True)
class Summary:
    """All nodes and servers together. None is unknown, never 0."""

    nodes: int
    lost: tuple[NodeView, ...]
    """Those that are not connected."""
    servers: int
    by_status: Mapping[ServerStatus, int]
    bad: tuple[ServerView, ...]
    foreign: int
    """Servers that somebody else started."""
    gpus: int
    """Of the nodes that are connected, as the three that follow: an old figure is none."""
    gpus_busy: int
    gpus_free: int
    gpus_faulty: int
    memory_used_mib: float | None
    memory_total_mib: float | None
    running: int | None
    """Requests of all servers whose figures are fresh."""
    waiting: int | None
    decode_tokens_per_s: float | None
    """All streams of all servers together."""
    prefill_tokens_per_s: float | None
    alerts: tuple[Alert, ...] | None
    """Those that are open, newest first."""

    @property
    def nodes_up(self) -> int:
        """Nodes that are connected."""
        return self.nodes - len(self.lost)

    def count(self, *statuses: ServerStatus) -> int:
        """Servers with one of these statuses."""
        return sum(self.by_status.get(status, 0) for status in statuses)


def summary_of(
    nodes: Sequence[NodeView], servers: Sequence[ServerView], alerts: Iterable[Alert] | None, now: float
) -> Summary:
    """The fleet at a moment; `now` is time.monotonic."""
    gpus = [(node.reading, gpu) for node in nodes if node.link.phase is LinkPhase.UP for gpu in node.reading.gpus]
    works = [
        server.serving
        for server in servers
        if server.serving is not None and now - server.serving.at <= PERIODS_GONE * serving_period_s(server.serving)
    ]
    running, waiting = _total(work.running for work in works), _total(work.waiting for work in works)
    return Summary(
        nodes=len(nodes),
        lost=tuple(node for node in nodes if node.link.phase is not LinkPhase.UP),
        servers=len(servers),
        by_status=Counter(server.status for server in servers),
        bad=tuple(server for server in servers if server.status in BAD),
        foreign=sum(server.found is not None for server in servers),
        gpus=len(gpus),
        gpus_busy=sum(is_busy(gpu) is True for _, gpu in gpus),
        gpus_free=sum(is_free(reading, gpu) is True for reading, gpu in gpus),
        gpus_faulty=sum(gpu.fault is not None for _, gpu in gpus),
        memory_used_mib=_total(gpu.memory_used_mib for _, gpu in gpus),
        memory_total_mib=_total(gpu.memory_total_mib for _, gpu in gpus),
        running=None if running is None else int(running),
        waiting=None if waiting is None else int(waiting),
        decode_tokens_per_s=_total(work.decode_tokens_per_s for work in works),
        prefill_tokens_per_s=_total(work.prefill_tokens_per_s for work in works),
        alerts=None if alerts is None else tuple(alert for alert in alerts if alert.is_open and alert.is_loud),
    )


def _total(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None

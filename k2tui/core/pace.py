"""How often what is looked at: only what is shown is looked at often."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

SHOWN_PROBE_S, HIDDEN_PROBE_S, DETACHED_PROBE_S = 2.0, 10.0, 10.0
"""Between two ticks of a node's probe. The node in focus has no pace of its own: a new one starts nvidia-smi anew,
which takes seconds where the driver does not stay loaded: a cursor that runs down a fleet would do it everywhere."""
HIDDEN_FOR_S = 30.0
"""How long a node must be out of sight before its probe slows down: who looks elsewhere for a moment comes back. The
nodes of a screen that was left do so one after the other, so that they do not speak all at once from then on."""
CHANGING_SCAN_S, SHOWN_SCAN_S, HIDDEN_SCAN_S, DETACHED_SCAN_S = 2.0, 5.0, 10.0, 20.0
"""Between two looks at which runs a node has."""
FOCUSED_FOUND_S, SHOWN_FOUND_S, HIDDEN_FOUND_S, DETACHED_FOUND_S = 10.0, 30.0, 60.0, 120.0
"""Between two looks at the processes of a node: each is a script of its own there."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What an operator has in front of them."""

    nodes: frozenset[str] = frozenset()
    """Nodes whose figures are on screen."""
    servers: frozenset[str] = frozenset()
    """Servers whose figures are on screen."""
    node: str | None = None
    """The node whose details (GPU processes) are on screen."""
    server: str | None = None
    """The server whose details (latencies) are on screen."""
    attached: bool = True
    """False: the terminal is detached; nobody looks."""

    def has_node(self, node: str) -> bool:
        """Something of the node is in sight."""
        return self.attached and (node == self.node or node in self.nodes)


@dataclass(frozen=True, slots=True)
class NodePace:
    """How often one node is looked at; see `paced`."""

    probe_s: float = SHOWN_PROBE_S
    scan_s: float = SHOWN_SCAN_S
    found_s: float = SHOWN_FOUND_S
    detailed: bool = False
    """Its GPU processes are on screen."""
    hidden_since: float | None = None
    """Clock reading from which on nobody has seen it; None while it is in sight."""
    slows_at: float | None = None
    """Clock reading at which its probe slows down, unless it comes back into sight; None when nothing is due."""


def hidden_for_s(node: str) -> float:
    """How long this node must be out of sight; another time for each."""
    return HIDDEN_FOR_S + HIDDEN_PROBE_S * zlib.crc32(node.encode()) / 2**32


def probe_interval_s(node: str, shown: Shown, *, hidden_s: float = math.inf) -> float:
    """Seconds between two ticks of a node's probe, when it has been out of sight for `hidden_s`."""
    if shown.has_node(node) or hidden_s < hidden_for_s(node):
        return SHOWN_PROBE_S
    return HIDDEN_PROBE_S if shown.attached else DETACHED_PROBE_S


def scan_period_s(node: str, shown: Shown, *, changing: bool = False) -> float:
    """Seconds between two looks at a node's runs. `changing`: one of them is being started or stopped."""
    if changing:
        return CHANGING_SCAN_S
    if shown.has_node(node):
        return SHOWN_SCAN_S
    return HIDDEN_SCAN_S if shown.attached else DETACHED_SCAN_S


def found_period_s(node: str, shown: Shown) -> float:
    """Seconds between two looks at a node's processes."""
    if not shown.attached:
        return DETACHED_FOUND_S
    if node == shown.node:
        return FOCUSED_FOUND_S
    return SHOWN_FOUND_S if shown.has_node(node) else HIDDEN_FOUND_S


def paced(before: NodePace, node: str, shown: Shown, now: float) -> NodePace:
    """How often a node is looked at from now on. What comes into sight speeds up at once; the rest waits a while."""
    seen = shown.has_node(node)
    since = None if seen else now if before.hidden_since is None else before.hidden_since
    interval = probe_interval_s(node, shown, hidden_s=0.0 if since is None else now - since)
    due = since is not None and interval < probe_interval_s(node, shown)
    return NodePace(
        probe_s=interval,
        scan_s=scan_period_s(node, shown),
        found_s=found_period_s(node, shown),
        detailed=shown.attached and node == shown.node,
        hidden_since=since,
        slows_at=since + hidden_for_s(node) if since is not None and due else None,
    )

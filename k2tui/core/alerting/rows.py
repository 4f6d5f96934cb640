"""What alert rules look at: one row for each thing that has readings worth believing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from k2tui.core.alerting.trends import Trends
from k2tui.core.fields import gpu_fields, node_fields, server_fields
from k2tui.core.link import LinkPhase
from k2tui.core.owners import Owners
from k2tui.core.query import Field
from k2tui.core.readings import DiskReading, GpuReading, Xid
from k2tui.core.series import gpu_subject, node_subject, server_subject
from k2tui.core.serving import ServingReading
from k2tui.core.views import NodeView, ServerView
from k2tui.core.xid import OFF_THE_BUS, gpu_of

OLD_S = 60.0
"""Figures that are older say nothing of now: the rules take them for unknown."""
XID_DAY_S = 86_400.0
"""A GPU's error in the kernel's log is news for so long."""
MOST_XIDS = 50
"""Newest lines of one node that are looked at: a storm says one thing many times."""

Usual = Callable[[ServerView, ServingReading], float | None]
"""Generated tokens a second, all streams together, that this server's configuration usually gives at about as many
running requests; None where nobody knows."""


class Moment:
    """One look: when it is taken, and what is known beside the readings. Fields of a thing are made once."""

    def __init__(self, now: float, at: float, trends: Trends, usual: Usual, servers: Sequence[ServerView] = ()) -> None:
        """`now` is time.monotonic, `at` unix time."""
        self.now, self.at, self.trends, self.usual = now, at, trends, usual
        self._servers = servers
        self._owners: dict[str, Owners] = {}
        self._fields: dict[str, Mapping[str, Field]] = {}

    def of_node(self, node: NodeView) -> Mapping[str, Field]:
        """The fields of a node, by name, as filters know them."""
        return self._made(node_subject(node.settings.name), lambda: node_fields(node, self.now, believed_s=OLD_S))

    def of_gpu(self, node: NodeView, gpu: GpuReading) -> Mapping[str, Field]:
        """The fields of a GPU."""
        owners = self._owners.get(node.settings.name)
        if owners is None:
            owners = self._owners[node.settings.name] = Owners(node, self._servers)
        return self._made(
            gpu_subject(node.settings.name, gpu.index),
            lambda: gpu_fields(node, gpu, self.now, owners=owners, of_node=self.of_node(node), believed_s=OLD_S),
        )

    def of_server(self, server: ServerView, node: NodeView) -> Mapping[str, Field]:
        """The fields of a server."""
        return self._made(
            server_subject(server.settings.name),
            lambda: server_fields(server, node, self.now, wall=self.at, of_node=self.of_node(node), believed_s=OLD_S),
        )

    def _made(self, subject: str, make: Callable[[], Mapping[str, Field]]) -> Mapping[str, Field]:
        found = self._fields.get(subject)
        if found is None:
            found = self._fields[subject] = make()
        return found


class NodeRow(NamedTuple):
    """A node; also one that is out of reach."""

    subject: str
    part: str
    seen: float
    """time.monotonic of what the row shows."""
    node: NodeView
    moment: Moment

    def fields(self) -> Mapping[str, Field]:
        """By name, as filters know them."""
        return self.moment.of_node(self.node)


class GpuRow(NamedTuple):
    """One GPU of a node whose figures are new."""

    subject: str
    part: str
    seen: float
    node: NodeView
    moment: Moment
    gpu: GpuReading

    def fields(self) -> Mapping[str, Field]:
        """By name, as filters know them."""
        return self.moment.of_gpu(self.node, self.gpu)


class ServerRow(NamedTuple):
    """A server on a node that is reached, and to which k2tui does nothing just now."""

    subject: str
    part: str
    seen: float
    node: NodeView
    moment: Moment
    server: ServerView

    def fields(self) -> Mapping[str, Field]:
        """By name, as filters know them."""
        return self.moment.of_server(self.server, self.node)


class ServingRow(NamedTuple):
    """A server's live figures."""

    subject: str
    part: str
    seen: float
    node: NodeView
    moment: Moment
    server: ServerView
    serving: ServingReading

    def around(self) -> ServerRow:
        """The server that has them."""
        return ServerRow(self.subject, "", self.seen, self.node, self.moment, self.server)


class DiskRow(NamedTuple):
    """One file system of a node."""

    subject: str
    part: str
    """Where it is mounted."""
    seen: float
    node: NodeView
    moment: Moment
    disk: DiskReading

    def around(self) -> NodeRow:
        """The node that has it."""
        return NodeRow(self.subject, "", self.seen, self.node, self.moment)


class XidRow(NamedTuple):
    """The newest error of one number of one GPU, in the kernel's log."""

    subject: str
    """The GPU; the node where no GPU has that bus address."""
    part: str
    """Its number."""
    seen: float
    node: NodeView
    moment: Moment
    xid: Xid

    def around(self) -> NodeRow:
        """The node whose kernel said so."""
        return NodeRow(self.subject, "", self.seen, self.node, self.moment)


Row = NodeRow | GpuRow | ServerRow | ServingRow | DiskRow | XidRow


def rows_of(nodes: Sequence[NodeView], servers: Sequence[ServerView], moment: Moment) -> Iterator[Row]:
    """A row for each thing whose figures can be believed. What is left out is unknown."""
    up = {node.settings.name: node for node in nodes if node.link.phase is LinkPhase.UP}
    for node in nodes:
        yield NodeRow(node_subject(node.settings.name), "", moment.now, node, moment)
    for node in up.values():
        yield from _of_node(node, moment)
    for server in servers:
        where = up.get(server.settings.node)
        if where is None or server.doing is not None:
            continue
        subject, serving = server_subject(server.settings.name), server.serving
        yield ServerRow(subject, "", moment.now, where, moment, server)
        if serving is not None and moment.now - serving.at <= OLD_S:
            yield ServingRow(subject, "", serving.at, where, moment, server, serving)


def _of_node(node: NodeView, moment: Moment) -> Iterator[Row]:
    name, reading, now = node.settings.name, node.reading, moment.now
    if reading.gpus_at is not None and now - reading.gpus_at <= OLD_S:
        for gpu in reading.gpus:
            yield GpuRow(gpu_subject(name, gpu.index), "", reading.gpus_at, node, moment, gpu)
    if reading.host_at is not None and now - reading.host_at <= OLD_S:
        subject = node_subject(name)
        for disk in reading.host.disks:
            yield DiskRow(subject, disk.mount, reading.host_at, node, moment, disk)
    if reading.xids:
        yield from _xids(node, moment)


def _xids(node: NodeView, moment: Moment) -> Iterator[Row]:
    newest: dict[tuple[str, str], Xid] = {}
    for xid in node.reading.xids[-MOST_XIDS:]:
        if xid.at is None or moment.at - xid.at <= XID_DAY_S:
            gpu = gpu_of(xid, node.reading.gpus)
            name = node.settings.name
            subject = node_subject(name) if gpu is None else gpu_subject(name, gpu.index)
            newest[subject, str(OFF_THE_BUS if xid.number is None else xid.number)] = xid
    for (subject, part), xid in newest.items():
        yield XidRow(subject, part, moment.now, node, moment, xid)

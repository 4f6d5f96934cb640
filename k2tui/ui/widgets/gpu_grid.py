"""All GPUs of all nodes as one list: selected, marked, sorted, filtered."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.fields import GPU_FIELDS, PROBE_PERIOD_S, gpu_fields, node_fields
from k2tui.core.gpu_words import is_free
from k2tui.core.link import LinkPhase
from k2tui.core.owners import Owners
from k2tui.core.query import Field
from k2tui.core.views import NodeView, ServerView
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line
from k2tui.ui.widgets.gpu_columns import Columns, GpuRow, columns_of, gpu_heading, gpu_line, gpu_rows, measures
from k2tui.ui.widgets.lists import KeyedRows, Sort, in_order

SORTS: dict[str, Sort] = {
    "n": Sort("node", "node", "Node"),
    "l": Sort("load", "load", "Load", most_first=True),
    "v": Sort("VRAM", "vram", "Vram", most_first=True),
    "w": Sort("power", "power", "Watts", most_first=True),
    "t": Sort("temperature", "temp", "Temp", most_first=True),
    "m": Sort("memory temperature", "mem_temp", "Mem", most_first=True),
    "c": Sort("clock", "clock", "Clock"),
    "x": Sort("XIDs", "xid", "Xid", most_first=True),
    "e": Sort("ECC errors", "ecc", "Ecc", most_first=True),
    "f": Sort("free memory", "vram_free", "Free", most_first=True),
    "h": Sort("held by", "server", "Held"),
    "u": Sort("user", "user", "User"),
}
"""Key after `o`, and the order."""


class _Node:
    """One node's rows and fields, kept until its views or the freshness of its figures change."""

    def __init__(self, node: NodeView, servers: Sequence[ServerView], now: float) -> None:
        self.node, self.servers = node, servers
        self.rows = gpu_rows(node, Owners(node, servers), now)
        self.measured = measures(self.rows)
        self._fields: dict[str, dict[str, Field]] | None = None

    def is_of(self, node: NodeView, servers: Sequence[ServerView]) -> bool:
        """True for the same views."""
        same = len(servers) == len(self.servers) and all(a is b for a, b in zip(servers, self.servers, strict=True))
        return node is self.node and same

    def fields(self, row: GpuRow, now: float) -> dict[str, Field]:
        """What a filter looks at."""
        if self._fields is None:
            of_node = node_fields(self.node, now)
            self._fields = {
                one.key: gpu_fields(self.node, one.gpu, now, owners=one.owners, of_node=of_node) for one in self.rows
            }
        return self._fields[row.key]


class GpuRows(KeyedRows[GpuRow]):
    """The list, with the selected GPU."""

    title = "GPUs"
    SORTS = SORTS

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(GPU_FIELDS, id=id)
        self._by_node: dict[str, _Node] = {}
        self._columns: Columns = ()
        self._kept: dict[str, tuple[GpuRow, Columns, Line]] = {}
        """By a row's key: the row, the columns, and its line."""

    @property
    def selected(self) -> GpuRow | None:
        """The GPU under the cursor."""
        return self.at(self.cursor)

    def show_scene(self, scene: Scene) -> None:
        self._look(scene)
        every = [row for node in scene.nodes for row in self._by_node[node.settings.name].rows]
        self.marks.keep_only(row.key for row in every)

        def fields(row: GpuRow) -> dict[str, Field]:
            return self._by_node[row.node.settings.name].fields(row, scene.now)

        query = self.filter.query
        rows = every if query is None else [row for row in every if query.matches(fields(row)) is True]
        if self.sort_key:
            rows = in_order(rows, SORTS[self.sort_key], fields, backwards=self.backwards)
        shown = {row.node.settings.name for row in rows}
        measured = [self._by_node[name].measured for name in shown]
        widest = tuple(map(max, zip(*measured, strict=True))) if measured else measures(())
        self._columns = columns_of(widest, self.inner_width - self.indent, with_node=True)
        self.headed(gpu_heading(self._columns))
        self.put_rows(list(rows), len(every), scene)

    def _look(self, scene: Scene) -> None:
        """Keep what has not changed since the last time."""
        servers: dict[str, list[ServerView]] = {}
        for server in scene.servers:
            servers.setdefault(server.settings.node, []).append(server)
        kept: dict[str, _Node] = {}
        for node in scene.nodes:
            name = node.settings.name
            mine, old = servers.get(name, []), self._by_node.get(name)
            if old is None or not old.is_of(node, mine) or _is_late(node, scene.now):
                old = _Node(node, mine, scene.now)
            kept[name] = old
        self._by_node = kept

    def line_of(self, row: GpuRow, scene: Scene) -> Line:
        kept = self._kept.get(row.key)
        if kept is None or kept[0] is not row or kept[1] is not self._columns:
            kept = self._kept[row.key] = (row, self._columns, gpu_line(row, self._columns))
        return kept[2]

    @property
    def free(self) -> int:
        """GPUs that nobody uses, of nodes that are there."""
        rows = (row for node in self._by_node.values() for row in node.rows if row.node.link.phase is LinkPhase.UP)
        return sum(1 for row in rows if is_free(row.node.reading, row.gpu))


def _is_late(node: NodeView, now: float) -> bool:
    """Its figures have an age that shows, or that changes what is believed."""
    at = node.reading.gpus_at
    return at is not None and now - at > 1.5 * PROBE_PERIOD_S

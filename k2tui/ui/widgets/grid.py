"""The servers of all nodes as a grid: one row each, columns by the room there is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from k2tui.core.fields import SERVER_FIELDS, node_fields, server_fields
from k2tui.core.link import LinkPhase
from k2tui.core.query import Field
from k2tui.core.serving import ServingReading
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.ui.present import STATUS_GLYPH, STATUS_ROLE
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, Span, cell
from k2tui.ui.widgets import grid_cells as cells
from k2tui.ui.widgets.grid_cells import GridRow
from k2tui.ui.widgets.lists import Sort, in_order

Trend = Callable[[str, int], Line]
"""The last minutes of a server's generated tokens a second, in so many columns."""
Cell = Callable[[GridRow, Scene, int], Line]
NO_TAG = "no tag"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the grid."""

    title: str
    width: int
    cell: Cell | None
    """None: the trend, which is not of one moment."""
    keep: int
    """The higher, the longer it stays when the screen gets narrow."""
    right: bool = False
    measure: Callable[[GridRow], int] | None = None
    """How wide the text of a row is; None: `width` is what it needs."""
    gap: int = 2
    """Blank columns in front of it."""


def _state_width(row: GridRow) -> int:
    return len(cells.state_words(row)[0])


ALWAYS = 20
COLUMNS: tuple[Column, ...] = (
    Column("NODE", 16, cells.node_cell, ALWAYS, measure=lambda row: len(row.node.settings.name), gap=0),
    Column("SERVER", 24, cells.server_cell, ALWAYS, measure=lambda row: len(cells.server_words(row))),
    Column("STATE", 15, cells.state_cell, ALWAYS, measure=_state_width),
    Column("PROGRESS", 0, cells.progress_cell, ALWAYS),
    Column("UP", 6, cells.up_cell, 4, right=True),
    Column("TOK/S", 6, cells.rate_cell, 11, right=True),
    Column("RUN", 4, cells.running_cell, 10, right=True, gap=1),
    Column("QUE", 4, cells.queue_cell, 10, right=True, gap=1),
    Column("KV", 5, cells.kv_cell, 9, right=True, gap=1),
    Column("TTFT95", 7, cells.ttft_cell, 5, right=True, gap=1),
    Column("GPU", 5, cells.load_cell, 7, right=True, gap=1),
    Column("VRAM", 9, cells.vram_cell, 6, right=True, gap=1),
    Column("PROFILE", 14, cells.profile_cell, 3, measure=lambda row: len(cells.profile_words(row))),
    Column("MODEL", 24, cells.model_cell, 1, measure=lambda row: len(cells.model_words(row))),
    Column("TREND 5m", 10, None, 2),
    Column("AGE", 4, cells.age_cell, 8, right=True, gap=1),
)
LEAST_PROGRESS, NARROW_PROGRESS, NARROW = 24, 20, 100


_MEASURED = tuple((place, column.measure) for place, column in enumerate(COLUMNS) if column.measure is not None)


def measures(row: GridRow) -> tuple[int, ...]:
    """How wide the text of a row is in each column that fits its text."""
    return tuple(measure(row) for _, measure in _MEASURED)


def fitted(measured: Sequence[tuple[int, ...]]) -> tuple[Column, ...]:
    """The columns, those of names no wider than the longest one; `measured` are the `measures` of all rows."""
    widths = [column.width for column in COLUMNS]
    for (place, _), sizes in zip(_MEASURED, zip(*measured, strict=True), strict=False):
        column = COLUMNS[place]
        widths[place] = min(column.width, max(len(column.title), *sizes))
    return _of_widths(tuple(widths))


@lru_cache(maxsize=32)
def _of_widths(widths: tuple[int, ...]) -> tuple[Column, ...]:
    """One tuple for the same widths, so that rows which were drawn for it can be kept."""
    return tuple(replace(column, width=width) for column, width in zip(COLUMNS, widths, strict=True))


@lru_cache(maxsize=32)
def columns_for(width: int, columns: tuple[Column, ...] = COLUMNS) -> tuple[tuple[Column, int], ...]:
    """The columns that fit, with their widths; the least wanted go first, what is left goes to the progress."""
    kept = list(columns)
    progress = NARROW_PROGRESS if width < NARROW else LEAST_PROGRESS
    while sum((column.width or progress) + column.gap for column in kept) > width:
        droppable = [column for column in kept if column.keep < ALWAYS]
        if not droppable:
            break
        kept.remove(min(droppable, key=lambda column: column.keep))
    fixed = sum(column.width + column.gap for column in kept)
    return tuple((column, column.width or max(8, width - fixed)) for column in kept)


def grid_rows(scene: Scene) -> list[GridRow]:
    """A row for each server, in the order of nodes; a node without servers has one of its own."""
    by_node: dict[str, list[ServerView]] = {}
    for server in scene.servers:
        by_node.setdefault(server.settings.node, []).append(server)
    rows: list[GridRow] = []
    for node in scene.nodes:
        mine = by_node.get(node.settings.name)
        rows += [GridRow(node, server) for server in mine] if mine else [GridRow(node, None)]
    return rows


def heading(columns: Sequence[tuple[Column, int]]) -> Line:
    """The names of the columns."""
    line: list[Span] = []
    for column, width in columns:
        line.append((" " * column.gap, "text"))
        line.append(cell(column.title, width, "muted", right=column.right))
    return tuple(line)


def row_line(row: GridRow, scene: Scene, columns: Sequence[tuple[Column, int]], trend: Trend | None = None) -> Line:
    """One row of the grid."""
    line: list[Span] = []
    for column, width in columns:
        if column.gap:
            line.append((" " * column.gap, "text"))
        if column.cell is not None:
            part = column.cell(row, scene, width)
        elif trend is not None and row.server is not None:
            part = trend(row.server.settings.name, width)
        else:
            part = ()
        line.extend(part)
        used = sum(len(text) for text, _ in part)
        if used < width:
            line.append((" " * (width - used), "text"))
    return tuple(line)


# ---- fields, and the order of rows


def row_fields(row: GridRow, scene: Scene, of_node: dict[str, dict[str, Field]] | None = None) -> dict[str, Field]:
    """What a filter looks at; `of_node` keeps the nodes' own for the next row."""
    name = row.node.settings.name
    shared = None if of_node is None else of_node.get(name)
    if shared is None:
        shared = node_fields(row.node, scene.now)
        if of_node is not None:
            of_node[name] = shared
    if row.server is None:
        return {**dict.fromkeys(SERVER_FIELDS), **shared}
    return server_fields(row.server, row.node, scene.now, wall=scene.wall, of_node=shared)


SORTS: dict[str, Sort] = {
    "n": Sort("node", "node", "Node"),
    "s": Sort("server", "server", "Server"),
    "t": Sort("state", "state", "sTate"),
    "u": Sort("up", "up", "Up", most_first=True),
    "d": Sort("tok/s", "tps", "Dec", most_first=True),
    "r": Sort("run", "running", "Run", most_first=True),
    "q": Sort("queue", "queue", "Que", most_first=True),
    "k": Sort("KV", "kv", "Kv", most_first=True),
    "f": Sort("TTFT", "ttft", "First", most_first=True),
    "l": Sort("GPU", "load", "Load", most_first=True),
    "v": Sort("VRAM", "vram", "Vram", most_first=True),
    "p": Sort("profile", "profile", "Prof"),
    "m": Sort("model", "model", "Mod"),
    "a": Sort("age", "age", "Age", most_first=True),
}
"""Key after `o`, and the order."""

_WORST_FIRST = (
    ServerStatus.CRASHED,
    ServerStatus.HUNG,
    ServerStatus.MISCONFIGURED,
    ServerStatus.DEGRADED,
    ServerStatus.STALE,
    ServerStatus.UNPROVED,
    ServerStatus.LOADING,
    ServerStatus.UNKNOWN,
    ServerStatus.READY,
    ServerStatus.DOWN,
)


def _badness(row: GridRow) -> int:
    if row.node.link.phase is LinkPhase.BLOCKED:
        return -1
    return _WORST_FIRST.index(row.server.status) if row.server else len(_WORST_FIRST)


def sorted_rows(rows: Sequence[GridRow], scene: Scene, sort: Sort, *, backwards: bool = False) -> list[GridRow]:
    """The rows sorted: by state the worst first; those whose figure is unknown come last either way."""
    if sort.field == "state":
        return sorted(rows, key=lambda row: (-_badness(row) if backwards else _badness(row), row.key))
    of_node: dict[str, dict[str, Field]] = {}
    ordered = sorted(rows, key=lambda row: row.key)
    return in_order(ordered, sort, lambda row: row_fields(row, scene, of_node), backwards=backwards)


@dataclass(frozen=True, slots=True)
class GroupRow:
    """The heading of all rows of one tag."""

    tag: str
    rows: tuple[GridRow, ...]
    folded: bool

    @property
    def key(self) -> str:
        """As a row has one."""
        return f"#{self.tag}"


def tag_of(node: NodeView) -> str:
    """The group that a node is in: its first tag."""
    return node.settings.tags[0] if node.settings.tags else NO_TAG


def grouped(rows: Sequence[GridRow], folded: frozenset[str]) -> list[GridRow | GroupRow]:
    """Headings with their rows below; of a folded group the heading alone."""
    by_tag: dict[str, list[GridRow]] = {}
    for row in rows:
        by_tag.setdefault(tag_of(row.node), []).append(row)
    out: list[GridRow | GroupRow] = []
    for tag in sorted(by_tag, key=lambda tag: (tag == NO_TAG, tag)):
        out.append(GroupRow(tag, tuple(by_tag[tag]), tag in folded))
        out += [] if tag in folded else by_tag[tag]
    return out


def _at_work(row: GridRow, now: float) -> ServingReading | None:
    """Its figures, but for those of a server that is out of reach."""
    is_stale = row.server is not None and row.server.status is ServerStatus.STALE
    return None if is_stale else cells.serving_of(row, now)[0]


def group_line(group: GroupRow, scene: Scene) -> Line:
    """`▾ prod  12 servers  10 ready  1 crashed  3 204 tok/s total  queue 4`."""
    servers = [row.server for row in group.rows if row.server is not None]
    line: list[Span] = [("▸ " if group.folded else "▾ ", "key"), (group.tag, "title")]
    line.append((f"  {len(servers)} server{'' if len(servers) == 1 else 's'}", "muted"))
    for status in _WORST_FIRST:
        count = sum(1 for server in servers if server.status is status)
        if count:
            glyph, role = STATUS_GLYPH[status], STATUS_ROLE[status]
            line += [(f"  {glyph} ", role), (f"{count} {status.value}", "text")]
    told = [serving for row in group.rows if (serving := _at_work(row, scene.now)) is not None]
    rates = [one.decode_tokens_per_s for one in told if one.decode_tokens_per_s is not None]
    if rates:
        line.append((f"  {cells.rate_words(sum(rates))} tok/s total", "text"))
    waiting = sum(one.waiting or 0 for one in told)
    if waiting:
        line.append((f"  queue {waiting}", "warning"))
    return tuple(line)

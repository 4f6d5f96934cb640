"""The servers of all nodes as a grid: one row each, columns by the room there is. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuReading
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.core.words import PHASE_WORDS, UNKNOWN, duration, phase_time
from k2tui.ui import present
from k2tui.ui.present import STATUS_GLYPH, STATUS_ROLE, Freshness, freshness
from k2tui.ui.scene import LOOK_PERIOD_S, PROBE_PERIOD_S, Scene, since
from k2tui.ui.spans import Line, Span, cell, joined, width_of
from k2tui.ui.widgets.cause_rows import failure_of
from k2tui.ui.widgets.phase_rows import phase_rows, progress_spans

FAILED = (ServerStatus.CRASHED, ServerStatus.HUNG, ServerStatus.MISCONFIGURED)


@dataclass(frozen=True, slots=True)
class GridRow:
    """One server, or a node that has none."""

    node: NodeView
    server: ServerView | None

    @property
    def key(self) -> str:
        """What stays the same when the rows are sorted."""
        return f"{self.node.settings.name}/{self.server.settings.name if self.server else ''}"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the grid."""

    title: str
    width: int
    cell: Callable[[GridRow, Scene, int], Line]
    keep: int
    """The higher, the longer it stays when the screen gets narrow."""
    right: bool = False
    measure: Callable[[GridRow], int] | None = None
    """How wide the text of a row is; None: `width` is what it needs."""


def _name(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(row.node.settings.name, width, "text"),)


def _server(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(row.server.settings.name if row.server else UNKNOWN, width, "strong" if row.server else "muted"),)


def _state(row: GridRow, scene: Scene, width: int) -> Line:
    if row.node.link.phase is LinkPhase.BLOCKED:
        return (cell("! BLOCKED", width, "bad"),)
    if row.server is None:
        up = row.node.link.phase is LinkPhase.UP
        return (cell("up" if up else row.node.link.phase.value, width, "muted" if up else "bad"),)
    status = row.server.status
    word = status.value
    if status is ServerStatus.DOWN and row.server.doing is None:
        return (cell(f"{STATUS_GLYPH[status]} {word}", width, "muted"),)
    failed_already = status in FAILED and row.server.run is not None and row.server.run.alive
    if row.server.doing is not None and not (row.server.doing == "starting" and failed_already):
        word = row.server.doing
    return (cell(f"{STATUS_GLYPH[status]} {word.upper()}", width, STATUS_ROLE[status]),)


def progress_line(row: GridRow, scene: Scene, width: int) -> Line:
    """The present phase with its bar; the reason when its node is out of reach; the failure when it failed."""
    link, server = row.node.link, row.server
    if link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED):
        return (cell(present.link_words(link, scene.now), width, "bad"),)
    launch = server.launch if server is not None else None
    if server is None or launch is None or server.status in (ServerStatus.READY, ServerStatus.DOWN):
        if server is not None and server.proof is not None and server.proof.ok and server.status is ServerStatus.READY:
            return (cell(server.proof.text, width, "muted"),)
        return (cell(UNKNOWN, width, "muted"),)
    if launch.cause is not None:
        return (cell(failure_of(launch), width, "bad"),)
    if server.status is ServerStatus.UNPROVED:
        return (cell("log says ready, no answer seen yet", width, "phase-doubt"),)
    if server.proof is not None and not server.proof.ok:
        return (cell(server.proof.text, width, "warning"),)
    word = f"{PHASE_WORDS[launch.phase]:<9} "
    detail: Line = ((f" {launch.detail}", "warning"),) if launch.detail else ()
    bar = progress_spans(launch, width - len(word) - width_of(detail), unit=False)
    if not bar:
        now = next((step for step in phase_rows(launch, scene.log_now(server)) if step.state == "now"), None)
        bar = ((phase_time(now.elapsed_s), "text"),) if now is not None and now.elapsed_s is not None else ()
    return ((word, "text"), *bar, *detail)


def _up(row: GridRow, scene: Scene, width: int) -> Line:
    lasting = since(row.server, scene.log_now(row.server)) if row.server else None
    return (cell(duration(lasting), width, "text" if lasting is not None else "muted", right=True),)


def profile_of(row: GridRow) -> str:
    """The profile that runs, else the one that would."""
    server = row.server
    if server is None:
        return UNKNOWN
    run = server.run
    return (run.profile if run is not None and run.alive else None) or server.settings.profile or UNKNOWN


def model_of(row: GridRow) -> str:
    """The last part of the model's path."""
    launch = row.server.launch if row.server else None
    return launch.model.rstrip("/").rpartition("/")[2] if launch is not None and launch.model else UNKNOWN


def _profile(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(profile_of(row), width, "muted"),)


def _model(row: GridRow, scene: Scene, width: int) -> Line:
    return (cell(model_of(row), width, "muted"),)


def _gpus(row: GridRow, scene: Scene) -> tuple[list[GpuReading], Freshness]:
    """The GPUs of the row's server (of the node, when it names none), and how old their figures are."""
    only = row.server.settings.gpus if row.server else ()
    at = row.node.reading.gpus_at
    fresh = freshness(None if at is None else scene.now - at, PROBE_PERIOD_S)
    return [gpu for gpu in row.node.reading.gpus if not only or gpu.index in only], fresh


def _gpu(row: GridRow, scene: Scene, width: int) -> Line:
    gpus, fresh = _gpus(row, scene)
    known = [gpu.utilization_percent for gpu in gpus if gpu.utilization_percent is not None]
    if not known or fresh is Freshness.GONE:
        return (cell(UNKNOWN, width, "muted", right=True),)
    role = "stale" if fresh is Freshness.DIM else "text"
    return (cell(f"{sum(known) / len(known):.0f} %", width, role, right=True),)


def _vram(row: GridRow, scene: Scene, width: int) -> Line:
    gpus, fresh = _gpus(row, scene)
    used = [gpu.memory_used_mib for gpu in gpus if gpu.memory_used_mib is not None]
    total = [gpu.memory_total_mib for gpu in gpus if gpu.memory_total_mib is not None]
    if not used or not total or fresh is Freshness.GONE:
        return (cell(UNKNOWN, width, "muted", right=True),)
    role = "stale" if fresh is Freshness.DIM else "text"
    return (cell(present.of_total(sum(used), sum(total), 1024, "G"), width, role, right=True),)


def _age(row: GridRow, scene: Scene, width: int) -> Line:
    seen = row.server.seen_at if row.server else row.node.reading.host_at
    if seen is None:
        return (cell(UNKNOWN, width, "muted", right=True),)
    old = scene.now - seen
    fresh = freshness(old, LOOK_PERIOD_S if row.server else PROBE_PERIOD_S)
    text = "" if fresh is Freshness.FRESH else present.age(old)
    return (cell(text, width, "stale" if fresh is not Freshness.GONE else "warning", right=True),)


COLUMNS: tuple[Column, ...] = (
    Column("NODE", 16, _name, 9, measure=lambda row: len(row.node.settings.name)),
    Column("SERVER", 24, _server, 9, measure=lambda row: len(row.server.settings.name) if row.server else 1),
    Column("STATE", 15, _state, 9, measure=lambda row: 15 if row.server and len(row.server.status.value) > 9 else 11),
    Column("PROGRESS", 0, progress_line, 9),
    Column("UP", 7, _up, 5, right=True),
    Column("PROFILE", 14, _profile, 2, measure=lambda row: len(profile_of(row))),
    Column("MODEL", 24, _model, 1, measure=lambda row: len(model_of(row))),
    Column("GPU", 5, _gpu, 4, right=True),
    Column("VRAM", 11, _vram, 3, right=True),
    Column("AGE", 5, _age, 6, right=True),
)
LEAST_PROGRESS = 30
GAP_WIDTH = 2

SORTS: dict[str, tuple[str, Callable[[GridRow], tuple[object, ...]]]] = {
    "n": ("node", lambda row: (row.node.settings.name, row.key)),
    "s": ("server", lambda row: (row.server.settings.name if row.server else "~", row.key)),
    "t": ("state", lambda row: (_badness(row), row.key)),
    "p": ("profile", lambda row: ((row.server.settings.profile if row.server else None) or "~", row.key)),
}
"""Key after `o`, its word, and the order."""

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


def fitted(rows: Sequence[GridRow], scene: Scene) -> list[Column]:
    """The columns, those of names no wider than the longest one."""
    return [
        replace(column, width=min(column.width, max([len(column.title), *map(column.measure, rows)])))
        if column.measure is not None
        else column
        for column in COLUMNS
    ]


def columns_for(width: int, columns: Sequence[Column] = COLUMNS) -> list[tuple[Column, int]]:
    """The columns that fit, with their widths; the least wanted go first, what is left goes to the progress."""
    kept = list(columns)
    while True:
        used = sum((column.width or LEAST_PROGRESS) + GAP_WIDTH for column in kept) - GAP_WIDTH
        droppable = [column for column in kept if column.keep < 9]
        if used <= width or not droppable:
            break
        kept.remove(min(droppable, key=lambda column: column.keep))
    fixed = sum(column.width + GAP_WIDTH for column in kept) - GAP_WIDTH
    return [(column, column.width or max(8, width - fixed)) for column in kept]


def grid_rows(scene: Scene) -> list[GridRow]:
    """A row for each server, in the order of nodes; a node without servers has one of its own."""
    rows: list[GridRow] = []
    for node in scene.nodes:
        mine = [server for server in scene.servers if server.settings.node == node.settings.name]
        rows += [GridRow(node, server) for server in mine] or [GridRow(node, None)]
    return rows


def row_words(row: GridRow) -> str:
    """What a filter looks at: names, state, profile, tags."""
    words = [row.node.settings.name, *row.node.settings.tags]
    if row.server is not None:
        words += [row.server.settings.name, row.server.status.value, row.server.settings.profile or ""]
    return " ".join(words)


def passes(row: GridRow, wanted: str) -> bool:
    """Whether a row is shown under a filter; `!` in front inverts it."""
    inverted = wanted[:1] == "!"
    text = wanted[1:] if wanted[:1] in ("!", "&") else wanted
    found = text.casefold() in row_words(row).casefold()
    return found != inverted if text else True


def heading(columns: Sequence[tuple[Column, int]]) -> Line:
    """The names of the columns."""
    return joined([(cell(column.title, width, "muted", right=column.right),) for column, width in columns])


def row_line(row: GridRow, scene: Scene, columns: Sequence[tuple[Column, int]]) -> Line:
    """One row of the grid."""
    spans: list[Span] = []
    for column, width in columns:
        if spans:
            spans.append((" " * GAP_WIDTH, "text"))
        part = column.cell(row, scene, width)
        spans.extend(part)
        used = sum(len(text) for text, _ in part)
        if used < width:
            spans.append((" " * (width - used), "text"))
    return tuple(spans)

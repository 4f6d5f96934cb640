"""The columns of a GPU's row: bars and figures by the room there is, what is wrong in words, and who holds it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from k2tui.core.events import Severity
from k2tui.core.fields import PROBE_PERIOD_S
from k2tui.core.gpu_words import GpuWarning, gpu_warnings, held_without_process, is_free
from k2tui.core.owners import Owners
from k2tui.core.readings import GpuReading
from k2tui.core.views import NodeView
from k2tui.core.words import UNKNOWN
from k2tui.core.xid import xid_label, xids_of
from k2tui.ui import present
from k2tui.ui.present import Freshness, freshness, number
from k2tui.ui.spans import Line, Span, cell, cut, joined, width_of

WARM_C, HOT_C = 78.0, 86.0
_WIDEST_BAR = 16
_ROLE = {Severity.INFO: "muted", Severity.GOOD: "good", Severity.WARNING: "warning", Severity.BAD: "bad"}


@dataclass(frozen=True, slots=True)
class GpuRow:
    """One GPU of one node."""

    node: NodeView
    gpu: GpuReading
    owners: Owners
    fresh: Freshness

    @property
    def key(self) -> str:
        """What stays the same when the rows are sorted."""
        return f"{self.node.settings.name}/{self.gpu.index}"

    @property
    def role(self) -> str:
        """Of plain figures: dimmed when they are late."""
        return "stale" if self.fresh is Freshness.DIM else "text"


def gpu_rows(node: NodeView, owners: Owners, now: float, gpus: Sequence[GpuReading] | None = None) -> list[GpuRow]:
    """The GPUs of a node; figures too old to be believed are taken away."""
    at = node.reading.gpus_at
    fresh = freshness(None if at is None else now - at, PROBE_PERIOD_S)
    shown = node.reading.gpus if gpus is None else gpus
    if fresh is Freshness.GONE:
        shown = [without_figures(gpu) for gpu in shown]
        fresh = Freshness.DIM
    return [GpuRow(node, gpu, owners, fresh) for gpu in shown]


def without_figures(gpu: GpuReading) -> GpuReading:
    """What does not change of a GPU."""
    return GpuReading(
        gpu.index, gpu.uuid, gpu.name, memory_total_mib=gpu.memory_total_mib, pcie_bus=gpu.pcie_bus, fault=gpu.fault
    )


def heat_role(celsius: float | None) -> str:
    """How warm it is, as a role."""
    if celsius is None:
        return "muted"
    return "gpu-hot" if celsius >= HOT_C else "gpu-warm" if celsius >= WARM_C else "text"


def meter(fraction: float | None, width: int, role: str) -> Line:
    """A bar of exactly `width` cells; an empty one where nothing is known."""
    if fraction is None:
        return (("─" * width, "bar-rest"),)
    filled, rest = present.bar(fraction, width)
    return ((filled, role), (rest, "bar-rest"))


def short_name(name: str | None) -> str:
    """`H200`, `RTX PRO 6000`: without the maker and the marketing."""
    short = (name or UNKNOWN).removeprefix("NVIDIA ").removesuffix(" Generation")
    return short.replace(" Blackwell", "").replace(" Server Edition", "").replace(" Workstation Edition", "")


_SHORT = {
    "recovery": "needs a reset",
    "rows_pending": "row remap due",
    "hw_heat": "hw heat",
    "sw_heat": "sw heat",
    "hot": "hot",
    "power_brake": "power brake",
    "hw_slowdown": "hw slowdown",
    "power_cap": "power cap",
    "busy_but_cool": "busy but cool",
    "low_clock": "low clock",
    "mig": "MIG",
}
"""A warning's name in a cell; the whole sentence stands among the details."""


def _short(warning: GpuWarning, gpu: GpuReading) -> str:
    """A warning in two or three words; empty for one that a cell leaves out."""
    if warning.name == "ecc":
        return f"ECC {gpu.ecc_uncorrected}"
    if warning.name == "pcie":
        if gpu.pcie_width is not None and gpu.pcie_width_max is not None and gpu.pcie_width < gpu.pcie_width_max:
            return f"PCIe x{gpu.pcie_width} of x{gpu.pcie_width_max}"
        return f"PCIe gen {gpu.pcie_gen} of {gpu.pcie_gen_max}"
    return _SHORT.get(warning.name, "")


def notes_of(row: GpuRow) -> list[tuple[str, str]]:
    """What is wrong with it in a few words each, the worst first, with its role."""
    said = [(_short(warning, row.gpu), warning.severity) for warning in gpu_warnings(row.gpu)]
    xids = xids_of(row.node.reading, row.gpu)
    if xids:
        times = f" ×{len(xids)}" if len(xids) > 1 else ""
        said.insert(0, (f"{xid_label(xids[-1])}{times}", Severity.BAD))
    return [(text, _ROLE[severity]) for text, severity in said if text]


def holder_words(row: GpuRow) -> Span:
    """The server or the user that has it, `free`, or that its memory is held by nobody who can be seen."""
    servers = row.owners.servers_on(row.gpu)
    if servers:
        return ", ".join(servers), "strong"
    users = row.owners.users(row.gpu)
    if users:
        return ", ".join(users), "text"
    holders = row.owners.holders(row.gpu)
    if holders:
        return holders[0].held.name or f"pid {holders[0].held.pid}", "text"
    if held_without_process(row.node.reading, row.gpu):
        return "held, no process", "warning"
    return ("free", "good") if is_free(row.node.reading, row.gpu) else (UNKNOWN, "muted")


@dataclass(frozen=True, slots=True)
class GpuColumn:
    """One column."""

    title: str
    width: int
    """The least that it needs."""
    cell: Callable[[GpuRow, int], Line]
    keep: int
    right: bool = False
    gap: int = 2
    measure: Callable[[GpuRow], int] | None = None
    """How wide the text of a row is, up to `width`; a column whose rows are all empty is left out."""
    grows: int = 0
    """The most that it takes of what is left."""


def _index(row: GpuRow, width: int) -> Line:
    return (cell(f"{row.gpu.index}", width, "muted", right=True),)


def _node(row: GpuRow, width: int) -> Line:
    return (cell(row.node.settings.name, width, "text"),)


def _name(row: GpuRow, width: int) -> Line:
    return (cell(short_name(row.gpu.name), width, "muted"),)


def _load(row: GpuRow, width: int) -> Line:
    load = row.gpu.utilization_percent
    role = row.role if row.role == "stale" else "gpu-busy" if load is not None and load >= 5 else "gpu-calm"
    bar = meter(None if load is None else load / 100, width - 6, role)
    return (*bar, (f" {UNKNOWN if load is None else f'{load:.0f} %':>5}", row.role))


def _vram(row: GpuRow, width: int) -> Line:
    used, total = row.gpu.memory_used_mib, row.gpu.memory_total_mib
    share = None if used is None or not total else used / total
    bar = meter(share, width - 10, row.role if row.role == "stale" else "gpu-calm")
    return (*bar, (f" {present.of_total(used, total, 1024, 'G'):>9}", row.role))


def _power(row: GpuRow, width: int) -> Line:
    power, limit = row.gpu.power_w, row.gpu.power_limit_w
    words = UNKNOWN if power is None else f"{power:.0f} W" if limit is None else f"{power:.0f}/{limit:.0f} W"
    return (cell(words, width, row.role, right=True),)


def _temp(row: GpuRow, width: int) -> Line:
    role = row.role if row.role == "stale" else heat_role(row.gpu.temperature_c)
    return (cell(number(row.gpu.temperature_c, "C"), width, role, right=True),)


def _memory_temp(row: GpuRow, width: int) -> Line:
    celsius = row.gpu.memory_temperature_c
    return (cell(number(celsius, "C"), width, row.role if celsius is not None else "muted", right=True),)


def _clock(row: GpuRow, width: int) -> Line:
    clock = row.gpu.sm_clock_mhz
    return (cell(UNKNOWN if clock is None else f"{clock:.0f} MHz", width, "muted", right=True),)


def pcie_words(gpu: GpuReading) -> str:
    """`gen5 x16`."""
    generation = UNKNOWN if gpu.pcie_gen is None else f"gen{gpu.pcie_gen}"
    return UNKNOWN if gpu.pcie_width is None and gpu.pcie_gen is None else f"{generation} x{gpu.pcie_width or '?'}"


def _pcie(row: GpuRow, width: int) -> Line:
    return (cell(pcie_words(row.gpu), width, "muted"),)


def _notes(row: GpuRow, width: int) -> Line:
    notes = joined([((text, role),) for text, role in notes_of(row)])
    if width_of(notes) <= width:
        return notes
    first = notes_of(row)[0]
    return ((cut(first[0], width), first[1]),)


def _holder(row: GpuRow, width: int) -> Line:
    text, role = holder_words(row)
    return (cell(text, width, role),)


ALWAYS = 20
COLUMNS: tuple[GpuColumn, ...] = (
    GpuColumn("#", 2, _index, ALWAYS, right=True, gap=0),
    GpuColumn("NAME", 20, _name, 4, gap=1, measure=lambda row: len(short_name(row.gpu.name))),
    GpuColumn("LOAD", 8, _load, ALWAYS, gap=1, grows=_WIDEST_BAR - 2),
    GpuColumn("VRAM", 12, _vram, ALWAYS, grows=_WIDEST_BAR - 2),
    GpuColumn("POWER", 9, _power, 10, right=True),
    GpuColumn("TEMP", 5, _temp, ALWAYS, right=True),
    GpuColumn("MEM", 5, _memory_temp, 2, right=True, gap=1, measure=lambda row: _known(row.gpu.memory_temperature_c)),
    GpuColumn("CLOCK", 8, _clock, 6, right=True),
    GpuColumn("PCIE", 8, _pcie, 3, measure=lambda row: _known(row.gpu.pcie_width)),
    GpuColumn("HELD BY", 24, _holder, 7, measure=lambda row: _holder_width(row)),
    GpuColumn("NOTES", 24, _notes, 11, measure=lambda row: _notes_width(row), grows=40),
)
NODE_COLUMN = GpuColumn("NODE", 16, _node, ALWAYS, gap=0, measure=lambda row: len(row.node.settings.name))


def _known(value: float | None) -> int:
    """Columns of what some GPUs have and some do not: none where it is not known."""
    return 0 if value is None else 8


def _notes_width(row: GpuRow) -> int:
    return width_of(joined([(note,) for note in notes_of(row)]))


def _holder_width(row: GpuRow) -> int:
    text = holder_words(row)[0]
    return 0 if text == UNKNOWN else len(text)


Columns = tuple[tuple[GpuColumn, int], ...]
_MEASURED = tuple(column for column in (NODE_COLUMN, *COLUMNS) if column.measure is not None)


def measures(rows: Sequence[GpuRow]) -> tuple[int, ...]:
    """The widest text of these rows in each column that fits its text."""
    return tuple(max(map(column.measure, rows), default=0) for column in _MEASURED if column.measure is not None)


def gpu_columns(rows: Sequence[GpuRow], width: int) -> Columns:
    """The columns that fit these rows of one node, with their widths."""
    return columns_of(measures(rows), width, with_node=False)


@lru_cache(maxsize=64)
def columns_of(measured: tuple[int, ...], width: int, *, with_node: bool) -> Columns:
    """The columns that fit what was measured: the least wanted go; bars and notes take what is left."""
    longest = dict(zip(_MEASURED, measured, strict=True))
    wanted: dict[GpuColumn, int] = {}
    for column in (NODE_COLUMN, *COLUMNS) if with_node else COLUMNS:
        if column.measure is None:
            wanted[column] = column.width
        elif longest[column]:
            wanted[column] = min(column.width, max(longest[column], len(column.title)))
    while (used := sum(size + column.gap for column, size in wanted.items())) > width:
        droppable = [column for column in wanted if column.keep < ALWAYS]
        if not droppable:
            break
        del wanted[min(droppable, key=lambda column: column.keep)]
    bars = [column for column in wanted if column.grows and column.measure is None]
    for column in bars:
        wanted[column] += max(0, min(column.grows, (width - used) // len(bars)))
    left = width - sum(size + column.gap for column, size in wanted.items())
    for column in wanted:
        if column.grows and column.measure is not None and left > 0:
            wanted[column] += min(column.grows, left)
    return tuple(wanted.items())


def gpu_heading(columns: Sequence[tuple[GpuColumn, int]]) -> Line:
    """The names of the columns."""
    line: list[Span] = []
    for column, width in columns:
        line += [(" " * column.gap, "text"), cell(column.title, width, "muted", right=column.right)]
    return tuple(span for span in line if span[0])


def gpu_line(row: GpuRow, columns: Sequence[tuple[GpuColumn, int]]) -> Line:
    """One GPU on one row; one that gave no figures says why instead."""
    line: list[Span] = []
    total = sum(width + column.gap for column, width in columns)
    for column, width in columns:
        if column.gap:
            line.append((" " * column.gap, "text"))
        if row.gpu.fault is not None and column.title == "LOAD":
            room = total - width_of(tuple(line))
            return (*line, ("✗ ", "bad"), (cut(row.gpu.fault, room - 2), "bad"))
        part = column.cell(row, width)
        line.extend(part)
        blank = width - width_of(part)
        if blank > 0:
            line.append((" " * blank, "text"))
    return tuple(line)

"""The GPUs of a node as rows, or folded to one line with the faulty and the warm first."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from k2tui.core import words
from k2tui.core.fields import PROBE_PERIOD_S
from k2tui.core.link import LinkPhase
from k2tui.core.owners import Owners
from k2tui.core.readings import DiskReading, HostReading
from k2tui.core.views import NodeView, ServerView
from k2tui.core.words import UNKNOWN
from k2tui.ui import present
from k2tui.ui.present import Freshness, freshness, number
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, joined, spread, width_of
from k2tui.ui.widgets.gpu_columns import (
    WARM_C,
    GpuRow,
    gpu_columns,
    gpu_heading,
    gpu_line,
    gpu_rows,
    heat_role,
    holder_words,
    meter,
    notes_of,
)
from k2tui.ui.widgets.pane import Pane


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _too_warm(celsius: float | None) -> float:
    """Degrees from warm on; 0 for all that are cool enough: they keep their places."""
    return 0.0 if celsius is None or celsius < WARM_C else celsius


def folded_lines(rows: Sequence[GpuRow], width: int) -> list[Line]:
    """All GPUs together on one line, and each one's load behind it: faults first, then what is wrong or runs warm."""
    gpus = [row.gpu for row in rows]
    text = rows[0].role
    util = _mean([gpu.utilization_percent for gpu in gpus])
    used, total = _total([gpu.memory_used_mib for gpu in gpus]), _total([gpu.memory_total_mib for gpu in gpus])
    power = _total([gpu.power_w for gpu in gpus])
    hottest = max((gpu.temperature_c for gpu in gpus if gpu.temperature_c is not None), default=None)
    bars = 10 if width >= 72 else 6
    whole = f"{gpus[0].index}–{gpus[-1].index}" if len(gpus) > 1 else f"{gpus[0].index}"
    notes = {row.key: notes_of(row) for row in rows}
    troubled = sum(1 for row in rows if notes[row.key] or row.gpu.fault is not None)
    free = sum(1 for row in rows if holder_words(row)[0] == "free")
    parts: list[Line] = [
        ((f"{whole:<4}", "muted"),),
        (*meter(None if util is None else util / 100, bars, "gpu-busy"), (f" {number(util, '%')}", text)),
        (
            *meter(None if used is None or not total else used / total, bars, "gpu-calm"),
            (f" {present.of_total(used, total, 1024, 'G')}", text),
        ),
        ((f"{troubled} in trouble", "warning"),) if troubled else (),
        (("max ", "muted"), (number(hottest, "C"), text if text == "stale" else heat_role(hottest))),
        ((f"{free} free", "good"),) if free else (),
        ((UNKNOWN if power is None else f"{power / 1000:.1f} kW", text),),
    ]
    while len(parts) > 1 and width_of(joined(parts)) > width:
        parts.pop()
    ordered = sorted(
        rows,
        key=lambda row: (row.gpu.fault is None, not notes[row.key], -_too_warm(row.gpu.temperature_c), row.gpu.index),
    )
    return [joined(parts), *spread([_folded(row, notes[row.key]) for row in ordered], width)]


def _folded(row: GpuRow, notes: Sequence[tuple[str, str]]) -> Line:
    """`3:78 % power cap`."""
    gpu = row.gpu
    if gpu.fault is not None:
        return ((f"{gpu.index}:", "muted"), (gpu.fault, "bad"))
    line: Line = ((f"{gpu.index}:", "muted"), (number(gpu.utilization_percent, "%"), row.role))
    return (*line, (f" {notes[0][0]}", notes[0][1])) if notes else line


LOW_SHARE, SOON_S = 0.05, 86_400.0
"""A disk with less of its space left, or that is full sooner at its rate, stands in front and stands out."""


def _disk(disk: DiskReading) -> tuple[bool, Line]:
    """Whether it runs full, and `/data 1.9 TB free, full in 3h20m`."""
    soon = disk.full_in_s is not None and disk.full_in_s < SOON_S
    low = soon or (disk.total_bytes > 0 and disk.available_bytes / disk.total_bytes < LOW_SHARE)
    end = f", full in {words.duration(disk.full_in_s)}" if soon else ""
    free = f"{words.size(disk.available_bytes)} free{end}"
    return low, ((f"{disk.mount} ", "muted"), (free, "warning" if low else "text"))


def _rates(host: HostReading) -> list[Line]:
    """What goes over disks and network; two figures of each."""
    named = (
        ("disk", "read", host.disk_read_bytes_per_s, "write", host.disk_write_bytes_per_s),
        ("net", "in", host.net_rx_bytes_per_s, "out", host.net_tx_bytes_per_s),
    )
    return [
        ((f"{name} {one} ", "muted"), (_rate(first), "text"), (f" {other} ", "muted"), (_rate(second), "text"))
        for name, one, first, other, second in named
        if first is not None or second is not None
    ]


def _rate(bytes_per_s: float | None) -> str:
    """In whole megabytes: what is less does not matter here, and would never stand still."""
    return UNKNOWN if bytes_per_s is None else "0" if bytes_per_s < 1e6 else f"{words.size(bytes_per_s)}/s"


def host_line(host: HostReading, width: int = 1000) -> Line:
    """`cpu 22 %  load 3.1  ram 310/1024 GB  /data 1.9 TB free`: whole figures only, disks that run full in front."""
    disks = [_disk(disk) for disk in host.disks]
    parts: list[Line] = [line for low, line in disks if low]
    if host.cpu_percent is not None:
        parts.append((("cpu ", "muted"), (number(host.cpu_percent, "%"), "text")))
    if host.load_1m is not None:
        parts.append((("load ", "muted"), (number(host.load_1m, digits=1), "text")))
    if host.memory_total_bytes is not None and host.memory_available_bytes is not None:
        used = host.memory_total_bytes - host.memory_available_bytes
        parts.append((("ram ", "muted"), (present.of_total(used, host.memory_total_bytes, 1e9, "GB"), "text")))
    parts += [line for low, line in disks if not low]
    parts += _rates(host)
    while len(parts) > 1 and width_of(joined(parts)) > width:
        parts.pop()
    return joined(parts)


def node_lines(
    node: NodeView, only: Collection[int], now: float, width: int, height: int, servers: Sequence[ServerView] = ()
) -> list[Line]:
    """A node's GPUs (`only` these; empty: all) and host in at most `height` rows; `servers` may hold them."""
    reading = node.reading
    gpus = [gpu for gpu in reading.gpus if not only or gpu.index in only]
    host_fresh = freshness(None if reading.host_at is None else now - reading.host_at, PROBE_PERIOD_S)
    host = [line] if host_fresh is not Freshness.GONE and (line := host_line(reading.host, width)) else []
    if not gpus:
        return [_no_gpus(node, now), *host][:height]
    rows = gpu_rows(node, Owners(node, servers), now, gpus)
    if len(rows) > height:
        return [*folded_lines(rows, width), *host][:height]
    columns = gpu_columns(rows, width)
    lines = [gpu_line(row, columns) for row in rows]
    if len(lines) + 1 + len(host) <= height:
        lines = [gpu_heading(columns), *lines]
    return [*lines, *host][:height]


def _no_gpus(node: NodeView, now: float) -> Line:
    if node.link.phase is not LinkPhase.UP:
        return ((present.link_words(node.link, now), "bad" if node.link.reason else "muted"),)
    because = node.reading.no_gpus_because
    if because is not None:
        return ((f"unknown: {because} on {node.settings.name}", "muted"),)
    return (("no figures yet", "muted"),)


def trouble_note(node: NodeView, now: float) -> Line:
    """`nvidia-smi does not answer`, `22 s old`: why the figures are not those of now; empty when they are."""
    trouble, at = node.reading.gpus_trouble, node.reading.gpus_at
    parts: list[Line] = [((trouble, "warning"),)] if trouble is not None else []
    if at is not None and freshness(now - at, PROBE_PERIOD_S) is not Freshness.FRESH:
        parts.append(((f"{present.age(now - at)} old", "stale"),))
    return joined(parts)


class GpuPane(Pane):
    """The GPUs of one node, or of two below each other."""

    title = "GPUs"

    def show_nodes(self, nodes: Sequence[NodeView], scene: Scene, *, only: Collection[int] = ()) -> None:
        """Draw the nodes' GPUs in the room there is."""
        if len(nodes) == 1:
            node = nodes[0]
            info = joined([((node.settings.name, "muted"),), trouble_note(node, scene.now)])
            self.show(node_lines(node, only, scene.now, self.inner_width, self.page, scene.servers), info)
            return
        lines: list[Line] = []
        share = max(2, self.page // max(1, len(nodes)))
        for node in nodes:
            lines.append(joined([((node.settings.name, "title"),), trouble_note(node, scene.now)]))
            lines += node_lines(node, only, scene.now, self.inner_width, share - 1, scene.servers)
        self.show(lines)


def rows_wanted(nodes: Sequence[NodeView], only: Collection[int] = ()) -> int:
    """Rows that show everything: names of columns, each GPU, the host, and a heading for each of several nodes."""
    total = 0
    for node in nodes:
        gpus = sum(1 for gpu in node.reading.gpus if not only or gpu.index in only)
        total += (gpus + 2 if gpus else 2) + (1 if len(nodes) > 1 else 0)
    return total

"""The GPUs of a node as rows, or folded to one line with the faulty and the warm first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from k2tui.core import words
from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuReading, HostReading
from k2tui.core.views import NodeView
from k2tui.core.words import UNKNOWN
from k2tui.ui import present
from k2tui.ui.present import Freshness, freshness, number
from k2tui.ui.scene import PROBE_PERIOD_S, Scene
from k2tui.ui.spans import Line, Span, cell, cut, joined, spread, width_of
from k2tui.ui.widgets.pane import Pane

WARM_C, HOT_C = 78.0, 86.0


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _heat(celsius: float | None) -> str:
    if celsius is None:
        return "muted"
    return "gpu-hot" if celsius >= HOT_C else "gpu-warm" if celsius >= WARM_C else "text"


def _too_warm(celsius: float | None) -> float:
    """Degrees from warm on; 0 for all that are cool enough: they keep their places."""
    return 0.0 if celsius is None or celsius < WARM_C else celsius


def _meter(fraction: float | None, width: int, role: str) -> Line:
    if fraction is None:
        return (("─" * width, "bar-rest"),)
    filled, rest = present.bar(fraction, width)
    return ((filled, role), (rest, "bar-rest"))


def _short_name(name: str | None) -> str:
    return (name or UNKNOWN).removeprefix("NVIDIA ").removesuffix(" Generation")


@dataclass(frozen=True, slots=True)
class _Columns:
    """How wide the parts of a GPU's row are; 0: not shown."""

    name: int
    bar: int
    power: int
    clock: int


def _columns(width: int) -> _Columns:
    """What fits beside index, figures and temperature: wider bars first, then the limit, the clock, the name."""
    room = width - 32  # `99 `, ` 100 %  `, ` 139/140 G`, ` 99 C` and the gaps
    power = 11 if room >= 11 + 2 * 8 else 7 if room >= 7 + 2 * 4 else 0
    room -= power
    clock = 10 if room >= 10 + 2 * 10 else 0
    room -= clock
    name = min(20, room - 2 * 12) if room >= 12 + 2 * 12 else 0
    room -= name
    return _Columns(name, max(3, min(16, room // 2)), power, clock)


def gpu_heading(width: int) -> Line:
    """The names of the columns."""
    columns = _columns(width)
    parts: list[Span] = [("   ", "muted")]
    if columns.name:
        parts.append(cell("NAME", columns.name, "muted"))
    parts += [cell("LOAD", columns.bar + 8, "muted"), cell("VRAM", columns.bar + 10, "muted")]
    parts.append(cell("POWER", columns.power, "muted", right=True))
    parts.append(cell("TEMP", 6, "muted", right=True))
    parts.append(cell("CLOCK", columns.clock, "muted", right=True))
    return tuple(part for part in parts if part[0])


def gpu_line(gpu: GpuReading, width: int, *, dim: bool = False) -> Line:
    """One GPU on one row, in the columns that the width allows."""
    index: Span = (f"{gpu.index:>2} ", "muted")
    if gpu.fault is not None:
        return (index, ("✗ ", "bad"), (cut(gpu.fault, width - 5), "bad"))
    util, used, total = gpu.utilization_percent, gpu.memory_used_mib, gpu.memory_total_mib
    text = "stale" if dim else "text"
    columns = _columns(width)
    line: list[Span] = [index]
    if columns.name:
        line.append(cell(_short_name(gpu.name), columns.name, "muted"))
    busy = "gpu-busy" if util is not None and util >= 5 else "gpu-calm"
    line += _meter(None if util is None else util / 100, columns.bar, "stale" if dim else busy)
    line.append((f" {UNKNOWN if util is None else f'{util:.0f} %':>5}  ", text))
    vram = None if used is None or not total else used / total
    line += _meter(vram, columns.bar, "stale" if dim else "gpu-calm")
    line.append((f" {present.of_total(used, total, 1024, 'G'):>9}", text))
    if columns.power:
        limit = "" if gpu.power_limit_w is None or columns.power < 11 else f"/{gpu.power_limit_w:.0f}"
        power = UNKNOWN if gpu.power_w is None else f"{gpu.power_w:.0f}{limit} W"
        line.append(cell(power, columns.power, text, right=True))
    line.append(cell(number(gpu.temperature_c, "C"), 6, "stale" if dim else _heat(gpu.temperature_c), right=True))
    if columns.clock:
        line.append(
            cell(
                (UNKNOWN if gpu.sm_clock_mhz is None else f"{gpu.sm_clock_mhz:.0f} MHz"),
                columns.clock,
                "muted",
                right=True,
            )
        )
    return tuple(line)


def folded_lines(gpus: Sequence[GpuReading], width: int, *, dim: bool = False) -> list[Line]:
    """All GPUs together on one line, and each one's load behind it: faults first, then what runs warm."""
    text = "stale" if dim else "text"
    util = _mean([gpu.utilization_percent for gpu in gpus])
    used, total = _total([gpu.memory_used_mib for gpu in gpus]), _total([gpu.memory_total_mib for gpu in gpus])
    power = _total([gpu.power_w for gpu in gpus])
    hottest = max((gpu.temperature_c for gpu in gpus if gpu.temperature_c is not None), default=None)
    bars = 10 if width >= 72 else 6
    whole = f"{gpus[0].index}–{gpus[-1].index}" if len(gpus) > 1 else f"{gpus[0].index}"
    parts: list[Line] = [
        ((f"{whole:<4}", "muted"),),
        (*_meter(None if util is None else util / 100, bars, "gpu-busy"), (f" {number(util, '%')}", text)),
        (
            *_meter(None if used is None or not total else used / total, bars, "gpu-calm"),
            (f" {present.of_total(used, total, 1024, 'G')}", text),
        ),
        ((UNKNOWN if power is None else f"{power / 1000:.1f} kW", text),),
        (("max ", "muted"), (number(hottest, "C"), "stale" if dim else _heat(hottest))),
    ]
    ordered = sorted(gpus, key=lambda gpu: (gpu.fault is None, -_too_warm(gpu.temperature_c), gpu.index))
    each = [
        ((f"{gpu.index}:", "muted"), (gpu.fault, "bad"))
        if gpu.fault is not None
        else ((f"{gpu.index}:", "muted"), (number(gpu.utilization_percent, "%"), text))
        for gpu in ordered
    ]
    return [joined(parts), *spread(each, width)]


def host_line(host: HostReading, width: int = 1000) -> Line:
    """`cpu 22 %  load 3.1  ram 310/1024 GB  /data 1.9 TB free`: whole figures only, disks that run full in front."""
    parts: list[Line] = []
    if host.cpu_percent is not None:
        parts.append((("cpu ", "muted"), (number(host.cpu_percent, "%"), "text")))
    if host.load_1m is not None:
        parts.append((("load ", "muted"), (number(host.load_1m, digits=1), "text")))
    if host.memory_total_bytes is not None and host.memory_available_bytes is not None:
        used = host.memory_total_bytes - host.memory_available_bytes
        parts.append((("ram ", "muted"), (present.of_total(used, host.memory_total_bytes, 1e9, "GB"), "text")))
    disks = [(disk, disk.total_bytes > 0 and disk.available_bytes / disk.total_bytes < 0.05) for disk in host.disks]
    for disk, low in sorted(disks, key=lambda item: not item[1]):
        free = f"{words.size(disk.available_bytes)} free"
        parts.append(((f"{disk.mount} ", "muted"), (free, "warning" if low else "text")))
    while len(parts) > 1 and width_of(joined(parts)) > width:
        parts.pop()
    return joined(parts)


def node_lines(node: NodeView, only: Collection[int], now: float, width: int, height: int) -> list[Line]:
    """A node's GPUs (`only` these; empty: all) and host in at most `height` rows."""
    reading = node.reading
    gpus = [gpu for gpu in reading.gpus if not only or gpu.index in only]
    host_fresh = freshness(None if reading.host_at is None else now - reading.host_at, PROBE_PERIOD_S)
    host = [line] if host_fresh is not Freshness.GONE and (line := host_line(reading.host, width)) else []
    if not gpus:
        return [_no_gpus(node, now), *host][:height]
    fresh = freshness(None if reading.gpus_at is None else now - reading.gpus_at, PROBE_PERIOD_S)
    if fresh is Freshness.GONE:
        gpus = [GpuReading(gpu.index, gpu.uuid, gpu.name, memory_total_mib=gpu.memory_total_mib) for gpu in gpus]
    dim = fresh in (Freshness.DIM, Freshness.GONE)
    if len(gpus) <= height:
        lines = [gpu_line(gpu, width, dim=dim) for gpu in gpus]
        if len(lines) + 1 + len(host) <= height:
            lines = [gpu_heading(width), *lines]
    else:
        lines = folded_lines(gpus, width, dim=dim)
    return [*lines, *host][:height]


def _no_gpus(node: NodeView, now: float) -> Line:
    if node.link.phase is not LinkPhase.UP:
        return ((present.link_words(node.link, now), "bad" if node.link.reason else "muted"),)
    because = node.reading.no_gpus_because
    if because is not None:
        return ((f"unknown: {because} on {node.settings.name}", "muted"),)
    return (("no figures yet", "muted"),)


def age_note(node: NodeView, now: float) -> Line:
    """`22 s old`, when the figures are late."""
    at = node.reading.gpus_at
    if at is None or freshness(now - at, PROBE_PERIOD_S) is Freshness.FRESH:
        return ()
    return ((f"{present.age(now - at)} old", "stale"),)


class GpuPane(Pane):
    """The GPUs of one node, or of two below each other."""

    title = "GPUs"

    def show_nodes(self, nodes: Sequence[NodeView], scene: Scene, *, only: Collection[int] = ()) -> None:
        """Draw the nodes' GPUs in the room there is."""
        if len(nodes) == 1:
            node = nodes[0]
            info = joined([((node.settings.name, "muted"),), age_note(node, scene.now)])
            self.show(node_lines(node, only, scene.now, self.inner_width, self.page), info)
            return
        lines: list[Line] = []
        share = max(2, self.page // max(1, len(nodes)))
        for node in nodes:
            lines.append(joined([((node.settings.name, "title"),), age_note(node, scene.now)]))
            lines += node_lines(node, only, scene.now, self.inner_width, share - 1)
        self.show(lines)


def rows_wanted(nodes: Sequence[NodeView], only: Collection[int] = ()) -> int:
    """Rows that show everything: names of columns, each GPU, the host, and a heading for each of several nodes."""
    total = 0
    for node in nodes:
        gpus = sum(1 for gpu in node.reading.gpus if not only or gpu.index in only)
        total += (gpus + 2 if gpus else 2) + (1 if len(nodes) > 1 else 0)
    return total

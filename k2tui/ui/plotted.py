"""What the history of a server or a node is plotted of: which quantities, in which panes, over which GPUs."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from k2tui.core.readings import GpuReading
from k2tui.core.series import Quantity, Samples, SeriesKey, gpu_subject, node_subject, server_subject
from k2tui.core.views import NodeView, ServerView

BRIDGED_S = 35.0
"""A shorter hole between two readings is none: an idle server is asked twice a minute."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a plot."""

    label: str
    keys: tuple[SeriesKey, ...]
    """Several: their mean is drawn, and the band from the least to the greatest of them."""


@dataclass(frozen=True, slots=True)
class Plot:
    """One pane: at most three lines in one unit."""

    id: str
    title: str
    kind: str
    """tokens | requests | fraction | percent | seconds | mib | watts | celsius | bytes | bytes_per_s: the readings'
    own unit."""
    curves: tuple[Curve, ...]
    floor: float = 0.0
    top: float | None = None
    """Where the axis ends, in the readings' unit; None: above the greatest figure."""


SERVER_PLOTS = ("decode", "prefill", "requests", "kv", "ttft", "itl", "load", "vram", "power", "heat")
NODE_PLOTS = ("load", "vram", "power", "heat", "cpu", "memory", "disk", "net")
"""The ids of the panes, in the order of `tab`."""


def server_plots(server: ServerView, node: NodeView | None) -> tuple[Plot, ...]:
    """The panes of a server: its work, its cache, its latencies, and the GPUs that it may use."""

    def one(id: str, title: str, kind: str, *parts: tuple[str, Quantity]) -> Plot:
        subject = server_subject(server.settings.name)
        return Plot(id, title, kind, tuple(Curve(label, (SeriesKey(subject, what),)) for label, what in parts))

    return (
        one("decode", "Decode", "tokens", ("", Quantity.DECODE)),
        one("prefill", "Prefill", "tokens", ("", Quantity.PREFILL)),
        one("requests", "Requests", "requests", ("running", Quantity.RUNNING), ("queue", Quantity.WAITING)),
        one("kv", "KV cache", "fraction", ("", Quantity.KV_USAGE)),
        one("ttft", "TTFT p95", "seconds", ("", Quantity.TTFT_P95)),
        one("itl", "ITL p95", "seconds", ("", Quantity.ITL_P95)),
        *_gpu_plots(node, server.settings.gpus),
    )


def node_plots(node: NodeView) -> tuple[Plot, ...]:
    """The panes of a node: its GPUs, its CPU and memory, its disks and network."""
    subject = node_subject(node.settings.name)

    def one(id: str, title: str, kind: str, *parts: tuple[str, Quantity], top: float | None = None) -> Plot:
        return Plot(id, title, kind, tuple(Curve(label, (SeriesKey(subject, what),)) for label, what in parts), top=top)

    return (
        *_gpu_plots(node, ()),
        one("cpu", "CPU of all cores", "percent", ("", Quantity.CPU), top=100.0),
        one("memory", "Memory", "bytes", ("", Quantity.MEMORY), top=node.reading.host.memory_total_bytes),
        one("disk", "Disks", "bytes_per_s", ("read", Quantity.DISK_READ), ("write", Quantity.DISK_WRITE)),
        one("net", "Network", "bytes_per_s", ("in", Quantity.NET_RX), ("out", Quantity.NET_TX)),
    )


def gpus_of(node: NodeView | None, only: Collection[int]) -> tuple[GpuReading, ...]:
    """The GPUs of a node that are plotted; all of them where none is named."""
    return () if node is None else tuple(gpu for gpu in node.reading.gpus if not only or gpu.index in only)


def _gpu_plots(node: NodeView | None, only: Collection[int]) -> tuple[Plot, ...]:
    gpus = gpus_of(node, only)
    name = "" if node is None else node.settings.name
    many = f" of {len(gpus)}" if len(gpus) > 1 else ""

    def one(id: str, title: str, kind: str, what: Quantity, floor: float = 0.0, top: float | None = None) -> Plot:
        keys = tuple(SeriesKey(gpu_subject(name, gpu.index), what) for gpu in gpus)
        return Plot(id, title + many, kind, (Curve("mean" if many else "", keys),), floor, top)

    memory = [gpu.memory_total_mib for gpu in gpus if gpu.memory_total_mib is not None]
    power = [gpu.power_limit_w for gpu in gpus if gpu.power_limit_w is not None]
    return (
        one("load", "GPU load", "percent", Quantity.GPU_LOAD, top=100.0),
        one("vram", "GPU memory", "mib", Quantity.GPU_MEMORY, top=max(memory, default=None)),
        one("power", "GPU power", "watts", Quantity.GPU_POWER, top=max(power, default=None)),
        one("heat", "GPU temperature", "celsius", Quantity.GPU_TEMPERATURE, floor=20.0, top=100.0),
    )


def subjects_of(server: ServerView | None, node: NodeView | None) -> frozenset[str]:
    """Whose restarts, ends and alerts are drawn in: the server's, its node's, its GPUs'."""
    subjects = set() if server is None else {server_subject(server.settings.name)}
    if node is not None:
        subjects.add(node_subject(node.settings.name))
        only = () if server is None else server.settings.gpus
        subjects |= {gpu_subject(node.settings.name, gpu.index) for gpu in gpus_of(node, only)}
    return frozenset(subjects)


def curve_samples(curve: Curve, known: Mapping[SeriesKey, Samples]) -> Samples | None:
    """The line of one curve: one series as it is, several as their mean between their least and greatest."""
    parts = [finite(known[key]) for key in curve.keys if key in known]
    return merged(parts) if len(parts) > 1 else (parts[0] if parts else None)


def finite(samples: Samples) -> Samples:
    """The same; what an engine told as NaN or endless is not known."""
    if math.isfinite(sum(value for value in (*samples.mean, *samples.low, *samples.high) if value is not None)):
        return samples

    def known(values: Sequence[float | None]) -> tuple[float | None, ...]:
        return tuple(value if value is not None and math.isfinite(value) else None for value in values)

    return replace(samples, mean=known(samples.mean), low=known(samples.low), high=known(samples.high))


def merged(parts: Sequence[Samples]) -> Samples:
    """The mean of several series on one time axis, with the least and the greatest of them as its band."""
    first = parts[0]
    means: list[float | None] = []
    lows: list[float | None] = []
    highs: list[float | None] = []
    for place in range(len(first.mean)):
        here = [(part, part.mean[place]) for part in parts if place < len(part.mean)]
        known = [value for _, value in here if value is not None]
        means.append(sum(known) / len(known) if known else None)
        lows.append(min((_at(part.low, place, value) for part, value in here if value is not None), default=None))
        highs.append(max((_at(part.high, place, value) for part, value in here if value is not None), default=None))
    return Samples(first.key, first.began, first.step_s, tuple(means), tuple(lows), tuple(highs))


def _at(values: Sequence[float | None], place: int, otherwise: float) -> float:
    value = values[place] if place < len(values) else None
    return otherwise if value is None else value


def value_at(samples: Samples, at: float) -> tuple[float | None, float | None, float | None]:
    """(mean, low, high) of the step that holds a moment, or of one close by; all None where nothing was recorded."""
    place = int((at - samples.began) // samples.step_s)
    reach = int(BRIDGED_S // samples.step_s)
    for offset in range(reach + 1):
        for near in (place - offset, place + offset):
            if 0 <= near < len(samples.mean) and (mean := samples.mean[near]) is not None:
                return mean, _at(samples.low, near, mean), _at(samples.high, near, mean)
    return None, None, None

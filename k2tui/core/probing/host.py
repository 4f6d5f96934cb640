"""CPU, memory, disks and network of a node, from the totals that its kernel counts."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import median

from k2tui.core.lines import plain
from k2tui.core.probing.gpus import number
from k2tui.core.readings import DiskReading, HostReading

SECTOR_BYTES = 512
GROWTH_SPAN_S = 300.0
"""How far back the growth of a file system looks."""
GROWTH_STEP_S = 15.0
"""Looks that are closer together add nothing."""
LEAST_GROWTH_SPAN_S = 20.0
"""One write of a few seconds is no growth."""
LEAST_RATE_SPAN_S = 0.5
LEAST_CPU_TICKS = 10
"""Two ticks that lie closer together say nothing of the CPU."""
MOST_DISKS = 64

_DF = re.compile(r"(?:\s|^)(\d{1,15}) +\d{1,15} +(-?\d{1,15}) +(?:\d+%|-) +(/.*)$", re.ASCII)
_WHOLE = re.compile(r"\d{1,19}", re.ASCII)


def growth_bytes_per_s(looks: Sequence[tuple[float, int]]) -> float | None:
    """How fast a file system fills, from (seconds, available bytes): the median slope of all pairs of looks.

    So one big file that is written or removed does not count as growth; None while the looks span too little.
    """
    if len(looks) < 2 or looks[-1][0] - looks[0][0] < LEAST_GROWTH_SPAN_S:
        return None
    return float(median((a[1] - b[1]) / (b[0] - a[0]) for a, b in combinations(looks, 2) if b[0] > a[0]))


class HostTable:
    """The newest of everything. What two ticks do not say together is unknown."""

    def __init__(self) -> None:
        self.reading = HostReading()
        self._cpu: tuple[int, int] | None = None
        self._disk = _Counter(SECTOR_BYTES)
        self._net = _Counter(1)
        self._disks: dict[str, DiskReading] = {}
        self._looks: dict[str, deque[tuple[float, int]]] = {}

    def begin(self) -> None:
        """Another probe speaks, maybe after a reboot: nothing is compared with what came before."""
        self._cpu = None
        self._disk, self._net = _Counter(SECTOR_BYTES), _Counter(1)
        self._looks = {}

    def tick(self, pairs: Mapping[str, str], up_s: float | None) -> None:
        """One tick's words; `up_s`: the node's uptime."""
        total_kb, available_kb = numbers(pairs.get("mem"), 2)
        read, written = self._disk.per_s(pairs.get("disk"), up_s)
        received, sent = self._net.per_s(pairs.get("net"), up_s)
        self.reading = HostReading(
            load_1m=numbers(pairs.get("load"), 3)[0],
            cpu_percent=self._cpu_percent(pairs),
            memory_total_bytes=None if total_kb is None else int(total_kb) << 10,
            memory_available_bytes=None if available_kb is None else int(available_kb) << 10,
            disks=self.reading.disks,
            disk_read_bytes_per_s=read,
            disk_write_bytes_per_s=written,
            net_rx_bytes_per_s=received,
            net_tx_bytes_per_s=sent,
        )

    def df(self, line: str, up_s: float | None) -> None:
        """One line of `df -Pk`; its heading is no file system."""
        found = _DF.search(line)
        mount = plain(found[3]) if found is not None else ""
        if found is None or (mount not in self._disks and len(self._disks) >= MOST_DISKS):
            return
        disk = DiskReading(mount, int(found[1]) << 10, max(0, int(found[2])) << 10)
        before = self._disks.get(mount)
        looks = self._looks.setdefault(mount, deque())
        if before is not None and before.total_bytes != disk.total_bytes:  # another file system, or another size
            looks.clear()
        if up_s is not None and (not looks or up_s - looks[-1][0] >= GROWTH_STEP_S):
            looks.append((up_s, disk.available_bytes))
            while looks[-1][0] - looks[0][0] > GROWTH_SPAN_S:
                looks.popleft()
            growth = growth_bytes_per_s(looks)
        else:
            growth = None if before is None else before.growth_bytes_per_s
        self._disks[mount] = replace(disk, growth_bytes_per_s=growth)
        self.reading = replace(self.reading, disks=tuple(self._disks.values()))

    def _cpu_percent(self, pairs: Mapping[str, str]) -> float | None:
        """Of all cores, between this tick and the last one that was far enough away."""
        ticks = [int(word) for word in pairs.get("cpu", "").split(",") if _WHOLE.fullmatch(word)]
        if len(ticks) < 5:
            return None
        total, idle = sum(ticks), ticks[3] + ticks[4]
        before, old = self._cpu, self.reading.cpu_percent
        if before is not None and 0 <= total - before[0] < LEAST_CPU_TICKS:
            return old
        self._cpu = (total, idle)
        if before is None or total < before[0]:
            return None
        busy = 1 - (idle - before[1]) / (total - before[0])
        return min(100.0, max(0.0, 100 * busy))


_Rates = tuple[float | None, float | None]


class _Counter:
    """Two totals that only grow, as rates."""

    def __init__(self, unit_bytes: int) -> None:
        self._unit_bytes = unit_bytes
        self._before: tuple[float, int, int] | None = None
        self._rates: _Rates = (None, None)

    def per_s(self, words: str | None, up_s: float | None) -> _Rates:
        """Since the tick before; None where that is unknown, or another set of devices was counted."""
        parts = (words or "").split(",")
        if up_s is None or len(parts) != 2 or not all(map(_WHOLE.fullmatch, parts)):
            self._before, self._rates = None, (None, None)
            return self._rates
        now = (up_s, int(parts[0]), int(parts[1]))
        before = self._before
        if before is not None and 0 <= up_s - before[0] < LEAST_RATE_SPAN_S:
            return self._rates
        self._before = now
        if before is None or up_s < before[0] or now[1] < before[1] or now[2] < before[2]:
            self._rates = (None, None)
        else:
            per_s = self._unit_bytes / (up_s - before[0])
            self._rates = ((now[1] - before[1]) * per_s, (now[2] - before[2]) * per_s)
        return self._rates


def numbers(words: str | None, count: int) -> list[float | None]:
    """`count` figures that stand between commas; None for each that is no number."""
    found = [number(word) for word in (words or "").split(",")]
    return (found + [None] * count)[:count]

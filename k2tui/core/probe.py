"""What remote/probe.sh says, line by line, as a NodeReading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from k2tui.core.readings import DiskReading, GpuReading, HostReading, NodeReading

PROTOCOL = "k2p1"
_PAIR = re.compile(r"(\w+)=(\S*)")
_DF = re.compile(r"(?:\s|^)(\d{1,15}) +\d{1,15} +(-?\d{1,15}) +(?:\d+%|-) +(/.*)$", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_NOW = re.compile(r"(\d{9,11})(?:\.(\d{1,9}))?")
_ZONE = re.compile(r"([+-])(\d\d)(\d\d)")
_MOST_FAULT = 160
_LEAST_CPU_TICKS = 10
"""Two ticks that lie closer together say nothing of the CPU."""

_NOT_TOLD = frozenset({"", "N/A", "[N/A]", "[Not Supported]", "Not Supported", "[Not Available]", "Unknown"})
"""The driver has no such figure: no fault."""


@dataclass(frozen=True, slots=True)
class _Clock:
    """The node's clock at one moment of its uptime."""

    up_s: float
    local_s: float
    """Naive local seconds: as its log lines would be stamped."""


class ProbeReader:
    """Keeps the newest of everything. A line that it does not know changes nothing and never raises."""

    def __init__(self) -> None:
        self.reading = NodeReading()
        self.greeted = False
        """The hello line came, in a protocol that this reader speaks."""
        self.fields: tuple[str, ...] = ()
        """The columns of the gpu lines."""
        self.fields_driver = ""
        """The driver that knows these columns, in the probe's words."""
        self.pong: str | None = None
        """The word of the newest pong."""
        self._cpu: tuple[int, int] | None = None
        self._clock: _Clock | None = None
        self._round: set[int] = set()
        self._last_index = -1
        self._trouble: str | None = None
        self._disks: dict[str, DiskReading] = {}

    def feed(self, line: str, at: float, wall: float | None = None) -> NodeReading:
        """The reading after `line`, which came at `at` (time.monotonic) or `wall` (time.time) of this machine."""
        tag, _, words = line.rstrip("\r\n").partition(" ")
        match tag:
            case "hello" if words.startswith(PROTOCOL):
                self._hello(words, wall)
            case "clock":
                self._set_clock(words, wall)
            case "tick":
                self._tick(words, at, wall)
            case "df":
                self._df(words)
            case "fields":
                driver, _, columns = words.partition(" ")
                self.fields_driver, self.fields = driver, tuple(filter(None, columns.split(",")))
            case "gpu":
                self._gpu(words, at)
            case "none":
                self.reading = replace(self.reading, gpus=(), no_gpus_because=words[:_MOST_FAULT] or "no nvidia-smi")
            case "pong":
                self.pong = words
        return self.reading

    def _hello(self, words: str, wall: float | None) -> None:
        self.greeted = True
        self._cpu = None
        self._round, self._last_index = set(), -1
        pairs = dict(_PAIR.findall(words))
        kernel = words.partition("kernel=")[2] or None
        self.reading = replace(
            self.reading, boot_id=pairs.get("boot") or None, kernel=kernel, driver=pairs.get("driver") or None
        )
        self._set_clock(words, wall)

    def _set_clock(self, words: str, wall: float | None) -> None:
        pairs = dict(_PAIR.findall(words))
        up, now, zone = _number(pairs.get("up")), _NOW.match(pairs.get("now", "")), _ZONE.match(pairs.get("tz", ""))
        if up is None or now is None or zone is None:
            return
        fraction = float(f"0.{now[2]}") if now[2] else 0.5  # a date without %N gives whole seconds, cut off
        east_s = (int(zone[2]) * 3600 + int(zone[3]) * 60) * (1 if zone[1] == "+" else -1)
        self._clock = _Clock(up, int(now[1]) + fraction + east_s)
        if wall is not None:
            self.reading = replace(self.reading, clock_offset_s=self._clock.local_s - wall)

    def _tick(self, words: str, at: float, wall: float | None) -> None:
        pairs = dict(_PAIR.findall(words))
        memory = _numbers(pairs.get("mem"), 2)
        host = HostReading(
            load_1m=_numbers(pairs.get("load"), 3)[0],
            cpu_percent=self._cpu_percent(pairs),
            memory_total_bytes=None if memory[0] is None else int(memory[0]) << 10,
            memory_available_bytes=None if memory[1] is None else int(memory[1]) << 10,
            disks=self.reading.host.disks,
        )
        self.reading = replace(self.reading, host=host, host_at=at)
        up, offset = _number(pairs.get("up")), self.reading.clock_offset_s
        if self._clock is not None and up is not None and wall is not None and offset is not None:
            # Every line comes a little late, so each estimate is a little too low: the highest is the best.
            estimate = self._clock.local_s + (up - self._clock.up_s) - wall
            if estimate > offset:
                self.reading = replace(self.reading, clock_offset_s=estimate)

    def _cpu_percent(self, pairs: Mapping[str, str]) -> float | None:
        """Of all cores, between this tick and the last one that was far enough away."""
        ticks = [int(word) for word in pairs.get("cpu", "").split(",") if _WHOLE.fullmatch(word)]
        if len(ticks) < 5:
            return None
        total, idle = sum(ticks), ticks[3] + ticks[4]
        before, old = self._cpu, self.reading.host.cpu_percent
        if before is not None and 0 <= total - before[0] < _LEAST_CPU_TICKS:
            return old
        self._cpu = (total, idle)
        if before is None or total < before[0]:
            return None
        busy = 1 - (idle - before[1]) / (total - before[0])
        return min(100.0, max(0.0, 100 * busy))

    def _df(self, words: str) -> None:
        found = _DF.search(words)
        if found is None:
            return
        self._disks[found[3]] = DiskReading(found[3], int(found[1]) << 10, max(0, int(found[2])) << 10)
        host = replace(self.reading.host, disks=tuple(self._disks.values()))
        self.reading = replace(self.reading, host=host)

    def _gpu(self, words: str, at: float) -> None:
        values = [value.strip() for value in words.split(",")]
        row = dict(zip(self.fields, values, strict=False))
        index = row.get("index", "")
        if len(values) != len(self.fields) or not _WHOLE.fullmatch(index):
            self._trouble = words.strip()[:_MOST_FAULT] or self._trouble
            if not self.reading.gpus:
                self.reading = replace(self.reading, no_gpus_because=self._trouble)
            return
        gpu = _gpu_of(int(index), row)
        gpus = {old.index: old for old in self.reading.gpus}
        if gpu.index <= self._last_index:  # a new round: who was not in the last one is not there any more
            for old in self.reading.gpus:
                if old.index not in self._round:
                    gpus[old.index] = _silent(old, self._trouble)
            self._round = set()
        self._round.add(gpu.index)
        self._last_index = gpu.index
        gpus[gpu.index] = gpu
        self.reading = replace(
            self.reading,
            gpus=tuple(gpus[number] for number in sorted(gpus)),
            gpus_at=at,
            no_gpus_because=None,
            driver=_told(row.get("driver_version", "")) or self.reading.driver,
        )


def _gpu_of(index: int, row: Mapping[str, str]) -> GpuReading:
    def figure(*names: str) -> float | None:
        return next((_number(row[name]) for name in names if name in row), None)

    throttle = next((value for name, value in row.items() if name.endswith("_reasons.active")), "")
    return GpuReading(
        index=index,
        uuid=_told(row.get("uuid", "")) or "",
        name=_told(row.get("name", "")),
        utilization_percent=figure("utilization.gpu"),
        memory_used_mib=figure("memory.used"),
        memory_total_mib=figure("memory.total"),
        power_w=figure("power.draw"),
        power_limit_w=figure("power.limit"),
        temperature_c=figure("temperature.gpu"),
        sm_clock_mhz=figure("clocks.sm", "clocks.current.sm", "clocks.gr"),
        throttle_mask=int(throttle, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,16}", throttle) else None,
        fault=next((fault for fault in map(_fault, row.values()) if fault), None),
    )


def _silent(gpu: GpuReading, trouble: str | None) -> GpuReading:
    """A GPU that was there and is not listed any more: what it is stays, what it did is unknown."""
    return GpuReading(
        gpu.index,
        gpu.uuid,
        name=gpu.name,
        memory_total_mib=gpu.memory_total_mib,
        power_limit_w=gpu.power_limit_w,
        fault=trouble or "no longer listed by the driver",
    )


def _told(value: str) -> str | None:
    """The value, unless the driver did not say."""
    return None if value in _NOT_TOLD or value.startswith("[") else value


def _fault(value: str) -> str | None:
    """The driver's own words where a figure should be: `GPU is lost`, `Unknown Error`."""
    if value in _NOT_TOLD:
        return None
    if value.startswith("[") and value.endswith("]"):
        return value[1:-1][:_MOST_FAULT]
    return value if value == "ERR!" else None


def _number(value: str | None) -> float | None:
    """A plain decimal number; None for anything else, `nan` and `inf` included."""
    if value is None or re.fullmatch(r"-?\d{1,18}(?:\.\d{1,9})?", value) is None:
        return None
    return float(value)


def _numbers(value: str | None, count: int) -> list[float | None]:
    numbers = [_number(word) for word in (value or "").split(",")]
    return (numbers + [None] * count)[:count]

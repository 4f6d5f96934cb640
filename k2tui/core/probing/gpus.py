"""What nvidia-smi prints, row by row, as readings of the GPUs and of the processes on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace

from k2tui.core.lines import plain
from k2tui.core.readings import GpuProcess, GpuReading

MOST_WORDS = 160
"""Of what the driver says instead of figures."""
MOST_PROCESSES = 512
MOST_GPUS = 64
"""No machine has more; a higher index is a garbled line, and each would be a row, a series and rules for ever."""
_MOST_NAME = 80
_TOO_MUCH = 1e8
"""100 TB of memory in MiB; no other figure of a GPU comes near."""
_MOST_PERCENT = 200.0
"""A fan may turn faster than its 100 %."""

_NOT_TOLD = frozenset({"", "N/A", "[N/A]", "[Not Supported]", "Not Supported", "[Not Available]", "Unknown"})
"""The driver has no such figure: no fault."""
_NUMBER = re.compile(r"-?\d{1,18}(?:\.\d{1,9})?", re.ASCII)
_WHOLE = re.compile(r"\d{1,18}", re.ASCII)
_MASK = re.compile(r"0x[0-9a-fA-F]{1,16}")
_BUS = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.\d)?")
_SWITCHES = {"Yes": True, "Enabled": True, "No": False, "Disabled": False}


def number(value: str | None) -> float | None:
    """A plain decimal number; None for anything else, `nan` and `inf` included."""
    return float(value) if value is not None and _NUMBER.fullmatch(value) else None


def _figure(value: str) -> float | None:
    """A figure that a GPU can have; None for what a failing driver makes up, such as 2^64."""
    figure = number(value)
    return figure if figure is not None and abs(figure) < _TOO_MUCH else None


def _percent(value: str) -> float | None:
    figure = number(value)
    return figure if figure is not None and 0 <= figure <= _MOST_PERCENT else None


def bus_key(text: str) -> str | None:
    """`0000:17:00` of any way to write a bus id: nvidia-smi's domain has eight digits, the kernel's four."""
    found = _BUS.search(text)
    return None if found is None else f"{int(found[1], 16):04x}:{found[2]}:{found[3]}".lower()


def _whole(value: str) -> int | None:
    return int(value) if _WHOLE.fullmatch(value) else None


def _told(value: str) -> str | None:
    return None if value in _NOT_TOLD or value.startswith("[") else plain(value)[:_MOST_NAME]


def _name(value: str) -> str:
    return _told(value) or ""


def _mask(value: str) -> int | None:
    return int(value, 16) if _MASK.fullmatch(value) else None


def _switch(value: str) -> bool | None:
    return _SWITCHES.get(value)


def _action(value: str) -> str | None:
    return None if value == "None" else _told(value)


_Convert = Callable[[str], object]
_COLUMNS: Mapping[str, tuple[str, _Convert]] = {
    "index": ("index", int),
    "uuid": ("uuid", _name),
    "name": ("name", _told),
    "utilization.gpu": ("utilization_percent", _percent),
    "memory.used": ("memory_used_mib", _figure),
    "memory.total": ("memory_total_mib", _figure),
    "power.draw": ("power_w", _figure),
    "power.limit": ("power_limit_w", _figure),
    "temperature.gpu": ("temperature_c", _figure),
    "clocks.sm": ("sm_clock_mhz", _figure),
    "clocks.current.sm": ("sm_clock_mhz", _figure),
    "clocks.gr": ("sm_clock_mhz", _figure),
    "clocks_event_reasons.active": ("throttle_mask", _mask),
    "clocks_throttle_reasons.active": ("throttle_mask", _mask),
    "temperature.memory": ("memory_temperature_c", _figure),
    "clocks.mem": ("memory_clock_mhz", _figure),
    "clocks.current.memory": ("memory_clock_mhz", _figure),
    "clocks.max.sm": ("sm_clock_max_mhz", _figure),
    "clocks.max.graphics": ("sm_clock_max_mhz", _figure),
    "pstate": ("pstate", _told),
    "fan.speed": ("fan_percent", _percent),
    "pcie.link.gen.gpucurrent": ("pcie_gen", _whole),
    "pcie.link.gen.current": ("pcie_gen", _whole),
    "pcie.link.gen.max": ("pcie_gen_max", _whole),
    "pcie.link.width.current": ("pcie_width", _whole),
    "pcie.link.width.max": ("pcie_width_max", _whole),
    "pci.bus_id": ("pcie_bus", _told),
    "gpu_bus_id": ("pcie_bus", _told),
    "ecc.errors.uncorrected.volatile.total": ("ecc_uncorrected", _whole),
    "remapped_rows.pending": ("rows_pending", _switch),
    "retired_pages.pending": ("rows_pending", _switch),
    "mig.mode.current": ("mig", _switch),
    "persistence_mode": ("persistence", _switch),
    "gpu_recovery_action": ("recovery_action", _action),
}
"""What a column is called by a driver, old or new; which field of GpuReading it is, and how it is read."""

_PLACE = {field.name: place for place, field in enumerate(fields(GpuReading))}
_NOTHING = (0, "", *(None,) * (len(_PLACE) - 2))
_FAULT = _PLACE["fault"]


class _Row:
    """One GPU's row as it was said last; only what differs is read again."""

    __slots__ = ("known", "reading", "said")

    def __init__(self, said: list[str], known: list[object], reading: GpuReading) -> None:
        self.said, self.known, self.reading = said, known, reading


class GpuTable:
    """The newest of every GPU. A line that is no row is what the driver says instead of figures."""

    def __init__(self) -> None:
        self.columns: tuple[str, ...] = ()
        self.driver: str | None = None
        self.words: str | None = None
        """What was said instead of a row, since the last one; None: rows come."""
        self._plan: list[tuple[int, _Convert] | None] = []
        self._index_at = self._driver_at = -1
        self._rows: dict[int, _Row] = {}
        self._gpus: dict[int, GpuReading] = {}
        self._round: set[int] = set()
        self._last_index = -1
        self._complaint: str | None = None
        self._rounds_since = 0
        self._all: tuple[GpuReading, ...] | None = None

    @property
    def gpus(self) -> tuple[GpuReading, ...]:
        """By index."""
        if self._all is None:
            self._all = tuple(self._gpus[index] for index in sorted(self._gpus))
        return self._all

    def name_columns(self, columns: Iterable[str]) -> None:
        """What the rows from now on consist of; nvidia-smi was just started."""
        self.columns = tuple(columns)
        self.words = None
        self._rows = {}
        self._plan = []
        taken: set[str] = set()
        for column in self.columns:
            name, convert = _COLUMNS.get(column, ("", None))
            fresh = convert is not None and name not in taken
            taken.add(name)
            self._plan.append((_PLACE[name], convert) if fresh and convert is not None else None)
        self._index_at = self.columns.index("index") if "index" in self.columns else -1
        self._driver_at = self.columns.index("driver_version") if "driver_version" in self.columns else -1

    def begin(self) -> None:
        """Another probe speaks: what it lists first is no second round."""
        self._round, self._last_index = set(), -1

    def read(self, line: str) -> bool:
        """True when it was a row."""
        said = line.strip().split(", ")
        index = said[self._index_at] if len(said) == len(self.columns) and self._index_at >= 0 else ""
        if not _WHOLE.fullmatch(index) or int(index) >= MOST_GPUS:
            self._complain(line)
            return False
        self.words = None
        self._keep(int(index), said, line)
        return True

    def _complain(self, line: str) -> None:
        words = plain(line).strip()[:MOST_WORDS]
        if not words:
            return
        if self.words is None:  # the first line says what is wrong; more of them say details
            self.words = words
        self._complaint, self._rounds_since = words, 0
        bus = bus_key(words)
        for gpu in self.gpus if bus is not None else ():
            if gpu.pcie_bus is not None and bus_key(gpu.pcie_bus) == bus:
                self._put(_silent(gpu, words))

    def _keep(self, index: int, said: list[str], line: str) -> None:
        if index <= self._last_index:
            self._new_round()
        self._round.add(index)
        self._last_index = index
        row = self._rows.get(index)
        if row is not None and row.said == said:
            self._put(row.reading)
            return
        known: list[object] = list(_NOTHING) if row is None else row.known
        for place, plan in enumerate(self._plan):
            if plan is not None and (row is None or row.said[place] != said[place]):
                known[plan[0]] = plan[1](said[place])
        if self._driver_at >= 0:
            self.driver = _told(said[self._driver_at]) or self.driver
        known[_FAULT] = _fault_of(said) if line.count("[") != line.count("[N/A]") or "ERR!" in line else None
        reading = GpuReading(*known)  # type: ignore[arg-type]  # in the order of its fields
        before = self._gpus.get(index)
        if not reading.uuid and before is not None:  # a lost GPU does not say who it is
            reading = replace(reading, uuid=before.uuid, name=reading.name or before.name, pcie_bus=before.pcie_bus)
        self._rows[index] = _Row(said, known, reading)
        self._put(reading)

    def _new_round(self) -> None:
        """Who was not in the last round is not there any more."""
        complaint = self._complaint if self._rounds_since < 2 else None
        self._rounds_since += 1
        for gpu in self.gpus:
            if gpu.index not in self._round:
                self._rows.pop(gpu.index, None)
                self._put(_silent(gpu, complaint))
        self._round = set()

    def _put(self, gpu: GpuReading) -> None:
        self._gpus[gpu.index] = gpu
        self._all = None


def _silent(gpu: GpuReading, words: str | None) -> GpuReading:
    """A GPU that was there and is not listed any more: what it is stays, what it did is unknown."""
    return GpuReading(
        gpu.index,
        gpu.uuid,
        name=gpu.name,
        memory_total_mib=gpu.memory_total_mib,
        power_limit_w=gpu.power_limit_w,
        pcie_bus=gpu.pcie_bus,
        fault=words or "no longer listed by the driver",
    )


def _fault_of(said: Iterable[str]) -> str | None:
    """The driver's own words where a figure should be: `GPU is lost`, `Unknown Error`."""
    for value in said:
        if value == "ERR!":
            return value
        if value[:1] == "[" and value[-1:] == "]" and value not in _NOT_TOLD:
            return plain(value[1:-1])[:MOST_WORDS]
    return None


def read_processes(lines: Iterable[str]) -> tuple[GpuProcess, ...]:
    """Lines of `gpu_uuid, pid, used_memory, process_name`, as nvidia-smi lists what computes."""
    found = []
    for line in lines:
        words = line.strip().split(", ", 3)
        if len(words) == 4 and words[0].startswith(("GPU-", "MIG-")) and _WHOLE.fullmatch(words[1]):
            found.append(GpuProcess(_name(words[0]), int(words[1]), _figure(words[2]), _told(words[3])))
    return tuple(found[:MOST_PROCESSES])

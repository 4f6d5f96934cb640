"""What a probe saw of a node, and when."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU at one moment. None is "the driver did not say", never 0."""

    index: int
    uuid: str
    name: str | None = None
    utilization_percent: float | None = None
    memory_used_mib: float | None = None
    memory_total_mib: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    sm_clock_mhz: float | None = None
    throttle_mask: int | None = None
    """Why its clocks are held down: 0x4 power cap, 0x8 hardware, 0x20 and 0x40 heat, 0x80 power brake; 0x1 is idle."""
    fault: str | None = None
    """The driver's own words where it gave no figures, such as `GPU is lost`."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """CPU, memory and disks of a node at one moment."""

    load_1m: float | None = None
    cpu_percent: float | None = None
    """Of all cores together, 0 to 100; None at the first tick (it needs two)."""
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    disks: tuple[DiskReading, ...] = ()


@dataclass(frozen=True, slots=True)
class DiskReading:
    """One file system, as df says it."""

    mount: str
    total_bytes: int
    available_bytes: int


@dataclass(frozen=True, slots=True)
class NodeReading:
    """The newest of everything the probe said of a node."""

    boot_id: str | None = None
    kernel: str | None = None
    driver: str | None = None
    gpus: tuple[GpuReading, ...] = ()
    gpus_at: float | None = None
    """Clock of this machine (time.monotonic) at which the GPU rows came; None before the first."""
    no_gpus_because: str | None = None
    """Why there are no GPU rows, such as `no nvidia-smi`; None when there are, or nothing is known yet."""
    host: HostReading = HostReading()
    host_at: float | None = None
    """time.monotonic of the last tick."""
    clock_offset_s: float | None = None
    """The node's naive local time minus this machine's time.time(): adds up to the node's log clock."""


def busiest(reading: NodeReading, gpus: Collection[int]) -> float | None:
    """Utilisation of the busiest of these GPUs (of all, where none is named), 0 to 1; None without a reading."""
    known = [
        gpu.utilization_percent
        for gpu in reading.gpus
        if gpu.utilization_percent is not None and (not gpus or gpu.index in gpus)
    ]
    return max(known) / 100 if known else None

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
    memory_temperature_c: float | None = None
    memory_clock_mhz: float | None = None
    sm_clock_max_mhz: float | None = None
    pstate: str | None = None
    fan_percent: float | None = None
    pcie_gen: int | None = None
    """The link's generation now: an idle GPU may lower it to 1."""
    pcie_gen_max: int | None = None
    pcie_width: int | None = None
    """Lanes in use."""
    pcie_width_max: int | None = None
    pcie_bus: str | None = None
    """`00000000:17:00.0`: what XID lines name."""
    ecc_uncorrected: int | None = None
    """Since the driver was loaded; None where ECC is off or not there."""
    rows_pending: bool | None = None
    """Memory rows wait to be remapped: the next reset does it."""
    mig: bool | None = None
    """It is cut into MIG instances: its own figures say little."""
    persistence: bool | None = None
    recovery_action: str | None = None
    """What the driver says it needs, such as `Reset`; None: nothing, or an older driver that does not say."""
    fault: str | None = None
    """The driver's own words where it gave no figures, such as `GPU is lost`."""


@dataclass(frozen=True, slots=True)
class GpuProcess:
    """One process that holds memory of a GPU, as the driver lists it."""

    gpu_uuid: str
    pid: int
    """As the driver says it: 0 or a pid of another namespace where containers are in between."""
    memory_mib: float | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Xid:
    """One error of a GPU in the kernel's log."""

    bus: str
    """As the kernel wrote it, such as `PCI:0000:17:00`."""
    number: int | None
    """None for `fallen off the bus` without a number."""
    text: str
    at: float | None = None
    """Unix time by the node's clock; None where the log has none."""


@dataclass(frozen=True, slots=True)
class HostReading:
    """CPU, memory, disks and network of a node at one moment."""

    load_1m: float | None = None
    cpu_percent: float | None = None
    """Of all cores together, 0 to 100; None at the first tick (it needs two)."""
    memory_total_bytes: int | None = None
    memory_available_bytes: int | None = None
    disks: tuple[DiskReading, ...] = ()
    disk_read_bytes_per_s: float | None = None
    """All block devices together, between the last two ticks."""
    disk_write_bytes_per_s: float | None = None
    net_rx_bytes_per_s: float | None = None
    """All interfaces but loopback together, between the last two ticks."""
    net_tx_bytes_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class DiskReading:
    """One file system, as df says it."""

    mount: str
    total_bytes: int
    available_bytes: int
    growth_bytes_per_s: float | None = None
    """How fast it fills, over the last minutes; negative while it empties; None before there are two looks."""

    @property
    def full_in_s(self) -> float | None:
        """Seconds until it is full at this rate; None while it does not fill."""
        rate = self.growth_bytes_per_s
        return None if rate is None or rate <= 0 else self.available_bytes / rate


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
    gpus_trouble: str | None = None
    """What is wrong with the figures now, such as `nvidia-smi does not answer`; the rows are as old as `gpus_at`."""
    gpu_processes: tuple[GpuProcess, ...] = ()
    gpu_processes_at: float | None = None
    """time.monotonic of the last list; None: nobody has asked yet, or the driver can't say."""
    xids: tuple[Xid, ...] = ()
    """The newest errors of its GPUs, oldest first."""
    xids_unknown_because: str | None = None
    """Why nobody can say whether there were any, such as `no permission to read the kernel's log`; None: `xids` is
    all there is, once `xids_at` is set."""
    xids_at: float | None = None
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

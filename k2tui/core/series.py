"""Readings over time: which quantity of what, and its samples."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

SECONDS_STEP_S = 2.0
"""The finest step that is kept: of the last hour, and of this session's last minutes."""
MINUTES_STEP_S = 60.0
"""The step that is kept of the last week."""
FINE_KEPT_S = 3600.0
LONGEST_KEPT_S = 7 * 86400.0


class Quantity(Enum):
    """What is kept over time. The value is its word in the store and in JSON; units are in the word."""

    DECODE = "decode_tokens_per_s"
    PREFILL = "prefill_tokens_per_s"
    RUNNING = "running_requests"
    WAITING = "waiting_requests"
    KV_USAGE = "kv_usage"
    TTFT_P95 = "ttft_p95_s"
    ITL_P95 = "itl_p95_s"
    GPU_LOAD = "gpu_percent"
    GPU_MEMORY = "gpu_memory_mib"
    GPU_POWER = "gpu_power_w"
    GPU_TEMPERATURE = "gpu_temperature_c"
    CPU = "cpu_percent"
    MEMORY = "memory_used_bytes"
    DISK_READ = "disk_read_bytes_per_s"
    DISK_WRITE = "disk_write_bytes_per_s"
    NET_RX = "net_rx_bytes_per_s"
    NET_TX = "net_tx_bytes_per_s"


@dataclass(frozen=True, slots=True)
class SeriesKey:
    """One line of a plot."""

    subject: str
    """`server/kimi`, `node/gpu-a`, `gpu/gpu-a/3`."""
    quantity: Quantity


@dataclass(frozen=True, slots=True)
class Samples:
    """Evenly spaced samples of one series: sample `i` covers `began + i * step_s` to `+ step_s`."""

    key: SeriesKey
    began: float
    """Unix time."""
    step_s: float
    mean: tuple[float | None, ...]
    """None: nothing was recorded."""
    low: tuple[float | None, ...] = ()
    """The least in each step; empty where a step is one reading."""
    high: tuple[float | None, ...] = ()

    @property
    def ended(self) -> float:
        """Unix time at which the last sample ends."""
        return self.began + self.step_s * len(self.mean)


@dataclass(frozen=True, slots=True)
class Annotation:
    """Something that happened, drawn into a plot."""

    at: float
    """Unix time."""
    subject: str
    """`server/kimi`, `node/gpu-a`."""
    text: str
    """`restart: +NCCL_PROTO=LL`, `crashed in weights`."""
    kind: str = "restart"
    """restart | end | alert | absent."""


@dataclass(frozen=True, slots=True)
class RateMinute:
    """What a configuration did in one minute in which it generated all the time."""

    config: str
    """As `core.series_rates.config_of` names it."""
    minute: int
    """Unix time in whole minutes."""
    running: float
    """Requests in the batch, all ranks together, on average."""
    tokens_per_s: float
    """Generated, all streams of all ranks together, on average."""


@dataclass(frozen=True, slots=True)
class UsualRate:
    """What a configuration usually generates at about so many running requests."""

    tokens_per_s: float
    """The median of its minutes: generated, all streams of all ranks together."""
    running: int
    """The least number of running requests that counts as about the same: a power of two."""
    minutes: int
    """How many minutes that is from."""


def server_subject(name: str) -> str:
    """The subject of a server's series."""
    return f"server/{name}"


def node_subject(name: str) -> str:
    """The subject of a node's series."""
    return f"node/{name}"


def gpu_subject(node: str, index: int) -> str:
    """The subject of one GPU's series."""
    return f"gpu/{node}/{index}"

"""Every field of a server, a node and a GPU that filters, sorts, rules and `--json` know, by one name each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from k2tui.core.gpu_words import is_free, throttle_reasons
from k2tui.core.link import LinkPhase
from k2tui.core.owners import Owners
from k2tui.core.query import Field
from k2tui.core.readings import DiskReading, GpuReading, NodeReading
from k2tui.core.serving import Latency, ServingReading
from k2tui.core.views import NodeView, ServerView
from k2tui.core.xid import xids_of

NODE_FIELDS: Mapping[str, str] = {
    "node": "name of the node",
    "tag": "the node's tags",
    "link": "its connection: up, connecting, down, blocked",
    "stale": "out of reach, or its figures are late (yes or no)",
    "age": "since it was last seen (s)",
    "gpus": "GPUs that it has (count)",
    "load": "mean load of its GPUs (%)",
    "vram": "memory in use of its GPUs (%)",
    "vram_free": "free memory of its GPUs (GiB)",
    "power": "power of its GPUs together (W)",
    "power_pct": "power of its GPUs, of their limits (%)",
    "temp": "its hottest GPU (C)",
    "throttle": "why clocks of its GPUs are held down",
    "ecc": "uncorrected memory errors of its GPUs (count)",
    "xid": "errors of its GPUs in the kernel's log (count)",
    "fault": "the driver's words on GPUs that gave no figures",
    "free": "a GPU is idle and nobody holds it (yes or no)",
    "cpu": "CPU of all cores together (%)",
    "load1": "load average over a minute (count)",
    "ram": "memory in use (%)",
    "ram_free": "memory that is free (GiB)",
    "disk": "the fullest disk, in use (%)",
    "disk_free": "free on the fullest disk (GB)",
    "full_in": "until the first disk is full at this rate (s)",
    "shm": "/dev/shm in use (%)",
    "net_rx": "network in (MB/s)",
    "net_tx": "network out (MB/s)",
    "disk_read": "read from disks (MB/s)",
    "disk_write": "written to disks (MB/s)",
}
"""Name to meaning, with the unit in brackets at the end; text has none."""

GPU_FIELDS: Mapping[str, str] = {
    **NODE_FIELDS,
    "gpu": "its number (index)",
    "name": "the GPU's name",
    "server": "the servers that use it",
    "user": "users whose processes hold it",
    "procs": "processes that hold its memory (count)",
    "load": "load (%)",
    "vram": "memory in use (%)",
    "vram_used": "memory in use (GiB)",
    "vram_free": "memory that is free (GiB)",
    "power": "power (W)",
    "power_pct": "power, of its limit (%)",
    "temp": "temperature (C)",
    "mem_temp": "temperature of its memory (C)",
    "clock": "clock of its processors (MHz)",
    "fan": "fan (%)",
    "throttle": "why its clocks are held down",
    "pcie_gen": "PCIe generation now (count)",
    "pcie_width": "PCIe lanes now (count)",
    "ecc": "uncorrected memory errors (count)",
    "xid": "its errors in the kernel's log (count)",
    "fault": "the driver's words where it gave no figures",
    "free": "idle, and nobody holds it (yes or no)",
    "age": "since its figures came (s)",
}

SERVER_FIELDS: Mapping[str, str] = {
    **NODE_FIELDS,
    "server": "name of the server",
    "state": "its state in one word: ready, loading, crashed ...",
    "phase": "how far its launch came",
    "model": "its model",
    "profile": "its profile",
    "port": "its port (index)",
    "engine": "sglang or vllm",
    "foreign": "somebody else started it (yes or no)",
    "user": "who started it, where somebody else did",
    "tps": "tokens generated, all streams together (tok/s)",
    "prefill": "prompt tokens computed, all streams together (tok/s)",
    "running": "requests in the batch (count)",
    "queue": "requests that wait (count)",
    "kv": "KV cache in use (%)",
    "hit": "prompt tokens from the prefix cache (%)",
    "accept": "tokens a step of speculative decoding (count)",
    "retracted": "requests taken back for lack of KV memory (count)",
    "ttft": "time to the first token, p95 (ms)",
    "itl": "time between tokens, p95 (ms)",
    "e2e": "time of a whole request, p95 (ms)",
    "base": "its base: one stream, as it was measured (tok/s)",
    "of_base": "what its only stream gets now, of its base (%)",
    "up": "since it is ready, or its launch began (s)",
    "load": "mean load of its GPUs (%)",
    "age": "since its process was looked at (s)",
}

PROBE_PERIOD_S = 2.0
"""How often a node on screen is expected to tell its figures."""
LOOK_PERIOD_S, FOUND_PERIOD_S = 5.0, 30.0
"""How often a server's process is looked at, and one that somebody else started."""
SERVING_PERIOD_S, IDLE_PERIOD_S = 5.0, 30.0
"""How often a server that works, and one that has nothing to do, tells its figures."""
PERIODS_LATE, PERIODS_GONE = 3, 10
"""Periods after which a figure is late, and after which it is not believed any more."""
_GIB_MIB, _GIB, _MB = 1024.0, 2.0**30, 1e6
_IDLE_BIT = 0x1


def look_period_s(server: ServerView) -> float:
    """Seconds in which the next look at a server's process is due."""
    return LOOK_PERIOD_S if server.found is None else FOUND_PERIOD_S


def serving_period_s(serving: ServingReading) -> float:
    """Seconds in which the next figures are due: an idle server is asked seldom."""
    return SERVING_PERIOD_S if serving.running or serving.waiting else IDLE_PERIOD_S


def node_fields(node: NodeView, now: float, *, believed_s: float = PERIODS_GONE * PROBE_PERIOD_S) -> dict[str, Field]:
    """Of a node; `now` is time.monotonic. A figure older than `believed_s` is None."""
    reading, link = node.reading, node.link
    seen = _newest(reading)
    fields: dict[str, Field] = {
        "node": node.settings.name,
        "tag": ", ".join(node.settings.tags),
        "link": link.phase.value,
        "stale": link.phase is not LinkPhase.UP or seen is None or now - seen > PERIODS_LATE * PROBE_PERIOD_S,
        "age": None if seen is None else max(0.0, now - seen),
    }
    if reading.gpus_at is not None and now - reading.gpus_at <= believed_s:
        fields.update(_gpus_together(node, reading.gpus))
    if reading.host_at is not None and now - reading.host_at <= believed_s:
        fields.update(_host(reading))
    return {name: fields.get(name) for name in NODE_FIELDS}


def gpu_fields(
    node: NodeView,
    gpu: GpuReading,
    now: float,
    *,
    owners: Owners | None = None,
    of_node: Mapping[str, Field] | None = None,
    believed_s: float = PERIODS_GONE * PROBE_PERIOD_S,
) -> dict[str, Field]:
    """Of one GPU of a node, with the node's own fields where no field of the GPU has that name.

    `owners` tells the servers on it; `of_node` are the node's fields, where they were made before.
    """
    reading = node.reading
    fields = dict(node_fields(node, now, believed_s=believed_s) if of_node is None else of_node)
    fields.update(dict.fromkeys(_GPU_OWN))
    fields.update(gpu=gpu.index, name=gpu.name, fault=gpu.fault or "")
    if reading.gpus_at is None:
        return fields
    fields["age"] = max(0.0, now - reading.gpus_at)
    if now - reading.gpus_at > believed_s:
        return fields
    owners = owners or Owners(node, ())
    held = owners.holders(gpu)
    known = reading.gpu_processes_at is not None
    fields.update(
        server=", ".join(owners.servers_on(gpu)),
        user=", ".join(owners.users(gpu)),
        procs=len(held) if known else None,
        load=gpu.utilization_percent,
        vram=_share(gpu.memory_used_mib, gpu.memory_total_mib),
        vram_used=_scaled(gpu.memory_used_mib, _GIB_MIB),
        vram_free=_scaled(_left(gpu), _GIB_MIB),
        power=gpu.power_w,
        power_pct=_share(gpu.power_w, gpu.power_limit_w),
        temp=gpu.temperature_c,
        mem_temp=gpu.memory_temperature_c,
        clock=gpu.sm_clock_mhz,
        fan=gpu.fan_percent,
        throttle=_throttle([gpu]),
        pcie_gen=gpu.pcie_gen,
        pcie_width=gpu.pcie_width,
        ecc=gpu.ecc_uncorrected,
        xid=len(xids_of(reading, gpu)) if xids_known(reading) and gpu.pcie_bus is not None else None,
        free=is_free(reading, gpu),
    )
    return fields


def server_fields(
    server: ServerView,
    node: NodeView,
    now: float,
    *,
    wall: float | None = None,
    of_node: Mapping[str, Field] | None = None,
    believed_s: float = PERIODS_GONE * PROBE_PERIOD_S,
) -> dict[str, Field]:
    """Of a server, with its node's fields where no field of the server has that name.

    `wall` is time.time of this machine: without it nobody knows for how long a server is up.
    """
    settings, launch, run, found = server.settings, server.launch, server.run, server.found
    fields = dict(node_fields(node, now, believed_s=believed_s) if of_node is None else of_node)
    fields.update(dict.fromkeys(_SERVER_OWN))
    fields.update(
        server=settings.name,
        state=server.status.value,
        phase=None if launch is None else launch.phase.value,
        model=model_name(server),
        profile=(run.profile if run is not None and run.alive else None) or settings.profile,
        port=(found.port if found is not None else None) or settings.port or (run.port if run is not None else None),
        engine=settings.engine if found is None else found.engine,
        foreign=found is not None,
        user=None if found is None else found.process.user,
        age=None if server.seen_at is None else max(0.0, now - server.seen_at),
        up=None if wall is None else up_s(server, node, wall),
        base=None if server.base is None else server.base.decode_tps,
    )
    serving = server.serving
    if serving is not None and now - serving.at <= PERIODS_GONE * serving_period_s(serving):
        fields.update(_serving(serving), of_base=of_base(server, serving))
    mine = gpus_of(server, node)
    if node.reading.gpus_at is not None and now - node.reading.gpus_at <= believed_s and mine:
        fields.update(_gpus_together(node, mine, whole=False))
    return fields


def of_base(server: ServerView, serving: ServingReading) -> float | None:
    """Percent of its base that the only stream of a server gets now.

    None without a base of one stream, with more streams or none, while it computes more of prompts than of answers, and
    while it is being measured.
    """
    base, rate = None if server.base is None else server.base.decode_tps, serving.decode_tokens_per_s
    if not base or rate is None or serving.running != 1 or server.bench is not None:
        return None
    if serving.prefill_tokens_per_s is not None and serving.prefill_tokens_per_s > rate:
        return None
    return 100.0 * rate / base


def gpus_of(server: ServerView, node: NodeView) -> Sequence[GpuReading]:
    """The GPUs that a server has: those it was given or is seen on; all of its node where nobody says."""
    only = server.settings.gpus
    if server.found is not None:
        only = server.found.gpus
    elif server.run is not None and server.run.alive and server.run.gpus:
        only = server.run.gpus
    gpus = node.reading.gpus
    return gpus if not only else [gpu for gpu in gpus if gpu.index in only]


def model_name(server: ServerView) -> str | None:
    """The last part of its model's path, from its log, else from its command."""
    launch, found = server.launch, server.found
    model = launch.model if launch is not None else None
    if not model and found is not None:
        after = dict(zip(found.argv, found.argv[1:], strict=False))
        model = after.get("--model-path") or after.get("--model") or after.get("serve")
    return model.rstrip("/").rpartition("/")[2] if model else None


def up_s(server: ServerView, node: NodeView, wall: float) -> float | None:
    """Seconds since it is ready, or since its launch began while it loads; None when not known."""
    offset, launch = node.reading.clock_offset_s, server.launch
    if launch is not None and launch.spans and offset is not None:
        begun = next((span.began for span in launch.spans if span.phase.value == "ready"), None)
        if begun is None:
            begun = next((span.began for span in launch.spans if span.began is not None), None)
        return None if begun is None else max(0.0, wall + offset - launch.clock_ahead_s - begun)
    if server.found is not None and server.found.process.began_at is not None:
        return max(0.0, wall - server.found.process.began_at)
    return None


_GPU_OWN = tuple(name for name, meaning in GPU_FIELDS.items() if NODE_FIELDS.get(name) != meaning)
_SERVER_OWN = tuple(
    name for name, meaning in SERVER_FIELDS.items() if NODE_FIELDS.get(name) != meaning and name != "load"
)


# ---- parts


def _newest(reading: NodeReading) -> float | None:
    known = [at for at in (reading.host_at, reading.gpus_at) if at is not None]
    return max(known) if known else None


def _share(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else 100.0 * part / whole


def _scaled(value: float | None, by: float) -> float | None:
    return None if value is None else value / by


def _left(gpu: GpuReading) -> float | None:
    used, total = gpu.memory_used_mib, gpu.memory_total_mib
    return None if used is None or total is None else max(0.0, total - used)


def _total(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _gpus_together(node: NodeView, gpus: Sequence[GpuReading], *, whole: bool = True) -> dict[str, Field]:
    """Several GPUs as one; `whole`: all of a node."""
    loads = [gpu.utilization_percent for gpu in gpus if gpu.utilization_percent is not None]
    used, total = _total([gpu.memory_used_mib for gpu in gpus]), _total([gpu.memory_total_mib for gpu in gpus])
    power = _total([gpu.power_w for gpu in gpus])
    fields: dict[str, Field] = {
        "load": sum(loads) / len(loads) if loads else None,
        "vram": _share(used, total),
        "vram_free": _scaled(_total([_left(gpu) for gpu in gpus]), _GIB_MIB),
        "power": power,
        "power_pct": _share(power, _total([gpu.power_limit_w for gpu in gpus])),
        "temp": max((gpu.temperature_c for gpu in gpus if gpu.temperature_c is not None), default=None),
        "throttle": _throttle(gpus),
        "ecc": _total([gpu.ecc_uncorrected for gpu in gpus]),
        "fault": ", ".join(dict.fromkeys(gpu.fault for gpu in gpus if gpu.fault)),
    }
    fields["gpus"] = len(gpus)
    if whole:
        reading = node.reading
        answers = [is_free(reading, gpu) for gpu in gpus]
        fields["free"] = True if True in answers else None if None in answers else False
        fields["xid"] = len(reading.xids) if xids_known(reading) else None
    return fields


def xids_known(reading: NodeReading) -> bool:
    """False where nobody can say whether there were errors."""
    return reading.xids_at is not None and reading.xids_unknown_because is None


def _throttle(gpus: Sequence[GpuReading]) -> str | None:
    """What holds the clocks of any of them down, but for having nothing to do; None where no driver says."""
    masks = [gpu.throttle_mask for gpu in gpus if gpu.throttle_mask is not None]
    if not masks:
        return None
    words = (reason.word for mask in masks if mask & ~_IDLE_BIT for reason in throttle_reasons(mask & ~_IDLE_BIT))
    return ", ".join(dict.fromkeys(words))


def _fullest(disks: Sequence[DiskReading]) -> DiskReading | None:
    real = [disk for disk in disks if disk.mount != "/dev/shm" and disk.total_bytes > 0]
    return min(real, key=lambda disk: disk.available_bytes / disk.total_bytes, default=None)


def _host(reading: NodeReading) -> dict[str, Field]:
    host = reading.host
    total, available = host.memory_total_bytes, host.memory_available_bytes
    used = None if total is None or available is None else total - available
    disk = _fullest(host.disks)
    shm = next((one for one in host.disks if one.mount == "/dev/shm" and one.total_bytes > 0), None)
    ends = [left for one in host.disks if (left := one.full_in_s) is not None]
    return {
        "cpu": host.cpu_percent,
        "load1": host.load_1m,
        "ram": _share(used, total),
        "ram_free": _scaled(available, _GIB),
        "disk": None if disk is None else _share(disk.total_bytes - disk.available_bytes, disk.total_bytes),
        "disk_free": None if disk is None else disk.available_bytes / 1e9,
        "full_in": min(ends, default=None),
        "shm": None if shm is None else _share(shm.total_bytes - shm.available_bytes, shm.total_bytes),
        "net_rx": _scaled(host.net_rx_bytes_per_s, _MB),
        "net_tx": _scaled(host.net_tx_bytes_per_s, _MB),
        "disk_read": _scaled(host.disk_read_bytes_per_s, _MB),
        "disk_write": _scaled(host.disk_write_bytes_per_s, _MB),
    }


def _p95_ms(latency: Latency | None) -> float | None:
    return None if latency is None or latency.p95_s is None else 1000.0 * latency.p95_s


def _serving(serving: ServingReading) -> dict[str, Field]:
    return {
        "tps": serving.decode_tokens_per_s,
        "prefill": serving.prefill_tokens_per_s,
        "running": serving.running,
        "queue": serving.waiting,
        "kv": None if serving.kv_usage is None else 100.0 * serving.kv_usage,
        "hit": None if serving.cache_hit is None else 100.0 * serving.cache_hit,
        "accept": serving.accept_length,
        "retracted": serving.retracted,
        "ttft": _p95_ms(serving.ttft),
        "itl": _p95_ms(serving.itl),
        "e2e": _p95_ms(serving.e2e),
    }

"""What programs are told of a node, a GPU, a server: one place for the shape of each. Null is unknown, never 0."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

from k2tui.core.alerts import Alert
from k2tui.core.fields import PERIODS_GONE, serving_period_s, xids_known
from k2tui.core.foreign.adoption import adoption_toml
from k2tui.core.foreign.owner import owner_of
from k2tui.core.found import FoundServer
from k2tui.core.gpu_words import gpu_warnings, is_free, throttle_reasons
from k2tui.core.link import LinkState
from k2tui.core.owners import Owners
from k2tui.core.readings import DiskReading, GpuReading, NodeReading, Xid
from k2tui.core.serving import Latency, ServingReading
from k2tui.core.telling import bar_json
from k2tui.core.views import NodeView, ServerView
from k2tui.core.xid import meaning_of, xids_of

Document = dict[str, object]


def node_json(node: NodeView, servers: Sequence[ServerView], now: float) -> Document:
    """One node; `servers` may be all of the fleet, `now` is time.monotonic."""
    reading, host = node.reading, node.reading.host
    owners = Owners(node, servers)
    return {
        "name": node.settings.name,
        "host": node.settings.host,
        "transport": node.settings.transport,
        "tags": list(node.settings.tags),
        **link_json(node.link),
        "age_s": _age(reading.host_at, now),
        "kernel": reading.kernel,
        "driver": reading.driver,
        "gpus": [gpu_json(gpu, reading, owners) for gpu in reading.gpus],
        "gpus_age_s": _age(reading.gpus_at, now),
        "gpus_trouble": reading.gpus_trouble,
        "no_gpus_because": reading.no_gpus_because,
        "xids": [xid_json(xid) for xid in reading.xids] if xids_known(reading) else None,
        "xids_unknown_because": reading.xids_unknown_because,
        "load_1m": host.load_1m,
        "cpu_percent": host.cpu_percent,
        "memory_available_bytes": host.memory_available_bytes,
        "memory_total_bytes": host.memory_total_bytes,
        "disks": [disk_json(disk) for disk in host.disks],
        "disk_read_bytes_per_s": host.disk_read_bytes_per_s,
        "disk_write_bytes_per_s": host.disk_write_bytes_per_s,
        "net_rx_bytes_per_s": host.net_rx_bytes_per_s,
        "net_tx_bytes_per_s": host.net_tx_bytes_per_s,
        "processes": None if node.processes_at is None else _processes(node, servers),
        "processes_age_s": _age(node.processes_at, now),
    }


def link_json(link: LinkState) -> Document:
    """How the way to a node stands."""
    return {"link": link.phase.value, "link_code": link.code, "link_reason": link.reason}


def gpu_json(gpu: GpuReading, reading: NodeReading, owners: Owners) -> Document:
    """One GPU with what holds it: every figure under its own name, reasons and warnings in words."""
    figures = {each.name: getattr(gpu, each.name) for each in fields(gpu) if each.name != "throttle_mask"}
    mask = gpu.throttle_mask
    return {
        **figures,
        "throttle": None if mask is None else [reason.word for reason in throttle_reasons(mask)],
        "free": is_free(reading, gpu),
        "warnings": [
            {"name": each.name, "text": each.text, "severity": each.severity.value} for each in gpu_warnings(gpu)
        ],
        "xids": [xid_json(xid) for xid in xids_of(reading, gpu)] if xids_known(reading) else None,
        "servers": list(owners.servers_on(gpu)),
        "processes": None
        if reading.gpu_processes_at is None
        else [
            {
                "pid": holder.held.pid,
                "memory_mib": holder.held.memory_mib,
                "name": holder.held.name,
                "user": None if holder.process is None else holder.process.user,
                "began_at": None if holder.process is None else holder.process.began_at,
                "server": holder.server,
            }
            for holder in owners.holders(gpu)
        ],
    }


def xid_json(xid: Xid) -> Document:
    """One error of a GPU in the kernel's log, with what it means and what to do."""
    meaning = meaning_of(xid.number)
    return {
        "bus": xid.bus,
        "number": xid.number,
        "text": xid.text,
        "at": xid.at,
        "means": meaning.means,
        "action": meaning.action,
    }


def disk_json(disk: DiskReading) -> Document:
    """One file system."""
    return {
        "mount": disk.mount,
        "total_bytes": disk.total_bytes,
        "available_bytes": disk.available_bytes,
        "growth_bytes_per_s": disk.growth_bytes_per_s,
        "full_in_s": disk.full_in_s,
    }


def _processes(node: NodeView, servers: Iterable[ServerView]) -> list[Document]:
    here = [server for server in servers if server.settings.node == node.settings.name]
    return [
        {
            "pid": process.pid,
            "user": process.user,
            "title": process.title,
            "began_at": process.began_at,
            "server": owner_of(process, node.processes, here),
        }
        for process in node.processes
    ]


def server_json(server: ServerView, link: LinkState, now: float) -> Document:
    """One server, with the way to its node."""
    launch, run, found, settings = server.launch, server.run, server.found, server.settings
    progress = None if launch is None else launch.progress
    process = found.process if found is not None else None
    return {
        "name": settings.name,
        "node": settings.node,
        "status": server.status.value,
        "phase": None if launch is None else launch.phase.value,
        "progress": None if progress is None else bar_json(progress),
        "root_cause": None if launch is None or launch.cause is None else launch.cause.line,
        "engine": settings.engine if found is None else found.engine,
        "port": settings.port if found is None else found.port,
        "run_id": None if run is None else run.run_id,
        "pid": process.pid if process is not None else None if run is None or run.child is None else run.child.pid,
        "alive": None if run is None else run.alive,
        "exit_code": None if run is None else run.exit_code,
        "profile": settings.profile if run is None else run.profile,
        "argv": list(found.argv) if found is not None else None if run is None else list(run.argv),
        "log": server.log_path,
        "proof": None if server.proof is None else server.proof.text,
        "age_s": _age(server.seen_at, now),
        "serving": None if server.serving is None else serving_json(server.serving, now),
        **found_json(found, settings.node, settings.name),
        **link_json(link),
    }


def found_json(found: FoundServer | None, node: str, name: str) -> Document:
    """What is known of a server that somebody else started; `adopt_toml`: the config lines that make it one's own."""
    if found is None:
        return {"foreign": False, "user": None}
    return {
        "foreign": True,
        "user": found.process.user,
        "began_at": found.process.began_at,
        "env": None if found.env_unknown else dict(found.env),
        "cwd": found.cwd,
        "listening": found.listening,
        "log_note": found.log_note,
        "container": found.container,
        "gpus": list(found.gpus),
        "workers": [{"pid": worker.pid, "title": worker.title} for worker in found.workers],
        "adopt_toml": adoption_toml(found, node, name),
    }


def serving_json(serving: ServingReading, now: float) -> Document | None:
    """A server's live figures; None once they are too old to be believed."""
    if now - serving.at > PERIODS_GONE * serving_period_s(serving):
        return None
    return {
        "source": serving.source,
        "age_s": _age(serving.at, now),
        "window_s": _rounded(serving.window_s),
        "running": serving.running,
        "waiting": serving.waiting,
        "kv_usage": _rounded(serving.kv_usage, 4),
        "decode_tokens_per_s": _rounded(serving.decode_tokens_per_s),
        "prefill_tokens_per_s": _rounded(serving.prefill_tokens_per_s),
        "cache_hit": _rounded(serving.cache_hit, 4),
        "accept_length": _rounded(serving.accept_length),
        "retracted": serving.retracted,
        "capacity_tokens": serving.capacity_tokens,
        "most_running": serving.most_running,
        "ttft": _latency(serving.ttft),
        "itl": _latency(serving.itl),
        "e2e": _latency(serving.e2e),
        "latencies_age_s": _age(serving.latencies_at, now),
        "ranks": [
            {
                "rank": rank.rank,
                "running": rank.running,
                "waiting": rank.waiting,
                "kv_usage": _rounded(rank.kv_usage, 4),
                "decode_tokens_per_s": _rounded(rank.decode_tokens_per_s),
            }
            for rank in serving.ranks
        ],
        "bad_rank": serving.bad_rank,
        "stuck": serving.stuck,
    }


def alert_json(alert: Alert) -> Document:
    """One alert."""
    return {
        "rule": alert.rule,
        "subject": alert.subject,
        "text": alert.text,
        "severity": alert.severity.value,
        "began_at": alert.began_at,
        "ended_at": alert.ended_at,
        "acknowledged_at": alert.acknowledged_at,
    }


def _latency(latency: Latency | None) -> Document | None:
    if latency is None:
        return None
    figures = {"p50_ms": latency.p50_s, "p95_ms": latency.p95_s, "p99_ms": latency.p99_s}
    return {
        **{name: None if seconds is None else round(seconds * 1000, 1) for name, seconds in figures.items()},
        "count": latency.count,
    }


def _age(at: float | None, now: float) -> float | None:
    return None if at is None else round(max(0.0, now - at), 1)


def _rounded(value: float | None, digits: int = 2) -> float | None:
    return None if value is None else round(value, digits)

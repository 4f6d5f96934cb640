"""Fleets at work: servers with figures, GPUs with troubles, one server of somebody else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from k2tui.core.alerts import Alert
from k2tui.core.events import Severity
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.launch import Cause, LaunchKind, LaunchPhase, Progress
from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuProcess, GpuReading, NodeReading, Xid
from k2tui.core.runs import ProcessIdentity
from k2tui.core.series import Quantity, Samples, SeriesKey, server_subject
from k2tui.core.serving import Latency, RankServing, ServingReading
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.core.views import ServerStatus, Witness
from tests.fakes.fleet import DAY, FakeClock, FakeFleet, connected, gpus, reading, settings_of

ARGV = ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "/shared/qwen3-30b", "--port", "8000")


def serving(at: float, **changes: Any) -> ServingReading:
    """A server with three requests in work."""
    return replace(
        ServingReading(
            at=at,
            source="metrics",
            running=3,
            waiting=0,
            kv_usage=0.12,
            decode_tokens_per_s=271.4,
            prefill_tokens_per_s=1310.0,
            cache_hit=0.41,
            capacity_tokens=345_600,
            most_running=48,
            window_s=60.0,
            ttft=Latency(0.104, 0.21, 0.384, 12),
            itl=Latency(0.0109, 0.0131, 0.0212, 4021),
            e2e=Latency(3.1, 8.2, 11.9, 12),
        ),
        **changes,
    )


def process(pid: int, user: str = "root", title: str = "sglang::scheduler_TP0", **changes: Any) -> NodeProcess:
    """A process that began at 10:50."""
    return replace(NodeProcess(ProcessIdentity("boot", pid, 1), 1, pid, user, title, DAY - 11_400), **changes)


def found(**changes: Any) -> FoundServer:
    """A vLLM that root started by hand."""
    main = process(512, "ann", " ".join(ARGV))
    return replace(
        FoundServer(
            main,
            "vllm",
            ARGV,
            (("NCCL_PROTO", "LL"),),
            cwd="/home/ann",
            port=8000,
            listening=True,
            log="/home/ann/vllm.log",
            workers=(process(530, "ann", "VLLM::Worker_TP0", parent=512),),
            gpus=(0, 1),
        ),
        **changes,
    )


def troubled(clock: FakeClock) -> NodeReading:
    """GPUs with a narrow link, heat, errors and one that is lost; the last two are free."""
    rows = list(gpus(8))
    rows[1] = replace(rows[1], pcie_gen=5, pcie_gen_max=5, pcie_width=8, pcie_width_max=16)
    rows[2] = replace(rows[2], temperature_c=91.0, throttle_mask=0x40)
    rows[3] = replace(rows[3], ecc_uncorrected=2, pcie_bus="00000000:3D:00.0")
    rows[4] = GpuReading(4, "GPU-4", "NVIDIA RTX PRO 6000", fault="GPU is lost")
    for index in (6, 7):
        rows[index] = replace(
            rows[index],
            utilization_percent=0.0,
            memory_used_mib=4.0,
            power_w=32.0,
            temperature_c=31.0,
            throttle_mask=0x1,
        )
    rows = [replace(row, pcie_bus=row.pcie_bus or f"00000000:{16 + row.index:02X}:00.0") for row in rows]
    held = tuple(GpuProcess(f"GPU-{index}", 41233 + index, 88 * 1024.0) for index in range(4))
    return replace(
        reading(clock, rows),
        gpu_processes=held,
        gpu_processes_at=clock.at,
        xids=(Xid("PCI:0000:3D:00", 94, "Xid (PCI:0000:3d:00): 94, Contained ECC error", DAY - 600),),
        xids_at=clock.at,
    )


def see(fleet: FakeFleet, node: str, *processes: NodeProcess) -> None:
    """The node told its processes."""
    old = fleet._nodes[node]
    fleet._nodes[node] = replace(old, processes=processes, processes_at=fleet.clock.at)
    fleet.revision += 1


def trend(fleet: FakeFleet, name: str, rates: list[float]) -> None:
    """What `recent` tells of a server's tokens a second."""
    key = SeriesKey(server_subject(name), Quantity.DECODE)
    fleet.samples[key] = Samples(key, DAY - 300, 5.0, tuple(rates))


def working(nodes: int = 6, *, theme: str = "k2-dark", **options: Any) -> FakeFleet:
    """A fleet in all states: two tags, a foreign server on the last node, an open alert."""
    made = settings_of(nodes, theme=theme)
    names = list(made.nodes)
    tagged = {
        name: NodeSettings(name, name, tags=("prod",) if place < nodes // 2 else ("lab", "eu"))
        for place, name in enumerate(names)
    }
    servers = dict(list(made.servers.items())[:-1])
    servers["vllm-8000"] = ServerSettings("vllm-8000", names[-1], engine="vllm", port=8000)
    fleet = connected(replace(made, nodes=tagged, servers=servers), **options)
    at = fleet.clock.at
    for place, name in enumerate(list(servers)[:-1]):
        run = fleet.begin(name)
        fleet.phase(name, LaunchPhase.WEIGHTS, model="/shared/kimi-k2.5-int4")
        fleet.ready(name)
        fleet.set(name, run=replace(run, supervisor=ProcessIdentity("boot", 41233, 1), session_id=41233))
        fleet.set(name, serving=serving(at, decode_tokens_per_s=90.1 + 60 * place, waiting=2 * place))
        trend(fleet, name, [90.0 + 40 * ((step * (place + 3)) % 7) for step in range(60)])
    fleet.set("vllm-8000", status=ServerStatus.READY, found=found(), serving=serving(at, source="log", ttft=None))
    if nodes >= 5:
        fleet.phase("kimi-2", LaunchPhase.WEIGHTS, Progress(51, 64, "shards", "x"), kind=LaunchKind.LOADING)
        fleet.set("kimi-2", status=ServerStatus.LOADING, serving=None, proof=None)
        fleet.crash("kimi-3", Cause("Not enough memory", 812, None, "kv_no_room"))
        fleet.set("kimi-3", serving=None)
        fleet.link(names[3], phase=LinkPhase.DOWN, code="timeout", reason="no answer in 10 s", retry_at=at + 8)
        fleet.set("kimi-4", status=ServerStatus.STALE)
    fleet.read(names[0], troubled(fleet.clock))
    see(fleet, names[0], *(process(41233 + index, session=41233) for index in range(4)))
    fleet.alerts_now = [Alert("gpu_hot", f"gpu/{names[0]}/2", "GPU 2 is at 91 C", Severity.BAD, DAY - 60)]
    fleet.tell(names[0], "GPU 2 is at 91 C", Severity.BAD)
    fleet.tell("kimi", "kimi is ready and proved", Severity.GOOD)
    fleet.clock.go(3)
    return fleet


def one_box(theme: str = "k2-dark", **options: Any) -> FakeFleet:
    """One node and one server with everything to be said of it."""
    fleet = connected(settings_of(theme=theme), **options)
    fleet.begin("kimi")
    fleet.phase("kimi", LaunchPhase.WEIGHTS, model="/shared/kimi-k2.5-int4")
    fleet.ready("kimi")
    fleet.clock.go(4000)
    at = fleet.clock.at
    ranks = tuple(RankServing(rank, 3, 24 if rank == 3 else 0, 0.12) for rank in range(4))
    fleet.set(
        "kimi",
        serving=serving(at, accept_length=2.91, ranks=ranks, bad_rank="DP3: 24 waiting, the others 0", waiting=24),
        witnesses=(
            Witness("process", True, "alive, pid 41233, 8 schedulers", at),
            Witness("port", True, "30000 is open", at),
            Witness("log", True, "followed", at),
            Witness("heartbeat", True, "3 running", at - 30),
            Witness("http", True, "/health 200 in 12 ms", at - 4),
            Witness("completion", True, "47 tokens", at - 200),
        ),
        proof_at=at - 200,
    )
    trend(fleet, "kimi", [90.0 + 40 * ((step * 3) % 7) for step in range(60)])
    fleet.read("gpu-a", troubled(fleet.clock))
    see(fleet, "gpu-a", *(process(41233 + index, session=41233) for index in range(4)))
    fleet.log("kimi", *(f"[2026-11-30 14:00:{second:02}] Decode batch, #running-req: 3" for second in range(40)))
    fleet.clock.go(3)
    return fleet

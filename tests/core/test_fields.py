"""Fields: one name for each figure, its unit in its meaning, and None for what nobody knows or what is too old."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchResult
from k2tui.core.fields import GPU_FIELDS, NODE_FIELDS, SERVER_FIELDS, gpu_fields, node_fields, server_fields
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.launch import Launch, LaunchPhase, PhaseSpan
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.owners import Owners
from k2tui.core.query import Field, parse
from k2tui.core.readings import DiskReading, GpuProcess, GpuReading, HostReading, NodeReading, Xid
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.serving import Latency, ServingReading
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.core.views import NodeView, ServerStatus, ServerView

NOW, WALL = 1000.0, 50_000.0
BUSY = GpuReading(
    0,
    "GPU-0",
    "NVIDIA H200",
    utilization_percent=90.0,
    memory_used_mib=70 * 1024.0,
    memory_total_mib=140 * 1024.0,
    power_w=350.0,
    power_limit_w=700.0,
    temperature_c=81.0,
    throttle_mask=0x4,
    pcie_bus="00000000:17:00.0",
    ecc_uncorrected=0,
)
IDLE = GpuReading(1, "GPU-1", "NVIDIA H200", 0.0, 0.0, 140 * 1024.0, 70.0, 700.0, 30.0, pcie_bus="00000000:3D:00.0")
ENGINE = NodeProcess(ProcessIdentity("boot", 4242, 7), 1, 4200, "root", "sglang::scheduler_TP0", 49_000.0)
READING = NodeReading(
    gpus=(BUSY, IDLE),
    gpus_at=NOW - 1,
    gpu_processes=(GpuProcess("GPU-0", 4242, 70 * 1024.0), GpuProcess("GPU-0", 77, 10.0)),
    gpu_processes_at=NOW - 1,
    xids=(Xid("PCI:0000:17:00", 79, "fallen off the bus"),),
    xids_at=NOW - 1,
    host=HostReading(
        3.0,
        22.0,
        1000 * 2**30,
        700 * 2**30,
        (DiskReading("/", 100, 50), DiskReading("/data", 10**12, 10**11, 10**8), DiskReading("/dev/shm", 100, 98)),
        net_rx_bytes_per_s=3e6,
    ),
    host_at=NOW - 1,
    clock_offset_s=7.0,
)
NODE = NodeView(NodeSettings("gpu-a", "gpu-a", tags=("prod", "eu")), LinkState(LinkPhase.UP), READING, (ENGINE,), NOW)
SUPERVISOR = ProcessIdentity("boot", 4200, 6)
RUN = Run("kimi", "20261130T140000Z-0001", "/x", SUPERVISOR, session_id=4200, alive=True, gpus=(0,), profile="reason")
SERVING = ServingReading(
    at=NOW - 3,
    source="metrics",
    running=3,
    waiting=0,
    kv_usage=0.12,
    decode_tokens_per_s=210.5,
    ttft=Latency(0.1, 0.25, 0.4, 12),
)
SERVER = ServerView(
    ServerSettings("kimi", "gpu-a", port=30000), ServerStatus.READY, run=RUN, serving=SERVING, seen_at=NOW - 2
)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("node", "gpu-a"),
        ("tag", "prod, eu"),
        ("stale", False),
        ("gpus", 2),
        ("load", 45.0),
        ("vram", 25.0),
        ("vram_free", 210.0),
        ("power", 420.0),
        ("power_pct", 30.0),
        ("temp", 81.0),
        ("xid", 1),
        ("free", True),
        ("ram", 30.0),
        ("disk", 90.0),
        ("disk_free", 100.0),
        ("full_in", 1000.0),
        ("shm", 2.0),
        ("net_rx", 3.0),
        ("net_tx", None),
        ("age", 1.0),
    ],
)
def test_of_a_node(name: str, value: Field) -> None:
    assert node_fields(NODE, NOW)[name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gpu", 0),
        ("name", "NVIDIA H200"),
        ("node", "gpu-a"),
        ("cpu", 22.0),
        ("load", 90.0),
        ("vram", 50.0),
        ("vram_used", 70.0),
        ("vram_free", 70.0),
        ("power_pct", 50.0),
        ("throttle", "power cap"),
        ("xid", 1),
        ("free", False),
        ("user", "root"),
        ("procs", 2),
        ("server", "kimi"),
        ("mem_temp", None),
        ("fault", ""),
    ],
)
def test_of_a_gpu(name: str, value: Field) -> None:
    assert gpu_fields(NODE, BUSY, NOW, owners=Owners(NODE, (SERVER,)))[name] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("server", "kimi"),
        ("state", "ready"),
        ("profile", "reason"),
        ("port", 30000),
        ("foreign", False),
        ("tps", 210.5),
        ("prefill", None),
        ("running", 3),
        ("queue", 0),
        ("kv", 12.0),
        ("ttft", 250.0),
        ("itl", None),
        ("load", 90.0),
        ("temp", 81.0),
        ("cpu", 22.0),
        ("tag", "prod, eu"),
        ("age", 2.0),
        ("up", None),
    ],
)
def test_of_a_server(name: str, value: Field) -> None:
    assert server_fields(SERVER, NODE, NOW)[name] == value


def test_a_free_gpu_is_idle_and_held_by_nobody() -> None:
    assert gpu_fields(NODE, IDLE, NOW)["free"] is True
    assert gpu_fields(NODE, replace(IDLE, utilization_percent=None), NOW)["free"] is None
    nobody_looked = replace(NODE, reading=replace(READING, gpu_processes=(), gpu_processes_at=None))
    assert gpu_fields(nobody_looked, IDLE, NOW)["procs"] is None


def test_having_nothing_to_do_is_no_throttling() -> None:
    assert gpu_fields(NODE, replace(IDLE, throttle_mask=0x1), NOW)["throttle"] == ""
    assert gpu_fields(NODE, replace(IDLE, throttle_mask=0x41), NOW)["throttle"] == "hw heat"
    assert gpu_fields(NODE, IDLE, NOW)["throttle"] is None


def test_what_is_too_old_is_unknown_and_what_does_not_change_is_not() -> None:
    later = NOW + 100
    fields = node_fields(NODE, later)
    assert fields["temp"] is None
    assert fields["cpu"] is None
    assert fields["stale"] is True
    assert fields["node"] == "gpu-a"
    assert gpu_fields(NODE, BUSY, later)["load"] is None
    assert gpu_fields(NODE, BUSY, later)["gpu"] == 0
    assert server_fields(SERVER, NODE, later)["tps"] is None
    assert server_fields(SERVER, NODE, later)["state"] == "ready"
    assert node_fields(NODE, later, believed_s=200)["temp"] == 81.0


def test_an_idle_server_is_asked_seldom_so_its_figures_hold_longer() -> None:
    idle = replace(SERVER, serving=replace(SERVING, running=0))
    assert server_fields(idle, NODE, NOW + 100)["running"] == 0
    assert server_fields(idle, NODE, NOW + 400)["running"] is None


def test_errors_that_nobody_may_read_are_unknown_and_none_is_none() -> None:
    secret = replace(NODE, reading=replace(READING, xids=(), xids_unknown_because="no permission"))
    assert node_fields(secret, NOW)["xid"] is None
    clean = replace(NODE, reading=replace(READING, xids=()))
    assert node_fields(clean, NOW)["xid"] == 0


def test_how_long_it_is_up_needs_the_time_of_day() -> None:
    spans = (PhaseSpan(LaunchPhase.WEIGHTS, 49_000.0, 49_500.0), PhaseSpan(LaunchPhase.READY, 49_507.0, None))
    server = replace(SERVER, launch=Launch(LaunchPhase.READY, spans=spans, model="/shared/kimi-k2.5/"))
    fields = server_fields(server, NODE, NOW, wall=WALL)
    assert fields["up"] == 500.0
    assert fields["model"] == "kimi-k2.5"
    assert fields["phase"] == "ready"


def test_a_server_that_somebody_else_started_is_foreign() -> None:
    found = FoundServer(ENGINE, "vllm", ("vllm", "serve", "/m/qwen3"), port=8000, workers=(ENGINE,), gpus=(0,))
    foreign = ServerView(ServerSettings("vllm-8000", "gpu-a"), ServerStatus.READY, found=found)
    fields = server_fields(foreign, NODE, NOW, wall=WALL)
    assert [fields[name] for name in ("foreign", "user", "port", "engine", "model", "up")] == [
        True,
        "root",
        8000,
        "vllm",
        "qwen3",
        1000.0,
    ]
    assert Owners(NODE, (foreign,)).servers_on(BUSY) == ("vllm-8000",)


def test_a_process_belongs_to_the_server_of_its_session() -> None:
    first, second = Owners(NODE, (SERVER,)).holders(BUSY)
    assert (first.server, first.process) == ("kimi", ENGINE)
    assert (second.server, second.process) == (None, None)
    ended = replace(SERVER, run=replace(RUN, alive=False))
    assert Owners(NODE, (ended,)).servers_on(BUSY) == ()


@pytest.mark.parametrize(
    ("names", "made"),
    [
        (NODE_FIELDS, node_fields(NODE, NOW)),
        (GPU_FIELDS, gpu_fields(NODE, BUSY, NOW)),
        (SERVER_FIELDS, server_fields(SERVER, NODE, NOW)),
    ],
    ids=["node", "gpu", "server"],
)
def test_every_field_has_a_meaning_and_a_value_of_its_kind(names: dict[str, str], made: dict[str, Field]) -> None:
    assert set(made) == set(names)
    for name, value in made.items():
        if isinstance(value, bool):
            assert names[name].endswith("(yes or no)")
        elif isinstance(value, str):
            assert not names[name].endswith(")")
        elif value is not None:
            assert names[name].endswith(")")


@pytest.mark.parametrize(
    ("text", "passes"),
    [("temp>80 and load>50%", True), ("free", False), ("h200", True), ("vram_free>80GB", False), ("mem_temp>90", None)],
)
def test_a_filter_over_a_gpu(text: str, passes: bool | None) -> None:
    assert parse(text, GPU_FIELDS).matches(gpu_fields(NODE, BUSY, NOW)) is passes


@pytest.mark.parametrize(
    ("figures", "share"),
    [
        ({"running": 1, "decode_tokens_per_s": 45.0}, 50.0),
        ({"running": 1, "decode_tokens_per_s": 45.0, "prefill_tokens_per_s": 4000.0}, None),
        ({"running": 2, "decode_tokens_per_s": 45.0}, None),
        ({"running": 0, "decode_tokens_per_s": 0.0}, None),
        ({"running": 1}, None),
    ],
    ids=["one stream", "a long prompt", "two streams", "nothing to do", "no rate"],
)
def test_one_stream_alone_is_held_against_the_base(figures: dict[str, float], share: float | None) -> None:
    base = BenchResult("b1", "kimi", "gpu-a", Procedure.QUICK, WALL, decode_tps=90.0)
    serving = ServingReading(NOW, "metrics", **figures)  # type: ignore[arg-type]  # requests are whole
    fields = server_fields(replace(SERVER, base=base, serving=serving), NODE, NOW)
    assert (fields["base"], fields["of_base"]) == (90.0, share)

"""The rules that hold without config: traces that must raise one, and traces that must not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from k2tui.core.alerting.book import DEFAULT_RULES
from k2tui.core.benching.live import BenchLive
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult
from k2tui.core.events import Severity
from k2tui.core.launch import Advice, Cause, Launch, LaunchPhase
from k2tui.core.link import LinkPhase
from k2tui.core.readings import DiskReading, HostReading, Xid
from k2tui.core.runs import Run
from k2tui.core.views import Proof, ServerStatus, Witness
from tests.core.alerting import DAY, DISK, GPU, Looker

GB, TB = 10**9, 10**12
Trace = Callable[[Looker], None]


def gpu(seconds: float, **changes: Any) -> Trace:
    """Its GPU is like this for so long."""

    def play(looker: Looker) -> None:
        looker.gpu = replace(GPU, **changes)
        looker.look_for(seconds)

    return play


def reading(seconds: float, **changes: Any) -> Trace:
    def play(looker: Looker) -> None:
        looker.reading = changes
        looker.look_for(seconds)

    return play


def link(seconds: float, **changes: Any) -> Trace:
    def play(looker: Looker) -> None:
        looker.set_link(**changes)
        looker.look_for(seconds)

    return play


def never_reached(seconds: float, **changes: Any) -> Trace:
    def play(looker: Looker) -> None:
        looker.gpu, looker.reading = None, {"host_at": None, "clock_offset_s": None}
        link(seconds, **changes)(looker)

    return play


def disk(seconds: float, *, mount: str = "/data", total: float = 10 * TB, left: float, growth: float | None) -> Trace:
    def play(looker: Looker) -> None:
        looker.disks = (DiskReading(mount, int(total), int(left), growth),)
        looker.look_for(seconds)

    return play


def server(seconds: float, **changes: Any) -> Trace:
    def play(looker: Looker) -> None:
        looker.set_server(**changes)
        looker.look_for(seconds)

    return play


def http(seconds: float, *, ok: bool, status: ServerStatus, **changes: Any) -> Trace:
    """It is asked over HTTP at each look."""

    def play(looker: Looker) -> None:
        for _ in range(round(seconds / looker.every_s)):
            witness = Witness("http", ok, "HTTP 200", looker.now)
            looker.set_server(status=status, witnesses=(witness,), **changes)
            looker.look()

    return play


def serving(seconds: float, usual: float | None = None, **figures: Any) -> Trace:
    def play(looker: Looker) -> None:
        looker.usual, looker.serving = usual, figures
        looker.look_for(seconds)

    return play


def queue(*waiting: int, each_s: float = 30.0) -> Trace:
    def play(looker: Looker) -> None:
        for requests in waiting:
            looker.serving = {"running": 8, "waiting": requests}
            looker.look_for(each_s)

    return play


def blinking(first: Trace, second: Trace, times: int) -> Trace:
    def play(looker: Looker) -> None:
        for _ in range(times):
            first(looker)
            second(looker)

    return play


def ecc(count: int) -> Trace:
    return gpu(4, ecc_uncorrected=count)


DOWN = {"phase": LinkPhase.DOWN, "code": "lost", "reason": "no answer for 15 s"}
BASE = BenchResult("b1", "kimi", "gpu-a", Procedure.QUICK, DAY, decode_tps=90.0)
WIDE = BenchResult("b2", "kimi", "gpu-a", Procedure.SWEEP, DAY, points=(BenchPoint(8, agg_tps_total=400.0),))
BENCH = BenchLive("b3", Procedure.QUICK, 0.0, "request 1 of 3")
CAUSE = Cause("torch.OutOfMemoryError: CUDA out of memory", 7, "TP3", "oom_weights")
FAILED = {
    "status": ServerStatus.CRASHED,
    "run": Run("kimi", "r1", "/d", alive=False, exit_code=1, ended_at=DAY + 100),
    "launch": Launch(LaunchPhase.WEIGHTS, cause=CAUSE),
    "advice": (Advice("use more GPUs", "source"),),
}
HELD_PCI = "PCI:0000:17:00"

MUST: list[tuple[str, str, Severity, list[Trace], str]] = [
    # rule, name, severity, what happens, what the sentence must say
    ("node_lost", "node_lost", Severity.BAD, [link(2, phase=LinkPhase.UP), link(34, **DOWN)], "no answer for 15 s"),
    (
        "node_lost",
        "node_lost",
        Severity.BAD,
        [link(2, phase=LinkPhase.UP), link(34, phase=LinkPhase.CONNECTING)],
        "out of reach",
    ),
    (
        "node_lost",
        "node_lost",
        Severity.WARNING,
        [never_reached(34, phase=LinkPhase.BLOCKED, reason="its host key is unknown", hint="press t to trust it")],
        "was never reached: its host key is unknown; press t to trust it",
    ),
    ("probe_off", "probe_off", Severity.WARNING, [link(34, phase=LinkPhase.UP, reason="no /proc")], "no /proc"),
    ("smi_hung", "smi_hung", Severity.BAD, [reading(34, gpus_trouble="nvidia-smi does not answer")], "does not answer"),
    ("clock_skew", "clock_skew", Severity.WARNING, [reading(64, clock_offset_s=3600.0 + 7)], "7.0 s ahead of"),
    ("clock_skew", "clock_skew", Severity.WARNING, [reading(64, clock_offset_s=20_700.0 - 80)], "1m20s behind"),
    (
        "memory_low",
        "memory_low",
        Severity.BAD,
        [reading(64, host=HostReading(memory_total_bytes=TB, memory_available_bytes=20 * GB))],
        "20.0 GB of memory left",
    ),
    (
        "disk_filling",
        "disk_filling /data",
        Severity.WARNING,
        [disk(604, left=2 * TB, growth=60e6)],
        "/data is full in 9h15m, if it goes on like this (60.0 MB/s, 2.0 TB left)",
    ),
    ("disk_full", "disk_full /data", Severity.BAD, [disk(34, left=150 * GB, growth=0.0)], "150 GB left (1.5%)"),
    ("disk_full", "disk_full /data", Severity.BAD, [disk(34, left=500 * GB, growth=1e9)], "full in 8m20s"),
    (
        "shm_full",
        "shm_full /dev/shm",
        Severity.WARNING,
        [disk(14, mount="/dev/shm", total=TB, left=50 * GB, growth=None)],
        "50.0 GB left",
    ),
    (
        "gpu_lost",
        "gpu_lost",
        Severity.BAD,
        [gpu(8, fault="GPU is lost", utilization_percent=None, memory_used_mib=None)],
        "GPU is lost",
    ),
    ("gpu_hot", "gpu_hot", Severity.WARNING, [gpu(64, temperature_c=91.0)], "91 °C"),
    ("gpu_hot", "gpu_hot", Severity.WARNING, [gpu(64, memory_temperature_c=102.0)], "memory 102 °C"),
    (
        "gpu_heat",
        "gpu_heat",
        Severity.WARNING,
        [gpu(64, throttle_mask=0x24, temperature_c=87.0, sm_clock_mhz=1200.0)],
        "slowed down by heat at 87 °C, 1200 of 2600 MHz",
    ),
    ("gpu_brake", "gpu_brake", Severity.BAD, [gpu(34, throttle_mask=0x88)], "the power brake"),
    ("gpu_brake", "gpu_brake", Severity.BAD, [gpu(34, throttle_mask=0x8)], "the hardware"),
    (
        "gpu_power_cap",
        "gpu_power_cap",
        Severity.INFO,
        [gpu(604, throttle_mask=0x4, sm_clock_mhz=1300.0)],
        "its power cap of 600 W",
    ),
    ("gpu_ecc", "gpu_ecc", Severity.BAD, [ecc(1), ecc(3)], "2 more uncorrected memory error(s), 3 in all"),
    (
        "xid",
        "xid 79",
        Severity.BAD,
        [reading(2, xids=(Xid(HELD_PCI, 79, "GPU has fallen off the bus.", DAY + 50),))],
        "XID 79: the GPU is gone from the PCIe bus",
    ),
    ("xid", "xid 31", Severity.WARNING, [reading(2, xids=(Xid(HELD_PCI, 31, "x", DAY - 3600),))], "XID 31"),
    ("xid", "xid 79", Severity.BAD, [reading(2, xids=(Xid(HELD_PCI, None, "x", DAY),))], "off the bus"),
    (
        "server_crashed",
        "server_crashed",
        Severity.BAD,
        [server(2, **FAILED)],
        "crashed (exit 1) in weights: GPU memory ran out while the weights were loaded: torch.OutOfMemoryError: CUDA"
        " out of memory; use more GPUs",
    ),
    ("server_hung", "server_hung", Severity.BAD, [server(14, status=ServerStatus.HUNG)], "hung"),
    (
        "server_zombie",
        "server_zombie",
        Severity.BAD,
        [http(16, ok=True, status=ServerStatus.HUNG, disagreement="HTTP answers, but no scheduler process is left")],
        "a zombie: HTTP answers, but no scheduler process is left",
    ),
    (
        "server_degraded",
        "server_degraded",
        Severity.BAD,
        [server(14, status=ServerStatus.DEGRADED, proof=Proof(False, "no reasoning in the answer"))],
        "no reasoning in the answer",
    ),
    ("server_misconfigured", "server_misconfigured", Severity.BAD, [server(6, status=ServerStatus.MISCONFIGURED)], ""),
    (
        "slow_decode",
        "slow_decode",
        Severity.WARNING,
        [serving(184, 1000.0, running=8, decode_tokens_per_s=650.0)],
        "650 tok/s in all with 8 running, usually 1,000",
    ),
    (
        "below_base",
        "below_base",
        Severity.WARNING,
        [server(2, base=BASE), serving(64, running=1, decode_tokens_per_s=63.6)],
        "63.6 tok/s of one stream, its base is 90.0",
    ),
    (
        "queue_grows",
        "queue_grows",
        Severity.WARNING,
        [queue(*range(0, 130, 10))],
        "from 0 to",
    ),
    ("kv_retractions", "kv_retractions", Severity.WARNING, [serving(124, running=8, retracted=3)], "(3 just now)"),
]

HOT = gpu(10, temperature_c=95.0)
COOL = gpu(4, temperature_c=70.0)

MUST_NOT: list[tuple[str, list[Trace]]] = [
    ("a healthy fleet", [gpu(700)]),
    ("the first connection takes long", [never_reached(120, phase=LinkPhase.CONNECTING)]),
    ("a link that is back in 20 s", [link(2, phase=LinkPhase.UP), link(20, **DOWN), link(40, phase=LinkPhase.UP)]),
    ("a time zone of half an hour", [reading(100, clock_offset_s=19_800.5)]),
    ("a clock that is 4 s off", [reading(100, clock_offset_s=3604.0)]),
    ("one busy minute of nvidia-smi", [reading(20, gpus_trouble="nvidia-smi does not answer"), reading(4)]),
    ("a checkpoint of some minutes", [disk(300, left=2 * TB, growth=1e9), disk(60, left=2 * TB, growth=0.0)]),
    ("a disk that empties", [disk(700, left=2 * TB, growth=-1e9)]),
    ("a disk whose growth nobody knows yet", [disk(700, left=2 * TB, growth=None)]),
    ("a fast write with much room", [disk(60, left=8 * TB, growth=3e9)]),
    ("a shm that is half full", [disk(60, mount="/dev/shm", total=TB, left=TB // 2, growth=9e9)]),
    ("heat for ten seconds at a time", [blinking(HOT, COOL, 20)]),
    ("heat without load", [gpu(100, throttle_mask=0x20, utilization_percent=2.0)]),
    ("slowed down for nobody knows what load", [gpu(100, throttle_mask=0x20, utilization_percent=None)]),
    ("a power cap at nearly the full clock", [gpu(700, throttle_mask=0x4, sm_clock_mhz=2300.0)]),
    ("an idle GPU", [gpu(700, throttle_mask=0x1, utilization_percent=0.0, sm_clock_mhz=210.0)]),
    ("memory errors of long ago", [ecc(5), ecc(5)]),
    ("a driver that counts anew", [ecc(5), ecc(0)]),
    ("one figure that the driver can't give", [gpu(60, fault="Unknown Error")]),
    ("an XID of two days ago", [reading(10, xids=(Xid(HELD_PCI, 79, "x", DAY - 2 * 86_400),))]),
    ("a server that was stopped", [server(60, status=ServerStatus.DOWN)]),
    ("a server that loads", [server(600, status=ServerStatus.LOADING)]),
    ("a crash while k2tui restarts it", [server(60, status=ServerStatus.CRASHED, doing="starting")]),
    ("a server on a node out of reach", [link(20, **DOWN), server(8, status=ServerStatus.CRASHED)]),
    ("HTTP that answers while a bar stands", [http(60, ok=True, status=ServerStatus.LOADING)]),
    ("decoding at 75 %", [serving(400, 1000.0, running=8, decode_tokens_per_s=750.0)]),
    ("nothing to decode", [serving(400, 1000.0, running=0, decode_tokens_per_s=0.0)]),
    ("no baseline", [serving(400, None, running=8, decode_tokens_per_s=5.0)]),
    ("two slow minutes", [serving(150, 1000.0, running=8, decode_tokens_per_s=100.0), serving(30, 1000.0, running=0)]),
    ("one stream at its base", [server(2, base=BASE), serving(200, running=1, decode_tokens_per_s=85.0)]),
    ("one of two streams", [server(2, base=BASE), serving(200, running=2, decode_tokens_per_s=60.0)]),
    (
        "a long prompt",
        [server(2, base=BASE), serving(200, running=1, decode_tokens_per_s=9.0, prefill_tokens_per_s=4e3)],
    ),
    ("a slow measurement", [server(2, base=BASE, bench=BENCH), serving(200, running=1, decode_tokens_per_s=9.0)]),
    ("half a slow minute", [server(2, base=BASE), serving(40, running=1, decode_tokens_per_s=9.0)]),
    ("a base of all streams alone", [server(2, base=WIDE), serving(200, running=1, decode_tokens_per_s=9.0)]),
    ("a batch that came at once", [queue(0, *[5000 - 50 * n for n in range(20)])]),
    ("a queue that goes up and down", [queue(*[20 + 15 * (n % 3) for n in range(20)])]),
    ("a queue of a few", [queue(*range(14))]),
    ("one retraction", [serving(60, running=8, retracted=1), serving(200, running=8, retracted=0)]),
]


@pytest.mark.parametrize(
    ("rule", "name", "severity", "traces", "says"), MUST, ids=[f"{case[0]}-{at}" for at, case in enumerate(MUST)]
)
def test_what_an_operator_must_be_told(
    rule: str, name: str, severity: Severity, traces: list[Trace], says: str
) -> None:
    looker = Looker()
    looker.look()
    for trace in traces:
        trace(looker)
    assert looker.raised == [name]
    alert = looker.only()
    assert (alert.severity, says in alert.text) == (severity, True), alert.text


@pytest.mark.parametrize("traces", [case[1] for case in MUST_NOT], ids=[case[0] for case in MUST_NOT])
def test_what_nobody_wants_to_be_told(traces: list[Trace]) -> None:
    looker = Looker()
    looker.look()
    for trace in traces:
        trace(looker)
    assert looker.raised == []


def test_every_rule_has_a_trace_that_raises_it() -> None:
    assert {case[0] for case in MUST} == set(DEFAULT_RULES)


@pytest.mark.parametrize(("rule", "traces"), [(case[0], case[3]) for case in MUST])
def test_each_rule_ends_once_all_is_well_again_and_not_a_moment_later_than_it_may(
    rule: str, traces: list[Trace]
) -> None:
    looker = Looker()
    looker.look()
    for trace in traces:
        trace(looker)
    looker.gpu, looker.disks, looker.reading = GPU, (replace(DISK, mount=looker.disks[0].mount),), {}
    looker.set_link(phase=LinkPhase.UP)
    looker.set_server(status=ServerStatus.READY)
    looker.serving = {"running": 8, "waiting": 0, "decode_tokens_per_s": 1000.0, "retracted": 0}
    lasting = DEFAULT_RULES[rule].lasts_s
    looker.every_s = 2.0 if lasting is None else 3600.0
    looker.look_for((lasting or DEFAULT_RULES[rule].for_s) + 2 * looker.every_s)
    assert len(looker.ended) == 1
    assert looker.state.alerts == ()


def test_a_storm_of_one_error_is_one_alert_for_each_gpu_and_number() -> None:
    looker = Looker()
    looker.reading = {"xids": tuple(Xid(HELD_PCI, 31 + at % 2 * 12, "x", DAY + at) for at in range(50))}
    looker.look_for(20)
    assert looker.raised == ["xid 31", "xid 43"]
    assert {alert.subject for alert in looker.state.alerts} == {"gpu/gpu-a/3"}


def test_an_error_at_a_bus_address_that_no_gpu_has_is_told_of_the_node() -> None:
    looker = Looker()
    looker.reading = {"xids": (Xid("PCI:0000:99:00", 79, "x", DAY),)}
    looker.look()
    assert looker.only().subject == "node/gpu-a"

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from k2tui.core.events import Severity
from k2tui.core.over_time.rates import config_of
from k2tui.core.readings import GpuReading, HostReading, NodeReading
from k2tui.core.runs import Run
from k2tui.core.series import (
    Quantity,
    Samples,
    SeriesKey,
    UsualRate,
    gpu_subject,
    node_subject,
    server_subject,
)
from k2tui.core.serving import Latency, ServingReading
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.core.views import NodeView, ServerView
from k2tui.services import recorder
from k2tui.services.recorder import RETRY_S, THIN_EVERY_S, USUAL_LASTS_S, Recorder
from tests.fakes.history import MemoryReadings
from tests.waiting import until

LOAD = SeriesKey(gpu_subject("gpu-a", 0), Quantity.GPU_LOAD)
DECODE = SeriesKey(server_subject("kimi"), Quantity.DECODE)
RUN = Run("kimi", "20261129T163211Z-00ff", "/r", argv=("python3", "-m", "sglang.launch_server", "--model-path", "/m"))
MINUTE = 1_796_000_400.0
"""A whole hour of unix time."""


@dataclass
class Time:
    """A clock whose unix time begins on a whole hour."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return MINUTE + self.now - 1000.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


@dataclass
class Stage:
    """A recorder that is told of a node with GPUs and a server on it, every two seconds."""

    store: MemoryReadings | None = field(default_factory=MemoryReadings)
    clock: Time = field(default_factory=Time)
    told: list[str] = field(default_factory=list)
    server: ServerView = ServerView(ServerSettings(name="kimi", node="gpu-a"), run=RUN)
    gpus: Sequence[int] = (0, 1)

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.store, clock=self.clock, tell=self._tell)

    def _tell(self, subject: str, text: str, severity: Severity) -> None:
        assert severity is Severity.WARNING
        self.told.append(text)

    def node(self, load: float | None = 50.0) -> NodeView:
        """What the probe saw just now."""
        now = self.clock.now
        gpus = tuple(
            GpuReading(
                at,
                f"uuid-{at}",
                utilization_percent=None if load is None else load + at,
                memory_used_mib=143_000.0,
                power_w=612.5,
                temperature_c=61.0,
            )
            for at in self.gpus
        )
        host = HostReading(cpu_percent=12.5, memory_total_bytes=1000, memory_available_bytes=400)
        reading = NodeReading(gpus=gpus, gpus_at=now, host=host, host_at=now)
        return NodeView(NodeSettings(name="gpu-a", host="gpu-a"), reading=reading)

    def serves(self, decode: float | None = 600.0, running: int = 9) -> ServerView:
        """What the server said just now."""
        return replace(
            self.server,
            serving=ServingReading(self.clock.now, "metrics", running=running, decode_tokens_per_s=decode),
        )

    async def go(self, seconds: float, *, load: float = 50.0, decode: float | None = 600.0, every_s: float = 2) -> None:
        """So much time with a reading now and then; what follows from each is done before the next."""
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.recorder.take([self.node(load)], [self.serves(decode)])
            await self.idle()
            self.clock.now += every_s

    async def wait(self, seconds: float) -> None:
        """So much time in which nothing is seen."""
        for _ in range(int(seconds / 2)):
            self.clock.now += 2
            self.recorder.take([], [])
            await self.idle()

    async def idle(self) -> None:
        await until(lambda: not self.recorder.busy, "the recorder's rest")

    def recent(self, key: SeriesKey = LOAD, span_s: float = 10.0) -> tuple[float | None, ...]:
        found = self.recorder.recent(key, span_s)
        return () if found is None else found.mean

    async def past(self, key: SeriesKey, seconds: float, steps: int, since: float = 0.0) -> Samples:
        (found,) = await self.recorder.past([key], MINUTE + since, MINUTE + since + seconds, steps)
        return found


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    stage = Stage()
    yield stage
    await stage.recorder.close()


def kept(stage: Stage) -> MemoryReadings:
    assert stage.store is not None
    return stage.store


async def test_the_newest_readings_are_there_at_once(stage: Stage) -> None:
    for load in (10.0, 20.0, 30.0):
        stage.recorder.take([stage.node(load)], [stage.serves()])
        stage.clock.now += 2
    assert stage.recent(span_s=6) == (10, 20, 30)
    assert stage.recent(replace(LOAD, subject=gpu_subject("gpu-a", 1)), 2) == (31,)


@pytest.mark.parametrize(
    ("subject", "quantity", "figure"),
    [
        (gpu_subject("gpu-a", 1), Quantity.GPU_LOAD, 51.0),
        (gpu_subject("gpu-a", 1), Quantity.GPU_MEMORY, 143_000.0),
        (gpu_subject("gpu-a", 1), Quantity.GPU_POWER, 612.5),
        (gpu_subject("gpu-a", 1), Quantity.GPU_TEMPERATURE, 61.0),
        (node_subject("gpu-a"), Quantity.CPU, 12.5),
        (node_subject("gpu-a"), Quantity.MEMORY, 600.0),
        (server_subject("kimi"), Quantity.DECODE, 600.0),
        (server_subject("kimi"), Quantity.RUNNING, 9.0),
        (node_subject("gpu-a"), Quantity.NET_RX, None),
        (server_subject("kimi"), Quantity.WAITING, None),
        (server_subject("other"), Quantity.DECODE, None),
    ],
)
async def test_each_figure_has_its_series(stage: Stage, subject: str, quantity: Quantity, figure: float | None) -> None:
    stage.recorder.take([stage.node()], [stage.serves()])
    assert stage.recent(SeriesKey(subject, quantity), 2) == (() if figure is None else (figure,))


async def test_every_rate_of_a_node_and_a_server_is_recorded(stage: Stage) -> None:
    host = HostReading(disk_read_bytes_per_s=1, disk_write_bytes_per_s=2, net_rx_bytes_per_s=3, net_tx_bytes_per_s=4)
    node = stage.node()
    half = Latency(0.1, 0.5, 0.9, 12)
    serving = ServingReading(
        stage.clock.now,
        "metrics",
        *(1, 2, 0.25, 4.0, 5.0),
        ttft=half,
        itl=replace(half, p95_s=0.0625),
        latencies_at=stage.clock.now - 30,
    )
    stage.recorder.take(
        [replace(node, reading=replace(node.reading, host=host))], [replace(stage.server, serving=serving)]
    )
    of_node = (Quantity.DISK_READ, Quantity.DISK_WRITE, Quantity.NET_RX, Quantity.NET_TX)
    assert [stage.recent(SeriesKey(node_subject("gpu-a"), one), 2) for one in of_node] == [(1,), (2,), (3,), (4,)]
    of_server = (
        *(Quantity.RUNNING, Quantity.WAITING, Quantity.KV_USAGE, Quantity.DECODE, Quantity.PREFILL),
        *(Quantity.TTFT_P95, Quantity.ITL_P95),
    )
    said = [stage.recent(SeriesKey(server_subject("kimi"), one), 2) for one in of_server]
    assert said == [(1,), (2,), (0.25,), (4,), (5,), (0.5,), (0.0625,)]


async def test_latencies_of_an_old_look_are_not_those_of_now(stage: Stage) -> None:
    old = ServingReading(
        stage.clock.now, "metrics", running=1, ttft=Latency(0.1, 0.5, 0.9, 12), latencies_at=stage.clock.now - 60
    )
    stage.recorder.take([], [replace(stage.server, serving=old)])
    assert stage.recent(SeriesKey(server_subject("kimi"), Quantity.TTFT_P95), 2) == ()
    assert stage.recent(SeriesKey(server_subject("kimi"), Quantity.RUNNING), 2) == (1,)


async def test_a_reading_that_is_seen_again_is_not_recorded_again(stage: Stage) -> None:
    node = stage.node(10)
    for _ in range(5):
        stage.recorder.take([node], [])
        stage.clock.now += 2
    assert stage.recent(span_s=12) == (10, None, None, None, None, None)


async def test_a_gpu_that_is_lost_is_unknown_and_the_others_go_on(stage: Stage) -> None:
    stage.recorder.take([stage.node(10)], [])
    stage.clock.now += 2
    node = stage.node(20)
    lost = GpuReading(0, "uuid-0", fault="GPU is lost")
    stage.recorder.take([replace(node, reading=replace(node.reading, gpus=(lost, node.reading.gpus[1])))], [])
    assert stage.recent(span_s=4) == (10, None)
    assert stage.recent(replace(LOAD, subject=gpu_subject("gpu-a", 1)), 4) == (11, 21)


async def test_a_node_with_other_gpus_goes_on_with_those_it_has(stage: Stage) -> None:
    stage.recorder.take([stage.node(10)], [])
    stage.clock.now += 2
    stage.gpus = (1, 2)
    stage.recorder.take([stage.node(20)], [])
    assert stage.recent(replace(LOAD, subject=gpu_subject("gpu-a", 1)), 4) == (11, 21)
    assert stage.recent(replace(LOAD, subject=gpu_subject("gpu-a", 2)), 4) == (None, 22)


async def test_whole_minutes_are_written_once_each(stage: Stage) -> None:
    await stage.go(250)
    found = kept(stage).told(LOAD)
    assert sorted(found) == [MINUTE + at for at in range(0, 180, 2)]
    assert set(found.values()) == {50}
    assert len([one for one in kept(stage).samples if one.key == LOAD]) == 3


async def test_readings_at_a_slow_pace_are_written_without_holes(stage: Stage) -> None:
    await stage.go(300, every_s=10)
    assert sorted(kept(stage).told(LOAD))[10:] == [MINUTE + at for at in range(28, 240, 2)]


async def test_what_was_not_written_yet_is_written_at_the_end(stage: Stage) -> None:
    await stage.go(31)
    assert kept(stage).samples == []
    await stage.recorder.close()
    assert sorted(kept(stage).told(LOAD)) == [MINUTE + at for at in range(0, 32, 2)]
    before = len(kept(stage).samples)
    await stage.recorder.close()
    assert len(kept(stage).samples) == before


async def test_the_store_is_thinned_now_and_then(stage: Stage) -> None:
    await stage.go(150 + THIN_EVERY_S)
    assert len(kept(stage).thinned) == 2


async def test_memory_and_store_are_one_past(stage: Stage) -> None:
    store = kept(stage)
    store.samples.append(Samples(LOAD, MINUTE - 120, 60.0, (20, 30), (10, 20), (90, 80)))
    await stage.go(120, load=70)
    found = await stage.past(LOAD, 240, 4, since=-120)
    assert (found.mean, found.low, found.high) == ((20, 30, 70, 70), (10, 20, 70, 70), (90, 80, 70, 70))


async def test_all_series_of_a_past_share_one_axis(stage: Stage) -> None:
    await stage.go(60)
    found = await stage.recorder.past([LOAD, DECODE], MINUTE - 60, MINUTE + 60, 7)
    assert [one.key for one in found] == [LOAD, DECODE]
    assert len({(one.began, one.step_s, len(one.mean)) for one in found}) == 1
    assert found[0].mean[:3] == (None, None, None)


async def test_a_session_that_is_long_enough_asks_no_store(stage: Stage) -> None:
    await stage.go(120)
    kept(stage).asked.clear()
    await stage.past(LOAD, 60, 30, since=60)
    assert kept(stage).asked == []
    await stage.past(LOAD, 120, 30, since=-2)
    assert kept(stage).asked == [(LOAD,)]


async def test_time_in_which_nothing_was_seen_is_a_gap(stage: Stage) -> None:
    await stage.go(60)
    await stage.wait(60)
    await stage.go(60)
    found = await stage.past(LOAD, 180, 3)
    assert found.mean == (50, None, 50)


async def test_without_a_store_the_session_is_known() -> None:
    stage = Stage(store=None)
    await stage.go(240)
    assert (await stage.past(LOAD, 240, 2)).mean == (50, 50)
    assert await stage.recorder.usual_rate("kimi/c0ffee", 9) is None
    await stage.recorder.close()
    assert stage.told == []


async def test_a_store_that_fails_costs_the_history_and_one_sentence(stage: Stage) -> None:
    kept(stage).broken = True
    await stage.go(400)
    assert stage.told == ["history is not kept: the disk is full"]
    assert stage.recent(span_s=4) == (50, 50)
    assert (await stage.past(LOAD, 600, 2, since=-200)).mean == (50, 50)
    assert len(stage.told) == 1


async def test_a_store_that_comes_back_gets_what_memory_still_has(stage: Stage) -> None:
    kept(stage).broken = True
    await stage.go(200)
    kept(stage).broken = False
    await stage.go(RETRY_S + 60)
    assert min(kept(stage).told(LOAD)) == MINUTE


async def test_a_store_that_hangs_keeps_nobody_waiting(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "CLOSE_S", 0.01)
    kept(stage).held = asyncio.Event()
    for _ in range(200):
        stage.recorder.take([stage.node()], [stage.serves()])
        stage.clock.now += 2
        await asyncio.sleep(0)
    assert stage.recorder.busy
    assert stage.recent(span_s=2) == (50,)
    await stage.recorder.close()
    assert not stage.recorder.busy


async def test_whole_minutes_of_work_say_what_is_usual(stage: Stage) -> None:
    await stage.go(250, decode=600)
    config = config_of(stage.server)
    assert [(one.config, one.minute, one.running, one.tokens_per_s) for one in kept(stage).rates] == [
        (config, int(MINUTE) // 60 + at, 9, 600) for at in range(3)
    ]


async def test_a_minute_with_a_pause_says_nothing_of_what_is_usual(stage: Stage) -> None:
    await stage.go(60, decode=600)
    await stage.go(10, decode=0)
    await stage.go(180, decode=600)
    assert [one.minute - int(MINUTE) // 60 for one in kept(stage).rates] == [0, 2]


async def test_a_minute_across_a_restart_says_nothing_of_what_is_usual(stage: Stage) -> None:
    await stage.go(90)
    old = config_of(stage.server)
    stage.server = replace(
        stage.server, run=replace(RUN, run_id="20261129T163400Z-00fe", argv=(*RUN.argv, "--tp", "8"))
    )
    await stage.go(200)
    assert [(one.config, one.minute - int(MINUTE) // 60) for one in kept(stage).rates] == [
        (config_of(stage.server), at) for at in (2, 3)
    ]
    assert old != config_of(stage.server)


async def test_what_is_usual_is_asked_now_and_then(stage: Stage) -> None:
    kept(stage).usual["kimi/c0ffee"] = UsualRate(611.0, 8, 90)
    for _ in range(5):
        assert await stage.recorder.usual_rate("kimi/c0ffee", 9) == UsualRate(611.0, 8, 90)
    assert await stage.recorder.usual_rate("kimi/c0ffee", 15) is not None
    assert kept(stage).usual_asked == 1
    await stage.recorder.usual_rate("kimi/c0ffee", 16)
    stage.clock.now += USUAL_LASTS_S
    await stage.recorder.usual_rate("kimi/c0ffee", 9)
    assert kept(stage).usual_asked == 3

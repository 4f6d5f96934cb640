"""Alerts as a service: the list, the store, the bell, the command, and several k2tui at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from k2tui.core.alerts import Alert
from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.readings import DiskReading, HostReading, NodeReading, Xid
from k2tui.core.runs import Run
from k2tui.core.series import UsualRate
from k2tui.core.serving import ServingReading
from k2tui.core.settings import AlertSettings, NodeSettings, ServerSettings
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.services.alarm import COMMANDS, PER_S, WATCHED_S, Alarm, CommandRunner
from k2tui.services.doors import EventHistory, RateBaseline
from tests.fakes.clock import FakeClock
from tests.fakes.events import MemoryEvents
from tests.waiting import until

COMMAND = ("notify", "{text}")


@dataclass
class Runner:
    """A command that works, until it is told to be broken."""

    ran: list[tuple[tuple[str, ...], str]] = field(default_factory=list)
    broken: bool = False
    held: asyncio.Event | None = None
    done: int = 0
    """Commands that came to their end."""

    async def run(self, argv: Sequence[str], told: str) -> None:
        self.ran.append((tuple(argv), told))
        if self.held is not None:
            await self.held.wait()
        self.done += 1
        if self.broken:
            raise K2Error("the command for alerts, notify, failed (exit 1)", code="alert_command")

    @property
    def texts(self) -> list[str]:
        return [argv[1] for argv, _ in self.ran]


@dataclass
class Baseline:
    usual: float = 1000.0
    asked: list[tuple[str, float]] = field(default_factory=list)

    async def usual_rate(self, config: str, running: float) -> UsualRate | None:
        self.asked.append((config, running))
        return UsualRate(self.usual, 8, 60)


@dataclass
class Desk:
    """One k2tui, with what an operator there hears and reads."""

    clock: FakeClock
    alarm: Alarm
    heard: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    changes: int = 0
    servers: dict[str, ServerView] = field(default_factory=dict)
    nodes: dict[str, NodeView] = field(default_factory=dict)

    def see(self, server: str, status: ServerStatus, **changes: object) -> None:
        view = ServerView(ServerSettings(server, "gpu-a"), status)
        self.servers[server] = replace(view, **changes)  # type: ignore[arg-type]

    def look(self) -> None:
        self.alarm.look(tuple(self.nodes.values()), tuple(self.servers.values()))

    @property
    def holding(self) -> list[tuple[str, str]]:
        return [(one.rule, one.subject) for one in self.alarm.alerts() if one.ended_at is None]


def desk(
    store: EventHistory | None = None,
    runner: CommandRunner | None = None,
    *,
    clock: FakeClock | None = None,
    baseline: RateBaseline | None = None,
    settings: AlertSettings | None = None,
) -> Desk:
    clock = clock or FakeClock()
    settings = settings or AlertSettings(command=COMMAND)
    made: list[Desk] = []

    def tell(subject: str, text: str, severity: Severity) -> None:
        made[0].told.append(text)

    def changed() -> None:
        made[0].changes += 1

    alarm = Alarm(settings, clock=clock, tell=tell, on_change=changed, store=store, runner=runner, baseline=baseline)
    made.append(Desk(clock, alarm))
    alarm.on_raise = lambda alerts: made[0].heard.extend(alert.rule for alert in alerts)
    made[0].nodes["gpu-a"] = NodeView(NodeSettings("gpu-a", "gpu-a"), LinkState(LinkPhase.UP))
    return made[0]


async def ready(*desks: Desk) -> None:
    """Each has read what earlier k2tui left."""
    for each in desks:
        loading = each.alarm.load(tuple(each.nodes.values()), tuple(each.servers.values()))
        if loading is not None:
            await loading


async def test_a_crash_is_on_the_list_rings_and_runs_the_command_once() -> None:
    runner = Runner()
    one = desk(runner=runner)
    one.see("kimi", ServerStatus.CRASHED)
    for _ in range(3):
        one.look()
    await until(lambda: runner.ran)
    assert one.holding == [("server_crashed", "server/kimi")]
    assert one.heard == ["server_crashed"]
    ((argv, told),) = runner.ran
    assert argv == ("notify", "kimi: crashed")
    assert json.loads(told)["severity"] == "bad"
    assert one.changes == 1
    assert one.alarm.open_count == 1
    await one.alarm.close()


async def test_what_is_well_again_goes_down_the_list_and_is_told_to_nobody() -> None:
    runner = Runner()
    one = desk(MemoryEvents(), runner)
    one.see("kimi", ServerStatus.CRASHED)
    one.see("other", ServerStatus.HUNG)
    await ready(one)
    one.look()
    one.see("kimi", ServerStatus.READY)
    for _ in range(8):
        one.clock.now += 2
        one.look()
    assert [(alert.subject, alert.ended_at) for alert in one.alarm.alerts()] == [
        ("server/other", None),
        ("server/kimi", 1_000_000_102.0),
    ]
    await until(lambda: len(runner.ran) == 2)
    await one.alarm.close()


async def test_a_note_is_listed_and_not_heard() -> None:
    runner = Runner()
    one = desk(runner=runner)
    xid = Xid("PCI:0000:17:00", 45, "x", one.clock.time() - 60)
    one.nodes["gpu-a"] = replace(one.nodes["gpu-a"], reading=NodeReading(xids=(xid,)))
    one.look()
    assert one.holding == [("xid 45", "node/gpu-a")]
    assert (one.heard, runner.ran) == ([], [])
    await one.alarm.close()


async def test_without_a_bell_nothing_rings() -> None:
    one = desk(settings=AlertSettings(bell=False))
    one.see("kimi", ServerStatus.CRASHED)
    one.look()
    assert (one.holding, one.heard) == ([("server_crashed", "server/kimi")], [])


async def test_acknowledged_once_it_is_seen_here_in_the_store_and_in_the_next_k2tui() -> None:
    store = MemoryEvents()
    one = desk(store)
    one.see("kimi", ServerStatus.CRASHED)
    await ready(one)
    one.look()
    (alert,) = one.alarm.alerts()
    one.alarm.acknowledge(alert)
    seen = one.clock.time()
    one.clock.now += 50
    one.alarm.acknowledge(one.alarm.alerts()[0])
    assert one.alarm.alerts()[0].acknowledged_at == seen
    assert one.alarm.open_count == 0
    await one.alarm.close()
    assert store.alerts[alert.key].acknowledged_at == seen

    runner = Runner()
    two = desk(store, runner, clock=one.clock)
    two.see("kimi", ServerStatus.CRASHED)
    await ready(two)
    two.clock.now += 500
    two.look()
    assert two.alarm.alerts() == (replace(alert, acknowledged_at=seen),)
    assert (two.heard, runner.ran) == ([], [])
    two.see("kimi", ServerStatus.READY)
    two.look()
    await two.alarm.close()
    assert store.alerts[alert.key].ended_at == two.clock.time()


async def test_what_is_over_can_be_acknowledged_too() -> None:
    store = MemoryEvents()
    one = desk(store)
    one.see("kimi", ServerStatus.CRASHED)
    await ready(one)
    one.look()
    one.see("kimi", ServerStatus.READY)
    one.look()
    one.alarm.acknowledge(one.alarm.alerts()[0])
    assert one.alarm.alerts()[0].acknowledged_at == one.clock.time()
    await one.alarm.close()
    (kept,) = store.alerts.values()
    assert (kept.ended_at, kept.acknowledged_at) == (one.clock.time(), one.clock.time())


async def test_nothing_is_raised_before_the_store_has_told_what_holds() -> None:
    store = MemoryEvents(held=asyncio.Event())
    one = desk(store)
    one.see("kimi", ServerStatus.CRASHED)
    one.look()
    one.look()
    assert one.holding == []
    assert store.held is not None
    store.held.set()
    await ready(one)
    one.look()
    assert one.holding == [("server_crashed", "server/kimi")]
    await one.alarm.close()


async def test_alerts_of_another_config_are_left_alone() -> None:
    theirs = Alert("server_crashed", "server/theirs", "crashed", Severity.BAD, 999_999_000.0)
    gpu = Alert("gpu_hot", "gpu/gpu-b/1", "hot", Severity.WARNING, 999_999_000.0)
    ours = Alert("gpu_hot", "gpu/gpu-a/1", "hot", Severity.WARNING, 999_999_000.0)
    store = MemoryEvents(alerts={alert.key: alert for alert in (theirs, gpu, ours)})
    one = desk(store)
    await ready(one)
    one.look()
    assert one.holding == [("gpu_hot", "gpu/gpu-a/1")]
    await one.alarm.close()
    assert store.alerts[theirs.key] == theirs
    assert store.alerts[gpu.key] == gpu


async def test_of_several_k2tui_that_see_it_at_once_one_runs_the_command_and_all_have_one_alert() -> None:
    store, runner, clock = MemoryEvents(), Runner(), FakeClock()
    desks = [desk(store, runner, clock=clock) for _ in range(4)]
    await ready(*desks)
    for late, each in enumerate(desks):
        each.see("kimi", ServerStatus.CRASHED)
        clock.now += 0.3 * late
        each.look()
    await asyncio.gather(*(each.alarm.close() for each in desks))
    assert len(runner.ran) == 1
    assert len(store.alerts) == 1
    assert {each.alarm.alerts()[0].key for each in desks} == set(store.alerts)


async def test_a_crash_at_a_known_time_has_one_key_and_still_runs_one_command() -> None:
    store, runner, clock = MemoryEvents(), Runner(), FakeClock()
    desks = [desk(store, runner, clock=clock) for _ in range(3)]
    await ready(*desks)
    run = Run("kimi", "r", "/d", alive=False, exit_code=1, ended_at=clock.time() - 20)
    for each in desks:
        each.see("kimi", ServerStatus.CRASHED, run=run)
        each.look()
    await asyncio.gather(*(each.alarm.close() for each in desks))
    assert len(runner.ran) == len(store.alerts) == 1


async def test_a_plain_command_reads_what_a_k2tui_that_watches_keeps_and_raises_nothing() -> None:
    store, runner = MemoryEvents(), Runner()
    one, plain = desk(store), desk(store, runner)
    await ready(one)
    one.see("kimi", ServerStatus.CRASHED)
    one.look()
    await until(lambda: store.alerts)
    assert await plain.alarm.kept((), ()) is None  # no k2tui ever said that it looks
    store.left = plain.clock.time()
    views = tuple(one.nodes.values()), tuple(one.servers.values())
    assert await plain.alarm.kept(*views) == tuple(store.alerts.values())
    assert await plain.alarm.kept((), ()) == ()  # of another config
    plain.clock.advance(WATCHED_S + 1)
    assert await plain.alarm.kept(*views) is None
    store.broken = True
    assert await plain.alarm.kept(*views) is None
    assert runner.ran == []
    assert await desk().alarm.kept(*views) is None


async def test_what_was_acknowledged_elsewhere_is_acknowledged_here() -> None:
    store, clock = MemoryEvents(), FakeClock()
    one, two = desk(store, clock=clock), desk(store, clock=clock)
    await ready(one, two)
    for each in (one, two):
        each.see("kimi", ServerStatus.CRASHED)
        each.look()
    await until(lambda: one.alarm.alerts()[0].key == two.alarm.alerts()[0].key)
    one.alarm.acknowledge(one.alarm.alerts()[0])
    await until(lambda: any(alert.acknowledged_at for alert in store.alerts.values()))
    clock.now += 31
    two.look()
    await until(lambda: two.alarm.alerts()[0].acknowledged_at)
    await asyncio.gather(one.alarm.close(), two.alarm.close())


async def test_what_ended_or_was_seen_before_it_was_claimed_ends_as_the_one_that_was_there() -> None:
    store = MemoryEvents()
    one = desk(store)
    await ready(one)
    there = Alert("server_crashed", "server/kimi", "crashed", Severity.BAD, one.clock.time() - 10)
    store.alerts[there.key] = there
    one.see("kimi", ServerStatus.CRASHED)
    one.look()
    one.alarm.acknowledge(one.alarm.alerts()[0])
    one.see("kimi", ServerStatus.READY)
    one.look()
    await one.alarm.close()
    now = one.clock.time()
    assert list(store.alerts.values()) == [replace(there, ended_at=now, acknowledged_at=now)]


async def test_a_store_that_fails_costs_one_sentence_and_no_alert() -> None:
    runner, store = Runner(), MemoryEvents(broken=True)
    one = desk(store, runner)
    await ready(one)
    for name in ("kimi", "other"):
        one.see(name, ServerStatus.CRASHED)
        one.look()
    await until(lambda: len(runner.ran) == 2)
    assert len(one.holding) == 2
    assert one.told == ["history is not kept: the disk is full"]
    store.broken = False
    one.alarm.acknowledge(one.alarm.alerts()[0])
    await until(lambda: len(store.alerts) == 2)
    await one.alarm.close()


async def test_a_command_that_fails_is_said_once() -> None:
    runner = Runner(broken=True)
    one = desk(runner=runner)
    for number in range(3):
        one.see(f"s{number}", ServerStatus.CRASHED)
        one.look()
    await until(lambda: len(runner.ran) == 3)
    await one.alarm.close()
    assert one.told == ["the command for alerts, notify, failed (exit 1)"]


async def test_one_command_runs_at_a_time() -> None:
    runner = Runner(held=asyncio.Event())
    one = desk(runner=runner)
    for number in range(3):
        one.see(f"s{number}", ServerStatus.CRASHED)
    one.look()
    await until(lambda: runner.ran)
    await asyncio.sleep(0)
    assert len(runner.ran) == 1
    assert runner.held is not None
    runner.held.set()
    await until(lambda: len(runner.ran) == 3)
    await one.alarm.close()


async def test_many_at_once_are_a_few_commands_and_then_one_for_the_rest() -> None:
    runner = Runner()
    one = desk(runner=runner)
    for number in range(64):
        one.see(f"s{number}", ServerStatus.CRASHED)
    one.look()
    await until(lambda: one.clock.slept)
    assert len(runner.ran) == COMMANDS
    one.clock.advance(PER_S)
    await until(lambda: len(runner.ran) == COMMANDS + 1)
    assert runner.texts[-1] == f"s{COMMANDS}: crashed (and {63 - COMMANDS} more: server_crashed)"
    await one.alarm.close()


async def test_an_end_does_not_wait_for_commands_that_are_not_due_yet() -> None:
    runner = Runner()
    one = desk(runner=runner)
    for number in range(64):
        one.see(f"s{number}", ServerStatus.CRASHED)
    one.look()
    await until(lambda: one.clock.slept)
    await one.alarm.close()
    assert len(runner.ran) == COMMANDS


async def test_an_end_waits_for_the_command_that_runs() -> None:
    runner = Runner(held=asyncio.Event())
    one = desk(runner=runner)
    one.see("kimi", ServerStatus.CRASHED)
    one.look()
    await until(lambda: runner.ran)
    closing = asyncio.ensure_future(one.alarm.close())
    for _ in range(5):
        await asyncio.sleep(0)
    assert runner.held is not None
    runner.held.set()
    await closing
    assert runner.done == 1


async def test_a_rate_far_below_what_is_usual_is_told_and_the_baseline_is_asked_now_and_then() -> None:
    baseline = Baseline()
    one = desk(baseline=baseline)
    run = Run("kimi", "r", "/d", alive=True, argv=("python3", "-m", "sglang.launch_server"))
    for _ in range(100):
        one.clock.now += 2
        serving = ServingReading(one.clock.now, "loads", running=9, decode_tokens_per_s=600.0)
        one.see("kimi", ServerStatus.READY, run=run, serving=serving)
        one.look()
        await asyncio.sleep(0)
    assert one.holding == [("slow_decode", "server/kimi")]
    assert {running for _, running in baseline.asked} == {8}
    assert len(baseline.asked) == 4
    await one.alarm.close()


async def test_what_holds_and_is_out_of_sight_says_since_when_nobody_knows() -> None:
    one = desk()
    reading = NodeReading(host=HostReading(disks=(DiskReading("/data", 10**12, 10**9),)), host_at=one.clock.now)
    for _ in range(20):
        one.clock.now += 2
        one.nodes["gpu-a"] = replace(one.nodes["gpu-a"], reading=replace(reading, host_at=one.clock.now))
        one.look()
    assert one.holding == [("disk_full /data", "node/gpu-a")]
    before = one.changes
    one.clock.now += 300
    one.look()
    one.look()
    assert one.alarm.alerts()[0].unseen_since == one.clock.time()
    assert one.changes == before + 1

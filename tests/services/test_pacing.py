"""What is on screen reaches all who look at nodes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from k2tui.core.pace import Shown, hidden_for_s
from k2tui.services.pacing import PacedNode, Pacer
from tests.fakes.clock import FakeClock
from tests.waiting import until

BOTH = Shown(nodes=frozenset({"a", "b"}), node="a")
A_S, B_S = hidden_for_s("a"), hidden_for_s("b")
ONLY_B = Shown(nodes=frozenset({"b"}), node="b")


@dataclass
class Probe:
    """Remembers each new interval, as a node would start nvidia-smi anew for it."""

    intervals: list[float] = field(default_factory=lambda: [2.0])
    detailed: bool = False

    def set_interval(self, seconds: float) -> None:
        if seconds != self.intervals[-1]:
            self.intervals.append(seconds)


@dataclass
class Look:
    """Anything with a period."""

    period_s: float = 5.0


@dataclass
class World:
    """Two nodes and their pacer."""

    clock: FakeClock = field(default_factory=FakeClock)
    probes: dict[str, Probe] = field(default_factory=lambda: {"a": Probe(), "b": Probe()})
    scans: dict[str, Look] = field(default_factory=lambda: {"a": Look(), "b": Look()})

    def __post_init__(self) -> None:
        nodes = {name: PacedNode(self.probes[name], self.scans[name], Look()) for name in self.probes}
        self.pacer = Pacer(nodes, clock=self.clock)

    async def pass_time(self, seconds: float) -> None:
        self.clock.advance(seconds)
        for _ in range(5):
            await asyncio.sleep(0)


async def test_nothing_slows_down_before_anybody_said_what_is_shown() -> None:
    world = World()
    await world.pass_time(1000)
    assert (world.pacer.shown, world.probes["a"].intervals) == (None, [2.0])


async def test_a_node_slows_down_after_its_time_without_being_told_again() -> None:
    world = World()
    world.pacer.look_at(BOTH)
    world.pacer.look_at(ONLY_B)
    await until(lambda: world.clock.slept)
    await world.pass_time(A_S - 1)
    assert world.probes["a"].intervals == [2.0]
    await world.pass_time(1)
    assert world.probes["a"].intervals == [2.0, 10.0]
    assert world.probes["b"].intervals == [2.0]
    world.pacer.look_at(BOTH)
    assert world.probes["a"].intervals == [2.0, 10.0, 2.0]
    await world.pacer.close()


async def test_two_nodes_that_go_one_after_the_other_each_have_their_time() -> None:
    world = World()
    world.pacer.look_at(ONLY_B)
    await until(lambda: world.clock.slept)
    await world.pass_time(A_S - 5)
    world.pacer.look_at(Shown())
    await world.pass_time(5)
    assert (world.probes["a"].intervals[-1], world.probes["b"].intervals[-1]) == (10.0, 2.0)
    await until(lambda: len(world.clock.slept) > 1)
    await world.pass_time(B_S - 5)
    assert world.probes["b"].intervals[-1] == 10.0
    await world.pacer.close()


async def test_who_comes_back_in_time_changed_nothing() -> None:
    world = World()
    world.pacer.look_at(Shown())
    await until(lambda: world.clock.slept)
    await world.pass_time(min(A_S, B_S) / 2)
    world.pacer.look_at(BOTH)
    await world.pass_time(10 * max(A_S, B_S))
    assert world.probes["a"].intervals == world.probes["b"].intervals == [2.0]
    await world.pacer.close()


async def test_a_detached_terminal_slows_everything() -> None:
    world = World()
    world.pacer.look_at(BOTH)
    assert (world.probes["a"].detailed, world.scans["a"].period_s) == (True, 5.0)
    world.pacer.look_at(Shown(nodes=BOTH.nodes, node="a", attached=False))
    assert (world.probes["a"].detailed, world.scans["a"].period_s) == (False, 20.0)
    await until(lambda: world.clock.slept)
    await world.pass_time(max(A_S, B_S))
    assert [probe.intervals[-1] for probe in world.probes.values()] == [10.0, 10.0]
    await world.pacer.close()

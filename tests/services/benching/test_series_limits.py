"""A launch may take so long; what comes before and after it, and a link that is lost, does not count."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from k2tui.core.verbs import VerbEvent
from k2tui.services.benching.limits import TICK_S, TimeUp, within
from tests.fakes.clock import FakeClock
from tests.waiting import until


@dataclass
class Launch:
    """Steps of a restart that come when the test says so."""

    clock: FakeClock = field(default_factory=FakeClock)
    up: bool = True
    told: list[str] = field(default_factory=list)
    closed: bool = False
    _next: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def _steps(self) -> AsyncIterator[VerbEvent]:
        try:
            while (kind := await self._next.get()) != "end":
                yield VerbEvent(kind, "kimi", 0.0, kind)
        finally:
            self.closed = True

    def follow(self, limit_s: float) -> asyncio.Task[None]:
        async def told() -> None:
            async for step in within(self._steps(), limit_s, clock=self.clock, is_up=lambda: self.up):
                self.told.append(step.type)

        return asyncio.ensure_future(told())

    async def say(self, kind: str) -> None:
        self._next.put_nowait(kind)
        await until(lambda: kind in self.told)

    async def pass_s(self, seconds: int) -> None:
        """So many seconds, a tick at a time."""
        for _ in range(seconds):
            naps = len(self.clock.slept)
            self.clock.advance(TICK_S)
            for _ in range(20):
                await asyncio.sleep(0)
                if len(self.clock.slept) > naps:
                    break


async def test_a_launch_that_comes_to_no_end_is_ended_at_its_limit() -> None:
    launch = Launch()
    following = launch.follow(10.0)
    await launch.say("started")
    await launch.pass_s(9)
    assert not following.done()
    await launch.pass_s(2)
    with pytest.raises(TimeUp):
        await following
    assert launch.closed


async def test_the_stop_before_it_and_the_proof_after_it_take_their_own_time() -> None:
    launch = Launch()
    following = launch.follow(10.0)
    await launch.say("stopping")
    await launch.pass_s(60)
    await launch.say("started")
    await launch.pass_s(8)
    await launch.say("ready")
    await launch.pass_s(60)
    await launch.say("done")
    launch._next.put_nowait("end")
    await following
    assert launch.told == ["stopping", "started", "ready", "done"]


async def test_time_in_which_the_node_is_out_of_reach_does_not_count() -> None:
    launch = Launch()
    following = launch.follow(10.0)
    await launch.say("started")
    launch.up = False
    await launch.pass_s(100)
    assert not following.done()
    launch.up = True
    await launch.pass_s(12)
    with pytest.raises(TimeUp):
        await following


async def test_whoever_goes_away_ends_the_restart_too() -> None:
    launch = Launch()
    following = launch.follow(10.0)
    await launch.say("started")
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following
    await until(lambda: launch.closed)

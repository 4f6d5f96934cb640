"""A list of GPU processes that is asked for now, for a preflight that must not judge by an old one."""

from __future__ import annotations

import asyncio

from tests.fakes.links import FakeLink
from tests.services.test_node_watch import GPU_ROW, Make, told, watched
from tests.waiting import until

__all__ = ["watched"]
"""The fixture, which pytest finds by its name here."""


async def test_a_list_of_processes_that_is_asked_for_is_waited_for_and_so_are_figures_that_it_does_not_account_for(
    watched: Make,
) -> None:
    one = watched(FakeLink())
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    rows = ("fields 580.1 index,uuid,memory.used", "gpu 0, GPU-0, 90000")
    stream.say("hello k2p1 boot=b1 up=10.00", *rows, "tick up=10")
    await until(lambda: told(stream, "ask processes"))
    listing = asyncio.ensure_future(one.watch.list_processes(60.0))
    await until(lambda: len(told(stream, "ask processes")) == 2)
    one.clock.now += 1.0
    stream.say("began app", "ended app 0")  # whose memory it was has ended since
    await until(lambda: one.watch.reading.gpu_processes_at == one.clock.now)
    assert not listing.done()
    one.clock.now += 1.0
    stream.say("gpu 0, GPU-0, 5", "tick up=12")
    await listing
    assert one.watch.reading.gpus[0].memory_used_mib == 5


async def test_a_probe_that_ends_lets_nobody_wait_for_a_list_of_processes(watched: Make) -> None:
    one = watched(FakeLink())
    await one.watch.list_processes(60.0)  # there is no probe yet
    await until(lambda: one.link.streams)
    stream = one.link.streams[0]
    stream.say("hello k2p1 boot=b1 up=10.00", *GPU_ROW, "tick up=10")
    await until(lambda: told(stream, "ask processes"))
    listing = asyncio.ensure_future(one.watch.list_processes(60.0))
    await until(lambda: len(told(stream, "ask processes")) == 2)
    stream.end()
    await listing

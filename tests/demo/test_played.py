"""Played nodes speak as the real one does that they were taken from."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from k2tui.adapters.links import make_link
from k2tui.adapters.scripts import script
from k2tui.core.link import LinkPhase
from k2tui.core.probing.reader import ProbeReader
from k2tui.core.runs import is_whole, parse_scan
from k2tui.demo.played import STAGE, PlayedFleet
from k2tui.services.doors import NodeLink, RealClock, RemoteStream, Script
from k2tui.services.follow import LogFollower
from k2tui.services.run_scan import watching_script
from k2tui.services.runs import RunKeeper, RunScripts

GPUS = 8
PROBE = ("1", "", "", "/", "/dev/shm")


def form(line: bytes) -> str:
    """A line without its figures: what is left is how it is built."""
    return re.sub(r"-?\d+(\.\d+)?", "N", re.sub(r"=\S+?=|GPU-\S+,|0x\w+", "X", line.decode()))


async def said(stream: RemoteStream, ticks: int) -> list[bytes]:
    """What a probe says up to its last of so many ticks."""
    lines: list[bytes] = []
    while sum(line.startswith(b"tick ") for line in lines) < ticks:
        lines.append(await stream.readline())
        assert lines[-1]
    return lines


@pytest.fixture
async def fleet() -> AsyncIterator[PlayedFleet]:
    async with PlayedFleet(3) as made:
        yield made


@pytest.fixture
async def link(fleet: PlayedFleet, tmp_path: Path) -> AsyncIterator[NodeLink]:
    """The way to the last of its nodes."""
    (tmp_path / "known_hosts").write_text(fleet.known_hosts(), encoding="ascii")
    made = make_link(fleet.settings.nodes["gpu-c"], trusted_hosts=tmp_path / "known_hosts", ssh_config=())
    yield made
    await made.close()


async def test_a_probe_is_played_as_the_script_speaks(fleet: PlayedFleet, link: NodeLink) -> None:
    real_link = fleet.demo.make_link(fleet.demo.settings.nodes[STAGE])
    streams = [await each.open(script("probe"), PROBE) for each in (link, real_link)]
    played, real = await asyncio.gather(*(said(stream, 7) for stream in streams))
    assert {form(line) for line in played} == {form(line) for line in real}
    for stream in streams:
        await stream.close()
    await real_link.close()


async def test_played_figures_move_and_counters_only_grow(link: NodeLink) -> None:
    stream = await link.open(script("probe"), PROBE)
    reader, seen = ProbeReader(1.0), set()
    for number, line in enumerate(await said(stream, 8)):
        reader.feed(line.decode(), float(number), 0.0)
        seen |= {gpu.power_w for gpu in reader.reading.gpus}
    await stream.close()
    assert len(reader.reading.gpus) == GPUS
    assert len(seen) > GPUS
    assert reader.reading.host.cpu_percent is not None


async def test_a_played_probe_takes_a_new_interval_and_answers(link: NodeLink) -> None:
    stream = await link.open(script("probe"), ("3600", *PROBE[1:]))
    await said(stream, 1)
    await stream.write(b"ping here\nask processes\ninterval 1 - index\n")
    lines = await said(stream, 2)
    assert b"pong here\n" in lines
    assert any(line.startswith(b"app ") for line in lines)
    await stream.close()


async def test_runs_logs_and_answers_are_the_nodes_own(fleet: PlayedFleet, link: NodeLink) -> None:
    settings = fleet.settings.nodes["gpu-c"]
    (run,) = await RunKeeper(link, settings, RunScripts(script)).scan()
    assert (run.server, run.alive) == ("kimi-c", True)
    watching = await link.open(watching_script(script), (settings.home, "1"))
    told = b""
    while not is_whole(told):
        told += await watching.readline()
    assert parse_scan(told) == (run,)
    assert await watching.readline() == b"same\n"
    await watching.close()
    follower = LogFollower(link, script("follow"), run.log_path, clock=RealClock())
    got = b""
    async for chunk in follower.chunks():
        got += chunk.data
        if len(got) >= len(fleet.log.data):
            break
    await follower.close()
    assert b"ready to roll" in got
    server = fleet.settings.servers["kimi-c"]
    assert server.port is not None
    http = link.http(server.port)
    assert (await http.ask("GET", "/v1/loads")).status == 200
    await http.aclose()


async def test_a_follower_goes_on_where_it_was(fleet: PlayedFleet, link: NodeLink) -> None:
    whole = bytes(fleet.log.data)
    first = LogFollower(link, script("follow"), "/any/log", clock=RealClock())
    async for chunk in first.chunks():
        if chunk.data:
            break
    await first.close()
    later = LogFollower(link, script("follow"), "/any/log", clock=RealClock(), inode=first.inode, offset=100)
    async for chunk in later.chunks():
        if chunk.data:
            assert chunk.offset == 100
            assert whole[100:].startswith(chunk.data[: len(whole) - 100])
            break
    await later.close()


async def test_nothing_is_started_on_a_played_node(link: NodeLink) -> None:
    done = await link.run(Script("launch", "echo started"))
    assert (done.code, done.stdout) == (1, b"")


async def test_a_cut_node_says_nothing_more_and_the_others_go_on(
    fleet: PlayedFleet, link: NodeLink, tmp_path: Path
) -> None:
    other = make_link(fleet.settings.nodes["gpu-a"], trusted_hosts=tmp_path / "known_hosts", ssh_config=())
    await asyncio.gather(link.connect(), other.connect())
    fleet.cut(["gpu-c"])
    waiting = asyncio.ensure_future(link.run(Script("echo", "echo here")))
    assert (await other.run(Script("echo", "echo here"))).stdout == b"here\n"
    assert not waiting.done()
    fleet.mend()
    assert (await waiting).stdout == b"here\n"
    assert link.state.phase is other.state.phase is LinkPhase.UP
    await other.close()

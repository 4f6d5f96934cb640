"""The list of a node's runs is as fresh as somebody wants it, and costs nothing while nothing changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import nullcontext

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings
from k2tui.services.doors import Completed, Script
from k2tui.services.run_scan import LEAST_SILENCE_S, RunScan
from k2tui.services.runs import RunKeeper, RunScripts
from tests.fakes.clock import FakeClock
from tests.fakes.links import FakeLink
from tests.waiting import until

EMPTY = ("k2runs 1 boot 1", "k2end")
ONE = (
    "k2runs 1 boot 2",
    "run 1 /home/k/runs/kimi/20261101T101010Z-abcd",
    '/home/k/runs/kimi/20261101T101010Z-abcd/state.json:{"boot_id":"boot","session_id":7}',
    "k2end",
)
WATCHING = Script("watch_runs", "")


class ScannedLink(FakeLink):
    """Answers each scan that is a script of its own by what `scans` says."""

    scans = "\n".join(EMPTY)

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        return Completed(0, self.scans.encode(), b"")


class Scanned:
    """A scan of a node, and how often it told of a change."""

    def __init__(self, watching: Script | None) -> None:
        self.link, self.clock, self.changes = ScannedLink(), FakeClock(), 0
        node = NodeSettings("gpu-a", "gpu-a", home="/home/k")
        keeper = RunKeeper(self.link, node, RunScripts(lambda name: Script(name, "")))
        self.scan = RunScan(
            self.link, keeper, clock=self.clock, on_change=self.changed, watching=watching, home=node.home
        )

    def changed(self) -> None:
        self.changes += 1

    def names(self) -> list[str]:
        return [run.server for run in self.scan.runs]

    async def started(self) -> None:
        """Until the script is there."""
        await self.link.connect()
        self.scan.start()
        await until(lambda: self.link.streams)


@pytest.fixture
async def watched() -> AsyncIterator[Scanned]:
    made = Scanned(WATCHING)
    await made.started()
    yield made
    await made.scan.close()


@pytest.fixture
async def asked() -> AsyncIterator[Scanned]:
    made = Scanned(None)
    await made.link.connect()
    made.scan.start()
    yield made
    await made.scan.close()


async def test_what_the_node_says_is_the_list(watched: Scanned) -> None:
    (stream,) = watched.link.streams
    stream.say(*EMPTY)
    await until(lambda: watched.scan.at is not None)
    assert watched.scan.runs == ()
    stream.say(*ONE)
    await until(lambda: watched.names() == ["kimi"])
    assert watched.link.asked == [("/home/k", "5")]


async def test_a_list_that_is_the_same_is_as_fresh_as_the_word(watched: Scanned) -> None:
    (stream,) = watched.link.streams
    stream.say(*ONE)
    await until(lambda: watched.names() == ["kimi"])
    before: tuple[Run, ...] = watched.scan.runs
    watched.clock.advance(5)
    stream.say("same")
    await until(lambda: watched.scan.at == watched.clock.now)
    assert watched.scan.runs is before
    assert watched.changes == 2


async def test_a_list_that_breaks_off_changes_nothing(watched: Scanned) -> None:
    watched.link.streams[0].say(*ONE[:-1])
    watched.link.streams[0].end()
    await until(lambda: watched.link.streams[0].closed)
    assert (watched.scan.at, watched.scan.runs) == (None, ())


@pytest.mark.parametrize(
    ("period_s", "busy", "said"),
    [(10.0, False, [b"period 10\n"]), (5.0, True, [b"period 2\n"]), (20.0, True, [b"period 2\n"]), (5.0, False, [])],
)
async def test_a_new_period_is_told_to_the_script(
    watched: Scanned, period_s: float, busy: bool, said: list[bytes]
) -> None:
    watched.link.streams[0].say(*EMPTY)
    await until(lambda: watched.scan.at is not None)
    with watched.scan.changing() if busy else nullcontext():
        watched.scan.period_s = period_s
        await until(lambda: watched.link.streams[0].heard == said)


async def test_of_two_changes_at_once_the_last_that_ends_slows_the_script_down(watched: Scanned) -> None:
    watched.link.streams[0].say(*EMPTY)
    await until(lambda: watched.scan.at is not None)
    heard = watched.link.streams[0].heard
    with watched.scan.changing():
        with watched.scan.changing():
            await until(lambda: heard == [b"period 2\n"])
        await asyncio.sleep(0)
        assert heard == [b"period 2\n"]
    await until(lambda: heard == [b"period 2\n", b"period 5\n"])


async def test_a_period_that_was_asked_for_before_is_what_the_script_starts_with() -> None:
    made = Scanned(WATCHING)
    made.scan.period_s = 20.0
    await made.started()
    assert made.link.asked == [("/home/k", "20")]
    await made.scan.close()


async def test_a_script_that_fell_silent_is_started_anew(watched: Scanned) -> None:
    watched.link.streams[0].say(*EMPTY)
    await until(lambda: watched.scan.at is not None)
    while len(watched.link.streams) < 2:
        watched.clock.advance(LEAST_SILENCE_S)
        await asyncio.sleep(0)
    assert watched.link.streams[0].closed


async def test_a_lost_link_is_no_problem_of_the_list_and_it_goes_on_afterwards(watched: Scanned) -> None:
    watched.link.streams[0].say(*ONE)
    await until(lambda: watched.names() == ["kimi"])
    watched.link.lose()
    await until(lambda: watched.link.streams[0].closed)
    assert (watched.scan.problem, watched.names()) == (None, ["kimi"])
    await watched.link.connect()
    while len(watched.link.streams) < 2:
        watched.clock.advance(5)
        await asyncio.sleep(0)
    watched.link.streams[1].say(*EMPTY)
    await until(lambda: watched.names() == [])


async def test_without_such_a_script_each_look_is_one_of_its_own(asked: Scanned) -> None:
    await until(lambda: asked.clock.slept)
    asked.link.scans = "\n".join(ONE)
    assert asked.names() == []
    asked.clock.advance(5)
    await until(lambda: asked.names() == ["kimi"])
    assert asked.link.streams == []


async def test_an_answer_that_is_no_list_is_told_once_the_link_is_up(asked: Scanned) -> None:
    asked.link.scans = "nonsense"
    asked.clock.advance(5)
    await until(lambda: asked.scan.problem is not None)
    asked.link.scans = "\n".join(ONE)
    asked.clock.advance(5)
    await until(lambda: asked.scan.problem is None)


async def test_a_look_can_be_had_at_once(watched: Scanned) -> None:
    watched.link.scans = "\n".join(ONE)
    assert [run.server for run in await watched.scan.look()] == ["kimi"]
    watched.link.scans = "nonsense"
    with pytest.raises(K2Error, match="broke off"):
        await watched.scan.look()

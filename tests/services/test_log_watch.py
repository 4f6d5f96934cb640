"""One log that is watched: years for stamps without one, a link that comes back, and faults of our own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.clock import log_clock
from k2tui.core.intake import LogIntake
from k2tui.services.doors import RealClock
from k2tui.services.log_watch import LogScripts, LogWatch
from tests.fakes.log_link import LogLink
from tests.waiting import until

TEN = log_clock("2026-11-29 10:00:00")


@dataclass
class NodeClock:
    """The log clock of a node; goes on by `step_s` at each look."""

    at: float | None = TEN
    step_s: float = 0.0

    def __call__(self) -> float | None:
        if self.at is not None:
            self.at += self.step_s
        return self.at


@asynccontextmanager
async def watching(link: LogLink, now: NodeClock) -> AsyncIterator[LogWatch]:
    watch = LogWatch(link, LogScripts(script), "/log", clock=RealClock(), log_now=now, on_change=lambda: None)
    watch.start()
    try:
        yield watch
    finally:
        await watch.close()


async def read(watch: LogWatch, link: LogLink) -> None:
    await until(lambda: watch.caught_up and watch.intake.bytes_seen >= len(link.data), "the end of the log")


def at(clock: str, message: str = "Load weight begin. avail mem=80 GB") -> str:
    return f"[2026-11-29 {clock}] {message}\n"


async def test_stamps_without_a_year_are_of_this_year_from_the_first_byte_on() -> None:
    link = LogLink(b"INFO 11-29 09:59:50 [core.py:1] hello\n")
    async with watching(link, NodeClock()) as watch:
        await read(watch, link)
        assert watch.intake.last_stamp == TEN - 10
        link.replace("INFO 11-29 09:59:55 [core.py:1] hello again\n")
        await until(lambda: watch.intake.last_stamp == TEN - 5)


async def test_the_year_is_known_before_the_node_told_its_clock() -> None:
    link = LogLink(b"INFO 11-29 09:59:50 [core.py:1] hello\n")
    async with watching(link, NodeClock(None)) as watch:
        await read(watch, link)
        assert watch.intake.last_stamp is not None
        assert watch.intake.last_stamp > log_clock("2002-01-01 00:00:00")


async def test_what_was_written_while_the_link_was_lost_is_no_other_time_zone() -> None:
    now = NodeClock(TEN - 10)
    link = LogLink(at("09:59:40", "server_args=ServerArgs(model_path='/m', tp_size=1)").encode(), chunk=64)
    async with watching(link, now) as watch:
        await read(watch, link)
        await link.lose()
        for second in range(0, 40, 5):
            link.write(at(f"10:00:{second:02}"))
        now.at, now.step_s = TEN + 2730, 3.0  # back at 10:45:30; the backlog comes in many pieces
        link.come_back()
        await read(watch, link)
        now.step_s = 0.0
        launch = watch.intake.observe(now=now(), process_alive=True)
        assert launch.clock_ahead_s == 0
        assert launch.silence_s is not None
        assert launch.silence_s > 2600


async def test_what_comes_after_the_backlog_is_live() -> None:
    now = NodeClock()
    link = LogLink(at("09:59:40").encode())
    async with watching(link, now) as watch:
        await read(watch, link)
        await link.lose()
        link.come_back()
        await until(lambda: len(link.streams) == 2)
        link.write("Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.0it/s]\n")
        await until(lambda: watch.intake.launch.quiet_since == TEN)


async def test_a_fault_of_ours_costs_a_slice_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = LogIntake.feed

    def poisoned(self: LogIntake, data: bytes, now: float | None = None) -> None:
        if b"poison" in data:
            raise ValueError("day is out of \x1brange")
        feed(self, data, now)

    monkeypatch.setattr(LogIntake, "feed", poisoned)
    link = LogLink(b"one\n")
    async with watching(link, NodeClock()) as watch:
        await until(lambda: watch.caught_up)
        assert watch.problem is None
        link.write("poison\n")
        await until(lambda: watch.problem)
        link.write("two\n")
        await until(lambda: len(watch.ring) == 2)
        assert watch.problem == "log /log could not be read here: ValueError: day is out of  range"


async def test_a_fault_of_whoever_is_told_ends_no_watch() -> None:
    changes = 0

    def changed() -> None:
        nonlocal changes
        changes += 1
        raise RuntimeError("the screen is gone")

    link = LogLink(b"one\n")
    watch = LogWatch(link, LogScripts(script), "/log", clock=RealClock(), log_now=NodeClock(), on_change=changed)
    watch.start()
    await until(lambda: changes)
    link.write("two\n")
    await until(lambda: len(watch.ring) == 2)
    await watch.close()


async def test_a_follower_that_says_nonsense_is_begun_again() -> None:
    link = LogLink(b"one\n")
    async with watching(link, NodeClock()) as watch:
        await read(watch, link)
        link.streams[-1].say(b"x" * (1 << 18))  # a line beyond any limit
        await until(lambda: len(link.streams) == 2)
        link.write("two\n")
        await until(lambda: len(watch.ring) == 2)

"""A drain waits for the requests that run, tells their number, and never without an end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from k2tui.core.verbs import VerbEvent
from k2tui.services.stopping import DRAIN_POLL_S, drained
from k2tui.services.verb_tools import Teller, Tools
from tests.fakes.clock import FakeClock


class Draining:
    """A server that has so many requests at each question; the last number stays."""

    def __init__(self, *running: int | None) -> None:
        self._running = list(running)
        self.doing: list[str | None] = []

    async def running_requests(self) -> int | None:
        return self._running.pop(0) if len(self._running) > 1 else self._running[0]

    def mark(self, doing: str | None) -> None:
        self.doing.append(doing)


async def told(server: Draining, limit_s: float) -> list[VerbEvent]:
    """All steps of the drain; time passes as soon as it is waited for."""
    clock, rest = FakeClock(), [None] * 6
    watch: Any = server
    nothing: Any = rest
    tools = Tools(watch, nothing, nothing, nothing, clock, "ana@jump", nothing, nothing, nothing)
    steps: list[VerbEvent] = []

    async def play() -> None:
        async for step in drained(tools, Teller("kimi", clock), limit_s):
            steps.append(step)

    playing = asyncio.ensure_future(play())
    while not playing.done():
        await asyncio.sleep(0)
        clock.advance(DRAIN_POLL_S)
    await playing
    return steps


@pytest.mark.parametrize(
    ("running", "counts", "last"),
    [
        ((0,), [0], "no request is running"),
        ((2, 2, 1, 0), [2, 1, 0], "no request is running"),
        ((3,), [3, 3], "3 requests did not end within 10 s"),
        ((1,), [1, 1], "1 request did not end within 10 s"),
        ((None,), [None, None], "an unknown number of requests did not end within 10 s"),
        ((None, 1, 0), [None, 1, 0], "no request is running"),
    ],
)
async def test_each_change_of_their_number_is_told(
    running: tuple[int | None, ...], counts: list[int | None], last: str
) -> None:
    server = Draining(*running)
    steps = await told(server, 10.0)
    assert [step.data["running"] for step in steps] == counts
    assert (steps[-1].text, {step.type for step in steps}) == (last, {"drain"})
    assert server.doing == ["draining"]


async def test_an_unknown_number_says_so_and_how_long_it_waits() -> None:
    first = (await told(Draining(None), 10.0))[0]
    assert first.text == "how many requests run can't be told; they are given 10 s"
    assert first.data == {"running": None, "left_s": 10.0}

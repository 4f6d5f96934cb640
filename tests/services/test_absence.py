"""Who was away for long is told what happened, as the nodes come in; and each minute is noted as looked at."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from k2tui.core.absence import SHORTEST_S
from k2tui.core.events import Event, Severity
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.readings import NodeReading
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.core.views import NodeView, ServerStatus, ServerView
from k2tui.services.absence import AGAIN_S, GATHERS_S, LOOKING_S, AbsenceWatch
from tests.fakes.clock import FakeClock
from tests.fakes.events import MemoryEvents
from tests.waiting import until


@dataclass
class Visit:
    """An app that opens after somebody was away."""

    store: MemoryEvents | None
    clock: FakeClock = field(default_factory=FakeClock)
    told: list[str] = field(default_factory=list)
    changes: int = 0

    def __post_init__(self) -> None:
        def tell(subject: str, text: str, severity: Severity) -> None:
            self.told.append(text)

        def changed() -> None:
            self.changes += 1

        self.watch = AbsenceWatch(self.store, clock=self.clock, tell=tell, on_change=changed)
        self.node = NodeView(NodeSettings("gpu-a", "gpu-a"), LinkState(LinkPhase.CONNECTING))
        self.server = ServerView(ServerSettings("kimi", "gpu-a", profile="base"))

    async def open(self) -> None:
        """Until the first minute is noted as looked at."""
        self.watch.open()
        await until(lambda: self.clock.slept)

    def look(self) -> None:
        self.watch.look((self.node,), (self.server,))

    def answer(self) -> None:
        """The node tells all that it keeps: a run that crashed an hour ago."""
        reading = NodeReading(host_at=1.0, xids_at=1.0, clock_offset_s=0.0)
        self.node = replace(self.node, link=LinkState(LinkPhase.UP), reading=reading)
        ended = self.clock.time() - 3600
        run = Run("kimi", "r", "/d", alive=False, exit_code=1, ended_at=ended, started_at=int(ended) - 90_000)
        self.server = replace(self.server, status=ServerStatus.CRASHED, run=run, runs=(run,), seen_at=1.0)

    @property
    def texts(self) -> list[str]:
        return [] if self.watch.absence is None else [event.text for event in self.watch.absence.events]


def away(seconds: float) -> Visit:
    """The last look was so long ago."""
    visit = Visit(MemoryEvents())
    assert visit.store is not None
    visit.store.left = visit.clock.time() - seconds
    return visit


async def test_what_happened_comes_in_as_the_nodes_answer() -> None:
    visit = away(8 * 3600)
    await visit.open()
    visit.look()
    assert visit.watch.absence is not None
    assert (visit.texts, visit.watch.absence.complete) == ([], False)
    visit.answer()
    visit.look()
    assert (visit.texts, visit.watch.absence.complete) == (["crashed (exit 1)"], True)
    assert visit.watch.absence.back_at - visit.watch.absence.left_at == 8 * 3600
    await visit.watch.close()


async def test_a_node_out_of_reach_holds_nothing_up_and_is_told_of_when_it_comes_back() -> None:
    visit = away(8 * 3600)
    await visit.open()
    visit.node = replace(visit.node, link=LinkState(LinkPhase.DOWN, reason="no answer"))
    visit.look()
    assert visit.watch.absence is not None
    assert (visit.texts, visit.watch.absence.complete) == (["out of reach: no answer"], True)
    visit.answer()
    visit.look()
    assert visit.texts == ["out of reach: no answer"]
    visit.clock.now += AGAIN_S
    visit.look()
    assert visit.texts == ["crashed (exit 1)"]
    await visit.watch.close()


async def test_what_others_noted_is_told_too() -> None:
    visit = away(8 * 3600)
    assert visit.store is not None
    visit.store.events.append(Event(visit.clock.time() - 7200, "kimi", "hung", Severity.BAD))
    await visit.open()
    visit.look()
    assert visit.texts == ["hung"]
    await visit.watch.close()


async def test_nothing_changes_where_there_is_no_news_and_after_a_while_nobody_asks_any_more() -> None:
    visit = away(8 * 3600)
    await visit.open()
    visit.answer()
    visit.look()
    changes = visit.changes
    for _ in range(10):
        visit.clock.now += AGAIN_S
        visit.look()
    assert visit.changes == changes
    visit.clock.now += GATHERS_S
    visit.server = replace(visit.server, runs=(), run=None)
    visit.look()
    assert visit.texts == ["crashed (exit 1)"]
    await visit.watch.close()


@pytest.mark.parametrize("seconds", [0.0, SHORTEST_S - 1, -3600.0])
async def test_who_was_away_for_a_moment_missed_nothing(seconds: float) -> None:
    visit = away(seconds)
    await visit.open()
    visit.answer()
    visit.look()
    assert visit.watch.absence is None
    await visit.watch.close()


async def test_the_first_visit_ever_is_no_absence() -> None:
    visit = Visit(MemoryEvents())
    await visit.open()
    visit.look()
    assert visit.watch.absence is None
    await visit.watch.close()


async def test_each_minute_is_noted_as_looked_at_and_so_is_the_end() -> None:
    visit = Visit(MemoryEvents())
    assert visit.store is not None
    await visit.open()
    opened = visit.clock.time()
    assert visit.store.left == opened
    visit.clock.advance(LOOKING_S)
    await until(lambda: visit.store is not None and visit.store.left == opened + LOOKING_S)
    visit.clock.now += 20
    await visit.watch.close()
    assert visit.store.left == opened + LOOKING_S + 20


async def test_who_never_opened_never_looked() -> None:
    visit = away(8 * 3600)
    assert visit.store is not None
    left = visit.store.left
    visit.look()
    await visit.watch.close()
    assert visit.store.left == left


async def test_a_store_that_fails_costs_one_sentence() -> None:
    visit = Visit(MemoryEvents(broken=True))
    await visit.open()
    visit.look()
    visit.clock.advance(LOOKING_S)
    await until(lambda: len(visit.clock.slept) == 2)
    await visit.watch.close()
    assert visit.told == ["history is not kept: the disk is full"]


async def test_without_a_store_there_is_nothing_to_tell() -> None:
    visit = Visit(None)
    visit.watch.open()
    visit.look()
    await visit.watch.close()
    assert visit.watch.absence is None


async def test_a_store_that_hangs_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("k2tui.services.absence.CLOSE_S", 0.01)
    visit = Visit(MemoryEvents(held=asyncio.Event()))
    visit.watch.open()
    await asyncio.sleep(0)
    closing = asyncio.ensure_future(visit.watch.close())
    await until(closing.done)
    assert visit.watch.absence is None

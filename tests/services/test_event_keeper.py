"""Events reach the store in batches, whatever comes, and the next k2tui reads them."""

from __future__ import annotations

import asyncio

from k2tui.core.events import Event, Severity
from k2tui.services.event_keeper import BATCH_S, MOST_AT_ONCE, MOST_WAITING, REMEMBERED_S, RETRY_S, EventKeeper
from tests.fakes.clock import FakeClock
from tests.fakes.events import MemoryEvents
from tests.waiting import until


def event(number: int, clock: FakeClock) -> Event:
    return Event(clock.time(), "kimi", f"event {number}")


def keeper(store: MemoryEvents | None, told: list[str] | None = None) -> tuple[EventKeeper, FakeClock]:
    clock = FakeClock()

    def tell(subject: str, text: str, severity: Severity) -> None:
        assert told is not None
        told.append(text)

    return EventKeeper(store, clock=clock, tell=tell), clock


async def test_what_comes_within_a_second_is_written_together_and_in_order() -> None:
    store = MemoryEvents()
    one, clock = keeper(store)
    for number in range(30):
        one.keep(event(number, clock))
    await until(lambda: clock.slept == [BATCH_S])
    assert store.batches == []
    clock.advance(BATCH_S)
    await until(lambda: store.batches)
    assert store.batches == [30]
    assert [kept.text for kept in store.events] == [f"event {number}" for number in range(30)]
    await one.close()


async def test_a_burst_costs_a_few_writes_and_what_is_too_much_is_said() -> None:
    store = MemoryEvents()
    one, clock = keeper(store)
    for number in range(MOST_WAITING + 7):
        one.keep(event(number, clock))
    await one.close()
    assert len(store.batches) == MOST_WAITING // MOST_AT_ONCE
    assert store.events[0].text == "7 events were not kept: they came too fast"
    assert store.events[1].text == "event 7"
    assert len(store.events) == MOST_WAITING + 1


async def test_the_next_k2tui_reads_what_the_last_one_kept() -> None:
    store = MemoryEvents()
    one, clock = keeper(store)
    store.events.append(Event(clock.time() - REMEMBERED_S - 1, "kimi", "long ago"))
    one.keep(event(1, clock))
    await one.close()
    two, _ = keeper(store)
    assert [kept.text for kept in await two.earlier(100)] == ["event 1"]


async def test_a_store_that_fails_is_asked_again_and_loses_nothing() -> None:
    store, told = MemoryEvents(broken=True), list[str]()
    one, clock = keeper(store, told)
    one.keep(event(1, clock))
    await until(lambda: clock.slept)
    clock.advance(BATCH_S)
    await until(lambda: len(clock.slept) == 2)
    assert clock.slept[1] == RETRY_S
    one.keep(event(2, clock))
    store.broken = False
    clock.advance(RETRY_S)
    await until(lambda: len(store.events) == 2)
    assert [kept.text for kept in store.events] == ["event 1", "event 2"]
    assert told == ["history is not kept: the disk is full"]
    await one.close()


async def test_an_end_with_a_store_that_fails_comes_to_an_end() -> None:
    one, clock = keeper(MemoryEvents(broken=True), [])
    one.keep(event(1, clock))
    await one.close()
    one.keep(event(2, clock))


async def test_an_end_writes_what_was_not_due_yet() -> None:
    store = MemoryEvents()
    one, clock = keeper(store)
    one.keep(event(1, clock))
    await asyncio.sleep(0)
    await one.close()
    assert [kept.text for kept in store.events] == ["event 1"]


async def test_a_store_that_can_not_tell_gives_an_empty_list_and_one_sentence() -> None:
    told: list[str] = []
    one, _ = keeper(MemoryEvents(broken=True), told)
    assert await one.earlier(10) == ()
    assert await one.earlier(10) == ()
    assert len(told) == 1


async def test_without_a_store_nothing_is_kept() -> None:
    one, clock = keeper(None)
    one.keep(event(1, clock))
    assert await one.earlier(10) == ()
    await one.close()

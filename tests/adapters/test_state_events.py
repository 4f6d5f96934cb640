from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.adapters.state import events as state_events
from k2tui.adapters.state.db import StateDb
from k2tui.core.alerts import Alert
from k2tui.core.events import Event, Severity
from k2tui.services.doors import EventHistory

NOW = 1_796_000_000.0
DAY_S = 86_400.0
HOT = Alert("gpu_hot", "gpu/gpu-a/3", "GPU 3 is at 91 °C: look at its fans", Severity.WARNING, NOW)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[StateDb]:
    store = StateDb(path)
    yield store
    await store.close()


def event(at: float, text: str = "it crashed", subject: str = "kimi") -> Event:
    return Event(NOW + at, subject, text, Severity.BAD)


def spoil(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute(statement)
        db.commit()


async def test_events_come_back_oldest_first(store: EventHistory) -> None:
    await store.note([event(20, "b"), event(10, "a")])
    await store.note([event(30, "c")])
    assert await store.noted(0) == (event(10, "a"), event(20, "b"), event(30, "c"))
    assert await store.noted(NOW + 20) == (event(20, "b"), event(30, "c"))


async def test_of_many_events_the_newest_come(store: EventHistory) -> None:
    await store.note([event(at, f"e{at}") for at in range(30)])
    assert [one.text for one in await store.noted(0, most=2)] == ["e28", "e29"]
    assert await store.noted(0, most=-1) == ()


async def test_an_event_that_two_k2tui_saw_is_kept_once(store: EventHistory, path: Path) -> None:
    second = StateDb(path)
    await store.note([event(0)])
    await second.note([event(1.5)])
    await second.note([event(1.5, subject="other"), event(60)])
    assert [(one.at, one.subject) for one in await store.noted(0)] == [
        (NOW, "kimi"),
        (NOW + 1.5, "other"),
        (NOW + 60, "kimi"),
    ]
    await second.close()


async def test_an_alert_is_replaced_by_its_newer_self(store: EventHistory) -> None:
    await store.put_alert(HOT)
    seen = replace(HOT, text="GPU 3 is at 94 °C", ended_at=NOW + 60, acknowledged_at=NOW + 5)
    await store.put_alert(seen)
    assert await store.put_alerts(NOW) == (seen,)


async def test_alerts_that_hold_come_however_old_they_are(store: EventHistory) -> None:
    ended = replace(HOT, rule="disk", began_at=NOW - 10, ended_at=NOW - 5)
    fresh = replace(HOT, rule="xid", began_at=NOW + 10, ended_at=NOW + 11)
    for alert in (fresh, HOT, ended):
        await store.put_alert(alert)
    assert await store.put_alerts(NOW + 5) == (HOT, fresh)


async def test_the_last_look_is_the_last_one_said(store: EventHistory, path: Path) -> None:
    assert await store.left_at() is None
    await store.looking(NOW)
    await store.looking(NOW - 5)
    assert await store.left_at() == NOW - 5
    spoil(path, "UPDATE last_look SET at = 'yesterday'")
    assert await store.left_at() is None


async def test_a_month_is_remembered(store: StateDb) -> None:
    await store.note([event(0), event(40 * DAY_S)])
    for began, ended in ((0.0, 1.0), (1.0, None), (40 * DAY_S, 41 * DAY_S)):
        await store.put_alert(replace(HOT, began_at=NOW + began, ended_at=None if ended is None else NOW + ended))
    await store.thin(NOW + 45 * DAY_S)
    assert await store.noted(0) == (event(40 * DAY_S),)
    assert [alert.began_at for alert in await store.put_alerts(0)] == [NOW + 1, NOW + 40 * DAY_S]


async def test_events_do_not_grow_for_ever(store: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_events, "KEPT_EVENTS", 5)
    await store.note([event(at, f"e{at}") for at in range(9)])
    await store.thin(NOW + 60)
    assert [one.text for one in await store.noted(0)] == ["e4", "e5", "e6", "e7", "e8"]


@pytest.mark.parametrize("column", ["at", "subject", "text", "severity"])
async def test_an_event_that_is_none_is_left_out(store: EventHistory, path: Path, column: str) -> None:
    await store.note([event(0), event(60)])
    spoil(path, f"UPDATE events SET {column} = x'ff' WHERE id = 1")
    assert await store.noted(0) == (event(60),)


@pytest.mark.parametrize("column", ["rule", "subject", "began_at", "text", "severity"])
async def test_an_alert_that_is_none_is_left_out(store: EventHistory, path: Path, column: str) -> None:
    await store.put_alert(HOT)
    await store.put_alert(replace(HOT, began_at=NOW + 1))
    spoil(path, f"UPDATE alerts SET {column} = x'ff' WHERE began_at = {NOW}")
    assert await store.put_alerts(0) == (replace(HOT, began_at=NOW + 1),)


async def test_words_that_are_no_text_are_kept(store: EventHistory) -> None:
    await store.note([event(0, "it said \udcff\n'; DROP TABLE events; --")])
    (back,) = await store.noted(0)
    assert back.text.startswith("it said ")


async def test_of_several_that_claim_an_alert_one_gets_it(store: EventHistory) -> None:
    other = replace(HOT, began_at=HOT.began_at + 3)
    assert await store.claim_alert(HOT) is None
    assert await store.claim_alert(other) == HOT
    assert await store.put_alerts(0) == (HOT,)


async def test_what_ended_may_be_claimed_anew(store: EventHistory) -> None:
    ended = replace(HOT, ended_at=HOT.began_at + 60)
    await store.put_alert(ended)
    again = replace(HOT, began_at=HOT.began_at + 120)
    assert await store.claim_alert(again) is None
    assert await store.claim_alert(replace(again, severity=Severity.BAD)) == again
    assert await store.put_alerts(0) == (ended, again)

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from k2tui.adapters.state.db import StateDb
from k2tui.core.errors import K2Error
from k2tui.core.over_time.rates import LEAST_MINUTES
from k2tui.core.series import Quantity, RateMinute, Samples, SeriesKey
from k2tui.services.recorder import ReadingStore

KEY = SeriesKey("server/kimi", Quantity.DECODE)
OTHER = SeriesKey("gpu/gpu-a/3", Quantity.GPU_POWER)
HOUR = 1_796_000_400.0
"""A whole hour."""
HOUR_S = 3600.0

Figures = tuple[float | None, ...]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[StateDb]:
    store = StateDb(path)
    yield store
    await store.close()


def fine(*figures: float | None, at: float = HOUR, key: SeriesKey = KEY) -> Samples:
    return Samples(key, at, 2.0, figures)


def minute(*figures: float | None, at: float = HOUR, key: SeriesKey = KEY) -> Samples:
    lows = tuple(None if figure is None else figure - 1 for figure in figures)
    highs = tuple(None if figure is None else figure + 2 for figure in figures)
    return Samples(key, at, 60.0, figures, lows, highs)


async def told(store: ReadingStore, since: float = HOUR, until: float = HOUR + HOUR_S) -> dict[float, float]:
    """Mean by time of all that is kept of one series, the finest first."""
    found: dict[float, float] = {}
    for piece in await store.kept([KEY], since, until):
        for at, figure in enumerate(piece.mean):
            if figure is not None:
                found.setdefault(piece.began + at * piece.step_s, figure)
    return found


def rows(path: Path, select: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        found = db.execute(select).fetchall()
        db.commit()
        return found


async def test_seconds_come_back_at_their_time(store: StateDb) -> None:
    await store.keep([fine(1, None, 3, at=HOUR + 56)])
    assert await told(store) == {HOUR + 56: 1, HOUR + 60: 3}
    (piece,) = await store.kept([KEY], HOUR, HOUR + 120)
    assert (piece.key, piece.began, piece.step_s, len(piece.mean), piece.low) == (KEY, HOUR, 2.0, 60, ())


async def test_minutes_come_back_with_their_extremes(store: StateDb) -> None:
    await store.keep([minute(10, None, 30, at=HOUR + HOUR_S - 60)])
    (piece,) = await store.kept([KEY], HOUR, HOUR + 2 * HOUR_S)
    assert (piece.began, piece.step_s, len(piece.mean)) == (HOUR, 60.0, 120)
    assert (piece.mean[59:62], piece.low[59:62], piece.high[59:62]) == ((10, None, 30), (9, None, 29), (12, None, 32))


async def test_only_what_is_asked_for_comes(store: StateDb) -> None:
    await store.keep([fine(1), fine(2, key=OTHER), minute(3, at=HOUR - 5 * HOUR_S)])
    assert [piece.key for piece in await store.kept([OTHER], HOUR, HOUR + 60)] == [OTHER]
    assert await told(store, HOUR, HOUR + 60) == {HOUR: 1}
    assert await told(store, HOUR - 5 * HOUR_S, HOUR - HOUR_S) == {HOUR - 5 * HOUR_S: 3}
    assert await store.kept([SeriesKey("server/none", Quantity.DECODE)], 0, 2 * HOUR) == ()
    assert await store.kept([KEY], HOUR, HOUR) == ()
    assert await store.kept([], 0, 2 * HOUR) == ()


async def test_blocks_that_follow_each_other_are_one_piece(store: StateDb) -> None:
    await store.keep([fine(*[5] * 90), fine(6, at=HOUR + 600)])
    first, second = await store.kept([KEY], HOUR, HOUR + HOUR_S)
    assert (first.mean, second.began) == ((5,) * 90, HOUR + 600)


async def test_what_comes_later_replaces_only_what_it_knows(store: StateDb) -> None:
    await store.keep([fine(1, 2, None, 4)])
    await store.keep([fine(None, 9, 9)])
    assert await told(store) == {HOUR: 1, HOUR + 2: 9, HOUR + 4: 9, HOUR + 6: 4}


async def test_two_k2tui_that_record_the_same_count_once(store: StateDb, path: Path) -> None:
    second = StateDb(path)
    for at in range(3):
        await asyncio.gather(
            store.keep([fine(*[5] * 30, at=HOUR + 60 * at)]), second.keep([fine(*[5] * 30, at=HOUR + 60 * at)])
        )
    assert list((await told(second)).values()) == [5] * 90
    assert rows(path, "SELECT count(*) FROM seconds") == [(3,)]
    assert rows(path, "SELECT count(*) FROM series") == [(1,)]
    await second.close()


async def test_a_subject_may_be_any_text(store: StateDb) -> None:
    odd = SeriesKey("server/\udcff'; DROP TABLE seconds; --", Quantity.DECODE)
    await store.keep([fine(1, key=odd)])
    assert [piece.key for piece in await store.kept([odd], HOUR, HOUR + 2)] == [odd]


async def test_other_steps_are_refused(store: StateDb) -> None:
    with pytest.raises(ValueError, match="steps"):
        await store.keep([Samples(KEY, HOUR, 5.0, (1.0,))])


@pytest.mark.parametrize("table", ["seconds", "minutes"])
@pytest.mark.parametrize("spoiled", ["x'00'", "x''", "7", "'text'", "zeroblob(1000000)"])
async def test_a_spoiled_block_is_left_out_and_can_be_written_again(
    store: StateDb, path: Path, table: str, spoiled: str
) -> None:
    one = fine if table == "seconds" else minute
    await store.keep([one(1), one(2, at=HOUR + HOUR_S)])
    rows(path, f"UPDATE {table} SET figures = {spoiled} WHERE place = (SELECT min(place) FROM {table})")
    assert await told(store, HOUR, HOUR + 2 * HOUR_S) == {HOUR + HOUR_S: 2}
    await store.thin(HOUR + 5 * HOUR_S)
    await store.keep([one(3)])
    assert (await told(store, HOUR, HOUR + 2 * HOUR_S))[HOUR] == 3


async def test_seconds_of_the_last_hour_stay(store: StateDb) -> None:
    await store.keep([fine(*[5] * 1800)])
    await store.thin(HOUR + 2 * HOUR_S - 1)
    assert len(await told(store)) == 1800


async def test_an_hour_that_ended_an_hour_ago_becomes_minutes(store: StateDb, path: Path) -> None:
    await store.keep([fine(*range(60), at=HOUR), fine(7, at=HOUR + HOUR_S - 2), fine(8, at=HOUR + HOUR_S)])
    await store.keep([fine(*[3.5] * 30, key=OTHER)])
    await store.thin(HOUR + 2 * HOUR_S)
    pieces = {(piece.key, piece.step_s): piece for piece in await store.kept([KEY, OTHER], HOUR, HOUR + 2 * HOUR_S)}
    made = pieces[KEY, 60.0]
    assert made.mean[:2] == pytest.approx((14.5, 44.5), abs=0.001)
    assert made.mean[2] is None
    assert (*made.low[:2], *made.high[:2]) == pytest.approx((0, 30, 29, 59), abs=0.001)
    assert made.mean[59] == pytest.approx(7, abs=0.001)
    assert pieces[OTHER, 60.0].mean[0] == 3.5
    assert pieces[KEY, 2.0].began == HOUR + HOUR_S
    assert rows(path, "SELECT count(*) FROM seconds") == [(1,)]


async def test_thinning_leaves_minutes_that_were_filled_in(store: StateDb) -> None:
    await store.keep([minute(100, 200), fine(*[5] * 30, at=HOUR + 60)])
    await store.thin(HOUR + 3 * HOUR_S)
    await store.thin(HOUR + 3 * HOUR_S)
    assert await told(store) == {HOUR: 100, HOUR + 60: 5}


async def test_many_series_are_thinned_in_parts(store: StateDb) -> None:
    keys = [SeriesKey(f"gpu/n/{number}", Quantity.GPU_LOAD) for number in range(200)]
    await store.keep([fine(*[number] * 30, key=key) for number, key in enumerate(keys)])
    thinning = asyncio.ensure_future(store.thin(HOUR + 3 * HOUR_S))
    await store.keep([fine(1)])
    assert not thinning.done()
    await thinning
    found = await store.kept(keys, HOUR, HOUR + HOUR_S)
    assert [(piece.key, piece.step_s, piece.mean[0]) for piece in found] == [
        (key, 60.0, number) for number, key in enumerate(keys)
    ]


async def test_two_k2tui_may_thin_at_once(store: StateDb, path: Path) -> None:
    second = StateDb(path)
    await store.keep([fine(*[5] * 1800)])
    await asyncio.gather(store.thin(HOUR + 3 * HOUR_S), second.thin(HOUR + 3 * HOUR_S))
    assert list((await told(store)).values()) == [5] * 60
    await second.close()


async def test_what_is_older_than_a_week_is_dropped(store: StateDb) -> None:
    await store.keep([minute(1), minute(2, at=HOUR + 2 * HOUR_S)])
    await store.thin(HOUR + 7 * 86400 + HOUR_S)
    assert await told(store, HOUR, HOUR + 3 * HOUR_S) == {HOUR + 2 * HOUR_S: 2}


async def test_readings_outlive_the_program(path: Path) -> None:
    first = StateDb(path)
    await first.keep([fine(1, 2)])
    await first.close()
    second = StateDb(path)
    assert await told(second) == {HOUR: 1, HOUR + 2: 2}
    await second.close()


async def test_another_file_in_its_place_has_series_of_its_own(store: StateDb, path: Path) -> None:
    await store.keep([fine(1), fine(1, key=OTHER)])
    for file in path.parent.glob("state.db*"):
        file.write_bytes(b"\xa5" * 20_000)
    await store.keep([fine(2, key=OTHER)])
    await store.keep([fine(3)])
    assert await told(store) == {HOUR: 3}
    assert len(store.notes()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
async def test_a_place_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    store = StateDb(tmp_path / "closed" / "state.db")
    with pytest.raises(K2Error, match="history is not kept"):
        await store.keep([fine(1)])
    await store.close()


def rated(minute: int, rate: float, running: float = 9.0) -> RateMinute:
    return RateMinute("kimi/c0ffee", minute, running, rate)


async def test_what_is_usual_is_the_median_of_the_minutes(store: StateDb) -> None:
    assert await store.usual_rate("kimi/c0ffee", 9) is None
    await store.add_rates([rated(at, 600.0 + at) for at in range(9)])
    usual = await store.usual_rate("kimi/c0ffee", 15)
    assert usual is not None
    assert (usual.tokens_per_s, usual.running, usual.minutes) == (604.0, 8, 9)
    assert await store.usual_rate("kimi/c0ffee", 16) is None
    assert await store.usual_rate("kimi/other", 9) is None


async def test_a_minute_that_two_k2tui_saw_counts_once(store: StateDb, path: Path) -> None:
    second = StateDb(path)
    for at in range(LEAST_MINUTES):
        await store.add_rates([rated(at, 600.0)])
        await second.add_rates([rated(at, 600.0)])
    usual = await second.usual_rate("kimi/c0ffee", 9)
    assert usual is not None
    assert usual.minutes == LEAST_MINUTES
    await second.close()


@pytest.mark.parametrize("spoiled", ["x'00'", "'text'", "zeroblob(0)", "x'0000c07f'", "x'0000807f'"])
async def test_spoiled_rates_say_nothing(store: StateDb, path: Path, spoiled: str) -> None:
    await store.add_rates([rated(at, 600.0) for at in range(9)])
    rows(path, f"UPDATE rates SET figures = {spoiled}")
    assert await store.usual_rate("kimi/c0ffee", 9) is None
    await store.add_rates([rated(at, 500.0) for at in range(20, 30)])
    usual = await store.usual_rate("kimi/c0ffee", 9)
    assert usual is not None
    assert usual.tokens_per_s == 500.0

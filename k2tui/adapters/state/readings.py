"""Readings in `state.db`: blocks of figures, one a series and time, and the usual rates of configurations.

A row's `place` is its block of time times 2^20 plus its series: blocks lie in the file in the order in which they come,
so that a minute's writing touches few pages. Blocks are a minute of seconds (30 figures) or an hour of minutes (60
means, then 60 least, then 60 most).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING

from k2tui.adapters.state.packing import Figures, packed, unpacked
from k2tui.adapters.state.rows import text_of, transaction
from k2tui.core.over_time.rates import about_running, usual_of, with_minute
from k2tui.core.series import (
    FINE_KEPT_S,
    LONGEST_KEPT_S,
    MINUTES_STEP_S,
    SECONDS_STEP_S,
    RateMinute,
    Samples,
    SeriesKey,
    UsualRate,
)

if TYPE_CHECKING:
    import sqlite3

_SERIES_BITS = 20
_FINE = int(MINUTES_STEP_S / SECONDS_STEP_S)
_COARSE = 60
_HOUR_S = 3600
_AT_ONCE = 500
"""Places that one statement names."""

SeriesIds = dict[SeriesKey, int]
"""What is known of the table `series`; series are never removed from it."""


def keep(db: sqlite3.Connection, ids: SeriesIds, samples: Sequence[Samples]) -> None:
    """Add these, of steps of two seconds or a minute; where they have a figure it replaces what is there."""
    with transaction(db):
        found = _ids(db, ids, [one.key for one in samples], make=True)
        fine: dict[int, Figures] = {}
        coarse: dict[int, Figures] = {}
        for one in samples:
            if one.step_s == SECONDS_STEP_S:
                _lay_seconds(fine, found[one.key], one)
            elif one.step_s == MINUTES_STEP_S:
                _lay_minutes(coarse, found[one.key], one)
            else:
                raise ValueError(f"samples are kept in steps of 2 s or 60 s, not {one.step_s} s")
        _put(db, "seconds", fine, _FINE)
        _put(db, "minutes", coarse, 3 * _COARSE)
    ids.update(found)


def kept(
    db: sqlite3.Connection, ids: SeriesIds, keys: Sequence[SeriesKey], since: float, until: float
) -> tuple[Samples, ...]:
    """The blocks between two times, those that follow each other as one piece; seconds first."""
    found = _ids(db, ids, keys, make=False)
    ids.update(found)
    named = {number: key for key, number in found.items()}
    if not named or not since < until:
        return ()
    fine = _blocks(db, "seconds", named, _in_reach(db, "seconds", since, until, int(MINUTES_STEP_S)), _FINE)
    coarse = _blocks(db, "minutes", named, _in_reach(db, "minutes", since, until, _HOUR_S), 3 * _COARSE)
    return (
        *(_fine_piece(named[number], first, blocks) for number, first, blocks in _pieces(fine)),
        *(_coarse_piece(named[number], first, blocks) for number, first, blocks in _pieces(coarse)),
    )


def oldest_hour(db: sqlite3.Connection, now: float) -> tuple[int, int] | None:
    """(the oldest hour whose seconds are to become minutes, how many series there are); None where there is none."""
    first = _number(db, "SELECT min(place) FROM seconds")
    if first is None:
        return None
    hour = (first >> _SERIES_BITS) // _COARSE
    if (hour + 1) * _HOUR_S > now - FINE_KEPT_S:
        return None
    return hour, (_number(db, "SELECT max(id) FROM series") or 0) + 1


def thin_hour(db: sqlite3.Connection, hour: int, first: int, end: int) -> None:
    """Make minutes of an hour's seconds, of the series from `first` up to `end`; the seconds stay."""
    minutes: dict[int, Figures] = {}
    for at in range(_COARSE):
        base = (hour * _COARSE + at) << _SERIES_BITS
        rows = db.execute(
            "SELECT place, figures FROM seconds WHERE place >= ? AND place < ?", (base + first, base + end)
        )
        for place, blob in rows:
            known = [figure for figure in unpacked(blob, _FINE) or () if figure is not None]
            if known:
                figures = minutes.setdefault(place - base, [None] * (3 * _COARSE))
                figures[at] = sum(known) / len(known)
                figures[at + _COARSE] = min(known)
                figures[at + 2 * _COARSE] = max(known)
    if minutes:
        with transaction(db):
            placed = {(hour << _SERIES_BITS) + number: figures for number, figures in minutes.items()}
            _put(db, "minutes", placed, 3 * _COARSE)


def drop_seconds(db: sqlite3.Connection, hour: int) -> None:
    """The hour's minutes are made: its seconds can go."""
    db.execute("DELETE FROM seconds WHERE place < ?", (((hour + 1) * _COARSE) << _SERIES_BITS,))


def drop_old(db: sqlite3.Connection, now: float) -> None:
    """What is older than a week."""
    hour = int((now - LONGEST_KEPT_S) // _HOUR_S)
    if hour > 0:
        db.execute("DELETE FROM minutes WHERE place < ?", (hour << _SERIES_BITS,))


def add_rates(db: sqlite3.Connection, minutes: Sequence[RateMinute]) -> None:
    """Count these minutes; one that is not newer than what was counted of its configuration came from another k2tui."""
    with transaction(db):
        for one in sorted(minutes, key=lambda one: one.minute):
            place = (text_of(one.config), about_running(one.running))
            row = db.execute(
                "SELECT newest, minutes, figures FROM rates WHERE config = ? AND running = ?", place
            ).fetchone()
            newest, counted, rates = (-1, 0, []) if row is None else (_whole(row[0]), _whole(row[1]), _floats(row[2]))
            if one.minute > newest:
                figures = with_minute(rates, counted + 1, one.minute, one.tokens_per_s)
                db.execute(
                    "INSERT OR REPLACE INTO rates (config, running, newest, minutes, figures) VALUES (?, ?, ?, ?, ?)",
                    (*place, one.minute, counted + 1, array("f", figures).tobytes()),
                )


def usual_rate(db: sqlite3.Connection, config: str, running: float) -> UsualRate | None:
    """The median rate of this configuration at about so many requests; None where too few minutes were counted."""
    row = db.execute(
        "SELECT minutes, figures FROM rates WHERE config = ? AND running = ?", (text_of(config), about_running(running))
    ).fetchone()
    return None if row is None else usual_of(_floats(row[1]), _whole(row[0]), running)


def _ids(db: sqlite3.Connection, ids: SeriesIds, keys: Iterable[SeriesKey], *, make: bool) -> SeriesIds:
    """Numbers of these series; those that are not there are left out, or made."""
    found: SeriesIds = {}
    for key in keys:
        number = ids.get(key)
        if number is None:
            names = (text_of(key.subject), key.quantity.value)
            select = "SELECT id FROM series WHERE subject = ? AND quantity = ?"
            number = _number(db, select, names)
            if number is None and make:
                number = db.execute("INSERT INTO series (subject, quantity) VALUES (?, ?)", names).lastrowid
        if number is not None:
            found[key] = number
    return found


def _lay_seconds(blocks: dict[int, Figures], number: int, one: Samples) -> None:
    step = round(one.began / SECONDS_STEP_S)
    for figure in one.mean:
        if figure is not None:
            minute, at = divmod(step, _FINE)
            place = (minute << _SERIES_BITS) + number
            if (block := blocks.get(place)) is None:
                block = blocks[place] = [None] * _FINE
            block[at] = figure
        step += 1


def _lay_minutes(blocks: dict[int, Figures], number: int, one: Samples) -> None:
    step = round(one.began / MINUTES_STEP_S)
    for mean, low, high in zip(one.mean, one.low or one.mean, one.high or one.mean, strict=True):
        if mean is not None:
            hour, at = divmod(step, _COARSE)
            place = (hour << _SERIES_BITS) + number
            if (block := blocks.get(place)) is None:
                block = blocks[place] = [None] * (3 * _COARSE)
            block[at] = mean
            block[at + _COARSE] = mean if low is None else low
            block[at + 2 * _COARSE] = mean if high is None else high
        step += 1


def _put(db: sqlite3.Connection, table: str, blocks: dict[int, Figures], count: int) -> None:
    """Write blocks, over those that are there already."""
    for place, blob in _rows(db, table, [*blocks]):
        old, new = unpacked(blob, count), blocks[place]
        if old is not None:
            blocks[place] = [was if figure is None else figure for was, figure in zip(old, new, strict=True)]
    db.executemany(
        f"INSERT OR REPLACE INTO {table} (place, figures) VALUES (?, ?)",
        [(place, packed(figures)) for place, figures in blocks.items()],
    )


def _rows(db: sqlite3.Connection, table: str, places: Sequence[int]) -> Iterator[tuple[int, object]]:
    for at in range(0, len(places), _AT_ONCE):
        some = ",".join(map(str, places[at : at + _AT_ONCE]))
        yield from db.execute(f"SELECT place, figures FROM {table} WHERE place IN ({some}) ORDER BY place")


def _in_reach(db: sqlite3.Connection, table: str, since: float, until: float, block_s: int) -> range:
    """Blocks between two times, none before the oldest or after the newest that is there."""
    first, last = _number(db, f"SELECT min(place) FROM {table}"), _number(db, f"SELECT max(place) FROM {table}")
    if first is None or last is None:
        return range(0)
    oldest, newest = first >> _SERIES_BITS, last >> _SERIES_BITS
    return range(max(oldest, int(since // block_s)), min(newest, int(-(-until // block_s)) - 1) + 1)


def _blocks(
    db: sqlite3.Connection, table: str, named: dict[int, SeriesKey], times: range, count: int
) -> dict[int, dict[int, Figures]]:
    """By series and block of time; what can't be read is left out."""
    found: dict[int, dict[int, Figures]] = {number: {} for number in named}
    places = [(time << _SERIES_BITS) + number for time in times for number in named]
    for place, blob in _rows(db, table, places):
        figures = unpacked(blob, count)
        if figures is not None:
            found[place & ((1 << _SERIES_BITS) - 1)][place >> _SERIES_BITS] = figures
    return found


def _pieces(found: dict[int, dict[int, Figures]]) -> Iterator[tuple[int, int, list[Figures]]]:
    """(series, first block of time, blocks that follow each other)."""
    for number, blocks in found.items():
        begun: int | None = None
        piece: list[Figures] = []
        for time, figures in blocks.items():
            if begun is not None and time != begun + len(piece):
                yield number, begun, piece
                begun, piece = None, []
            begun = time if begun is None else begun
            piece.append(figures)
        if begun is not None:
            yield number, begun, piece


def _fine_piece(key: SeriesKey, first: int, blocks: list[Figures]) -> Samples:
    return Samples(key, first * MINUTES_STEP_S, SECONDS_STEP_S, _told(blocks, 0, _FINE))


def _coarse_piece(key: SeriesKey, first: int, blocks: list[Figures]) -> Samples:
    mean, low, high = (_told(blocks, at, at + _COARSE) for at in (0, _COARSE, 2 * _COARSE))
    return Samples(key, float(first * _HOUR_S), MINUTES_STEP_S, mean, low, high)


def _told(blocks: list[Figures], first: int, end: int) -> tuple[float | None, ...]:
    return tuple([figure for block in blocks for figure in block[first:end]])


def _number(db: sqlite3.Connection, select: str, values: Sequence[str] = ()) -> int | None:
    row = db.execute(select, values).fetchone()
    return row[0] if row is not None and isinstance(row[0], int) else None


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _floats(blob: object) -> list[float]:
    if not isinstance(blob, bytes) or len(blob) % 4:
        return []
    return [figure for figure in array("f", blob) if isfinite(figure) and figure >= 0]

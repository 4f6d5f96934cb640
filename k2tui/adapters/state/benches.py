"""Benchmarks in `state.db`: what was measured, with its requests, distributions, samples and system."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from k2tui.adapters.state.rows import text_of, text_or_none, transaction
from k2tui.core.benching.codec import read_fact
from k2tui.core.benching.differing import changes_between
from k2tui.core.benching.document import read_result, result_json
from k2tui.core.benching.facts import RequestFigures
from k2tui.core.benching.keys import key_of, system_document
from k2tui.core.benching.result import BenchResult, BenchSystem, GpuSample

if TYPE_CHECKING:
    import sqlite3

KEPT_WHOLE = 500
"""Benchmarks whose requests and samples are kept; of older ones the result alone."""
MOST_REQUESTS, MOST_SAMPLES = 20_000, 20_000
"""Of one benchmark, the first of them."""

Row = dict[str, object]

_FIGURES = (
    *("subject", "node", "began_at", "tool", "tool_version", "formula_set", "run_id", "series_id", "profile"),
    *("elapsed_s", "decode_tps", "e2e_tps", "ttft_any_ms", "ttft_answer_ms", "best_total_tps", "valid", "error"),
    *("workload_key", "system_key"),
)
"""Columns of bench_runs that are a figure of the result by the same name."""
_REQUEST = tuple(RequestFigures.__dataclass_fields__)
_POINT = (
    *("c", "agg_tps_steady", "agg_tps_total", "steady", "window_s", "decode_tps", "sent", "failed", "output_tokens"),
)
_SPREAD = ("n", "smallest", "p50", "p90", "p99", "largest")
_SAMPLE = ("at_s", "gpu", "clock_mhz", "power_w", "temp_c")
_SYSTEM = tuple(name for name in BenchSystem.__dataclass_fields__ if name not in ("argv", "env"))
_SWITCHES = ("c_first_assumed", "usage_missing", "is_warm_up")


def keep_bench(db: sqlite3.Connection, result: BenchResult) -> None:
    """Keep it whole, in the place of one with the same id; the oldest lose their requests and samples."""
    run = _run_row(result)
    with transaction(db):
        run["changed"] = _changed(db, result)
        _put_system(db, result)
        _upsert(db, "bench_runs", run, "bench_id")
        for table in ("bench_requests", "bench_points", "bench_samples"):
            db.execute(f"DELETE FROM {table} WHERE bench_id = ?", (run["bench_id"],))
        _insert(db, "bench_requests", _requests(result))
        _insert(db, "bench_points", _points(result))
        _insert(db, "bench_spreads", _spreads(result))
        _insert(db, "bench_samples", _samples(result))
        for table in ("bench_requests", "bench_samples"):
            db.execute(
                f"DELETE FROM {table} WHERE bench_id IN (SELECT bench_id FROM bench_runs"
                " ORDER BY began_at DESC, bench_id DESC LIMIT -1 OFFSET ?)",
                (KEPT_WHOLE,),
            )


def benches(db: sqlite3.Connection, subject: str | None, most: int) -> tuple[BenchResult, ...]:
    """Newest first, without requests and samples; the base of a subject is among them, however old it is."""
    rows = db.execute(
        "SELECT run.document, base.bench_id IS NOT NULL FROM bench_runs AS run"
        " LEFT JOIN bench_base AS base USING (bench_id)"
        " WHERE ? IS NULL OR run.subject = ? ORDER BY base.bench_id IS NOT NULL DESC, began_at DESC, bench_id DESC"
        " LIMIT ?",
        (*(2 * (None if subject is None else text_of(subject),)), max(0, most)),
    ).fetchall()
    found = [one for document, is_base in rows if (one := _read(document, is_base)) is not None]
    return tuple(sorted(found, key=lambda one: (one.began_at, one.bench_id), reverse=True))


def bench(db: sqlite3.Connection, part: str) -> BenchResult | None:
    """Whole; None where no id has this part, and where several have it and none is it."""
    if not part:
        return None
    rows = db.execute(
        "SELECT bench_id FROM bench_runs WHERE instr(bench_id, ?) > 0 ORDER BY bench_id = ? DESC LIMIT 2",
        (text_of(part), text_of(part)),
    ).fetchall()
    if not rows or (len(rows) > 1 and rows[0][0] != part):
        return None
    bench_id = rows[0][0]
    document, is_base = db.execute(
        "SELECT document, EXISTS (SELECT 1 FROM bench_base WHERE bench_id = ?) FROM bench_runs WHERE bench_id = ?",
        (bench_id, bench_id),
    ).fetchone()
    found = _read(document, is_base)
    if found is None:
        return None
    return replace(found, requests=tuple(_read_requests(db, bench_id)), samples=tuple(_read_samples(db, bench_id)))


def set_base(db: sqlite3.Connection, subject: str, bench_id: str | None) -> None:
    """Make this the base of the subject, in the place of another; None: it has none."""
    with transaction(db):
        if bench_id is None:
            db.execute("DELETE FROM bench_base WHERE subject = ?", (text_of(subject),))
        else:
            _upsert(db, "bench_base", {"subject": subject, "bench_id": bench_id}, "subject")


# ---- into rows


def _run_row(result: BenchResult) -> Row:
    system = system_document(result.system)
    row: Row = {name: getattr(result, name) for name in _FIGURES}
    row["bench_id"] = result.bench_id
    row["procedure"] = result.procedure.value
    row["prefill_tps"] = None if result.slope is None else result.slope.prefill_tps
    if result.system.argv or result.system.env:
        row["config_hash"] = key_of({name: system[name] for name in ("argv", "env")})
    row["document"] = result_json(replace(result, requests=(), samples=(), is_base=False))
    return row


def _changed(db: sqlite3.Connection, result: BenchResult) -> str | None:
    """What is another than in the benchmark of the same subject before it, as JSON; None where there was none."""
    row = db.execute(
        "SELECT document FROM bench_runs WHERE subject = ? AND began_at < ? AND bench_id <> ?"
        " ORDER BY began_at DESC LIMIT 1",
        (text_of(result.subject), result.began_at, result.bench_id),
    ).fetchone()
    before = None if row is None else _read(row[0], False)
    if before is None:
        return None
    changes = changes_between(before.system, result.system)
    return json.dumps([[change.name, change.a, change.b] for change in changes])


def _put_system(db: sqlite3.Connection, result: BenchResult) -> None:
    if result.system_key is None:
        return
    row: Row = {"system_key": result.system_key, **{name: getattr(result.system, name) for name in _SYSTEM}}
    for name, pairs in (("argv", result.system.argv), ("env", result.system.env)):
        row[name] = json.dumps([list(pair) for pair in pairs])
    _upsert(db, "bench_systems", row, "system_key")


def _requests(result: BenchResult) -> Iterator[Row]:
    for place, request in enumerate(result.requests[:MOST_REQUESTS]):
        yield {"bench_id": result.bench_id, "place": place, **{name: getattr(request, name) for name in _REQUEST}}


def _points(result: BenchResult) -> Iterator[Row]:
    for place, point in enumerate(result.points):
        yield {"bench_id": result.bench_id, "place": place, **{name: getattr(point, name) for name in _POINT}}


def _spreads(result: BenchResult) -> Iterator[Row]:
    for place, point in enumerate(result.points):
        for name, spread in point.spreads.items():
            figures = {part: getattr(spread, part) for part in _SPREAD}
            yield {"bench_id": result.bench_id, "place": place, "name": name, **figures}


def _samples(result: BenchResult) -> Iterator[Row]:
    for place, sample in enumerate(result.samples[:MOST_SAMPLES]):
        row: Row = {"bench_id": result.bench_id, "place": place, **{name: getattr(sample, name) for name in _SAMPLE}}
        yield {**row, "held_back": json.dumps(sample.held_back)}


def _upsert(db: sqlite3.Connection, table: str, row: Row, key: str) -> None:
    """In the place of the row with this key; what refers to it goes on doing so."""
    columns = list(row)
    put = ", ".join(f"{column} = excluded.{column}" for column in columns if column != key)
    insert = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({_marks(columns)})"
    db.execute(f"{insert} ON CONFLICT ({key}) DO UPDATE SET {put}", _values(row, columns))


def _insert(db: sqlite3.Connection, table: str, rows: Iterable[Row]) -> None:
    some = list(rows)
    if some:
        columns = list(some[0])
        db.executemany(
            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({_marks(columns)})",
            [_values(row, columns) for row in some],
        )


def _marks(columns: Sequence[str]) -> str:
    return ", ".join("?" * len(columns))


def _values(row: Mapping[str, object], columns: Sequence[str]) -> list[object]:
    return [text_of(value) if isinstance(value := row[column], str) else value for column in columns]


# ---- out of rows


def _read(document: object, is_base: object) -> BenchResult | None:
    text = text_or_none(document)
    found = None if text is None else read_result(text)
    return found if found is None or not is_base else replace(found, is_base=True)


def _read_requests(db: sqlite3.Connection, bench_id: str) -> Iterator[RequestFigures]:
    for values in _in_order(db, "bench_requests", _REQUEST, bench_id):
        row = dict(zip(_REQUEST, values, strict=True))
        row.update((name, bool(row[name])) for name in _SWITCHES)
        if (request := read_fact(RequestFigures, row)) is not None:
            yield request


def _read_samples(db: sqlite3.Connection, bench_id: str) -> Iterator[GpuSample]:
    for *values, held_back in _in_order(db, "bench_samples", (*_SAMPLE, "held_back"), bench_id):
        try:
            words = json.loads(text_or_none(held_back) or "[]")
        except ValueError:
            words = []
        row = {**dict(zip(_SAMPLE, values, strict=True)), "held_back": words}
        if (sample := read_fact(GpuSample, row)) is not None:
            yield sample


def _in_order(db: sqlite3.Connection, table: str, columns: Sequence[str], bench_id: str) -> list[tuple[object, ...]]:
    return db.execute(
        f"SELECT {', '.join(columns)} FROM {table} WHERE bench_id = ? ORDER BY place", (bench_id,)
    ).fetchall()

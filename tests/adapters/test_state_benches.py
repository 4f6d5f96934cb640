"""Benchmarks and series in `state.db`."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.state import benches as state_benches
from k2tui.adapters.state.db import StateDb
from k2tui.adapters.state.schema import MIGRATIONS
from k2tui.core.benching.facts import PrefillSlope, RequestFigures
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem, GateResult, GpuSample, Spread
from k2tui.core.benching.series import Arm, SeriesPlan, SeriesStage, SeriesState, Trial
from k2tui.core.verbs import ProfileChange
from k2tui.services.doors import BenchHistory

WARM = RequestFigures(1, 0, 0.1, e2e_ms=90.0, osl=64, is_warm_up=True)
REQUEST = RequestFigures(
    *(1, 1, 2.5, 3000.0, 24, 256, 100, 3),
    ttft_any_ms=120.0,
    ttft_answer_ms=None,
    decode_tps=90.0,
    e2e_tps=85.0,
    chunks=256,
    c_first_assumed=True,
    finish="length",
)
FAILED = RequestFigures(1, 2, 6.0, usage_missing=True, error="the connection was closed", matched="NaN happened")
POINT = BenchPoint(
    *(1, None, 88.0, False, 4.5, 90.0, 2, 1, 256),
    spreads={"ttft_any_ms": Spread(1, 120.0, 120.0, 120.0, smallest=120.0)},
    tokens_per_chunk={1: 255, 4: 1},
)
SYSTEM = BenchSystem(
    "/models/kimi",
    engine="sglang",
    version="0.5.23",
    argv=(("tp-size", "8"),),
    env=(("NCCL_PROTO", "LL"),),
    gpus="8 × NVIDIA H200",
    power_limit_w=700.0,
)
RESULT = BenchResult(
    "20261129T100000Z-aaaa",
    "kimi",
    "gpu-a",
    Procedure.QUICK,
    1_796_000_000.0,
    formula_set="k2-1",
    run_id="20261129T095800Z-0001",
    profile="reason",
    decode_tps=90.0,
    points=(POINT,),
    requests=(WARM, REQUEST, FAILED),
    gates=(GateResult("G1", True, "its counters say the same"), GateResult("G6", None, "no GPU was seen")),
    samples=(GpuSample(2.0, 0, 1980.0, 650.0, 61.0, ("power cap",)), GpuSample(2.0, 1, None)),
    workload_key="w" * 64,
    workload={"max_tokens": 256},
    system_key="s" * 64,
    system=SYSTEM,
    notes=("ended early",),
)


def later(number: int, **changes: Any) -> BenchResult:
    return replace(
        RESULT, bench_id=f"20261129T10{number:02}00Z-bbbb", began_at=RESULT.began_at + 60 * number, **changes
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[StateDb]:
    store = StateDb(path)
    yield store
    await store.close()


def rows(path: Path, query: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(path)
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def thin(result: BenchResult) -> BenchResult:
    return replace(result, requests=(), samples=())


async def test_a_benchmark_comes_back_as_it_was_measured(store: StateDb) -> None:
    benches: BenchHistory = store
    slope = PrefillSlope(250.0, 8000.0, 40.0, 900.0, 9000.0, 8888.0)
    for result in (RESULT, later(1, slope=slope, procedure=Procedure.PREFILL, error="the server went away")):
        await benches.keep_bench(result)
        assert await benches.bench(result.bench_id) == result


async def test_a_list_is_newest_first_and_has_no_requests(store: StateDb) -> None:
    other = later(3, subject="glm")
    for result in (later(2), RESULT, other, later(1)):
        await store.keep_bench(result)
    assert await store.benches("kimi") == (thin(later(2)), thin(later(1)), thin(RESULT))
    assert await store.benches(most=2) == (thin(other), thin(later(2)))
    assert await store.benches("nobody") == ()


async def test_a_part_of_an_id_will_do_where_it_fits_only_one(store: StateDb) -> None:
    await store.keep_bench(RESULT)
    await store.keep_bench(later(1))
    assert await store.bench("aaaa") == RESULT
    assert await store.bench("20261129T10") is None
    assert await store.bench("cccc") is None
    assert await store.bench("") is None
    await store.keep_bench(replace(RESULT, bench_id="20261129"))
    assert await store.bench("20261129") == replace(RESULT, bench_id="20261129")


async def test_one_that_is_kept_again_is_replaced_and_stays_the_base(store: StateDb) -> None:
    await store.keep_bench(RESULT)
    await store.set_base("kimi", RESULT.bench_id)
    shorter = replace(RESULT, requests=(REQUEST,), samples=(), notes=("second try",))
    await store.keep_bench(shorter)
    assert await store.bench("aaaa") == replace(shorter, is_base=True)


async def test_a_server_has_one_base_and_it_is_listed_however_old_it_is(store: StateDb) -> None:
    for number in range(4):
        await store.keep_bench(later(number))
    await store.set_base("kimi", later(1).bench_id)
    await store.set_base("kimi", later(0).bench_id)
    listed = await store.benches("kimi", most=2)
    assert listed == (thin(later(3)), replace(thin(later(0)), is_base=True))
    await store.set_base("kimi", None)
    assert await store.benches("kimi", most=1) == (thin(later(3)),)
    assert not any(result.is_base for result in await store.benches())


async def test_what_a_base_was_of_is_known_after_another_k2tui_looked(store: StateDb, path: Path) -> None:
    await store.keep_bench(RESULT)
    await store.set_base("kimi", RESULT.bench_id)
    other = StateDb(path)
    assert (await other.benches("kimi"))[0].is_base
    await other.close()


async def test_of_the_oldest_the_result_stays_without_its_requests(
    store: StateDb, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_benches, "KEPT_WHOLE", 2)
    for number in (2, 0, 1):
        await store.keep_bench(later(number))
    assert [await store.bench(later(number).bench_id) for number in range(3)] == [thin(later(0)), later(1), later(2)]
    assert rows(path, "SELECT count(DISTINCT bench_id) FROM bench_requests") == [(2,)]
    assert rows(path, "SELECT count(DISTINCT bench_id) FROM bench_spreads") == [(3,)]


async def test_of_a_flood_of_requests_the_first_are_kept(store: StateDb, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state_benches, "MOST_REQUESTS", 2)
    await store.keep_bench(RESULT)
    assert await store.bench("aaaa") == replace(RESULT, requests=(WARM, REQUEST))


async def test_figures_distributions_and_systems_can_be_asked_for(store: StateDb, path: Path) -> None:
    await store.keep_bench(RESULT)
    changed = replace(SYSTEM, version="0.5.24", env=(("NCCL_PROTO", "Simple"),))
    await store.keep_bench(later(1, system=changed, system_key="t" * 64, decode_tps=63.6))
    await store.keep_bench(later(2, system=changed, system_key="t" * 64))
    query = "SELECT decode_tps, engine, version, gpus FROM bench_runs JOIN bench_systems USING (system_key)"
    assert rows(path, f"{query} WHERE valid AND profile = 'reason' ORDER BY began_at LIMIT 2") == [
        (90.0, "sglang", "0.5.23", "8 × NVIDIA H200"),
        (63.6, "sglang", "0.5.24", "8 × NVIDIA H200"),
    ]
    assert rows(path, "SELECT p50 FROM bench_spreads WHERE name = 'ttft_any_ms' LIMIT 1") == [(120.0,)]
    hashes = [row[0] for row in rows(path, "SELECT config_hash FROM bench_runs ORDER BY began_at")]
    assert hashes[0] != hashes[1] == hashes[2]
    diffs = [row[0] for row in rows(path, "SELECT changed FROM bench_runs ORDER BY began_at")]
    assert diffs[0] is None
    assert [json.loads(str(diff)) for diff in diffs[1:]] == [
        [["version", "0.5.23", "0.5.24"], ["NCCL_PROTO", "LL", "Simple"]],
        [],
    ]


async def test_a_row_that_somebody_spoiled_is_left_out(store: StateDb, path: Path) -> None:
    await store.keep_bench(RESULT)
    await store.keep_bench(later(1))
    db = sqlite3.connect(path)
    db.execute("UPDATE bench_runs SET document = 'no JSON' WHERE bench_id = ?", (RESULT.bench_id,))
    db.execute("UPDATE bench_requests SET began_s = 'x' WHERE place = 1")
    db.execute("UPDATE bench_samples SET held_back = '[' WHERE place = 0")
    db.commit()
    db.close()
    assert await store.benches() == (thin(later(1)),)
    assert await store.bench(RESULT.bench_id) is None
    read = await store.bench(later(1).bench_id)
    assert read is not None
    assert read.requests == (WARM, FAILED)
    assert [sample.held_back for sample in read.samples] == [(), ()]


async def test_names_that_are_no_text_do_not_keep_a_benchmark_from_being_kept(store: StateDb) -> None:
    await store.keep_bench(replace(RESULT, system=replace(SYSTEM, model="/m/\udcff"), profile="\udcff"))
    assert await store.bench("aaaa") is not None


@pytest.mark.parametrize("schema", range(len(MIGRATIONS)))
async def test_an_earlier_file_takes_benchmarks_in(store: StateDb, path: Path, schema: int) -> None:
    db = sqlite3.connect(path)
    for statement in (statement for migration in MIGRATIONS[:schema] for statement in migration):
        db.execute(statement)
    db.execute(f"PRAGMA user_version = {schema}")
    db.commit()
    db.close()
    await store.keep_bench(RESULT)
    assert await store.bench("aaaa") == RESULT


# ---- series

PLAN = SeriesPlan(
    "20261129T110000Z-abcd",
    "nccl",
    "kimi",
    "gpu-a",
    (Arm("LL", ProfileChange(profile="reason")), Arm("Simple", ProfileChange(profile="plain"))),
    restarts=1,
    order=(1, 0),
)
STATE = SeriesState(PLAN, (Trial(1, 1), Trial(2, 0)), began_at=1_796_000_000.0, owner="here 1 2")


async def test_a_series_comes_back_as_it_stood(store: StateDb) -> None:
    benches: BenchHistory = store
    await benches.keep_series(STATE)
    newer = replace(STATE, plan=replace(PLAN, series_id="20261130"), began_at=STATE.began_at + 1, owner=None)
    await benches.keep_series(newer)
    done = replace(STATE, stage=SeriesStage.DONE, left="as it was found")
    await benches.keep_series(done)
    assert await benches.series() == (newer, done)
    assert await benches.series(most=1) == (newer,)


async def test_of_several_that_claim_a_series_one_alone_has_it(store: StateDb, path: Path) -> None:
    await store.keep_series(STATE)
    others = [StateDb(path) for _ in range(4)]
    claims = [other.claim_series(PLAN.series_id, f"k2 {at}", seen="here 1 2") for at, other in enumerate(others)]
    won = await asyncio.gather(*claims)
    assert sum(won) == 1
    assert (await store.series())[0].owner == f"k2 {won.index(True)}"
    assert not await store.claim_series(PLAN.series_id, "late", seen="here 1 2")
    assert not await store.claim_series("nothing", "late", seen=None)
    await asyncio.gather(*(other.close() for other in others))


async def test_a_series_that_nobody_makes_can_be_claimed(store: StateDb) -> None:
    await store.keep_series(replace(STATE, owner=None))
    assert await store.claim_series(PLAN.series_id, "me", seen=None)
    assert (await store.series())[0].owner == "me"

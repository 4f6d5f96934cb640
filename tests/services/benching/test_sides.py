"""What the words of a comparison name."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.state.db import StateDb
from k2tui.core.benching.facts import RequestFigures
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchResult, BenchSystem, GateResult
from k2tui.core.benching.series import Arm, SeriesPlan, SeriesState, Trial
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.verbs import ProfileChange
from k2tui.services.benching.sides import Sides

REQUESTS = (RequestFigures(1, 1, 0.0, decode_tps=90.0),)


def bench(number: int, **changes: Any) -> BenchResult:
    """The id ends in the number; each is of another start of the server."""
    made = BenchResult(
        f"20261129T1000{number:02}Z-{number:04}",
        "kimi",
        "gpu-a",
        Procedure.QUICK,
        1000.0 + number,
        formula_set="k2-1",
        run_id=f"run-{number}",
        profile="reason",
        decode_tps=90.0 + number / 10,
        requests=REQUESTS,
        workload_key="w",
        system_key="old",
        system=BenchSystem("/m", env=(("NCCL_PROTO", "LL"),)),
    )
    return replace(made, **changes)


def new(number: int, **changes: Any) -> BenchResult:
    system = BenchSystem("/m", env=(("NCCL_PROTO", "Simple"),))
    return bench(number, system_key="new", system=system, profile="fast", **changes)


RED = (GateResult("G2", False, "another client was active"),)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[StateDb]:
    store = StateDb(tmp_path / "state.db")
    yield store
    await store.close()


async def kept(store: StateDb, *results: BenchResult) -> Sides:
    for result in results:
        await store.keep_bench(result)
    return Sides(store)


def ids(results: tuple[BenchResult, ...]) -> list[int]:
    return [int(result.bench_id[-4:]) for result in results]


async def test_two_ids_stand_for_every_valid_run_of_their_configurations(store: StateDb) -> None:
    sides = await kept(
        store,
        *(bench(1), bench(2), bench(3, gates=RED), bench(4, workload_key="other")),
        *(new(11), new(12), new(13, error="the server went away")),
    )
    one, other = await sides.both("-0001", "-0012")
    assert ids(one) == [1, 2]
    assert ids(other) == [12, 11]
    assert all(result.requests for result in (*one, *other))


async def test_two_ids_of_one_configuration_stand_for_themselves(store: StateDb) -> None:
    one, other = await (await kept(store, bench(1), bench(2), bench(3))).both("-0001", "-0003")
    assert (ids(one), ids(other)) == ([1], [3])


async def test_a_system_that_nobody_knows_has_no_replicates(store: StateDb) -> None:
    sides = await kept(store, bench(1, system_key=None), bench(2, system_key=None), new(11))
    one, _ = await sides.both("-0001", "-0011")
    assert ids(one) == [1]


async def test_profiles_stand_for_what_was_measured_of_them_on_one_server(store: StateDb) -> None:
    sides = await kept(store, bench(1), bench(2), bench(3, system_key="older"), bench(4), new(11), new(12))
    one, other = await sides.both("reason", "fast")
    assert (ids(one), ids(other)) == ([4, 2, 1], [12, 11])
    one, other = await sides.both("reason", "-0011")
    assert (ids(one), ids(other)) == ([4, 2, 1], [11, 12])


async def test_profiles_of_several_servers_are_not_mixed(store: StateDb) -> None:
    sides = await kept(store, bench(1), new(11), bench(2, subject="glm"), new(12, subject="glm"), bench(3, profile="x"))
    with pytest.raises(K2Error) as several:
        await sides.both("reason", "fast")
    assert several.value.code == "several_servers"
    assert ids((await sides.both("x", "fast"))[1]) == [11]
    await store.keep_bench(bench(5, subject="qwen", profile="y"))
    with pytest.raises(K2Error) as apart:
        await sides.both("x", "y")
    assert apart.value.code == "other_server"


async def test_an_arm_of_a_series_stands_for_its_trials(store: StateDb) -> None:
    sides = await kept(store, bench(1), bench(2), new(11), new(12))
    arms = (Arm("LL", ProfileChange(profile="reason")), Arm("NCCL_ALGO=a:b", ProfileChange(profile="fast")))
    plan = SeriesPlan("20261129T110000Z-abcd", "nccl", "kimi", "gpu-a", arms, order=(0, 1, 1))
    names = {number: f"20261129T1000{number:02}Z-{number:04}" for number in (2, 11, 12)}
    trials = (Trial(1, 0, bench_id=names[2]), Trial(2, 1, bench_id=names[11]), Trial(3, 1, bench_id=names[12]))
    await store.keep_series(SeriesState(plan, trials))
    one, other = await sides.both("abcd:LL", "abcd:2")
    assert (ids(one), ids(other)) == ([2], [12, 11])
    _, other = await sides.both("abcd:1", "20261129T110000Z-abcd:NCCL_ALGO=a:b")
    assert ids(other) == [12, 11]
    with pytest.raises(K2Error) as unknown:
        await sides.both("abcd:1", "abcd:3")
    assert unknown.value.code == "no_such_arm"
    assert "2 NCCL_ALGO=a:b" in str(unknown.value)


@pytest.mark.parametrize("word", ["-9999", "2026", "", ":", "nothing:1"])
async def test_a_word_that_names_nothing_or_several_is_refused(store: StateDb, word: str) -> None:
    sides = await kept(store, bench(1), bench(2))
    with pytest.raises(K2Error) as unknown:
        await sides.both("-0001", word)
    assert (unknown.value.code, unknown.value.exit_code) == ("no_such_bench", ExitCode.MISSING)


async def test_without_a_store_nothing_is_known() -> None:
    with pytest.raises(K2Error) as unknown:
        await Sides(None).both("a", "b")
    assert unknown.value.exit_code is ExitCode.MISSING

"""What a benchmark must not become: a base that is not valid, a trial of another run, a leak of the key."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.benching.matrix import begun
from k2tui.core.benching.result import GateResult
from k2tui.core.benching.series import SeriesStage as Stage_
from k2tui.core.benching.series import SeriesState
from k2tui.core.errors import K2Error
from k2tui.core.settings import ProfileSettings
from k2tui.services.benching.owners import me
from tests.adapters.test_state_benches import RESULT
from tests.fakes.truth_server import TruthServer
from tests.services.benching.series_stage import PROFILES, all_of, staged
from tests.services.benching.stage import NAME, QUICK, Place, told
from tests.services.benching.test_benches import FAST
from tests.services.benching.test_measuring import HELLO, REQUEST, Stage, saying
from tests.services.benching.test_sides import bench, ids, kept, new, store
from tests.services.verb_stage import Workplace

__all__ = ["store"]
KEY = "sk-very-secret-0123456789"


@pytest.mark.parametrize("changes", [{"gates": (GateResult("G2", False, "others"),)}, {"error": "the server is gone"}])
async def test_a_run_that_is_not_valid_is_never_a_base(tmp_path: Path, changes: dict[str, object]) -> None:
    place = Place(tmp_path)
    await place.store.keep_bench(replace(RESULT, **changes))  # type: ignore[arg-type]
    async with place.watching(1, up=False) as fleet:
        with pytest.raises(K2Error) as refused:
            await fleet.set_base(NAME, RESULT.bench_id)
        assert (refused.value.code, fleet.server(NAME).base) == ("not_valid", None)
        assert not any(one.is_base for one in await fleet.benches())


async def test_what_runs_there_now_is_not_measured_as_another_run(tmp_path: Path) -> None:
    place = Place(tmp_path)
    async with TruthServer(FAST) as server, place.watching(server.port) as fleet:
        with pytest.raises(K2Error) as refused:
            await told(fleet._benches.measure_for(NAME, QUICK, run_id="20261129T100000Z-aaaa", series_id="s"))
        assert refused.value.code == "overtaken"
        assert server.truths == []
        assert await fleet.benches() == ()


async def test_a_key_that_the_server_says_again_is_masked() -> None:
    failed = {**REQUEST, "error": f"HTTP 401: {KEY} is no key that I know", "finish": None}
    stage = Stage(says=saying(HELLO, REQUEST, failed, {"type": "end"})[:-1])
    steps = await told(stage.steps(api_key=KEY))
    (result,) = stage.kept
    assert result.requests[-1].error == "HTTP 401: *** is no key that I know"
    assert KEY not in repr(steps)


async def test_a_server_that_says_the_key_in_its_refusal_leaks_nothing() -> None:
    stage = Stage(
        says=saying({"type": "error", "code": "refused", "message": f"HTTP 401: {KEY}"}, {"type": "end"})[:-1]
    )
    with pytest.raises(K2Error) as refused:
        await told(stage.steps(api_key=KEY))
    assert KEY not in str(refused.value)


async def test_another_machine_gives_no_replicates(store: object) -> None:
    sides = await kept(store, bench(1), bench(2), bench(3, node="gpu-b"), new(11), new(12, node="gpu-b"))  # type: ignore[arg-type]
    one, other = await sides.both("-0001", "-0011")
    assert (ids(one), ids(other)) == ([1, 2], [11])
    one, other = await sides.both("reason", "fast")
    assert (ids(one), ids(other)) == ([3], [12])


async def test_where_one_profile_decodes_speculatively_all_stop_where_the_model_does(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    drafts = ProfileSettings("drafts", extends="plain", flags={"speculative-algorithm": "EAGLE"})
    try:
        async with staged(place, up=False) as stage:
            assert stage.ab("slow", "fast").bench.ignore_eos is None
            place.settings = replace(place.settings, profiles={**PROFILES, "drafts": drafts})
            assert stage.ab("slow", "drafts").bench.ignore_eos is False
    finally:
        await place.clear()


async def test_of_two_series_that_begin_at_the_same_moment_none_goes_on_unseen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Workplace(tmp_path)
    try:
        async with staged(place, up=False) as stage:
            mine, rivals = stage.ab(restarts=1), begun(stage.ab(restarts=1), began_at=0.0, owner=me())
            keep = stage.store.keep_series

            async def kept_late(state: SeriesState) -> None:
                if not await stage.store.series():
                    await keep(rivals)
                await keep(state)

            monkeypatch.setattr(stage.store, "keep_series", kept_late)
            with pytest.raises(K2Error) as busy:
                await all_of(stage.serieses.run(mine, confirm=None))
            assert busy.value.code == "series_busy"
            ours = next(one for one in await stage.store.series() if one.plan.series_id == mine.series_id)
            assert (ours.stage, ours.owner) == (Stage_.STOPPED, None)
            assert stage.measures.asked == []
    finally:
        await place.clear()


async def test_a_series_waits_for_its_operator_where_something_else_runs_than_it_started(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    try:
        async with staged(place) as stage:
            stage.measures.overtaken = True
            done = (await all_of(stage.serieses.run(stage.ab(restarts=1), confirm=None)))[-1]
            state = await stage.state()
            assert (done.data["code"], state.stage, state.owner) == ("overtaken", Stage_.RUNNING, None)
            assert len(stage.measures.asked) == 1
    finally:
        await place.clear()

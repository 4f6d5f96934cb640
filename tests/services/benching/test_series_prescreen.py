"""Before its restarts a series may look at each NCCL setting without weights: what hangs there is not launched."""

from __future__ import annotations

import shlex
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.benching.series import TrialState
from k2tui.core.settings import MatrixSettings, ProfileSettings
from k2tui.services.benching import prescreen
from tests.remote.fake_torch import write_torch
from tests.services.benching.series_stage import all_of, staged
from tests.services.verb_stage import ENGINE, NAME, Workplace


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    made = Workplace(tmp_path)
    model, seen = tmp_path / "model", tmp_path / "seen"
    model.mkdir()
    seen.mkdir()
    (model / "config.json").write_text('{"hidden_size": 128}', encoding="utf-8")
    words = (sys.executable, str(ENGINE), "--model-path", str(model), "--tp-size", "2", "--tag", "old")
    site = write_torch(tmp_path / "site")
    made.settings = replace(
        made.settings,
        profiles={"plain": ProfileSettings("plain", cmd=shlex.join(words), env={"PYTHONPATH": str(site)})},
    )
    made.configure(setup=f"export RANKS_SEEN={seen}")
    yield made
    await made.clear()


def matrix(**env: tuple[str, ...]) -> dict[str, MatrixSettings]:
    return {"nccl": MatrixSettings("nccl", NAME, profile="plain", env=env, restarts=1, prescreen=True)}


async def test_what_hangs_without_weights_is_skipped_with_the_reason(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prescreen, "LIMIT_S", 5.0)
    async with staged(place, matrices=matrix(NCCL_ALGO=("Ring", "Tree"))) as stage:
        steps = await all_of(stage.serieses.run(stage.serieses.plan_matrix("nccl"), confirm=None))
        state = await stage.state()
        found = {state.plan.arms[trial.arm].label: trial for trial in state.trials}
        assert found["NCCL_ALGO=Ring"].state is TrialState.MEASURED
        assert found["NCCL_ALGO=Tree"].state is TrialState.SKIPPED
        assert found["NCCL_ALGO=Tree"].why == "an all-reduce of its ranks hung: no answer within 5 s"
        told = dict(state.prescreened)
        assert told["NCCL_ALGO=Ring"].startswith("all-reduce ")
        assert told["NCCL_ALGO=Tree"] == "hung: no answer within 5 s"
        kinds = [step.type for step in steps]
        assert kinds.index("prescreen") < kinds.index("trial")
        stopped = next(step.step for step in steps if step.step is not None and step.step.type == "stopped")
        assert stopped is not None
        assert stage.tag == "old"


async def test_what_only_fails_there_is_launched_all_the_same(place: Workplace) -> None:
    async with staged(place, matrices=matrix(NCCL_PROTO=("LL", "LL128"))) as stage:
        await all_of(stage.serieses.run(stage.serieses.plan_matrix("nccl"), confirm=None))
        state = await stage.state()
        assert {trial.state for trial in state.trials} == {TrialState.MEASURED}
        assert "failed: RuntimeError: NCCL error" in dict(state.prescreened)["NCCL_PROTO=LL128"]


async def test_where_it_cant_be_looked_at_the_series_goes_on(place: Workplace) -> None:
    (place.directory / "site" / "torch" / "__init__.py").write_text("raise ImportError('none')\n", encoding="utf-8")
    async with staged(place, matrices=matrix(NCCL_PROTO=("LL", "LL128"))) as stage:
        steps = await all_of(stage.serieses.run(stage.serieses.plan_matrix("nccl"), confirm=None))
        state = await stage.state()
        assert {trial.state for trial in state.trials} == {TrialState.MEASURED}
        assert {words for _, words in state.prescreened} == {"not looked at"}
        assert [step.text for step in steps if "ImportError: none" in step.text]


async def test_where_nothing_of_nccl_is_different_there_is_nothing_to_look_at(place: Workplace) -> None:
    async with staged(place, matrices=matrix(OTHER=("1", "2"))) as stage:
        steps = await all_of(stage.serieses.run(stage.serieses.plan_matrix("nccl"), confirm=None))
        assert [step.text for step in steps if step.text.startswith("nothing to look at")]

"""A plan says what would run, who gave what, what is known of it, and where a roll-back would lead."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import ProfileSettings
from k2tui.core.verbs import LaunchPlan, ProfileChange
from k2tui.core.verdicts import RunVerdict
from tests.services.verb_stage import K2, NAME, Workplace

VERIFIED = RunVerdict(True, 5.0, "it answered")
SECRET = "sk-12345678abcdef"


@pytest.fixture
async def k2(tmp_path: Path) -> AsyncIterator[K2]:
    place = Workplace(tmp_path)
    place.use("python3 -m sglang.launch_server --model-path /m --tp 8")
    async with place.k2() as made:
        yield made


def run_of(plan: LaunchPlan, number: int, **more: object) -> Run:
    """What a node keeps of a start of this plan."""
    found = Run(
        NAME,
        f"2026110{number}T101010Z-abcd",
        f"/runs/{number}",
        alive=False,
        argv=plan.profile.argv,
        env=tuple(plan.profile.env.items()),
        profile=plan.profile.name,
    )
    return replace(found, **more)  # type: ignore[arg-type]


def knows(k2: K2, *runs: Run) -> None:
    """The node's list of runs, newest first."""
    k2.watch.take_runs(runs, 1.0)


async def test_each_setting_has_its_source_and_its_check(k2: K2) -> None:
    plan = k2.plan(ProfileChange(set={"num-continuous-decode-steps": "4"}))
    assert plan.sources["--tp-size"] == "plain"
    assert plan.sources["--num-continuous-decode-steps"] == "this change"
    assert [check.name for check in plan.checks][:3] == ["--model-path", "--tp-size", "--num-continuous-decode-steps"]
    assert set(plan.sources) == {check.name for check in plan.checks}


async def test_nothing_verified_is_no_way_back_and_says_so(k2: K2) -> None:
    knows(k2, run_of(k2.plan(), 1))
    plan = k2.plan()
    assert (plan.back_to, plan.no_way_back) == (None, "no run of kimi was verified yet")


async def test_the_way_back_is_the_newest_verified_run_and_the_undo_another_configuration(k2: K2) -> None:
    changed = k2.plan(ProfileChange(set={"tp-size": "4"}))
    older, newer = run_of(k2.plan(), 1, verdict=VERIFIED), run_of(changed, 2, verdict=VERIFIED, alive=True)
    knows(k2, newer, older)
    plan = k2.plan()
    assert (plan.replaces_run, plan.back_to, plan.undo_to) == (newer.run_id, newer.run_id, older.run_id)
    assert plan.no_way_back is None


async def test_a_planned_run_is_shown_beside_what_runs_and_is_no_run_yet(k2: K2) -> None:
    live = run_of(k2.plan(), 1, alive=True)
    knows(k2, run_of(k2.plan(), 2, is_planned=True), live)
    assert k2.view.run == live
    assert k2.view.planned is not None
    assert k2.view.runs == (live,)
    assert k2.plan().replaces_run == live.run_id


async def test_a_run_whose_secret_nobody_has_is_no_way_back_and_an_older_one_is(k2: K2) -> None:
    keyed = k2.plan(ProfileChange(set={"api-key": SECRET}))
    argv = tuple("***" if word == SECRET else word for word in keyed.profile.argv)
    newer = run_of(keyed, 2, argv=argv, verdict=VERIFIED)
    knows(k2, newer)
    plan = k2.plan()
    assert plan.back_to is None
    assert "had a secret in --api-key" in (plan.no_way_back or "")
    older = run_of(k2.plan(), 1, verdict=VERIFIED)
    knows(k2, newer, older)
    assert k2.plan().back_to == older.run_id
    with pytest.raises(K2Error) as refused:
        k2.plan(ProfileChange(run=newer.run_id))
    assert refused.value.code == "secret_unknown"


async def test_what_was_proved_before_is_not_asked_again(k2: K2) -> None:
    change = ProfileChange(set={"reasoning-parser": "kimi_k2"})
    assert len(k2.plan(change).expects) > len(k2.plan().expects)
    knows(k2, run_of(k2.plan(change), 1, verdict=VERIFIED))
    also = ProfileChange(set={"reasoning-parser": "kimi_k2", "host": "127.0.0.1"})
    assert k2.plan(change).expects == k2.plan(also).expects


async def test_what_a_pasted_command_loses_is_a_warning_and_that_of_the_profile_is_not(k2: K2) -> None:
    plan = k2.plan(ProfileChange(cmd="nohup python3 -m sglang.launch_server --model-path /x > log"))
    assert any("nohup was left out" in warning for warning in plan.warnings)
    assert plan.profile.name == "pasted command"


async def test_a_secret_in_the_command_is_warned_of_and_not_shown(k2: K2) -> None:
    plan = k2.plan(ProfileChange(set={"api-key": SECRET}))
    assert any("API key stands in the command" in warning for warning in plan.warnings)
    assert SECRET not in f"{plan.command}{plan.warnings}{plan.checks}{plan.sources}{plan.expects}"


async def test_a_profile_of_the_config_that_came_later_is_known_at_once(k2: K2, tmp_path: Path) -> None:
    with pytest.raises(K2Error, match="there is no profile fast"):
        k2.plan(ProfileChange(profile="fast"))
    k2.place.settings = replace(
        k2.place.settings,
        profiles={**k2.place.settings.profiles, "fast": ProfileSettings("fast", extends="plain", flags={"tp-size": 2})},
    )
    assert k2.plan(ProfileChange(profile="fast")).sources["--tp-size"] == "fast"

"""k2tui killed at every step of a restart: the next one sees what is true, and can go on or take it back."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.verbs import Manner, OnFailure, ProfileChange
from tests.services.verb_stage import COMMAND, K2, Workplace, played, played_until_killed, tag_of
from tests.waiting import until

NEW = ProfileChange(set={"tag": "new"})
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Stands:
    """What a k2tui that comes later finds."""

    planned: bool
    tag: str
    """Of the newest run that was begun."""
    alive: bool
    verified: bool

    @classmethod
    def now(cls, k2: K2) -> Stands:
        """As its view shows it."""
        run = k2.view.run
        assert run is not None
        verified = run.verdict is not None and run.verdict.verified
        return cls(k2.view.planned is not None, tag_of(run) or "", run.alive is True, verified)


UNTOUCHED = Stands(planned=False, tag="old", alive=True, verified=True)
BESIDE = Stands(planned=True, tag="old", alive=True, verified=True)
GONE = Stands(planned=True, tag="old", alive=False, verified=True)
BEGUN = Stands(planned=False, tag="new", alive=True, verified=False)
ENDED = Stands(planned=False, tag="new", alive=True, verified=True)

POINTS = {
    ("prepare", "before"): UNTOUCHED,
    ("prepare", "after"): BESIDE,
    ("stop", "before"): BESIDE,
    ("stop", "amid"): BESIDE,
    ("stop", "after"): GONE,
    ("remains", "before"): GONE,
    ("remains", "after"): GONE,
    ("begin", "before"): GONE,
    ("begin", "after"): BEGUN,
    ("http", "before"): BEGUN,
    ("listener", "after"): BEGUN,
    ("write_verdict", "before"): BEGUN,
    ("write_verdict", "after"): ENDED,
}
"""Every step of a restart that reaches the node, and what stands there when k2tui was killed at it."""


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Workplace]:
    made = Workplace(tmp_path)
    yield made
    await made.clear()


async def killed(place: Workplace, at: str, when: str) -> None:
    """A server that runs and was verified, and a restart of it that was broken off there."""
    if when == "amid":
        place.use(f"{COMMAND} --stubborn")
    async with place.k2() as k2:
        steps = await played(k2.verbs.start(k2.plan(), confirm=None, verify=True))
        assert steps[-1].exit_code is ExitCode.DONE, steps[-1].text
    async with place.k2(at, when) as k2:
        if when == "amid":
            place.tell_amid(k2, "asked to end, and went on")
        await played_until_killed(k2, k2.verbs.restart(k2.plan(NEW), confirm=None, verify=True))


async def test_every_step_that_reaches_the_node_is_a_point(place: Workplace) -> None:
    async with place.k2() as k2:
        await played(k2.verbs.start(k2.plan(), confirm=None, verify=True))
        k2.link.ran.clear()
        await played(k2.verbs.restart(k2.plan(NEW), confirm=None, verify=True))
        looks = {"scan", "log_size", "weights", "activity"}  # of the watch, at its own times
        assert set(k2.link.ran) - looks == {at for at, _ in POINTS} - {"http"}


@pytest.mark.parametrize(("at", "when"), POINTS, ids=[" ".join(point) for point in POINTS])
@pytest.mark.parametrize("way", ["go_on", "take_back"])
async def test_a_killed_restart_is_told_as_it_stands_and_comes_to_either_end(
    place: Workplace, at: str, when: str, way: str
) -> None:
    stands = POINTS[at, when]
    await killed(place, at, when)
    async with place.k2() as k2:
        assert Stands.now(k2) == stands
        old = (await k2.runs())[-1]
        verb = k2.verbs.go_on if way == "go_on" else k2.verbs.take_back
        if stands in (UNTOUCHED, ENDED):
            with pytest.raises(K2Error) as refused:
                await played(verb(confirm=None))
            assert (refused.value.code, refused.value.exit_code) == ("nothing_planned", ExitCode.MISSING)
            assert Stands.now(k2) == stands
            return
        steps = await played(verb(confirm=None))
        assert steps[-1].exit_code is ExitCode.DONE, steps[-1].text
        await until(lambda: Stands.now(k2) == (ENDED if way == "go_on" else UNTOUCHED))
        runs = await k2.runs()
        assert [run.alive for run in runs].count(True) == 1
        assert not [run for run in await k2.keeper.scan() if run.is_planned]
        if way == "take_back" and stands == BESIDE:
            assert (runs[0].run_id, len(steps)) == (old.run_id, 1)  # it was never touched
        with pytest.raises(K2Error, match="no restart of kimi was interrupted"):
            await played(verb(confirm=None))


@pytest.mark.parametrize(
    ("step", "way", "stands"),
    [
        ("preflight", "go_on", UNTOUCHED),
        ("stopping", "take_back", BESIDE),
        ("stopped", "go_on", GONE),
        ("seen", "take_back", GONE),
        ("started", "go_on", BEGUN),
        ("proved", "take_back", BEGUN),
    ],
)
async def test_a_process_that_is_killed_for_good_leaves_the_same(
    place: Workplace, step: str, way: str, stands: Stands
) -> None:
    async with place.k2() as k2:
        await played(k2.verbs.start(k2.plan(), confirm=None, verify=True))
    port = place.settings.servers["kimi"].port
    command = (sys.executable, "-m", "tests.services.killed_k2", str(place.directory), str(port), step)
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT)
    assert await process.wait() == -signal.SIGKILL
    async with place.k2() as k2:
        await until(lambda: Stands.now(k2) == stands)
        if stands != UNTOUCHED:
            steps = await played(k2.verbs.go_on(confirm=None) if way == "go_on" else k2.verbs.take_back(confirm=None))
            assert steps[-1].exit_code is ExitCode.DONE, steps[-1].text
            await until(lambda: Stands.now(k2) == (ENDED if way == "go_on" else UNTOUCHED))


async def test_a_roll_back_that_is_killed_as_it_began_is_gone_on_with(place: Workplace) -> None:
    async with place.k2() as k2:
        await played(k2.verbs.start(k2.plan(), confirm=None, verify=True))
    bad, back = ProfileChange(set={"tag": "bad"}), Manner(on_failure=OnFailure.ROLLBACK)
    async with place.k2("launch", "after") as k2:
        await played_until_killed(k2, k2.verbs.restart(k2.plan(bad), confirm=None, verify=True, manner=back))
    async with place.k2() as k2:
        assert Stands.now(k2) == Stands(planned=False, tag="old", alive=True, verified=False)
        steps = await played(k2.verbs.go_on(confirm=None))
        assert steps[-1].exit_code is ExitCode.DONE, steps[-1].text
        assert Stands.now(k2) == UNTOUCHED


async def test_a_key_that_only_the_killed_k2tui_knew_is_told_and_no_reason_to_go_back(place: Workplace) -> None:
    place.configure(on_failure="rollback")
    async with place.k2() as k2:
        await played(k2.verbs.start(k2.plan(), confirm=None, verify=True))
    locked = ProfileChange(set={"tag": "new", "api-key": "planted-secret-1"})
    async with place.k2("begin", "after") as k2:
        await played_until_killed(k2, k2.verbs.restart(k2.plan(locked), confirm=None, verify=True))
    async with place.k2() as k2:
        steps = await played(k2.verbs.go_on(confirm=None))
        assert steps[-1].exit_code is ExitCode.BAD
        assert "wants an API key that k2tui was not given" in steps[-1].text
        assert "rollback" not in [step.type for step in steps]
        assert Stands.now(k2) == BEGUN

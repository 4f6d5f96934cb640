"""Pictures of trying, proving, going back, of runs and of verbs on several servers. Look at them when they change."""

from __future__ import annotations

import pytest

from tests.ui.helpers import FakeCopier, app_on, shows, stands_still, until
from tests.ui.test_runs_screen import with_history
from tests.ui.test_snapshots import Snap, picture, pytestmark, size_name
from tests.ui.tried import TriedFleet, history, interrupted, proof, tried

__all__ = ["pytestmark"]
SIZES = [(200, 50), (80, 24)]


def guarded() -> TriedFleet:
    """Six servers; two of them differ from the others, one was found."""
    fleet = tried(6)
    fleet.end("kimi-2", stop_asked=True)
    return fleet


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_runs(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, with_history(), size, "H", "space", "j")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_compare(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, with_history(), size, "H", "j", "c")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_verify(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = tried()
    fleet.proofs["kimi"] = proof()
    picture(snap_compare, fleet, size, "v")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_roll_back(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = tried()
    runs = history(fleet)
    app = app_on(fleet, copier=FakeCopier())

    async def settle(pilot: object) -> None:
        await until(pilot, lambda: app.front is not None and app.front.scene is not None)  # type: ignore[arg-type]
        app.ask_back("kimi", runs[1].run_id, "kimi answers, and its tool calls come back as text")
        await shows(pilot, "roll back?")  # type: ignore[arg-type]
        await stands_still(pilot)  # type: ignore[arg-type]

    assert snap_compare(app, terminal_size=size, run_before=settle)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_several(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, guarded(), size, "space", "space", "space", "space", "r")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_stop_several(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, guarded(), size, "space", "space", "space", "s")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_interrupted(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = tried()
    interrupted(fleet)
    picture(snap_compare, fleet, size)


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_interrupted_question(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = tried()
    interrupted(fleet, old_lives=False)
    picture(snap_compare, fleet, size, "r")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_typing_a_try(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, tried(), size, "t", *"NCCL_P")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_a_try_that_is_wrong(snap_compare: Snap, size: tuple[int, int]) -> None:
    picture(snap_compare, tried(), size, "t", *"tp-size 4", "enter")


@pytest.mark.parametrize("size", SIZES, ids=size_name)
def test_effects_of_a_server(snap_compare: Snap, size: tuple[int, int]) -> None:
    fleet = tried()
    fleet.set("kimi", proof=proof(), proof_at=fleet.clock.at)
    picture(snap_compare, fleet, size, start_at="kimi", key_takes_s=0.0)

"""The runs of a server: listed, filtered, compared, opened, and begun from again."""

from __future__ import annotations

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import LaunchKind
from k2tui.core.surroundings import Surroundings
from k2tui.core.verbs import ProfileChange
from k2tui.ui.screens.compare import CompareScreen
from k2tui.ui.screens.runs import RunsScreen
from k2tui.ui.screens.server import ServerScreen
from k2tui.ui.screens.sheet import LaunchSheet
from tests.fakes.fleet import PHASE_SECONDS, FakeFleet
from tests.ui.helpers import FakeCopier, app_on, gone, hear, rows_of, screen_text, shows, until
from tests.ui.tried import TriedFleet, history, tried

KEY = LaunchKey("gpu-a", "/shared/kimi-k2.5-int4", "sglang", "abc")


def with_history() -> TriedFleet:
    fleet = tried()
    runs = history(fleet)
    took = {runs[3].run_id: 31.6, runs[1].run_id: 34.0}
    past = tuple(
        PastLaunch(run_id, "kimi", KEY, 1.0, LaunchKind.READY, PHASE_SECONDS, ready_s=ready_s)
        for run_id, ready_s in took.items()
    )
    fleet.set("kimi", around=Surroundings(past=past, key=KEY))
    return fleet


async def opened(pilot: object, fleet: FakeFleet) -> None:
    await pilot.press("H")  # type: ignore[attr-defined]
    await shows(pilot, "kimi › runs", "start")  # type: ignore[arg-type]


async def test_every_run_is_listed_with_what_it_changed_and_what_came_of_it() -> None:
    fleet = with_history()
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await opened(pilot, fleet)
        rows = [row.split() for row in rows_of(app)]
        listed = [row for row in rows if row[:1] == ["11-30"]]
        assert [row[2] for row in listed] == ["try", "undo", "try", "start"]
        text = screen_text(app)
        assert "+--mem-fraction-static" not in text
        assert "~--mem-fraction-static 0.9>0.88" in text
        assert "+--num-continuous-decode-steps 4" in text
        assert "the first run that is known" in text
        assert "bob@jump" in text
        assert "not verified" in text
        assert "exit 1" in text
        assert "34 s" in text


@pytest.mark.parametrize("size", [(200, 50), (80, 24)])
async def test_the_selected_run_is_told_in_full_below(size: tuple[int, int]) -> None:
    fleet = with_history()
    app = app_on(fleet)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, fleet)
        await shows(pilot, "tool calls come back as text", "modified: models/deepseek_v2.py")
        await pilot.press("j")
        await shows(pilot, "undo, by ann@desk", "ready after 34 s")
        await gone(pilot, "modified: models/deepseek_v2.py")
        await pilot.press("j")
        await shows(pilot, "nothing was proved of it")


async def test_enter_opens_the_log_of_the_selected_run() -> None:
    fleet = with_history()
    runs = fleet.server("kimi").runs
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ServerScreen))
        await shows(pilot, f"log of {runs[2].run_id}")
        await pilot.press("<")
        await shows(pilot, f"log of {runs[3].run_id}")


async def test_two_marked_runs_are_compared_the_older_one_left() -> None:
    fleet = with_history()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("space", "j", "space")
        await shows(pilot, "2 marked")
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await shows(pilot, "--disable-cuda-graph", "NCCL_PROTO", "absent", "not verified")
        heads = next(row for row in rows_of(app) if "11-30 12:00" in row)
        assert heads.index("11-30 12:00") < heads.index("11-30 14:00")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, RunsScreen))


async def test_without_marks_the_selected_run_is_compared_with_the_newest() -> None:
    fleet = with_history()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("c")
        await shows(pilot, "compare: this is the newest run")
        await pilot.press("j", "c")
        await until(pilot, lambda: isinstance(app.screen, CompareScreen))
        await shows(pilot, "--mem-fraction-static", "0.88")


async def test_three_marks_are_one_too_many() -> None:
    fleet = with_history()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("space", "j", "V", "c")
        await shows(pilot, "mark two runs")


async def test_r_begins_from_what_the_selected_run_was_started_with() -> None:
    fleet = with_history()
    runs = fleet.server("kimi").runs
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("j", "j", "r")
        await until(pilot, lambda: isinstance(app.screen, LaunchSheet))
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: [change for _, _, change, _ in fleet.asked] == [ProfileChange(run=runs[2].run_id)])


async def test_a_filter_finds_runs_by_what_they_changed() -> None:
    fleet = with_history()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("/", *"cuda-graph", "enter")
        await shows(pilot, "2 of 4")
        await pilot.press("escape")
        await gone(pilot, "2 of 4")


async def test_y_copies_the_run_with_its_id() -> None:
    fleet = with_history()
    copier = FakeCopier()
    app = app_on(fleet, copier=copier)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("y")
        await until(pilot, lambda: bool(copier.texts))
        assert copier.texts[0].startswith(fleet.server("kimi").runs[0].run_id)
        assert "~--mem-fraction-static 0.9>0.88" in copier.texts[0]


async def test_the_colon_opens_the_runs_of_a_named_server() -> None:
    app = app_on(tried(2))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":")
        await until(pilot, lambda: app.screen.prompt is not None)  # type: ignore[attr-defined]
        await pilot.press(*"runs kimi-2", "enter")
        await shows(pilot, "kimi-2 › runs")


async def test_runs_that_cant_be_read_say_why_and_those_that_are_known_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = with_history()

    async def runs(name: str) -> object:
        raise K2Error(f"runs of {name}: state.db is locked", code="state", subject=name)

    monkeypatch.setattr(fleet, "runs", runs)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("H")
        await shows(pilot, "state.db is locked", "undo")


async def test_a_run_that_comes_while_one_looks_is_listed() -> None:
    fleet = with_history()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await shows(pilot, "4 runs")
        fleet.begin("kimi")
        await shows(pilot, "5 runs")

"""Verbs on marked servers: all of them are named before, and the first that fails ends it."""

from __future__ import annotations

import pytest

from k2tui.core.settings import NodeSettings, ProfileSettings
from k2tui.core.verbs import Manner
from k2tui.core.views import ServerStatus
from k2tui.ui.screens.fleet import FleetScreen
from k2tui.ui.screens.question import QuestionDialog
from tests.fakes.fleet import PROFILES
from tests.ui.helpers import app_on, hear, rows_of, screen_text, shows, until
from tests.ui.tried import tried
from tests.ui.working import found

MORE = {**PROFILES, "reason": ProfileSettings("reason", extends="base", flags={"reasoning-parser": "kimi_k2"})}


async def test_marked_servers_are_restarted_one_by_one() -> None:
    fleet = tried(4)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "r")
        await shows(pilot, "Restart 2 servers", "kimi  kimi-2", "profile reason: no change", "[ Cancel ]")
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "2 of 2 are verified")
        assert [(verb, name) for verb, name, _, _ in fleet.asked] == [("restart", "kimi"), ("restart", "kimi-2")]
        assert any("2 of 2 are verified" in event.text for event in app.own_events)
        assert app.screen.rows.marks.keys == frozenset()  # type: ignore[attr-defined]


async def test_enter_alone_restarts_nothing() -> None:
    fleet = tried(4)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "r")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await hear(pilot, fleet, ["enter"])
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        assert fleet.asked == []


async def test_the_first_that_is_not_verified_ends_it_and_the_rest_is_named() -> None:
    fleet = tried(4)
    fleet.fails["kimi-2"] = None
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "space", "r")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "1 of 3 are verified; kimi-2 is not; not touched: kimi-3")
        assert [name for _, name, _, _ in fleet.asked] == ["kimi", "kimi-2"]


async def test_the_one_that_failed_is_asked_about() -> None:
    fleet = tried(4)
    good = fleet.server("kimi").runs[0].run_id
    fleet.fails["kimi"] = good
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "r")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "kimi on gpu-a is not as it should be: roll back?", good)


async def test_a_range_is_marked_and_all_at_once_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = tried(4)
    seen: list[bool] = []
    real = fleet.restart_many

    def restart_many(*args: object, parallel: bool = False, **options: object) -> object:
        seen.append(parallel)
        return real(*args, parallel=parallel, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(fleet, "restart_many", restart_many)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "j", "V", "r")
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await hear(pilot, fleet, ["right", "right", "enter"])
        await until(pilot, lambda: seen == [True])


async def test_a_try_goes_to_all_that_are_marked_on_top_of_what_each_runs() -> None:
    fleet = tried(4)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "t")
        await shows(pilot, "try ")
        await pilot.press(*"NCCL_PROTO=LL128", "enter")
        await shows(pilot, "Try NCCL_PROTO=LL128 on 2 servers", "~NCCL_PROTO LL>LL128")
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "2 of 2 are verified")
        assert [dict(change.env) for _, _, change, _ in fleet.asked] == [{"NCCL_PROTO": "LL128"}] * 2
        assert [change.run is not None for _, _, change, _ in fleet.asked] == [True, True]
        assert fleet.manners == [Manner(why="try")] * 2


async def test_words_that_do_not_fit_one_of_them_stay_in_the_prompt() -> None:
    fleet = tried(4)
    fleet.end("kimi-2", stop_asked=True)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "t")
        await shows(pilot, "try ")
        await pilot.press(*"-no-such-flag", "enter")
        await shows(pilot, "no-such-flag to unset", "try -no-such-flag")


async def test_servers_with_another_difference_have_a_row_of_their_own() -> None:
    fleet = tried(4)
    fleet.settings = tried(4, profiles=MORE).settings
    fleet.end("kimi-2", stop_asked=True)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "r")
        await shows(pilot, "---tool-call-parser", "it does not run now")
        rows = rows_of(app)
        assert any(row.strip(" │").strip() == "kimi-2" for row in rows)


async def test_a_server_of_somebody_else_is_left_out_by_name() -> None:
    fleet = tried(4)
    fleet.find("vllm-8000", found())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "r")
        await shows(pilot, "Restart 1 server", "left out: vllm-8000: not started by k2tui: ann")


async def test_guarded_nodes_want_all_their_names() -> None:
    nodes = {name: NodeSettings(name, name, confirm="always") for name in ("gpu-a", "gpu-b", "gpu-c")}
    fleet = tried(3, nodes=nodes)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "r")
        await shows(pilot, "Type the nodes' names")
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "that is not the names of the nodes: gpu-a gpu-b")
        await pilot.press(*"gpu-b gpu-a", "tab", "right", "enter")
        await shows(pilot, "2 of 2 are verified")
        assert [given for *_, given in fleet.asked] == ["gpu-a", "gpu-b"]


async def test_marked_servers_are_stopped_after_one_question_that_names_them() -> None:
    fleet = tried(4)
    fleet.end("kimi-3", stop_asked=True)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", "space", "s")
        await shows(
            pilot, "Stop 2 servers", "kimi on gpu-a", "kimi-2 on gpu-b", "left out, not running as yours: kimi-3"
        )
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: fleet.server("kimi-2").status is ServerStatus.DOWN)
        assert {(verb, name) for verb, name, _, _ in fleet.asked} == {("stop", "kimi"), ("stop", "kimi-2")}
        assert fleet.server("kimi-4").status is ServerStatus.READY


@pytest.mark.parametrize(("key", "word"), [("r", "restart"), ("s", "stop")])
async def test_read_only_refuses_several_as_it_refuses_one(key: str, word: str) -> None:
    fleet = tried(4, read_only=True)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "space", key)
        await shows(pilot, f"{word} kimi, kimi-2: not now, k2tui is read-only")
        assert isinstance(app.screen, FleetScreen)


async def test_too_many_to_show_say_how_many_more_there_are() -> None:
    fleet = tried(26)
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("space", "G", "V", "s")
        await shows(pilot, "Stop 26 servers", "rows more", "[ Cancel ]")
        assert "Requests" not in screen_text(app) or "rows more" in screen_text(app)

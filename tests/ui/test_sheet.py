"""The launch sheet: what will run is seen before anything does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.widgets import Input

from k2tui.core.errors import K2Error
from k2tui.core.settings import NodeSettings, Settings
from k2tui.core.verbs import ProfileChange
from k2tui.core.views import ServerStatus
from k2tui.ui.screens.box import BoxScreen
from k2tui.ui.screens.confirm import ConfirmDialog
from k2tui.ui.screens.sheet import LaunchSheet
from k2tui.ui.sheet_state import Draft, Edit, edit_of
from tests.fakes.fleet import FakeFleet, connected, settings_of
from tests.ui.helpers import FakeCopier, app_on, gone, hear, screen_text, shows, until

SIZES = [(200, 50), (120, 40), (80, 24)]


def running(settings: Settings | None = None) -> FakeFleet:
    fleet = connected(settings or settings_of())
    fleet.begin("kimi")
    fleet.ready("kimi")
    return fleet


def always() -> Settings:
    return settings_of(nodes={"gpu-a": NodeSettings("gpu-a", "gpu-a", confirm="always")})


async def opened(pilot: Any, fleet: FakeFleet) -> LaunchSheet:
    await pilot.press("r")
    await until(pilot, lambda: isinstance(pilot.app.screen, LaunchSheet))
    await hear(pilot, fleet)
    sheet: LaunchSheet = pilot.app.screen
    return sheet


@pytest.mark.parametrize("size", SIZES, ids=str)
async def test_it_shows_profile_flags_and_the_exact_command(size: tuple[int, int]) -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=size) as pilot:
        await opened(pilot, fleet)
        await shows(pilot, "Restart kimi on gpu-a", "profile reason", "--tp-size", "Command ", "env NCCL_PROTO=LL")
        assert "[ Cancel ]" in screen_text(app)


async def test_enter_alone_never_restarts() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))
        assert fleet.asked == []


async def test_the_first_moment_of_typing_is_not_heard() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: isinstance(app.screen, LaunchSheet))
        await pilot.press("enter", "escape", "q")
        assert isinstance(app.screen, LaunchSheet)
        await hear(pilot, fleet, ["escape"])
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))


async def test_a_restart_goes_from_key_to_ready() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        sheet = await opened(pilot, fleet)
        assert sheet.restarts
        fleet.hold = True
        await pilot.press("tab", "enter")
        await until(pilot, lambda: fleet.server("kimi").status is ServerStatus.LOADING)
        fleet.hold = False
        fleet.gate.set()
        await shows(pilot, "READY", "fired up and ready to roll")
        assert fleet.asked == [("restart", "kimi", ProfileChange(), None)]
        assert len(fleet.server("kimi").runs) == 2


async def test_a_server_that_does_not_run_is_started() -> None:
    fleet = connected(settings_of())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await shows(pilot, "Start kimi on gpu-a", "not running now")
        await pilot.press("tab", "enter")
        await until(pilot, lambda: [verb for verb, *_ in fleet.asked] == ["start"])


async def test_an_added_flag_shows_as_added_and_is_in_the_command() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        sheet = await opened(pilot, fleet)
        await pilot.press("a", *"--max-running-requests 16", "enter")
        await shows(pilot, "1 changed", "+ --max-running-requests", "(absent)", "16 --port 30000")
        assert [row.setting.name for row in [sheet.rows.selected] if row] == ["--max-running-requests"]
        assert sheet.draft.change().set == {"max-running-requests": "16"}
        await pilot.press("U")
        await shows(pilot, "nothing changed")


async def test_a_variable_is_added_and_a_flag_removed_and_edited() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        sheet = await opened(pilot, fleet)
        await pilot.press("a", *"NCCL_DEBUG=INFO", "enter")
        await shows(pilot, "+ NCCL_DEBUG")
        await pilot.press("g", "j", "x")
        await shows(pilot, "- --tp-size")
        sheet.rows.select("--reasoning-parser")
        await pilot.press("e")
        await shows(pilot, " --reasoning-parser: kimi_k2")
        app.screen.query_one("#field", Input).value = "qwen3"
        await pilot.press("enter")
        await shows(pilot, "~ --reasoning-parser", "3 changed")
        await pilot.press("R")
        await shows(pilot, "nothing changed")


async def test_what_is_wrong_with_an_edit_is_said_and_nothing_is_changed() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("a", *"--bad*name 1", "enter")
        await shows(pilot, "✗", "is no flag's name", "nothing changed")


async def test_another_profile_is_chosen_from_a_list() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        sheet = await opened(pilot, fleet)
        await pilot.press("M")
        await shows(pilot, "Profile", "type to find")
        await pilot.press(*"base", "enter")
        await shows(pilot, "profile base", "2 changed")
        assert sheet.draft.profile == "base"


async def test_a_dry_run_says_what_would_be_done_and_does_nothing() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("X")
        await shows(pilot, "Would stop run 20261130T140100Z-0001, then start", "Nothing was done")
        assert fleet.asked == []


async def test_the_command_is_copied() -> None:
    fleet, copier = running(), FakeCopier()
    app = app_on(fleet, copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("Y")
        await until(pilot, lambda: copier.texts == [fleet.plan("kimi").command])


async def test_the_name_of_the_node_is_typed_where_it_is_asked_for_always() -> None:
    fleet = running(always())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await shows(pilot, 'confirm = "always" on gpu-a', "Type the node's name (gpu-a)")
        await pilot.press("tab", "enter")
        await shows(pilot, "that is not the name of the node")
        assert fleet.asked == []
        await pilot.press(*"gpu-a", "tab", "tab", "enter")
        await until(pilot, lambda: [(v, c) for v, _, _, c in fleet.asked] == [("restart", "gpu-a")])


async def test_a_server_that_turns_out_to_be_busy_is_asked_for_again() -> None:
    fleet = running()
    fleet.refusal = K2Error(
        "restart kimi needs a confirmation: 3 requests are running and would be cut off", code="confirm_needed"
    )
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await shows(pilot, "3 requests are running", "Restart anyway")
        await hear(pilot, fleet, ["tab", "enter"])
        await until(pilot, lambda: [(v, c) for v, _, _, c in fleet.asked] == [("restart", "gpu-a")])


async def test_a_refusal_is_one_sentence_with_a_way_out_and_stays_on_the_events_list() -> None:
    fleet = running()
    fleet.refusal = K2Error("port 30000 is taken by pid 77", code="port_taken", subject="kimi", hint="stop it first")
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("tab", "enter")
        await shows(pilot, "port 30000 is taken by pid 77; stop it first")
        assert "Traceback" not in screen_text(app)
        await pilot.press("5")
        await shows(pilot, "events", "port 30000 is taken by pid 77")


async def test_a_bug_in_a_verb_is_a_sentence_too() -> None:
    fleet = running()
    fleet.refusal = KeyError("oops")  # type: ignore[assignment]  # a bug of ours, on purpose
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("tab", "enter")
        await shows(pilot, "restart kimi broke: KeyError")
        assert app.is_running


async def test_read_only_the_sheet_can_be_looked_at_and_its_button_says_why_not() -> None:
    fleet = running(settings_of(read_only=True))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await shows(pilot, "Restart    k2tui is read-only")
        await pilot.press("tab", "enter")
        await shows(pilot, "✗ not now: k2tui is read-only")
        await pilot.press("W")
        await shows(pilot, "✗ not saved: k2tui is read-only")
        assert isinstance(app.screen, LaunchSheet)
        assert fleet.asked == []


async def test_a_watched_server_has_no_sheet() -> None:
    from k2tui.core.settings import ServerSettings

    fleet = connected(settings_of(servers={"by-hand": ServerSettings("by-hand", "gpu-a", log="/tmp/x.log")}))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("r")
        await shows(pilot, "by-hand has no profile")
        assert isinstance(app.screen, BoxScreen)


async def test_quitting_while_a_verb_goes_on_does_not_wait_for_it() -> None:
    fleet = running()
    fleet.hold = True
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: bool(fleet.asked))
        await pilot.press("Q")
        await until(pilot, lambda: not app.is_running)
    assert not fleet.gate.is_set()
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("typed", "edit"),
    [
        ("--tp-size 8", Edit("tp-size", "8", False)),
        ("--tp-size=8", Edit("tp-size", "8", False)),
        ("tp-size 8", Edit("tp-size", "8", False)),
        ("--trust-remote-code", Edit("trust-remote-code", "", False)),
        ("NCCL_PROTO=LL128", Edit("NCCL_PROTO", "LL128", True)),
        ("  ", None),
    ],
)
def test_edits_are_typed_as_in_a_shell(typed: str, edit: Edit | None) -> None:
    assert edit_of(typed) == edit


def test_the_last_edit_of_a_flag_counts_whatever_its_spelling() -> None:
    draft = Draft().with_edit(Edit("tp", "4", False)).with_edit(Edit("tp-size", "8", False))
    assert draft.change().set == {"tp-size": "8"}
    assert draft.taken_back().change().set == {"tp": "4"}


async def test_the_sheet_hides_when_a_confirmation_covers_it() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await opened(pilot, fleet)
        await pilot.press("?")
        await shows(pilot, "Keys of the launch sheet", "Add a flag or a variable")
        await pilot.press("escape")
        await gone(pilot, "Keys of the launch sheet")
        assert isinstance(app.screen, LaunchSheet)

"""Dialogs other than the sheet: stop, trust, help, palette, and the line after the colon."""

from __future__ import annotations

import pytest

from k2tui.core.link import LinkPhase
from k2tui.core.settings import NodeSettings
from k2tui.core.views import ServerStatus
from k2tui.ui.actions import UnknownCommand, completions, understand
from k2tui.ui.screens.box import BoxScreen
from k2tui.ui.screens.confirm import ConfirmDialog
from k2tui.ui.screens.describe import TextPane, TextScreen
from k2tui.ui.screens.help import ChooseScreen
from k2tui.ui.screens.server import ServerScreen
from k2tui.ui.spans import cells
from k2tui.ui.widgets.log_pane import LogPane
from tests.fakes.fleet import FakeFleet, connected, settings_of
from tests.ui.helpers import FakeCopier, app_on, gone, hear, screen_text, shows, until


def running() -> FakeFleet:
    fleet = connected(settings_of())
    fleet.begin("kimi")
    fleet.ready("kimi")
    return fleet


async def test_the_stop_dialog_names_all_that_will_be_stopped() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        run = fleet.server("kimi").run
        assert run is not None
        await shows(
            pilot, "Stop kimi on gpu-a", run.run_id, "41233", "/shared/kimi-k2.5-int4", "ann@desk", "[ Cancel ]"
        )


async def test_stop_needs_more_than_enter() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await hear(pilot, fleet, ["enter"])
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))
        assert fleet.asked == []


async def test_a_confirmed_stop_stops() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: fleet.server("kimi").status is ServerStatus.DOWN)
        await shows(pilot, "kimi stopped")


async def test_a_stop_that_was_typed_stops_too() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(":")
        await until(pilot, lambda: getattr(app.screen, "prompt", None) is not None)
        await pilot.press(*"stop kimi", "enter")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await hear(pilot, fleet, ["right", "enter"])
        await until(pilot, lambda: fleet.server("kimi").status is ServerStatus.DOWN)


async def test_stop_under_always_wants_the_name_of_the_node() -> None:
    fleet = connected(settings_of(nodes={"gpu-a": NodeSettings("gpu-a", "gpu-a", confirm="always")}))
    fleet.begin("kimi")
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        await shows(pilot, "Type the node's name")
        await hear(pilot, fleet, ["right", "enter"])
        await shows(pilot, "not the name of the node")
        await pilot.press(*"gpu-a", "tab", "right", "enter")
        await until(pilot, lambda: [(v, c) for v, _, _, c in fleet.asked] == [("stop", "gpu-a")])


async def test_stop_of_what_does_not_run_says_so() -> None:
    app = app_on(connected(settings_of()))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("s")
        await shows(pilot, "kimi is not running")


async def test_an_unknown_host_key_is_shown_and_trusted_only_when_asked() -> None:
    fleet = connected(settings_of())
    fleet.link(
        "gpu-a", phase=LinkPhase.BLOCKED, code="host_key_unknown", reason="host key unknown", fingerprint="SHA256:abc"
    )
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("C")
        await shows(pilot, "Unknown host key of gpu-a", "SHA256:abc", "[ Cancel ]")
        await hear(pilot, fleet, ["enter"])
        await gone(pilot, "SHA256:abc")
        assert fleet.trusted == []
        await pilot.press("C")
        await shows(pilot, "SHA256:abc")
        await hear(pilot, fleet, ["tab", "enter"])
        await until(pilot, lambda: fleet.trusted == ["gpu-a"])


async def test_a_changed_host_key_can_not_be_accepted() -> None:
    fleet = connected(settings_of())
    fleet.link(
        "gpu-a", phase=LinkPhase.BLOCKED, code="host_key_changed", reason="host key changed", fingerprint="SHA256:xyz"
    )
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("C")
        await shows(pilot, "the host key has CHANGED")
        assert isinstance(app.screen, BoxScreen)


async def test_help_lists_the_keys_of_this_screen_and_can_be_searched() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("?")
        await shows(pilot, "Keys of this screen", "Start or restart the selected server")
        await pilot.press(*"wrap")
        await gone(pilot, "Start or restart the selected server")
        await shows(pilot, "Wrap long lines")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, BoxScreen))
        await until(pilot, lambda: app.screen.query_one(LogPane).wrap)


async def test_a_slash_typed_out_of_habit_does_not_spoil_the_search_of_the_help() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("?", *"/wrap")
        await gone(pilot, "Start or restart the selected server")
        await shows(pilot, "/wrap", "Wrap long lines")


@pytest.mark.parametrize("key", ["f1", "ctrl+p"])
async def test_the_palette_goes_to_a_server_by_name(key: str) -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, ChooseScreen))
        await pilot.press(*"kimi", "enter")
        await until(pilot, lambda: isinstance(app.screen, ServerScreen))


async def test_a_theme_is_chosen_and_all_is_painted_anew() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"theme k2-light", "enter")
        await until(pilot, lambda: app.theme == "k2-light")
        await pilot.press(":", *"theme nope", "enter")
        await shows(pilot, "no theme 'nope'", "k2-mono")


async def test_the_line_after_the_colon_completes_and_remembers() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"desc", "tab")
        await shows(pilot, "describe ")
        await pilot.press(*"ki", "tab", "enter")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        await pilot.press("q", ":", "up")
        await shows(pilot, ": describe kimi")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, BoxScreen) and app.screen.prompt is None)


async def test_a_wrong_command_says_what_it_may_have_meant() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"restrat", "enter")
        await shows(pilot, "no command 'restrat' here; did you mean restart")


async def test_commands_act_on_named_servers() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"log kimi", "enter")
        await until(pilot, lambda: isinstance(app.screen, ServerScreen) and app.screen.zoomed)
        await pilot.press(":", *"server nope", "enter")
        await shows(pilot, "no server 'nope'")
        await pilot.press(":", *"quit", "enter")
        await until(pilot, lambda: not app.is_running)


async def test_describe_shows_command_files_runs_and_witnesses() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 50)) as pilot:
        await pilot.press("d")
        await shows(pilot, "Command of the newest run", "/data/k2tui/runs/kimi/1/log", "alive, pid 41233")
        await pilot.press("G")
        await shows(pilot, "A start would run (profile reason)", "20261130T140100Z-0001")


async def test_describe_breaks_long_rows_and_never_cuts_a_figure() -> None:
    app = app_on(running())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.press("d", "z")
        await until(pilot, lambda: isinstance(app.screen, TextScreen))
        pane = app.screen.query_one(TextPane)
        pane.show([(("port 12345 " * 12, "text"),)])
        assert pane.shown[1].endswith("…")
        assert all(cells(row) <= 60 for row in pane.shown)
        pane._given = [(("0123456789" * 12, "text"),)]
        pane.lay_out()
        assert "".join(row.strip() for row in pane.shown[1:]) == "0123456789" * 12


async def test_describe_says_that_nothing_runs() -> None:
    fleet = connected(settings_of())
    fleet.set("kimi", status=ServerStatus.DOWN)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("d")
        await shows(pilot, "State", "not running")


async def test_copying_says_how_it_went_or_that_it_did_not() -> None:
    copier = FakeCopier()
    app = app_on(running(), copier=copier)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("Y")
        await shows(pilot, "copied the command of kimi to tmux's buffer")
        assert copier.texts[0].startswith("env NCCL_PROTO=LL")
        copier.works = False
        await pilot.press("Y")
        await shows(pilot, "not copied: no tmux here")


def test_a_command_may_be_cut_off_where_it_is_clear() -> None:
    ids = ("server.restart", "server.stop", "app.help")
    assert understand("rest", ids).word == "restart"
    assert understand(":stop kimi", ids).argument == "kimi"
    with pytest.raises(UnknownCommand, match="did you mean"):
        understand("s", ids)


def test_the_words_of_other_tools_are_understood() -> None:
    ids = ("server.restart", "server.stop", "go.log")
    assert understand("start kimi", ids) == understand("restart kimi", ids)
    assert understand("logs", ids).word == "log"
    assert understand("lo", ids).word == "log"
    assert completions("sta", ids, {}) == ["start"]
    assert completions("start k", ids, {"server": ["kimi"]}) == ["start kimi"]
    with pytest.raises(UnknownCommand):
        understand("start", ("app.help",))


async def test_a_command_that_works_takes_an_old_complaint_away() -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(":", *"nonsense", "enter")
        await shows(pilot, "no command 'nonsense'")
        await pilot.press(":", *"theme k2-light", "enter")
        await gone(pilot, "nonsense")


def test_completions_are_whole_lines() -> None:
    ids = ("server.restart", "app.help")
    assert completions("re", ids, {}) == ["restart"]
    assert completions("restart k", ids, {"server": ["kimi", "vllm"]}) == ["restart kimi"]


async def test_notes_go_away_by_themselves() -> None:
    fleet = running()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        app.say("for a while")
        await shows(pilot, "for a while")
        fleet.clock.go(30)
        await gone(pilot, "for a while")
        assert "? help" in screen_text(app)


@pytest.mark.parametrize("line", ["theme k2-light", "nonsense", "follow"])
async def test_the_focus_comes_back_to_its_pane_after_a_command(line: str) -> None:
    app = app_on(running())
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("tab")
        before = app.screen.focused
        assert before is not None
        await pilot.press(":", *line, "enter")
        await until(pilot, lambda: app.front is not None and app.front.prompt is None)
        await until(pilot, lambda: app.screen.focused is before and before.has_focus)
        await pilot.pause()
        assert app.screen.focused is before

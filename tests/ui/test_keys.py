"""The key map on the screens: everything bound comes from it, everything in it acts."""

from __future__ import annotations

import pytest
from textual.binding import Binding
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from k2tui.core.keymap import ACTIONS, BY_ID
from k2tui.ui import actions
from k2tui.ui.actions import CHANGING, bindings, handler_of
from k2tui.ui.app import K2App
from k2tui.ui.present import key_text
from k2tui.ui.screens.adopt import AdoptScreen
from k2tui.ui.screens.base import K2Screen
from k2tui.ui.screens.bench_compare import BenchCompareScreen
from k2tui.ui.screens.bench_live import BenchDialog
from k2tui.ui.screens.bench_result import BenchResultScreen
from k2tui.ui.screens.benches import BenchesScreen
from k2tui.ui.screens.box import BoxScreen
from k2tui.ui.screens.compare import CompareScreen
from k2tui.ui.screens.confirm import ConfirmDialog
from k2tui.ui.screens.describe import TextScreen
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.screens.events import EventsScreen
from k2tui.ui.screens.fleet import FleetScreen
from k2tui.ui.screens.gpus import GpuScreen, GpusScreen
from k2tui.ui.screens.help import ChooseScreen
from k2tui.ui.screens.history import HistoryScreen
from k2tui.ui.screens.measure import MeasureDialog
from k2tui.ui.screens.question import QuestionDialog
from k2tui.ui.screens.runs import RunsScreen
from k2tui.ui.screens.series import SeriesScreen
from k2tui.ui.screens.server import ServerScreen
from k2tui.ui.screens.sheet import LaunchSheet
from k2tui.ui.screens.verify import VerifyDialog
from k2tui.ui.spans import text_of
from k2tui.ui.widgets.frame import Buttons
from k2tui.ui.widgets.keys_line import keys_line
from k2tui.ui.widgets.log_pane import LogPane
from k2tui.ui.widgets.prompt import Prompt
from tests.fakes.fleet import connected, settings_of
from tests.ui.helpers import app_on, shows, until

FULL: tuple[type[K2Screen], ...] = (
    BoxScreen,
    FleetScreen,
    ServerScreen,
    GpusScreen,
    GpuScreen,
    HistoryScreen,
    EventsScreen,
    TextScreen,
    AdoptScreen,
    RunsScreen,
    CompareScreen,
    BenchesScreen,
    BenchResultScreen,
    BenchCompareScreen,
    SeriesScreen,
)
DIALOGS: tuple[type[Dialog], ...] = (
    ConfirmDialog,
    QuestionDialog,
    VerifyDialog,
    ChooseScreen,
    LaunchSheet,
    BenchDialog,
    MeasureDialog,
)
SCREENS: tuple[type[K2Screen] | type[Dialog], ...] = (*FULL, *DIALOGS)


@pytest.mark.parametrize("screen", SCREENS, ids=lambda s: s.__name__)
def test_every_action_that_a_screen_claims_has_a_handler(screen: type[K2Screen] | type[Dialog]) -> None:
    missing = [action_id for action_id in screen.HERE if not hasattr(screen, f"action_{handler_of(action_id)}")]
    assert missing == []


def test_every_action_of_the_map_is_claimed_somewhere() -> None:
    claimed = {action_id for screen in SCREENS for action_id in screen.HERE} | {"app.leave"}
    assert {action.id for action in ACTIONS} - claimed == set()
    assert hasattr(K2App, "action_app_leave")


@pytest.mark.parametrize("screen", SCREENS, ids=lambda s: s.__name__)
def test_every_binding_of_a_screen_comes_from_the_map(screen: type[Screen[object]]) -> None:
    keys = {key: [b.id for b in found] for key, found in screen._merged_bindings.key_to_bindings.items()}  # type: ignore[union-attr]
    assert keys
    for key, ids in keys.items():
        assert len(ids) == 1, f"{key} has two meanings: {ids}"
        assert ids[0] in BY_ID


@pytest.mark.parametrize("widget", [LogPane, Buttons, Prompt], ids=lambda w: w.__name__)
def test_our_widgets_bind_nothing_themselves(widget: type[Widget]) -> None:
    assert not widget._merged_bindings.key_to_bindings  # type: ignore[union-attr]


def test_the_app_binds_nothing_but_leaving() -> None:
    assert {b.id for found in K2App._merged_bindings.key_to_bindings.values() for b in found} == {"app.leave"}  # type: ignore[union-attr]


def test_an_input_takes_no_key_that_a_dialog_needs() -> None:
    taken = set(Input._merged_bindings.key_to_bindings)  # type: ignore[union-attr]
    assert not taken & {"escape", "tab", "shift+tab"}


@pytest.mark.parametrize("screen", FULL, ids=lambda s: s.__name__)
def test_the_last_line_shows_only_what_acts_here(screen: type[K2Screen]) -> None:
    assert set(screen.SHOWN) <= set(screen.HERE)
    assert "app.help" in screen.SHOWN[-2:]


@pytest.mark.parametrize("width", [60, 80, 119, 200])
@pytest.mark.parametrize("screen", FULL, ids=lambda s: s.__name__)
def test_keys_are_never_cut_in_mid_word(screen: type[K2Screen], width: int) -> None:
    shown = [BY_ID[action_id] for action_id in screen.SHOWN]
    text = text_of(keys_line(shown, width))
    assert len(text) <= width
    entries = {f"{key_text(action.keys[0])} {action.label}" for action in shown}
    assert {entry for entry in text.strip().split("  ") if entry} <= entries
    assert "? help" in text


def test_read_only_strikes_out_what_changes_a_server() -> None:
    line = keys_line([BY_ID["server.restart"], BY_ID["app.help"], BY_ID["app.quit"]], 80, off=CHANGING)
    assert ("r restart", "key-off") in line


def test_only_leaving_works_in_the_middle_of_typing() -> None:
    made = [binding for binding in bindings(*BY_ID) if isinstance(binding, Binding)]
    assert len(made) == len(BY_ID)
    assert {binding.id for binding in made if binding.priority} == {"app.leave"}


async def test_a_moved_key_acts_and_is_shown_and_the_old_one_does_not() -> None:
    fleet = connected(settings_of(keys={"log.follow": "F"}))
    fleet.log("kimi", *map(str, range(100)))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "F follow")
        log = app.screen.query_one(LogPane)
        await pilot.press("f")
        assert log.following
        await pilot.press("F")
        assert not log.following


@pytest.mark.parametrize("key", ["Q", "ctrl+q", "ctrl+c"])
async def test_quitting_works_from_anywhere(key: str) -> None:
    app = app_on(connected(settings_of()), start_at="kimi")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(key)
        await until(pilot, lambda: not app.is_running)


@pytest.mark.parametrize("watch", [False, True])
@pytest.mark.parametrize("key", ["escape", "backspace"])
async def test_one_escape_too_many_does_not_quit(key: str, watch: bool) -> None:
    app = app_on(connected(settings_of()), watch=watch)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("5", key, key, key)
        await shows(pilot, "this is the top screen; Q quits")
        assert app.is_running
        await pilot.press("q")
        await until(pilot, lambda: not app.is_running)


async def test_ctrl_c_leaves_also_while_typing() -> None:
    app = app_on(connected(settings_of()))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("/", "x", "ctrl+c")
        await until(pilot, lambda: not app.is_running)


def test_the_groups_of_actions_hold_each_id_once() -> None:
    groups = (*actions.EVERYWHERE, *actions.SERVER, *actions.LOG, *actions.SHEET)
    assert len(groups) == len(set(groups))

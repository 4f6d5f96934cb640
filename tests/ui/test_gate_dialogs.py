"""Every question before a change: Cancel has the focus, its first 300 ms are deaf; read-only holds for every key."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from textual.widgets import Input

import k2tui.ui.screens
from k2tui.core.errors import K2Error
from k2tui.core.keymap import ACTIONS, Action
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.settings import NodeSettings
from k2tui.ui.actions import CHANGING
from k2tui.ui.screens import bench_questions, confirm, going_back, several
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.screens.measure import MeasureDialog
from k2tui.ui.screens.question import QuestionDialog
from k2tui.ui.screens.sheet import LaunchSheet
from tests.fakes.fleet import FakeFleet, connected, settings_of
from tests.ui.helpers import app_on, screen_text, shows, until
from tests.ui.measured import NCCL, ab_state

KIMI, NODE = "kimi", "gpu-a"
ALWAYS = {NODE: NodeSettings(NODE, NODE, confirm="always")}


def running(*, confirm: str = "never", read_only: bool = False) -> FakeFleet:
    nodes = {NODE: NodeSettings(NODE, NODE, confirm=confirm)}
    fleet = connected(replace(settings_of(nodes=nodes), read_only=read_only))
    fleet.begin(KIMI)
    fleet.ready(KIMI)
    return fleet


def interrupted(fleet: FakeFleet) -> Dialog:
    run = fleet.server(KIMI).run
    assert run is not None
    fleet.set(KIMI, planned=replace(run, run_id="20261130T000000Z-aaaa", alive=False, is_planned=True))
    return going_back.interrupted_dialog(fleet.server(KIMI), node_of(fleet))


def node_of(fleet: FakeFleet) -> NodeSettings:
    return fleet.settings.nodes[NODE]


def stranger(fleet: FakeFleet) -> Dialog:
    view = replace(fleet.nodes()[0], link=LinkState(LinkPhase.BLOCKED, fingerprint="SHA256:abc"))
    return confirm.trust_dialog(view)


QUESTIONS: dict[str, Callable[[FakeFleet], Dialog]] = {
    "confirm.stop_dialog": lambda fleet: confirm.stop_dialog(fleet.server(KIMI), node_of(fleet)),
    "confirm.confirm_dialog": lambda fleet: confirm.confirm_dialog(
        "restart", KIMI, node_of(fleet), K2Error("3 requests are running", code="confirm_needed")
    ),
    "confirm.adopt_dialog": lambda fleet: confirm.adopt_dialog(
        KIMI, node_of(fleet), K2Error("pid 31337 of root would be stopped", code="confirm_needed")
    ),
    "confirm.trust_dialog": stranger,
    "several.restart_dialog": lambda fleet: several.restart_dialog(several.restarts_of(fleet, [KIMI]), None),
    "several.stop_dialog": lambda fleet: several.stop_dialog([fleet.server(KIMI)], [], fleet.settings.nodes),
    "going_back.back_dialog": lambda fleet: going_back.back_dialog(
        fleet.server(KIMI), None, "20261130T000000Z-bbbb", node_of(fleet), "crashed in weights", 0.0
    ),
    "going_back.interrupted_dialog": interrupted,
    "bench_questions.busy_dialog": lambda fleet: bench_questions.busy_dialog(fleet.server(KIMI)),
    "bench_questions.series_dialog": lambda fleet: bench_questions.series_dialog(NCCL, node_of(fleet), "about 9 min"),
    "bench_questions.interrupted_series_dialog": lambda fleet: bench_questions.interrupted_series_dialog(
        ab_state(), node_of(fleet)
    ),
    "bench_questions.running_series_dialog": lambda fleet: bench_questions.running_series_dialog(
        ab_state(), node_of(fleet)
    ),
    "measure.MeasureDialog": lambda fleet: MeasureDialog(fleet, KIMI),
    "sheet.LaunchSheet": lambda fleet: LaunchSheet(fleet, KIMI),
    "sheet.LaunchSheet brief": lambda fleet: LaunchSheet(fleet, KIMI, why="try", brief=True),
}
"""What makes each question that a change follows."""
NO_QUESTIONS = frozenset(("VerifyDialog", "ChooseScreen", "BenchDialog"))
"""Boxes that nothing follows but the going to something."""
CHANGES_NOTHING = frozenset(("confirm.trust_dialog", "bench_questions.busy_dialog", "measure.MeasureDialog"))
"""What follows touches no server's process: a benchmark is only work for it, and a series is asked about once more."""
LEAVING = ("app.quit", "app.leave")
OPENED_BY = {"sheet": "r", "rows": "H", "benches": "3"}
"""The key that leads to where such an action acts."""
BASES = frozenset(("QuestionDialog", "ConfirmDialog", "TypingDialog", "PlannedLaunch", "SheetEdits", "SeriesQuestion"))


def modules() -> Iterator[str]:
    for module in pkgutil.iter_modules(k2tui.ui.screens.__path__):
        yield f"k2tui.ui.screens.{module.name}"


def dialogs(of: type[Dialog] = Dialog) -> Iterator[type[Dialog]]:
    for kind in of.__subclasses__():
        yield kind
        yield from dialogs(kind)


def test_every_question_of_the_app_is_in_the_table() -> None:
    made: set[str] = set()
    for name in modules():
        module = importlib.import_module(name)
        for word, member in inspect.getmembers(module, inspect.isfunction):
            is_here = member.__module__ == name
            if is_here and str(inspect.signature(member).return_annotation) in ("ConfirmDialog", "QuestionDialog"):
                made.add(f"{name.rpartition('.')[2]}.{word}")
    kinds = {kind.__name__ for kind in dialogs() if kind.__module__.startswith("k2tui.")}
    assert made == {name for name in QUESTIONS if "dialog" in name}
    assert kinds - BASES - NO_QUESTIONS == {"LaunchSheet", "MeasureDialog"}


@pytest.mark.parametrize("policy", ["never", "always"])
@pytest.mark.parametrize("name", QUESTIONS)
async def test_enter_cancels_and_the_first_moment_is_deaf(name: str, policy: str) -> None:
    fleet = running(confirm=policy)
    app = app_on(fleet)
    answers: list[object] = []
    async with app.run_test(size=(120, 40)) as pilot:
        dialog = QUESTIONS[name](fleet)
        app.push_screen(dialog, answers.append)
        await until(pilot, lambda: dialog.is_mounted and dialog.deaf_until is not None)
        assert dialog.DEAF_S == 0.3
        assert dialog.focused is dialog.buttons, "Cancel has the focus"
        assert (dialog.buttons.chosen, dialog.buttons.answer) == (0, "")
        assert dialog.buttons.buttons[0].label in ("Cancel", "Leave it")
        for key in ("right", "enter", "tab", "enter", "escape", "y"):
            await pilot.press(key)
        assert app.screen is dialog, "a key of its first moment closed it"
        assert dialog.buttons.chosen == 0
        fleet.clock.go(0.299)
        await pilot.press("enter")
        assert app.screen is dialog
        fleet.clock.go(0.002)
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not dialog)
    assert answers == [None]
    assert fleet.asked == []


@pytest.mark.parametrize("name", [name for name in QUESTIONS if name not in CHANGES_NOTHING])
async def test_always_wants_the_nodes_name_typed(name: str) -> None:
    fleet = running(confirm="always")
    app = app_on(fleet)
    answers: list[object] = []
    async with app.run_test(size=(120, 40)) as pilot:
        dialog = QUESTIONS[name](fleet)
        app.push_screen(dialog, answers.append)
        await until(pilot, lambda: dialog.is_mounted and dialog.deaf_until is not None)
        fleet.clock.go(Dialog.DEAF_S)
        assert list(dialog.query(Input)), "there is a field for the name"
        for _ in range(len(dialog.buttons.buttons)):
            await pilot.press("right")
        assert dialog.buttons.answer
        await pilot.press("enter")
        await pilot.pause()
        assert app.screen is dialog
        assert "name of the node" in screen_text(app)
    assert answers == []
    assert fleet.asked == []


# ---- read-only


@pytest.mark.parametrize("action", [each for each in ACTIONS if each.id not in LEAVING], ids=lambda each: each.id)
async def test_no_key_asks_for_a_change_when_it_is_read_only(action: Action, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    let = FakeFleet._let

    def told(fleet: FakeFleet, verb: str, *rest: Any) -> None:
        tried.append(verb)
        let(fleet, verb, *rest)

    monkeypatch.setattr(FakeFleet, "_let", told)
    fleet = running(read_only=True)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        if action.scope in OPENED_BY:
            await pilot.press(OPENED_BY[action.scope])
            await pilot.pause()
            fleet.clock.go(Dialog.DEAF_S)
        await pilot.press(action.keys[0])
        await pilot.pause()
        if action.id in CHANGING and action.id != "server.restart":  # its sheet can be looked at
            await shows(pilot, "read-only")
        assert not isinstance(app.screen, QuestionDialog), "a question that could only be refused"
        fleet.clock.go(Dialog.DEAF_S)
        for key in ("right", "right", "right", "enter", "enter"):
            if isinstance(app.screen, Dialog):
                await pilot.press(key)
                await pilot.pause()
    assert fleet.saved == []
    assert not tried or action.id == "server.verify", "the fleet has to refuse what the screen asks for"

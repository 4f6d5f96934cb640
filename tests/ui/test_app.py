"""The app as a whole: it is quiet when nothing happens, and nothing on a node depends on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key

from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.launch import LaunchPhase, Progress
from k2tui.ui.app import K2App
from k2tui.ui.saying import EVENTS_KEPT
from k2tui.ui.screens.base import K2Screen
from k2tui.ui.screens.events import EventsScreen
from k2tui.ui.screens.gpus import GpusScreen
from k2tui.ui.screens.help import ChooseScreen
from k2tui.ui.screens.sheet import LaunchSheet
from tests.fakes.fleet import FakeFleet, connected, settings_of
from tests.ui.helpers import app_on, rows_of, screen_text, shows, until


def ready(nodes: int = 1) -> FakeFleet:
    fleet = connected(settings_of(nodes))
    fleet.begin("kimi")
    fleet.ready("kimi")
    return fleet


class Counted(K2App):
    """Counts what goes to the terminal."""

    painted = 0

    def _display(self, screen: Any, renderable: Any) -> None:
        self.painted += 1
        super()._display(screen, renderable)


@pytest.mark.parametrize("nodes", [1, 4])
async def test_nothing_is_painted_when_nothing_changed(nodes: int) -> None:
    fleet = ready(nodes)
    app = Counted(fleet, clock=fleet.clock)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "READY")
        await pilot.pause()
        before = app.painted
        for _ in range(10):
            app._pulse()
        fleet.revision += 1
        app.ticks = 1000
        app._pulse()
        await pilot.pause()
        assert app.painted == before


@pytest.mark.parametrize("make", [EventsScreen, GpusScreen])
async def test_a_pulse_that_meets_a_screen_without_panes_yet_does_no_harm(make: Callable[[], K2Screen]) -> None:
    fleet = ready()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "READY")
        screen = make()
        pushed = app.push_screen(screen)
        assert app.screen is screen
        fleet.revision += 1
        app.ticks = 1000
        app._pulse()
        await pushed
        await until(pilot, lambda: screen.scene is not None)


async def test_a_thousand_changes_between_two_pulses_are_one_redraw() -> None:
    fleet = ready()
    app = Counted(fleet, clock=fleet.clock)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "READY")
        await pilot.pause()
        before = app.painted
        for number in range(1000):
            fleet.log("kimi", f"line {number}")
        await shows(pilot, "line 999")
        assert app.painted - before <= 3


async def test_only_rows_that_changed_are_painted() -> None:
    fleet = connected(settings_of())
    fleet.begin("kimi")
    fleet.phase("kimi", LaunchPhase.WEIGHTS, Progress(1, 64, "shards", "x"))
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "1/64")
        regions: list[Any] = []
        launch = app.screen.query_one("#launch")
        refresh = launch.refresh

        def counted(*given: Any, **options: Any) -> Any:
            regions.extend(given)
            return refresh(*given, **options)

        launch.refresh = counted  # type: ignore[method-assign]
        fleet.phase("kimi", LaunchPhase.WEIGHTS, Progress(40, 64, "shards", "x"))
        await shows(pilot, "40/64")
        assert {region.height for region in regions} == {1}
        assert len(regions) <= 2


async def test_what_goes_wrong_while_opening_is_a_sentence() -> None:
    class Broken(FakeFleet):
        async def open(self) -> None:
            raise K2Error("no ssh config", code="config", hint="write one")

    fleet = Broken(settings_of())
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "no ssh config; write one")


async def test_a_bug_in_a_repaint_is_not_swallowed() -> None:
    fleet = ready()
    app = app_on(fleet)

    def broken(*_: object) -> bool:
        raise ZeroDivisionError

    async def run() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await shows(pilot, "READY")
            app.screen.pulse = broken  # type: ignore[attr-defined]
            await until(pilot, lambda: not app.is_running)

    with pytest.raises(ZeroDivisionError):
        await run()


async def test_events_are_listed_newest_first_and_can_be_filtered() -> None:
    fleet = ready()
    fleet.tell("gpu-a", "connected", Severity.GOOD)
    fleet.clock.go(1)
    fleet.tell("kimi", "started by ann@desk")
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, EventsScreen))
        await shows(pilot, "started by ann@desk", "connected")
        text = screen_text(app)
        assert text.index("started by") < text.index("connected")
        await pilot.press("/", *"gpu-a", "enter")
        await shows(pilot, "1 of 2")
        assert "started by" not in screen_text(app)
        fleet.tell("gpu-a", "lost the connection", Severity.BAD)
        await shows(pilot, "lost the connection", "2 of 3")
        await pilot.press("1")
        await until(pilot, lambda: not isinstance(app.screen, EventsScreen))


async def test_our_own_events_are_bounded_and_not_told_twice() -> None:
    fleet = ready()
    app = app_on(fleet)
    async with app.run_test(size=(80, 24)):
        for number in range(EVENTS_KEPT + 50):
            app.fail(K2Error(f"error {number}", code="x", subject="kimi"))
        assert len(app.own_events) == EVENTS_KEPT
        app.own_events.clear()
        app.fail(K2Error("told by the fleet too", code="x", subject="kimi"))
        fleet.tell("kimi", "told by the fleet too", Severity.BAD)
        assert [event.text for event in app.events_seen()].count("told by the fleet too") == 1


async def test_the_fleet_is_closed_when_the_app_ends() -> None:
    fleet = ready()
    app = app_on(fleet)

    async def leave() -> None:
        app.exit()

    app.call_later(leave)
    await app.run_async(headless=True, size=(80, 24))
    assert fleet.closed


async def test_ascii_only_puts_nothing_else_on_screen() -> None:
    app = app_on(ready(4), ascii_only=True)
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "* READY")
        assert screen_text(app).isascii()


async def test_no_color_brings_weights_and_no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_on(ready())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "● READY")
        assert app.theme == "k2-mono"
        strips = app.screen._compositor.render_strips(app.size)
        styles = [segment.style for strip in strips for segment in strip if segment.style]
        assert all(style.color is None or style.color.is_default for style in styles)
        assert all(style.bgcolor is None or style.bgcolor.is_default for style in styles)
        assert any(style.bold for style in styles)


async def test_an_unknown_theme_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(K2Error, match="no theme 'nope'; themes: k2-dark, k2-light, k2-mono"):
        app_on(connected(settings_of(theme="nope")))


async def test_secrets_never_reach_the_screen_from_anywhere() -> None:
    fleet = connected(settings_of())
    fleet.begin("kimi")
    secret = "hf_abcdefghijklmnopqrstuvwxyz0123456789"
    fleet.log("kimi", f"HF_TOKEN={secret}")
    fleet.tell("kimi", f"started with --api-key {secret}")
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        await shows(pilot, "started with")
        app.say(f"token {secret}")
        await pilot.pause()
        assert secret not in screen_text(app)


async def test_every_size_is_taken_at_once_when_the_terminal_changes() -> None:
    fleet = ready()
    app = app_on(fleet)
    async with app.run_test(size=(200, 50)) as pilot:
        for width, height in ((80, 24), (120, 40), (70, 18), (200, 50)):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda w=width, h=height: [len(r) for r in rows_of(app)] == [w] * h)  # type: ignore[misc]
            await shows(pilot, "? help", "Log")
        await shows(pilot, "RTX PRO 6000", "Events")


async def test_a_click_selects_a_row_where_the_mouse_is_wanted() -> None:
    fleet = ready(4)
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "kimi-4")
        await pilot.click("#rows", offset=(5, 4))
        await until(pilot, lambda: app.front.chosen_node == "gpu-c")  # type: ignore[union-attr]


async def test_a_burst_of_keys_is_typed_and_does_not_act() -> None:
    fleet = ready()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "READY")
        for character in ":quitting":
            app.post_message(events.Key(_character_to_key(character), character))
        await shows(pilot, ": quitting")
        assert app.is_running


async def test_a_burst_into_the_palette_finds() -> None:
    app = app_on(ready())
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "READY")
        app.post_message(events.Key("f1", None))
        for character in "quit":
            app.post_message(events.Key(character, character))
        await until(pilot, lambda: isinstance(app.screen, ChooseScreen) and app.screen.field.value == "quit")


async def test_a_burst_through_the_sheet_never_restarts() -> None:
    fleet = ready()
    app = app_on(fleet)
    async with app.run_test(size=(120, 40)) as pilot:
        await shows(pilot, "READY")
        for key in ("r", "tab", "enter", "right", "enter"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await until(pilot, lambda: isinstance(app.screen, LaunchSheet))
        await pilot.pause()
        assert isinstance(app.screen, LaunchSheet)
        assert fleet.asked == []

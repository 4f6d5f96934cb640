"""What every screen test needs: an app on a fake fleet, the text on screen, and patience."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual.pilot import Pilot

from k2tui.ui.app import K2App
from k2tui.ui.screens.dialog import Dialog
from tests.fakes.fleet import FakeFleet

PATIENCE = 400


class FakeCopier:
    """A clipboard that keeps what it was given, or takes nothing."""

    def __init__(self, *, works: bool = True) -> None:
        self.works = works
        self.texts: list[str] = []
        self.files: dict[str, str] = {}

    async def copy(self, text: str, write: Callable[[str], None]) -> tuple[bool, str]:
        if not self.works:
            return False, "no tmux here, and the terminal takes no OSC 52"
        self.texts.append(text)
        return True, "to tmux's buffer"

    async def save(self, name: str, text: str) -> str:
        self.files[name] = text
        return f"/home/ann/{name}"


def app_on(fleet: FakeFleet, **options: Any) -> K2App:
    """The app on this fleet and its clock."""
    return K2App(fleet, clock=fleet.clock, **options)


def screen_text(app: K2App) -> str:
    """All that is on screen, row by row."""
    strips = app.screen._compositor.render_strips(app.size)
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def rows_of(app: K2App) -> list[str]:
    """The rows on screen."""
    return screen_text(app).splitlines()


async def until(pilot: Pilot[Any], condition: Callable[[], bool], what: str = "") -> None:
    """Wait for a condition, never for a time."""
    for _ in range(PATIENCE):
        if condition():
            return
        await pilot.pause(0.01)
    raise AssertionError(f"still not: {what or condition}\n{screen_text(pilot.app)}")  # type: ignore[arg-type]


async def shows(pilot: Pilot[Any], *texts: str) -> None:
    """Wait until all of these stand on screen."""
    app: Any = pilot.app
    await until(pilot, lambda: all(text in screen_text(app) for text in texts), f"{texts} on screen")


async def gone(pilot: Pilot[Any], *texts: str) -> None:
    """Wait until none of these stands on screen."""
    app: Any = pilot.app
    await until(pilot, lambda: not any(text in screen_text(app) for text in texts), f"{texts} gone")


async def stands_still(pilot: Pilot[Any]) -> None:
    """Wait until the screen is the same three times in a row: what a worker or a pulse still has to draw is there."""
    app: Any = pilot.app
    seen, same = "", 0
    for _ in range(PATIENCE):
        now = screen_text(app)
        same = same + 1 if now == seen else 0
        if same == 3:
            return
        seen = now
        await pilot.pause(0.02)
    raise AssertionError("the screen never stands still")


async def hear(pilot: Pilot[Any], fleet: FakeFleet, keys: Sequence[str] = ()) -> None:
    """Let a dialog's first moment go by, then press."""
    await pilot.pause()
    fleet.clock.go(Dialog.DEAF_S)
    for key in keys:
        await pilot.press(key)

"""What the app says on its last line, and the text that leaves it: copies and saved files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from textual.app import App
from textual.filter import LineFilter, NoColor

from k2tui.core.errors import K2Error
from k2tui.core.events import Event, Severity
from k2tui.core.keymap import moved
from k2tui.core.ring import LineRing
from k2tui.core.secrets import mask
from k2tui.ui.actions import bindings, keymap_of
from k2tui.ui.fleetlike import Copier, FleetLike, SystemClock, UiClock
from k2tui.ui.screens.base import K2Screen
from k2tui.ui.theme import MONO, Palette, ThemeFile, load_theme, textual_theme
from k2tui.ui.widgets.paint import Painter

NOTE_S, BAD_NOTE_S = 6.0, 20.0
EVENTS_KEPT = 200


@runtime_checkable
class DrawsNotes(Protocol):
    """A dialog with a last line of its own."""

    def draw_note(self) -> None:
        """Show what the app says, or take it away."""
        ...


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence on the last line, for a while."""

    text: str
    role: str
    until: float
    """time.monotonic."""


class SayingApp(App[None], inherit_bindings=False):
    """The part of the app that screens speak through."""

    BINDINGS: ClassVar[list[Any]] = bindings("app.leave")
    ENABLE_COMMAND_PALETTE = False
    TITLE = "k2tui"
    CSS = """
    Screen { overflow: hidden hidden; background: $background; color: $foreground; }
    ModalScreen { background: $background 60%; }
    Input, Input:focus { background: $panel; color: $foreground; border: none; padding: 0; height: 1; }
    """

    def __init__(self, fleet: FleetLike, *, copier: Copier | None, ascii_only: bool, clock: UiClock | None) -> None:
        self.no_colors = "NO_COLOR" in os.environ
        theme = load_theme(MONO if self.no_colors else fleet.settings.theme)
        super().__init__()
        self.fleet = fleet
        self.clock: UiClock = clock or SystemClock()
        self.copier = copier
        self.ascii_only = ascii_only
        self.actions = {action.id: action for action in moved(fleet.settings.keys)}
        self.set_keymap(keymap_of(self.actions.values()))
        self.note: Note | None = None
        self.ticks = 0
        """Twentieths of a second since the fleet was last drawn."""
        self.empty_ring = LineRing(1)
        """The log of a fleet without servers."""
        self.own_events: list[Event] = []
        """What went wrong on this side; shown with the fleet's events."""
        self.animation_level = "none"
        self._take(theme)

    def use_theme(self, name: str) -> None:
        """Another theme until the end. Without colours only the one without."""
        self._take(load_theme(MONO if self.no_colors else name))
        for screen in self.screen_stack:
            screen.refresh(repaint=True)
            for pane in screen.query("*"):
                pane.refresh(repaint=True)

    def _take(self, theme: ThemeFile) -> None:
        self.painter = Painter(Palette(theme), ascii_only=self.ascii_only)
        self.register_theme(textual_theme(theme))
        self.theme = theme.name
        self._no_color = [NoColor()] if not theme.base else []

    def get_line_filters(self) -> Sequence[LineFilter]:
        """None: styles are made as they are shown. Without colours, nothing may bring one in."""
        return self._no_color

    # ---- saying

    @property
    def front(self) -> K2Screen | None:
        """The full screen that is shown, perhaps behind a dialog."""
        return next((screen for screen in reversed(self.screen_stack) if isinstance(screen, K2Screen)), None)

    def say(self, text: str, role: str = "text") -> None:
        """A sentence on the last line; a bad one stays longer."""
        lasting = BAD_NOTE_S if role in ("bad", "warning") else NOTE_S
        self.note = Note(mask(text.replace("\n", "  ")), role, self.clock.monotonic() + lasting)
        self._lines()

    def fail(self, error: K2Error) -> None:
        """What went wrong, in one sentence; also kept on the events list."""
        self.own_events.append(Event(self.clock.time(), error.subject or "", str(error), Severity.BAD))
        del self.own_events[:-EVENTS_KEPT]
        self.say(str(error), "bad")

    def clear_note(self) -> None:
        """The keys come back."""
        self.note = None
        self._lines()

    def events_seen(self) -> list[Event]:
        """The fleet's events and this side's, oldest first."""
        told = list(self.fleet.events)
        if not self.own_events:
            return told
        known = {(event.subject, event.text) for event in told}
        mine = [event for event in self.own_events if (event.subject, event.text) not in known]
        return sorted([*told, *mine], key=lambda event: event.at)

    def _lines(self) -> None:
        front, top = self.front, self.screen_stack[-1] if self.screen_stack else None
        if front is not None:
            front.draw_lines()
        if isinstance(top, DrawsNotes):
            top.draw_note()

    # ---- text that leaves

    def copy(self, text: str, what: str) -> None:
        """To the operator's clipboard, and say how it went."""
        if not text.strip():
            self.say("nothing to copy here", "warning")
            return
        self.run_worker(self._copy(mask(text), what), group="copy", exit_on_error=False)

    async def _copy(self, text: str, what: str) -> None:
        if self.copier is None:
            self.say("not copied: there is no clipboard here", "warning")
            return
        worked, how = await self.copier.copy(text, self._write)
        self.say(f"copied {what} {how}" if worked else f"not copied: {how}", "text" if worked else "warning")

    def _write(self, sequence: str) -> None:
        """An escape sequence straight to the terminal."""
        if self._driver is not None:
            self._driver.write(sequence)

    def save(self, name: str, lines: Sequence[str]) -> None:
        """To a private file, and say where it is."""
        self.run_worker(self._save(name, "".join(f"{line}\n" for line in lines), len(lines)), exit_on_error=False)

    async def _save(self, name: str, text: str, count: int) -> None:
        if self.copier is None:
            self.say("not saved: there is no place for files here", "warning")
            return
        try:
            path = await self.copier.save(name, text)
        except K2Error as error:
            self.fail(error)
        else:
            self.say(f"saved {count:,} lines to {path}".replace(",", " "))

    def secrets_of(self, server: str) -> frozenset[str]:
        """The values that must not be shown in this server's log."""
        try:
            return self.fleet.plan(server).profile.secrets
        except K2Error:
            return frozenset()

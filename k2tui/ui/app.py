"""The app: one fleet, one pulse, and the way from screen to screen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any, Protocol, runtime_checkable

from textual import events
from textual.screen import Screen

from k2tui.core.errors import K2Error
from k2tui.ui.fleetlike import Attachment, Copier, FleetLike, UiClock
from k2tui.ui.present import key_text
from k2tui.ui.screens.base import K2Screen
from k2tui.ui.unattended import UnattendedApp

PULSES_PER_SECOND = 20
LAZY_STEPS = 4
"""Twentieths of a second between two pulses while the log stands still: each wakes the process up."""
DETACHED_STEPS = 20
"""The same while nobody looks: a key wakes it up at once."""
LETS_GO = frozenset({"escape", "backspace"})
"""Keys that take back and close, and are pressed once too often."""
QUIET_AFTER = 10
"""Twentieths of a second without a new line after which the log stands still."""


@runtime_checkable
class TypesAhead(Protocol):
    """A screen that may have a field to type in."""

    def type_ahead(self, event: events.Key) -> bool:
        """Take a key that came before the field had the focus; False when it is not for the field."""
        ...


class K2App(UnattendedApp):
    """The control room over one fleet."""

    def __init__(
        self,
        fleet: FleetLike,
        *,
        start_at: str | None = None,
        copier: Copier | None = None,
        ascii_only: bool = False,
        watch: bool = False,
        clock: UiClock | None = None,
        attachment: Attachment | None = None,
    ) -> None:
        """`attachment` tells whether anybody looks at the terminal; None: somebody always does."""
        super().__init__(fleet, copier=copier, ascii_only=ascii_only, clock=clock)
        self.history: list[str] = []
        """What was typed after `:`."""
        self._start_at, self._watch = start_at, watch
        self._quiet = 0
        """Twentieths of a second since the log moved."""
        self._last_key = ""
        self._attachment = attachment
        self.attached = True

    # ---- life

    def get_default_screen(self) -> Screen[Any]:
        servers = self.fleet.servers()
        if self._watch and len(servers) == 1:
            from k2tui.ui.screens.server import ServerScreen  # noqa: PLC0415  only the first screen is loaded

            return ServerScreen(servers[0].settings.name)
        if len(self.fleet.nodes()) > 2:
            from k2tui.ui.screens.fleet import FleetScreen  # noqa: PLC0415  only the first screen is loaded

            return FleetScreen()
        from k2tui.ui.screens.box import BoxScreen  # noqa: PLC0415  only the first screen is loaded

        return BoxScreen()

    def on_mount(self) -> None:
        if self._start_at is not None:
            self.go_server(self._start_at)

    def on_ready(self) -> None:
        """The first frame is on screen. (What waits for a screen's next refresh would miss a key pressed at once.)"""
        self.call_later(self._begin)

    def _begin(self) -> None:
        """Reach out, and look for changes."""
        self.run_worker(self._open(), name="open", exit_on_error=False)
        self._pulse()

    async def _open(self) -> None:
        try:
            self.fleet.on_alert(lambda _alerts: self.bell())
            await self.fleet.attend()
        except K2Error as error:
            self.fail(error)

    async def run_async(self, *args: Any, **options: Any) -> Any:
        """As Textual does; when the screen is given back, watching ends. What runs on the nodes runs on."""
        try:
            return await super().run_async(*args, **options)
        finally:
            await self.fleet.close()

    def _pulse(self) -> None:
        """Twenty times a second, five when the log stands still; outside of the message queue, so nearly free."""
        if not self._running:
            return
        steps = (LAZY_STEPS if self._quiet > QUIET_AFTER else 1) if self.attached else DETACHED_STEPS
        asyncio.get_running_loop().call_later(steps / PULSES_PER_SECOND, self._pulse)
        self.ticks += steps
        self._quiet += steps
        try:
            self._look_for_somebody()
            if not self.attached:
                return
            if self.note is not None and self.note.until < self.clock.monotonic():
                self.clear_note()
            self.ask_waiting()
            screen = self.screen
            if isinstance(screen, K2Screen) and screen.pulse(self.fleet.revision, self.ticks):
                self._quiet = 0
        except Exception as error:  # handed to Textual, which shows it as it shows its own
            self.call_later(partial(_again, error))

    def _look_for_somebody(self) -> None:
        """A detached terminal is not painted, and the fleet is looked at less often."""
        attached = self._attachment is None or self._attachment()
        if attached != self.attached:
            self.attached = attached
            for screen in self.screen_stack:
                if isinstance(screen, K2Screen):
                    screen.tell_attached(attached)

    async def on_event(self, event: events.Event) -> None:
        """A key of a full screen acts at once: the way down to the focused pane and up again waits its turn at every
        step, which is felt while a log pours in. A dialog that has just opened does not hear keys: they were meant for
        what was there before."""
        if isinstance(event, (events.Key, events.Resize)) and self._attachment is not None:
            self._attachment.somebody_is_here()
        if isinstance(event, events.Key) and not event.is_forwarded:
            self._last_key = event.key
            screen = self.screen
            if isinstance(screen, K2Screen) and screen.hears_keys:
                handler = screen.handler_of_key(event)
                if handler is not None:
                    await self.run_action(handler, screen)
                    return
            deaf_until = getattr(screen, "deaf_until", None)
            if deaf_until is not None and self.clock.monotonic() < deaf_until:
                return
        await super().on_event(event)

    def on_key(self, event: events.Key) -> None:
        """A key that nobody took: it may have been pressed a moment before what it was meant for was there."""
        screen = self.screen
        if isinstance(screen, TypesAhead) and screen.type_ahead(event):
            event.prevent_default()

    async def action_app_leave(self) -> None:
        """Quit, wherever one is."""
        self.exit()

    # ---- going

    def go_back(self) -> None:
        """One screen back; from the top screen, out. But nobody quits by one `escape` too many."""
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif self._last_key in LETS_GO:
            self.say(f"this is the top screen; {key_text(self.actions['app.quit'].keys[0])} quits")
        else:
            self.exit()

    def go_home(self) -> None:
        """The first screen."""
        while len(self.screen_stack) > 1:
            self.pop_screen()

    def go_events(self) -> None:
        """The events list."""
        from k2tui.ui.screens.events import EventsScreen  # noqa: PLC0415  not needed for the first paint

        if not isinstance(self.screen, EventsScreen):
            self.push_screen(EventsScreen())

    def go_server(self, name: str, *, log: bool = False, run_id: str | None = None) -> None:
        """The screen of one server, perhaps with the log alone; `run_id`: the log of that run, not of the newest."""
        from k2tui.ui.screens.server import ServerScreen  # noqa: PLC0415  not needed for the first paint

        try:
            self.fleet.server(name)
        except K2Error as error:
            self.fail(error)
            return
        here = self.screen
        if isinstance(here, ServerScreen) and here.name_of_server == name:
            target = here
        else:
            target = ServerScreen(name)
            self.push_screen(target)
        if run_id is not None or log:
            target.run_id = run_id
        if log:
            target.log_alone()

    def go_history(self, name: str) -> None:
        """The readings over time of a server, or of the node of that name."""
        from k2tui.ui.screens.history import HistoryScreen  # noqa: PLC0415  not needed for the first paint

        here = self.screen
        if isinstance(here, HistoryScreen) and here.name_of_subject == name:
            return
        known = {server.settings.name for server in self.fleet.servers()}
        is_node = name not in known and name in self.fleet.settings.nodes
        if not is_node:
            try:
                self.fleet.server(name)
            except K2Error as error:
                self.fail(error)
                return
        self.push_screen(HistoryScreen(name, is_node=is_node))

    def go_runs(self, name: str) -> None:
        """Every run of a server."""
        from k2tui.ui.screens.runs import RunsScreen  # noqa: PLC0415  not needed for the first paint

        try:
            self.fleet.server(name)
        except K2Error as error:
            self.fail(error)
            return
        here = self.screen
        if not (isinstance(here, RunsScreen) and here.name_of_server == name):
            self.push_screen(RunsScreen(name))

    def describe(self, name: str) -> None:
        """All that is known of a server, as text."""
        from k2tui.ui.screens.describe import describe_screen  # noqa: PLC0415  not needed for the first paint

        self.push_screen(describe_screen(name, self.fleet, self.clock))

    def read_lines(self, title: str, lines: Sequence[str]) -> None:
        """Long lines, whole."""
        from k2tui.ui.screens.describe import TextScreen  # noqa: PLC0415  not needed for the first paint

        self.push_screen(TextScreen(title, list(lines)))

    def show_help(self, screen: K2Screen) -> None:
        """The keys of this screen."""
        from k2tui.ui.screens.help import help_screen  # noqa: PLC0415  not needed for the first paint

        self.push_screen(help_screen(self, screen))

    def show_palette(self, screen: K2Screen) -> None:
        """Every action here, server and theme by name."""
        from k2tui.ui.screens.help import palette_screen  # noqa: PLC0415  not needed for the first paint

        self.push_screen(palette_screen(self, screen))

    def complete(self, text: str, screen: K2Screen) -> list[str]:
        """Whole lines that begin as typed."""
        from k2tui.ui.commandline import complete_line  # noqa: PLC0415  not needed for the first paint

        return complete_line(self, screen, text)

    def run_line(self, line: str, screen: K2Screen) -> None:
        """A line typed after `:`."""
        from k2tui.ui.commandline import run_line  # noqa: PLC0415  not needed for the first paint

        if line.strip():
            self.history = [*(old for old in self.history if old != line), line][-100:]
            self.clear_note()
            run_line(self, screen, line)


def _again(error: Exception) -> None:
    raise error

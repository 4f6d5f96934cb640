"""Verbs from the screen: asked for in a dialog, then followed by a task of the app."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

from textual.screen import Screen

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.link import LinkPhase
from k2tui.core.settings import NodeSettings
from k2tui.core.verbs import Manner, ProfileChange, VerbEvent
from k2tui.ui.saying import SayingApp

Steps = Callable[[str | None], AsyncIterator[VerbEvent]]
"""Begins the verb with this confirmation."""
Heard = Callable[[VerbEvent], None]
"""Is told each step of a verb."""
Asks = Callable[[str, NodeSettings, K2Error], Screen[str | None]]
"""Makes the dialog that asks for a confirmation, from the server's name, its node and why it is due."""

_ROLE = {"failed": "bad", "proved": "good", "ready": "good", "stopped": "good"}
_QUIET = ("progress", "phase", "weights")
"""What the screen shows anyway."""


class DoingApp(SayingApp):
    """The part of the app that changes servers. Each change goes through the fleet, which may refuse."""

    def open_sheet(
        self, name: str, change: ProfileChange | None = None, *, why: str = "restart", brief: bool = False
    ) -> None:
        """The launch sheet of this server, with a change that somebody has worded already."""
        from k2tui.ui.screens.sheet import LaunchSheet  # noqa: PLC0415  not needed for the first paint
        from k2tui.ui.sheet_state import Draft  # noqa: PLC0415  as above

        draft = None if change is None else Draft.of(change)
        try:
            self.push_screen(LaunchSheet(self.fleet, name, draft, why=why, brief=brief))
        except K2Error as error:
            self.fail(error)

    def launch(
        self, name: str, change: ProfileChange, *, restart: bool, confirm: str | None, manner: Manner | None = None
    ) -> None:
        """Do what the sheet says."""
        verb = self.fleet.restart if restart else self.fleet.start
        word = "restart" if restart else "start"
        heard = self.hears_launch(name, change, manner)
        self.follow(name, word, lambda given: verb(name, change, confirm=given, manner=manner), confirm, heard=heard)

    def hears_launch(self, name: str, change: ProfileChange, manner: Manner | None) -> Heard | None:
        """Who is told of this launch, beside the last line."""
        return None

    def ask_stop(self, name: str) -> None:
        """The stop dialog, which names what will be stopped."""
        from k2tui.ui.screens.confirm import stop_dialog  # noqa: PLC0415  not needed for the first paint

        if self.forbidden("stop", name):
            return
        server = self.fleet.server(name)
        if server.run is None or not server.run.alive:
            self.say(f"{name} is not running", "warning")
            return
        node = self.fleet.settings.nodes[server.settings.node]

        def answered(confirm: str | None) -> None:
            if confirm is not None:
                self.follow(name, "stop", lambda given: self.fleet.stop(name, confirm=given), confirm)

        self.push_screen(stop_dialog(server, node), answered)

    def connect_node(self, name: str) -> None:
        """Try a node again, or show the host key that it offers."""
        node = next((view for view in self.fleet.nodes() if view.settings.name == name), None)
        if node is None:
            raise K2Error(f"no node {name!r}", code="no_such_node", subject=name)
        link = node.link
        if link.code == "host_key_unknown":
            self.ask_trust(name)
        elif link.code == "host_key_changed":
            hint = f"; {link.hint}" if link.hint else ""
            self.say(f"{name}: the host key has CHANGED ({link.fingerprint or 'no fingerprint'}){hint}", "bad")
        elif link.phase is LinkPhase.UP:
            self.say(f"{name} is connected")
        else:
            self.fleet.retry_now(name)
            self.say(f"trying {name} again")

    def ask_trust(self, node: str) -> None:
        """The dialog with the fingerprint of an unknown host key."""
        from k2tui.ui.screens.confirm import trust_dialog  # noqa: PLC0415  not needed for the first paint

        view = next(view for view in self.fleet.nodes() if view.settings.name == node)

        def answered(confirm: str | None) -> None:
            if confirm is not None:
                self.run_worker(self._trust(node), exit_on_error=False)

        self.push_screen(trust_dialog(view), answered)

    async def _trust(self, node: str) -> None:
        try:
            await self.fleet.trust_host_key(node)
        except K2Error as error:
            self.fail(error)
        else:
            self.say(f"the host key of {node} is trusted now", "good")

    def follow(
        self,
        name: str,
        word: str,
        steps: Steps,
        confirm: str | None,
        *,
        heard: Heard | None = None,
        asks: Asks | None = None,
    ) -> None:
        """Begin a verb and tell its steps. Quitting ends the telling; the server goes on. `asks`: the dialog for a
        confirmation that turns out to be due, another one than the usual."""
        verb = self._follow(name, word, steps, confirm, heard, asks)
        self.run_worker(verb, group=f"verb-{name}", exit_on_error=False)

    async def _follow(
        self, name: str, word: str, steps: Steps, confirm: str | None, heard: Heard | None, asks: Asks | None
    ) -> None:
        try:
            async for event in steps(confirm):
                self.tell_step(event)
                if heard is not None:
                    heard(event)
        except K2Error as error:
            if error.code == "confirm_needed" and confirm is None:
                self._ask_again(name, word, steps, error, heard, asks)
            else:
                self.fail(error)
        except Exception as error:  # a bug of ours must not take the control room down
            self.fail(K2Error(f"{word} {name} broke: {type(error).__name__}: {error}", code="bug", subject=name))

    def tell_step(self, event: VerbEvent) -> None:
        """One step of a verb on the last line; what the screen shows anyway is left out."""
        text = event.text if event.server in event.text else f"{event.server}: {event.text}"
        if event.type == "done":
            self.say(text, "good" if event.exit_code is ExitCode.DONE else "bad")
        elif event.type not in _QUIET:
            self.say(text, _ROLE.get(event.type, "text"))

    def _ask_again(
        self, name: str, word: str, steps: Steps, error: K2Error, heard: Heard | None, asks: Asks | None
    ) -> None:
        """A confirmation turned out to be due: say why and ask."""
        from k2tui.ui.screens.confirm import confirm_dialog  # noqa: PLC0415  not needed for the first paint

        node = self.fleet.settings.nodes[self.fleet.server(name).settings.node]

        def answered(given: str | None) -> None:
            if given is not None:
                self.follow(name, word, steps, given, heard=heard)

        dialog = confirm_dialog(word, name, node, error) if asks is None else asks(name, node, error)
        self.push_screen(dialog, answered)

    def forbidden(self, word: str, name: str) -> bool:
        """True, and said, where nothing may be changed."""
        if self.fleet.settings.read_only:
            self.say(f"{word} {name}: not now, k2tui is read-only (--read-only, or read_only = true)", "warning")
            return True
        return False

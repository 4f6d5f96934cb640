"""The loop of an operator: one change, its proof, the way back; and a restart that was interrupted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.events import Event, Severity
from k2tui.core.run_words import tried_words
from k2tui.core.try_words import describe, parse_try, same_on
from k2tui.core.verbs import Manner, ProfileChange, VerbEvent
from k2tui.core.views import ServerView
from k2tui.ui.doing import DoingApp, Heard
from k2tui.ui.fleetlike import Copier, FleetLike, UiClock
from k2tui.ui.scene import launch_took

if TYPE_CHECKING:
    from k2tui.core.benching.result import BenchResult


class TryingApp(DoingApp):
    """The part of the app that tries, proves and goes back."""

    last_try: ProfileChange | None = None
    """What was tried last, whatever it began from."""

    def __init__(self, fleet: FleetLike, *, copier: Copier | None, ascii_only: bool, clock: UiClock | None) -> None:
        super().__init__(fleet, copier=copier, ascii_only=ascii_only, clock=clock)
        self._questions: list[Callable[[], None]] = []
        """What waits to be asked."""

    # ---- trying

    def try_on(self, name: str, change: ProfileChange) -> ProfileChange:
        """The change on top of what runs; of a server that does not run, on top of its profile. K2Error: impossible."""
        run = self.fleet.server(name).run
        begun = same_on(change, run=run.run_id if run is not None and run.alive else None)
        self.fleet.plan(name, begun)
        return begun

    def check_try(self, names: Sequence[str], text: str) -> None:
        """Raise K2Error where these words can't be tried on these servers."""
        change = parse_try(text)
        for name in names:
            self.try_on(name, change)

    def open_try(self, name: str, change: ProfileChange) -> None:
        """A brief sheet with this change alone."""
        try:
            begun = self.try_on(name, change)
        except K2Error as error:
            self.fail(error)
            return
        self.last_try = same_on(change, run=None)
        self.open_sheet(name, begun, why="try", brief=True)

    def undo(self, name: str) -> None:
        """A sheet on the last verified configuration that is another one than what runs."""
        try:
            plan = self.fleet.plan(name)
        except K2Error as error:
            self.fail(error)
            return
        if plan.undo_to is None:
            why = plan.no_way_back or "no earlier run with other settings was verified"
            key = self.actions["server.runs"].keys[0]
            self.say(f"undo {name}: {why}; {key} shows its runs", "warning")
        else:
            self.open_sheet(name, ProfileChange(run=plan.undo_to), why="undo")

    # ---- how a launch ends

    def hears_launch(self, name: str, change: ProfileChange, manner: Manner | None) -> Heard | None:
        """A try tells its difference; a failure asks whether to go back."""
        is_try = manner is not None and manner.why == "try"
        if is_try:
            self.last_try = same_on(change, run=None)
        before = self.fleet.server(name)
        before_s, last = _took(before), before.last_bench

        def heard(event: VerbEvent) -> None:
            if event.exit_code is None:
                return
            if event.exit_code is not ExitCode.DONE:
                self.ask_if_failed(event)
            elif is_try:
                self._tell_try(name, change, before_s)
                self.after_try(name, last)

        return heard

    def after_try(self, name: str, before: BenchResult | None) -> None:
        """The try is proved; `before` is the newest benchmark of what ran before."""

    def ask_if_failed(self, event: VerbEvent) -> None:
        """Ask whether to go back, where a launch was left as it is and there is a way."""
        back_to = event.data.get("back_to")
        was_tried = "is_back" in event.data
        if event.exit_code not in (None, ExitCode.DONE) and isinstance(back_to, str) and not was_tried:
            self.ask_later(lambda: self.ask_back(event.server, back_to, event.text))

    def _tell_try(self, name: str, change: ProfileChange, before_s: float | None) -> None:
        view = self.fleet.server(name)
        effects = () if view.proof is None else view.proof.effects
        text = tried_words(describe(change), before_s, _took(view), effects)
        self.own_events.append(Event(self.clock.time(), name, text, Severity.GOOD))
        self.say(f"{name}: {text}", "good")

    def ask_later(self, ask: Callable[[], None]) -> None:
        """Ask once nothing else is being typed or answered."""
        self._questions.append(ask)
        self.ask_waiting()

    def ask_waiting(self) -> None:
        """The next question that waits, when the screen is free for it."""
        front = self.front
        if self._questions and front is self.screen and front is not None and front.prompt is None:
            self._questions.pop(0)()

    def ask_back(self, name: str, back_to: str, what: str) -> None:
        """A restart failed, and there is a configuration that was verified: go back to it?"""
        from k2tui.ui.screens.going_back import back_dialog  # noqa: PLC0415  not needed for the first paint

        view = self.fleet.server(name)
        run = next((run for run in view.runs if run.run_id == back_to), None)
        node = self.fleet.settings.nodes[view.settings.node]

        def answered(answer: str | None) -> None:
            if answer is not None:
                self._go_back(name, back_to)
            else:
                key = self.actions["server.undo"].keys[0]
                self.say(f"{name} is left as it is; {key} goes back later", "text")

        self.push_screen(back_dialog(view, run, back_to, node, what, self.clock.time()), answered)

    def _go_back(self, name: str, back_to: str) -> None:
        change = ProfileChange(run=back_to)
        try:
            plan = self.fleet.plan(name, change)
        except K2Error as error:
            self.fail(error)
            return
        confirm = plan.node if plan.confirm_needed is not None else None
        live = plan.replaces_run is not None
        self.launch(name, change, restart=live, confirm=confirm, manner=Manner(why="rollback"))

    # ---- proving

    def verify(self, name: str) -> None:
        """Look at every effect now, in a dialog that fills up."""
        from k2tui.ui.screens.verify import VerifyDialog  # noqa: PLC0415  not needed for the first paint

        try:
            self.fleet.server(name)
        except K2Error as error:
            self.fail(error)
            return
        dialog = VerifyDialog(self.fleet, name)
        self.push_screen(dialog)
        self.run_worker(self._verify(name, dialog.heard, dialog.failed), group=f"verify-{name}", exit_on_error=False)

    async def _verify(self, name: str, heard: Heard, failed: Callable[[K2Error], None]) -> None:
        try:
            async for event in self.fleet.verify(name):
                self.tell_step(event)
                heard(event)
        except K2Error as error:
            failed(error)
            self.fail(error)
        except Exception as error:  # a bug of ours must not take the control room down
            broke = K2Error(f"verify {name} broke: {type(error).__name__}: {error}", code="bug", subject=name)
            failed(broke)
            self.fail(broke)

    # ---- a restart that was interrupted

    def begin_restart(self, name: str) -> None:
        """The sheet; of a server whose restart was interrupted, first the question what is to become of that."""
        view = self.fleet.server(name)
        if view.planned is not None and view.doing is None:
            self.ask_interrupted(name)
        else:
            self.open_sheet(name)

    def ask_interrupted(self, name: str) -> None:
        """Continue the restart, undo it, or leave it."""
        from k2tui.ui.screens.going_back import interrupted_dialog  # noqa: PLC0415  not needed for the first paint

        if self.forbidden("restart", name):
            return
        view = self.fleet.server(name)
        node = self.fleet.settings.nodes[view.settings.node]
        verbs = {"continue": self.fleet.go_on, "undo": self.fleet.take_back}

        def answered(answer: str | None) -> None:
            if answer is not None:
                verb = verbs[answer]
                confirm = node.name if node.confirm == "always" else None
                heard = self.hears_launch(name, ProfileChange(), None)
                self.follow(name, answer, lambda given: verb(name, confirm=given), confirm, heard=heard)

        self.push_screen(interrupted_dialog(view, node), answered)

    # ---- what somebody else started

    def ask_adopt(self, name: str) -> None:
        """Start a found server anew as one of ours, after its node's name was typed."""
        from k2tui.ui.screens.confirm import adopt_dialog  # noqa: PLC0415  seldom needed

        if self.forbidden("adopt", name):
            return
        self.follow(name, "adopt", lambda given: self.fleet.adopt(name, confirm=given), None, asks=adopt_dialog)


def _took(view: ServerView) -> float | None:
    return None if view.launch is None else launch_took(view.launch)

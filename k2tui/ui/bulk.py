"""Verbs on several servers at once: the marked ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from k2tui.core.errors import K2Error
from k2tui.core.events import Event, Severity
from k2tui.core.several import Several
from k2tui.core.try_words import parse_try, same_on
from k2tui.core.verbs import Manner, ProfileChange
from k2tui.ui.screens.base import K2Screen
from k2tui.ui.trying import TryingApp

Done = Callable[[], None]


class BulkApp(TryingApp):
    """The part of the app that changes several servers."""

    def try_words(self, screen: K2Screen, words: str) -> None:
        """What was typed after `:try`, on the servers that are marked or selected there."""
        names = screen.targets("try")
        if names:
            self.try_change(names, parse_try(words), done=screen.forget_marks)

    def try_change(self, names: Sequence[str], change: ProfileChange, *, done: Done) -> None:
        """One change on top of what each of these runs."""
        if len(names) == 1:
            self.open_try(names[0], change)
        else:
            self.restart_marked(names, change, done=done)

    def restart_marked(self, names: Sequence[str], change: ProfileChange | None = None, *, done: Done) -> None:
        """Ask, then restart them, each with its own profile, or with this change on top of what it runs."""
        from k2tui.ui.screens.several import restart_dialog, restarts_of  # noqa: PLC0415  seldom needed

        if self.forbidden("restart", ", ".join(names)):
            return
        if change is not None:
            self.last_try = same_on(change, run=None)
        restarts = restarts_of(self.fleet, names, None if change is None else lambda name: self.try_on(name, change))
        if not restarts.plans:
            self.say(f"none of these can be restarted: {restarts.first_refusal}", "warning")
            return

        def answered(answer: str | None) -> None:
            if answer is not None:
                done()
                manner = None if change is None else Manner(why="try")
                verb = self._restart_many(restarts.changes, restarts.confirmed, answer == "at-once", manner)
                self.run_worker(verb, group="verb-several", exit_on_error=False)

        self.push_screen(restart_dialog(restarts, change), answered)

    async def _restart_many(
        self,
        changes: Mapping[str, ProfileChange | None],
        confirmed: frozenset[str],
        parallel: bool,
        manner: Manner | None,
    ) -> None:
        several = Several(tuple(changes))
        try:
            async for event in self.fleet.restart_many(changes, confirm=confirmed, parallel=parallel, manner=manner):
                several = several.after(event)
                self.tell_step(event)
                self.ask_if_failed(event)
        except K2Error as error:
            self.fail(error)
            return
        except Exception as error:  # a bug of ours must not take the control room down
            self.fail(K2Error(f"restart broke: {type(error).__name__}: {error}", code="bug"))
            return
        severity = Severity.GOOD if several.is_good else Severity.BAD
        self.own_events.append(Event(self.clock.time(), "", several.sentence, severity))
        self.say(several.sentence, "good" if several.is_good else "bad")

    def stop_marked(self, names: Sequence[str], *, done: Done) -> None:
        """Ask, then stop them."""
        from k2tui.ui.screens.several import stop_dialog  # noqa: PLC0415  seldom needed

        if self.forbidden("stop", ", ".join(names)):
            return
        views = [self.fleet.server(name) for name in names]
        live = [view for view in views if view.found is None and view.run is not None and view.run.alive]
        if not live:
            self.say("none of the marked servers runs here as one of yours", "warning")
            return

        def answered(answer: str | None) -> None:
            if answer is not None:
                done()
                for view in live:
                    self._stop(view.settings.name, view.settings.node)

        nodes = self.fleet.settings.nodes
        self.push_screen(stop_dialog(live, [view.settings.name for view in views if view not in live], nodes), answered)

    def _stop(self, name: str, node: str) -> None:
        self.follow(name, "stop", lambda given: self.fleet.stop(name, confirm=given), node)

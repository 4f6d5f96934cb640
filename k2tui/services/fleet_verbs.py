"""The verbs of a fleet as screens and plain commands call them; what is worth keeping of them is an event too."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from k2tui.core.builds import Build
from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.preflight import Preflight
from k2tui.core.runs import Run
from k2tui.core.verbs import LaunchPlan, Manner, ProfileChange, VerbEvent
from k2tui.services.changes import Changes, Steps


class FleetVerbs:
    """The part of a fleet that changes servers."""

    _changes: Changes

    def record(self, subject: str, text: str, severity: Severity = Severity.INFO) -> None:
        """Put an event on the list."""
        raise NotImplementedError

    def _tell_step(self, name: str, step: VerbEvent) -> None:
        """Put a step on the events list, where it is worth keeping."""
        raise NotImplementedError

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        """What a start or restart would do, from what is known now; touches nothing."""
        return self._changes.plan(name, change)

    async def preflight(self, name: str, change: ProfileChange | None = None) -> Preflight:
        """Look at everything that can stand in the way of this launch, on the node, now."""
        return await self._changes.preflight(name, change)

    async def read_build(self, name: str) -> Build:
        """The engine as it is installed for this server, read now or known already. Raises K2Error."""
        return await self._changes.read_build(name)

    def start(
        self,
        name: str,
        change: ProfileChange | None = None,
        *,
        confirm: str | None = None,
        verify: bool = True,
        manner: Manner | None = None,
    ) -> Steps:
        """Start it; the last event is `done`. Refusals raise K2Error before anything was done."""
        return self._told(name, self._changes.start(name, change, confirm=confirm, verify=verify, manner=manner))

    def restart(
        self,
        name: str,
        change: ProfileChange | None = None,
        *,
        confirm: str | None = None,
        verify: bool = True,
        manner: Manner | None = None,
    ) -> Steps:
        """Stop it if it runs, then start it. `manner` None: as the server's config says."""
        return self._told(name, self._changes.restart(name, change, confirm=confirm, verify=verify, manner=manner))

    def restart_many(
        self,
        changes: Mapping[str, ProfileChange | None],
        *,
        confirm: Collection[str] = (),
        parallel: bool = False,
        manner: Manner | None = None,
    ) -> Steps:
        """One after the other, ended by the first that is not verified; `confirm` are nodes' names."""
        return self._changes.restart_many(changes, confirm=confirm, parallel=parallel, manner=manner, told=self._told)

    def stop(self, name: str, *, confirm: str | None = None) -> Steps:
        """Stop it; done when no process of it is left."""
        return self._told(name, self._changes.stop(name, confirm=confirm))

    def verify(self, name: str) -> Steps:
        """Look at every effect that its flags ask for, now."""
        return self._told(name, self._changes.verify(name))

    def go_on(self, name: str, *, confirm: str | None = None) -> Steps:
        """Do to its end a restart that was interrupted (`ServerView.planned`)."""
        return self._told(name, self._changes.go_on(name, confirm=confirm))

    def take_back(self, name: str, *, confirm: str | None = None) -> Steps:
        """Undo a restart that was interrupted: what ran before runs again, and the planned run is gone."""
        return self._told(name, self._changes.take_back(name, confirm=confirm))

    def adopt(self, name: str, *, confirm: str | None = None) -> Steps:
        """Write a found server into the config, stop it by its identity and start it as one of ours."""
        return self._told(name, self._changes.adopt(name, confirm=confirm))

    async def save_profile(self, name: str, change: ProfileChange, *, as_name: str, use: bool) -> str:
        """Write a server's profile with this change into the config; gives the file's path."""
        return await self._changes.save_profile(name, change, as_name=as_name, use=use)

    async def runs(self, name: str) -> tuple[Run, ...]:
        """Every run of a server that the node or this side remembers, newest first."""
        return await self._changes.runs(name)

    async def _told(self, name: str, steps: Steps) -> Steps:
        """The same steps, the ones worth keeping also on the events list."""
        try:
            async for step in steps:
                self._tell_step(name, step)
                yield step
        except K2Error as error:
            if error.code != "confirm_needed":  # a question is no event
                self.record(name, str(error), Severity.BAD)
            raise

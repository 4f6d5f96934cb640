"""A launch being planned: a draft, what it comes to, what stands in its way, and which flags the build takes."""

from __future__ import annotations

from textual.timer import Timer

from k2tui.core.builds import Build
from k2tui.core.errors import ConfigErrors, K2Error
from k2tui.core.flag_completion import Variables
from k2tui.core.settings_between import Setting, settings_between
from k2tui.core.variables import VARIABLES
from k2tui.core.verbs import LaunchPlan, ProfileChange
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.screens.typing import TypingDialog
from k2tui.ui.setting_rows import SheetRow, rows_between
from k2tui.ui.sheet_notes import Look, checks_now
from k2tui.ui.sheet_state import Draft

SETTLE_S = 0.3
"""How long a draft must stand still before the node is looked at for it."""
TICK_S = 1.0


class PlannedLaunch(TypingDialog):
    """The thinking half of the launch sheet. Nothing here waits for a node."""

    variables: Variables = VARIABLES
    """What may be set in the environment, as far as it is known."""

    def __init__(self, fleet: FleetLike, name: str, draft: Draft | None = None) -> None:
        """Raises K2Error when this can't be planned."""
        self.fleet, self.name_of_server = fleet, name
        self.view = fleet.server(name)
        self.node = fleet.settings.nodes[self.view.settings.node]
        self.draft = draft or Draft()
        self._base_env = self._env_of(self.draft)
        self.plan: LaunchPlan = fleet.plan(name, self.change)
        self.build: Build | None = self.plan.build or self.view.build
        self.build_trouble: str | None = None
        self.is_reading_build = False
        self.errors: tuple[str, ...] = ()
        self.said: tuple[str, ...] = ()
        self.look = Look()
        self._settling: Timer | None = None
        self._rows: tuple[tuple[object, ...], list[SheetRow]] = ((), [])
        """The rows, and what they were made of."""
        super().__init__()

    def draw_again(self) -> None:
        """Something that is shown has changed."""
        raise NotImplementedError

    @property
    def restarts(self) -> bool:
        """True when a run that lives is replaced."""
        return self.plan.replaces_run is not None

    @property
    def change(self) -> ProfileChange:
        """The draft for the fleet."""
        return self.draft.change(self._base_env)

    def began(self) -> None:
        super().began()
        self.set_interval(TICK_S, self._tick)
        self._look_now()
        if self.build is None:
            self.is_reading_build = True
            self.run_worker(self._read_build(), group="build", exit_on_error=False)

    # ---- the draft

    def use(self, draft: Draft) -> bool:
        """Plan again with this draft; what is wrong with it is shown and the draft is left as it was."""
        wrong = self.try_draft(draft)
        if wrong:
            self.errors, self.said = wrong, ()
            self.draw_again()
        return not wrong

    def try_draft(self, draft: Draft) -> tuple[str, ...]:
        """Plan again with this draft; gives what is wrong with it, and then the draft is left as it was."""
        try:
            env = self._env_of(draft) if draft.beginning != self.draft.beginning else self._base_env
            plan = self.fleet.plan(self.name_of_server, draft.change(env))
        except ConfigErrors as error:
            return error.lines
        except K2Error as error:
            return (str(error),)
        changed = draft.change(env) != self.change
        self.draft, self._base_env, self.plan, self.errors, self.said = draft, env, plan, (), ()
        self.build = plan.build or self.build
        if changed:
            self._look_soon()
        self.draw_again()
        return ()

    def _env_of(self, draft: Draft) -> frozenset[str]:
        """The variables of a draft's beginning that a change can take away."""
        plan = self.fleet.plan(self.name_of_server, draft.beginning.change())
        return frozenset(name for name in plan.profile.env if plan.sources.get(name) not in ("server", "k2tui"))

    def settings(self) -> list[Setting]:
        """Every flag and variable, old against new."""
        run, profile = self.view.run, self.plan.profile
        if run is not None:
            return settings_between((run.argv, dict(run.env)), (profile.argv, profile.env), profile.secrets)
        base = self.fleet.plan(self.name_of_server).profile
        return settings_between((base.argv, base.env), (profile.argv, profile.env), profile.secrets)

    def rows_now(self) -> list[SheetRow]:
        """The same with who gave each, and what is known of it."""
        made_of = (self.plan, self.look, self.view, self.build)
        if len(self._rows[0]) != len(made_of) or any(a is not b for a, b in zip(self._rows[0], made_of, strict=True)):
            checks = checks_now(self.plan, self.look)
            rows = rows_between(self.settings(), self.plan.sources, checks, self.build, self.variables)
            self._rows = (made_of, rows)
        return self._rows[1]

    # ---- looking, beside the keys

    def _look_soon(self) -> None:
        """Once the draft stands still. What was found is of an earlier one until then."""
        if self.look.since is None:
            self.look = Look(self.look.found, self.look.at, self.k2.clock.monotonic(), self.look.trouble)
        if self._settling is not None:
            self._settling.stop()
        self._settling = self.set_timer(SETTLE_S, self._look_now)

    def _look_now(self) -> None:
        self._settling = None
        self.look = Look(self.look.found, self.look.at, self.k2.clock.monotonic())
        self.run_worker(self._look(self.change), group="preflight", exclusive=True, exit_on_error=False)

    async def _look(self, change: ProfileChange) -> None:
        found, trouble = None, None
        try:
            found = await self.fleet.preflight(self.name_of_server, change)
        except K2Error as error:
            trouble = str(error)
        except Exception as error:  # a bug of ours must not take the sheet down
            trouble = f"{type(error).__name__}: {error}"
        if change == self.change and self._settling is None:  # else another look is on its way
            self.look = Look(found, self.k2.clock.time(), None, trouble)
            self._see_again()

    async def _read_build(self) -> None:
        try:
            self.build = await self.fleet.read_build(self.name_of_server)
        except K2Error as error:
            self.build_trouble = str(error)
        except Exception as error:  # a bug of ours must not take the sheet down
            self.build_trouble = f"{type(error).__name__}: {error}"
        self.is_reading_build = False
        self._see_again()

    def _tick(self) -> None:
        """A look that goes on has an age; and the server does not stand still while the sheet is open."""
        before, now = self.view, self.fleet.server(self.name_of_server)
        if now.run != before.run or now.serving != before.serving:
            self._see_again()
            if now.run != before.run:
                self._look_soon()
        elif self.look.goes_on:
            self.draw_again()

    def _see_again(self) -> None:
        """Plan the same draft again: what is known of the world has changed."""
        self.view = self.fleet.server(self.name_of_server)
        try:
            self.plan = self.fleet.plan(self.name_of_server, self.change)
        except K2Error as error:
            self.errors = (str(error),)
        self.build = self.plan.build or self.build
        if self.is_mounted:
            self.draw_again()

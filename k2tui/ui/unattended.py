"""Series of restarts and benchmarks from the screen: asked for, made, watched, gone on with, ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.worker import Worker, WorkerError

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.events import Event, Severity
from k2tui.core.views import ServerView
from k2tui.ui.fleetlike import Copier, FleetLike, UiClock
from k2tui.ui.measuring import MeasuringApp

if TYPE_CHECKING:  # not needed for the first paint
    from k2tui.core.benching.series import SeriesEvent, SeriesPlan, SeriesState

_TOLD = ("planned", "measured", "skipped", "leaving")
"""Steps that are said on the last line; the screen of the series shows the others."""
Steps = Callable[[str | None], "AsyncIterator[SeriesEvent]"]
"""Begins it with this confirmation."""


@dataclass(slots=True)
class Making:
    """A series that this app makes, or made."""

    state: SeriesState | None = None
    event: SeriesEvent | None = None
    """Its newest step."""
    is_over: bool = False
    worker: Worker[None] | None = None


@runtime_checkable
class ShowsSeries(Protocol):
    """A screen on which series stand."""

    def series_moved(self) -> None:
        """One of them made a step."""
        ...


def is_open(state: SeriesState) -> bool:
    """It is not at its end."""
    return state.stage.value in ("running", "leaving")


class UnattendedApp(MeasuringApp):
    """The part of the app that makes A/Bs and matrices."""

    def __init__(self, fleet: FleetLike, *, copier: Copier | None, ascii_only: bool, clock: UiClock | None) -> None:
        super().__init__(fleet, copier=copier, ascii_only=ascii_only, clock=clock)
        self.makings: dict[str, Making] = {}
        """By id: the series of this session."""

    # ---- asking

    def ask_matrix(self, matrix: str) -> None:
        """What a matrix of the config would cost, and whether to make it. Raises K2Error."""
        self._ask_series(self.fleet.plan_matrix(matrix))

    def ask_ab(self, name: str, profiles: Sequence[str], *, restarts: int = 3, leave: str = "as-found") -> None:
        """What an A/B of these profiles would cost, and whether to make it. Raises K2Error."""
        self._ask_series(self.plan_ab(name, profiles, restarts=restarts, leave=leave))

    def plan_ab(self, name: str, profiles: Sequence[str], *, restarts: int = 3, leave: str = "as-found") -> SeriesPlan:
        """What an A/B of these profiles would do. Raises K2Error."""
        if len(set(profiles)) < 2:
            hint = ":ab A B names them"
            raise K2Error("an A/B needs two profiles", code="usage", hint=hint, exit_code=ExitCode.USAGE)
        return self.fleet.plan_ab(name, tuple(profiles), restarts=restarts, leave=leave)

    def ab_words(self, server: ServerView | None, words: str) -> None:
        """What was typed after `:ab`, on the selected server."""
        if server is None:
            self.say("no server is selected", "warning")
        else:
            self.ask_ab(server.settings.name, words.split())

    def _ask_series(self, plan: SeriesPlan) -> None:
        from k2tui.core.benching.matrix import cost_sentence  # noqa: PLC0415  seldom needed
        from k2tui.ui.screens.bench_questions import series_dialog  # noqa: PLC0415  seldom needed

        if self.forbidden(plan.name, plan.server):
            return
        node = self.fleet.settings.nodes[plan.node]

        def answered(answer: str | None) -> None:
            if answer is not None:
                confirm = plan.node if plan.confirm_needed is not None else None
                steps = lambda given: self.fleet.run_series(plan, confirm=given)  # noqa: E731  a verb with its plan
                self._begin_series(plan.series_id, plan.server, plan.name, steps, confirm)
                self.open_series(plan.series_id)

        self.push_screen(series_dialog(plan, node, cost_sentence(plan)), answered)

    def ask_about(self, state: SeriesState) -> None:
        """Look at it, go on with it, or end it; of one that is over there is only the look."""
        from k2tui.ui.screens.bench_questions import (  # noqa: PLC0415  seldom needed
            interrupted_series_dialog,
            running_series_dialog,
        )

        series_id = state.plan.series_id
        if not is_open(state) or state.plan.node not in self.fleet.settings.nodes:
            self.open_series(series_id, state)
            return
        node = self.fleet.settings.nodes[state.plan.node]
        ask = running_series_dialog if self.is_making(series_id) else interrupted_series_dialog

        def answered(answer: str | None) -> None:
            if answer == "look":
                self.open_series(series_id, state)
            elif answer is not None and not self.forbidden(state.plan.name, state.plan.server):
                self._resume(state, go_on=answer == "go-on")

        self.push_screen(ask(state, node), answered)

    def _resume(self, state: SeriesState, *, go_on: bool) -> None:
        plan, verb = state.plan, self.fleet.go_on_series if go_on else self.fleet.end_series
        steps = lambda given: verb(plan.series_id, confirm=given)  # noqa: E731  a verb with its series
        confirm = plan.node if self.fleet.settings.nodes[plan.node].confirm == "always" else None
        if self.is_making(plan.series_id):
            self.run_worker(self._end_mine(plan, steps, confirm), group=f"end-{plan.series_id}", exit_on_error=False)
        else:
            self._begin_series(plan.series_id, plan.server, plan.name, steps, confirm)
        self.open_series(plan.series_id, state)

    async def _end_mine(self, plan: SeriesPlan, steps: Steps, confirm: str | None) -> None:
        """Leave off making it, then have it ended."""
        worker = self.makings[plan.series_id].worker
        if worker is not None:
            worker.cancel()
            with suppress(WorkerError):  # it was cancelled, as it should be
                await worker.wait()
        self._begin_series(plan.series_id, plan.server, plan.name, steps, confirm)

    # ---- making

    def is_making(self, series_id: str) -> bool:
        """This app makes it now."""
        making = self.makings.get(series_id)
        return making is not None and not making.is_over

    def _begin_series(self, series_id: str, server: str, word: str, steps: Steps, confirm: str | None) -> None:
        known = self.makings.get(series_id)
        making = self.makings[series_id] = Making(None if known is None else known.state)
        verb = self._make(making, server, word, steps, confirm)
        making.worker = self.run_worker(verb, group=f"series-{series_id}", exit_on_error=False)

    async def _make(self, making: Making, server: str, word: str, steps: Steps, confirm: str | None) -> None:
        try:
            async with aclosing(steps(confirm)) as following:  # type: ignore[type-var]
                async for event in following:
                    self._series_step(making, event)
        except asyncio.CancelledError:
            raise
        except K2Error as error:
            making.is_over = True
            if error.code == "confirm_needed" and confirm is None:
                self._confirm_series(making, server, word, steps, error)
            else:
                self.fail(error)
        except Exception as error:  # a bug of ours must not take the control room down
            self.fail(K2Error(f"{word} broke: {type(error).__name__}: {error}", code="bug", subject=server))
        finally:
            making.is_over = True
            self._redraw_front()

    def _series_step(self, making: Making, event: SeriesEvent) -> None:
        making.state, making.event = event.state, event
        plan = event.state.plan
        if event.type == "done":
            good = event.exit_code is ExitCode.DONE
            severity = Severity.GOOD if good else Severity.BAD
            self.own_events.append(Event(self.clock.time(), plan.server, event.text, severity))
            self.say(event.text, "good" if good else "bad")
        elif event.type in _TOLD:
            self.say(event.text, "warning" if event.type == "skipped" else "text")
        self._redraw_front()

    def _redraw_front(self) -> None:
        """The screens that show series look at them at once."""
        front = self.front
        if isinstance(front, ShowsSeries):
            front.series_moved()

    def _confirm_series(self, making: Making, server: str, word: str, steps: Steps, error: K2Error) -> None:
        from k2tui.ui.screens.confirm import confirm_dialog  # noqa: PLC0415  seldom needed

        node = self.fleet.settings.nodes[self.fleet.server(server).settings.node]
        series_id = next(key for key, known in self.makings.items() if known is making)

        def answered(given: str | None) -> None:
            if given is not None:
                self._begin_series(series_id, server, word, steps, given)

        self.push_screen(confirm_dialog(word, server, node, error), answered)

    # ---- looking

    def open_series(self, series_id: str, state: SeriesState | None = None) -> None:
        """Its trials and what they came to."""
        from k2tui.ui.screens.series import SeriesScreen  # noqa: PLC0415  only when asked for

        here = self.screen
        if not (isinstance(here, SeriesScreen) and here.series_id == series_id):
            self.push_screen(SeriesScreen(series_id, state))

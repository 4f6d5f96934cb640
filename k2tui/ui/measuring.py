"""Benchmarks from the screen: begun with a key, told while they go on, ended with a button."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from textual.worker import Worker

from k2tui.core.benching.plan import BenchPlan
from k2tui.core.errors import K2Error
from k2tui.core.events import Event, Severity
from k2tui.core.fields import PERIODS_GONE, serving_period_s
from k2tui.core.views import ServerView
from k2tui.ui.bulk import BulkApp
from k2tui.ui.fleetlike import Copier, FleetLike, UiClock
from k2tui.ui.present import key_text

if TYPE_CHECKING:
    from k2tui.core.benching.live import BenchEvent
    from k2tui.core.benching.result import BenchResult

    After = Callable[[BenchResult], None]
    """What is done with a result."""

MOST_EVENTS = 400
"""Steps of one benchmark that are kept to be read."""
_QUIET = ("figure", "connected", "flush")
"""What the live figure shows anyway."""


@dataclass(slots=True)
class Measuring:
    """A benchmark that this app makes."""

    name: str
    plan: BenchPlan
    events: list[BenchEvent] = field(default_factory=list)
    """What it told, oldest first; live figures are in the server's view."""
    result: BenchResult | None = None
    trouble: str | None = None
    """Why it ended without one."""
    is_over: bool = False
    worker: Worker[None] | None = None
    hears: Callable[[], None] | None = None
    """Is called at each step: a dialog that shows it."""

    def tell(self) -> None:
        """Something is to be shown anew."""
        if self.hears is not None:
            self.hears()


def others_on(view: ServerView, now: float, ours_until: float | None = None) -> int:
    """Requests that run on a server now, as far as that is still to be believed.

    `ours_until`: when a benchmark of ours ended there; what was read of it before may have been that.
    """
    serving = view.serving
    if serving is None or view.bench is not None or now - serving.at > PERIODS_GONE * serving_period_s(serving):
        return 0
    if ours_until is not None and serving.at < ours_until + serving_period_s(serving):
        return 0
    return serving.running or 0


class MeasuringApp(BulkApp):
    """The part of the app that measures."""

    def __init__(self, fleet: FleetLike, *, copier: Copier | None, ascii_only: bool, clock: UiClock | None) -> None:
        super().__init__(fleet, copier=copier, ascii_only=ascii_only, clock=clock)
        self.measuring: dict[str, Measuring] = {}
        """By server: what this app measures now."""
        self.measured_until: dict[str, float] = {}
        """By server: time.monotonic at which this app's last benchmark of it ended."""
        self.figures_after_try: set[str] = set()
        """Servers of which a quick figure is taken once their try is proved."""

    def bench(self, name: str) -> None:
        """A quick figure; while one is measured, a look at it."""
        if self.fleet.server(name).bench is not None or name in self.measuring:
            self.show_bench(name)
        else:
            self.measure(name)

    def measure(self, name: str, plan: BenchPlan | None = None) -> None:
        """Measure a server; where clients are on it, ask first."""
        view = self.fleet.server(name)
        if self.forbidden("bench", name):
            return
        if view.bench is not None or name in self.measuring:
            key = key_text(self.actions["bench.quick"].keys[0])
            self.say(f"{name} is measured already; {key} shows it", "warning")
            return
        if not others_on(view, self.clock.monotonic(), self.measured_until.get(name)):
            self.begin_bench(name, plan)
            return
        from k2tui.ui.screens.bench_questions import busy_dialog  # noqa: PLC0415  seldom needed

        def answered(answer: str | None) -> None:
            if answer is not None:
                self.begin_bench(name, plan)

        self.push_screen(busy_dialog(view), answered)

    def begin_bench(self, name: str, plan: BenchPlan | None = None, *, after: After | None = None) -> None:
        """Measure it now, beside the keys."""
        one = self.measuring[name] = Measuring(name, plan or BenchPlan())
        one.worker = self.run_worker(self._measure(one, after), group=f"bench-{name}", exit_on_error=False)

    async def _measure(self, one: Measuring, after: After | None) -> None:
        try:
            async with aclosing(self.fleet.bench(one.name, one.plan)) as steps:  # type: ignore[type-var]
                async for event in steps:
                    self._bench_step(one, event)
        except asyncio.CancelledError:
            one.trouble = "it was ended; what was measured until then is kept"
            raise
        except K2Error as error:
            one.trouble = str(error)
            self.fail(error)
        except Exception as error:  # a bug of ours must not take the control room down
            broke = K2Error(f"bench {one.name} broke: {type(error).__name__}: {error}", code="bug", subject=one.name)
            one.trouble = str(broke)
            self.fail(broke)
        finally:
            one.is_over = True
            self.measuring.pop(one.name, None)
            self.measured_until[one.name] = self.clock.monotonic()
            one.tell()
        if one.result is not None and after is not None:
            after(one.result)

    def _bench_step(self, one: Measuring, event: BenchEvent) -> None:
        if event.type not in _QUIET:
            one.events.append(event)
            del one.events[:-MOST_EVENTS]
        if event.result is not None:
            one.result = event.result
        if event.type == "done":
            self._tell_bench(one, event)
        elif event.type == "clients":
            self.say(event.text, "warning")
        one.tell()

    def _tell_bench(self, one: Measuring, event: BenchEvent) -> None:
        from k2tui.ui.bench_notes import outcome  # noqa: PLC0415  not needed for the first paint

        text, role = (event.text, "bad") if one.result is None else outcome(one.result)
        self.say(text, role)

    def stop_bench(self, name: str) -> None:
        """End it; what was measured is kept."""
        one = self.measuring.get(name)
        if one is None or one.worker is None:
            self.say(f"{name} is not measured from here", "warning")
            return
        one.worker.cancel()
        self.say(f"{name}: the benchmark was ended; what was measured until then is kept")

    def show_bench(self, name: str) -> None:
        """The benchmark that goes on, in a small dialog; leaving it lets it go on."""
        from k2tui.ui.screens.bench_live import BenchDialog  # noqa: PLC0415  not needed for the first paint

        self.push_screen(BenchDialog(self.fleet, name, self.measuring.get(name)))

    def choose_bench(self, name: str) -> None:
        """The dialog that offers everything that can be measured."""
        from k2tui.ui.screens.measure import MeasureDialog  # noqa: PLC0415  not needed for the first paint

        self.fleet.server(name)
        if self.forbidden("measure", name):
            return
        self.push_screen(MeasureDialog(self.fleet, name))

    # ---- behind a try

    def want_figure(self, name: str, wanted: bool) -> None:
        """Whether a quick figure follows the try of this server."""
        if wanted:
            self.figures_after_try.add(name)
        else:
            self.figures_after_try.discard(name)

    def after_try(self, name: str, before: BenchResult | None) -> None:
        """The try is proved: take a quick figure, and tell the difference to the one before."""
        if name not in self.figures_after_try:
            return
        self.figures_after_try.discard(name)
        if name in self.measuring or self.fleet.server(name).bench is not None:
            return

        def done(result: BenchResult) -> None:
            if before is not None:
                self.run_worker(self._tell_difference(name, before, result), exit_on_error=False)

        self.begin_bench(name, after=done)

    async def _tell_difference(self, name: str, before: BenchResult, after: BenchResult) -> None:
        from k2tui.ui.bench_notes import difference  # noqa: PLC0415  not needed for the first paint

        try:
            comparison = await self.fleet.compare_benches(before.bench_id, after.bench_id)
        except K2Error as error:
            self.fail(error)
            return
        text, role = difference(before, after, comparison)
        severity = Severity.GOOD if role == "good" else Severity.INFO
        self.own_events.append(Event(self.clock.time(), name, text, severity))
        self.say(text, role)

    # ---- the base, and comparing

    def toggle_base(self, result: BenchResult, done: Callable[[], None]) -> None:
        """Make it the base of its server; where it is, there is none from now on."""
        self.run_worker(self._set_base(result, done), group="base", exit_on_error=False)

    async def _set_base(self, result: BenchResult, done: Callable[[], None]) -> None:
        from k2tui.core.benching.words import headline  # noqa: PLC0415  not needed for the first paint

        try:
            await self.fleet.set_base(result.subject, None if result.is_base else result.bench_id)
        except K2Error as error:
            self.fail(error)
            return
        if result.is_base:
            self.say(f"{result.subject} has no base any more")
        else:
            self.say(f"the base of {result.subject} is {headline(result)} now", "good")
        done()

    def compare_benches(self, a: BenchResult, b: BenchResult) -> None:
        """Two benchmarks side by side: B against A."""
        self.run_worker(self._compare(a, b), group="compare", exclusive=True, exit_on_error=False)

    async def _compare(self, a: BenchResult, b: BenchResult) -> None:
        from k2tui.ui.screens.bench_compare import BenchCompareScreen  # noqa: PLC0415  only when asked for

        try:
            comparison = await self.fleet.compare_benches(a.bench_id, b.bench_id)
        except K2Error as error:
            self.fail(error)
            return
        self.push_screen(BenchCompareScreen(a, b, comparison))

    def open_bench(self, bench_id: str, known: BenchResult | None = None) -> None:
        """One benchmark whole."""
        from k2tui.ui.screens.bench_result import BenchResultScreen  # noqa: PLC0415  only when asked for

        self.push_screen(BenchResultScreen(bench_id, known))

    def go_benches(self, name: str | None = None) -> None:
        """What was measured; the cursor on the newest of this server."""
        from k2tui.ui.screens.benches import BenchesScreen  # noqa: PLC0415  not needed for the first paint

        if isinstance(self.screen, BenchesScreen):
            return
        self.push_screen(BenchesScreen(name))

"""The end of a series: the server is put as it is to be left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

from k2tui.core.benching.ranking import ranked
from k2tui.core.benching.series import Leave, SeriesEvent, TrialState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.runs import Run
from k2tui.core.verbs import ProfileChange
from k2tui.services.benching.going import Going
from k2tui.services.benching.trials import NOT_OF_THE_ARM, Bench, Restarted


@dataclass
class Leaving:
    """Puts a server as its series is to leave it. What came of it stands in `ok` and `sentence` afterwards."""

    bench: Bench
    going: Going
    ok: bool = False
    sentence: str = ""
    """How it was left; where that failed, what to do."""

    async def made(self) -> AsyncIterator[SeriesEvent]:
        """Do it. Raises K2Error where the node is out of reach for good, or an operator has to say something first."""
        plan = self.going.state.plan
        best = ranked(self.going.state).best if plan.leave is Leave.BEST else None
        steps = self._as_found() if best is None else self._as_best(best)
        try:
            async with aclosing(steps) as leaving:  # type: ignore[type-var]
                async for event in leaving:
                    yield event
        except K2Error as error:
            if error.exit_code is ExitCode.UNREACHABLE or error.code in NOT_OF_THE_ARM:
                raise
            self._failed(str(error))
        if self.ok and best is None and plan.leave is Leave.BEST:
            self.sentence = f"nothing was measured, so there is no best; {self.sentence}"

    async def _as_found(self) -> AsyncIterator[SeriesEvent]:
        found, name, live = self.going.state.plan.found_run, self.going.server, self._live()
        if found is None:
            async for event in self._stopped(live):
                yield event
            return
        if live is not None and live.run_id == found:
            self.ok, self.sentence = True, f"{name} runs as it was found: run {found} was never touched"
            return
        await self.bench.changes.runs(name)  # its node may have thrown it away since
        words = f"as it was found: what run {found} was started with"
        async for event in self._restarted(ProfileChange(run=found), words):
            yield event

    async def _as_best(self, arm: int) -> AsyncIterator[SeriesEvent]:
        plan, live = self.going.state.plan, self._live()
        words = f"on the best configuration, {plan.arms[arm].label}"
        runs = [t.run_id for t in self.going.state.trials if t.arm == arm and t.state is TrialState.MEASURED]
        if live is not None and live.run_id in runs:
            self.ok, self.sentence = True, f"{self.going.server} runs {words} (run {live.run_id})"
            return
        async for event in self._restarted(plan.arms[arm].change, words):
            yield event

    async def _stopped(self, live: Run | None) -> AsyncIterator[SeriesEvent]:
        name = self.going.server
        if live is not None:
            async with aclosing(self.bench.stop(self.going)) as steps:  # type: ignore[type-var]
                async for step in steps:
                    yield self.going.event("leaving", step.text, step=step)
        self.ok, self.sentence = True, f"{name} is stopped, as it was found"

    async def _restarted(self, change: ProfileChange, words: str) -> AsyncIterator[SeriesEvent]:
        yield self.going.event("leaving", f"putting {self.going.server} {words}")
        restarted = Restarted(self.bench, self.going, change, {}, kind="leaving")
        async with aclosing(restarted.made()) as steps:  # type: ignore[type-var]
            async for event in steps:
                yield event
        if restarted.state is TrialState.MEASURING:
            self.ok, self.sentence = True, f"{self.going.server} runs {words} (run {restarted.run_id})"
        else:
            self._failed(restarted.why)

    def _failed(self, why: str) -> None:
        name, plan = self.going.server, self.going.state.plan
        if plan.found_run is None:
            do = f"k2tui stop {name} stops it"
        else:
            do = f"k2tui bench resume {plan.series_id} --end tries it again, k2tui undo {name} goes back by hand"
        self.sentence = f"{name} could not be left as asked: {why}; {do}"

    def _live(self) -> Run | None:
        run = self.bench.watch.view.run
        return run if run is not None and run.alive else None

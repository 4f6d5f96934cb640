"""A/B and matrix: restarts and benchmarks in turn, kept after every step, gone on with after any end."""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace

from k2tui.core.benching.matrix import (
    begun,
    cost_sentence,
    matrix_plan,
    next_trial,
    profile_arms,
    series_plan,
)
from k2tui.core.benching.ranking import ranked
from k2tui.core.benching.series import Leave, SeriesEvent, SeriesPlan, SeriesStage, SeriesState, TrialState
from k2tui.core.benching.targets import decodes_speculatively
from k2tui.core.errors import ExitCode, K2Error, no_such
from k2tui.core.events import Severity
from k2tui.core.foreign.owner import not_ours
from k2tui.core.history import PastLaunch
from k2tui.core.launch import LaunchKind, LaunchPhase
from k2tui.core.settings import Settings
from k2tui.core.verbs import ProfileChange
from k2tui.services.benching.going import Going
from k2tui.services.benching.leaving import Leaving
from k2tui.services.benching.owners import lives, me
from k2tui.services.benching.prescreen import Prescreen, PrescreenScripts
from k2tui.services.benching.trials import Bench, Measures, TrialMade, measured_already
from k2tui.services.changes import Changes, Steps
from k2tui.services.doors import BenchHistory, Clock, NodeLink, Script
from k2tui.services.gate import Gate
from k2tui.services.server_watch import ServerWatch

A_B = "A/B"
NEWEST = 5
"""Launches whose median is what a launch usually takes."""
OTHER_MACHINE_S = 1800.0
"""Beyond the launch limit: a series of a k2tui on another machine that wrote nothing for so long is made no more."""
ENDED = "the series was ended before it"
_OPEN = (SeriesStage.RUNNING, SeriesStage.LEAVING, SeriesStage.FAILED)


@dataclass(frozen=True)
class SeriesDoors:
    """What series need of the world."""

    gate: Gate
    clock: Clock
    history: BenchHistory | None
    """Where series are kept; None: nowhere, and none can be made."""
    script: Callable[[str], Script]
    past: Callable[[str], Sequence[PastLaunch]]
    """Earlier launches of a server, as far as they are known by now."""
    link: Callable[[str], NodeLink]
    """The connection to a node, by name."""
    told: Callable[[str, Steps], Steps] = lambda _, steps: steps
    """What the steps of each restart pass through."""
    record: Callable[[str, str, Severity], None] = lambda *_: None
    """Puts an event on the list."""


class Serieses:
    """Makes series, and keeps where they are. Refusals are K2Error at the first step of a verb; its last event is
    `done`. Closing a verb leaves its series to be gone on with."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        changes: Changes,
        watches: Mapping[str, ServerWatch],
        benches: Measures,
        doors: SeriesDoors,
    ) -> None:
        self._settings, self._changes, self._watches = settings, changes, watches
        self._benches, self._doors = benches, doors

    def plan_matrix(self, matrix: str) -> SeriesPlan:
        """What a matrix of the config would do; touches nothing. Raises K2Error."""
        settings = self._settings()
        if matrix not in settings.matrices:
            raise no_such("matrix", matrix, settings.matrices)
        found = settings.matrices[matrix]
        self._watch(found.server)
        plan = matrix_plan(
            found,
            settings,
            series_id=self._new_id(),
            seed=secrets.randbits(32),
            found_run=self._found_run(found.server),
            launch_s=self._launch_s(found.server),
            confirm_needed=self._changes.confirm_sentence(found.server),
        )
        return self._checked(plan)

    def plan_ab(self, name: str, profiles: tuple[str, ...], *, restarts: int, leave: str) -> SeriesPlan:
        """What an A/B of these profiles would do; touches nothing. Raises K2Error."""
        watch = self._watch(name)
        if len(set(profiles)) < 2 or restarts < 1 or leave not in {way.value for way in Leave}:
            raise K2Error(
                "an A/B needs two profiles or more, a restart or more of each, and as-found or best as its end",
                code="usage",
                subject=name,
                exit_code=ExitCode.USAGE,
            )
        plan = series_plan(
            profile_arms(tuple(dict.fromkeys(profiles))),
            series_id=self._new_id(),
            name=A_B,
            server=name,
            node=watch.settings.node,
            seed=secrets.randbits(32),
            restarts=restarts,
            leave=Leave(leave),
            found_run=self._found_run(name),
            launch_s=self._launch_s(name),
            confirm_needed=self._changes.confirm_sentence(name),
        )
        return self._checked(plan)

    async def run(self, plan: SeriesPlan, *, confirm: str | None) -> AsyncIterator[SeriesEvent]:
        """Make it."""
        history = self._history()
        await self._look(plan, "series", confirm)
        await self._alone(plan, history)
        plan = self._checked(replace(plan, found_run=self._found_run(plan.server)))
        state = begun(plan, began_at=self._doors.clock.time(), owner=me())
        going = Going(state, history, self._doors.clock, confirm)
        await going.become(state)
        try:
            await self._alone(plan, history)  # again: of two that began at the same moment none goes on unseen
        except K2Error:
            left = f"{plan.server} was not touched: another series of it began at the same moment"
            await going.become(replace(state, stage=SeriesStage.STOPPED, left=left, owner=None))
            raise
        async with aclosing(self._made(going)) as steps:  # type: ignore[type-var]
            async for event in steps:
                yield event

    async def go_on(self, series_id: str, *, confirm: str | None) -> AsyncIterator[SeriesEvent]:
        """Go on with it: what was measured is not made again, what was interrupted is made from its restart."""
        going = await self._taken_over(series_id, confirm)
        async with aclosing(self._made(going)) as steps:  # type: ignore[type-var]
            async for event in steps:
                yield event

    async def end(self, series_id: str, *, confirm: str | None) -> AsyncIterator[SeriesEvent]:
        """Make no more trials of it, and put the server as it was found."""
        going = await self._taken_over(series_id, confirm)
        state = going.state
        over = tuple(
            replace(trial, state=TrialState.SKIPPED, why=ENDED)
            if trial.state in (TrialState.WAITING, TrialState.LAUNCHING, TrialState.MEASURING)
            else trial
            for trial in state.trials
        )
        plan = replace(state.plan, leave=Leave.AS_FOUND)
        await going.become(replace(state, trials=over, plan=plan, stage=SeriesStage.LEAVING))
        async with aclosing(self._made(going)) as steps:  # type: ignore[type-var]
            async for event in steps:
                yield event

    async def all(self) -> tuple[SeriesState, ...]:
        """Newest first. Raises K2Error where the store can't be read."""
        return () if self._doors.history is None else await self._doors.history.series()

    async def _made(self, going: Going) -> AsyncIterator[SeriesEvent]:
        """Every step that is left of it, whatever becomes of them; its owner is let go of at the end."""
        plan, name = going.state.plan, going.server
        detail = f"{plan.series_id}, {plan.name}: {cost_sentence(plan)}"
        try:
            with self._doors.gate.changing(node=plan.node, subject=name, action="series", detail=detail) as ongoing:
                try:
                    async with aclosing(self._steps(going)) as steps:  # type: ignore[type-var]
                        async for event in steps:
                            yield event
                except K2Error as error:
                    ongoing.result = f"interrupted: {error.code}"
                    done = await self._interrupted(going, error)
                else:
                    ongoing.result = f"done: {going.state.stage.value}"
                    done = self._ended(going)
            yield done
        finally:
            if going.state.owner is not None:
                with suppress(K2Error):
                    await going.become(replace(going.state, owner=None))

    async def _steps(self, going: Going) -> AsyncIterator[SeriesEvent]:
        plan = going.state.plan
        bench = self._bench(plan)
        yield going.event("planned", f"{plan.name} on {plan.server}: {cost_sentence(plan)}", _planned(plan))
        if going.state.stage is SeriesStage.RUNNING and plan.prescreen and not going.state.prescreened:
            async with aclosing(self._prescreen(bench, going)) as looking:  # type: ignore[type-var]
                async for event in looking:
                    yield event
        while going.state.stage is SeriesStage.RUNNING and (trial := next_trial(going.state)) is not None:
            async with aclosing(TrialMade(bench, going, trial).made()) as making:  # type: ignore[type-var]
                async for event in making:
                    yield event
        await going.become(replace(going.state, stage=SeriesStage.LEAVING))
        leaving = Leaving(bench, going)
        async with aclosing(leaving.made()) as steps:  # type: ignore[type-var]
            async for event in steps:
                yield event
        stopped = any(trial.why == ENDED for trial in going.state.trials)
        over = SeriesStage.STOPPED if stopped else SeriesStage.DONE
        stage = over if leaving.ok else SeriesStage.FAILED
        await going.become(replace(going.state, stage=stage, left=leaving.sentence, owner=None))

    async def _prescreen(self, bench: Bench, going: Going) -> AsyncIterator[SeriesEvent]:
        """Look at each NCCL setting alone; the server is stopped first, since it has the GPUs."""
        plan = going.state.plan
        run = bench.watch.view.run
        if run is not None and run.alive:
            async with aclosing(bench.stop(going)) as steps:  # type: ignore[type-var]
                async for step in steps:
                    yield going.event("prescreen", step.text, step=step)
        profiles = [self._changes.plan(plan.server, arm.change).profile for arm in plan.arms]
        look = Prescreen(
            going,
            self._doors.link(plan.node),
            PrescreenScripts(self._doors.script),
            self._settings().servers[plan.server],
            profiles,
        )
        async with aclosing(look.made()) as looking:  # type: ignore[type-var]
            async for event in looking:
                yield event

    def _ended(self, going: Going) -> SeriesEvent:
        """The last event of one that came to its end."""
        state = going.state
        ranking = ranked(state)
        is_found = ranking.best is not None or state.stage is SeriesStage.STOPPED
        is_good = is_found and state.stage is not SeriesStage.FAILED
        text = f"{ranking.sentence}; {state.left}"
        self._doors.record(going.server, f"{state.plan.name}: {text}", Severity.GOOD if is_good else Severity.BAD)
        data = {"ranking": ranking.json(), "left": state.left, "stage": state.stage.value}
        return going.event("done", text, data, exit_code=ExitCode.DONE if is_good else ExitCode.BAD)

    async def _interrupted(self, going: Going, error: K2Error) -> SeriesEvent:
        """The last event of one that can't go on now: it stands as it is, and nobody makes it."""
        with suppress(K2Error):
            await going.become(replace(going.state, owner=None))
        plan = going.state.plan
        how = f"k2tui bench resume {plan.series_id} --continue goes on with it, --end leaves {plan.server} as found"
        text = f"{plan.name} on {plan.server} was interrupted: {error}; {how}"
        self._doors.record(plan.server, text, Severity.BAD)
        data = {"code": error.code, "hint": error.hint, "ranking": ranked(going.state).json()}
        return going.event("done", text, data, exit_code=error.exit_code)

    async def _taken_over(self, series_id: str, confirm: str | None) -> Going:
        """The series, as ours from now on; with what was measured and not written down any more."""
        history = self._history()
        found = [state for state in await history.series() if series_id in state.plan.series_id]
        if len(found) != 1:
            raise K2Error(
                f"{'several series are' if found else 'no series is'} called {series_id}",
                code="no_such_series",
                subject=series_id,
                hint="k2tui bench series lists them",
                exit_code=ExitCode.MISSING,
            )
        state = found[0]
        plan = state.plan
        if state.stage not in _OPEN:
            raise K2Error(
                f"series {plan.series_id} of {plan.server} is over: {state.left or state.stage.value}",
                code="series_over",
                subject=plan.series_id,
            )
        self._not_made_now(state)
        await self._look(plan, "series", confirm)
        await self._alone(plan, history)
        owner = me()
        if not await history.claim_series(plan.series_id, owner, seen=state.owner):
            raise _busy(state)
        if state.stage is SeriesStage.FAILED:
            state = replace(state, stage=SeriesStage.LEAVING)
        going = Going(replace(state, owner=owner), history, self._doors.clock, confirm)
        results = await history.benches(plan.server)
        for trial in state.trials:
            measured = measured_already(trial, results, plan.series_id)
            if measured is not None:
                await going.note(measured)
        return going

    async def _look(self, plan: SeriesPlan, action: str, confirm: str | None) -> None:
        """Raises K2Error where the gate does not let it through, or the server is not k2tui's to restart."""
        watch = self._watch(plan.server)
        if watch.found_alive is not None:
            raise not_ours(watch.found_alive, plan.server)
        await self._changes.runs(plan.server)  # what runs now is kept on this side: its node keeps the newest few
        if self._found_run(plan.server) is not None:
            await watch.running_requests()  # what the sentence below is made of, asked now
        due = self._changes.confirm_sentence(plan.server)
        self._doors.gate.check(node=plan.node, subject=plan.server, action=action, confirm_needed=due, confirm=confirm)

    async def _alone(self, plan: SeriesPlan, history: BenchHistory) -> None:
        """Raises K2Error where another series of this server is on its way, or was interrupted."""
        for other in await history.series():
            if other.plan.server != plan.server or other.plan.series_id == plan.series_id:
                continue
            if other.stage not in (SeriesStage.RUNNING, SeriesStage.LEAVING):
                continue
            self._not_made_now(other)
            raise K2Error(
                f"series {other.plan.series_id} of {plan.server} was interrupted and is still open",
                code="series_open",
                subject=plan.server,
                hint=f"k2tui bench resume {other.plan.series_id} --continue goes on with it, --end leaves "
                f"{plan.server} as it was found",
            )

    def _not_made_now(self, state: SeriesState) -> None:
        """Raises K2Error where another k2tui makes it."""
        if state.owner is None:
            return
        alive = lives(state.owner)
        if alive is None:  # of another machine
            quiet_s = self._doors.clock.time() - state.updated_at
            alive = quiet_s < state.plan.launch_limit_s + OTHER_MACHINE_S
        if alive:
            raise _busy(state)

    def _checked(self, plan: SeriesPlan) -> SeriesPlan:
        """The plan, if each configuration can be started, and what runs now can be started again."""
        profiles = [self._changes.plan(plan.server, arm.change).profile for arm in plan.arms]
        if plan.bench.ignore_eos is None and any(decodes_speculatively(profile.argv) for profile in profiles):
            # All of them do the same work, or none could be held against another.
            plan = replace(plan, bench=replace(plan.bench, ignore_eos=False))
        if plan.found_run is not None:
            self._changes.plan(plan.server, ProfileChange(run=plan.found_run))
        return plan

    def _found_run(self, name: str) -> str | None:
        run = self._watch(name).view.run
        return run.run_id if run is not None and run.alive else None

    def _launch_s(self, name: str) -> float | None:
        """What a launch usually takes here: the median of the newest; else what the present one took."""
        took = [past.ready_s for past in self._doors.past(name) if past.kind is LaunchKind.READY and past.ready_s]
        if took:
            return statistics.median(took[:NEWEST])
        launch = self._watch(name).view.launch
        spans = () if launch is None else launch.spans
        ready = next((span.began for span in spans if span.phase is LaunchPhase.READY), None)
        began = spans[0].began if spans else None
        return None if ready is None or began is None else max(0.0, ready - began)

    def _bench(self, plan: SeriesPlan) -> Bench:
        why = "ab" if plan.name == A_B else "matrix"
        return Bench(self._changes, self._benches, self._watch(plan.server), self._doors.told, why)

    def _history(self) -> BenchHistory:
        if self._doors.history is None:
            raise K2Error(
                "no series can be made: there is no state.db to keep where it stands",
                code="no_store",
                hint="k2tui says at its start why the store can't be written",
            )
        return self._doors.history

    def _watch(self, name: str) -> ServerWatch:
        if name not in self._watches:
            raise no_such("server", name, self._watches)
        return self._watches[name]

    def _new_id(self) -> str:
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(self._doors.clock.time()))
        return f"{stamp}-{secrets.token_hex(2)}"


def _planned(plan: SeriesPlan) -> dict[str, object]:
    return {
        "arms": [arm.label for arm in plan.arms],
        "order": [plan.arms[arm].label for arm in plan.order],
        "leave": plan.leave.value,
    }


def _busy(state: SeriesState) -> K2Error:
    return K2Error(
        f"series {state.plan.series_id} of {state.plan.server} is being made by {state.owner}",
        code="series_busy",
        subject=state.plan.server,
        hint="k2tui bench series shows how far it is",
    )

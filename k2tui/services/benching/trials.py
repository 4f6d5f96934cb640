"""One trial of a series: a restart with its configuration, within its limit, and one benchmark of what came up."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Protocol

from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.series import SeriesEvent, Trial, TrialState
from k2tui.core.benching.words import headline
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.launch import Launch, LaunchKind
from k2tui.core.link import LinkPhase
from k2tui.core.verbs import Manner, OnFailure, ProfileChange
from k2tui.core.words import PHASE_WORDS, duration
from k2tui.services.benching.going import Going
from k2tui.services.benching.limits import TimeUp, within
from k2tui.services.changes import Changes, Steps
from k2tui.services.server_watch import ServerWatch

LINK_POLL_S = 1.0
IDLE_POLL_S = 2.0
IDLE_PATIENCE_S = 30.0
"""How long requests of others may take to end before a series that was not confirmed is left to be gone on with."""
MEASURE_TRIES = 3
"""Where the node goes out of reach in the middle of a measurement it is measured again."""
NOT_OF_THE_ARM = frozenset(
    ("confirm_needed", "still_running", "stop_failed", "overtaken", "already_running", "start_in_progress", "not_ours")
)
"""Codes of what says nothing of a configuration: the series stands until an operator has looked."""


class Measures(Protocol):
    """What benchmarks a server."""

    def measure_for(
        self,
        name: str,
        plan: BenchPlan,
        *,
        series_id: str | None = None,
        run_id: str | None = None,
        profile: str | None = None,
    ) -> AsyncIterator[BenchEvent]:
        """Measure what runs there now; one event before `done` has the result. Refusals are K2Error."""
        ...


@dataclass(frozen=True)
class Bench:
    """What the trials on one server are made with."""

    changes: Changes
    measures: Measures
    watch: ServerWatch
    told: Callable[[str, Steps], Steps]
    """What the steps of a restart pass through."""
    why: str
    """matrix | ab: written into the runs."""

    @property
    def is_up(self) -> bool:
        """The node is in reach."""
        return self.watch.link.phase is LinkPhase.UP

    def restart(self, change: ProfileChange, going: Going) -> Steps:
        """A restart with this change; one that fails is left as it is."""
        name, manner = going.server, Manner(self.watch.settings.drain_s, OnFailure.LEAVE, self.why)
        steps = self.changes.restart(name, change, confirm=going.confirm, verify=True, manner=manner)
        return within(
            self.told(name, steps), going.state.plan.launch_limit_s, clock=going.clock, is_up=lambda: self.is_up
        )

    def stop(self, going: Going, *, evidence: bool = False) -> Steps:
        """Stop it by its identity."""
        return self.told(going.server, self.changes.stop(going.server, confirm=going.confirm, evidence=evidence))


@dataclass
class Restarted:
    """One restart of a series. What came of it stands in `state` and `why` afterwards."""

    bench: Bench
    going: Going
    change: ProfileChange
    data: dict[str, object]
    """What every event of it says."""
    kind: str = "launch"
    run_id: str | None = None
    state: TrialState = TrialState.FAILED
    """MEASURING: it is up and was verified; else HUNG or FAILED."""
    why: str = ""
    """One sentence."""

    async def made(self) -> AsyncIterator[SeriesEvent]:
        """Do it. Raises K2Error for what says nothing of the configuration."""
        while True:
            try:
                async with aclosing(self._once()) as steps:  # type: ignore[type-var]
                    async for event in steps:
                        yield event
                return
            except K2Error as error:
                if error.code == "confirm_needed" and await self._became_idle():
                    continue
                if error.code in NOT_OF_THE_ARM or self.bench.watch.link.phase is LinkPhase.BLOCKED:
                    raise
                if error.exit_code is not ExitCode.UNREACHABLE:
                    self.state, self.why = TrialState.FAILED, str(error)
                    return
                yield self.going.event(self.kind, f"{error.message}; it goes on once the node is back", self.data)
            await connected(self.bench, self.going)

    async def _once(self) -> AsyncIterator[SeriesEvent]:
        launch: Launch | None = None
        steps = self.bench.restart(self.change, self.going)
        try:
            async with aclosing(steps) as following:  # type: ignore[type-var]
                async for step in following:
                    launch = step.launch or launch
                    if step.type == "started":
                        self.run_id = str(step.data.get("run_id"))
                        launch = None
                    if step.exit_code is not None:
                        self.why = step.text
                        self.state = _state(step.exit_code, launch)
                    yield self.going.event(self.kind, step.text, self.data, step=step)
        except TimeUp:
            self.state, self.why = TrialState.HUNG, self._out_of_time()
            yield self.going.event(self.kind, self.why, self.data)
        if self.state is TrialState.HUNG:
            async for event in self._ended_with_evidence():
                yield event

    def _out_of_time(self) -> str:
        launch = self.bench.watch.view.launch or Launch()
        limit = duration(self.going.state.plan.launch_limit_s)
        where = PHASE_WORDS[launch.phase]
        return f"not ready {limit} after its start, which is the limit: it stood at {where}"

    async def _ended_with_evidence(self) -> AsyncIterator[SeriesEvent]:
        """Keep what can be seen of what hangs, then stop it."""
        try:
            async with aclosing(self.bench.stop(self.going, evidence=True)) as steps:  # type: ignore[type-var]
                async for step in steps:
                    path = step.data.get("path") if step.type == "evidence" else None
                    if path is not None:
                        self.why = f"{self.why}; evidence: {path}"
                    yield self.going.event(self.kind, step.text, self.data, step=step)
        except K2Error as error:
            if error.code != "not_running":
                raise

    async def _became_idle(self) -> bool:
        """Nobody's requests would be cut off any more."""
        clock, watch = self.going.clock, self.bench.watch
        ends = clock.monotonic() + IDLE_PATIENCE_S
        while clock.monotonic() < ends:
            await clock.sleep(IDLE_POLL_S)
            if not await watch.running_requests():
                return True
        return False


@dataclass
class TrialMade:
    """Makes one trial of a series."""

    bench: Bench
    going: Going
    trial: Trial

    async def made(self) -> AsyncIterator[SeriesEvent]:
        """Restart, measure, and keep each step. Raises K2Error for what says nothing of its configuration."""
        going, clock = self.going, self.going.clock
        began = clock.monotonic()
        plan = going.state.plan
        arm = plan.arms[self.trial.arm]
        data: dict[str, object] = {"trial": self.trial.number, "of": len(plan.order), "arm": arm.label}
        again = "" if self.trial.state is TrialState.WAITING else " again, from its restart"
        await self._become(TrialState.LAUNCHING, run_id=None)
        yield going.event("trial", f"trial {self.trial.number} of {len(plan.order)}{again}: {arm.label}", data)
        restarted = Restarted(self.bench, going, arm.change, data)
        async with aclosing(restarted.made()) as steps:  # type: ignore[type-var]
            async for event in steps:
                if restarted.run_id is not None and restarted.run_id != self.trial.run_id:
                    await self._become(TrialState.LAUNCHING, run_id=restarted.run_id)
                yield replace(event, state=going.state)
        if restarted.state is TrialState.MEASURING:
            await self._become(TrialState.MEASURING)
            async with aclosing(self._measured(data)) as measuring:  # type: ignore[type-var]
                async for event in measuring:
                    yield event
        else:
            await self._become(restarted.state, why=restarted.why)
        await self._become(self.trial.state, elapsed_s=round(clock.monotonic() - began, 1))
        yield going.event("measured" if self.trial.state is TrialState.MEASURED else "skipped", self._sentence(), data)

    async def _measured(self, data: dict[str, object]) -> AsyncIterator[SeriesEvent]:
        """One benchmark; made again where the node was out of reach meanwhile."""
        going, why = self.going, "it was not measured"
        for _ in range(MEASURE_TRIES):
            result: BenchResult | None = None
            lost: str | None = None
            steps = self.bench.measures.measure_for(
                going.server, going.state.plan.bench, series_id=going.state.plan.series_id, run_id=self.trial.run_id
            )
            try:
                async with aclosing(steps) as measuring:  # type: ignore[type-var]
                    async for step in measuring:
                        result = step.result or result
                        yield going.event("bench", step.text, {**data, **_live(step)})
            except K2Error as error:
                if error.code in NOT_OF_THE_ARM:
                    raise
                why = str(error)
                lost = why if error.exit_code is ExitCode.UNREACHABLE else None
            if result is not None and result.error is not None:
                why = f"it could not be measured: {result.error}"
                lost = why if not self.bench.is_up else None
            elif result is not None:
                await self._become(
                    TrialState.MEASURED,
                    bench_id=result.bench_id,
                    decode_tps=result.headline,
                    valid=result.valid,
                    why=not_valid(result),
                    workload_key=result.workload_key,
                )
                return
            if lost is None:
                break
            yield going.event("bench", f"{lost}; it is measured again once the node is back", data)
            await connected(self.bench, going)
        await self._become(TrialState.FAILED, why=why)

    async def _become(self, state: TrialState, **changes: object) -> None:
        self.trial = replace(self.trial, state=state, **changes)  # type: ignore[arg-type]
        await self.going.note(self.trial)

    def _sentence(self) -> str:
        trial, plan = self.trial, self.going.state.plan
        head = f"trial {trial.number} of {len(plan.order)}, {plan.arms[trial.arm].label}"
        if trial.state is TrialState.MEASURED:
            figure = "no figure" if trial.decode_tps is None else f"{trial.decode_tps:.1f} tok/s"
            return f"{head}: {figure}" + ("" if trial.why is None else f", not counted: {trial.why}")
        return f"{head}: {trial.state.value}: {trial.why}"


def measured_already(trial: Trial, results: tuple[BenchResult, ...], series_id: str) -> Trial | None:
    """The trial as measured, where its benchmark was kept and k2tui was killed before it wrote that down."""
    for result in results:
        is_its = result.series_id == series_id and result.run_id == trial.run_id and trial.run_id is not None
        if trial.state is TrialState.MEASURING and is_its and result.error is None:
            return replace(
                trial,
                state=TrialState.MEASURED,
                bench_id=result.bench_id,
                decode_tps=result.headline,
                valid=result.valid,
                why=not_valid(result),
                workload_key=result.workload_key,
            )
    return None


def not_valid(result: BenchResult) -> str | None:
    """Which gates are red, with their reasons; None where it is valid."""
    red = [f"{gate.id}: {gate.reason}" for gate in result.gates if gate.ok is False]
    if result.valid:
        return None
    return "; ".join(red) or result.error or f"there is no figure ({headline(result)})"


async def connected(bench: Bench, going: Going) -> None:
    """Wait until the node is in reach. K2Error where nobody will try any more before the operator acts."""
    while not bench.is_up:
        link = bench.watch.link
        if link.phase is LinkPhase.BLOCKED:
            raise K2Error(
                link.reason or f"{bench.watch.settings.node} is out of reach",
                code=link.code or "unreachable",
                subject=going.server,
                hint=link.hint,
                exit_code=ExitCode.UNREACHABLE,
            )
        await going.clock.sleep(LINK_POLL_S)


def _state(code: ExitCode, launch: Launch | None) -> TrialState:
    if code is ExitCode.DONE:
        return TrialState.MEASURING
    return TrialState.HUNG if launch is not None and launch.kind is LaunchKind.HUNG else TrialState.FAILED


def _live(step: BenchEvent) -> dict[str, object]:
    live = step.live
    told = {} if live is None else {"decode_tps": live.decode_tps, "total_tps": live.total_tps}
    return {"step": step.type, "bench_id": None if live is None else live.bench_id, **told}

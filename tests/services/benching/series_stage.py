"""A server on this machine that comes up at once, and the series made with it; only the benchmark is a fake."""

from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any, cast

from k2tui.adapters.scripts import script
from k2tui.adapters.state.db import StateDb
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan, Procedure
from k2tui.core.benching.result import BenchResult, GateResult
from k2tui.core.benching.series import SeriesEvent, SeriesPlan, SeriesState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.events import Severity
from k2tui.core.history import PastLaunch
from k2tui.core.runs import Run
from k2tui.core.settings import MatrixSettings, ProfileSettings
from k2tui.core.verbs import LaunchPlan, Manner, ProfileChange
from k2tui.services.benching.serieses import SeriesDoors, Serieses
from k2tui.services.changes import Changes, Steps
from k2tui.services.doors import RealClock
from tests.services.verb_stage import COMMAND, K2, NAME, NODE, Workplace, played, tag_of

RATES: Mapping[str, float] = {"old": 60.0, "slow": 50.0, "fast": 100.0, "busy": 80.0}
"""Tok/s of one stream by the tag of what runs."""
PROFILES = {
    "plain": ProfileSettings("plain", cmd=COMMAND),
    "slow": ProfileSettings("slow", extends="plain", flags={"tag": "slow"}),
    "fast": ProfileSettings("fast", extends="plain", flags={"tag": "fast"}),
    "busy": ProfileSettings("busy", extends="plain", flags={"tag": "busy"}, env={"RUNNING": "2"}),
    "mute": ProfileSettings("mute", extends="plain", flags={"tag": "mute", "mute": True}),
    "bad": ProfileSettings("bad", extends="plain", flags={"tag": "bad"}),
}


@dataclass
class FakeMeasures:
    """Benchmarks of what runs, by its tag; each restart a little otherwise."""

    k2: K2
    store: StateDb
    red: set[str] = field(default_factory=set)
    """Tags whose runs are not valid."""
    errors: list[str] = field(default_factory=list)
    """Why the next ones fail."""
    overtaken: bool = False
    """What runs is of somebody else by then."""
    lost: int = 0
    """How often the node goes out of reach in the middle of it."""
    asked: list[tuple[str, str | None]] = field(default_factory=list)
    """(tag, run) of each, in order."""
    _turn: Iterator[int] = field(default_factory=count)

    async def measure_for(
        self,
        name: str,
        plan: BenchPlan,
        *,
        series_id: str | None = None,
        run_id: str | None = None,
        profile: str | None = None,
    ) -> AsyncIterator[BenchEvent]:
        tag = tag_of(self.k2.view.run) or ""
        self.asked.append((tag, run_id))
        if self.overtaken:
            raise K2Error("another run is there instead", code="overtaken")
        if self.lost:
            self.lost -= 1
            raise K2Error("gpu-a is not connected", code="lost", exit_code=ExitCode.UNREACHABLE)
        turn = next(self._turn)
        result = BenchResult(
            bench_id=f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(4)}",
            subject=name,
            node=NODE,
            procedure=Procedure.QUICK,
            began_at=time.time(),
            decode_tps=RATES[tag] * (1.0 + 0.002 * (turn % 3)),
            gates=(GateResult("G2", tag not in self.red, "another client was there"),),
            run_id=run_id,
            series_id=series_id,
            workload_key="w",
            error=self.errors.pop(0) if self.errors else None,
        )
        yield BenchEvent("figure", name, 0.0, "going on")
        await self.store.keep_bench(result)
        yield BenchEvent("result", name, 0.1, "measured", result=result)
        yield BenchEvent("done", name, 0.1, "measured", exit_code=ExitCode.DONE)


@dataclass(frozen=True)
class OneServer:
    """The verbs of one server, as `Changes` has those of a fleet."""

    k2: K2

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        return self.k2.plan(change)

    async def runs(self, name: str) -> tuple[Run, ...]:
        return await self.k2.runs()

    def confirm_sentence(self, name: str) -> str | None:
        run = self.k2.view.run
        return self.k2.planning.confirm_sentence(name, live=run is not None and run.alive is True)

    def restart(
        self, name: str, change: ProfileChange | None, *, confirm: str | None, verify: bool, manner: Manner | None
    ) -> Steps:
        return self.k2.verbs.restart(self.plan(name, change), confirm=confirm, verify=verify, manner=manner)

    def stop(self, name: str, *, confirm: str | None, evidence: bool = False) -> Steps:
        return self.k2.verbs.stop(confirm_needed=None, confirm=confirm, evidence=evidence)


@dataclass
class SeriesStage:
    """One k2tui that makes series."""

    k2: K2
    serieses: Serieses
    measures: FakeMeasures
    store: StateDb
    recorded: list[tuple[str, str, Severity]]

    def ab(self, *profiles: str, restarts: int = 2, leave: str = "as-found", limit_s: float = 60.0) -> SeriesPlan:
        plan = self.serieses.plan_ab(NAME, profiles or ("slow", "fast"), restarts=restarts, leave=leave)
        return replace(plan, launch_limit_s=limit_s)

    async def state(self) -> SeriesState:
        """The newest series as it is kept."""
        return (await self.store.series())[0]

    @property
    def tag(self) -> str | None:
        """Of what runs now; None where nothing does."""
        run = self.k2.view.run
        return tag_of(run) if run is not None and run.alive else None


@asynccontextmanager
async def staged(
    place: Workplace,
    *,
    up: bool = True,
    matrices: Mapping[str, MatrixSettings] | None = None,
    read_only: bool = False,
    past: Sequence[PastLaunch] = (),
) -> AsyncIterator[SeriesStage]:
    """A k2tui on this place; `up`: the server runs and was verified."""
    place.settings = replace(place.settings, profiles={**PROFILES, **place.settings.profiles}, matrices=matrices or {})
    async with place.k2(read_only=read_only) as k2:
        if up and not (k2.view.run is not None and k2.view.run.alive):
            steps = await played(k2.verbs.start(k2.plan(), confirm=None, verify=True))
            assert steps[-1].exit_code is ExitCode.DONE, steps[-1].text
        store = StateDb(place.directory / "state.db")
        measures, recorded = FakeMeasures(k2, store), list[tuple[str, str, Severity]]()

        doors = SeriesDoors(
            k2.verbs.tools.gate,
            RealClock(),
            store,
            script,
            lambda _: past,
            lambda _: k2.link,
            record=lambda *event: recorded.append(event),
        )
        changes = cast(Changes, OneServer(k2))
        serieses = Serieses(lambda: place.settings, changes, {NAME: k2.watch}, measures, doors)
        try:
            yield SeriesStage(k2, serieses, measures, store, recorded)
        finally:
            await store.close()


async def all_of(steps: AsyncIterator[SeriesEvent]) -> list[SeriesEvent]:
    return [step async for step in steps]


async def until_event(steps: AsyncIterator[SeriesEvent], kind: str, **data: Any) -> SeriesEvent:
    """The steps up to the first of this type whose data has these values, and no further."""
    async for step in steps:
        if step.type == kind and data.items() <= step.data.items():
            return step
    raise AssertionError(f"no {kind} with {data}")


def script_of(directory: Path, name: str) -> str:
    """The small engine under another path, that a test can take away."""
    path = directory / name
    path.write_text(Path(COMMAND.split()[3]).read_text(encoding="utf-8"), encoding="utf-8")
    return str(path)

"""What the fake fleet measures: results that a test laid down, told step by step."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING

from k2tui.core.benching.comparison import Comparison
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.series import SeriesEvent, SeriesPlan, SeriesState
from k2tui.core.errors import ExitCode, K2Error

if TYPE_CHECKING:
    from tests.fakes.fleet import FakeFleet


class FakeBenches:
    """What FakeFleet can measure."""

    measured: list[BenchResult]
    """Newest first."""
    bench_steps: dict[str, list[BenchEvent]]
    """What a benchmark of this server tells."""
    comparisons: dict[tuple[str, str], Comparison]
    plans: dict[str, SeriesPlan]
    """By matrix, or by server for an A/B."""
    series_steps: dict[str, list[SeriesEvent]]
    """By series id; of going on and of ending also by `go_on ID`, `end ID`."""
    series_kept: list[SeriesState]
    bases: list[tuple[str, str | None]]
    bench_plans: list[tuple[str, BenchPlan]]
    """(server, plan) of every benchmark that was begun."""
    benches_closed: list[str]
    """Servers whose benchmark ended, at its end or before."""
    series_verbs: list[tuple[str, str, str | None]]
    """(verb, series id, confirm) of every series that was let through."""

    def __init__(self) -> None:
        self.measured, self.bench_steps, self.comparisons = [], {}, {}
        self.plans, self.series_steps, self.series_kept, self.bases = {}, {}, [], []
        self.bench_plans, self.benches_closed, self.series_verbs = [], [], []

    async def bench(self: FakeFleet, name: str, plan: BenchPlan | None = None) -> AsyncIterator[BenchEvent]:  # type: ignore[misc]
        self.server(name)
        if name not in self.bench_steps:
            raise K2Error(f"{name} does not answer", code="not_running", subject=name, exit_code=ExitCode.MISSING)
        self.bench_plans.append((name, plan or BenchPlan()))
        try:
            for step in self.bench_steps[name]:
                if step.result is not None:
                    self.measured.insert(0, step.result)
                    self.set(name, last_bench=step.result)
                self.set(name, bench=step.live)
                yield step
                if self.hold and step.type == "figure":
                    await self.gate.wait()
        finally:
            self.benches_closed.append(name)
            self.set(name, bench=None)

    async def bench_url(
        self, url: str, plan: BenchPlan | None = None, *, api_key: str | None = None
    ) -> AsyncIterator[BenchEvent]:
        for step in self.bench_steps[url]:
            yield step

    async def benches(self, name: str | None = None) -> tuple[BenchResult, ...]:
        return tuple(result for result in self.measured if name in (None, result.subject))

    async def bench_result(self, bench_id: str) -> BenchResult:
        for result in self.measured:
            if bench_id in result.bench_id:
                return result
        raise K2Error(f"no benchmark {bench_id}", code="no_such_bench", subject=bench_id, exit_code=ExitCode.MISSING)

    async def compare_benches(self, a: str, b: str) -> Comparison:
        return self.comparisons[a, b]

    async def set_base(self: FakeFleet, name: str, bench_id: str | None) -> None:  # type: ignore[misc]
        self.bases.append((name, bench_id))
        self.measured = [
            replace(one, is_base=one.bench_id == bench_id) if one.subject == name else one for one in self.measured
        ]
        if any(server.settings.name == name for server in self.servers()):
            self.set(name, base=next((one for one in self.measured if one.bench_id == bench_id), None))

    def plan_matrix(self, matrix: str) -> SeriesPlan:
        if matrix not in self.plans:
            raise K2Error(f"no matrix {matrix!r} in the config", code="no_such_matrix", subject=matrix)
        return self.plans[matrix]

    def plan_ab(
        self, name: str, profiles: tuple[str, ...], *, restarts: int = 3, leave: str = "as-found"
    ) -> SeriesPlan:
        return self.plans[name]

    async def run_series(  # type: ignore[misc]
        self: FakeFleet, plan: SeriesPlan, *, confirm: str | None = None
    ) -> AsyncIterator[SeriesEvent]:
        async for step in self._series("run", plan.series_id, confirm):
            yield step

    async def go_on_series(  # type: ignore[misc]
        self: FakeFleet, series_id: str, *, confirm: str | None = None
    ) -> AsyncIterator[SeriesEvent]:
        async for step in self._series("go_on", series_id, confirm):
            yield step

    async def end_series(  # type: ignore[misc]
        self: FakeFleet, series_id: str, *, confirm: str | None = None
    ) -> AsyncIterator[SeriesEvent]:
        async for step in self._series("end", series_id, confirm):
            yield step

    async def _series(  # type: ignore[misc]
        self: FakeFleet, verb: str, series_id: str, confirm: str | None
    ) -> AsyncIterator[SeriesEvent]:
        """Its steps; after one whose data holds `wait` the gate must open."""
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            raise refusal
        self.series_verbs.append((verb, series_id, confirm))
        steps = self.series_steps.get(f"{verb} {series_id}")
        for step in steps or next(steps for known, steps in self.series_steps.items() if series_id in known):
            yield step
            if step.data.get("wait"):
                await self.gate.wait()

    async def serieses(self) -> tuple[SeriesState, ...]:
        return tuple(self.series_kept)

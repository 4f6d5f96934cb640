"""What a fleet measures, as screens and plain commands call it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from k2tui.core.benching.comparison import Comparison
    from k2tui.core.benching.live import BenchEvent
    from k2tui.core.benching.plan import BenchPlan
    from k2tui.core.benching.result import BenchResult
    from k2tui.core.benching.series import SeriesEvent, SeriesPlan, SeriesState
    from k2tui.core.events import Severity
    from k2tui.core.history import PastLaunch
    from k2tui.core.settings import Settings
    from k2tui.services.benching.benches import Benches
    from k2tui.services.benching.serieses import Serieses
    from k2tui.services.changes import Changes, Steps
    from k2tui.services.fleet import FleetDoors
    from k2tui.services.gate import Gate
    from k2tui.services.rooms import Room
    from k2tui.services.server_watch import ServerWatch
    from k2tui.services.watched_benches import WatchedBenches


@dataclass(frozen=True)
class BenchParts:
    """What of a fleet measuring needs."""

    settings: Callable[[], Settings]
    rooms: Mapping[str, Room]
    watches: Mapping[str, ServerWatch]
    changes: Changes
    gate: Gate
    doors: FleetDoors
    record: Callable[[str, str, Severity], None]
    told: Callable[[str, Steps], Steps]
    """Puts the steps of a restart on the events list too."""
    past: Callable[[str], Sequence[PastLaunch]]
    known: dict[str, WatchedBenches]
    """What each server's watch shows of its benchmarks; also of one that is watched anew."""


class FleetBenches:
    """The part of a fleet that measures. It is made at the first use: the first paint measures nothing."""

    _bench_parts: BenchParts

    @cached_property
    def _benches(self) -> Benches:
        from k2tui.services.benching.benches import BenchDoors, Benches  # noqa: PLC0415  as the class says

        parts, doors = self._bench_parts, self._bench_parts.doors
        needed = BenchDoors(
            parts.gate, doors.clock, doors.script, doors.make_link, doors.benches, doors.ask_url, parts.record
        )
        return Benches(parts.rooms, parts.watches, parts.known, needed)

    @cached_property
    def _serieses(self) -> Serieses:
        from k2tui.services.benching.serieses import SeriesDoors, Serieses  # noqa: PLC0415  as above

        parts, doors = self._bench_parts, self._bench_parts.doors
        needed = SeriesDoors(
            gate=parts.gate,
            clock=doors.clock,
            history=doors.benches,
            script=doors.script,
            past=parts.past,
            link=lambda node: parts.rooms[node].link,
            told=parts.told,
            record=parts.record,
        )
        return Serieses(parts.settings, parts.changes, parts.watches, self._benches, needed)

    def _recall_benches(self) -> None:
        """Have the newest benchmark and the base of each server shown, of those that are new."""
        if self._bench_parts.doors.benches is not None:
            self._benches.recall()

    async def _end_benches(self) -> None:
        """End what is being measured; what was measured is kept."""
        if "_benches" in self.__dict__:
            await self._benches.close()

    def bench(self, name: str, plan: BenchPlan | None = None) -> AsyncIterator[BenchEvent]:
        """Measure a server; the last event is `done`. None: a quick figure. Closing it ends the measurement, and what
        was measured is kept. Refusals (not running, measured already) raise K2Error before anything was asked."""
        return self._benches.bench(name, plan)

    def bench_url(
        self, url: str, plan: BenchPlan | None = None, *, api_key: str | None = None
    ) -> AsyncIterator[BenchEvent]:
        """The same of what a URL names, from this machine. No node is looked at for it: it works on a fleet that was
        not opened, and without any config."""
        return self._benches.bench_url(url, plan, api_key=api_key)

    async def benches(self, name: str | None = None) -> tuple[BenchResult, ...]:
        """What was measured, newest first, without requests and samples; of one server, or of all."""
        return await self._benches.history(name)

    async def bench_result(self, bench_id: str) -> BenchResult:
        """One benchmark whole; a part of its id will do. Raises K2Error."""
        return await self._benches.result(bench_id)

    async def import_bench(self, name: str, text: str) -> tuple[BenchResult, ...]:
        """Keep what another tool measured (the text of its result file), as of this server or URL. Raises K2Error."""
        return await self._benches.take_in(name, text)

    async def compare_benches(self, a: str, b: str) -> Comparison:
        """B against A: each an id of a benchmark, an id of a series with its arm (`ID:ARM`), or a profile's name.

        With restarts of the same configuration in the history, all of them count. Raises K2Error where one is unknown.
        """
        return await self._benches.compare(a, b)

    async def set_base(self, name: str, bench_id: str | None) -> None:
        """Make this benchmark the base of the server; None: none. Raises K2Error."""
        await self._benches.set_base(name, bench_id)

    def plan_matrix(self, matrix: str) -> SeriesPlan:
        """What a matrix of the config would do, from what is known now; touches nothing. Raises K2Error."""
        return self._serieses.plan_matrix(matrix)

    def plan_ab(
        self, name: str, profiles: tuple[str, ...], *, restarts: int = 3, leave: str = "as-found"
    ) -> SeriesPlan:
        """What an A/B of these profiles on a server would do; touches nothing. Raises K2Error."""
        return self._serieses.plan_ab(name, profiles, restarts=restarts, leave=leave)

    def run_series(self, plan: SeriesPlan, *, confirm: str | None = None) -> AsyncIterator[SeriesEvent]:
        """Make it; the last event is `done`. Closing it leaves it to be gone on with. Refusals raise K2Error first."""
        return self._serieses.run(plan, confirm=confirm)

    def go_on_series(self, series_id: str, *, confirm: str | None = None) -> AsyncIterator[SeriesEvent]:
        """Go on with one that was interrupted; a part of its id will do."""
        return self._serieses.go_on(series_id, confirm=confirm)

    def end_series(self, series_id: str, *, confirm: str | None = None) -> AsyncIterator[SeriesEvent]:
        """Make no more trials of one that was interrupted; the server is put as it was found."""
        return self._serieses.end(series_id, confirm=confirm)

    async def serieses(self) -> tuple[SeriesState, ...]:
        """All series that this side remembers, newest first."""
        return await self._serieses.all()

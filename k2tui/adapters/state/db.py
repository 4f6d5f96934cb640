"""`state.db`: what k2tui remembers on this side, each kind of thing by a module of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from k2tui.adapters.state import builds as state_builds
from k2tui.adapters.state import events as state_events
from k2tui.adapters.state import launches as state_launches
from k2tui.adapters.state import readings as state_readings
from k2tui.adapters.state import runs as state_runs
from k2tui.adapters.state.file import StateFile, state_path
from k2tui.core.alerts import Alert
from k2tui.core.events import Event
from k2tui.core.history import PastLaunch
from k2tui.core.runs import Run
from k2tui.core.series import RateMinute, Samples, SeriesKey, UsualRate

if TYPE_CHECKING:
    from k2tui.core.benching.result import BenchResult
    from k2tui.core.benching.series import SeriesState

__all__ = ["StateDb", "state_path"]

THINNED_AT_ONCE = 64
"""Series whose hour is thinned in one go: a few dozen milliseconds, in which nothing else is read or written."""


class StateDb(StateFile):
    """One file; satisfies LaunchHistory, EventHistory, BuildHistory, RunHistory and BenchHistory of services.doors, and
    ReadingStore of services.recorder."""

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path, clock=clock)
        self._series: state_readings.SeriesIds = {}

    async def recall(self, host: str, model: str) -> tuple[PastLaunch, ...]:
        """Launches of this model on this host, newest first."""
        return await self._run(lambda db: state_launches.recalled(db, host, model))

    async def record(self, past: PastLaunch) -> None:
        """Keep it, and of its model and host only the newest; one of the same server and run is replaced."""
        await self._run(lambda db: state_launches.record(db, past))

    async def keep(self, samples: Sequence[Samples]) -> None:
        """Add these; what is known already of the same time and step is replaced where these have a figure."""
        await self._run(lambda db: state_readings.keep(db, self._series, samples))

    async def kept(self, keys: Sequence[SeriesKey], since: float, until: float) -> tuple[Samples, ...]:
        """All that is kept between two unix times, finest steps first; several pieces a key."""
        return await self._run(lambda db: state_readings.kept(db, self._series, keys, since, until))

    async def thin(self, now: float) -> None:
        """Make minutes of whole hours of seconds that ended an hour ago, and drop what is too old."""
        while (due := await self._run(lambda db: state_readings.oldest_hour(db, now))) is not None:
            hour, series = due
            for first in range(0, series, THINNED_AT_ONCE):
                some = partial(state_readings.thin_hour, hour=hour, first=first, end=first + THINNED_AT_ONCE)
                await self._run(some)
            await self._run(partial(state_readings.drop_seconds, hour=hour))
        await self._run(lambda db: state_readings.drop_old(db, now))
        await self._run(lambda db: state_events.drop_old(db, now))

    async def add_rates(self, minutes: Sequence[RateMinute]) -> None:
        """Count these minutes towards what is usual for their configurations."""
        await self._run(lambda db: state_readings.add_rates(db, minutes))

    async def usual_rate(self, config: str, running: float) -> UsualRate | None:
        """What this configuration usually generates at about so many requests; None where too little is known."""
        return await self._run(lambda db: state_readings.usual_rate(db, config, running))

    async def note(self, events: Sequence[Event]) -> None:
        """Keep these events."""
        await self._run(lambda db: state_events.note(db, events))

    async def noted(self, since: float, most: int = 1000) -> tuple[Event, ...]:
        """The newest events since a unix time, oldest first."""
        return await self._run(lambda db: state_events.noted(db, since, most))

    async def put_alert(self, alert: Alert) -> None:
        """Keep it; one with the same key is replaced."""
        await self._run(lambda db: state_events.put_alert(db, alert))

    async def claim_alert(self, alert: Alert) -> Alert | None:
        """Keep it, and give None; or keep nothing and give the one that is there already. One of several gets None."""
        return await self._run(lambda db: state_events.claim_alert(db, alert))

    async def put_alerts(self, since: float) -> tuple[Alert, ...]:
        """Alerts that hold, or that began since a unix time, oldest first."""
        return await self._run(lambda db: state_events.put_alerts(db, since))

    async def left_at(self) -> float | None:
        """Unix time at which a k2tui last looked; None before the first."""
        return await self._run(state_events.left_at)

    async def looking(self, at: float) -> None:
        """A k2tui looks now."""
        await self._run(lambda db: state_events.looking(db, at))

    async def known_build(self, host: str, python: str, engine: str) -> tuple[str, str] | None:
        """(stamp, document) as it was read last; None where it never was."""
        return await self._run(lambda db: state_builds.known_build(db, host, python, engine))

    async def keep_build(self, host: str, python: str, engine: str, stamp: str, document: str) -> None:
        """Keep it in the place of what was known."""
        now = self._clock()
        await self._run(lambda db: state_builds.keep_build(db, host, python, engine, stamp, document, now))

    async def keep_runs(self, host: str, runs: Sequence[Run]) -> None:
        """Keep these as they are now told."""
        await self._run(lambda db: state_runs.keep_runs(db, host, runs))

    async def kept_runs(self, host: str, server: str) -> tuple[Run, ...]:
        """Newest first."""
        return await self._run(lambda db: state_runs.kept_runs(db, host, server))

    async def keep_bench(self, result: BenchResult) -> None:
        """Keep it whole; one with the same id is replaced. Of the oldest the requests and samples are let go."""
        from k2tui.adapters.state.benches import keep_bench  # noqa: PLC0415  keeps the first paint cheap

        await self._run(lambda db: keep_bench(db, result))

    async def benches(self, subject: str | None = None, *, most: int = 500) -> tuple[BenchResult, ...]:
        """Newest first, without requests and samples; a base is among them however old it is."""
        from k2tui.adapters.state.benches import benches  # noqa: PLC0415  as above

        return await self._run(lambda db: benches(db, subject, most))

    async def bench(self, bench_id: str) -> BenchResult | None:
        """Whole; a part of an id will do where it fits only one."""
        from k2tui.adapters.state.benches import bench  # noqa: PLC0415  as above

        return await self._run(lambda db: bench(db, bench_id))

    async def set_base(self, subject: str, bench_id: str | None) -> None:
        """Make this the base of its server; None: it has none from now on."""
        from k2tui.adapters.state.benches import set_base  # noqa: PLC0415  as above

        await self._run(lambda db: set_base(db, subject, bench_id))

    async def keep_series(self, state: SeriesState) -> None:
        """Keep it; one with the same id is replaced."""
        from k2tui.adapters.state.serieses import keep_series  # noqa: PLC0415  as above

        await self._run(lambda db: keep_series(db, state))

    async def series(self, *, most: int = 100) -> tuple[SeriesState, ...]:
        """Newest first."""
        from k2tui.adapters.state.serieses import series  # noqa: PLC0415  as above

        return await self._run(lambda db: series(db, most))

    async def claim_series(self, series_id: str, owner: str, *, seen: str | None) -> bool:
        """Make `owner` the one that makes it, if its owner is still `seen`."""
        from k2tui.adapters.state.serieses import claim_series  # noqa: PLC0415  as above

        return await self._run(lambda db: claim_series(db, series_id, owner, seen))

    def _let_go(self) -> None:
        self._series.clear()  # another file has other numbers
        super()._let_go()

"""What the screens need of the world, as Protocols: a fleet, a clock, a place for text to go."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from k2tui.core.absence import Absence
from k2tui.core.alerts import Alert
from k2tui.core.builds import Build
from k2tui.core.events import Event
from k2tui.core.pace import Shown
from k2tui.core.preflight import Preflight
from k2tui.core.ring import LineRing
from k2tui.core.runs import Run
from k2tui.core.series import Annotation, Samples, SeriesKey
from k2tui.core.settings import Settings
from k2tui.core.verbs import LaunchPlan, Manner, ProfileChange, VerbEvent
from k2tui.core.views import NodeView, ServerView

if TYPE_CHECKING:  # what is measured is not needed for the first paint
    from k2tui.core.benching.comparison import Comparison
    from k2tui.core.benching.live import BenchEvent
    from k2tui.core.benching.plan import BenchPlan
    from k2tui.core.benching.result import BenchResult
    from k2tui.core.benching.series import SeriesEvent, SeriesPlan, SeriesState


class FleetLike(Protocol):
    """The surface of services.fleet.Fleet that screens use."""

    simulated: bool
    revision: int

    @property
    def news(self) -> int:
        """Grows with what an operator waits for: a state that changed, an event, an alert."""
        ...

    @property
    def settings(self) -> Settings: ...
    @property
    def events(self) -> Sequence[Event]: ...
    def nodes(self) -> tuple[NodeView, ...]: ...
    def servers(self) -> tuple[ServerView, ...]: ...
    def server(self, name: str) -> ServerView: ...
    def ring(self, name: str) -> LineRing: ...
    def run_ring(self, name: str, run_id: str) -> LineRing: ...
    async def attend(self) -> None:
        """An operator sits in front of it: watch, remember, alert."""
        ...

    async def close(self) -> None: ...
    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan: ...
    async def preflight(self, name: str, change: ProfileChange | None = None) -> Preflight:
        """Look at everything that can stand in the way of this launch, on the node, now."""
        ...

    async def read_build(self, name: str) -> Build:
        """The engine as it is installed for this server, read now or known already. Raises K2Error."""
        ...

    def start(
        self,
        name: str,
        change: ProfileChange | None = None,
        *,
        confirm: str | None = None,
        verify: bool = True,
        manner: Manner | None = None,
    ) -> AsyncIterator[VerbEvent]: ...
    def restart(
        self,
        name: str,
        change: ProfileChange | None = None,
        *,
        confirm: str | None = None,
        verify: bool = True,
        manner: Manner | None = None,
    ) -> AsyncIterator[VerbEvent]:
        """Stop it if it runs, then start it. `manner` None: as the server's config says."""
        ...

    def restart_many(
        self,
        changes: Mapping[str, ProfileChange | None],
        *,
        confirm: Collection[str] = (),
        parallel: bool = False,
        manner: Manner | None = None,
    ) -> AsyncIterator[VerbEvent]:
        """One after the other, ended by the first that is not verified; `confirm` are nodes' names."""
        ...

    def verify(self, name: str) -> AsyncIterator[VerbEvent]:
        """Look at every effect that its flags ask for, now; the last event is `done`."""
        ...

    def go_on(self, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:
        """Do to its end a restart that was interrupted (`ServerView.planned`)."""
        ...

    def take_back(self, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:
        """Undo a restart that was interrupted: what ran before runs again, and the planned run is gone."""
        ...

    def adopt(self, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:
        """Write a found server into the config, stop it by its identity and start it as one of ours."""
        ...

    async def save_profile(self, name: str, change: ProfileChange, *, as_name: str, use: bool) -> str:
        """Write a server's profile with this change into the config as [profiles.AS_NAME]; `use`: the server has it
        from now on. Gives the file's path; raises K2Error."""
        ...

    async def runs(self, name: str) -> tuple[Run, ...]:
        """Every run of a server that the node or this side remembers, newest first."""
        ...

    def stop(self, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]: ...
    def bench(self, name: str, plan: BenchPlan | None = None) -> AsyncIterator[BenchEvent]:
        """Measure a server; the last event is `done`. None: a quick figure. Closing it ends the measurement."""
        ...

    async def benches(self, name: str | None = None) -> tuple[BenchResult, ...]:
        """What was measured, newest first, without requests and samples; of one server, or of all. Raises K2Error."""
        ...

    async def bench_result(self, bench_id: str) -> BenchResult:
        """One benchmark whole. Raises K2Error."""
        ...

    async def compare_benches(self, a: str, b: str) -> Comparison:
        """B against A, by ids; restarts of the same configuration in the history count as well. Raises K2Error."""
        ...

    async def set_base(self, name: str, bench_id: str | None) -> None:
        """Make this benchmark the base of the server; None: none. Raises K2Error."""
        ...

    def plan_matrix(self, matrix: str) -> SeriesPlan:
        """What a matrix of the config would do; touches nothing. Raises K2Error."""
        ...

    def plan_ab(
        self, name: str, profiles: tuple[str, ...], *, restarts: int = 3, leave: str = "as-found"
    ) -> SeriesPlan:
        """What an A/B of these profiles would do; touches nothing. Raises K2Error."""
        ...

    def run_series(self, plan: SeriesPlan, *, confirm: str | None = None) -> AsyncIterator[SeriesEvent]:
        """Make it; the last event is `done`. Closing it leaves it to be gone on with."""
        ...

    def go_on_series(self, series_id: str, *, confirm: str | None = None) -> AsyncIterator[SeriesEvent]:
        """Go on with one that was interrupted."""
        ...

    def end_series(self, series_id: str, *, confirm: str | None = None) -> AsyncIterator[SeriesEvent]:
        """Make no more trials of it; the server is put as it was found."""
        ...

    async def serieses(self) -> tuple[SeriesState, ...]:
        """All series that this side remembers, newest first."""
        ...

    async def trust_host_key(self, node: str) -> None: ...
    def retry_now(self, node: str) -> None: ...
    def look_at(self, shown: Shown) -> None:
        """Say what is on screen: the rest is looked at less often."""
        ...

    def recent(self, key: SeriesKey, span_s: float) -> Samples | None:
        """The newest readings of this session, from memory; None where there are none."""
        ...

    async def past(self, keys: Sequence[SeriesKey], since: float, until: float, steps: int) -> tuple[Samples, ...]:
        """Readings between two unix times in about `steps` even steps, one `Samples` a key, all on one time axis."""
        ...

    async def annotations(self, since: float, until: float) -> tuple[Annotation, ...]:
        """Restarts, ends and alerts between two unix times, oldest first."""
        ...

    def alerts(self) -> Sequence[Alert]:
        """Alerts that hold, and the newest of those that ended; newest first."""
        ...

    def acknowledge(self, alert: Alert) -> None:
        """The operator has seen it."""
        ...

    def on_alert(self, hear: Callable[[Sequence[Alert]], None]) -> None:
        """Call `hear` with what was raised and should be heard."""
        ...

    def absence(self) -> Absence | None:
        """What happened while nobody looked; None where that was short, or is not known yet."""
        ...

    async def gpu_details(self, node: str) -> Sequence[str]:
        """Topology, link traffic and errors of a node's GPUs, asked now: lines of text. Raises K2Error."""
        ...


class Copier(Protocol):
    """Where text leaves the app: the operator's clipboard, or a private file."""

    async def copy(self, text: str, write: Callable[[str], None]) -> tuple[bool, str]:
        """Copy; `write` puts an escape sequence on the terminal. Says whether it worked, and what happened."""
        ...

    async def save(self, name: str, text: str) -> str:
        """Write a file that only the operator may read; gives its path. Raises K2Error."""
        ...


class Attachment(Protocol):
    """Whether anybody looks at the terminal that the app is drawn on."""

    def __call__(self) -> bool:
        """As far as is known; never waits."""
        ...

    def somebody_is_here(self) -> None:
        """A key was pressed, or the size changed."""
        ...


class UiClock(Protocol):
    """Time, handed in."""

    def monotonic(self) -> float: ...
    def time(self) -> float: ...


class SystemClock:
    """The clock of this machine; the same that services use for every `*_at`."""

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

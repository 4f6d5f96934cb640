"""A series while it is made: its state, kept after each step, and the events that tell of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from k2tui.core.benching.matrix import with_trial
from k2tui.core.benching.series import SeriesEvent, SeriesState, Trial
from k2tui.core.errors import ExitCode
from k2tui.core.verbs import VerbEvent
from k2tui.services.doors import BenchHistory, Clock


@dataclass
class Going:
    """One series on its way. What is not kept was not done: the store is written before each step and after it."""

    state: SeriesState
    history: BenchHistory
    clock: Clock
    confirm: str | None = None
    """The node's name, given once for all restarts."""
    _began: float = field(init=False)

    def __post_init__(self) -> None:
        self._began = self.clock.monotonic()

    @property
    def server(self) -> str:
        """Its name."""
        return self.state.plan.server

    async def become(self, state: SeriesState) -> None:
        """This is how it stands now. Raises K2Error where that can't be kept."""
        self.state = replace(state, updated_at=self.clock.time())
        await self.history.keep_series(self.state)

    async def note(self, trial: Trial) -> None:
        """This is how this trial stands now; what follows from it for others of its configuration is done as well."""
        await self.become(with_trial(self.state, trial, now=self.clock.time()))

    def event(
        self,
        kind: str,
        text: str,
        data: Mapping[str, object] | None = None,
        *,
        step: VerbEvent | None = None,
        exit_code: ExitCode | None = None,
    ) -> SeriesEvent:
        """One step of it."""
        elapsed_s = round(self.clock.monotonic() - self._began, 3)
        return SeriesEvent(kind, self.state, elapsed_s, text, step, dict(data or {}), exit_code)

"""What the screens need of the world, as Protocols: a fleet, a clock, a place for text to go."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Protocol

from k2tui.core.events import Event
from k2tui.core.ring import LineRing
from k2tui.core.settings import Settings
from k2tui.core.verbs import LaunchPlan, ProfileChange, VerbEvent
from k2tui.core.views import NodeView, ServerView


class FleetLike(Protocol):
    """The surface of services.fleet.Fleet that screens use."""

    simulated: bool
    revision: int

    @property
    def settings(self) -> Settings: ...
    @property
    def events(self) -> Sequence[Event]: ...
    def nodes(self) -> tuple[NodeView, ...]: ...
    def servers(self) -> tuple[ServerView, ...]: ...
    def server(self, name: str) -> ServerView: ...
    def ring(self, name: str) -> LineRing: ...
    def run_ring(self, name: str, run_id: str) -> LineRing: ...
    async def open(self) -> None: ...
    async def close(self) -> None: ...
    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan: ...
    def start(
        self, name: str, change: ProfileChange | None = None, *, confirm: str | None = None, verify: bool = True
    ) -> AsyncIterator[VerbEvent]: ...
    def restart(
        self, name: str, change: ProfileChange | None = None, *, confirm: str | None = None, verify: bool = True
    ) -> AsyncIterator[VerbEvent]: ...
    def stop(self, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]: ...
    async def trust_host_key(self, node: str) -> None: ...
    def retry_now(self, node: str) -> None: ...


class Copier(Protocol):
    """Where text leaves the app: the operator's clipboard, or a private file."""

    async def copy(self, text: str, write: Callable[[str], None]) -> tuple[bool, str]:
        """Copy; `write` puts an escape sequence on the terminal. Says whether it worked, and what happened."""
        ...

    async def save(self, name: str, text: str) -> str:
        """Write a file that only the operator may read; gives its path. Raises K2Error."""
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

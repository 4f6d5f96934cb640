"""Remembers launches as they come to ready or to their end, and recalls what earlier ones took."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from k2tui.core.bar_steps import target_bar
from k2tui.core.checkpoint import Checkpoint
from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.history import (
    LaunchKey,
    PastLaunch,
    Temperature,
    is_news,
    key_of,
    pace_of,
    past_of,
    slower_phases,
    slower_sentence,
    with_measures_of,
)
from k2tui.core.launch import Launch, LaunchPhase
from k2tui.core.runs import Run
from k2tui.services.doors import Clock, LaunchHistory
from k2tui.services.tasks import ended

RETRY_S = 60.0
"""After a failure the store is left alone for this long."""
CLOSE_S = 5.0
"""How long the end of k2tui waits for what is being written."""


@dataclass(frozen=True, slots=True)
class LaunchSeen:
    """A server's launch as its watch sees it now."""

    server: str
    host: str
    """The node's name in the config."""
    launch: Launch
    run: Run | None = None
    """None for a log that is only watched."""
    log_path: str | None = None
    whole: bool = False
    """Its log was read from the first byte to ready, or to where it stands now; else nothing of it is recorded."""
    checkpoint: Checkpoint | None = None
    log_now: float | None = None
    """The node's log clock, where it is known."""


@dataclass
class _Remembered:
    """What is known of one server's present launch and of those before it."""

    run_id: str
    seen: LaunchSeen
    key: LaunchKey | None = None
    past: tuple[PastLaunch, ...] = ()
    """Of others, newest first."""
    recalled: bool = False
    recorded: PastLaunch | None = None
    """What the store has of this very launch."""
    cached_share: float | None = None
    pace_per_s: float | None = None
    lasted: set[LaunchPhase] = field(default_factory=set)
    """Phases that were seen while they lasted: only of these the end is news."""
    told: set[LaunchPhase] = field(default_factory=set)
    compared: tuple[int, int] | None = None
    """(ended phases, earlier launches) when they were last compared."""
    retry_at: float | None = None
    task: asyncio.Task[None] | None = None


class LaunchMemory:
    """The history of all servers of a fleet. Looking costs nothing; the store is asked in the background.

    A store that fails costs the history and one sentence, never a watch.
    """

    def __init__(
        self,
        door: LaunchHistory | None,
        *,
        clock: Clock,
        tell: Callable[[str, str, Severity], None],
        on_change: Callable[[str], None],
    ) -> None:
        """`tell(subject, sentence, severity)` puts an event on the list; `on_change(server)`: its past is another."""
        self._door, self._clock, self._tell, self._on_change = door, clock, tell, on_change
        self._servers: dict[str, _Remembered] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._said: set[str] = set()

    def past(self, server: str) -> tuple[PastLaunch, ...]:
        """Earlier launches of this server's model on its host, newest first, without the present one."""
        known = self._servers.get(server)
        return () if known is None else known.past

    def key(self, server: str) -> LaunchKey | None:
        """What its present launch may be compared by; None while nothing names its model."""
        known = self._servers.get(server)
        return None if known is None else known.key

    @property
    def busy(self) -> bool:
        """The store is being asked."""
        return bool(self._tasks)

    def look(self, seen: LaunchSeen) -> None:
        """Take the launch as it is now; what follows from it happens in the background."""
        run_id = _run_id(seen)
        if self._door is None or run_id is None:
            return
        known = self._servers.get(seen.server)
        if known is None or known.run_id != run_id:
            known = self._servers[seen.server] = _Remembered(run_id, seen)
        known.seen = seen
        if known.key is None:
            run = seen.run
            argv, env = ((), {}) if run is None else (run.argv, dict(run.env))
            known.key = key_of(seen.host, seen.launch, argv=argv, env=env)
        if known.key is None:
            return
        _measure(known)
        self._tell_slower(known)
        if known.task is None and (not known.recalled or self._due(known) is not None):
            known.task = asyncio.ensure_future(self._keep(known))
            self._tasks.add(known.task)
            known.task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Finish what is being written, then let go of the store."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_S)
            await ended(*self._tasks)
        if self._door is not None:
            closing = asyncio.ensure_future(self._door.close())
            await asyncio.wait({closing}, timeout=CLOSE_S)
            await ended(closing)

    async def _keep(self, known: _Remembered) -> None:
        """Recall once a run, record what is due, recall again."""
        try:
            if not known.recalled:
                await self._recall(known)
            while (past := self._due(known)) is not None:
                if not await self._record(known, past):
                    known.retry_at = self._clock.monotonic() + RETRY_S
                    return
                await self._recall(known)
        finally:
            known.task = None

    async def _recall(self, known: _Remembered) -> None:
        if self._door is None or known.key is None:
            return
        found: tuple[PastLaunch, ...] = ()
        try:
            found = await self._door.recall(known.key.host, known.key.model)
        except K2Error as error:
            self._say_once(str(error))
        self._say_notes(self._door)
        own = [one for one in found if (one.server, one.run_id) == (known.seen.server, known.run_id)]
        if own and known.recorded is None:
            known.recorded = own[0]
        known.past = tuple(one for one in found if one not in own)
        known.recalled = True
        self._tell_slower(known)
        self._on_change(known.seen.server)

    async def _record(self, known: _Remembered, past: PastLaunch) -> bool:
        if self._door is None:
            return False
        try:
            await self._door.record(past)
        except K2Error as error:
            self._say_once(str(error))
            return False
        finally:
            self._say_notes(self._door)
        known.recorded = past
        return True

    def _due(self, known: _Remembered) -> PastLaunch | None:
        """The launch as it is to be recorded now; None when there is nothing new, or the store failed just now."""
        seen, key = known.seen, known.key
        if key is None or not seen.whole or (known.retry_at or 0.0) > self._clock.monotonic():
            return None
        past = past_of(
            seen.launch,
            run_id=known.run_id,
            server=seen.server,
            key=key,
            began_at=self._began_at(seen),
            cached_share=known.cached_share,
            pace_per_s=known.pace_per_s,
        )
        if past is None or not is_news(past, known.recorded):
            return None
        slower = slower_phases(seen.launch, known.past, key, like=_like(known))
        return with_measures_of(replace(past, slower=tuple(one.phase for one in slower)), known.recorded)

    def _began_at(self, seen: LaunchSeen) -> float:
        """Unix time: by the node's run directory, else by the log's first stamp and the node's clock."""
        if seen.run is not None and seen.run.started_at is not None:
            return seen.run.started_at
        first = next((span.began for span in seen.launch.spans if span.began is not None), None)
        if first is None:
            return self._clock.time()
        at = first + seen.launch.clock_ahead_s
        return at if seen.log_now is None else at - (seen.log_now - self._clock.time())

    def _tell_slower(self, known: _Remembered) -> None:
        """An event for each phase that ended before our eyes and was slow."""
        launch, key = known.seen.launch, known.key
        if not known.seen.whole or key is None:
            return
        known.lasted |= {span.phase for span in launch.spans if span.ended is None}
        state = (sum(span.ended is not None for span in launch.spans), len(known.past))
        if not known.recalled or state == known.compared:
            return
        known.compared = state
        for slower in slower_phases(launch, known.past, key, like=_like(known)):
            if slower.ended and slower.phase in known.lasted - known.told:
                known.told.add(slower.phase)
                self._tell(known.seen.server, slower_sentence(slower), Severity.WARNING)

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._tell("", sentence, Severity.WARNING)

    def _say_notes(self, door: LaunchHistory) -> None:
        for note in door.notes():
            self._tell("", note, Severity.WARNING)


def _run_id(seen: LaunchSeen) -> str | None:
    """None for a watched log without any clock: its launch can't be told from the next."""
    if seen.run is not None:
        return seen.run.run_id
    first = next((span.began for span in seen.launch.spans), None)
    return None if first is None else f"{seen.log_path}@{first:.0f}"


def _measure(known: _Remembered) -> None:
    """What can only be measured while it loads: the page cache before it, the pace of the first shards."""
    seen = known.seen
    if not seen.whole:
        return
    if known.cached_share is None and seen.launch.phase.order < LaunchPhase.WEIGHTS.order and seen.checkpoint:
        known.cached_share = seen.checkpoint.cached_share
    if known.pace_per_s is None:
        known.pace_per_s = pace_of(target_bar(seen.launch))


def _like(known: _Remembered) -> Temperature:
    return Temperature(known.cached_share, known.pace_per_s)

"""Fills the time in which nobody looked from what the servers' logs kept of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone

from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.flags import flag_value
from k2tui.core.lines import plain
from k2tui.core.link import LinkPhase
from k2tui.core.over_time.log import LOG_QUANTITIES, series_of_log, unrecorded, where_unrecorded
from k2tui.core.over_time.notes import began_at
from k2tui.core.runs import is_whole
from k2tui.core.series import LONGEST_KEPT_S, MINUTES_STEP_S, Samples, SeriesKey, server_subject
from k2tui.core.views import ServerView
from k2tui.services.doors import Clock, NodeLink, ReadingHistory, Script
from k2tui.services.tasks import ended

NEWEST_S = 180.0
"""The last minutes are left to the recorder, which writes them a little late."""
EVERY_S = 20
"""One line of each kind and rank in so many seconds is fetched: a day of one rank is less than 2 MB ..."""
EVERY_LONG_S = 60
"""... and of a longer time one in so many."""
MOST_BYTES = 2_000_000
"""Of one log, for each day of the gap up to two."""
ASK_S = 60.0
RETRY_S = 60.0
AT_ONCE = 2
"""Logs that are fetched at the same time."""
_DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class LogPart:
    """The part of a log that may tell of a gap."""

    path: str
    since: float
    """Unix time."""
    until: float
    ranks: int = 1
    """Data-parallel ranks that write their own lines."""

    @property
    def every_s(self) -> int:
        """One line of each kind and rank in so many seconds."""
        return (EVERY_S if self.until - self.since <= _DAY_S else EVERY_LONG_S) * self.ranks

    @property
    def most_bytes(self) -> int:
        """What may come over the wire."""
        return MOST_BYTES if self.until - self.since <= _DAY_S else 2 * MOST_BYTES


@dataclass
class _Asked:
    """One server's gap."""

    since: float
    done: bool = False
    retry_at: float = 0.0
    task: asyncio.Task[None] | None = field(default=None)


class Backfill:
    """Asks each server's log once for each time that nobody looked; what fails is tried again, and costs no watch."""

    def __init__(
        self,
        store: ReadingHistory | None,
        log_since: Script,
        *,
        clock: Clock,
        tell: Callable[[str, str, Severity], None],
        on_filled: Callable[[str], None],
    ) -> None:
        """`log_since` is remote/log_since.sh; `on_filled(server)`: its past is another."""
        self._store, self._script, self._clock = store, log_since, clock
        self._tell, self._on_filled = tell, on_filled
        self._asked: dict[str, _Asked] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._said: set[str] = set()

    @property
    def busy(self) -> bool:
        """A log is being asked."""
        return any(asked.task is not None for asked in self._asked.values())

    def look(self, server: ServerView, link: NodeLink, *, clock_offset_s: float | None, since: float) -> None:
        """Fill, in the background, what nobody recorded of this server since a unix time. Call it as often as you
        like: it begins when the node is up, its clock is known (`NodeReading.clock_offset_s`) and a log is named."""
        if self._store is None or clock_offset_s is None or link.state.phase is not LinkPhase.UP:
            return
        if not server.runs and server.log_path is None:
            return
        name = server.settings.name
        asked = self._asked.get(name)
        if asked is None or (asked.since != since and asked.task is None):
            asked = self._asked[name] = _Asked(since)
        if asked.done or asked.task is not None or self._clock.monotonic() < asked.retry_at:
            return
        asked.task = asyncio.ensure_future(self._ask(asked, self._store, server, link, clock_offset_s))

    async def close(self) -> None:
        """Ask no more."""
        await ended(*(asked.task for asked in self._asked.values()))

    async def _ask(
        self, asked: _Asked, store: ReadingHistory, server: ServerView, link: NodeLink, clock_offset_s: float
    ) -> None:
        try:
            async with self._turns:
                until = self._clock.time() - NEWEST_S
                since = max(asked.since, until - LONGEST_KEPT_S)
                filled = await fill(
                    store, link, self._script, server, clock_offset_s=clock_offset_s, since=since, until=until
                )
            asked.done = True
            if filled:
                self._on_filled(server.settings.name)
        except K2Error as error:
            asked.retry_at = self._clock.monotonic() + RETRY_S
            if error.code == "history" and str(error) not in self._said:
                self._said.add(str(error))
                self._tell("", str(error), Severity.WARNING)
        finally:
            asked.task = None


async def fill(
    store: ReadingHistory,
    link: NodeLink,
    script: Script,
    server: ServerView,
    *,
    clock_offset_s: float,
    since: float,
    until: float,
) -> int:
    """Keep what the server's logs tell of the minutes between two unix times that nobody recorded; how many minutes."""
    name = server.settings.name
    keys = [SeriesKey(server_subject(name), quantity) for quantity in LOG_QUANTITIES]
    kept = await store.kept(keys, since, until)
    gap = unrecorded(kept, since, until)
    if gap is None:
        return 0
    ahead_s = 0.0 if server.launch is None else server.launch.clock_ahead_s
    to_unix_s = ahead_s - clock_offset_s
    found: list[Samples] = []
    for part in parts_of(server, *gap):
        for samples in await _read(link, script, part, name, to_unix_s):
            new = where_unrecorded(samples, (*kept, *found))
            if new is not None:
                found.append(new)
    if found:
        await store.keep(found)
    return max((sum(figure is not None for figure in samples.mean) for samples in found), default=0)


def parts_of(server: ServerView, since: float, until: float) -> tuple[LogPart, ...]:
    """The logs that were written between two unix times, the newest first."""
    if not server.runs:
        return () if server.log_path is None else (LogPart(server.log_path, since, until),)
    parts = []
    for run in server.runs:
        began = began_at(run)
        first = since if began is None else max(since, began - MINUTES_STEP_S)
        last = until if run.ended_at is None else min(until, run.ended_at + MINUTES_STEP_S)
        if first < last:
            ranks = flag_value(run.argv, "dp-size") or "1"
            parts.append(LogPart(run.log_path, first, last, int(ranks) if ranks.isdecimal() and len(ranks) < 4 else 1))
            until = min(until, first)  # one that left no word of its end had ended when the next began
    return tuple(parts)


async def _read(link: NodeLink, script: Script, part: LogPart, server: str, to_unix_s: float) -> tuple[Samples, ...]:
    """What one log says; nothing where it is gone, or was not told to its end."""
    arguments = (
        *(part.path, _digits(part.since - to_unix_s), _digits(part.until - to_unix_s)),
        *(str(max(1, part.every_s)), str(part.most_bytes)),
    )
    done = await link.run(script, arguments, timeout_s=ASK_S)
    if done.code != 0 or not is_whole(done.stdout):
        return ()
    text = done.stdout[: 2 * part.most_bytes].decode("utf-8", "replace")

    def told() -> tuple[Samples, ...]:
        lines = map(plain, text.split("\n"))
        return series_of_log(server, lines, to_unix_s=to_unix_s, since=part.since, until=part.until)

    return await asyncio.to_thread(told)  # a week's lines take half a second: keys come first


def _digits(log_clock: float) -> str:
    return datetime.fromtimestamp(max(0.0, log_clock), timezone.utc).strftime("%Y%m%d%H%M%S")

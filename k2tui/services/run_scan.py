"""Which runs a node has, looked at often enough to be believed."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase
from k2tui.core.pace import CHANGING_SCAN_S, SHOWN_SCAN_S
from k2tui.core.runs import Run, is_whole, parse_scan
from k2tui.services.doors import Clock, NodeLink, RemoteStream, Script
from k2tui.services.runs import RunKeeper
from k2tui.services.tasks import ended

UP_POLL_S = 0.2
"""Between two looks at a link that is down."""
MOST_BYTES = 8 << 20
"""A list of runs is a few kilobytes for each; what is longer than this was not written by k2tui."""
SILENCE_PERIODS, LEAST_SILENCE_S = 4, 30.0
"""A watcher that says nothing for so long while the link is up is started anew."""


def watching_script(script: Callable[[str], Script]) -> Script:
    """`watch_runs` with what it uses of the others in front: one look is what `scan` is."""
    look = f"k2_look() (\n{script('scan').text}\n)"
    return Script("watch_runs", "\n".join((script("runs").text, look, script("watch_runs").text)))


class RunScan:
    """Keeps the list of a node's runs fresh while its link is up.

    The looking is done by a script that stays on the node and says only what changed: a script of its own for each
    look costs more than all other watching together. Without `watching` it is a script for each look.
    """

    def __init__(
        self,
        link: NodeLink,
        keeper: RunKeeper,
        *,
        clock: Clock,
        on_change: Callable[[], None],
        watching: Script | None = None,
        home: str = "~/.k2tui",
    ) -> None:
        self.runs: tuple[Run, ...] = ()
        self.at: float | None = None
        """time.monotonic of the last look; None before the first."""
        self.problem: K2Error | None = None
        """Why the last look failed; None when it did not."""
        self._link, self._keeper, self._clock, self._on_change = link, keeper, clock, on_change
        self._watching, self._home = watching, home
        self._period_s, self._changes = SHOWN_SCAN_S, 0
        self._stream: RemoteStream | None = None
        self._heard_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._saying: set[asyncio.Future[None]] = set()
        self._looking = asyncio.Lock()

    @property
    def period_s(self) -> float:
        """Seconds between two looks while nothing is being changed."""
        return self._period_s

    @period_s.setter
    def period_s(self, seconds: float) -> None:
        before, self._period_s = self._due_s, seconds
        self._say_period(before)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """While a server of the node is being changed it is looked at as often as that needs."""
        self._count_changes(1)
        try:
            yield
        finally:
            self._count_changes(-1)

    def _count_changes(self, more: int) -> None:
        before = self._due_s
        self._changes += more
        self._say_period(before)

    def start(self) -> None:
        """Begin to look, in the background."""
        self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Look no more."""
        await ended(self._task)

    async def look(self) -> tuple[Run, ...]:
        """Look now; raises K2Error when the node can't be asked."""
        async with self._looking:
            self._take(await self._keeper.scan())
        return self.runs

    @property
    def _due_s(self) -> float:
        return min(self._period_s, CHANGING_SCAN_S) if self._changes else self._period_s

    def _take(self, runs: Sequence[Run]) -> None:
        self.runs = tuple(runs)
        self.at = self._clock.monotonic()
        self.problem = None
        self._on_change()

    async def _run(self) -> None:
        look = self._look_once if self._watching is None else self._watch
        while True:
            if self._link.state.phase is not LinkPhase.UP:
                await self._clock.sleep(UP_POLL_S)
                continue
            try:
                await look()
            except K2Error as error:
                if self._link.state.phase is LinkPhase.UP:
                    self.problem = error
                    self._on_change()
            await self._clock.sleep(self._due_s)

    async def _look_once(self) -> None:
        await self.look()

    async def _watch(self) -> None:
        """Hear what the script says until it ends."""
        assert self._watching is not None
        due_s = self._due_s
        stream = await self._link.open(self._watching, (self._home, _whole(due_s)))
        self._heard_at = self._clock.monotonic()
        guard = asyncio.ensure_future(self._guard(stream))
        try:
            self._stream = stream
            self._say_period(due_s)
            told = bytearray()
            while line := await stream.readline():
                self._heard_at = self._clock.monotonic()
                if line == b"same\n":
                    self._take(self.runs)
                    continue
                told += line
                if is_whole(line):
                    self._take(parse_scan(bytes(told)))
                    told.clear()
                elif len(told) > MOST_BYTES:
                    raise K2Error(
                        f"the list of runs on {self._link.name} is longer than {MOST_BYTES >> 20} MB",
                        code="scan_failed",
                        subject=self._link.name,
                    )
        finally:
            self._stream = None
            await ended(guard)
            await stream.close()

    async def _guard(self, stream: RemoteStream) -> None:
        """Close a watcher that fell silent; hearing it then ends."""
        while True:
            limit_s = max(LEAST_SILENCE_S, SILENCE_PERIODS * self._due_s)
            left_s = self._heard_at + limit_s - self._clock.monotonic()
            if left_s <= 0:
                await stream.close()
                return
            await self._clock.sleep(left_s)

    def _say_period(self, before_s: float) -> None:
        """Tell the script, in the background; if it does not arrive, hearing tells why."""
        stream = self._stream
        if stream is None or before_s == self._due_s:
            return

        async def write() -> None:
            with contextlib.suppress(K2Error, OSError):
                await stream.write(f"period {_whole(self._due_s)}\n".encode("ascii"))

        saying = asyncio.ensure_future(write())
        self._saying.add(saying)
        saying.add_done_callback(self._saying.discard)


def _whole(seconds: float) -> str:
    """The script counts in whole seconds."""
    return str(max(1, round(seconds)))

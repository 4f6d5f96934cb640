"""Keeps one node connected and its probe running, and knows what the probe said last."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from k2tui.core.errors import K2Error
from k2tui.core.gpu_words import has_unlisted
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.probing.reader import ProbeReader
from k2tui.core.readings import NodeReading
from k2tui.services.doors import Clock, NodeLink, RemoteStream, Script
from k2tui.services.tasks import ended

FIRST_PAUSE_S = 1.0
LONGEST_PAUSE_S = 30.0
JITTER = 0.3
PING_EVERY = 5
"""Ticks between two measurements of the way there and back."""
SILENCE_INTERVALS = 10
LEAST_SILENCE_S = 30.0
"""A probe that says nothing for so long while the link is up is started anew."""
USUAL_DISKS = ("/", "/dev/shm")
DETAILED_PERIOD_S = 10.0
"""Between two lists of a node's GPU processes while they are on screen."""
PROCESSES_PERIOD_S = 60.0


class NodeWatch:
    """The one who connects to a node again and again. Whatever it learns, it calls `on_change`."""

    def __init__(
        self,
        link: NodeLink,
        probe: Script,
        clock: Clock,
        on_change: Callable[[], None],
        *,
        disks: Sequence[str] = (),
        interval_s: float = 2.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._link, self._probe, self._clock = link, probe, clock
        self._on_change = on_change
        self._disks = tuple(disks) or USUAL_DISKS
        self._interval_s = interval_s
        self._jitter = jitter
        self._reader = ProbeReader(interval_s)
        self._stream: RemoteStream | None = None
        self._task: asyncio.Task[None] | None = None
        self._now = asyncio.Event()
        self._attempt = 0
        self._retry_at: float | None = None
        self._round_trip_s: float | None = None
        self._pinged: tuple[str, float] | None = None
        self._ticks = 0
        self._heard_at = 0.0
        self._heard = asyncio.Event()
        """The probe said something; who waits for its words clears it."""
        self._saying: set[asyncio.Future[None]] = set()
        self._detailed = False
        self._processes_asked_at: float | None = None
        self._kernel_asked_at: float | None = None
        self.trouble: K2Error | None = None
        """Why there is no probe although the link is up; None while there is."""

    @property
    def reading(self) -> NodeReading:
        """The newest of everything; stays as it was while the node is out of reach."""
        return self._reader.reading

    @property
    def state(self) -> LinkState:
        """The link's own, with the next try, and with why there is no probe although it is up."""
        state = self._link.state
        measured = state.round_trip_s if self._round_trip_s is None else self._round_trip_s
        state = replace(state, attempt=self._attempt, retry_at=self._retry_at, round_trip_s=measured)
        if state.phase is LinkPhase.UP and self.trouble is not None:
            return replace(state, reason=self.trouble.message, hint=self.trouble.hint)
        return state

    def start(self) -> None:
        """Begin, in the background."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._keep())

    async def close(self) -> None:
        """Stop watching. The link is left to whoever made it."""
        task, self._task = self._task, None
        await ended(task)

    def retry_now(self) -> None:
        """Do not wait any longer; also when the link was blocked."""
        self._now.set()

    def set_interval(self, seconds: float) -> None:
        """How often the probe speaks: 1 s for the node in focus, more for those that nobody looks at."""
        if seconds == self._interval_s:
            return
        self._interval_s = self._reader.interval_s = seconds
        if self._stream is not None:
            fields = ",".join(self._reader.fields)
            words = f"interval {_whole(seconds)} {self._reader.fields_driver or '-'} {fields}"
            self._say(words)

    @property
    def detailed(self) -> bool:
        """Its GPU processes are on screen: they are asked for more often."""
        return self._detailed

    @detailed.setter
    def detailed(self, detailed: bool) -> None:
        if detailed != self._detailed:
            self._detailed = detailed
            self._ask_what_is_due()

    @property
    def processes_period_s(self) -> float:
        """Between two lists of GPU processes."""
        return DETAILED_PERIOD_S if self._detailed else PROCESSES_PERIOD_S

    def ask_processes(self) -> None:
        """Ask for the list of GPU processes now; never while nvidia-smi does not answer as it is."""
        if self._stream is not None and self._reader.gpus_answer:
            self._processes_asked_at = self._clock.monotonic()
            self._say("ask processes")

    async def list_processes(self, limit_s: float) -> None:
        """Have a list of GPU processes that was asked for now; the old one stays where none comes in that time.

        Memory that is in no list may be of what ended between the last figures and the list: newer ones are waited for.
        """
        if self._stream is None or not self._reader.gpus_answer:
            return
        listed_at = self.reading.gpu_processes_at
        self.ask_processes()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._hear(lambda: self.reading.gpu_processes_at != listed_at), limit_s)
            figures_at = self.reading.gpus_at
            if self.reading.gpu_processes_at is not None and has_unlisted(self.reading):
                await asyncio.wait_for(self._hear(lambda: self.reading.gpus_at != figures_at), limit_s)

    async def _hear(self, enough: Callable[[], bool]) -> None:
        """Until the probe has said enough, or says nothing any more."""
        while not enough() and self._stream is not None:
            self._heard.clear()
            await self._heard.wait()

    def _ask_what_is_due(self) -> None:
        """What a tick does not tell: the GPU processes, and the kernel's log of GPU errors."""
        if self._is_due(self._processes_asked_at, self.processes_period_s):
            self.ask_processes()
        reader, kernel = self._reader, self._reader.kernel
        if self._stream is not None and reader.has_driver and self._is_due(self._kernel_asked_at, kernel.period_s):
            self._kernel_asked_at = self._clock.monotonic()
            self._say(kernel.question(reader.node_now))

    def _is_due(self, asked_at: float | None, period_s: float) -> bool:
        return asked_at is None or self._clock.monotonic() - asked_at >= period_s

    async def _keep(self) -> None:
        while True:
            self._now.clear()
            connecting = asyncio.ensure_future(self._link.connect())
            try:
                await asyncio.sleep(0)  # the link says CONNECTING now
                self._on_change()
                await connecting
                self.trouble, self._retry_at = None, None
                self._on_change()
                await self._listen()
            except K2Error as error:
                self.trouble = error
            except Exception as error:  # a fault of ours must not end the watch without a word
                self.trouble = K2Error(f"watching {self._link.name} failed: {error!r}", code="internal")
            finally:
                connecting.cancel()
            await self._pause()

    async def _pause(self) -> None:
        """Until the next try: 1, 2, 4 ... 30 s, a little more or less; without an end when the link is blocked."""
        self._round_trip_s = self._pinged = None
        if self._link.state.phase is LinkPhase.BLOCKED:
            self._retry_at = None
            self._on_change()
            await self._now.wait()
            self._attempt = 0
            return
        pause_s = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** min(self._attempt, 10))
        pause_s *= 1 - JITTER + 2 * JITTER * self._jitter()
        self._attempt += 1
        self._retry_at = self._clock.monotonic() + pause_s
        self._on_change()
        sleep, now = asyncio.ensure_future(self._clock.sleep(pause_s)), asyncio.ensure_future(self._now.wait())
        try:
            await asyncio.wait({sleep, now}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            now.cancel()

    async def _listen(self) -> None:
        """Run the probe until it ends."""
        reader = self._reader
        driver = "" if reader.fields_driver == "-" else reader.fields_driver
        arguments = (str(_whole(self._interval_s)), driver, ",".join(reader.fields), *self._disks)
        stream = await self._link.open(self._probe, arguments)
        self._heard_at = self._clock.monotonic()
        guard = asyncio.ensure_future(self._guard(stream))
        try:
            self._stream = stream
            while line := await stream.readline():
                self._heard_at = self._clock.monotonic()
                if not reader.feed(line.decode("utf-8", "replace"), self._heard_at, self._clock.time()):
                    continue
                if line.startswith(b"hello"):
                    self._attempt = 0
                    self._processes_asked_at = self._kernel_asked_at = None
                elif line.startswith(b"pong"):
                    self._measure()
                elif line.startswith(b"tick"):
                    self._ticks += 1
                    if self._ticks % PING_EVERY == 1:
                        self._ping()
                    self._ask_what_is_due()
                self._heard.set()
                self._on_change()
        finally:
            self._stream = None
            self._heard.set()
            guard.cancel()
            await stream.close()

    async def _guard(self, stream: RemoteStream) -> None:
        """Close a probe that fell silent; reading it then ends."""
        while True:
            limit_s = max(LEAST_SILENCE_S, SILENCE_INTERVALS * self._interval_s)
            left_s = self._heard_at + limit_s - self._clock.monotonic()
            if left_s <= 0:
                await stream.close()
                return
            await self._clock.sleep(left_s)

    def _ping(self) -> None:
        word = str(self._ticks)
        self._pinged = (word, self._clock.monotonic())
        self._say(f"ping {word}")

    def _measure(self) -> None:
        if self._pinged is not None and self._reader.pong == self._pinged[0]:
            self._round_trip_s = self._clock.monotonic() - self._pinged[1]

    def _say(self, words: str) -> None:
        """A line to the probe, in the background; if it does not arrive, reading tells why."""

        async def write(stream: RemoteStream) -> None:
            with contextlib.suppress(K2Error, OSError):
                await stream.write(f"{words}\n".encode("ascii"))

        if self._stream is not None:
            saying = asyncio.ensure_future(write(self._stream))
            self._saying.add(saying)
            saying.add_done_callback(self._saying.discard)


def _whole(seconds: float) -> int:
    """The probe counts in whole seconds."""
    return max(1, round(seconds))

"""Records readings as they come: the last minutes in memory, the last week in the store."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.over_time.rates import about_running, config_of
from k2tui.core.over_time.resample import resampled
from k2tui.core.over_time.ring import SeriesRing
from k2tui.core.readings import GpuReading, HostReading, NodeReading
from k2tui.core.series import (
    MINUTES_STEP_S,
    SECONDS_STEP_S,
    Quantity,
    RateMinute,
    Samples,
    SeriesKey,
    UsualRate,
    gpu_subject,
    node_subject,
    server_subject,
)
from k2tui.core.serving import ServingReading
from k2tui.core.views import NodeView, ServerView
from k2tui.services.doors import Clock, RateBaseline, ReadingHistory
from k2tui.services.tasks import ended

GPU_QUANTITIES = (Quantity.GPU_LOAD, Quantity.GPU_MEMORY, Quantity.GPU_POWER, Quantity.GPU_TEMPERATURE)
NODE_QUANTITIES = (
    *(Quantity.CPU, Quantity.MEMORY, Quantity.DISK_READ, Quantity.DISK_WRITE),
    *(Quantity.NET_RX, Quantity.NET_TX),
)
SERVER_QUANTITIES = (
    *(Quantity.DECODE, Quantity.PREFILL, Quantity.RUNNING, Quantity.WAITING),
    *(Quantity.KV_USAGE, Quantity.TTFT_P95, Quantity.ITL_P95),
)

WRITE_AFTER_S = 34.0
"""A minute is written this long after its end: a slow reading stands for as much of the time before it."""
THIN_EVERY_S = 600.0
RETRY_S = 60.0
"""After a failure the store is left alone for this long."""
CLOSE_S = 5.0
"""How long the end of k2tui waits for what is being written."""
LATENCIES_LAST_S = 35.0
"""Latencies of an older look are not those of now."""
USUAL_LASTS_S = 600.0
"""What is usual for a configuration is asked again after this long."""
_RINGS_AT_ONCE = 16
_STEPS_A_MINUTE = int(MINUTES_STEP_S / SECONDS_STEP_S)
_ENOUGH = 20
"""Of a minute's thirty steps so many must be known for it to say what a configuration does."""


class ReadingStore(ReadingHistory, RateBaseline, Protocol):
    """Readings, and what is usual, on this side. What fails is a K2Error whose message is a sentence."""

    async def add_rates(self, minutes: Sequence[RateMinute]) -> None:
        """Count these minutes; those that were counted already are not counted twice."""
        ...


@dataclass
class _Source:
    """One look that gives several figures at once."""

    ring: SeriesRing
    seen_at: float = float("nan")
    """time.monotonic of the newest reading that was taken."""
    gpus: tuple[int, ...] = ()
    """Which GPUs it is of, in the order of their figures."""


@dataclass
class _Config:
    """The configuration that a server runs with."""

    of: object
    """What tells that it is still the same."""
    name: str | None
    since: int
    """The first step of it."""


class Recorder:
    """Takes the views as they are, remembers what is new in them, and writes it down in the background.

    A store that fails costs the history and one sentence, never a watch. Satisfies RateBaseline.
    """

    def __init__(self, store: ReadingStore | None, *, clock: Clock, tell: Callable[[str, str, Severity], None]) -> None:
        """`tell(subject, sentence, severity)` puts an event on the list."""
        self._store, self._clock, self._tell = store, clock, tell
        self._sources: dict[str, _Source] = {}
        """By `gpus/NODE` and by the subjects of nodes and servers."""
        self._places: dict[SeriesKey, tuple[SeriesRing, int]] = {}
        self._configs: dict[str, _Config] = {}
        self._task: asyncio.Task[None] | None = None
        self._write_at: float | None = None
        """time.monotonic at which the store is asked next; None before the first reading."""
        self._thin_at = 0.0
        self._said: set[str] = set()
        self._usual: dict[tuple[str, int], tuple[float, UsualRate | None]] = {}

    @property
    def busy(self) -> bool:
        """The store is being written."""
        return self._task is not None and not self._task.done()

    def take(self, nodes: Iterable[NodeView], servers: Iterable[ServerView]) -> None:
        """Remember what is new since the last call; call it about every two seconds."""
        now = self._clock.monotonic()
        ahead_s = self._clock.time() - now
        for node in nodes:
            self._take_node(node.settings.name, node.reading, ahead_s)
        for server in servers:
            if server.serving is not None:
                self._take_server(server, server.serving, ahead_s)
        if self._store is None or self.busy:
            return
        if self._write_at is None:
            self._write_at = now + MINUTES_STEP_S - (now + ahead_s - WRITE_AFTER_S) % MINUTES_STEP_S
            self._thin_at = now
        elif now >= self._write_at:
            self._write_at = now + MINUTES_STEP_S - (now + ahead_s - WRITE_AFTER_S) % MINUTES_STEP_S
            minute = int((now + ahead_s - WRITE_AFTER_S) // MINUTES_STEP_S)
            self._task = asyncio.ensure_future(self._write(self._store, minute * _STEPS_A_MINUTE))

    def recent(self, key: SeriesKey, span_s: float) -> Samples | None:
        """The newest readings of this session in steps of two seconds; None where there are none."""
        if key not in self._places:
            return None
        ring, column = self._places[key]
        return ring.recent(column, max(1, int(span_s / SECONDS_STEP_S)), int(self._clock.time() / SECONDS_STEP_S))

    async def past(self, keys: Sequence[SeriesKey], since: float, until: float, steps: int) -> tuple[Samples, ...]:
        """One `Samples` a key, of `steps` even steps between two unix times: all that was recorded, nothing else."""
        pieces: dict[SeriesKey, list[Samples]] = {key: [] for key in keys}
        for key, found in pieces.items():
            if key in self._places:
                ring, column = self._places[key]
                found.append(ring.held(column, int(since / SECONDS_STEP_S), int(until / SECONDS_STEP_S) + 1))
        if not all(self._holds(key, since) for key in keys):
            for piece in await self._kept([*pieces], since, until):
                pieces[piece.key].append(piece)
        plotted = []
        for key in keys:
            plotted.append(resampled(key, pieces[key], since, until, steps))
            await asyncio.sleep(0)  # a week takes some milliseconds a series: keys come first
        return tuple(plotted)

    async def usual_rate(self, config: str, running: float) -> UsualRate | None:
        """What this configuration usually generates at about so many requests; asked of the store now and then."""
        place, now = (config, about_running(running)), self._clock.monotonic()
        if place in self._usual and now < self._usual[place][0]:
            return self._usual[place][1]
        usual = None
        if self._store is not None:
            try:
                usual = await self._store.usual_rate(config, running)
            except K2Error as error:
                self._say_once(str(error))
        self._usual[place] = (now + USUAL_LASTS_S, usual)
        return usual

    async def close(self) -> None:
        """Write down what is left; the store stays open."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=CLOSE_S)
            await ended(self._task)
        if self._store is not None and self._sources:
            end = max(source.ring.newest or 0 for source in self._sources.values()) + 1
            writing = asyncio.ensure_future(self._write(self._store, end, thin=False))
            await asyncio.wait({writing}, timeout=CLOSE_S)
            await ended(writing)

    def _take_node(self, name: str, reading: NodeReading, ahead_s: float) -> None:
        if reading.gpus_at is not None and reading.gpus:
            place = f"gpus/{name}"
            source = self._sources.get(place)
            if source is None or source.seen_at != reading.gpus_at:
                source = self._of_gpus(place, name, reading.gpus, source)
                source.seen_at = reading.gpus_at
                source.ring.put(int((reading.gpus_at + ahead_s) / SECONDS_STEP_S), _gpu_row(reading.gpus))
        if reading.host_at is not None:
            place = node_subject(name)
            source = self._sources.get(place) or self._source(place, _keys(place, NODE_QUANTITIES))
            if source.seen_at != reading.host_at:
                source.seen_at = reading.host_at
                source.ring.put(int((reading.host_at + ahead_s) / SECONDS_STEP_S), _host_row(reading.host))

    def _take_server(self, server: ServerView, serving: ServingReading, ahead_s: float) -> None:
        place = server_subject(server.settings.name)
        source = self._sources.get(place) or self._source(place, _keys(place, SERVER_QUANTITIES))
        if source.seen_at != serving.at:
            source.seen_at = serving.at
            step = int((serving.at + ahead_s) / SECONDS_STEP_S)
            source.ring.put(step, _server_row(serving))
            self._note_config(place, server, step)

    def _of_gpus(self, place: str, node: str, gpus: Sequence[GpuReading], source: _Source | None) -> _Source:
        """The node's source, a new one when it has other GPUs now."""
        indices = tuple([gpu.index for gpu in gpus])
        if source is not None and source.gpus == indices:
            return source
        made = self._source(place, [key for at in indices for key in _keys(gpu_subject(node, at), GPU_QUANTITIES)])
        made.gpus = indices
        if source is not None:
            made.ring.take_over(source.ring)
        return made

    def _source(self, place: str, keys: Sequence[SeriesKey]) -> _Source:
        ring = SeriesRing(keys)
        self._places.update((key, (ring, column)) for column, key in enumerate(keys))
        source = self._sources[place] = _Source(ring)
        return source

    def _holds(self, key: SeriesKey, since: float) -> bool:
        """Memory has all that there is of it since then."""
        if key not in self._places:
            return False
        ring, _ = self._places[key]
        return ring.newest is not None and ring.first_held * SECONDS_STEP_S <= since

    def _note_config(self, place: str, server: ServerView, step: int) -> None:
        run, found = server.run, server.found
        of: object = server.launch and server.launch.phase
        if run is not None:
            of = run.run_id
        elif found is not None:
            of = found.process.identity
        known = self._configs.get(place)
        if known is None or known.of != of:
            self._configs[place] = _Config(of, config_of(server), step)

    async def _kept(self, keys: Sequence[SeriesKey], since: float, until: float) -> tuple[Samples, ...]:
        if self._store is None:
            return ()
        try:
            return await self._store.kept(keys, since, until)
        except K2Error as error:
            self._say_once(str(error))
            return ()

    async def _write(self, store: ReadingStore, end: int, *, thin: bool = True) -> None:
        """Everything up to the step `end` that is not written yet; some sources at a time, keys come first."""
        try:
            sources = [*self._sources.items()]
            for at in range(0, len(sources), _RINGS_AT_ONCE):
                some = sources[at : at + _RINGS_AT_ONCE]
                samples = [one for _, source in some for one in _due(source.ring, end)]
                if samples:
                    await store.keep(samples)
                rates = [rate for place, source in some for rate in self._rates(place, source.ring, end)]
                for _, source in some:
                    source.ring.written(end)
                if rates:
                    await store.add_rates(rates)
            if thin and self._clock.monotonic() >= self._thin_at:
                self._thin_at = self._clock.monotonic() + THIN_EVERY_S
                await store.thin(self._clock.time())
        except K2Error as error:
            self._say_once(str(error))
            self._write_at = self._clock.monotonic() + RETRY_S

    def _rates(self, place: str, ring: SeriesRing, end: int) -> Iterator[RateMinute]:
        """The whole minutes that are being written, of a server that generated all the time."""
        config = self._configs.get(place)
        if config is None or config.name is None:
            return
        running, decode = (
            ring.keys.index(SeriesKey(place, quantity)) for quantity in (Quantity.RUNNING, Quantity.DECODE)
        )
        first = -(-max(ring.written_to, config.since) // _STEPS_A_MINUTE)
        for minute in range(first, end // _STEPS_A_MINUTE):
            steps = (minute * _STEPS_A_MINUTE, (minute + 1) * _STEPS_A_MINUTE)
            busy = _known(ring.samples(running, *steps))
            rates = _known(ring.samples(decode, *steps))
            if len(busy) >= _ENOUGH and len(rates) >= _ENOUGH and min(busy) >= 1 and min(rates) > 0:
                yield RateMinute(config.name, minute, sum(busy) / len(busy), sum(rates) / len(rates))

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._tell("", sentence, Severity.WARNING)


def _due(ring: SeriesRing, end: int) -> Iterator[Samples]:
    """What the store has not got yet, a series each; nothing of those that are unknown all the time."""
    if ring.newest is None:
        return
    first, last = max(ring.written_to, ring.first_held), min(end, ring.newest + 1)
    if first < last:
        for column in range(len(ring.keys)):
            samples = ring.samples(column, first, last)
            if any(figure is not None for figure in samples.mean):
                yield samples


def _known(samples: Samples) -> list[float]:
    return [figure for figure in samples.mean if figure is not None]


def _keys(subject: str, quantities: Sequence[Quantity]) -> list[SeriesKey]:
    return [SeriesKey(subject, quantity) for quantity in quantities]


def _gpu_row(gpus: Sequence[GpuReading]) -> list[float | None]:
    row: list[float | None] = []
    for gpu in gpus:
        row += (gpu.utilization_percent, gpu.memory_used_mib, gpu.power_w, gpu.temperature_c)
    return row


def _host_row(host: HostReading) -> tuple[float | None, ...]:
    total, available = host.memory_total_bytes, host.memory_available_bytes
    used = None if total is None or available is None else total - available
    return (
        *(host.cpu_percent, used, host.disk_read_bytes_per_s, host.disk_write_bytes_per_s),
        *(host.net_rx_bytes_per_s, host.net_tx_bytes_per_s),
    )


def _server_row(serving: ServingReading) -> tuple[float | None, ...]:
    fresh = serving.latencies_at is None or serving.at - serving.latencies_at <= LATENCIES_LAST_S
    ttft, itl = (serving.ttft, serving.itl) if fresh else (None, None)
    return (
        *(serving.decode_tokens_per_s, serving.prefill_tokens_per_s, serving.running, serving.waiting),
        *(serving.kv_usage, None if ttft is None else ttft.p95_s, None if itl is None else itl.p95_s),
    )

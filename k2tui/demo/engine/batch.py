"""The scheduler: running requests get a token each step, and the log gets its Prefill and Decode lines."""

from __future__ import annotations

import asyncio
import secrets
import time
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field

from k2tui.demo.engine.console import Console
from k2tui.demo.engine.gpus import Gpus
from k2tui.demo.engine.prefixes import Prefixes
from k2tui.demo.engine.speed import Speed
from k2tui.demo.engine.words import Words

MOST_RUNNING = 64
BEHIND_S = 0.1
"""By how much the steps may be behind their time before that is given up: they catch up, so that the rate is true."""


class Aborted(Exception):
    """The request was taken off the batch."""


@dataclass(eq=False)
class Job:
    """One request in the batch."""

    prompt_tokens: int
    tokens: Iterator[str]
    most: int
    """Tokens at which it is cut off."""
    unseen: bool = False
    """Of the invisible crowd: nobody reads its tokens."""
    words: Sequence[str] = ()
    """Of the prompt: what the cache knows it by."""
    cached: int = 0
    """Prompt tokens that came out of the cache, once it was admitted."""
    rid: str = field(default_factory=lambda: secrets.token_hex(16))
    arrived: float = field(default_factory=time.monotonic)
    first_token_at: float | None = None
    produced: int = 0
    finish: str | None = None
    """stop | length | abort, once it ended."""
    queue: asyncio.Queue[str | None] = field(default_factory=asyncio.Queue)

    def advance(self, steps: int) -> int:
        """Make so many tokens, or fewer when it ends; how many."""
        before = self.produced
        while steps > 0 and self.finish is None:
            steps -= 1
            token = next(self.tokens, None)
            if token is None:
                self.finish = "stop"
                break
            self.first_token_at = self.first_token_at or time.monotonic()
            self.produced += 1
            if not self.unseen:
                self.queue.put_nowait(token)
            if self.produced >= self.most:
                self.finish = "length"
        return self.produced - before

    def close(self) -> None:
        """Nothing more will come."""
        self.queue.put_nowait(None)

    async def stream(self) -> AsyncIterator[str]:
        """Its tokens as they are made."""
        while (token := await self.queue.get()) is not None:
            yield token
        if self.finish == "abort":
            raise Aborted


@dataclass
class Spread:
    """How many observations fell into which bucket: a Prometheus histogram."""

    bounds: tuple[float, ...]
    """Upper ends in seconds, growing, without the endless last one."""
    counts: list[int] = field(init=False)
    total_s: float = 0.0

    def __post_init__(self) -> None:
        self.counts = [0] * (len(self.bounds) + 1)

    def observe(self, seconds: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += times
        self.total_s += seconds * times

    @property
    def count(self) -> int:
        return sum(self.counts)


_WHOLE_S = (0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400)
_STEP_S = (0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2, 0.4, 0.6, 0.8)
"""SGLang's own buckets, of time to first token and of inter-token latency."""


@dataclass(frozen=True)
class Load:
    """What the scheduler wrote of itself last, for the HTTP side to read."""

    running: int = 0
    waiting: int = 0
    waiting_tokens: int = 0
    used_tokens: int = 0
    written_at: float = 0.0
    """Unix time."""


@dataclass
class Totals:
    """Counters since the start, for /metrics and /v1/loads."""

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    prefill_passes: int = 0
    decode_passes: int = 0
    first_token: Spread = field(default_factory=lambda: Spread(_WHOLE_S))
    request: Spread = field(default_factory=lambda: Spread((*_WHOLE_S, 600, 1200, 1800, 2400)))
    between_tokens: Spread = field(default_factory=lambda: Spread((*_STEP_S, 1, 2, 4, 6, 8)))


@dataclass
class Batch:
    """What runs and what waits."""

    console: Console
    words: Words
    gpus: Gpus
    capacity: int
    """Tokens of the KV cache."""
    graph: bool
    log_interval: int = 40
    speed: Speed = field(default_factory=Speed)
    caches: bool = True
    """A prompt that was seen before costs one token."""
    hung: bool = False
    """Takes requests and never gives a token."""
    gauge_sticks: bool = False
    """The throughput keeps its last figure while nothing runs, as SGLang's did up to 0.5.18."""
    load: Load = field(default_factory=lambda: Load(written_at=time.time()))
    running: list[Job] = field(default_factory=list)
    waiting: list[Job] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    tokens_per_s: float = 0.0
    """Of the last interval, all streams together."""
    _prefixes: Prefixes = field(default_factory=Prefixes)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _steps: int = 0
    _since_line: int = 0
    _line_at: float = field(default_factory=time.monotonic)
    _prefill_at: float = field(default_factory=time.monotonic)
    _step_at: float = field(default_factory=time.monotonic)
    _due: float = 0.0
    _stands: bool = False

    @property
    def used_tokens(self) -> int:
        return sum(job.prompt_tokens + job.produced for job in self.running)

    @property
    def usage(self) -> float:
        return self.used_tokens / self.capacity

    def submit(self, job: Job) -> Job:
        """Put it in the queue."""
        self.waiting.append(job)
        self.totals.requests += not job.unseen
        self._write_load()
        self._wake.set()
        return job

    def stand_still(self) -> None:
        """The scheduler is dead or stopped: what it wrote last stands, and requests wait where nobody counts them."""
        self.hung = self._stands = True

    def abort(self, job: Job) -> None:
        """Its client went away."""
        if job.finish is None:
            job.finish = "abort"
            job.close()
        for jobs in (self.running, self.waiting):
            if job in jobs:
                jobs.remove(job)
        self._write_load()

    def abort_all(self) -> None:
        for job in (*self.running, *self.waiting):
            self.abort(job)

    def forget_prompts(self) -> None:
        """The cache is empty again."""
        self._prefixes.clear()

    async def run(self) -> None:
        """For ever: admit, step, tell."""
        while True:
            if self.hung or not (self.running or self.waiting):
                if not self.gauge_sticks and not self._stands:
                    self.tokens_per_s = 0.0
                self._wake.clear()
                if not self.hung:
                    self.gpus.show(busy=0)
                await self._wake.wait()
                self._due = time.monotonic()
                continue
            prefill_s = self._admit()
            self._step_at = time.monotonic()
            # Where nobody reads along, one wake-up for a whole interval is enough.
            steps = self.log_interval if all(job.unseen for job in self.running) else 1
            spent_s = prefill_s + steps * self.speed.step_s(len(self.running))
            self._due = max(self._due, self._step_at - BEHIND_S) + spent_s
            await asyncio.sleep(max(0.0, self._due - time.monotonic()))
            if not self.hung:
                self._step(steps)

    def _write_load(self) -> None:
        if not self._stands:
            tokens = sum(job.prompt_tokens for job in self.waiting)
            self.load = Load(len(self.running), len(self.waiting), tokens, self.used_tokens, time.time())

    def _admit(self) -> float:
        """Let in what waits; seconds that its prompts take."""
        new = self.waiting[: max(0, MOST_RUNNING - len(self.running))]
        if not new:
            return 0.0
        del self.waiting[: len(new)]
        for job in new:
            job.cached = self._cached(job)
        cached = sum(job.cached for job in new)
        tokens = sum(job.prompt_tokens for job in new) - cached
        now = time.monotonic()
        rate = tokens / max(now - self._prefill_at, self.speed.prefill_s(1))
        self._prefill_at = now
        line = self.words.prefill(len(new), tokens, cached, self.usage, len(self.running), len(self.waiting), rate)
        self.console.log(line, 0)
        self.totals.prompt_tokens += tokens + cached
        self.totals.cached_tokens += cached
        self.totals.prefill_passes += 1
        self.running += new
        self._write_load()
        self.gpus.show(busy=min(98, 60 + 4 * len(self.running)))
        self.speed.another_request()
        return self.speed.prefill_s(tokens)

    def _cached(self, job: Job) -> int:
        """Its beginning as far as it was seen before, as the radix cache has it; a whole prompt costs one token."""
        most = max(0, job.prompt_tokens - 1)
        if job.unseen or not self.caches:
            return most if job.unseen else 0
        known = self._prefixes.take(job.words)
        return most if job.words and known == len(job.words) else min(most, known)

    def _step(self, steps: int) -> None:
        now = time.monotonic()
        made = 0
        for job in self.running:
            first = job.first_token_at is None
            tokens = job.advance(steps)
            made += tokens
            if first and tokens:
                self.totals.first_token.observe(now - job.arrived)
            self.totals.between_tokens.observe((now - self._step_at) / steps, tokens - (first and tokens > 0))
        self._step_at = now
        self.totals.generated_tokens += made
        self.totals.decode_passes += steps
        self._since_line += made
        self._steps += steps
        if self._steps >= self.log_interval:
            self._tell()
        for job in [job for job in self.running if job.finish is not None]:
            self.running.remove(job)
            job.close()
            self.totals.request.observe(now - job.arrived)
        self._write_load()

    def _tell(self) -> None:
        now = time.monotonic()
        self.tokens_per_s = self._since_line / max(now - self._line_at, 1e-3)
        self._line_at, self._since_line, self._steps = now, 0, 0
        line = self.words.decode(
            len(self.running), self.used_tokens, self.usage, self.graph, self.tokens_per_s, len(self.waiting)
        )
        self.console.log(line, 0)

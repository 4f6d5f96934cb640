"""A server's HTTP side, looked at again and again without making it generate: its figures, and whether it lives."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from k2tui.core.errors import K2Error
from k2tui.core.launch import Launch, Traffic
from k2tui.core.manners import Sight, http_period_s, metrics_period_s
from k2tui.core.measuring import pulse as life
from k2tui.core.measuring.loads import of_loads, of_server_info
from k2tui.core.measuring.look import Look
from k2tui.core.measuring.metrics import of_metrics
from k2tui.core.measuring.pulse import Pulse
from k2tui.core.measuring.window import OLD_S, LogFigures, ServingWindow, seen, serving_reading
from k2tui.core.serving import ServingReading
from k2tui.services.doors import Clock, HttpDoor, HttpReply, NodeLink

TIMEOUT_S = 5.0
QUESTION_S = 3.0
"""A scheduler that lives answers within this, but for the longest of prefills."""
LOG_SILENT_S = 5.0
"""A batch line with running requests and nothing after it for so long: looked at now, whoever looks or not."""
MOST_JSON_BYTES = 8 << 20

_LOADS = {"sglang": ("/v1/loads", "/get_load"), "vllm": ()}
_INFO = {"sglang": ("/server_info", "/get_server_info"), "vllm": ()}
"""Newest name first. SGLang's go through the scheduler's loop, so that silence there is a sign."""
_FRONT = "/v1/models"
"""Answered by the HTTP side alone."""
_METRICS = "/metrics"
_NOT_THERE = (404, 405)
_LOCKED = (401, 403)

LOG_TELLS_S = 5.0
"""A batch line that is no older carries the figures."""


@dataclass(frozen=True, slots=True)
class HttpReading:
    """One look at the HTTP side."""

    ok: bool
    says: str
    at: float
    """time.monotonic."""
    running: int | None = None
    """Requests being worked on, summed over DP ranks; None when this server does not tell."""
    waiting: int | None = None
    listening: bool | None = None
    """Something took the connection; None: nobody could tell."""
    wants_key: bool = False
    """It answers, but not without an API key that k2tui does not have."""

    @property
    def is_idle(self) -> bool:
        """It answers, and has nothing to do."""
        return self.ok and self.running == 0 and not self.waiting


@dataclass(frozen=True, slots=True)
class Said:
    """What one source said last, for its witness."""

    ok: bool | None
    says: str
    at: float


class ServingWatch:
    """Asks one server, at a pace that depends on who looks and on what it does."""

    def __init__(
        self,
        link: NodeLink,
        *,
        engine: str,
        clock: Clock,
        sight: Callable[[], Sight],
        on_change: Callable[[], None],
    ) -> None:
        self.http: HttpReading | None = None
        self.reading: ServingReading | None = None
        self.pulse = Pulse()
        self.metrics: Said | None = None
        self.scheduler: Said | None = None
        self._link, self._clock, self._sight, self._on_change = link, clock, sight, on_change
        self._engine = engine if engine in _LOADS else "sglang"
        self._client: HttpDoor | None = None
        self._port: int | None = None
        self._key: str | None = None
        self._missing: set[str] = set()
        """Routes that this run answered with 404: it will not grow them."""
        self._window = ServingWindow()
        self._log: LogFigures | None = None
        self._beat: tuple[Traffic, float | None] | None = None
        self._kv_tokens: int | None = None
        """Capacity by the log's own line."""
        self._began_at: float | None = None
        self._asked_at: float | None = None
        self._metrics_at: float | None = None
        self._answered_at: float | None = None
        self._failing_since: float | None = None

    def forget(self) -> None:
        """Another run, or a server that is being stopped: what was answered no longer counts."""
        self.http = self.reading = self.metrics = self.scheduler = None
        self.pulse, self._window, self._log, self._beat = Pulse(), ServingWindow(), None, None
        self._missing.clear()
        self._began_at = self._asked_at = self._metrics_at = self._answered_at = self._failing_since = None

    async def close(self) -> None:
        """Ask no more."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def take_log(self, launch: Launch, silent_s: float | None) -> None:
        """What the log says of the work; `silent_s` since its last progress, None where a clock is missing."""
        self._kv_tokens = launch.kv_tokens
        beat = (launch.traffic, launch.quiet_since)
        if beat == self._beat or launch.traffic == Traffic() or silent_s is None:
            return
        self._beat = beat
        at = self._clock.monotonic() - silent_s
        self._log = LogFigures(at, launch.traffic)
        self.pulse = life.alive(self.pulse, at)
        self._read()

    def _read(self) -> None:
        reading = serving_reading(self._window, self._log)
        if reading is not None and reading.capacity_tokens is None:
            reading = replace(reading, capacity_tokens=self._kv_tokens)
        self.reading = reading

    def lives(self, at: float) -> None:
        """A completion came back then."""
        self.pulse = life.alive(self.pulse, at)

    @property
    def log_beat(self) -> LogFigures | None:
        """The newest batch line."""
        return self._log

    @property
    def busy(self) -> bool | None:
        """Does it work, by the newest figure; None before the first."""
        log, http = self._log, self.http
        if log is not None and log.traffic.running and (http is None or log.at > http.at):
            return True
        if self.pulse.working_since is not None:
            return True
        if http is None or http.running is None:
            return None
        return not http.is_idle

    @property
    def generates(self) -> bool:
        """Tokens came between its last looks, by its own count of them."""
        reading = self.reading
        return reading is not None and reading.decode_source == "counter" and bool(reading.decode_tokens_per_s)

    @property
    def at_work(self) -> int | None:
        """Requests in the batch, in the queue, or open at the HTTP side, by the newest look of each source."""
        looks = (*self._window.loads[-1:], *self._window.metrics[-1:])
        return max((look.at_work for look in looks if look.at_work is not None), default=None)

    def is_due(self) -> bool:
        """Is it time for a look?"""
        now = self._clock.monotonic()
        if self._asked_at is None:
            return True
        doubt = not self.is_dead(now) and (
            self.pulse.is_urgent
            or self._log_fell_silent(now)
            or (self._failing_since is not None and self._answered_at is not None)
        )
        log_tells = self._log is not None and now - self._log.at < LOG_TELLS_S
        period_s = http_period_s(self._sight(), busy=self.busy, doubt=doubt, log_tells=log_tells)
        return now - self._asked_at >= period_s

    def is_dead(self, now: float) -> bool:
        """Its scheduler gives no sign of life, or its HTTP side stopped to answer: for long enough to be sure."""
        if self.pulse.is_dead:
            return True
        if self._failing_since is None or self._answered_at is None:
            return False
        last = max(self._failing_since, self.pulse.moved_at or 0.0)
        return now - last >= life.DEAD_AFTER_S

    async def look(self, port: int, *, api_key: str | None = None) -> None:
        """Ask now: the main figures, `/metrics` when it is due, the scheduler itself when there is doubt."""
        now = self._asked_at = self._clock.monotonic()
        self._began_at, self._key = self._began_at or now, api_key
        client = self._client_of(port)
        if self._owes_heartbeat(now):
            await self._question(client)
        elif self._is_turn_of_metrics() and await self._read_metrics(client):
            self._heard(True, self._clock.monotonic())
        else:
            await self._figures(client)
            if self._wants_metrics(now):
                await self._read_metrics(client)
            if self.pulse.owes_question(self._clock.monotonic()) and self.http is not None and self.http.ok:
                await self._question(client)
        self._read()
        self._on_change()

    def _client_of(self, port: int) -> HttpDoor:
        if self._client is None or self._port != port:
            self._client, self._port = self._link.http(port, timeout_s=TIMEOUT_S), port
        return self._client

    def _log_fell_silent(self, now: float) -> bool:
        log = self._log
        if log is None or not log.traffic.running or now - log.at < LOG_SILENT_S:
            return False
        return self._asked_at is None or self._asked_at < log.at + LOG_SILENT_S

    def _owes_heartbeat(self, now: float) -> bool:
        """It has had nothing to do for long: the scheduler is asked in place of the figures, for as many log lines."""
        if self.http is None or not self.http.is_idle or self.pulse.working_since is not None:
            return False
        last = max(self.pulse.moved_at or 0.0, self.pulse.asked_at or 0.0, self._began_at or now)
        return now - last >= life.HEARTBEAT_S and any(path not in self._missing for path in _INFO[self._engine])

    def _is_turn_of_metrics(self) -> bool:
        """Of one that has nothing to do and is focused, every second look: they know of requests that never reach the
        scheduler."""
        if self.busy is not False or self._sight() is not Sight.FOCUSED or _METRICS in self._missing:
            return False
        loads = self._window.loads[-1:]
        turn = bool(loads) and (self._metrics_at is None or self._metrics_at <= loads[0].at)
        return turn and self._is_well()

    def _is_well(self) -> bool:
        return self._failing_since is None and self.pulse.unanswered_since is None

    def _wants_metrics(self, now: float) -> bool:
        if _METRICS in self._missing or self.http is None or not self.http.ok:
            return False
        if self._metrics_at is not None and self._metrics_at >= (self._asked_at or 0.0):
            return False  # they had to stand in for the figures
        period_s = metrics_period_s(self._sight(), busy=self.busy)
        return period_s is not None and (self._metrics_at is None or now - self._metrics_at >= period_s - 0.5)

    async def _figures(self, client: HttpDoor) -> None:
        """The main figures, from the first route that this version has, and that needs no key that is missing."""
        locked: tuple[str, HttpReply, float] | None = None
        for path in (*_LOADS[self._engine], _METRICS, *_INFO[self._engine], _FRONT):
            if path in self._missing or (locked is not None and path != _METRICS):
                continue
            began = self._clock.monotonic()
            try:
                reply = await self._ask(client, path)
            except K2Error as error:
                await self._failed(path, began, error)
                return
            if reply.status in _NOT_THERE:
                self._not_there(path)
            elif reply.status in _LOCKED:
                locked = path, reply, began
            else:
                self._take_reply(path, reply, began, wants_key=locked is not None)
                return
        if locked is not None:
            self._take_reply(*locked, wants_key=True)

    def _not_there(self, path: str) -> None:
        self._missing.add(path)
        if path == _METRICS:
            self.metrics = Said(None, "off: it was started without them", self._clock.monotonic())

    async def _ask(self, client: HttpDoor, path: str) -> HttpReply:
        headers = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        return await client.ask("GET", path, headers=headers)

    def _take_reply(self, path: str, reply: HttpReply, began: float, *, wants_key: bool) -> None:
        at = self._clock.monotonic()
        look = self._look_of(path, reply, at)
        if look is not None:
            self._take(look)
        if path == _METRICS:
            self._metrics_at, self.metrics = began, _metrics_said(reply, look, began, at)
        if path in _INFO[self._engine]:
            self.pulse = life.answered(self.pulse, began, at)
        ok = reply.status < 500
        self._heard(ok, at)
        says = f"HTTP {reply.status} from {path} in {(at - began) * 1000:.0f} ms"
        self.http = HttpReading(
            ok,
            f"{says}; it wants an API key that k2tui was not given" if wants_key else says,
            at,
            None if look is None else look.running,
            None if look is None else look.waiting,
            listening=True,
            wants_key=wants_key,
        )

    def _look_of(self, path: str, reply: HttpReply, at: float) -> Look | None:
        if reply.status != 200:
            return None
        if path == _METRICS:
            return of_metrics(reply.body, at)
        if path == _FRONT or len(reply.body) > MOST_JSON_BYTES:
            return None
        try:
            document = reply.json()
        except (ValueError, RecursionError):
            return None
        return of_server_info(document, at) if path in _INFO[self._engine] else of_loads(document, at)

    def _take(self, look: Look) -> None:
        window = self._window
        before = {"loads": window.loads, "metrics": window.metrics}.get(look.source, ())
        self._window = seen(window, look)
        if look.source != "server_info":
            self.pulse = life.looked(self.pulse, before[-1] if before else None, look, working=self._has_work())

    def _has_work(self) -> bool:
        """By the newest looks. Where there are loads, of `/metrics` only the open requests count: its gauges stick."""
        loads, metrics = self._window.loads[-1:], self._window.metrics[-1:]
        if not loads:
            return any(look.at_work for look in metrics)
        return bool(loads[0].at_work) or any(look.active and look.at > loads[0].at - OLD_S for look in metrics)

    async def _failed(self, path: str, began: float, error: K2Error) -> None:
        """No answer: is it the whole HTTP side, or only what goes through the scheduler?"""
        await self.close()
        at = self._clock.monotonic()
        if error.code == "http_timeout" and path != _FRONT:
            try:
                reply = await asyncio.wait_for(self._ask(self._client_of(self._port or 0), _FRONT), QUESTION_S)
            except (K2Error, asyncio.TimeoutError):
                await self.close()
            else:
                at = self._clock.monotonic()
                if reply.status < 500:
                    self._heard(True, at)
                    self.pulse = life.unanswered(self.pulse, began)
                    self.scheduler = Said(False, f"no answer to {path} within {TIMEOUT_S:g} s", at)
                    self.http = HttpReading(True, f"HTTP {reply.status} from {_FRONT}", at, listening=True)
                    return
        self._heard(False, at)
        self.http = HttpReading(False, error.message, at, listening=False if error.code == "http_refused" else None)

    def _heard(self, ok: bool, at: float) -> None:
        if ok:
            self._answered_at, self._failing_since = at, None
        elif self._failing_since is None:
            self._failing_since = at

    async def _read_metrics(self, client: HttpDoor) -> bool:
        """False when they are not there, or were not answered."""
        began = self._metrics_at = self._clock.monotonic()
        try:
            reply = await self._ask(client, _METRICS)
        except K2Error as error:
            self.metrics = Said(False, error.message, self._clock.monotonic())
            return False
        at = self._clock.monotonic()
        if reply.status in _NOT_THERE:
            self._not_there(_METRICS)
            return False
        look = self._look_of(_METRICS, reply, at)
        if look is not None:
            self._take(look)
        self.metrics = _metrics_said(reply, look, began, at)
        return True

    async def _question(self, client: HttpDoor) -> None:
        """Ask what only the scheduler can answer; it makes no token."""
        for path in _INFO[self._engine]:
            if path in self._missing:
                continue
            began = self._clock.monotonic()
            try:
                reply = await asyncio.wait_for(self._ask(client, path), QUESTION_S)
            except (K2Error, asyncio.TimeoutError) as error:
                await self.close()
                if isinstance(error, K2Error) and error.code != "http_timeout":
                    await self._failed(path, began, error)
                    return
                self.pulse = life.unanswered(self.pulse, began)
                says = f"no answer to {path} within {QUESTION_S:g} s"
                self.scheduler = Said(False, says, self._clock.monotonic())
                return
            at = self._clock.monotonic()
            if reply.status in _NOT_THERE:
                self._not_there(path)
                continue
            look = self._look_of(path, reply, at)
            if look is not None:
                self._take(look)
            self.pulse = life.answered(self.pulse, began, at)
            self.scheduler = Said(True, f"answered {path} in {(at - began) * 1000:.0f} ms", at)
            return
        self._question_by_time()

    def _question_by_time(self) -> None:
        """No route goes through the scheduler: a long time without a sign of life has to do."""
        now = self._clock.monotonic()
        if (self.pulse.still_s or 0.0) >= life.DEAD_AFTER_S:
            self.pulse = life.unanswered(self.pulse, now)
            self.scheduler = Said(False, "no sign of life", now)


def _metrics_said(reply: HttpReply, look: Look | None, began: float, at: float) -> Said:
    size = f"{len(reply.body) / 1000:.0f} KB in {(at - began) * 1000:.0f} ms"
    if look is None:
        return Said(False, f"HTTP {reply.status}, nothing of an engine in {size}", at)
    return Said(True, size, at)

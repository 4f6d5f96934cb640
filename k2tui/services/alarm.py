"""Looks at what is known of the fleet, tells what is wrong, and remembers who has seen it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Protocol

from k2tui.core.alerting.book import book_of
from k2tui.core.alerting.engine import AlertState, changed, step, taken_up
from k2tui.core.alerting.rows import Moment, rows_of
from k2tui.core.alerting.trends import Trends, noticed
from k2tui.core.alerts import Alert, as_json, filled, in_order, several
from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.over_time.rates import about_running, config_of
from k2tui.core.series import server_subject
from k2tui.core.serving import ServingReading
from k2tui.core.settings import AlertSettings
from k2tui.core.views import NodeView, ServerView
from k2tui.services.doors import Clock, EventHistory, RateBaseline
from k2tui.services.tasks import ended

REMEMBERED_S = 7 * 86_400.0
"""Alerts that began within this time are on the list also when they ended."""
MOST_ENDED = 500
WATCHED_S = 180.0
"""A k2tui that watches says so every minute; one that has said nothing for so long does not watch any more."""
COMPARE_S = 30.0
"""How often it is looked up what other k2tui of this operator acknowledged, while something holds."""
COMMANDS, PER_S = 5, 60.0
"""So many commands at most in so many seconds; what comes beyond is told together, in one."""
ASK_USUAL_S = 60.0
"""What is usual does not change faster."""
CLOSE_S = 5.0
"""What rings the bell and runs the command; the rest is only listed."""


class CommandRunner(Protocol):
    """Runs the operator's command."""

    async def run(self, argv: Sequence[str], told: str) -> None:
        """To its end, with the alert as JSON. Raises K2Error when it failed."""
        ...


class Alarm:
    """All alerts of a fleet. A look costs no waiting: the store and the command are served in the background."""

    def __init__(
        self,
        settings: AlertSettings,
        *,
        clock: Clock,
        tell: Callable[[str, str, Severity], None],
        on_change: Callable[[], None],
        store: EventHistory | None = None,
        runner: CommandRunner | None = None,
        baseline: RateBaseline | None = None,
    ) -> None:
        """`tell(subject, sentence, severity)` puts an event on the list; `on_change`: the alerts are others."""
        self.settings = settings
        self.on_raise: Callable[[Sequence[Alert]], None] | None = None
        """Called with what was raised and should be heard: the bell. Set by who has one."""
        self._book = book_of(settings)
        self._clock, self._tell, self._on_change = clock, tell, on_change
        self._store, self._runner, self._baseline = store, runner, baseline
        self._state = AlertState()
        self._trends = Trends()
        self._ended: deque[Alert] = deque(maxlen=MOST_ENDED)
        self._listed: tuple[Alert, ...] | None = None
        self._loading: asyncio.Task[None] | None = None
        self._loaded = store is None
        self._due: dict[tuple[str, str, float], Alert] = {}
        """What the store is to be told, by key."""
        self._new: deque[Alert] = deque()
        """Raised, and not claimed yet."""
        self._to_run: list[Alert] = []
        self._ran: deque[float] = deque(maxlen=COMMANDS)
        self._keeping: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._commanding = False
        """A command runs just now; else the task waits for its next time."""
        self._compared_at = 0.0
        self._configs: dict[str, tuple[str, str | None]] = {}
        """A server's run, and what `config_of` says of it."""
        self._usual_rates: dict[tuple[str, int], float | None] = {}
        self._to_ask: dict[tuple[str, int], float] = {}
        """When the baseline is to be asked again (time.monotonic), by configuration and number of requests."""
        self._asking: asyncio.Task[None] | None = None
        self._said: set[str] = set()

    @property
    def open_count(self) -> int:
        """Alerts that hold and that nobody has acknowledged."""
        return sum(alert.is_open for alert in self._state.alerts)

    def alerts(self) -> Sequence[Alert]:
        """Those that want an eye first, then those that hold, then those that ended; each newest first."""
        if self._listed is None:
            self._listed = in_order((*self._state.alerts, *self._ended))
        return self._listed

    async def kept(self, nodes: Sequence[NodeView], servers: Sequence[ServerView]) -> Sequence[Alert] | None:
        """What a k2tui that watches keeps just now; None where none does, so that nobody knows.

        For a plain command, which raises nothing itself.
        """
        if self._store is None:
            return None
        try:
            watched_at = await self._store.left_at()
            if watched_at is None or self._clock.time() - watched_at > WATCHED_S:
                return None
            found = await self._store.put_alerts(self._clock.time())
        except K2Error as error:
            self._say_once(str(error))
            return None
        subjects = _subjects(nodes, servers)
        return in_order(alert for alert in found if _is_of(alert, subjects))

    def load(self, nodes: Sequence[NodeView], servers: Sequence[ServerView]) -> asyncio.Task[None] | None:
        """Begin to read what earlier k2tui left; None where there is no store."""
        if self._loading is None and self._store is not None:
            self._loading = asyncio.ensure_future(self._load(self._store, _subjects(nodes, servers)))
        return self._loading

    def look(self, nodes: Sequence[NodeView], servers: Sequence[ServerView]) -> None:
        """Look at everything once; to be called every two seconds or so."""
        if not self._loaded:
            self.load(nodes, servers)
            return
        now, at = self._clock.monotonic(), self._clock.time()
        self._trends = noticed(self._trends, nodes, servers, now=now, at=at)
        moment = Moment(now, at, self._trends, self._usual, servers)
        known = {server_subject(server.settings.name) for server in servers}
        done = step(self._state, self._book, rows_of(nodes, servers, moment), at, known)
        if done.state is not self._state:
            was, self._state = self._state, done.state
            if done.raised or done.ended or was.alerts != done.state.alerts:
                self._changed()
        for alert in done.ended:
            self._ended.appendleft(alert)
            self._keep(alert)
        self._raise(done.raised)
        if now - self._compared_at > COMPARE_S and self._store is not None and self._state.alerts:
            self._compared_at = now
            self._work()

    def acknowledge(self, alert: Alert) -> None:
        """The operator has seen it, whether it holds or is over; once is enough."""
        found = next((one for one in self.alerts() if one.key == alert.key), None)
        if found is None or found.acknowledged_at is not None:
            return
        seen = replace(found, acknowledged_at=self._clock.time())
        if found.ended_at is None:
            self._state = changed(self._state, found, seen)
        else:
            self._ended = deque((seen if one.key == seen.key else one for one in self._ended), maxlen=MOST_ENDED)
        self._keep(seen)
        self._changed()

    async def close(self) -> None:
        """Finish what is being written and run."""
        await ended(self._loading, self._asking)
        tasks = {task for task in (self._keeping, self._running if self._commanding else None) if task is not None}
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_S)
        await ended(self._keeping, self._running)

    # ---- what is raised

    def _raise(self, raised: Sequence[Alert]) -> None:
        loud = [alert for alert in raised if alert.is_loud]
        if loud and self.settings.bell and self.on_raise is not None:
            self.on_raise(loud)
        if not raised:
            return
        if self._store is None:
            self._to_run.extend(loud)
            self._run()
            return
        self._new.extend(raised)
        self._work()

    def _changed(self) -> None:
        self._listed = None
        self._on_change()

    # ---- the baseline

    def _usual(self, server: ServerView, serving: ServingReading) -> float | None:
        """What is known of it now; asked for in the background."""
        if self._baseline is None or not serving.running:
            return None
        config, now = self._config(server), self._clock.monotonic()
        if config is None:
            return None
        place = config, about_running(serving.running)
        if now >= self._to_ask.get(place, now) and (self._asking is None or self._asking.done()):
            self._to_ask[place] = now + ASK_USUAL_S
            self._asking = asyncio.ensure_future(self._ask(self._baseline, place))
        return self._usual_rates.get(place)

    def _config(self, server: ServerView) -> str | None:
        """Made once a run: it is a hash of the whole command."""
        run, name = server.run, server.settings.name
        if run is None:
            return config_of(server)
        known = self._configs.get(name)
        if known is None or known[0] != run.run_id or known[1] is None:
            known = self._configs[name] = run.run_id, config_of(server)
        return known[1]

    async def _ask(self, baseline: RateBaseline, place: tuple[str, int]) -> None:
        try:
            usual = await baseline.usual_rate(*place)
        except K2Error as error:
            self._say_once(str(error))
            return
        self._usual_rates[place] = None if usual is None else usual.tokens_per_s

    # ---- the store

    async def _load(self, store: EventHistory, subjects: Collection[str]) -> None:
        try:
            found = await store.put_alerts(self._clock.time() - REMEMBERED_S)
        except K2Error as error:
            self._say_once(str(error))
            found = ()
        ours = [alert for alert in found if _is_of(alert, subjects)]
        self._state = taken_up([alert for alert in ours if alert.ended_at is None], self._book)
        self._ended.extend(sorted((one for one in ours if one.ended_at is not None), key=lambda one: -one.began_at))
        self._loaded = True
        self._changed()

    def _keep(self, alert: Alert) -> None:
        if self._store is not None:
            self._due[alert.key] = alert
            self._work()

    def _work(self) -> None:
        if self._store is not None and (self._keeping is None or self._keeping.done()):
            self._keeping = asyncio.ensure_future(self._serve(self._store))

    async def _serve(self, store: EventHistory) -> None:
        """Claim what is new, write what changed, see what others acknowledged; until nothing is left."""
        try:
            while self._new or self._due:
                if self._new:
                    await self._claim(store, self._new[0])
                    self._new.popleft()
                else:
                    key, alert = next(iter(self._due.items()))
                    await store.put_alert(alert)
                    if self._due.get(key) is alert:
                        del self._due[key]
            if self._state.alerts:
                await self._compare(store)
        except K2Error as error:
            self._say_once(str(error))
            self._to_run.extend(alert for alert in self._new if alert.is_loud)
            self._due.update((alert.key, alert) for alert in self._new)
            self._new.clear()
            self._run()

    async def _claim(self, store: EventHistory, alert: Alert) -> None:
        """It is ours to tell of, unless another k2tui of this operator did."""
        theirs = await store.claim_alert(alert)
        if theirs is None:
            if alert.is_loud:
                self._to_run.append(alert)
                self._run()
            return
        held = next((one for one in self._state.alerts if one.key == alert.key), None)
        if held is not None:
            seen = held.acknowledged_at or theirs.acknowledged_at
            known = replace(theirs, ended_at=None, acknowledged_at=seen, unseen_since=held.unseen_since)
            self._state = changed(self._state, held, known)
            self._changed()
        ours = self._due.pop(alert.key, None)
        if ours is not None:
            seen = ours.acknowledged_at or theirs.acknowledged_at
            self._due[theirs.key] = replace(theirs, ended_at=ours.ended_at, acknowledged_at=seen)

    async def _compare(self, store: EventHistory) -> None:
        """What another k2tui acknowledged is acknowledged here."""
        oldest = min((alert.began_at for alert in self._state.alerts), default=self._clock.time())
        kept = {alert.key: alert for alert in await store.put_alerts(oldest)}
        for alert in self._state.alerts:
            other = kept.get(alert.key)
            if other is not None and other.acknowledged_at is not None and alert.acknowledged_at is None:
                self._state = changed(self._state, alert, replace(alert, acknowledged_at=other.acknowledged_at))
                self._changed()

    # ---- the command

    def _run(self) -> None:
        if self._runner is None or not self.settings.command:
            self._to_run.clear()
        elif self._to_run and (self._running is None or self._running.done()):
            self._running = asyncio.ensure_future(self._run_all(self._runner))

    async def _run_all(self, runner: CommandRunner) -> None:
        """One command after another; more than a few in a minute become one."""
        while self._to_run:
            now = self._clock.monotonic()
            if len(self._ran) == COMMANDS and now - self._ran[0] < PER_S:
                await self._clock.sleep(self._ran[0] + PER_S - now)
                alert = several(self._to_run)
                self._to_run.clear()
            else:
                alert = self._to_run.pop(0)
            self._ran.append(self._clock.monotonic())
            self._commanding = True
            try:
                await runner.run(filled(self.settings.command, alert), as_json(alert))
            except K2Error as error:
                self._say_once(str(error))
            finally:
                self._commanding = False

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._tell("", sentence, Severity.WARNING)


def _subjects(nodes: Sequence[NodeView], servers: Sequence[ServerView]) -> frozenset[str]:
    nodes_here = (f"node/{node.settings.name}" for node in nodes)
    return frozenset((*nodes_here, *(server_subject(server.settings.name) for server in servers)))


def _is_of(alert: Alert, subjects: Collection[str]) -> bool:
    """It is about something of this config: another k2tui may have another."""
    kind, _, name = alert.subject.partition("/")
    return alert.subject in subjects or (kind == "gpu" and f"node/{name.rpartition('/')[0]}" in subjects)

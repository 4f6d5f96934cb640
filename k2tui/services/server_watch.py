"""One server: its runs, its log and its answers, joined into one view."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from k2tui.core.diagnosis import advice_for
from k2tui.core.errors import K2Error
from k2tui.core.eta import TimeLeft, time_left
from k2tui.core.events import Severity
from k2tui.core.history import since
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.profiles import flag_value
from k2tui.core.ring import LineRing
from k2tui.core.runs import Run, printable
from k2tui.core.settings import ServerSettings
from k2tui.core.status import answers_all_the_same, is_hung_by_silence, server_status, without_silence
from k2tui.core.views import Proof, ServerView, Witness
from k2tui.services.doors import Clock, NodeLink
from k2tui.services.http_witness import HttpReading, ask_server
from k2tui.services.log_watch import LogScripts, LogWatch
from k2tui.services.prove import prove
from k2tui.services.surroundings_watch import Around, SurroundingsWatch
from k2tui.services.tasks import ended

TICK_S = 1.0
HTTP_PERIOD_S = 30.0
"""Between two looks at a ready server's HTTP side: each leaves a line in its log."""
PROOF_RETRY_S = 30.0
PROOF_OF_HUNG_S = 300.0
"""What looks hung by its log and has work by its HTTP side is proved again after this time."""


@dataclass(frozen=True)
class ProofManners:
    """When k2tui may ask a server for tokens to learn its state."""

    generate: str
    """on-doubt | never | always."""
    max_s: float


class ServerWatch:
    """Watches one server for as long as k2tui runs; `view` is what is known now."""

    def __init__(
        self,
        settings: ServerSettings,
        link: NodeLink,
        scripts: LogScripts,
        *,
        clock: Clock,
        log_now: Callable[[], float | None],
        manners: ProofManners,
        on_change: Callable[[], None],
        around: Around,
        gpu_busy: Callable[[], float | None],
    ) -> None:
        self.settings = settings
        self.view = ServerView(settings)
        self.changed = asyncio.Event()
        """Set at each change of the view; a verb clears it and waits."""
        self.http: HttpReading | None = None
        self.api_key: str | None = None
        """What the server wants as Bearer; a run's own argv is masked. Never shown."""
        self._link, self._scripts, self._clock = link, scripts, clock
        self._log_now, self._manners, self._on_change = log_now, manners, on_change
        self._tell, self._told = around.tell, set[str]()
        self._around = SurroundingsWatch(settings, link, around, clock=clock, gpu_busy=gpu_busy, on_change=self.refresh)
        self._log: LogWatch | None = None
        self._empty_ring = LineRing()
        self._run: Run | None = None
        self._runs: tuple[Run, ...] = ()
        self._runs_at: float | None = None
        self._proof: Proof | None = None
        self._proof_at: float | None = None
        self._by_log: Launch | None = None
        """The launch by its log and its process, before other witnesses are heard."""
        self._proof_tried_at: float | None = None
        self._http_asked_at: float | None = None
        self._asking: asyncio.Task[None] | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self.doing: str | None = None

    @property
    def ring(self) -> LineRing:
        """The lines of the log that is followed now."""
        return self._log.ring if self._log is not None else self._empty_ring

    @property
    def link(self) -> LinkState:
        """How the way to its node stands."""
        return self._link.state

    @property
    def settled(self) -> bool:
        """True once what was there at the start has been read."""
        if self.settings.log is None and self._runs_at is None:
            return False
        if self._log is None:
            return True
        asking = self._asking is not None and not self._asking.done()
        return (self._log.caught_up or self._log.missing) and not self._owes_proof() and not asking

    def start(self) -> None:
        """Begin to watch."""
        if self.settings.log is not None:
            self._follow(self.settings.log)
        self._ticking = asyncio.ensure_future(self._tick())

    async def close(self) -> None:
        """Watch no more; the server is left as it is."""
        await ended(self._ticking, self._asking)
        self._look_around()  # what a short command has seen is remembered too
        await self._around.close()
        await asyncio.gather(*self._closing, return_exceptions=True)
        if self._log is not None:
            await self._log.close()

    def take_runs(self, runs: tuple[Run, ...], at: float) -> None:
        """The node's runs, newest first, as they were at time.monotonic `at`."""
        self._runs = tuple(run for run in runs if run.server == self.settings.name)
        self._runs_at = at
        newest = self._runs[0] if self._runs else None
        if newest is not None and (self._run is None or newest.run_id != self._run.run_id):
            self.attach(newest)
        else:
            self._run = newest
        self.refresh()

    def attach(self, run: Run) -> None:
        """Watch this run from now on: another log, and nothing proved yet."""
        self._run = run
        self._proof = self._proof_at = self._proof_tried_at = self._http_asked_at = None
        self.http = None
        if self.settings.log is None:
            self._follow(run.log_path)
        self.refresh()

    async def read_to_end(self) -> None:
        """Wait until the log has been read to where it ends now."""
        if self._log is not None:
            await self._log.read_to_end()
            self.refresh()

    def forget_proof(self) -> None:
        """What was proved and answered no longer counts (the server is being stopped)."""
        self._proof = self._proof_at = self.http = None
        self._proof_tried_at = self._clock.monotonic()

    async def prove(self, checks: frozenset[str]) -> Proof:
        """Ask the server for a real answer now."""
        port = self.port
        if port is None:
            return Proof(False, "no port is known to ask on")
        self._proof_tried_at = self._clock.monotonic()
        client = self._link.http(port, timeout_s=self._manners.max_s)
        try:
            argv = self._run.argv if self._run is not None else ()
            proof = await prove(client, argv=argv, checks=checks, max_s=self._manners.max_s, api_key=self.api_key)
        except K2Error as error:
            proof = Proof(False, str(error))
        finally:
            await client.aclose()
        self._proof, self._proof_at = proof, self._clock.monotonic()
        self.refresh()
        return proof

    @property
    def port(self) -> int | None:
        """Where the server answers: its own line first, then what was asked for."""
        launch = self._log.intake.launch if self._log is not None else None
        if launch is not None and launch.port is not None:
            return launch.port
        if self._run is not None:
            asked = flag_value(self._run.argv, "port")
            if asked is not None and asked.isdigit():
                return int(asked)
            return self._run.port
        return self.settings.port

    def time_left(self) -> TimeLeft | None:
        """How long its launch still takes."""
        launch = self.view.launch
        return None if launch is None else time_left(launch, self.view.around, self._log_now())

    def refresh(self) -> None:
        """Join the witnesses again; tell when the view changed."""
        try:
            view = self._joined()
        except Exception as error:  # a fault of ours must not stop the screen without a word
            self._failed(error)
            return
        if view != self.view:
            self.view = view
            self.changed.set()
            self._on_change()

    def _follow(self, path: str) -> None:
        if self._log is not None:
            task = asyncio.ensure_future(self._log.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        self._log = LogWatch(
            self._link,
            self._scripts,
            path,
            clock=self._clock,
            log_now=self._log_now,
            on_change=self.refresh,
            engine=None if self.settings.log is not None else self.settings.engine,
        )
        self._log.start()

    async def _tick(self) -> None:
        """What only time can tell: silence, an exit, an answer that is due."""
        while True:
            await self._clock.sleep(TICK_S)
            try:
                self._look_again()
            except Exception as error:
                self._failed(error)

    def _look_again(self) -> None:
        self.refresh()
        self._look_around()
        if self._log is not None and self._log.problem is not None:
            self._tell_once(self._log.problem)
        if self._asking is None or self._asking.done():
            if self._owes_proof():
                self._asking = asyncio.ensure_future(self._ask_quietly(self._prove_by_itself))
            elif self._owes_http():
                self._asking = asyncio.ensure_future(self._ask_quietly(self._ask_http))

    def _failed(self, error: Exception) -> None:
        words = printable(f"{type(error).__name__}: {error}")[:200]
        self._tell_once(f"its state could not be worked out here: {words}")

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(self.settings.name, sentence, Severity.BAD)

    def _look_around(self) -> None:
        log, launch = self._log, self.view.launch
        if log is None or launch is None or not log.caught_up:
            return
        reached = launch.phase.order >= LaunchPhase.READY.order
        self._around.consider(
            launch,
            None if self.settings.log is not None else self._run,
            log_path=log.path,
            whole=not log.skipped or reached,
            log_now=self._log_now(),
        )

    def _observed(self) -> Launch | None:
        if self._log is None:
            return None
        if not self._log.caught_up:
            return self._log.intake.launch
        run = self._run
        launch = self._log.intake.observe(
            now=self._log_now(),
            process_alive=None if run is None or self.settings.log is not None else run.alive,
            exit_code=None if run is None else run.exit_code,
            stop_asked=False if run is None else run.stop_asked,
            around=self._around.known,
        )
        return replace(launch, silence_s=None)  # grows by itself: whoever shows it reckons it from quiet_since

    def _joined(self) -> ServerView:
        now = self._clock.monotonic()
        launch = self._by_log = self._observed()
        answers = self._answers_all_the_same(now)
        log = self._log
        watched_only = self.settings.log is not None
        seen_at = log.seen_at if watched_only and log is not None else self._runs_at
        status = server_status(
            seen_age_s=None if seen_at is None else now - seen_at,
            link_up=self._link.state.phase is LinkPhase.UP,
            run=self._run,
            launch=launch,
            proof=self._proof,
            watched_only=watched_only,
            answers=answers,
        )
        if answers and launch is not None:
            launch = without_silence(launch)
        old = self.view.launch
        return ServerView(
            settings=self.settings,
            status=status,
            run=self._run,
            runs=self._runs,
            launch=launch,
            advice=self.view.advice if launch == old else (() if launch is None else advice_for(launch)),
            witnesses=self._witnesses(answers),
            proof=self._proof,
            proof_at=self._proof_at,
            doing=self.doing,
            log_path=None if log is None else log.path,
            log_seen_at=None if log is None or log.seen_at is None else math.floor(log.seen_at),
            log_behind_bytes=None if log is None else log.behind_bytes,
            seen_at=seen_at,
            around=self._around.known,
        )

    def _answers_all_the_same(self, now: float) -> bool:
        """See core.status; `now` is time.monotonic."""
        http, proof_at = self.http, self._proof_at
        idle = http is not None and http.ok and http.running == 0 and not http.waiting
        return answers_all_the_same(
            self._by_log,
            silent_s=self._silent_s(),
            proof=self._proof,
            proof_age_s=None if proof_at is None else now - proof_at,
            idle_age_s=now - http.at if http is not None and idle else None,
        )

    def _silent_s(self) -> float | None:
        """Seconds since the log's last progress; None where a clock is missing."""
        launch, log_now = self._by_log, self._log_now()
        if launch is None:
            return None
        return since(launch.quiet_since, None if log_now is None else log_now - launch.clock_ahead_s)

    def _witnesses(self, answers: bool) -> tuple[Witness, ...]:
        found: list[Witness] = []
        run = self._run
        if run is not None and self._runs_at is not None and self.settings.log is None:
            as_asked = run.alive is False and run.stop_asked
            found.append(Witness("process", None if as_asked else run.alive, _process_words(run), self._runs_at))
        if self._log is not None and self._log.seen_at is not None:
            found.append(Witness("log", *_log_words(self._log, answers), self._log.seen_at))
        if self.http is not None:
            found.append(Witness("http", self.http.ok, self.http.says, self.http.at))
        if self._proof is not None and self._proof_at is not None:
            found.append(Witness("completion", self._proof.ok, self._proof.text, self._proof_at))
        return tuple(found)

    def _serves(self) -> bool:
        """The log says ready, even if it is silent since; its process lives as far as is known; its node is there."""
        launch = self._by_log
        ready = launch is not None and (launch.kind is LaunchKind.READY or is_hung_by_silence(launch))
        alive = self.settings.log is not None or (self._run is not None and self._run.alive is not False)
        up = self._link.state.phase is LinkPhase.UP
        return ready and alive and up and self.doing is None and self.port is not None

    def _owes_proof(self) -> bool:
        if self._manners.generate == "never" or not self._serves():
            return False
        waited = self._proof_tried_at is None or self._clock.monotonic() - self._proof_tried_at > PROOF_RETRY_S
        doubt = self._proof is None or not self._proof.ok or self._manners.generate == "always"
        return waited and (doubt or self._is_old_for_a_silence())

    def _is_old_for_a_silence(self) -> bool:
        """The log is silent where it should not be: the proof is from before that, or old while there is work to do."""
        launch, silent_s = self._by_log, self._silent_s()
        if launch is None or launch.silence is None or silent_s is None or self._proof_at is None:
            return False
        age_s = self._clock.monotonic() - self._proof_at
        idle = self.http is not None and self.http.ok and self.http.running == 0
        return age_s >= silent_s or (age_s > PROOF_OF_HUNG_S and not idle)

    def _owes_http(self) -> bool:
        waited = self._http_asked_at is None or self._clock.monotonic() - self._http_asked_at > HTTP_PERIOD_S
        return waited and self._serves()

    async def _ask_quietly(self, ask: Callable[[], Awaitable[None]]) -> None:
        try:
            await ask()
        except Exception as error:
            self._failed(error)

    async def _prove_by_itself(self) -> None:
        await self.prove(frozenset())

    async def _ask_http(self) -> None:
        port = self.port
        if port is None:
            return
        self._http_asked_at = self._clock.monotonic()
        client = self._link.http(port, timeout_s=5.0)
        try:
            self.http = await ask_server(client, clock=self._clock, api_key=self.api_key)
        finally:
            await client.aclose()
        self.refresh()

    async def running_requests(self) -> int | None:
        """Requests that the server works on now, our own aside; None when it can't say."""
        if not self._serves():
            return None
        if self._asking is not None:
            await asyncio.gather(self._asking, return_exceptions=True)
        await self._ask_http()
        return None if self.http is None else self.http.running

    def mark(self, doing: str | None) -> None:
        """Say what k2tui is doing to it."""
        self.doing = doing
        self.view = replace(self.view, doing=doing)
        self.changed.set()
        self._on_change()


def _log_words(log: LogWatch, answers: bool) -> tuple[bool, str]:
    if log.problem is not None:
        return False, log.problem
    if answers:
        return False, "silent as if it hung, but the server answers"
    return not log.missing, "no such file" if log.missing else "followed"


def _process_words(run: Run) -> str:
    if run.alive:
        return "alive" if run.child is None else f"alive, pid {run.child.pid}"
    if run.alive is None:
        return "not looked at"
    if run.exit_code is not None:
        return f"gone, exit {run.exit_code}"
    return "gone, no exit was recorded"

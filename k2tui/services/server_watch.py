"""One server: its runs, its log and its answers, joined into one view."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from k2tui.core.builds import Build
from k2tui.core.disagreement import disagreement
from k2tui.core.effects import Wanted
from k2tui.core.eta import TimeLeft, time_left
from k2tui.core.events import Severity
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.history import since
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.manners import Sight, shows_capture
from k2tui.core.ring import LineRing
from k2tui.core.runs import Run, printable
from k2tui.core.settings import ServerSettings
from k2tui.core.status import is_hung_by_silence, server_status, without_silence
from k2tui.core.views import Proof, ServerStatus, ServerView
from k2tui.services.doors import Clock, NodeLink
from k2tui.services.log_watch import LogScripts, LogWatch
from k2tui.services.proofs import ProofScripts, WatchedLog, looks_at
from k2tui.services.proving import Abstains, ProofManners, Proving
from k2tui.services.serving_watch import HttpReading, ServingWatch
from k2tui.services.subject import Schedulers, Subject
from k2tui.services.surroundings_watch import Around, SurroundingsWatch
from k2tui.services.tasks import ended, is_running
from k2tui.services.watched_benches import WatchedBenches
from k2tui.services.witnesses import Known, advised, answers_after_all, statements, witnesses

__all__ = ["ProofManners", "ServerWatch"]

TICK_S = 1.0
STEADY_TICK_S = 2.0
"""Of one that is up: what its log says that is no beat is heard at once all the same."""
_WITH_FIGURES = (ServerStatus.READY, ServerStatus.UNPROVED, ServerStatus.DEGRADED, ServerStatus.HUNG)


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
        sight: Callable[[], Sight] = lambda: Sight.ON_SCREEN,
        job_running: Callable[[], bool] = lambda: False,
        proof_scripts: ProofScripts | None = None,
    ) -> None:
        """`sight`: how much is seen of it; `job_running`: one of ours; `proof_scripts`: to look at its processes."""
        self.settings = settings
        self.view = ServerView(settings)
        self.changed = asyncio.Event()
        """Set at each change of the view; a verb clears it and waits."""
        self.api_key: str | None = None
        """What the server wants as Bearer; a run's own argv is masked. Never shown."""
        self.doing: str | None = None
        self.build: Build | None = None
        """The engine as it is installed for it; None until it was read."""
        self.benches = WatchedBenches()
        self._link, self._scripts, self._proof_scripts, self._clock = link, scripts, proof_scripts, clock
        self._log_now, self._on_change, self._job_running = log_now, on_change, job_running
        self._tell, self._told = around.tell, set[str]()
        self._around = SurroundingsWatch(settings, link, around, clock=clock, gpu_busy=gpu_busy, on_change=self.refresh)
        self._sight = sight
        self._serving = ServingWatch(link, engine=settings.engine, clock=clock, sight=sight, on_change=self.refresh)
        self._proving = Proving(link, manners, clock)
        self._subject = Subject(settings)
        self._log: LogWatch | None = None
        self._empty_ring = LineRing()
        self._by_log: Launch | None = None
        """The launch by its log and its process, before other witnesses are heard."""
        self._asking: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._ticking: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def http(self) -> HttpReading | None:
        """What the HTTP side said last."""
        return self._serving.http

    @property
    def ring(self) -> LineRing:
        """The lines of the log that is followed now."""
        return self._log.ring if self._log is not None else self._empty_ring

    @property
    def link(self) -> LinkState:
        """How the way to its node stands."""
        return self._link.state

    @property
    def found_alive(self) -> FoundServer | None:
        """What somebody else started, as long as it is there."""
        return None if self._subject.found_gone else self._subject.found

    @property
    def settled(self) -> bool:
        """True once what was there at the start has been read."""
        if not self._subject.is_log_alone and self._subject.seen_at is None:
            return False
        if is_running(self._asking) or is_running(self._looking):
            return False
        log, unseen = self._log, self.http is None and self._owes_look()
        return not unseen and (log is None or ((log.caught_up or log.missing) and not self._owes_proof()))

    def start(self) -> None:
        """Begin to watch."""
        if self.settings.log is not None:
            self._follow(self.settings.log)
        self._ticking = asyncio.ensure_future(self._tick())

    async def close(self) -> None:
        """Watch no more; the server is left as it is."""
        await ended(self._ticking, self._asking, self._looking)
        self._look_around()  # what a short command has seen is remembered too
        await self._serving.close()
        await self._around.close()
        await asyncio.gather(*self._closing, return_exceptions=True)
        if self._log is not None:
            await self._log.close()

    def take_runs(self, runs: tuple[Run, ...], at: float) -> None:
        """The node's runs, newest first, as they were at time.monotonic `at`."""
        another = self._subject.take_runs(runs, at)
        if another is not None:
            self.attach(another)
        self.refresh()

    def take_processes(self, processes: Sequence[NodeProcess], at: float) -> None:
        """Engines' processes of the node as they were at time.monotonic `at`."""
        self._subject.take_processes(processes, at)
        self.refresh()

    def take_found(self, found: FoundServer | None, at: float) -> None:
        """What somebody else started, as it was at time.monotonic `at`; None: its process is gone."""
        another = self._subject.is_another(found)
        if another:
            self._begin_again()
        self._subject.take_found(found, at)
        if another and found is not None and found.log is not None and self.settings.log is None:
            self._follow(found.log)
        self.refresh()

    def attach(self, run: Run) -> None:
        """Watch this run from now on: another log, and nothing proved yet."""
        self._subject.run = run
        if run.alive:  # what somebody else had running there before is not what is watched now
            self._subject.found, self._subject.found_gone = None, False
        self._begin_again()
        if self.settings.log is None:
            self._follow(run.log_path)
        self.refresh()

    def _begin_again(self) -> None:
        self._proving.begin_again()
        self._serving.forget()
        self._subject.schedulers, self._subject.schedulers_at = Schedulers(), None

    async def read_to_end(self) -> None:
        """Wait until the log has been read to where it ends now."""
        if self._log is not None:
            await self._log.read_to_end()
            self.refresh()

    def forget_proof(self) -> None:
        """What was proved and answered no longer counts (the server is being stopped)."""
        self._proving.forget()
        self._serving.forget()

    @property
    def abstains(self) -> Abstains:
        """What forbids to make it generate, now."""
        subject = self._subject
        return Abstains(shows_capture(subject.argv, subject.env), self._job_running(), self.benches.live is not None)

    async def prove(self, wanted: Wanted) -> Proof:
        """Look now at every effect that is wanted, as the operator wants it."""
        return await self._prove(wanted, asked=True)

    async def _prove(self, wanted: Wanted, *, asked: bool) -> Proof:
        subject, log, launch = self._subject, self._log, self._by_log
        proof = await self._proving.prove(
            self.port,
            self.abstains,
            argv=subject.argv,
            wanted=wanted,
            api_key=self.api_key,
            engine=self.settings.engine,
            version=None if launch is None else launch.version,
            node=looks_at(subject, self._link, self._proof_scripts),
            log=None if log is None else WatchedLog(log),
            asked=asked,
        )
        if proof.ok:
            self._serving.lives(self._clock.monotonic())
        self.refresh()
        return proof

    @property
    def port(self) -> int | None:
        """Where the server answers: its own line first, then what was asked for."""
        launch = self._log.intake.launch if self._log is not None else None
        if launch is not None and launch.port is not None:
            return launch.port
        return self._subject.port

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

    def _is_steady(self) -> bool:
        """It is up, and nothing is being done to it: its lines are beats."""
        launch = self.view.launch
        up = launch is not None and launch.kind is LaunchKind.READY and self._log is not None and self._log.caught_up
        return up and self.doing is None

    def _log_moved(self) -> None:
        """Lines came. The beats of a server that is up wait for the next tick: there are some every second."""
        log, shown = self._log, self.view.launch
        if log is not None and log.caught_up and shown is not None and shown.phase.order >= LaunchPhase.READY.order:
            launch = log.intake.launch
            if (launch.phase, launch.kind) == (shown.phase, shown.kind):
                return
        self.refresh()

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
            on_change=self._log_moved,
            engine=None if self.settings.log is not None else self.settings.engine,
        )
        self._log.start()

    async def _tick(self) -> None:
        """What only time can tell: silence, an exit, an answer that is due."""
        while True:
            await self._clock.sleep(STEADY_TICK_S if self._is_steady() else TICK_S)
            try:
                self._look_again()
            except Exception as error:
                self._failed(error)

    def _look_again(self) -> None:
        self.refresh()
        if self._log is not None:
            self._log.hurry(hurried=not self._is_steady() or self._sight() is Sight.FOCUSED)
        self._look_around()
        if self._log is not None and self._log.problem is not None:
            self._tell_once(self._log.problem)
        if not is_running(self._asking) and self._owes_proof():
            self._asking = asyncio.ensure_future(self._quietly(lambda: self._prove(Wanted(), asked=False)))
        if not is_running(self._looking) and self._owes_look():
            self._looking = asyncio.ensure_future(self._quietly(self._look_at_http))

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
            None if self._subject.is_log_alone else self._subject.run,
            log_path=log.path,
            whole=self._subject.found is None and (not log.skipped or reached),  # others' launches are not our history
            log_now=self._log_now(),
        )

    def _observed(self) -> Launch | None:
        if self._log is None:
            return None
        if not self._log.caught_up:
            return self._log.intake.launch
        run = self._subject.run
        launch = self._log.intake.observe(
            now=self._log_now(),
            process_alive=self._subject.is_alive,
            exit_code=None if run is None else run.exit_code,
            stop_asked=False if run is None else run.stop_asked,
            around=self._around.known,
        )
        return replace(launch, silence_s=None)  # grows by itself: whoever shows it reckons it from quiet_since

    def _joined(self) -> ServerView:
        now = self._clock.monotonic()
        launch = self._by_log = self._observed()
        if launch is not None and self._serves():
            self._serving.take_log(launch, self._silent_s())
        answers = answers_after_all(launch, self._silent_s(), self._serving, self._proving, now)
        log, subject = self._log, self._subject
        seen_at = log.seen_at if subject.is_log_alone and log is not None else subject.seen_at
        known = self._known(answers)
        status = server_status(
            seen_age_s=None if seen_at is None else now - seen_at,
            link_up=self._link.state.phase is LinkPhase.UP,
            run=subject.run,
            launch=launch,
            proof=self._proving.proof,
            watched_only=subject.is_log_alone,
            answers=answers,
            dead=subject.schedulers.missing > 0 or self._serving.is_dead(now),
            found=subject.is_found,
            http_ok=None if self.http is None else self.http.ok,
            generates=self._serving.generates,
        )
        if answers and launch is not None:
            launch = without_silence(launch)
        old = self.view.launch
        return ServerView(
            settings=self.settings,
            status=status,
            run=subject.run,
            runs=subject.runs,
            launch=launch,
            advice=self.view.advice if launch == old else advised(launch),
            witnesses=witnesses(known),
            proof=self._proving.proof,
            proof_at=self._proving.proof_at,
            doing=self.doing,
            log_path=None if log is None else log.path,
            log_seen_at=None if log is None or log.seen_at is None else math.floor(log.seen_at),
            log_behind_bytes=None if log is None else log.behind_bytes,
            seen_at=seen_at,
            around=self._around.known,
            serving=self._serving.reading if status in _WITH_FIGURES else None,
            found=subject.found,
            planned=subject.planned,
            build=self.build,
            disagreement=None if self.doing is not None else disagreement(statements(known, now)),
            bench=self.benches.live,
            last_bench=self.benches.last,
            base=self.benches.base,
        )

    def _known(self, answers: bool) -> Known:
        return Known(
            subject=self._subject,
            log=self._log,
            launch=self._by_log,
            serving=self._serving,
            proof=self._proving.proof,
            proof_at=self._proving.proof_at,
            port=self.port,
            answers=answers,
        )

    def _silent_s(self) -> float | None:
        """Seconds since the log's last progress; None where a clock is missing."""
        launch, log_now = self._by_log, self._log_now()
        if launch is None:
            return None
        return since(launch.quiet_since, None if log_now is None else log_now - launch.clock_ahead_s)

    def _serves(self) -> bool:
        """The log says ready, even if it is silent since; its process lives as far as is known; its node is there.

        A server of somebody else may have no log that tells: its HTTP side is asked.
        """
        launch = self._by_log
        ready = launch is not None and (launch.kind is LaunchKind.READY or is_hung_by_silence(launch))
        subject = self._subject
        if subject.is_found:
            ready = ready or launch is None or launch.kind is LaunchKind.LOADING
        there = subject.is_known and subject.is_alive is not False
        up = self._link.state.phase is LinkPhase.UP
        return ready and there and up and self.doing in (None, "draining") and self.port is not None

    def _owes_proof(self) -> bool:
        http = self.http
        if not self._serves() or self._serving.pulse.unanswered_since is not None:
            return False
        if self._subject.is_found and not self._subject.may_be_asked(http):
            return False
        launch = self._by_log
        silent_s = None if launch is None or launch.silence is None else self._silent_s()
        return self._proving.is_owed(self.abstains, silent_s=silent_s, idle=http is not None and http.is_idle)

    def _owes_look(self) -> bool:
        return self._serves() and self._serving.is_due()

    async def _quietly(self, ask: Callable[[], Awaitable[object]]) -> None:
        try:
            await ask()
        except Exception as error:
            self._failed(error)

    async def _look_at_http(self) -> None:
        port = self.port
        if port is not None:
            await self._serving.look(port, api_key=self.api_key)

    async def running_requests(self) -> int | None:
        """Requests that the server works on now, our own aside; None when it can't say."""
        if not self._serves():
            return None
        waited = [task for task in (self._asking, self._looking) if task is not None]
        await asyncio.gather(*waited, return_exceptions=True)
        await self._look_at_http()
        return None if self.http is None else self.http.running

    def mark(self, doing: str | None) -> None:
        """Say what k2tui is doing to it."""
        self.doing = doing
        self.view = replace(self.view, doing=doing)
        self.changed.set()
        self._on_change()

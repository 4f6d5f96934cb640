"""Looks for engines on a node that somebody else started, and knows whose the processes are that hold its GPUs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from k2tui.core.errors import K2Error
from k2tui.core.foreign.owner import is_of_a_run, with_gpus, writes_a_run_log
from k2tui.core.foreign.report import FoundReport, parse
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.link import LinkPhase
from k2tui.core.pace import SHOWN_FOUND_S
from k2tui.core.readings import NodeReading
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.services.doors import Clock, NodeLink, Script
from k2tui.services.tasks import ended

LOOK_LIMIT_S = 15.0
MOST_PIDS = 256
JUST_STARTED_S = 30.0
"""A process this young that writes a run's log is a run that the list of runs may not have yet."""


def found_script(script: Callable[[str], Script]) -> Script:
    """The script with what the scripts of runs share in front."""
    return Script("find_servers", f"{script('runs').text}\n{script('find_servers').text}")


class FoundServers:
    """Keeps what runs on a node fresh while its link is up."""

    def __init__(
        self,
        link: NodeLink,
        script: Script,
        *,
        clock: Clock,
        on_change: Callable[[], None],
        reading: Callable[[], NodeReading],
        own_runs: Callable[[], Collection[Run] | None],
        on_look: Callable[[], None] = lambda: None,
    ) -> None:
        """`reading`: the node's newest. `own_runs`: the runs of servers of the config; None: nobody has looked yet.

        `on_change`: something is another. `on_look`: it was looked, whether or not; `at` is another.
        """
        self.servers: tuple[FoundServer, ...] = ()
        """Engines that no run of the config's servers is, the oldest first."""
        self.processes: tuple[NodeProcess, ...] = ()
        """Engines' processes, k2tui's own too, and those that hold a GPU, by pid."""
        self.at: float | None = None
        """time.monotonic of the last look; None before the first."""
        self.problem: K2Error | None = None
        """Why the last look failed; None when it did not."""
        self._link, self._script, self._clock, self._on_change = link, script, clock, on_change
        self._reading, self._own_runs, self._on_look = reading, own_runs, on_look
        self._period_s = SHOWN_FOUND_S
        self._sooner = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._looking = asyncio.Lock()

    @property
    def period_s(self) -> float:
        """Seconds between two looks, as core/pace.py has it."""
        return self._period_s

    @period_s.setter
    def period_s(self, seconds: float) -> None:
        if seconds < self._period_s:
            self._sooner.set()
        self._period_s = seconds

    @property
    def is_settled(self) -> bool:
        """It was looked once, or can't be."""
        return self.at is not None or self.problem is not None

    def start(self) -> None:
        """Begin to look, in the background."""
        self._task = asyncio.ensure_future(self._run())

    async def close(self) -> None:
        """Look no more."""
        await ended(self._task)

    async def look(self) -> None:
        """Look now; raises K2Error when the node can't be asked."""
        async with self._looking:
            reading = self._reading()
            pids = sorted({held.pid for held in reading.gpu_processes if held.pid > 1})[:MOST_PIDS]
            done = await self._link.run(self._script, [str(pid) for pid in pids], timeout_s=LOOK_LIMIT_S)
            report = parse(done.stdout, pids)
            if report is None:
                raise K2Error(
                    f"the look at the processes of {self._link.name} broke off with exit {done.code}",
                    code="look_failed",
                    subject=self._link.name,
                    hint=f"k2tui doctor {self._link.name}",
                )
            self._take(report, reading)

    def _take(self, report: FoundReport, reading: NodeReading) -> None:
        before = (self.servers, self.processes, self.problem, self.at is None)
        began = {process.identity: process.began_at for process in self.processes}
        runs = self._own_runs()
        found = () if runs is None else self._foreign(report, runs)
        self.servers = tuple(
            with_gpus(_as_before(server, began), reading.gpus, reading.gpu_processes) for server in found
        )
        self.processes = tuple(_began_as_before(process, began) for process in report.processes)
        self.problem = None
        if runs is not None:
            self.at = self._clock.monotonic()
        self._on_look()
        if (self.servers, self.processes, None, self.at is None) != before:
            self._on_change()

    def _foreign(self, report: FoundReport, runs: Collection[Run]) -> Sequence[FoundServer]:
        return [
            server
            for server in report.servers
            if not is_of_a_run(server, runs)
            and not (writes_a_run_log(server) and report.age_s(server.process) < JUST_STARTED_S)
        ]

    async def _run(self) -> None:
        while True:
            if self._link.state.phase is not LinkPhase.UP or self._own_runs() is None:
                await self._clock.sleep(0.5)
                continue
            try:
                await self.look()
            except K2Error as error:
                if self.problem is None or self.problem.message != error.message:
                    self.problem = error
                    self._on_change()
            await self._pause()

    async def _pause(self) -> None:
        """Until the next look is due, also when it became due sooner meanwhile."""
        began = self._clock.monotonic()
        while (left_s := began + self._period_s - self._clock.monotonic()) > 0:
            self._sooner.clear()
            sleeps = asyncio.ensure_future(self._clock.sleep(left_s))
            waits = asyncio.ensure_future(self._sooner.wait())
            try:
                await asyncio.wait((sleeps, waits), return_when=asyncio.FIRST_COMPLETED)
            finally:
                await ended(sleeps, waits)


Began = dict[ProcessIdentity, float | None]


def _as_before(server: FoundServer, began: Began) -> FoundServer:
    """The kernel's own idea of when it booted moves with the clock; a process began when it was first seen to."""
    workers = tuple(_began_as_before(worker, began) for worker in server.workers)
    return replace(server, process=_began_as_before(server.process, began), workers=workers)


def _began_as_before(process: NodeProcess, began: Began) -> NodeProcess:
    known = began.get(process.identity)
    return process if known is None or known == process.began_at else replace(process, began_at=known)


class FoundNames:
    """Names for servers that nobody named: the same one for as long as a server runs, and for its successor."""

    def __init__(self, taken: Callable[[], Collection[str]], *, several_nodes: bool = False) -> None:
        self._taken = taken
        """The names of the config's servers."""
        self._several_nodes = several_nodes
        """Names are unlike without looking at other nodes: else the node that answers first would take the short one,
        and history and alerts, which are kept by name, would be another server's the next time."""
        self._names: dict[tuple[str, ProcessIdentity], str] = {}

    def name_of(self, found: FoundServer, node: str) -> str:
        """`sglang-30000`; `sglang-30000@gpu-b`, where there are several nodes, or another server has that name."""
        key = (node, found.process.identity)
        if key not in self._names:
            taken = {*self._taken(), *self._names.values()}
            names = _candidates(found, node)[1::2] if self._several_nodes else _candidates(found, node)
            self._names[key] = next((name for name in names if name not in taken), names[-1])
        return self._names[key]

    def forget(self, node: str, alive: Collection[FoundServer]) -> None:
        """Let go of the names of servers that do not run on this node any more."""
        here = {found.process.identity for found in alive}
        self._names = {
            (where, identity): name
            for (where, identity), name in self._names.items()
            if where != node or identity in here
        }


def _candidates(found: FoundServer, node: str) -> tuple[str, ...]:
    pid = found.process.pid
    plain = f"{found.engine}-{pid if found.port is None else found.port}"
    with_pid = f"{plain}-{pid}"
    return plain, f"{plain}@{node}"[:64], with_pid, f"{with_pid}@{node}"[:64]

"""Whose process is watched: a run of k2tui's, or an engine that somebody else started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from k2tui.core.flags import flag_value
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.services.serving_watch import HttpReading

_SCHEDULERS = ("sglang::scheduler", "VLLM::EngineCore", "VLLM::Worker")
"""Titles of the processes that do the work; SGLang 0.4.6 and later, vLLM 0.9 and later."""

STALE_LISTS = 2
"""As many lists may have been on their way when a run began."""


@dataclass
class Schedulers:
    """How many worker processes a server has, and how many it had."""

    left: int | None = None
    """None: nobody looked."""
    most: int = 0

    def take(self, processes: Sequence[NodeProcess]) -> None:
        """The server's processes as they are now."""
        count = sum(process.title.startswith(_SCHEDULERS) for process in processes)
        self.most = max(self.most, count)
        self.left = count if self.most else None

    @property
    def missing(self) -> int:
        """How many are gone that were there."""
        return 0 if self.left is None else self.most - self.left


@dataclass
class Subject:
    """What is known of the process behind a server; times are time.monotonic of the looks."""

    settings: ServerSettings
    run: Run | None = None
    runs: tuple[Run, ...] = ()
    """Newest first."""
    runs_at: float | None = None
    planned: Run | None = None
    """A run that a restart wrote down and has not begun."""
    found: FoundServer | None = None
    """As it was seen last."""
    found_at: float | None = None
    found_gone: bool = False
    schedulers: Schedulers = field(default_factory=Schedulers)
    schedulers_at: float | None = None
    missed: int = 0
    """How many lists in a row had nothing of the run that is watched."""

    @property
    def is_log_alone(self) -> bool:
        """Known by a log of the config: there is no process to ask."""
        return self.settings.log is not None

    @property
    def is_known(self) -> bool:
        """There is something to watch."""
        return self.is_log_alone or self.found is not None or self.run is not None

    @property
    def is_alive(self) -> bool | None:
        """By its process; None where none is known."""
        if self.is_log_alone:
            return None
        if self.found is not None:
            return not self.found_gone
        return None if self.run is None else self.run.alive

    @property
    def is_found(self) -> bool | None:
        """Somebody else's, and there (True) or gone (False); None: k2tui's own."""
        return None if self.found is None else not self.found_gone

    @property
    def seen_at(self) -> float | None:
        """The last look at the process."""
        looks = (self.runs_at if self.found is None else self.found_at, self.schedulers_at)
        return max((at for at in looks if at is not None), default=None)

    @property
    def argv(self) -> tuple[str, ...]:
        """What it was started with, secrets masked."""
        return self.found.argv if self.found is not None else () if self.run is None else self.run.argv

    @property
    def env(self) -> tuple[tuple[str, str], ...]:
        """Its variables as far as they are known, secrets masked."""
        return self.found.env if self.found is not None else () if self.run is None else self.run.env

    @property
    def port(self) -> int | None:
        """The one that was asked for, where its own line does not say."""
        if self.found is not None and self.found.port is not None:
            return self.found.port
        if self.run is None:
            return self.settings.port
        return _port_of(self.run.argv) or self.run.port

    def is_another(self, found: FoundServer | None) -> bool:
        """Is it another process than the one that was seen last?"""
        if found is None:
            return False
        return self.found is None or self.found.process.identity != found.process.identity

    def take_found(self, found: FoundServer | None, at: float) -> None:
        """What is seen of it now; None: its process is gone."""
        self.found_at, self.found_gone = at, found is None
        if found is not None:
            self.found = found
            self.schedulers.take(found.workers)

    def take_runs(self, runs: Sequence[Run], at: float) -> Run | None:
        """The node's runs, newest first. Gives the one to watch from now on when that is another one than before.

        A list that was made before a run began arrives after its start was told: it does not take the run away again.
        """
        mine = [run for run in runs if run.server == self.settings.name]
        begun = tuple(run for run in mine if not run.is_planned)
        newest = next(iter(begun), None)
        if self._is_older(begun) and self.missed < STALE_LISTS:
            self.missed += 1
            return None
        self.missed = 0
        self.planned = next((run for run in mine if run.is_planned), None)
        self.runs, self.runs_at = begun, at
        if newest is not None and (self.run is None or newest.run_id != self.run.run_id):
            return newest
        self.run = newest
        return None

    def _is_older(self, runs: Sequence[Run]) -> bool:
        """Does this list end before the run that is watched began?"""
        watched = self.run
        if watched is None or any(run.run_id == watched.run_id for run in runs):
            return False
        return all(run.run_id.rpartition("-")[0] <= watched.run_id.rpartition("-")[0] for run in runs)

    def take_processes(self, processes: Sequence[NodeProcess], at: float) -> None:
        """Processes of the node; those of this run's session are looked for among them."""
        run = self.run
        if run is not None and run.session_id is not None and run.alive is not False:
            self.schedulers.take([process for process in processes if process.session == run.session_id])
            self.schedulers_at = at

    def may_be_asked(self, http: HttpReading | None) -> bool:
        """A server of somebody else is asked for a completion only where it can't hurt: it is up, takes us in, has
        nothing to do, and its environment can be read, so that a capture would show."""
        if self.found is None:
            return True
        return http is not None and http.is_idle and not http.wants_key and not self.found.env_unknown


@lru_cache(maxsize=512)
def _port_of(argv: tuple[str, ...]) -> int | None:
    """The port of a command line; asked for at every tick."""
    asked = flag_value(argv, "port")
    return int(asked) if asked is not None and asked.isdecimal() and len(asked) < 6 else None

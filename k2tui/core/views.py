"""The state of the world as screens and plain commands see it: frozen, made by services, drawn by anyone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from k2tui.core.builds import Build
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.launch import Advice, Launch
from k2tui.core.link import LinkState
from k2tui.core.readings import NodeReading
from k2tui.core.runs import Run
from k2tui.core.serving import ServingReading
from k2tui.core.settings import NodeSettings, ServerSettings
from k2tui.core.surroundings import NOTHING_KNOWN, Surroundings
from k2tui.core.verdicts import Effect

if TYPE_CHECKING:
    from k2tui.core.benching.live import BenchLive
    from k2tui.core.benching.result import BenchResult


class ServerStatus(Enum):
    """One word for a server, joined from all its witnesses."""

    UNKNOWN = "unknown"
    """Nothing was seen yet, or the node was never reached."""
    DOWN = "down"
    """Not running, and nothing says that it failed: never started, or stopped as asked."""
    LOADING = "loading"
    UNPROVED = "unproved"
    """The log says ready; no completion was seen yet."""
    READY = "ready"
    """Ready by its log and by a completion that came back."""
    DEGRADED = "degraded"
    MISCONFIGURED = "misconfigured"
    CRASHED = "crashed"
    HUNG = "hung"
    STALE = "stale"
    """Its node is out of reach; the last known state is old."""


@dataclass(frozen=True, slots=True)
class Witness:
    """One way to know, what it said and when."""

    name: str
    """process | port | log | heartbeat | http | scheduler | metrics | completion."""
    ok: bool | None
    """None: it could not tell."""
    says: str
    """A few words, such as `alive, pid 41233` or `HTTP 200 in 12 ms`."""
    at: float
    """time.monotonic of the observation."""


@dataclass(frozen=True, slots=True)
class NodeView:
    """One node."""

    settings: NodeSettings
    link: LinkState = LinkState()
    reading: NodeReading = NodeReading()
    processes: tuple[NodeProcess, ...] = ()
    """Engines' processes and those that hold a GPU."""
    processes_at: float | None = None
    """time.monotonic of the last look; None before the first."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A real answer of a server, and which effects of its flags it showed."""

    ok: bool
    text: str
    """One sentence, such as `47 tokens in 0.9 s; reasoning apart from content`."""
    effects: tuple[Effect, ...] = ()
    """Every effect that was looked at, the completion and the server's identity among them."""
    tokens: int | None = None
    """Made for it, by all its generations together."""
    elapsed_s: float | None = None
    """How long all of it took."""
    completion_s: float | None = None
    """How long its plain completion took."""


@dataclass(frozen=True, slots=True)
class ServerView:
    """One server of the config, or a watched log."""

    settings: ServerSettings
    status: ServerStatus = ServerStatus.UNKNOWN
    run: Run | None = None
    """The newest run; None when the node knows none or was not reached."""
    runs: tuple[Run, ...] = ()
    """Run history, newest first."""
    launch: Launch | None = None
    advice: tuple[Advice, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    proof: Proof | None = None
    proof_at: float | None = None
    """time.monotonic."""
    doing: str | None = None
    """What k2tui is doing to it now: `starting`, `stopping`; None when nothing."""
    log_path: str | None = None
    log_seen_at: float | None = None
    """time.monotonic of the last log byte or follower heartbeat, in whole seconds."""
    log_behind_bytes: int | None = None
    seen_at: float | None = None
    """time.monotonic of the last look at its process."""
    around: Surroundings = NOTHING_KNOWN
    """Its weight files, its earlier launches, what moves on its node."""
    serving: ServingReading | None = None
    """Its live figures; None before the first, and while it does not serve."""
    found: FoundServer | None = None
    """The process that somebody else started: this view is of a server that k2tui only looks at."""
    planned: Run | None = None
    """A restart that was begun and not ended: the run that was to follow. It can be continued or undone."""
    build: Build | None = None
    """The engine as it is installed for it; None until it was read."""
    disagreement: str | None = None
    """Where its witnesses contradict each other, in one sentence; None while they do not."""
    bench: BenchLive | None = None
    """The benchmark that goes on now; None while none does."""
    last_bench: BenchResult | None = None
    """The newest benchmark of it that this side remembers."""
    base: BenchResult | None = None
    """What the operator made its base: shown beside its live tok/s."""

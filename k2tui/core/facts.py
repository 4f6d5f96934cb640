"""What one line of a log says: the facts that move a launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from k2tui.core.launch import LaunchPhase, Progress


@dataclass(frozen=True, slots=True)
class Line:
    """One piece of a log: a finished line, or what a redrawn line showed in between."""

    text: str
    """All of it as it looked, with every prefix; what an operator is shown."""
    message: str
    """Without the prefixes of runtimes, processes and loggers; of a glued line only this piece."""
    number: int = 0
    """Counts newline-terminated lines of the file, from 1; 0 where it is not known."""
    stamp: str | None = None
    """The logger's own time as printed."""
    rank: str | None = None
    """As printed: `TP3`, `DP0 TP1`; None where the line has none."""
    service: str = ""
    """The service or pod in front, where compose or kubectl names one; several may write one log."""
    host: str = ""
    """The machine in front, where a collector names one."""
    speaker: str = ""
    """The process that the engine names in front, such as `Worker_TP1 pid=307`; empty where it names none."""
    level: str | None = None
    """INFO, WARNING, ERROR where printed."""

    @property
    def voice(self) -> tuple[str, str, str]:
        """Whose lines belong together."""
        return self.host, self.service, self.speaker

    @property
    def is_record(self) -> bool:
        """It comes from a logger: it has a time or a level of its own."""
        return self.stamp is not None or self.level is not None


NOWHERE = Line("", "")


class Standing(IntEnum):
    """How good a line is as an explanation; of equals the first one wins."""

    ECHO = 1
    """A healthy process that noticed the end of another."""
    DIED = 2
    """A parent that names the child that died, and how."""
    BARRIER = 3
    """A rank that names the missing ranks."""
    WATCHDOG = 4
    """A time-out that ended it."""
    CAUSE = 5
    """The fault itself."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Where it was said; two facts are equal when they say the same."""

    line: Line = field(default=NOWHERE, compare=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class ArgsSeen(Fact):
    """The server printed the arguments it runs with: a start begins here."""

    values: Mapping[str, str]
    """The ones that the model looks at, as text."""
    names: frozenset[str] = frozenset()
    """Every argument that this version knows, where it printed them all."""
    version: str | None = None


@dataclass(frozen=True, slots=True)
class VersionSeen(Fact):
    """The engine named its version."""

    version: str
    begins: bool = False
    """It is the first line of a start."""


@dataclass(frozen=True, slots=True)
class PhaseReached(Fact):
    """A marker of a phase, from one rank or from the main process."""

    phase: LaunchPhase


@dataclass(frozen=True, slots=True)
class WeightsBegan(Fact):
    """A rank began to load weights; a rank's second time is the draft model's."""

    draft: bool = False


@dataclass(frozen=True, slots=True)
class RankLoaded(Fact):
    """A rank has its weights, repacked and all (`Load weight end`)."""


@dataclass(frozen=True, slots=True)
class BarDrawn(Fact):
    """A progress bar was drawn."""

    progress: Progress
    phase: LaunchPhase | None = None
    """The phase that such a bar belongs to; None for bars that can stand anywhere."""
    elapsed_s: int | None = None
    """The bar's own count of seconds."""


@dataclass(frozen=True, slots=True)
class KvAllocated(Fact):
    """The KV cache has its memory."""

    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class CapacitySeen(Fact):
    """The scheduler is up and says what it can hold (`max_total_num_tokens`)."""

    tokens: int


@dataclass(frozen=True, slots=True)
class HttpStarted(Fact):
    """The web server runs its start-up; nothing is proved by that on SGLang."""

    complete: bool = False
    """`Application startup complete`: on vLLM that is ready."""


@dataclass(frozen=True, slots=True)
class PortAsked(Fact):
    """The command line, where the log shows it, names a port."""

    port: int


@dataclass(frozen=True, slots=True)
class PortBound(Fact):
    """The web server named its port."""

    port: int


@dataclass(frozen=True, slots=True)
class ServerReady(Fact):
    """`The server is fired up and ready to roll!`"""


@dataclass(frozen=True, slots=True)
class EncoderSeen(Fact):
    """The server only encodes images for others: it says no more of itself than that it answers."""


@dataclass(frozen=True, slots=True)
class JobSeen(Fact):
    """A script that runs a model over a data set, not a server, prints here."""


@dataclass(frozen=True, slots=True)
class SlowWork(Fact):
    """A compilation began that may be silent for many minutes."""


@dataclass(frozen=True, slots=True)
class Waiting(Fact):
    """A process says that it waits; repeated, it is no progress, but it may explain a silence."""

    failure: str


@dataclass(frozen=True, slots=True)
class HealthFailed(Fact):
    """The web server had no answer from its scheduler for a while."""


class BeatKind(Enum):
    """What a running server says all the time."""

    DECODE = "decode"
    PREFILL = "prefill"
    STATS = "stats"
    REQUEST = "request"
    """A request on a route that generates was answered."""
    POLL = "poll"
    """A health check or the like was answered with 200."""


@dataclass(frozen=True, slots=True)
class Beat(Fact):
    """A heartbeat of a running server."""

    kind: BeatKind
    running: int | None = None
    """Requests in the running batch."""
    queued: int | None = None
    tokens_per_s: float | None = None
    """Generated, all streams of this scheduler together."""
    usage: float | None = None
    """Share of the KV cache in use, 0 to 1."""
    probe: bool = False
    """It looks like a health check's: one new token."""
    idle: bool = False
    """Nothing moved although the line came."""


@dataclass(frozen=True, slots=True)
class StopSeen(Fact):
    """It was asked to stop (SIGTERM, SIGINT), and says so."""


@dataclass(frozen=True, slots=True)
class EndSeen(Fact):
    """The server says that it ends because something failed, not what (sigquit, Killed)."""


@dataclass(frozen=True, slots=True)
class Fault(Fact):
    """A line that may explain a failure."""

    text: str
    """The message by which it is classed."""
    failure: str
    """The failure class."""
    standing: Standing = Standing.CAUSE
    fatal: bool = False
    """The process that printed it does not live on."""
    refusal: bool = False
    """The engine refused its arguments before any worker started."""
    phase: LaunchPhase | None = None
    """The phase that its stack or its text names."""
    chain: int = 0
    """Faults of one chain of exceptions have one number; a later one replaces the earlier. 0: on its own."""
    engine: str | None = None
    """Whose code the stack shows."""


@dataclass(frozen=True, slots=True)
class ServiceEnded(Fact):
    """Compose says that one of its services ended."""

    service: str
    code: int


@dataclass(frozen=True, slots=True)
class Remarked(Fact):
    """A line that fails nothing and moves nothing, and yet tells of a setting."""

    name: str
    """deprecated_flag | setting_ignored | backend_replaced | backend_used | backend_default | parsers_detected
    | on_cpu."""
    subject: str
    """The flag or setting; of a back-end the sentence, of detected parsers the reasoning parser."""
    more: str
    """What is used or advised instead; of detected parsers the tool-call parser."""


LaunchFact = (
    ArgsSeen
    | VersionSeen
    | PhaseReached
    | WeightsBegan
    | RankLoaded
    | BarDrawn
    | KvAllocated
    | CapacitySeen
    | HttpStarted
    | PortAsked
    | PortBound
    | ServerReady
    | EncoderSeen
    | JobSeen
    | SlowWork
    | Waiting
    | HealthFailed
    | Beat
    | StopSeen
    | EndSeen
    | Fault
    | Remarked
    | ServiceEnded
)

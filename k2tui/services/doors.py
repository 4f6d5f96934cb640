"""The doors that services need, as Protocols. Adapters satisfy them; tests hand in fakes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from k2tui.core.alerts import Alert
from k2tui.core.events import Event
from k2tui.core.history import PastLaunch
from k2tui.core.link import LinkState
from k2tui.core.runs import Run
from k2tui.core.series import Samples, SeriesKey, UsualRate
from k2tui.core.settings import ProfileSettings

if TYPE_CHECKING:
    from k2tui.core.benching.result import BenchResult
    from k2tui.core.benching.series import SeriesState


@dataclass(frozen=True, slots=True)
class Completed:
    """A remote script that ended."""

    code: int
    stdout: bytes
    stderr: bytes


@dataclass(frozen=True, slots=True)
class Script:
    """A constant POSIX sh script from k2tui/remote; values travel as positional arguments or stdin only."""

    name: str
    text: str


class RemoteStream(Protocol):
    """A remote script that runs on: its stdout as bytes, its stdin as its leash."""

    async def readline(self) -> bytes:
        """One line with its newline; b"" at the end. Raises K2Error(code="lost") when the link broke."""
        ...

    async def read(self, size: int) -> bytes:
        """At least one and at most `size` bytes; b"" at the end."""
        ...

    async def write(self, data: bytes) -> None: ...

    async def close(self) -> None:
        """Close its stdin, which ends it; never waits longer than two seconds."""
        ...


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What an HTTP server answered."""

    status: int
    body: bytes

    def json(self) -> object:
        """The body's value; ValueError when it is not JSON."""
        return json.loads(self.body)


class HttpDoor(Protocol):
    """One HTTP server on a node."""

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """The whole answer, whatever its status. Raises K2Error: http_timeout, http_refused or http_broken."""
        ...

    def events(
        self, path: str, *, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The data of each server-sent event as it comes, of a POST; closing it ends the question at the server.

        Raises K2Error as `ask` does, and `http_status` for an answer other than 200.
        """
        ...

    async def aclose(self) -> None: ...


class NodeLink(Protocol):
    """One node, however it is reached. Every failure is a K2Error whose code is a LinkState code."""

    name: str

    @property
    def state(self) -> LinkState: ...

    async def connect(self) -> None:
        """Be up, or raise. Calls at the same time share one try."""
        ...

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        """Run a short script to its end. Noise that rc files print before it is dropped.

        Connects if nobody has tried yet; on a link that is down it raises at once why, without a new try.
        """
        ...

    async def open(self, script: Script, args: Sequence[str] = ()) -> RemoteStream:
        """Start a script that runs until its stdin closes; connects as `run` does."""
        ...

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpDoor:
        """A client whose base is http://127.0.0.1:PORT on the node. The caller closes it."""
        ...

    async def trust_host_key(self) -> None:
        """Write the unknown key that was offered into k2tui's own known_hosts file. Never for a changed key."""
        ...

    async def drop(self) -> None:
        """Cut the connection at once (tests, and `close` when a peer does not answer)."""
        ...

    async def close(self) -> None: ...


class Clock(Protocol):
    """Time, handed in."""

    def monotonic(self) -> float: ...
    def time(self) -> float: ...
    async def sleep(self, seconds: float) -> None: ...


class RealClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def time(self) -> float:
        return time.time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Audit(Protocol):
    """Where every changing action is written down."""

    def write(self, *, node: str, action: str, subject: str, detail: str, result: str) -> None: ...


class LaunchHistory(Protocol):
    """Where launches are remembered, on this side. What fails is a K2Error whose message is a sentence."""

    async def recall(self, host: str, model: str) -> tuple[PastLaunch, ...]:
        """Launches of this model on this host, newest first; at most a few dozen."""
        ...

    async def record(self, past: PastLaunch) -> None:
        """Keep it; one of the same server with the same run id is replaced."""
        ...

    def notes(self) -> tuple[str, ...]:
        """What an operator should know of the store since the last call, such as that a broken file was set aside."""
        ...

    async def close(self) -> None: ...


class BuildHistory(Protocol):
    """Where builds are remembered, on this side. What fails is a K2Error whose message is a sentence."""

    async def known_build(self, host: str, python: str, engine: str) -> tuple[str, str] | None:
        """(stamp, document) as it was read last; None where it never was."""
        ...

    async def keep_build(self, host: str, python: str, engine: str, stamp: str, document: str) -> None: ...


class RunHistory(Protocol):
    """Where runs are remembered that their node forgot. What fails is a K2Error whose message is a sentence."""

    async def keep_runs(self, host: str, runs: Sequence[Run]) -> None: ...

    async def kept_runs(self, host: str, server: str) -> tuple[Run, ...]:
        """Newest first."""
        ...


class BenchHistory(Protocol):
    """Where benchmarks and series are kept, on this side. What fails is a K2Error whose message is a sentence."""

    async def keep_bench(self, result: BenchResult) -> None:
        """Keep it whole; one with the same id is replaced."""
        ...

    async def benches(self, subject: str | None = None, *, most: int = 500) -> tuple[BenchResult, ...]:
        """Newest first, without requests and samples; of one server or URL, or of all."""
        ...

    async def bench(self, bench_id: str) -> BenchResult | None:
        """Whole; a part of an id will do where it fits only one. None where there is none."""
        ...

    async def set_base(self, subject: str, bench_id: str | None) -> None:
        """Make this the base of its server; None: it has none from now on."""
        ...

    async def keep_series(self, state: SeriesState) -> None:
        """Keep it; one with the same id is replaced."""
        ...

    async def series(self, *, most: int = 100) -> tuple[SeriesState, ...]:
        """Newest first."""
        ...

    async def claim_series(self, series_id: str, owner: str, *, seen: str | None) -> bool:
        """Make `owner` the one that makes it, if its owner is still `seen`. False: somebody else was quicker."""
        ...


class ConfigWriter(Protocol):
    """The operator's own config file, changed in one place; comments, order and everything else stay."""

    def save_profile(self, profile: ProfileSettings, *, server: str | None = None) -> str:
        """Write or replace [profiles.NAME]; with `server`, that server uses it from now on. Gives the file's path.

        Raises K2Error when there is no file, it changed meanwhile, or the result would not be a right config; then
        nothing was written.
        """
        ...

    def add_server(self, toml: str) -> str:
        """Put these tables (of `adoption_toml`) at the end. Gives the file's path; raises as `save_profile` does."""
        ...


class ReadingHistory(Protocol):
    """Where readings are kept on this side. What fails is a K2Error whose message is a sentence."""

    async def keep(self, samples: Sequence[Samples]) -> None:
        """Add these; what is known already of the same time and step is replaced where these have a figure."""
        ...

    async def kept(self, keys: Sequence[SeriesKey], since: float, until: float) -> tuple[Samples, ...]:
        """All that is kept between two unix times, finest steps first; several pieces a key."""
        ...

    async def thin(self, now: float) -> None:
        """Make minutes of seconds older than an hour, and drop what is older than a week."""
        ...


class RateBaseline(Protocol):
    """What a server usually generates; `config` as `core.series_rates.config_of` names it."""

    async def usual_rate(self, config: str, running: float) -> UsualRate | None:
        """At about so many running requests; None where too little is known."""
        ...


class EventHistory(Protocol):
    """Where events, alerts and the operator's last visit are kept on this side."""

    async def note(self, events: Sequence[Event]) -> None: ...

    async def noted(self, since: float, most: int = 1000) -> tuple[Event, ...]:
        """The newest events since a unix time, oldest first."""
        ...

    async def put_alert(self, alert: Alert) -> None:
        """Keep it; one with the same key is replaced."""
        ...

    async def put_alerts(self, since: float) -> tuple[Alert, ...]:
        """Alerts that hold, or that began since a unix time."""
        ...

    async def claim_alert(self, alert: Alert) -> Alert | None:
        """Keep it, and give None; or keep nothing and give what is there already: the alert of its rule and subject
        that holds, or the one with its key. Of several that ask at once only one gets None."""
        ...

    async def left_at(self) -> float | None:
        """Unix time at which a k2tui last looked; None before the first."""
        ...

    async def looking(self, at: float) -> None:
        """A k2tui looks now."""
        ...

"""One measurement: the load generator runs beside the server, what it says is folded, and the result is kept.

It goes on in a task of its own: whoever follows it may be slow or go away, and the generator is never kept waiting.
What was measured is kept whatever ends it: a server that dies, a link that breaks, an operator who has seen enough.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace

from k2tui import __version__
from k2tui.core.benching.figures import result_of
from k2tui.core.benching.live import BenchEvent, BenchLive
from k2tui.core.benching.plan import BenchPlan, BenchTarget
from k2tui.core.benching.reading import Heard, Reader
from k2tui.core.benching.result import BenchResult, BenchSystem
from k2tui.core.benching.words import PROCEDURE_WORDS, gate_words, headline
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.printable import printable
from k2tui.core.secrets import MASK, SHORTEST_KNOWN
from k2tui.services.benching.sampling import GpuLook, GpuSampler
from k2tui.services.benching.spec import arguments_of, opening
from k2tui.services.doors import Clock, NodeLink, RemoteStream, Script
from k2tui.services.tasks import ended

LIVE_S = 0.25
"""The least time between two live figures."""
TICK_S = 0.5
SILENT_S = 120.0
"""The generator speaks twice a second while it measures; to load its python or to empty a cache may take a minute."""
LAST_WORDS_S = 4.0
"""How long a generator that was told to end may still tell what it has measured."""

_EVENTS = {
    "connected": "connected",
    "figure": "figure",
    "request": "request",
    "point": "point",
    "flush": "flush",
    "slope": "note",
    "others": "clients",
    "error": "note",
}
"""What of the generator's words is an event of the benchmark."""
_STOPPED = "it was ended before its end"
_HINTS = {
    "unreachable": "see whether it runs, and whether host and port are right",
    "refused": "its answer says why; with 401 or 403 it wants an API key",
    "no_model": "its /v1/models names none; see whether it has come up",
    "no_python": "give the server a `python` or a `setup` line in the config",
    "old_python": "give the server a newer `python` in the config: 3.8 or later",
    "setup_failed": "try its `setup` line on the node",
}
"""What to do, by the generator's own code."""


@dataclass(frozen=True)
class About:
    """What is known of a server before it is measured, beside how it is reached."""

    system: BenchSystem = BenchSystem()
    run_id: str | None = None
    profile: str | None = None
    series_id: str | None = None


@dataclass(frozen=True)
class BenchTools:
    """What a measurement needs of the world."""

    link: NodeLink
    """To the machine that the generator runs on."""
    script: Callable[[str], Script]
    clock: Clock
    keep: Callable[[BenchResult], Awaitable[None]]
    """Remember a result; what fails is a K2Error."""
    home: str = "~/.k2tui"
    """Where k2tui keeps things on that machine."""
    gpus: Callable[[], GpuLook | None] = lambda: None
    on_live: Callable[[BenchLive], None] = lambda live: None
    """The figure so far is another one; called at most four times a second."""


def measure(
    target: BenchTarget, plan: BenchPlan, tools: BenchTools, about: About, *, bench_id: str
) -> AsyncGenerator[BenchEvent, None]:
    """Measure it; the last events are `result` and `done`. Closing it ends the measurement and keeps what there is.

    Raises K2Error where nothing was measured: the machine is out of reach, it has no python, nobody listens there.
    """
    return Measurement(target, plan, tools, about, bench_id=bench_id).events()


class Measurement:
    """One benchmark from its first word to its result."""

    def __init__(self, target: BenchTarget, plan: BenchPlan, tools: BenchTools, about: About, *, bench_id: str) -> None:
        self._target, self._plan, self._tools, self._about = target, plan, tools, about
        self._bench_id = bench_id
        self._began, self._began_at = tools.clock.monotonic(), tools.clock.time()
        self._reader = Reader(plan, bench_id=bench_id, began_at=self._began)
        self._sampler = GpuSampler(tools.gpus)
        self._steps: asyncio.Queue[BenchEvent | K2Error | None] = asyncio.Queue()
        self._stream: RemoteStream | None = None
        self._running: asyncio.Task[None] | None = None
        self._heard_at = self._began
        self._spoke = False
        """The generator said its first word: there is something to keep."""
        self._shown_at = -LIVE_S
        self._trouble: K2Error | None = None
        self._stopped = False

    async def events(self) -> AsyncGenerator[BenchEvent, None]:
        """Its steps; see `measure`."""
        self._running = asyncio.ensure_future(self._run())
        try:
            while (step := await self._steps.get()) is not None:
                if isinstance(step, K2Error):
                    raise step
                yield step
        finally:
            await self.stop()

    async def stop(self) -> None:
        """End it now, and return when what was measured is kept."""
        running = self._running
        if running is None or running.done():
            return
        self._stopped = True
        stream = self._stream
        if stream is None:
            await ended(running)
            return
        with contextlib.suppress(K2Error, OSError):
            await stream.close()  # its leash: the generator tells what it has, and `_converse` hears it
        await asyncio.wait({running}, timeout=LAST_WORDS_S)
        if not running.done():
            await ended(running)

    async def _run(self) -> None:
        ticking = asyncio.ensure_future(self._tick())
        try:
            await self._converse()
        except K2Error as error:
            self._trouble = error
        except OSError as error:
            self._trouble = K2Error(f"the load generator's link broke: {error}", code="lost", subject=self._target.name)
        finally:
            ticking.cancel()
            try:
                await self._conclude()
            finally:
                self._steps.put_nowait(None)

    async def _converse(self) -> None:
        tools = self._tools
        self._stream = stream = await tools.link.open(tools.script("measure"), arguments_of(self._target))
        try:
            with contextlib.suppress(OSError):  # where nobody reads it, what was said tells why
                await stream.write(opening(tools.script("loadgen.py"), self._target, self._plan))
            while line := await stream.readline():
                self._hear(line)
        finally:
            await stream.close()

    def _hear(self, line: bytes) -> None:
        now = self._heard_at = self._tools.clock.monotonic()
        heard = self._reader.read(_without(line, self._target.api_key))
        if heard is None:
            return
        self._spoke = self._spoke or heard.type == "hello"
        if heard.type == "figure":
            self._sampler.begin(now)
        elif heard.type == "counters" and heard.data.get("when") == "after":
            self._sampler.end()
        self._sampler.look(self._began)
        if heard.type in _EVENTS:
            self._tell(_EVENTS[heard.type], heard.text, heard)
        self._show(now)

    def _show(self, now: float) -> None:
        if now - self._shown_at >= LIVE_S:
            self._shown_at = now
            self._tools.on_live(self._reader.live)

    async def _tick(self) -> None:
        """What no word of the generator tells: the GPUs' figures, and its silence."""
        while True:
            await self._tools.clock.sleep(TICK_S)
            self._sampler.look(self._began)
            if self._stream is not None and self._tools.clock.monotonic() - self._heard_at > SILENT_S:
                self._trouble = K2Error(
                    f"the load generator has said nothing for {SILENT_S:.0f} s",
                    code="silent",
                    subject=self._target.name,
                )
                await self._stream.close()  # hearing it then ends
                return

    async def _conclude(self) -> None:
        """Make the result of what was heard, keep it, and tell it; or tell why there is none."""
        measured = self._reader.measured
        had_requests = any(not request.is_warm_up for request in measured.requests)
        worth_keeping = self._spoke and (had_requests or not self._stopped)
        if not worth_keeping:
            self._steps.put_nowait(self._failure())
            return
        error = measured.error
        if self._stopped:
            error = _STOPPED
        elif self._trouble is not None:
            error = f"{error}; {self._trouble.message}" if error else self._trouble.message
        result = result_of(
            replace(measured, error=None if error is None else printable(error)[:400]),
            plan=self._plan,
            target=self._target,
            bench_id=self._bench_id,
            began_at=self._began_at,
            system=self._about.system,
            samples=self._sampler.samples,
            run_id=self._about.run_id,
            profile=self._about.profile,
            series_id=self._about.series_id,
            elapsed_s=self._elapsed_s,
            tool_version=__version__,
        )
        if self._reader.lost:
            lost = self._reader.lost
            words = "line of the load generator was" if lost == 1 else "lines of the load generator were"
            result = replace(result, notes=(*result.notes, f"{lost} {words} not understood."))
        unkept = await self._kept(result)
        for gate in result.gates:
            word = "unknown" if gate.ok is None else "ok" if gate.ok else "red"
            self._tell("gate", f"{gate.id} {word}: {gate.reason}")
        for note in (*result.notes, *([] if unkept is None else [unkept])):
            self._tell("note", note)
        words = ending_words(result)
        self._steps.put_nowait(replace(self._event("result", words), result=result))
        code = ExitCode.DONE if result.valid else ExitCode.BAD
        self._steps.put_nowait(replace(self._event("done", words), exit_code=code))

    async def _kept(self, result: BenchResult) -> str | None:
        """Keep it; why it could not be kept."""
        try:
            await self._tools.keep(result)
        except K2Error as error:
            return str(error)
        return None

    def _failure(self) -> K2Error:
        """Why nothing was measured."""
        measured, name = self._reader.measured, self._target.name
        if measured.error is not None:
            missing = measured.error_code == "unreachable"
            return K2Error(
                f"{name} can't be measured: {printable(measured.error)[:400]}",
                code=measured.error_code or "broken",
                subject=name,
                hint=_HINTS.get(measured.error_code or ""),
                exit_code=ExitCode.MISSING if missing else ExitCode.BAD,
            )
        if self._trouble is not None:
            return self._trouble
        why = "it was ended before its first figure" if self._stopped else "the load generator ended without a word"
        return K2Error(f"{name} was not measured: {why}", code="not_measured", subject=name)

    def _tell(self, kind: str, text: str, heard: Heard | None = None) -> None:
        event = self._event(kind, text)
        self._steps.put_nowait(event if heard is None else replace(event, data=heard.data))

    def _event(self, kind: str, text: str) -> BenchEvent:
        return BenchEvent(kind, self._target.name, self._elapsed_s, text, self._reader.live)

    @property
    def _elapsed_s(self) -> float:
        return round(self._tools.clock.monotonic() - self._began, 3)


def ending_words(result: BenchResult) -> str:
    """`quick: 90.0 tok/s of one stream`, and why it does not count where it does not."""
    words = f"{PROCEDURE_WORDS[result.procedure]}: {headline(result)}"
    if result.error is not None:
        return f"{words}; failed: {result.error}"
    if any(gate.ok is False for gate in result.gates):
        return f"{words}; not valid: {gate_words(result.gates)}"
    return words


def _without(line: bytes, api_key: str | None) -> bytes:
    """A line of the generator without the key: a server may say it again in an error, which is shown and kept."""
    if not api_key or len(api_key) < SHORTEST_KNOWN:
        return line
    return line.replace(json.dumps(api_key)[1:-1].encode("ascii"), MASK.encode("ascii"))

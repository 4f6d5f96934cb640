"""Measures servers, and keeps what was measured."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace

from k2tui.core.benching.comparing import compare, why_not
from k2tui.core.benching.comparison import Comparison
from k2tui.core.benching.live import BenchEvent, BenchLive
from k2tui.core.benching.plan import BenchPlan, BenchTarget, Procedure
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.targets import is_url, url_target
from k2tui.core.benching.words import PROCEDURE_WORDS
from k2tui.core.errors import ExitCode, K2Error, no_such
from k2tui.core.events import Severity
from k2tui.core.fields import gpus_of
from k2tui.core.secrets import masked_argv
from k2tui.core.settings import NodeSettings
from k2tui.services.benching.about import clients_words, system_seen, target_of
from k2tui.services.benching.full import FullRun
from k2tui.services.benching.measuring import About, BenchTools, Measurement, ending_words
from k2tui.services.benching.sampling import GpuLook
from k2tui.services.benching.sides import Sides
from k2tui.services.benching.urls import AskUrl, system_at
from k2tui.services.doors import BenchHistory, Clock, NodeLink, Script
from k2tui.services.gate import Gate, Ongoing
from k2tui.services.rooms import Room
from k2tui.services.server_watch import ServerWatch
from k2tui.services.tasks import ended, is_running
from k2tui.services.watched_benches import WatchedBenches

HERE = "this machine"
"""The node, in the audit log, of what is measured from here."""
Hold = Callable[[str], AbstractAsyncContextManager[None]]
"""What keeps a server busy is held as long as this is open."""


@dataclass(frozen=True)
class BenchDoors:
    """What measuring needs of the world."""

    gate: Gate
    clock: Clock
    script: Callable[[str], Script]
    make_link: Callable[[NodeSettings], NodeLink]
    history: BenchHistory | None
    """None: what was measured is told and forgotten."""
    ask_url: AskUrl | None
    record: Callable[[str, str, Severity], None]
    """Puts an event on the list."""
    pause_jobs: Hold | None = None
    """Holds the jobs of ours on a server while it is measured; None: there are none."""


class Benches:
    """Every benchmark of a fleet. A refusal is a K2Error before anything was asked of the server."""

    def __init__(
        self,
        rooms: Mapping[str, Room],
        watches: Mapping[str, ServerWatch],
        known: dict[str, WatchedBenches],
        doors: BenchDoors,
    ) -> None:
        """`known`: what each watch shows of its benchmarks, by server; filled here."""
        self._rooms, self._watches, self._known, self._doors = rooms, watches, known, doors
        self._sides = Sides(doors.history)
        self._busy: set[str] = set()
        """What is being measured by this k2tui."""
        self._recalled: set[str] = set()
        self._recalling: asyncio.Task[None] | None = None
        self._going: set[Measurement | FullRun] = set()

    def bench(self, name: str, plan: BenchPlan | None) -> AsyncGenerator[BenchEvent, None]:
        """Measure a server of the fleet, or what a URL names; the last event is `done`. None: a quick figure."""
        return self.bench_url(name, plan) if is_url(name) else self.measure_for(name, plan or BenchPlan())

    async def measure_for(
        self,
        name: str,
        plan: BenchPlan,
        *,
        series_id: str | None = None,
        run_id: str | None = None,
        profile: str | None = None,
    ) -> AsyncGenerator[BenchEvent, None]:
        """Measure it as a part of a series. `run_id`, `profile`: None is what runs there now."""
        watch = self._watch(name)
        target = target_of(watch)
        run = watch.view.run if watch.found_alive is None else None
        if run_id is not None and (run is None or run.run_id != run_id):
            now = "what somebody else started" if run is None else f"run {run.run_id}"
            raise K2Error(
                f"{name} is not measured as run {run_id}: {now} is there instead", code="overtaken", subject=name
            )
        room = self._rooms[watch.settings.node]
        bench_id, began = _new_id(self._doors.clock.time()), self._doors.clock.monotonic()
        with self._measuring(target, plan) as ongoing:
            self._show(name, BenchLive(bench_id, plan.procedure, began, "looking who else is there"))
            if running := await watch.running_requests():
                yield self._clients(watch, running, began)
            pause = self._doors.pause_jobs
            about = About(
                await system_seen(watch, room.view, room.link, self._doors.script),
                run_id=run_id or (None if run is None else run.run_id),
                profile=profile or (watch.settings.profile if run is None else run.profile),
                series_id=series_id,
            )
            tools = BenchTools(
                room.link,
                self._doors.script,
                self._doors.clock,
                self._keep,
                home=room.settings.home,
                gpus=lambda: _gpus(watch, room),
                on_live=lambda live: self._show(name, live),
            )
            steps = self._followed(target, plan, tools, about, bench_id, ongoing)
            async with nullcontext() if pause is None else pause(name), aclosing(steps):
                async for step in steps:
                    yield step

    async def bench_url(
        self, url: str, plan: BenchPlan | None, *, api_key: str | None = None
    ) -> AsyncGenerator[BenchEvent, None]:
        """Measure, from this machine, what a URL names. None: a quick figure."""
        target, plan = url_target(url, api_key), plan or BenchPlan()
        bench_id = _new_id(self._doors.clock.time())
        link = self._doors.make_link(NodeSettings(HERE, "localhost", transport="local"))
        with self._measuring(target, plan) as ongoing:
            try:
                about = About(await system_at(target, self._doors.ask_url))
                tools = BenchTools(link, self._doors.script, self._doors.clock, self._keep)
                async with aclosing(self._followed(target, plan, tools, about, bench_id, ongoing)) as steps:
                    async for step in steps:
                        yield step
            finally:
                await link.close()

    async def history(self, name: str | None) -> tuple[BenchResult, ...]:
        """Newest first, without requests and samples. Raises K2Error where the store can't be read."""
        return () if self._doors.history is None else await self._doors.history.benches(name)

    async def result(self, bench_id: str) -> BenchResult:
        """One whole; a part of its id will do."""
        return await self._sides.one(bench_id)

    async def take_in(self, name: str, text: str) -> tuple[BenchResult, ...]:
        """Keep what another tool measured, as of this server or URL. Raises K2Error for what is no such file."""
        from k2tui.core.benching.tools import read_tool_result  # noqa: PLC0415  seldom needed

        node = None if is_url(name) else self._watch(name).settings.node
        subject = url_target(name).name if is_url(name) else name
        try:
            results = read_tool_result(text, subject=subject, now=self._doors.clock.time(), node=node)
        except ValueError as error:
            raise K2Error(
                f"no result was taken in: {error}", code="no_result", subject=name, exit_code=ExitCode.USAGE
            ) from None
        for result in results:
            await self._keep(result)
            self._doors.record(name, f"taken in from {result.tool}: {ending_words(result)}", Severity.INFO)
        return results

    async def compare(self, a: str, b: str) -> Comparison:
        """B against A; see `Sides.both` for what may be named."""
        one, other = await self._sides.both(a, b)
        return compare(one, other)

    async def set_base(self, name: str, bench_id: str | None) -> None:
        """Make this benchmark the base of the server; None: none. Raises K2Error."""
        if self._doors.history is None:
            raise K2Error("there is no store for benchmarks here", code="history", subject=name)
        base = None if bench_id is None else await self._sides.one(bench_id)
        if base is not None and base.subject != name:
            raise K2Error(
                f"{base.bench_id} can't be the base of {name}: it measured {base.subject}",
                code="other_server",
                subject=name,
                exit_code=ExitCode.USAGE,
            )
        if base is not None and base.headline is None:
            raise K2Error(f"{base.bench_id} has no figure to be a base", code="no_figure", subject=name)
        if base is not None and (why := why_not(base)) is not None:
            raise K2Error(
                f"it can't be the base of {name}, which everything is held against: {why}",
                code="not_valid",
                subject=name,
                hint="measure again, and take a run whose gates all held",
            )
        await self._doors.history.set_base(name, None if base is None else base.bench_id)
        self._of(name).base = None if base is None else replace(base, is_base=True, requests=(), samples=())
        self._refresh(name)

    def recall(self) -> None:
        """Fill, in the background, what the watches show with what was kept; of those that were not asked for yet."""
        new = [name for name in self._watches if name not in self._recalled]
        if new and not is_running(self._recalling):
            self._recalled.update(new)
            self._recalling = asyncio.ensure_future(self._recall(new))

    async def _recall(self, names: Sequence[str]) -> None:
        """A store that fails says so itself."""
        if self._doors.history is None:
            return
        for name in names:
            with suppress(K2Error):
                for result in await self._doors.history.benches(name, most=2):
                    known = self._of(name)
                    known.last = known.last or result
                    known.base = result if result.is_base else known.base
                self._refresh(name)

    async def close(self) -> None:
        """End what is being measured; what was measured is kept."""
        await ended(self._recalling)
        await asyncio.gather(*(measurement.stop() for measurement in self._going), return_exceptions=True)

    @contextmanager
    def _measuring(self, target: BenchTarget, plan: BenchPlan) -> Iterator[Ongoing]:
        """One at a time of a server, let through by the gate: it changes nothing, and it makes work for a server."""
        name = target.name
        if name in self._busy:
            raise K2Error(
                f"{name} is being measured already",
                code="bench_running",
                subject=name,
                hint="two at once would measure each other",
            )
        if plan.procedure is Procedure.IMPORTED:
            raise K2Error(
                f"{PROCEDURE_WORDS[plan.procedure]} is not measured this way", code="usage", exit_code=ExitCode.USAGE
            )
        self._busy.add(name)
        try:
            node = target.node or HERE
            with self._doors.gate.changing(node=node, subject=name, action="bench", detail=_detail(plan)) as ongoing:
                yield ongoing
        finally:
            self._busy.discard(name)
            if name in self._known:
                self._show(name, None)

    async def _followed(
        self,
        target: BenchTarget,
        plan: BenchPlan,
        tools: BenchTools,
        about: About,
        bench_id: str,
        ongoing: Ongoing,
    ) -> AsyncGenerator[BenchEvent, None]:
        kind = FullRun if plan.procedure is Procedure.FULL else Measurement
        measurement = kind(target, plan, tools, about, bench_id=bench_id)
        self._going.add(measurement)
        try:
            async with aclosing(measurement.events()) as steps:
                async for step in steps:
                    if step.result is not None:
                        ongoing.result = f"done: {step.result.bench_id}"
                        self._doors.record(target.name, step.text, _severity(step.result))
                    yield step
        finally:
            self._going.discard(measurement)

    async def _keep(self, result: BenchResult) -> None:
        """Show it, and keep it. Raises K2Error where the store fails."""
        known = self._of(result.subject)
        if known.last is None or result.began_at >= known.last.began_at:
            known.last = replace(result, requests=(), samples=())
        self._refresh(result.subject)
        if self._doors.history is not None:
            await self._doors.history.keep_bench(result)

    def _clients(self, watch: ServerWatch, running: int, began: float) -> BenchEvent:
        serving, name = watch.view.serving, watch.settings.name
        data: dict[str, object] = {
            "running": running,
            "waiting": None if serving is None else serving.waiting,
            "decode_tps": None if serving is None else serving.decode_tokens_per_s,
        }
        elapsed_s = round(self._doors.clock.monotonic() - began, 3)
        words = clients_words(watch.view, running)
        return BenchEvent("clients", name, elapsed_s, words, self._of(name).live, data=data)

    def _show(self, name: str, live: BenchLive | None) -> None:
        self._of(name).live = live
        self._refresh(name)

    def _refresh(self, name: str) -> None:
        if name in self._watches:
            self._watches[name].refresh()

    def _of(self, name: str) -> WatchedBenches:
        return self._known.setdefault(name, WatchedBenches())

    def _watch(self, name: str) -> ServerWatch:
        if name not in self._watches:
            raise no_such("server", name, self._watches)
        return self._watches[name]


def _gpus(watch: ServerWatch, room: Room) -> GpuLook | None:
    view = room.view
    at = view.reading.gpus_at
    return None if at is None else GpuLook(at, gpus_of(watch.view, view))


def _severity(result: BenchResult) -> Severity:
    if result.error is not None:
        return Severity.BAD
    return Severity.GOOD if result.valid else Severity.WARNING


def _detail(plan: BenchPlan) -> str:
    if plan.procedure is Procedure.FULL:
        words = " ".join(masked_argv(plan.full_args)) or "no words of the operator"
        return f"{PROCEDURE_WORDS[plan.procedure]}, {plan.full_client} client, {words}"
    streams = ",".join(map(str, plan.concurrencies))
    return f"{PROCEDURE_WORDS[plan.procedure]}, streams {streams}, {plan.max_tokens} tokens, {plan.policy.value}"


def _new_id(now: float) -> str:
    """Of a benchmark: this machine's clock, and four random hex digits."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(now))}-{secrets.token_hex(2)}"

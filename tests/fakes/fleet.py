"""A fleet that behaves: nodes and servers from a config, a launch that goes on as it is told, verbs that act."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import Any

from k2tui.core.absence import Absence
from k2tui.core.alerts import Alert
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.events import Event, Severity
from k2tui.core.found import FoundServer
from k2tui.core.launch import PHASES, Advice, Cause, Launch, LaunchKind, LaunchPhase, PhaseSpan, Progress
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.pace import Shown
from k2tui.core.profiles import command_text, resolve
from k2tui.core.readings import DiskReading, GpuReading, HostReading, NodeReading
from k2tui.core.ring import LineRing
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.core.series import Annotation, Samples, SeriesKey
from k2tui.core.settings import NodeSettings, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import LaunchPlan, Manner, ProfileChange, VerbEvent
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import NodeView, Proof, ServerStatus, ServerView, Witness
from tests.fakes.fleet_benches import FakeBenches
from tests.fakes.fleet_verbs import FakeVerbs

DAY = 1_796_047_200.0
"""2026-11-30 14:00 UTC."""
REASONING = Effect("reasoning", Outcome.PROVED, "reasoning apart from content", "--reasoning-parser")
PHASE_SECONDS = {
    LaunchPhase.ARGS: 2.1,
    LaunchPhase.DISTRIBUTED: 3.0,
    LaunchPhase.WEIGHTS: 11.4,
    LaunchPhase.POSTPROCESS: 2.5,
    LaunchPhase.KV_CACHE: 1.2,
    LaunchPhase.CUDA_GRAPH: 9.4,
    LaunchPhase.WARMUP: 2.0,
}


class FakeClock:
    """A clock that stands until it is told to go on. The node's log clock is the same as this machine's."""

    def __init__(self) -> None:
        self.at = 1000.0

    def monotonic(self) -> float:
        return self.at

    def time(self) -> float:
        return DAY + self.at - 1000.0

    def go(self, seconds: float) -> None:
        self.at += seconds


class FakeFleet(FakeVerbs, FakeBenches):
    """The Fleet surface over plain dictionaries."""

    def __init__(self, settings: Settings, clock: FakeClock | None = None, *, simulated: bool = False) -> None:
        FakeVerbs.__init__(self)
        FakeBenches.__init__(self)
        self.settings = settings
        self.clock = clock or FakeClock()
        self.simulated = simulated
        self.revision = 0
        self.events: list[Event] = []
        self.opened = 0
        self.closed = False
        self.trusted: list[str] = []
        self.retried: list[str] = []
        self.asked: list[tuple[str, str, ProfileChange, str | None]] = []
        """(verb, server, change, confirm) of every verb that was let through."""
        self.refusal: K2Error | None = None
        """What the next verb is refused with, once."""
        self.gate = asyncio.Event()
        """A verb waits here before its launch goes on, once `hold` is set."""
        self.hold = False
        self.shown = Shown()
        self.alerts_now: list[Alert] = []
        self.somebody_watches = True
        """A k2tui with a screen is open, so that alerts are known to plain commands."""
        self.acknowledged: list[Alert] = []
        self.samples: dict[SeriesKey, Samples] = {}
        """What `recent` and `past` know."""
        self.annotated: list[Annotation] = []
        self.away: Absence | None = None
        self._nodes = {name: NodeView(node) for name, node in settings.nodes.items()}
        self._servers = {name: ServerView(server) for name, server in settings.servers.items()}
        self._rings = {name: LineRing() for name in settings.servers}
        self._old: dict[str, LineRing] = {}

    # ---- the surface

    @property
    def news(self) -> int:
        """All that a test does to it is worth showing at once."""
        return self.revision

    def nodes(self) -> tuple[NodeView, ...]:
        return tuple(self._nodes.values())

    def servers(self) -> tuple[ServerView, ...]:
        return tuple(self._servers.values())

    def server(self, name: str) -> ServerView:
        if name not in self._servers:
            raise K2Error(f"no server {name!r}", code="no_such_server", subject=name, exit_code=ExitCode.MISSING)
        return self._servers[name]

    def ring(self, name: str) -> LineRing:
        return self._rings[name]

    def run_ring(self, name: str, run_id: str) -> LineRing:
        ring = self._old.setdefault(run_id, LineRing())
        if not len(ring):
            ring.extend([f"log of {run_id}", "its second line"])
        return ring

    async def attend(self) -> None:
        await self.open()

    async def open(self) -> None:
        self.opened += 1

    async def close(self) -> None:
        self.closed = True

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        view = self.server(name)
        profile = resolve(self.settings, None, view.settings, change, runs=view.runs)
        live = view.run if view.run is not None and view.run.alive else None
        always = self.settings.nodes[view.settings.node].confirm == "always"
        return LaunchPlan(
            server=name,
            node=view.settings.node,
            profile=profile,
            command=command_text(profile),
            replaces_run=None if live is None else live.run_id,
            confirm_needed=f'confirm = "always" on {view.settings.node}' if always else None,
        )

    async def start(
        self,
        name: str,
        change: ProfileChange | None = None,
        *,
        confirm: str | None = None,
        verify: bool = True,
        manner: Manner | None = None,
    ) -> AsyncIterator[VerbEvent]:
        self.manners.append(manner)
        plan = self.plan(name, change)
        self._let("start", name, change, confirm)
        async for event in self._launch(plan, verify=verify):
            yield event

    async def restart(
        self,
        name: str,
        change: ProfileChange | None = None,
        *,
        confirm: str | None = None,
        verify: bool = True,
        manner: Manner | None = None,
    ) -> AsyncIterator[VerbEvent]:
        self.manners.append(manner)
        plan = self.plan(name, change)
        self._let("restart", name, change, confirm)
        if plan.replaces_run is not None:
            yield VerbEvent("stopping", name, 0.0, f"stopping {name}")
            self.end(name, stop_asked=True)
        async for event in self._launch(plan, verify=verify):
            yield event

    async def stop(self, name: str, *, confirm: str | None = None) -> AsyncIterator[VerbEvent]:
        self.server(name)
        self._let("stop", name, None, confirm)
        yield VerbEvent("stopping", name, 0.0, f"stopping {name}")
        await asyncio.sleep(0)
        self.end(name, stop_asked=True)
        self.tell(name, f"{name} stopped", Severity.GOOD)
        yield VerbEvent("done", name, 0.1, f"{name} stopped", exit_code=ExitCode.DONE)

    async def trust_host_key(self, node: str) -> None:
        self.trusted.append(node)
        self.link(node, phase=LinkPhase.UP, round_trip_s=0.018)

    def retry_now(self, node: str) -> None:
        self.retried.append(node)

    def look_at(self, shown: Shown) -> None:
        self.shown = shown

    def recent(self, key: SeriesKey, span_s: float) -> Samples | None:
        return self.samples.get(key)

    async def past(self, keys: Sequence[SeriesKey], since: float, until: float, steps: int) -> tuple[Samples, ...]:
        step_s = (until - since) / steps
        nothing = (None,) * steps
        return tuple(self.samples.get(key, Samples(key, since, step_s, nothing)) for key in keys)

    async def annotations(self, since: float, until: float) -> tuple[Annotation, ...]:
        return tuple(one for one in self.annotated if since <= one.at <= until)

    def alerts(self) -> Sequence[Alert]:
        return self.alerts_now

    async def kept_alerts(self) -> Sequence[Alert] | None:
        return self.alerts_now if self.somebody_watches else None

    def acknowledge(self, alert: Alert) -> None:
        self.acknowledged.append(alert)
        self.alerts_now = [
            replace(one, acknowledged_at=self.clock.time()) if one.key == alert.key else one for one in self.alerts_now
        ]
        self.revision += 1

    def on_alert(self, hear: Callable[[Sequence[Alert]], None]) -> None:
        self.hear = hear

    def absence(self) -> Absence | None:
        return self.away

    async def gpu_details(self, node: str) -> Sequence[str]:
        return [f"topology of {node}"]

    # ---- what a test does to it

    def tell(self, subject: str, text: str, severity: Severity = Severity.INFO) -> None:
        """Something happened."""
        self.events.append(Event(self.clock.time(), subject, text, severity))
        self.revision += 1

    def link(self, node: str, **changes: Any) -> None:
        """The connection changes."""
        old = self._nodes[node]
        self._nodes[node] = replace(old, link=LinkState(**changes))
        self.revision += 1

    def read(self, node: str, reading: NodeReading) -> None:
        """The probe told something."""
        self._nodes[node] = replace(self._nodes[node], reading=reading)
        self.revision += 1

    def set(self, name: str, **changes: Any) -> None:
        """A server's view changes."""
        self._servers[name] = replace(self._servers[name], seen_at=self.clock.at, **changes)
        self.revision += 1

    def find(self, name: str, found: FoundServer) -> None:
        """Somebody else started a server on the first node."""
        settings = ServerSettings(name, next(iter(self._nodes)), engine=found.engine, port=found.port)
        self._servers[name] = ServerView(settings, ServerStatus.READY, found=found)
        self._rings[name] = LineRing()
        self.revision += 1

    def lose(self, name: str) -> None:
        """It ended, and nothing is left to show of it."""
        del self._servers[name]
        self.revision += 1

    def log(self, name: str, *lines: str) -> None:
        """The server prints lines."""
        self._rings[name].extend(lines)

    def begin(self, name: str, profile: str | None = None) -> Run:
        """A run begins."""
        view, plan = self.server(name), self.plan(name)
        number = len(view.runs) + 1
        run = Run(
            server=name,
            run_id=f"20261130T14{number:02}00Z-{number:04x}",
            directory=f"/data/k2tui/runs/{name}/{number}",
            child=ProcessIdentity("boot", 41233, 99),
            alive=True,
            port=view.settings.port,
            argv=plan.profile.argv,
            env=tuple(plan.profile.env.items()),
            profile=profile or plan.profile.name,
            started_by="ann@desk",
        )
        witness = Witness("process", True, "alive, pid 41233", self.clock.at)
        self.set(name, run=run, runs=(run, *view.runs), status=ServerStatus.LOADING, proof=None, witnesses=(witness,))
        return run

    def phase(self, name: str, phase: LaunchPhase, progress: Progress | None = None, **changes: Any) -> None:
        """The launch is in this phase now; those before took their usual time."""
        at = self.clock.time() - sum(PHASE_SECONDS.get(p, 0.0) for p in PHASES[: phase.order])
        spans: list[PhaseSpan] = []
        for step in PHASES[: phase.order]:
            spans.append(PhaseSpan(step, at, at + PHASE_SECONDS.get(step, 0.0)))
            at += PHASE_SECONDS.get(step, 0.0)
        spans.append(PhaseSpan(phase, at, None))
        old = self.server(name).launch or Launch(engine="sglang", version="0.5.9", ranks_expected=8, port=30000)
        launch = replace(old, phase=phase, progress=progress or old.progress, spans=tuple(spans))
        self.set(name, launch=replace(launch, **changes))

    def ready(self, name: str, proof: Proof | None = None) -> None:
        """It serves, and a completion came back."""
        self.phase(name, LaunchPhase.READY, kind=LaunchKind.READY)
        proof = proof or Proof(True, "47 tokens in 0.9 s; reasoning apart from content", (REASONING,))
        self.set(name, status=ServerStatus.READY, proof=proof, proof_at=self.clock.at)

    def crash(self, name: str, cause: Cause, *advice: Advice) -> None:
        """It is gone, and the log says why."""
        view = self.server(name)
        run = None if view.run is None else replace(view.run, alive=False, exit_code=1)
        runs = view.runs if run is None else (run, *view.runs[1:])
        launch = replace(view.launch or Launch(), kind=LaunchKind.CRASHED, cause=cause)
        self.set(name, status=ServerStatus.CRASHED, launch=launch, advice=advice, run=run, runs=runs)

    def end(self, name: str, *, stop_asked: bool) -> None:
        """Its process is gone, as asked."""
        view = self.server(name)
        if view.run is None:
            return
        run = replace(view.run, alive=False, exit_code=0, stop_asked=stop_asked)
        self.set(name, run=run, runs=(run, *view.runs[1:]), status=ServerStatus.DOWN, launch=None, proof=None)

    def _let(self, verb: str, name: str, change: ProfileChange | None, confirm: str | None) -> None:
        if self.settings.read_only:
            raise K2Error(f"{verb} {name}: k2tui is read-only", code="read_only", subject=name)
        if self.refusal is not None:
            refusal, self.refusal = self.refusal, None
            raise refusal
        self.asked.append((verb, name, change or ProfileChange(), confirm))

    async def _launch(self, plan: LaunchPlan, *, verify: bool) -> AsyncIterator[VerbEvent]:
        name = plan.server
        yield VerbEvent("preflight", name, 0.0, f"{plan.node} is reached, port free")
        self._rings[name] = LineRing()
        run = self.begin(name, plan.profile.name)
        yield VerbEvent("started", name, 0.1, f"{name} runs as {run.run_id}")
        for done in (16, 51, 64):
            if self.hold:
                await self.gate.wait()
            progress = Progress(done, 64, "shards", "Loading safetensors checkpoint shards")
            self.phase(name, LaunchPhase.WEIGHTS, progress)
            self._rings[name].set_open(f"Loading safetensors checkpoint shards: {done}/64")
            yield VerbEvent("progress", name, 1.0, f"weights {done}/64", launch=self.server(name).launch)
            await asyncio.sleep(0)
        self._rings[name].set_open("")
        self.log(name, "The server is fired up and ready to roll!")
        self.ready(name)
        self.tell(name, f"{name} is ready", Severity.GOOD)
        yield VerbEvent("done", name, 2.0, f"{name} is ready and proved", exit_code=ExitCode.DONE)


def gpus(count: int, *, utilization: float = 78.0, used_gib: float = 88.0) -> tuple[GpuReading, ...]:
    """GPUs that differ a little."""
    return tuple(
        GpuReading(
            index=index,
            uuid=f"GPU-{index}",
            name="NVIDIA RTX PRO 6000",
            utilization_percent=utilization + index % 3,
            memory_used_mib=used_gib * 1024,
            memory_total_mib=96 * 1024,
            power_w=409.0 + index,
            power_limit_w=600.0,
            temperature_c=58.0 + 3 * index,
            sm_clock_mhz=2430.0,
        )
        for index in range(count)
    )


def reading(clock: FakeClock, rows: Sequence[GpuReading] = (), because: str | None = None) -> NodeReading:
    """A node that tells all, now."""
    host = HostReading(3.1, 22.0, 1_024_000_000_000, 714_000_000_000, (DiskReading("/data", 7 * 10**12, 19 * 10**11),))
    return NodeReading(
        boot_id="boot",
        gpus=tuple(rows),
        gpus_at=clock.at if rows else None,
        no_gpus_because=because,
        host=host,
        host_at=clock.at,
        clock_offset_s=0.0,
    )


COMMAND = (
    "NCCL_PROTO=LL NCCL_ALGO=Ring NCCL_P2P_LEVEL=SYS python3 -m sglang.launch_server "
    "--model-path /shared/kimi-k2.5-int4 --tp-size 8 --trust-remote-code --mem-fraction-static 0.9"
)
PROFILES = {
    "base": ProfileSettings("base", cmd=COMMAND),
    "reason": ProfileSettings(
        "reason", extends="base", flags={"reasoning-parser": "kimi_k2", "tool-call-parser": "kimi_k2"}
    ),
}


def settings_of(node_count: int = 1, server_count: int = 1, **changes: Any) -> Settings:
    """Nodes gpu-a, gpu-b …, with so many servers each: kimi, kimi-2 … `changes` replace parts of the settings."""
    names = [f"gpu-{chr(ord('a') + n)}" if n < 26 else f"gpu-{n}" for n in range(node_count)]
    made: dict[str, ServerSettings] = {}
    for name in names:
        for _ in range(server_count):
            server = "kimi" if not made else f"kimi-{len(made) + 1}"
            made[server] = ServerSettings(server, name, port=30000, profile="reason")
    defaults: dict[str, Any] = {
        "nodes": {name: NodeSettings(name, name) for name in names},
        "servers": made,
        "profiles": PROFILES,
    }
    return Settings(**{**defaults, **changes})


def connected(settings: Settings, *, gpu_count: int = 8, **options: Any) -> FakeFleet:
    """A fleet whose nodes are all up and tell their GPUs."""
    fleet = FakeFleet(settings, **options)
    for name in settings.nodes:
        fleet.link(name, phase=LinkPhase.UP, round_trip_s=0.018)
        rows = gpus(gpu_count)
        fleet.read(name, reading(fleet.clock, rows, None if rows else "no nvidia-smi"))
    for name in settings.servers:
        fleet.set(name, status=ServerStatus.DOWN)
    return fleet

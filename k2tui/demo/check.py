"""The whole journey without a screen: every step is played through the real fleet, and said by name."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from k2tui.adapters.scripts import script
from k2tui.core.benching.plan import BenchPlan
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.words import headline
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.intake import LogIntake
from k2tui.core.launch import LaunchPhase, Progress
from k2tui.core.link import LinkPhase
from k2tui.core.verbs import Manner, OnFailure, ProfileChange, VerbEvent
from k2tui.core.views import NodeView
from k2tui.demo.fleet import DemoFleet
from k2tui.demo.scene import GPUS
from k2tui.services.doors import RealClock
from k2tui.services.fleet import Fleet
from k2tui.services.follow import LogFollower

SERVER, RIVAL, NODE = "kimi", "kimi-exp", "gpu-a"
PACE = 0.3
PACE_AGAIN = 0.05
"""Of the starts after the first: what they show is not how long a load takes."""
BAD_FLAG = "no-such-flag"
PROOF_S = 5.0
QUICK = BenchPlan(max_tokens=64, repeats=2)
PATIENCE_S = 15.0
"""The longest silence of any step on a busy machine."""
POLL_S = 0.02
IN_ORDER = (
    *(LaunchPhase.ARGS, LaunchPhase.DISTRIBUTED, LaunchPhase.WEIGHTS, LaunchPhase.POSTPROCESS, LaunchPhase.KV_CACHE),
    *(LaunchPhase.CUDA_GRAPH, LaunchPhase.WARMUP, LaunchPhase.READY),
)
NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class Step:
    """One statement, and whether it held."""

    name: str
    ok: bool | None
    """None: not reached, since one before it failed."""
    detail: str
    elapsed_s: float | None

    def to_json(self) -> dict[str, object]:
        return {"name": self.name, "ok": self.ok, "detail": self.detail, "elapsed_s": self.elapsed_s}


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The journey."""

    steps: tuple[Step, ...]

    @property
    def ok(self) -> bool:
        return all(step.ok for step in self.steps)

    def to_json(self) -> dict[str, object]:
        """The document of `k2tui demo --check --json`."""
        return {"ok": self.ok, "steps": [step.to_json() for step in self.steps]}


class Failed(Exception):
    """A step did not hold; the text is its detail."""


async def check(
    fleet_factory: Callable[[DemoFleet], Fleet],
    *,
    fault: str | None = None,
    pace: float = PACE,
    on_step: Callable[[Step], object] = lambda step: None,
) -> CheckReport:
    """Play the journey on one node. `fleet_factory` puts a real fleet on an open demo; each step is told as it ends."""
    async with DemoFleet(1, fault=fault, pace=pace, up=False, verify_max_s=PROOF_S) as demo:
        fleet = fleet_factory(demo)
        journey = _Journey(demo, fleet, on_step)
        try:
            return await journey.play()
        finally:
            await journey.close()
            await fleet.close()


class _Journey:
    """The steps, one after the other; the first that fails is the last that is played."""

    def __init__(self, demo: DemoFleet, fleet: Fleet, on_step: Callable[[Step], object]) -> None:
        self._demo, self._fleet, self._on_step = demo, fleet, on_step
        self._events: AsyncGenerator[VerbEvent, None] | None = None
        self._progress: list[Progress] = []

    def _steps(self) -> Sequence[tuple[str, Callable[[], Awaitable[str]]]]:
        return (
            ("fleet reached", self._reach),
            ("server started", self._start),
            ("bar moved", self._bar),
            ("connection cut in mid-load and mended", self._cut),
            ("phases in order", self._phases),
            ("ready proved by a completion", self._proof),
            ("log byte-exact", self._log),
            ("second start refused", self._refused),
            ("reasoning parser gone: said beforehand", self._without),
            ("reasoning parser back: effect proved", self._with),
            ("bad flag refused; forced: rolled back", self._bad_flag),
            ("quick benchmark: every token counted", self._bench),
            ("stopped, nothing left", self._stop),
        )

    async def play(self) -> CheckReport:
        done: list[Step] = []
        for name, play in self._steps():
            if done and not done[-1].ok:
                step = Step(name, None, NOT_REACHED, None)
            else:
                step = await _played(name, play)
            done.append(step)
            self._on_step(step)
        return CheckReport(tuple(done))

    async def close(self) -> None:
        """Let go of a verb that was not followed to its end."""
        if self._events is not None:
            await self._events.aclose()

    async def _reach(self) -> str:
        await self._fleet.open()
        await _until(lambda: len(self._node().reading.gpus) == GPUS, f"no {GPUS} GPUs of {NODE} were seen")
        gpu = self._node().reading.gpus[0]
        return f"{NODE} by SSH on port {self._demo.sshd.port}: {GPUS} x {gpu.name}"

    async def _start(self) -> str:
        self._follow(self._fleet.start(SERVER))
        event = await self._next_of("started")
        run = self._fleet.server(SERVER).run
        if run is None or not run.alive:
            raise Failed("the run does not live")
        return f"{event.text}, pid {run.child.pid if run.child else '?'}"

    async def _bar(self) -> str:
        """A third of the shards, in more than one step."""
        while len(self._progress) < 2 or self._progress[-1].fraction < 1 / 3:
            event = await self._next()
            self._fail_if_over(event)
            bar = event.launch.progress if event.launch is not None else None
            in_weights = event.launch is not None and event.launch.phase is LaunchPhase.WEIGHTS
            if bar is not None and in_weights and (not self._progress or bar.done > self._progress[-1].done):
                self._progress.append(bar)
            elif event.type == "ready":
                raise Failed(f"the weights' bar was seen {len(self._progress)} times only")
        seen = " ".join(str(bar.done) for bar in self._progress)
        return f"{seen} of {self._progress[-1].total} {self._progress[-1].unit}"

    async def _cut(self) -> str:
        connections = self._demo.cut(NODE)
        await _until(lambda: self._node().link.phase is not LinkPhase.UP, "the cut was not noticed")
        await _until(lambda: self._node().link.phase is LinkPhase.UP, "the connection did not come back")
        return f"{connections} connection(s) cut, back again"

    async def _phases(self) -> str:
        await self._next_of("ready")
        launch = self._fleet.server(SERVER).launch
        spans = launch.spans if launch is not None else ()
        seen = [span.phase for span in spans]
        if [phase for phase in seen if phase in IN_ORDER] != list(IN_ORDER):
            raise Failed(f"seen: {', '.join(phase.value for phase in seen)}")
        if launch is not None and len(launch.ranks_loaded) != GPUS:
            raise Failed(f"{len(launch.ranks_loaded)} of {GPUS} ranks said that they loaded")
        return " > ".join(phase.value for phase in seen)

    async def _proof(self) -> str:
        event = await self._next_of("proved")
        done = await self._next_of("done")
        if done.exit_code is not ExitCode.DONE:
            raise Failed(f"the start ended with exit {done.exit_code}")
        reasoning, content = await self._ask()
        if not reasoning or "<think>" in content or not content.strip():
            raise Failed(f"reasoning_content is {reasoning!r}, content is {content!r}")
        return event.text

    async def _ask(self) -> tuple[str | None, str]:
        """(reasoning_content, content) of a completion, asked for through the same connection."""
        port = self._demo.settings.servers[SERVER].port
        assert port is not None
        client = self._fleet.link(NODE).http(port)
        try:
            body = {"messages": [{"role": "user", "content": "How many shards are left?"}]}
            reply = await client.ask("POST", "/v1/chat/completions", body=body)
            document: Any = reply.json()
            message: dict[str, Any] = document["choices"][0]["message"]
            return message["reasoning_content"], message["content"]
        finally:
            await client.aclose()

    async def _log(self) -> str:
        """The bytes of a follower, and the lines of the server's own ring, against the file as it stands."""
        run = self._fleet.server(SERVER).run
        if run is None:
            raise Failed("there is no run")
        data = Path(run.log_path).read_bytes()
        whole = LogIntake()
        whole.feed(data)
        ring = self._fleet.ring(SERVER)
        await _until(lambda: ring.end >= whole.ring.end, "lines are missing in the ring")
        lines = range(whole.ring.start, whole.ring.end)
        wrong = [number for number in lines if ring[number] != whole.ring[number]]
        if wrong:
            raise Failed(f"line {wrong[0] + 1} is {ring[wrong[0]]!r}, not {whole.ring[wrong[0]]!r}")
        digest = hashlib.sha256(await self._followed(run.log_path, len(data))).hexdigest()
        if digest != hashlib.sha256(data).hexdigest():
            raise Failed(f"the followed bytes have SHA-256 {digest}")
        return f"{len(data)} bytes, {len(lines)} lines, SHA-256 {digest[:12]}…"

    async def _followed(self, path: str, size: int) -> bytes:
        """The first `size` bytes as a follower hands them on."""
        follower = LogFollower(self._fleet.link(NODE), script("follow"), path, clock=RealClock())
        taken = bytearray()
        try:
            async for chunk in follower.chunks():
                taken += chunk.data
                if len(taken) >= size:
                    return bytes(taken[:size])
        finally:
            await follower.close()
        return bytes(taken)

    async def _refused(self) -> str:
        codes = [await self._refusal(SERVER, "already_running"), await self._refusal(RIVAL, "preflight")]
        return f"{SERVER}: {codes[0]}; {RIVAL} on the same GPUs: {codes[1]}"

    async def _refusal(self, server: str, code: str, steps: AsyncIterator[VerbEvent] | None = None) -> str:
        try:
            async for event in steps or self._fleet.start(server):
                if event.type == "started":
                    raise Failed(f"{server} was started")
        except K2Error as error:
            if error.code != code:
                raise Failed(f"{server} was refused as {error.code}, not {code}: {error}") from None
            return error.code
        raise Failed(f"the start of {server} ended without a refusal")

    async def _without(self) -> str:
        self._demo.tell(NODE, pace=PACE_AGAIN)
        missing = ""
        self._follow(self._restart(ProfileChange(unset=("reasoning-parser",)), OnFailure.LEAVE))
        while (event := await self._next()).type != "done":
            if event.type == "preflight" and "no --reasoning-parser" in event.text:
                missing = event.text
        if not missing:
            raise Failed("nothing was said of the reasoning parser")
        reasoning, content = await self._ask()
        if reasoning is not None or "<think>" not in content:
            raise Failed(f"reasoning_content is {reasoning!r}, content is {content!r}")
        return f"{missing}; <think> stands in content"

    async def _with(self) -> str:
        self._follow(self._restart(None, OnFailure.LEAVE))
        shown = ""
        while (event := await self._next()).type != "done":
            if event.type == "effect" and event.data.get("check") == "reasoning":
                shown = event.text
        if event.exit_code is not ExitCode.DONE or not shown:
            raise Failed(event.text)
        return shown

    async def _bad_flag(self) -> str:
        before = self._fleet.server(SERVER).run
        bad = ProfileChange(set={BAD_FLAG: "1"})
        refused = await self._refusal(SERVER, "preflight", self._restart(bad, OnFailure.ROLLBACK))
        self._follow(self._restart(bad, OnFailure.ROLLBACK, force=True))
        while (event := await self._next()).type != "done":
            pass
        now = self._fleet.server(SERVER).run
        if before is None or now is None or event.data.get("back_to") != before.run_id or not event.data.get("is_back"):
            raise Failed(event.text)
        if (now.argv, now.env) != (before.argv, before.env):
            raise Failed(f"it runs as {' '.join(now.argv)} now")
        because = event.text.partition("; rolled back")[0]
        return f"{refused}; forced: {because}; back to run {before.run_id}, verified"

    def _restart(
        self, change: ProfileChange | None, on_failure: OnFailure, *, force: bool = False
    ) -> AsyncIterator[VerbEvent]:
        manner = Manner(on_failure=on_failure, force=force)
        return self._fleet.restart(SERVER, change, confirm=NODE, manner=manner)

    async def _bench(self) -> str:
        """A figure, and the server's own counters agree with it; how late this machine wakes up is not looked at."""
        result: BenchResult | None = None
        async for event in self._fleet.bench(SERVER, QUICK):
            result = event.result or result
        if result is None or result.error is not None or result.decode_tps is None:
            raise Failed("there is no figure" if result is None else result.error or "there is no figure")
        counted = next(gate for gate in result.gates if gate.id == "G1")
        if not counted.ok:
            raise Failed(f"G1: {counted.reason}")
        return f"{headline(result)}; {counted.reason}"

    async def _stop(self) -> str:
        text = ""
        running = self._fleet.server(SERVER).run
        session = None if running is None else running.session_id
        self._follow(self._fleet.stop(SERVER, confirm=NODE))
        while (event := await self._next()).type != "done":
            text = event.text or text
        left = list(_session_members(session))
        if left:
            raise Failed(f"{len(left)} processes of session {session} are left: {left}")
        await _until(
            lambda: all(gpu.memory_used_mib == 0 for gpu in self._node().reading.gpus), "GPU memory was not given back"
        )
        run = self._fleet.server(SERVER).run
        if run is None or run.alive or run.exit_code != 0:
            raise Failed(f"its run is {run}")
        return text

    def _follow(self, events: AsyncIterator[VerbEvent]) -> None:
        assert isinstance(events, AsyncGenerator)
        self._events = events

    def _node(self) -> NodeView:
        return next(node for node in self._fleet.nodes() if node.settings.name == NODE)

    async def _next(self) -> VerbEvent:
        """The next event of the verb that is on. Failed when none comes for too long."""
        assert self._events is not None
        try:
            return await asyncio.wait_for(self._events.__anext__(), PATIENCE_S)
        except StopAsyncIteration:
            raise Failed("it ended without a last word") from None
        except asyncio.TimeoutError:
            launch = self._fleet.server(SERVER).launch
            where = "" if launch is None else f" in {launch.phase.value} ({launch.detail or launch.kind.value})"
            raise Failed(f"nothing new for {PATIENCE_S:g} s{where}") from None

    async def _next_of(self, kind: str) -> VerbEvent:
        """The next event of this type; Failed when the verb says that it failed."""
        while (event := await self._next()).type != kind:
            self._fail_if_over(event)
        return event

    @staticmethod
    def _fail_if_over(event: VerbEvent) -> None:
        if event.type in ("failed", "done"):
            raise Failed(event.text)


async def _played(name: str, play: Callable[[], Awaitable[str]]) -> Step:
    began = time.monotonic()
    try:
        ok, detail = True, await play()
    except (Failed, K2Error) as error:
        ok, detail = False, str(error)
    except Exception as error:  # whatever it was, the step did not hold, and the report says so
        ok, detail = False, f"{type(error).__name__}: {error}"
    return Step(name, ok, detail, round(time.monotonic() - began, 3))


async def _until(true: Callable[[], bool], otherwise: str) -> None:
    """Wait until it is true; Failed after PATIENCE_S."""
    end = time.monotonic() + PATIENCE_S
    while not true():
        if time.monotonic() > end:
            raise Failed(otherwise)
        await asyncio.sleep(POLL_S)


def _session_members(session: int | None) -> Sequence[int]:
    """Living processes of a session on this machine, where the demo's nodes are."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(") ")[2].split()
            except OSError:
                continue
            if words[0] != "Z" and words[3] == str(session):
                found.append(int(entry.name))
    return found

"""A fake fleet on which changes are tried: launches that fail, ways back, restarts that were interrupted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.errors import ExitCode
from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.core.settings import Settings
from k2tui.core.verbs import LaunchPlan, ProfileChange, VerbEvent
from k2tui.core.verdicts import Effect, Outcome, RunVerdict
from k2tui.core.views import Proof, ServerStatus
from tests.fakes.fleet import DAY, FakeFleet, gpus, reading, settings_of

EFFECTS = (
    Effect("completion", Outcome.PROVED, "47 tokens in 0.9 s, and no garbage"),
    Effect("identity", Outcome.PROVED, "the process that was launched listens on port 30000"),
    Effect(
        "reasoning", Outcome.PROVED, "reasoning apart from content, in stream and in one piece", "--reasoning-parser"
    ),
    Effect("tools", Outcome.NOT_PROVED, "the call came back as text: <|tool_call_begin|>", "--tool-call-parser"),
    Effect("flags", Outcome.NO_EFFECT, "0.5.9 takes it and never uses it", "--num-continuous-decode-steps"),
    Effect("nccl", Outcome.CANNOT, "the environment of TP3 can't be read with this login", "NCCL_PROTO"),
)
BUILD = Build(
    "sglang",
    (
        BuildFlag("reasoning-parser", choices=("kimi_k2", "qwen3"), help="How reasoning is told from content"),
        BuildFlag("disable-cuda-graph", Takes.NOTHING, help="Capture no graphs"),
        BuildFlag("mem-fraction-static", type="float", default="0.9", help="Share of GPU memory for weights and cache"),
    ),
    version="0.5.9",
)


class TriedFleet(FakeFleet):
    """Some launches end badly, and some servers have a run to go back to."""

    def __init__(self, settings: Settings, **options: Any) -> None:
        super().__init__(settings, **options)
        self.undo_to: dict[str, str] = {}
        """By server: the run that `u` goes back to."""
        self.fails: dict[str, str | None] = {}
        """Servers whose launch is not as it should be, each with the run that could be gone back to."""

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        plan = super().plan(name, change)
        return replace(plan, undo_to=self.undo_to.get(name), no_way_back=None)

    async def _launch(self, plan: LaunchPlan, *, verify: bool) -> AsyncIterator[VerbEvent]:
        name = plan.server
        async for event in super()._launch(plan, verify=verify):
            if event.type == "started":
                view, profile = self.server(name), plan.profile
                assert view.run is not None
                run = replace(view.run, argv=profile.argv, env=tuple(profile.env.items()))
                self.set(name, run=run, runs=(run, *view.runs[1:]))
            if event.type == "done" and name in self.fails:
                self.set(name, status=ServerStatus.DEGRADED)
                data = {"back_to": self.fails[name]}
                text = f"{name} answers, and reasoning is not apart from content"
                yield VerbEvent("done", name, 2.0, text, data=data, exit_code=ExitCode.BAD)
            else:
                yield event


def tried(node_count: int = 1, **options: Any) -> TriedFleet:
    """Nodes that are up, each with a server that runs and was verified two hours ago."""
    fleet = TriedFleet(settings_of(node_count, **options))
    for name in fleet.settings.nodes:
        fleet.link(name, phase=LinkPhase.UP, round_trip_s=0.018)
        fleet.read(name, reading(fleet.clock, gpus(8)))
    for name in fleet.settings.servers:
        fleet.begin(name)
        fleet.ready(name)
        verified(fleet, name, DAY - 7200)
        fleet.set(name, build=BUILD)
    return fleet


def verified(fleet: FakeFleet, name: str, at: float, *, ok: bool = True, effects: tuple[Effect, ...] = ()) -> Run:
    """Its newest run was looked at."""
    view = fleet.server(name)
    assert view.run is not None
    text = "47 tokens in 0.9 s; reasoning apart from content" if ok else "a tag is left in content"
    run = replace(view.run, verdict=RunVerdict(ok, at, text, effects, "0.5.9", ("models/deepseek_v2.py",)))
    fleet.set(name, run=run, runs=(run, *view.runs[1:]))
    return run


def interrupted(fleet: FakeFleet, name: str = "kimi", *, old_lives: bool = True) -> Run:
    """A restart of it was planned and never begun."""
    view = fleet.server(name)
    assert view.run is not None
    planned = replace(
        view.run,
        run_id="20261130T143000Z-beef",
        argv=(*view.run.argv, "--disable-cuda-graph"),
        alive=False,
        child=None,
        is_planned=True,
        replaces=view.run.run_id,
        verdict=None,
    )
    fleet.set(name, planned=planned)
    if not old_lives:
        fleet.end(name, stop_asked=True)
    return planned


def history(fleet: FakeFleet, name: str = "kimi") -> tuple[Run, ...]:
    """Four runs: a verified one, a try that failed, an undo that was verified, and a try that runs."""
    first = fleet.server(name).run
    assert first is not None
    flags = first.argv

    def run(number: int, why: str, *more: str, **changes: Any) -> Run:
        usual: dict[str, Any] = {"alive": False, "child": None, "exit_code": 0, "stop_asked": True, "verdict": None}
        made = replace(first, run_id=f"20261130T1{number}0000Z-000{number}", argv=(*flags, *more), why=why)
        return replace(made, **{**usual, **changes})

    good = RunVerdict(True, DAY - 7200, "47 tokens in 0.9 s; reasoning apart from content", EFFECTS[:3], "0.5.9", ())
    bad = RunVerdict(
        False, DAY - 5000, "tool calls come back as text", EFFECTS, "0.5.9", ("models/deepseek_v2.py", "layers/moe.py")
    )
    runs = (
        run(4, "try", "--mem-fraction-static", "0.88", alive=True, stop_asked=False, exit_code=None, verdict=bad),
        run(3, "undo", verdict=good),
        run(2, "try", "--disable-cuda-graph", "--num-continuous-decode-steps", "4", stop_asked=False, exit_code=1),
        run(1, "start", verdict=good),
    )
    env = tuple((name, "LL128" if name == "NCCL_PROTO" else value) for name, value in first.env)
    runs = (replace(runs[0], env=env, started_by="bob@jump"), *runs[1:])
    fleet.set(name, run=runs[0], runs=runs)
    return runs


def proof(*, ok: bool = False) -> Proof:
    """What a look at all effects shows."""
    effects = EFFECTS[:3] if ok else EFFECTS
    text = "47 tokens in 0.9 s; 3 effects proved" if ok else "tools is not proved"
    return Proof(ok, text, tokens=183, elapsed_s=6.4, effects=effects)

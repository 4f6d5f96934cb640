"""A fake fleet whose plans say all that a sheet shows: sources, checks, what will be proved, the way back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.flags import flag_value, has_flag
from k2tui.core.link import LinkPhase
from k2tui.core.preflight import Preflight, PreflightItem, SettingCheck, Weight
from k2tui.core.profiles import command_text, resolved
from k2tui.core.serving import ServingReading
from k2tui.core.settings import ProfileSettings, Settings
from k2tui.core.settings_between import settings_between
from k2tui.core.verbs import LaunchPlan, ProfileChange
from k2tui.core.verdicts import RunVerdict
from k2tui.core.views import ServerStatus
from tests.fakes.fleet import COMMAND, DAY, PROFILES, FakeFleet, gpus, reading, settings_of

PARSERS = ("deepseek-r1", "deepseek-v3", "glm45", "gpt-oss", "kimi", "kimi_k2", "qwen3", "qwen3-thinking", "step3")
BUILD = Build(
    engine="sglang",
    version="0.5.23",
    flags=(
        BuildFlag("model-path", aliases=("model",), type="str", required=True, help="Path or name of the model."),
        BuildFlag("tp-size", aliases=("tensor-parallel-size",), type="int", default="1", help="Tensor parallel size."),
        BuildFlag("trust-remote-code", Takes.NOTHING, default="False", help="Run code that the model brings along."),
        BuildFlag("mem-fraction-static", type="float", default="None", help="Share of memory for weights and KV pool."),
        BuildFlag("reasoning-parser", type="str", choices=PARSERS, help="Takes the reasoning out of an answer."),
        BuildFlag("tool-call-parser", type="str", choices=PARSERS, help="Reads tool calls out of an answer."),
        BuildFlag("disable-cuda-graph", Takes.NOTHING, default="False", help="Run without CUDA graphs."),
        BuildFlag("num-continuous-decode-steps", type="int", default="1", help="Decode steps between two schedules."),
        BuildFlag("cuda-graph-max-bs-decode", type="int", default="None", help="The largest captured batch."),
        BuildFlag("cuda-graph-bs-decode", Takes.SEVERAL, type="int", help="The batch sizes that are captured."),
        BuildFlag("max-running-requests", type="int", default="None", help="Requests that run at once."),
        BuildFlag("max-total-tokens", type="size", default="None", help="Tokens in the KV pool."),
        BuildFlag("json-model-override-args", type="json", default="{}", help="Overrides of the model's config."),
        BuildFlag("port", type="int", default="30000", help="The port of the HTTP server."),
    ),
    modified=("srt/models/deepseek_v2.py",),
    path="/opt/sglang/lib/python3.11/site-packages/sglang",
)
NO_EFFECT = SettingCheck(
    "--num-continuous-decode-steps",
    Weight.WARN,
    "has no effect in this version",
    "0.5.9 to 0.5.23 parse it, and nothing reads it: server_args.py:1234",
)
GONE = SettingCheck(
    "--cuda-graph-max-bs",
    Weight.BLOCK,
    "gone: use --cuda-graph-max-bs-decode",
    "0.5.23 ends the launch with an error that names the new flag",
    "--cuda-graph-max-bs-decode",
)
SLOW_P2P = SettingCheck("NCCL_P2P_LEVEL", Weight.NOTE, "SYS also lets GPUs copy across the CPU's link")
ODD = {check.name: check for check in (NO_EFFECT, GONE, SLOW_P2P)}
WELL = (
    PreflightItem("ssh", Weight.FINE, "ssh ok"),
    PreflightItem("port", Weight.FINE, "port 30000 will be free"),
    PreflightItem("model", Weight.FINE, "64/64 shards, 554 GB"),
    PreflightItem("disk", Weight.FINE, "disk 1.2 TB"),
    PreflightItem("gpus", Weight.FINE, "8 GPUs free once it stopped"),
    PreflightItem("clients", Weight.NOTE, "2 requests running"),
)


class SheetFleet(FakeFleet):
    """Plans as the real fleet's planner makes them, in small."""

    back_to: str | None = None
    no_way_back: str | None = None
    warnings: tuple[str, ...] = ()

    def plan(self, name: str, change: ProfileChange | None = None) -> LaunchPlan:
        plan, view = super().plan(name, change), self.server(name)
        found = resolved(self.settings, None, view.settings, change, runs=view.runs, build=view.build)
        profile = found.profile
        argv = profile.argv
        settings = settings_between(None, (argv, profile.env), profile.secrets)
        known = () if view.build is None else tuple(_check(setting.name) for setting in settings)
        expects: tuple[str, ...] = ("a plain answer",)
        expects += ("reasoning apart from content",) if has_flag(argv, "reasoning-parser") else ()
        expects += ("a tool call",) if has_flag(argv, "tool-call-parser") else ()
        expects += (f"{flag_value(argv, 'tp-size')} ranks",) if has_flag(argv, "tp-size") else ()
        return replace(
            plan,
            profile=profile,
            command=command_text(profile),
            sources=found.sources,
            checks=known,
            build=view.build,
            expects=expects,
            back_to=self.back_to,
            no_way_back=self.no_way_back,
            warnings=self.warnings,
        )

    async def preflight(self, name: str, change: ProfileChange | None = None) -> Preflight:
        """As it was told; with the checks of this change."""
        found = await super().preflight(name, change)
        return replace(found, checks=self.plan(name, change).checks)


def _check(name: str) -> SettingCheck:
    return ODD.get(name, SettingCheck(name, Weight.FINE, "known"))


def sheet_settings(**changes: Any) -> Settings:
    """A profile that differs from what runs in every way."""
    profiles = {
        **PROFILES,
        "graphs": ProfileSettings(
            "graphs",
            extends="base",
            flags={"reasoning-parser": "kimi_k2", "num-continuous-decode-steps": 4, "disable-cuda-graph": False},
            env={"NCCL_ALGO": "Tree"},
            unset=("NCCL_PROTO",),
        ),
        "old": ProfileSettings("old", cmd=f"{COMMAND} --disable-cuda-graph --num-continuous-decode-steps 1"),
    }
    return settings_of(profiles=profiles, **changes)


def sheets(settings: Settings | None = None, *, runs: bool = True, build: bool = True) -> SheetFleet:
    """One server that runs from the profile `old`, and whose config says `reason`."""
    fleet = SheetFleet(settings or sheet_settings())
    fleet.link("gpu-a", phase=LinkPhase.UP, round_trip_s=0.018)
    fleet.read("gpu-a", reading(fleet.clock, gpus(8)))
    fleet.set("kimi", status=ServerStatus.DOWN)
    if build:
        fleet.builds["kimi"] = BUILD
    fleet.preflights["kimi"] = Preflight(WELL)
    if runs:
        first = fleet.begin("kimi")
        verdict = RunVerdict(True, DAY - 3600, "47 tokens in 0.9 s")
        old = resolved(fleet.settings, "old", fleet.server("kimi").settings).profile
        first = replace(first, verdict=verdict, profile="old", argv=old.argv, env=tuple(old.env.items()))
        fleet.set("kimi", run=first, runs=(first,))
        fleet.ready("kimi")
        fleet.back_to = first.run_id
        serving = ServingReading(fleet.clock.at, "metrics", running=2, waiting=1)
        fleet.set("kimi", serving=serving)
    return fleet

"""What a fleet changes by the name of a server: several at once, profiles that are saved, runs that are remembered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange
from k2tui.core.verdicts import RunVerdict
from k2tui.services.doors import RealClock
from k2tui.services.fleet import Fleet, FleetDoors
from tests.fakes.audit import MemoryAudit
from tests.remote.node import free_port
from tests.services.verb_stage import COMMAND, played, tag_of
from tests.waiting import until

NAMES = ("one", "two", "three")
NEW, BAD = ProfileChange(set={"tag": "new"}), ProfileChange(set={"tag": "bad"})


@dataclass
class MemoryConfig:
    """services.doors.ConfigWriter. What was saved, and for which server."""

    saved: list[tuple[ProfileSettings, str | None]] = field(default_factory=list)

    def save_profile(self, profile: ProfileSettings, *, server: str | None = None) -> str:
        self.saved.append((profile, server))
        return "/home/ana/config.toml"

    def add_server(self, toml: str) -> str:
        raise NotImplementedError


@dataclass
class MemoryRuns:
    """services.doors.RunHistory."""

    runs: dict[str, Run] = field(default_factory=dict)

    async def keep_runs(self, host: str, runs: Sequence[Run]) -> None:
        self.runs.update((run.run_id, run) for run in runs)

    async def kept_runs(self, host: str, server: str) -> tuple[Run, ...]:
        return tuple(run for run in self.runs.values() if run.server == server)


@dataclass
class Place:
    """Three servers on this machine, and the fleet over them."""

    fleet: Fleet
    config: MemoryConfig
    kept: MemoryRuns
    audit: MemoryAudit

    def tags(self) -> list[str | None]:
        """Of what runs, server by server."""
        return [tag_of(view.run) if view.run is not None and view.run.alive else None for view in self.fleet.servers()]


@asynccontextmanager
async def placed(directory: Path, *, confirm: str = "never") -> AsyncIterator[Place]:
    node = NodeSettings("gpu-a", "gpu-a", home=str(directory / "home"), transport="local", confirm=confirm)
    servers = {name: ServerSettings(name, "gpu-a", port=free_port(), profile="plain") for name in NAMES}
    profiles = {"plain": ProfileSettings("plain", cmd=COMMAND)}
    settings = Settings(nodes={"gpu-a": node}, servers=servers, profiles=profiles, probe_generate="never")
    config, kept, audit = MemoryConfig(), MemoryRuns(), MemoryAudit()

    async def close() -> None: ...

    doors = FleetDoors(
        lambda made: LocalLink(made.name),
        close,
        script,
        audit,
        RealClock(),
        None,
        None,
        None,
        "ana@jump",
        kept_runs=kept,
        config=config,
    )
    fleet = Fleet(settings, doors)
    await fleet.open()
    try:
        await until(lambda: all(view.seen_at is not None for view in fleet.servers()))
        yield Place(fleet, config, kept, audit)
    finally:
        for view in fleet.servers():
            if view.settings.name in NAMES and view.run is not None and view.run.alive:
                await played(fleet.stop(view.settings.name, confirm="gpu-a"))
        await fleet.close()


async def test_several_are_restarted_one_after_the_other_and_the_first_that_fails_ends_it(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        changes = {"one": NEW, "two": BAD, "three": NEW}
        steps = await played(place.fleet.restart_many(changes))
        done = [(step.server, step.exit_code) for step in steps if step.type == "done"]
        assert done == [("one", ExitCode.DONE), ("two", ExitCode.BAD)], steps
        servers = [step.server for step in steps]
        assert servers == sorted(servers, key=NAMES.index)
        assert place.tags()[:3] == ["new", None, None]


async def test_asked_for_at_once_each_goes_to_its_own_end(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        changes = {"one": NEW, "two": BAD, "three": NEW}
        steps = await played(place.fleet.restart_many(changes, parallel=True))
        done = {step.server: step.exit_code for step in steps if step.type == "done"}
        assert done == {"one": ExitCode.DONE, "two": ExitCode.BAD, "three": ExitCode.DONE}
        servers = [step.server for step in steps]
        assert servers != sorted(servers, key=NAMES.index)
        await until(lambda: place.tags()[:3] == ["new", None, "new"])


async def test_a_confirmation_that_is_missing_refuses_all_of_them_before_the_first(tmp_path: Path) -> None:
    async with placed(tmp_path, confirm="always") as place:
        with pytest.raises(K2Error) as refused:
            await played(place.fleet.restart_many({"one": NEW, "two": NEW}))
        assert refused.value.code == "confirm_needed"
        assert place.audit.lines == []
        steps = await played(place.fleet.restart_many({"one": NEW}, confirm={"gpu-a"}))
        assert steps[-1].exit_code is ExitCode.DONE


async def test_what_refuses_one_of_several_is_its_end_and_says_why(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        missing = ProfileChange(cmd="/nowhere/python3 -m sglang.launch_server --model-path /nowhere")
        steps = await played(place.fleet.restart_many({"one": missing, "two": NEW}, parallel=True))
        done = {step.server: step for step in steps if step.type == "done"}
        assert done["one"].exit_code is ExitCode.BAD
        assert done["one"].data["code"] in ("preflight", "no_program")
        assert done["two"].exit_code is ExitCode.DONE


async def test_a_saved_profile_is_written_audited_and_used_from_then_on(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        path = await place.fleet.save_profile("one", NEW, as_name="fast", use=True)
        profile = ProfileSettings("fast", extends="plain", flags={"tag": "new"})
        assert (path, place.config.saved) == ("/home/ana/config.toml", [(profile, "one")])
        assert [(action, result) for _, action, _, _, result in place.audit.lines] == [
            ("save-profile", "began"),
            ("save-profile", "done"),
        ]
        assert place.fleet.plan("one").profile.name == "fast"
        assert place.fleet.plan("two").profile.name == "plain"
        await until(lambda: place.fleet.server("one").seen_at is not None)
        await played(place.fleet.start("one"))
        assert place.tags()[0] == "new"


async def test_runs_that_their_node_forgot_are_remembered_here_and_can_be_begun_from(tmp_path: Path) -> None:
    async with placed(tmp_path) as place:
        await played(place.fleet.start("one", NEW))
        (run,) = await place.fleet.runs("one")
        assert run.verdict is not None
        assert place.kept.runs[run.run_id].verdict == run.verdict
        old = replace(run, run_id="20250101T000000Z-abcd", alive=False, verdict=RunVerdict(True, 1.0, "it answered"))
        await place.kept.keep_runs("gpu-a", [old])
        await played(place.fleet.verify("one"))
        assert [found.run_id for found in await place.fleet.runs("one")] == [run.run_id, old.run_id]
        assert tag_of(run) == "new"
        argv = place.fleet.plan("one", ProfileChange(run=old.run_id)).profile.argv
        assert argv[argv.index("--tag") + 1] == "new"

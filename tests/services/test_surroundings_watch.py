"""What is looked at around a launch: its weight files while it loads, earlier launches, and nothing once it serves."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.advance import advance
from k2tui.core.events import Severity
from k2tui.core.facts import ArgsSeen, BarDrawn, LaunchFact, PhaseReached, WeightsBegan
from k2tui.core.launch import Launch, LaunchPhase, Progress
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.services import surroundings_watch
from k2tui.services.doors import RealClock
from k2tui.services.launch_history import LaunchMemory
from k2tui.services.surroundings_watch import Around, SurroundingScripts, SurroundingsWatch
from tests.fakes.history import MemoryHistory
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.weights import write_model
from tests.waiting import until

KIMI = ServerSettings(name="kimi", node="gpu-a", profile="reason")


def run_of(model: Path, *, alive: bool = True) -> Run:
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", str(model))
    return Run("kimi", "20261129T100000Z-0001", "/runs/1", alive=alive, argv=argv, started_at=1000.0)


@dataclass
class Scene:
    """A server's surroundings on this machine, and what was told of them."""

    watch: SurroundingsWatch
    link: ShellLink
    told: list[tuple[str, str, Severity]] = field(default_factory=list)

    def look(self, launch: Launch, run: Run | None) -> None:
        self.watch.consider(launch, run, log_path="/runs/1/log", whole=True, log_now=None)

    async def looked(self, launch: Launch, run: Run | None) -> None:
        self.look(launch, run)
        await until(lambda: not self.watch.busy)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    told: list[tuple[str, str, Severity]] = []

    def tell(subject: str, sentence: str, severity: Severity) -> None:
        told.append((subject, sentence, severity))

    clock, link = RealClock(), ShellLink(shell_bin("dash", tmp_path / "bin"))
    memory = LaunchMemory(MemoryHistory(), clock=clock, tell=tell, on_change=lambda _: None)
    watch = SurroundingsWatch(
        KIMI,
        link,
        Around(SurroundingScripts(script), memory, tell),
        clock=clock,
        gpu_busy=lambda: None,
        on_change=lambda: None,
    )
    yield Scene(watch, link, told)
    await watch.close()
    await memory.close()


def launched(*facts: LaunchFact) -> Launch:
    launch = Launch(engine="sglang")
    for fact in facts:
        launch = advance(launch, fact, 1.0)
    return launch


def after(*facts: LaunchFact) -> Launch:
    return launched(ArgsSeen({"model_path": "/m", "tp_size": "1"}), *facts)


async def test_the_weight_files_of_a_launch_are_looked_at_before_they_load(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 4)
    await scene.looked(after(), run_of(tmp_path / "model"))
    checkpoint = scene.watch.known.checkpoint
    assert checkpoint is not None
    assert len(checkpoint.shards) == 4
    assert scene.told == []


async def test_a_shard_that_is_not_there_is_named_before_the_engine_finds_out(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 4)[1].unlink()
    await scene.looked(after(), run_of(tmp_path / "model"))
    ((subject, sentence, severity),) = scene.told
    assert (subject, severity) == ("kimi", Severity.BAD)
    assert "model-00002-of-000004.safetensors is named by the index and is not there" in sentence


async def test_files_that_the_engine_fetches_just_now_are_no_alarm(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 4)[1].unlink()
    fetching = after(BarDrawn(Progress(1, 4, "files", "Fetching 4 files")))
    await scene.looked(fetching, run_of(tmp_path / "model"))
    assert scene.told == []


async def test_a_page_cache_that_the_load_itself_has_filled_says_nothing(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 4)
    await scene.looked(after(WeightsBegan()), run_of(tmp_path / "model"))
    checkpoint = scene.watch.known.checkpoint
    assert checkpoint is not None
    assert checkpoint.cached_bytes is None


async def test_what_serves_or_is_gone_is_not_looked_at(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 4)
    serving = after(PhaseReached(LaunchPhase.SERVING))
    scene.look(serving, run_of(tmp_path / "model"))
    scene.look(after(), run_of(tmp_path / "model", alive=False))
    assert not scene.watch.busy


async def test_a_log_that_is_only_watched_names_its_model_itself(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 2)
    launch = launched(ArgsSeen({"model_path": str(tmp_path / "model"), "tp_size": "1"}))
    await scene.looked(launch, None)
    checkpoint = scene.watch.known.checkpoint
    assert checkpoint is not None
    assert len(checkpoint.shards) == 2


async def test_a_lost_link_is_waited_for(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 2)
    scene.link.state = LinkState(LinkPhase.DOWN)
    scene.look(after(), run_of(tmp_path / "model"))
    assert not scene.watch.busy
    scene.link.state = LinkState(LinkPhase.UP)
    await scene.looked(after(), run_of(tmp_path / "model"))
    assert scene.watch.known.checkpoint is not None


async def test_another_run_is_looked_at_anew(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 2)
    await scene.looked(after(), run_of(tmp_path / "model"))
    write_model(tmp_path / "other", 5)
    run = run_of(tmp_path / "other")
    scene.watch.consider(after(), run, log_path="/runs/2/log", whole=True, log_now=None)
    await until(lambda: not scene.watch.busy)
    checkpoint = scene.watch.known.checkpoint
    assert checkpoint is not None
    assert len(checkpoint.shards) == 5


def started(model: Path, at: float) -> Launch:
    return advance(Launch(engine="sglang"), ArgsSeen({"model_path": str(model), "tp_size": "1"}), at)


async def test_another_start_in_a_log_that_is_only_watched_is_looked_at_anew(scene: Scene, tmp_path: Path) -> None:
    write_model(tmp_path / "model", 2)
    write_model(tmp_path / "other", 5)
    for model, at, shards in (("model", 1.0, 2), ("other", 1.0, 5), ("model", 1.0, 2)):
        await scene.looked(started(tmp_path / model, at), None)
        checkpoint = scene.watch.known.checkpoint
        assert checkpoint is not None
        assert len(checkpoint.shards) == shards
    write_model(tmp_path / "model", 3)
    await scene.looked(started(tmp_path / "model", 2.0), None)
    assert scene.watch.known.checkpoint is not None
    assert len(scene.watch.known.checkpoint.shards) == 3


async def test_files_that_were_mended_are_seen_while_it_still_loads(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path / "model", 4)[1].unlink()
    run = run_of(tmp_path / "model")
    await scene.looked(after(), run)
    write_model(tmp_path / "model", 4)
    await scene.looked(after(), run)
    assert scene.watch.known.checkpoint is not None
    assert scene.watch.known.checkpoint.troubles  # a minute has not gone by
    monkeypatch.setattr(surroundings_watch, "AGAIN_S", 0.0)
    await scene.looked(after(WeightsBegan()), run)
    assert scene.watch.known.checkpoint.troubles == ()
    assert scene.watch.known.checkpoint.cached_bytes is not None  # as it was before the load
    scene.look(after(), run)
    assert not scene.watch.busy


async def test_files_that_stay_broken_are_told_once(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(surroundings_watch, "AGAIN_S", 0.0)
    write_model(tmp_path / "model", 4)[1].unlink()
    for _ in range(3):
        await scene.looked(after(), run_of(tmp_path / "model"))
    assert len(scene.told) == 1


async def test_a_look_that_fails_in_any_way_is_begun_again(
    scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise ValueError("no number")

    write_model(tmp_path / "model", 2)
    with monkeypatch.context() as patch:
        patch.setattr(surroundings_watch, "look", broken)
        await scene.looked(after(), run_of(tmp_path / "model"))
    looking = scene.watch._looking
    assert looking is not None
    assert looking.exception() is None
    await scene.looked(after(), run_of(tmp_path / "model"))
    assert scene.watch.known.checkpoint is not None

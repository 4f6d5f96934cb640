from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.errors import K2Error
from k2tui.core.events import Severity
from k2tui.core.launch import Launch
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.runs import Run
from k2tui.core.series import Quantity, Samples, SeriesKey
from k2tui.core.settings import ServerSettings
from k2tui.core.views import ServerView
from k2tui.services.backfill import NEWEST_S, RETRY_S, Backfill, LogPart, fill, parts_of
from k2tui.services.doors import Completed, Script
from tests.fakes.history import MemoryReadings
from tests.fakes.shell_link import ShellLink
from tests.remote.conftest import shell_bin
from tests.waiting import until

NOON = 1_796_040_000.0
"""2026-11-30 12:00 UTC."""
OFFSET_S = 3600.0
"""The node keeps 13:00 then."""
DECODE = SeriesKey("server/kimi", Quantity.DECODE)
RUNNING = SeriesKey("server/kimi", Quantity.RUNNING)


def log_of(seconds: Sequence[float], rate: float = 500.0, *, ahead_s: float = 0.0) -> str:
    """Decode lines so many seconds after noon, as a log prints them whose clock the node's is ahead of."""
    lines = []
    for second in seconds:
        moment = datetime.fromtimestamp(NOON + OFFSET_S - ahead_s + second, timezone.utc)
        lines.append(
            f"[{moment:%Y-%m-%d %H:%M:%S} TP0] Decode batch, #running-req: 8, #token: 20750, token usage: 0.25, "
            f"cuda graph: True, gen throughput (token/s): {rate}, #queue-req: 3"
        )
    return "".join(f"{line}\n" for line in lines)


def run(directory: Path, began: float, ended: float | None = None, argv: tuple[str, ...] = ()) -> Run:
    """A run between so many seconds after noon."""
    moment = datetime.fromtimestamp(NOON, timezone.utc) + timedelta(seconds=began)
    return Run(
        "kimi",
        f"{moment:%Y%m%dT%H%M%S}Z-00ff",
        str(directory),
        argv=argv,
        ended_at=None if ended is None else NOON + ended,
    )


def server(*runs: Run, log: Path | None = None, launch: Launch | None = None) -> ServerView:
    return ServerView(
        ServerSettings(name="kimi", node="gpu-a"), runs=runs, log_path=None if log is None else str(log), launch=launch
    )


@dataclass
class LostLink(ShellLink):
    """A node that breaks off in mid-answer so many times."""

    losses: int = 0

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        if self.losses:
            self.losses -= 1
            raise K2Error("gpu-a: lost", code="lost", subject="gpu-a")
        return await super().run(script, args, stdin=stdin, timeout_s=timeout_s)


@dataclass
class Time:
    """A clock that says ten minutes past one in the afternoon."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return NOON + 4200 + self.now - 1000.0

    async def sleep(self, seconds: float) -> None:
        raise NotImplementedError


@dataclass
class Stage:
    """A node with a log, and what was filled from it."""

    link: LostLink
    store: MemoryReadings = field(default_factory=MemoryReadings)
    clock: Time = field(default_factory=Time)
    told: list[str] = field(default_factory=list)
    filled: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.backfill = Backfill(
            self.store, script("log_since"), clock=self.clock, tell=self._tell, on_filled=self.filled.append
        )

    def _tell(self, subject: str, text: str, severity: Severity) -> None:
        self.told.append(text)

    async def look(self, view: ServerView, *, offset: float | None = OFFSET_S, since: float = 0.0) -> None:
        self.backfill.look(view, self.link, clock_offset_s=offset, since=NOON + since)
        await until(lambda: not self.backfill.busy, "the backfill's rest")

    async def fill(self, view: ServerView, *, since: float = 0.0, end: float = 3600.0) -> int:
        return await fill(
            self.store,
            self.link,
            script("log_since"),
            view,
            clock_offset_s=OFFSET_S,
            since=NOON + since,
            until=NOON + end,
        )

    def rates(self) -> dict[float, float]:
        """Decode rates by their time after noon."""
        return {at - NOON: figure for at, figure in self.store.told(DECODE).items()}


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    stage = Stage(LostLink(shell_bin("dash", tmp_path / "bin"), env={"HOME": str(tmp_path)}))
    yield stage
    await stage.backfill.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    log = tmp_path / "log"
    log.write_text(log_of(range(0, 3600, 5)))
    return log


async def test_the_gap_is_filled_from_the_log_on_this_machines_time(stage: Stage, log: Path) -> None:
    assert await stage.fill(server(log=log), since=600, end=900) == 5
    assert stage.rates() == {600.0 + 60 * at: 500 for at in range(5)}
    assert set(stage.store.told(RUNNING).values()) == {8}
    assert all(one.step_s == 60 for one in stage.store.samples)


async def test_only_what_nobody_recorded_is_filled(stage: Stage, log: Path) -> None:
    await stage.store.keep([Samples(DECODE, NOON, 60.0, (111,) * 30), Samples(DECODE, NOON + 1860, 2.0, (222,) * 30)])
    before = len(stage.store.samples)
    await stage.fill(server(log=log))
    new = [one for one in stage.store.samples[before:] if one.key == DECODE]
    times = [one.began + 60 * at - NOON for one in new for at, figure in enumerate(one.mean) if figure is not None]
    assert times == [1800, *range(1920, 3600, 60)]
    assert min(stage.store.told(RUNNING)) == NOON + 1800


async def test_where_all_is_recorded_no_node_is_asked(stage: Stage, log: Path) -> None:
    for quantity in (Quantity.DECODE, Quantity.RUNNING):
        await stage.store.keep([Samples(SeriesKey("server/kimi", quantity), NOON, 60.0, (1,) * 60)])
    stage.link.losses = 1
    assert await stage.fill(server(log=log)) == 0


async def test_a_minute_in_which_the_server_said_nothing_stays_unknown(stage: Stage, log: Path) -> None:
    log.write_text(log_of([5, 15, 125]))
    await stage.fill(server(log=log))
    assert stage.rates() == {0: 500, 120: 500}


async def test_a_container_may_print_another_time_zone(stage: Stage, log: Path) -> None:
    log.write_text(log_of([5, 65], ahead_s=7200))
    await stage.fill(server(log=log, launch=Launch(clock_ahead_s=7200)))
    assert stage.rates() == {0: 500, 60: 500}


async def test_each_run_of_the_gap_is_asked_for_its_own_time(stage: Stage, tmp_path: Path) -> None:
    runs = (run(tmp_path / "b", 1200), run(tmp_path / "a", 0, ended=600), run(tmp_path / "older", -9000, ended=-8000))
    for one, rate in zip(runs, (700.0, 500.0, 300.0), strict=True):
        Path(one.directory).mkdir()
        Path(one.log_path).write_text(log_of(range(-9000, 3600, 5), rate))
    await stage.fill(server(*runs))
    rates = stage.rates()
    assert {rates.get(at) for at in range(0, 600, 60)} == {500}
    assert {rates.get(at) for at in range(720, 1140, 60)} == {None}
    assert {rates.get(at) for at in range(1200, 3600, 60)} == {700}


def test_the_parts_of_the_logs_are_those_of_the_gap() -> None:
    runs = (run(Path("/c"), 3000), run(Path("/b"), 1200), run(Path("/a"), 0, ended=600))
    assert parts_of(server(*runs), NOON, NOON + 4000) == (
        LogPart("/c/log", NOON + 2940, NOON + 4000),
        LogPart("/b/log", NOON + 1140, NOON + 2940),
        LogPart("/a/log", NOON, NOON + 660),
    )
    assert parts_of(server(), NOON, NOON + 60) == ()


def test_many_ranks_and_long_times_are_asked_for_less_often() -> None:
    ranked = run(Path("/c"), 0, argv=("python3", "-m", "sglang.launch_server", "--dp", "8"))
    (part,) = parts_of(server(ranked), NOON, NOON + 4000)
    assert (part.ranks, part.every_s, part.most_bytes) == (8, 160, 2_000_000)
    long = LogPart("/c/log", NOON, NOON + 5 * 86_400)
    assert (long.every_s, long.most_bytes) == (60, 4_000_000)


async def test_it_begins_when_the_node_can_tell_and_only_once(stage: Stage, log: Path) -> None:
    view = server(log=log)
    await stage.look(view, offset=None)
    await stage.look(server())
    stage.link.state = LinkState(LinkPhase.DOWN)
    await stage.look(view)
    assert stage.store.asked == []
    stage.link.state = LinkState(LinkPhase.UP)
    await stage.look(view)
    assert stage.filled == ["kimi"]
    assert sorted(stage.rates()) == [*range(0, 3600, 60)]
    await stage.look(view)
    assert len(stage.store.asked) == 1
    await stage.look(view, since=1800)
    assert len(stage.store.asked) == 2
    assert stage.filled == ["kimi"]


async def test_the_last_minutes_are_the_recorders(stage: Stage, log: Path) -> None:
    log.write_text(log_of(range(0, 4200, 5)))
    await stage.look(server(log=log))
    assert max(stage.rates()) == 4200 - NEWEST_S - 60


async def test_a_lost_node_is_asked_again_later(stage: Stage, log: Path) -> None:
    stage.link.losses = 1
    await stage.look(server(log=log))
    await stage.look(server(log=log))
    assert stage.store.samples == []
    stage.clock.now += RETRY_S
    await stage.look(server(log=log))
    assert stage.filled == ["kimi"]
    assert stage.told == []


async def test_a_log_that_is_gone_fills_nothing(stage: Stage, tmp_path: Path) -> None:
    await stage.look(server(log=tmp_path / "none"))
    assert (stage.filled, stage.store.samples) == ([], [])


async def test_a_store_that_fails_is_said_once(stage: Stage, log: Path) -> None:
    stage.store.broken = True
    for _ in range(3):
        await stage.look(server(log=log))
        stage.clock.now += RETRY_S
    assert stage.told == ["history is not kept: the disk is full"]
    assert len(stage.store.asked) == 3


async def test_without_a_store_nobody_is_asked(log: Path, tmp_path: Path) -> None:
    link = LostLink(shell_bin("dash", tmp_path / "bin"), losses=1)
    backfill = Backfill(None, script("log_since"), clock=Time(), tell=lambda *_: None, on_filled=lambda _: None)
    backfill.look(replace(server(), log_path=str(log)), link, clock_offset_s=0.0, since=NOON)
    assert not backfill.busy
    assert link.losses == 1

"""What moves is looked at while a launch is silent, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from k2tui.adapters.trouble import link_error
from k2tui.core.activity import RankActivity
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.services.activity_watch import PERIOD_S, SILENT_S, ActivityWatch, activity_script
from k2tui.services.doors import Completed, Script
from tests.fakes.clock import FakeClock
from tests.fakes.shell_link import ShellLink

RUN = Run("kimi", "run-1", "/runs/1", child=ProcessIdentity("b00t", 71, 400), session_id=70, alive=True)
SILENT = Launch(phase=LaunchPhase.WEIGHTS, quiet_since=1000.0)


@dataclass
class MovingNode(ShellLink):
    """Its uptime is the clock's, and TP3 has read a million bytes for each second of it."""

    bin: Path = Path()
    clock: FakeClock = field(default_factory=FakeClock)
    asked: list[tuple[str, ...]] = field(default_factory=list)
    fails: bool = False
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.answers.set()

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        self.asked.append(tuple(args))
        await self.answers.wait()
        if self.fails:
            raise link_error("lost", self.name, "the connection was lost")
        now = self.clock.now
        lines = f"k2act 1 b00t {now:.2f}\nproc 71 400 S 0 {now * 1e6:.0f} 0 sglang::scheduler_TP3\nk2end\n"
        return Completed(0, lines.encode(), b"")


class Watched:
    """A watch with its node and its clock; a second passes when the test says so."""

    def __init__(self) -> None:
        self.node = MovingNode()
        self.clock = self.node.clock
        self.watch = ActivityWatch(self.node, Script("activity", ""), clock=self.clock)

    async def second(
        self, quiet_s: float, launch: Launch = SILENT, run: Run | None = RUN, gpu_busy: float | None = None
    ) -> None:
        """A second passes at whose end the launch has been quiet for so long."""
        self.clock.advance(1.0)
        since = launch.quiet_since
        self.watch.consider(run, launch, None if since is None else since + quiet_s, gpu_busy)
        for _ in range(5):
            await asyncio.sleep(0)

    async def seconds(self, first: int, last: int, launch: Launch = SILENT) -> None:
        for quiet_s in range(first, last + 1):
            await self.second(float(quiet_s), launch)


@pytest.fixture
def watched() -> Watched:
    return Watched()


async def test_two_looks_at_a_silent_launch_tell_what_moves(watched: Watched) -> None:
    await watched.seconds(1, int(SILENT_S))
    assert watched.node.asked == [("70", "71")]
    assert watched.watch.moving is None
    await watched.seconds(16, 24)
    assert len(watched.node.asked) == 1
    await watched.second(25, gpu_busy=0.4)
    moved = watched.watch.moving
    assert moved is not None
    assert moved.over_s == pytest.approx(PERIOD_S)
    assert moved.gpu_busy == 0.4
    assert moved.ranks == (RankActivity("sglang::scheduler_TP3", "TP3", 0.0, pytest.approx(1e6)),)
    await watched.seconds(26, 46)
    assert len(watched.node.asked) == 4


async def test_nothing_is_looked_at_while_the_log_moves(watched: Watched) -> None:
    for step in range(60):
        await watched.second(3.0, replace(SILENT, quiet_since=1000.0 + step))
    assert watched.node.asked == []


async def test_progress_forgets_what_moved_before_it(watched: Watched) -> None:
    await watched.seconds(15, 30)
    assert watched.watch.moving is not None
    later = replace(SILENT, quiet_since=1030.0)
    await watched.second(1.0, later)
    assert watched.watch.moving is None
    await watched.seconds(15, 20, later)
    assert watched.watch.moving is None, "a look of another silence is no first look of this one"


@pytest.mark.parametrize(
    "launch",
    [
        replace(SILENT, phase=LaunchPhase.READY, kind=LaunchKind.READY),
        replace(SILENT, kind=LaunchKind.CRASHED),
        replace(SILENT, kind=LaunchKind.STOPPED),
        replace(SILENT, kind=LaunchKind.HUNG, phase=LaunchPhase.SERVING),
        replace(SILENT, quiet_since=None),
    ],
)
async def test_only_a_launch_that_loads_is_looked_at(watched: Watched, launch: Launch) -> None:
    await watched.seconds(15, 40, launch)
    assert watched.node.asked == []


async def test_a_hung_launch_is_looked_at_on(watched: Watched) -> None:
    await watched.seconds(300, 320, replace(SILENT, kind=LaunchKind.HUNG))
    assert watched.watch.moving is not None


async def test_a_process_that_is_gone_is_not_looked_at(watched: Watched) -> None:
    await watched.second(60.0, run=replace(RUN, alive=False))
    watched.watch.consider(None, None, None)
    assert watched.node.asked == []


async def test_of_a_log_that_is_only_watched_the_host_is_looked_at(watched: Watched) -> None:
    await watched.second(60.0, run=None)
    assert watched.node.asked == [("", "")]


async def test_nothing_is_looked_at_while_the_link_is_down(watched: Watched) -> None:
    await watched.seconds(15, 30)
    assert watched.watch.moving is not None
    watched.node.state = LinkState(LinkPhase.DOWN)
    await watched.second(31)
    assert watched.watch.moving is None
    asked = len(watched.node.asked)
    await watched.seconds(32, 60)
    assert len(watched.node.asked) == asked


async def test_a_look_that_fails_says_nothing_and_is_tried_again(watched: Watched) -> None:
    await watched.seconds(15, 30)
    watched.node.fails = True
    await watched.seconds(31, 40)
    assert watched.watch.moving is None
    watched.node.fails = False
    await watched.seconds(41, 60)
    assert watched.watch.moving is not None


async def test_a_look_that_takes_long_is_the_only_one(watched: Watched) -> None:
    watched.node.answers.clear()
    await watched.seconds(15, 60)
    assert len(watched.node.asked) == 1


async def test_a_look_that_comes_after_the_silence_is_dropped(watched: Watched) -> None:
    await watched.seconds(15, 24)
    watched.node.answers.clear()
    await watched.second(25)
    watched.node.answers.set()
    await watched.second(1.0, replace(SILENT, quiet_since=1026.0))
    assert watched.watch.moving is None


async def test_closing_ends_a_look_that_is_on_its_way(watched: Watched) -> None:
    watched.node.answers.clear()
    await watched.second(20.0)
    await watched.watch.close()
    assert watched.watch.moving is None


def test_the_script_has_what_the_scripts_of_runs_share_in_front() -> None:
    made = activity_script(lambda name: Script(name, f"# {name}"))
    assert (made.name, made.text) == ("activity", "# runs\n# activity")

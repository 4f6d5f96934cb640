"""What runs on a node is looked at as often as somebody sees it, and told only when it is another."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from k2tui.adapters.trouble import link_error
from k2tui.core.errors import K2Error
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.pace import FOCUSED_FOUND_S, SHOWN_FOUND_S
from k2tui.core.readings import GpuProcess, GpuReading, NodeReading
from k2tui.core.runs import ProcessIdentity, Run
from k2tui.services.doors import Completed, Script
from k2tui.services.found_servers import FoundNames, FoundServers
from tests.core.found import main, stat, titled, told
from tests.fakes.clock import FakeClock
from tests.fakes.shell_link import ShellLink

BY_HAND = [*main(71, "python3", "-m", "sglang.launch_server"), *titled(80, "sglang::scheduler", 71)]
OURS = [*main(171, "python3", "-m", "sglang.launch_server", session=170)]
RUN = Run("kimi", "20260101T000000Z-0f0f", "/h/runs/kimi/20260101T000000Z-0f0f", alive=True, session_id=170)


@dataclass
class Box(ShellLink):
    """Its answers are what the test has it run."""

    bin: Path = Path()
    runs_here: list[str] = field(default_factory=lambda: list(BY_HAND))
    asked: list[tuple[str, ...]] = field(default_factory=list)
    error: K2Error | None = None
    since: int = 1_000_000
    whole: bool = True

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        self.asked.append(tuple(args))
        if self.error is not None:
            raise self.error
        output = told(self.runs_here).replace(b" 1000000 ", f" {self.since} ".encode())
        return Completed(0, output if self.whole else output[:-6], b"")


class Watched:
    """A node with its watch and its clock; time passes when the test says so."""

    def __init__(self) -> None:
        self.box, self.clock = Box(), FakeClock()
        self.changes = self.looks = 0
        self.reading = NodeReading()
        self.runs: Collection[Run] | None = ()
        self.found = FoundServers(
            self.box,
            Script("find_servers", ""),
            clock=self.clock,
            on_change=self._changed,
            reading=lambda: self.reading,
            own_runs=lambda: self.runs,
            on_look=self._looked,
        )

    def _changed(self) -> None:
        self.changes += 1

    def _looked(self) -> None:
        self.looks += 1

    async def pass_s(self, seconds: float) -> None:
        for _ in range(20):
            await asyncio.sleep(0)
        self.clock.advance(seconds)
        for _ in range(20):
            await asyncio.sleep(0)


@pytest.fixture
def watched() -> Watched:
    return Watched()


def pids(servers: Sequence[FoundServer]) -> list[int]:
    return [server.process.pid for server in servers]


async def test_what_stays_as_it_is_is_told_once(watched: Watched) -> None:
    for moved in (0, 1, 2):  # the kernel's idea of its boot moves with the clock
        watched.box.since = 1_000_000 + moved
        await watched.found.look()
    assert (pids(watched.found.servers), watched.changes, watched.looks) == ([71], 1, 3)
    assert watched.found.at == watched.clock.now
    watched.box.runs_here = []
    await watched.found.look()
    assert (watched.found.servers, watched.found.processes, watched.changes) == ((), (), 2)


async def test_runs_of_the_config_are_nobody_elses(watched: Watched) -> None:
    watched.box.runs_here = BY_HAND + OURS
    watched.runs = (replace(RUN, supervisor=ProcessIdentity("b00t", 170, 1)),)
    await watched.found.look()
    assert pids(watched.found.servers) == [71]
    assert [process.pid for process in watched.found.processes] == [71, 80, 171]


async def test_before_the_runs_are_known_nothing_is_called_found(watched: Watched) -> None:
    watched.runs = None
    await watched.found.look()
    assert (watched.found.servers, watched.found.at, watched.found.is_settled) == ((), None, False)
    assert [process.pid for process in watched.found.processes] == [71, 80]
    watched.runs = ()
    await watched.found.look()
    assert (pids(watched.found.servers), watched.found.is_settled, watched.changes) == ([71], True, 2)


@pytest.mark.parametrize(("ticks", "told_of"), [(9_000, []), (400, [171])])
async def test_a_run_that_the_list_of_runs_has_not_got_yet_is_waited_for(
    ticks: int, told_of: list[int], watched: Watched
) -> None:
    argv = ("python3", "-m", "sglang.launch_server")
    watched.box.runs_here = [*main(171, *argv, ticks=ticks), f"fd 171 2 file {RUN.log_path}"]
    await watched.found.look()
    assert pids(watched.found.servers) == told_of, "an old one is another operator's"


async def test_the_processes_that_hold_gpus_are_asked_for_and_joined(watched: Watched) -> None:
    gpus = tuple(GpuReading(index, f"GPU-{index}") for index in range(2))
    held = (GpuProcess("GPU-1", 80), GpuProcess("GPU-0", 5), GpuProcess("GPU-0", 0))
    watched.reading = NodeReading(gpus=gpus, gpu_processes=held)
    watched.box.runs_here = [*BY_HAND, stat(5, 1)]
    await watched.found.look()
    assert watched.box.asked == [("5", "80")]
    assert [server.gpus for server in watched.found.servers] == [(1,)]
    assert [process.pid for process in watched.found.processes] == [5, 71, 80]


async def test_it_looks_again_after_its_period_and_sooner_when_that_becomes_shorter(watched: Watched) -> None:
    watched.found.start()
    await watched.pass_s(SHOWN_FOUND_S - 1)
    assert len(watched.box.asked) == 1
    await watched.pass_s(1)
    assert len(watched.box.asked) == 2
    await watched.pass_s(FOCUSED_FOUND_S)
    watched.found.period_s = FOCUSED_FOUND_S
    await watched.pass_s(0)
    assert len(watched.box.asked) == 3, "it was due already"
    await watched.pass_s(FOCUSED_FOUND_S - 1)
    watched.found.period_s = SHOWN_FOUND_S
    await watched.pass_s(1)
    assert len(watched.box.asked) == 3, "a longer one holds at once"
    await watched.pass_s(SHOWN_FOUND_S - FOCUSED_FOUND_S)
    assert len(watched.box.asked) == 4
    await watched.found.close()


async def test_a_node_out_of_reach_is_not_asked(watched: Watched) -> None:
    watched.box.state = LinkState(LinkPhase.DOWN)
    watched.found.start()
    await watched.pass_s(SHOWN_FOUND_S)
    assert (watched.box.asked, watched.found.is_settled) == ([], False)
    watched.box.state = LinkState(LinkPhase.UP)
    await watched.pass_s(1)
    assert pids(watched.found.servers) == [71]
    await watched.found.close()


async def test_a_look_that_fails_is_told_once_and_what_was_found_stays(watched: Watched) -> None:
    watched.found.start()
    await watched.pass_s(0)
    watched.box.error = link_error("lost", "gpu-a", "the connection was lost")
    for _ in range(3):
        await watched.pass_s(SHOWN_FOUND_S)
    assert (pids(watched.found.servers), watched.changes) == ([71], 2)
    assert watched.found.problem is not None
    watched.box.error = None
    await watched.pass_s(SHOWN_FOUND_S)
    assert watched.changes == 3
    assert [watched.found.problem] == [None]
    await watched.found.close()


async def test_an_answer_that_breaks_off_is_an_error_with_a_way_out(watched: Watched) -> None:
    watched.box.whole = False
    with pytest.raises(K2Error) as raised:
        await watched.found.look()
    assert (raised.value.code, raised.value.subject) == ("look_failed", "gpu-a")


def server(pid: int, port: int | None = 30000, ticks: int = 5) -> FoundServer:
    process = NodeProcess(ProcessIdentity("b00t", pid, ticks), 1, 1, "ann", "")
    return FoundServer(process, "sglang", (), port=port)


def test_a_name_is_plain_while_nobody_else_has_it() -> None:
    names = FoundNames(lambda: ("sglang-30001",))
    assert names.name_of(server(71), "gpu-a") == "sglang-30000"
    assert names.name_of(server(71), "gpu-b") == "sglang-30000@gpu-b"
    assert names.name_of(server(72, 30001), "gpu-a") == "sglang-30001@gpu-a"
    assert names.name_of(server(73, None), "gpu-a") == "sglang-73"
    assert names.name_of(server(74), "gpu-b") == "sglang-30000-74"


def test_a_name_stays_while_the_server_runs_and_goes_to_its_successor() -> None:
    names = FoundNames(tuple)
    first, other = server(71), server(90)
    assert names.name_of(first, "gpu-b") == "sglang-30000"
    assert names.name_of(other, "gpu-a") == "sglang-30000@gpu-a"
    names.forget("gpu-b", [first])
    assert names.name_of(first, "gpu-b") == "sglang-30000"
    names.forget("gpu-b", [])
    assert names.name_of(server(72), "gpu-b") == "sglang-30000"
    assert names.name_of(other, "gpu-a") == "sglang-30000@gpu-a"


@pytest.mark.parametrize("first", ["gpu-a", "gpu-b"])
def test_on_several_nodes_a_name_does_not_depend_on_who_answers_first(first: str) -> None:
    names = FoundNames(tuple, several_nodes=True)
    names.name_of(server(71), first)
    assert [names.name_of(server(71), node) for node in ("gpu-a", "gpu-b")] == [
        "sglang-30000@gpu-a",
        "sglang-30000@gpu-b",
    ]
    assert names.name_of(server(74), "gpu-a") == "sglang-30000-74@gpu-a"

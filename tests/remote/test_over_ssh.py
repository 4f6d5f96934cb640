"""Starts, stops and finds over a real sshd, also when the connection is cut in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import pytest_asyncio

from k2tui.adapters.links import make_link
from k2tui.adapters.local_link import LocalLink
from k2tui.core.errors import K2Error
from k2tui.core.runs import Run
from k2tui.services.doors import NodeLink
from tests.remote.node import Node, is_alive
from tests.sshd import Sshd
from tests.waiting import until

Dial = Callable[[], NodeLink]


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A running sshd with a home of its own."""
    server = Sshd(tmp_path / "sshd")
    server.start()
    yield server
    server.stop()


@pytest_asyncio.fixture
async def dial(sshd: Sshd, tmp_path: Path) -> AsyncIterator[Dial]:
    """Makes links to the sshd, each an operator of its own."""
    trusted = tmp_path / "known_hosts"
    trusted.write_text(sshd.known_hosts_line)
    async with AsyncExitStack() as stack:

        def make() -> NodeLink:
            link = make_link(sshd.node("gpu-a"), trusted_hosts=trusted, ssh_config=())
            stack.push_async_callback(link.close)
            return link

        yield make


@pytest_asyncio.fixture
async def node(dial: Dial, sshd: Sshd, tmp_path: Path) -> AsyncIterator[Node]:
    """The node behind it; afterwards nothing that a login started is left."""
    made = Node(dial(), tmp_path)
    yield made
    await beside(made, dial()).clear()
    await until(lambda: not sshd.processes(), "a node without our processes")


def beside(node: Node, link: NodeLink) -> Node:
    """Another operator of the same node."""
    return Node(link, node.directory, stubborn=node.stubborn)


async def test_of_ten_starts_at_once_over_ssh_one_runs_and_nine_are_told_why(node: Node, dial: Dial) -> None:
    operators = [node, *(beside(node, dial()) for _ in range(2))]
    server = node.server(gpus=(0, 1, 2, 3))
    starts = [
        operators[at % 3].keeper.launch(server, node.profile("deaf,twice"), started_by=f"operator{at}@desk")
        for at in range(10)
    ]
    results = await asyncio.gather(*starts, return_exceptions=True)
    runs = [result for result in results if isinstance(result, Run)]
    errors = [result for result in results if isinstance(result, K2Error)]
    assert (len(runs), len(errors)) == (1, 9)
    assert {error.code for error in errors} <= {"already_running", "start_in_progress"}
    assert all(runs[0].run_id in error.message for error in errors)
    assert [run.run_id for run in await node.keeper.scan()] == [runs[0].run_id]


async def test_a_server_survives_its_connection_and_is_found_by_another(node: Node, dial: Dial, sshd: Sshd) -> None:
    run = await node.start(profile=node.profile("deaf,twice,own group"))
    pids = (await node.report())["pids"]
    assert sshd.cut()
    later = beside(node, dial())
    assert await later.keeper.scan() == (run,)
    assert all(map(is_alive, pids.values()))
    report = await later.keeper.stop(run, grace_s=1)
    assert not [name for name, pid in pids.items() if is_alive(pid)]
    assert report.exit_code == 143


async def test_a_launch_whose_connection_is_cut_goes_on_and_is_found(node: Node, dial: Dial, sshd: Sshd) -> None:
    go = node.directory / "go"
    profile = node.profile(setup=f"until [ -e {go} ]; do sleep 0.02; done")
    launch = asyncio.ensure_future(node.keeper.launch(node.server(), profile, started_by="ada@desk"))
    await until(node.locks)
    assert sshd.cut()
    with pytest.raises(K2Error):
        await launch
    go.touch()
    await node.report()
    (run,) = await beside(node, dial()).keeper.scan()
    assert (run.alive, run.started_by) == (True, "ada@desk")


async def test_a_plan_outlives_its_connection_and_is_begun_by_another(node: Node, dial: Dial, sshd: Sshd) -> None:
    planned = await node.keeper.prepare(node.server(), node.profile(), started_by="ada@desk", why="restart")
    assert sshd.cut()
    later = beside(node, dial())
    assert await later.keeper.scan() == (planned,)
    run = await later.keeper.begin(planned)
    await node.report()
    assert (run.run_id, run.alive, run.started_by) == (planned.run_id, True, "ada@desk")


async def test_a_begin_whose_connection_is_cut_goes_on_and_is_found(node: Node, dial: Dial, sshd: Sshd) -> None:
    go = node.directory / "go"
    profile = node.profile(setup=f"until [ -e {go} ]; do sleep 0.02; done")
    planned = await node.keeper.prepare(node.server(), profile, started_by="ada@desk")
    begin = asyncio.ensure_future(node.keeper.begin(planned))
    await until(node.locks)
    assert sshd.cut()
    with pytest.raises(K2Error):
        await begin
    later = beside(node, dial())
    again = asyncio.ensure_future(later.keeper.begin(planned))
    go.touch()
    await node.report()
    assert (await again).alive
    assert [run.run_id for run in await later.keeper.scan()] == [planned.run_id]


async def test_a_stop_whose_connection_is_cut_comes_to_its_end(node: Node, dial: Dial, sshd: Sshd) -> None:
    run = await node.start(profile=node.profile("deaf"))
    stop = asyncio.ensure_future(node.keeper.stop(run, grace_s=2))
    await until((Path(run.directory) / "stop").exists)
    assert sshd.cut()
    await asyncio.gather(stop, return_exceptions=True)
    later = beside(node, dial())
    ended = await later.ended(run)
    assert (ended.stop_asked, ended.exit_code) == (True, 143)


async def test_the_machine_itself_is_a_node_without_ssh(tmp_path: Path) -> None:
    node = Node(LocalLink("gpu-a"), tmp_path)
    run = await node.start(profile=node.profile("deaf"))
    assert await node.keeper.scan() == (run,)
    assert (await node.keeper.stop(run)).exit_code == 143


async def test_the_home_of_the_login_is_the_default(sshd: Sshd, dial: Dial, tmp_path: Path) -> None:
    node = Node(dial(), tmp_path, home_setting="~/.k2tui")
    run = await node.start()
    assert run.directory.startswith(f"{sshd.home}/.k2tui/runs/kimi/")
    await node.keeper.stop(run)

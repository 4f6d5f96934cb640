"""The embedded fleet is reached by SSH, starts servers by the real launch wrapper, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.errors import K2Error
from k2tui.core.profiles import command_text, resolve
from k2tui.core.runs import Run
from k2tui.demo.fleet import DemoFleet
from k2tui.demo.scene import scene
from k2tui.demo.sweep import processes_under, remove_stale
from k2tui.services.doors import Script
from k2tui.services.runs import RunKeeper, RunScripts
from tests.demo.waiting import until


async def runs_of(demo: DemoFleet, node: str) -> dict[str, Run]:
    link = demo.make_link(demo.settings.nodes[node])
    try:
        await link.connect()
        keeper = RunKeeper(link, demo.settings.nodes[node], RunScripts(script))
        return {run.server: run for run in await keeper.scan()}
    finally:
        await link.close()


async def test_it_opens_with_servers_up_and_one_crashed(tmp_path: Path) -> None:
    async with DemoFleet(4, root=tmp_path / "demo", pace=0.05) as demo:
        await demo.opened()
        assert await runs_of(demo, "gpu-a") == {}
        assert (await runs_of(demo, "gpu-b"))["kimi-prod"].alive
        assert (await runs_of(demo, "gpu-c"))["qwen"].alive
        crashed = (await runs_of(demo, "gpu-d"))["kimi-nightly"]
        await until(lambda: (Path(crashed.directory) / "exit").exists())
        assert (await runs_of(demo, "gpu-d"))["kimi-nightly"].exit_code == 137
        assert "torch.OutOfMemoryError" in Path(crashed.log_path).read_text(encoding="utf-8")


async def test_nothing_is_left_when_it_closes(tmp_path: Path) -> None:
    async with DemoFleet(2, pace=0.05) as demo:
        root = demo.layout.root
        await demo.opened()
        await until(lambda: len(list(processes_under(root))) > 5)
    assert list(processes_under(root)) == []
    assert not root.exists()


async def test_nothing_is_left_when_it_closes_while_it_opens() -> None:
    async with DemoFleet(4) as demo:
        root = demo.layout.root
    assert list(processes_under(root)) == []
    assert not root.exists()


async def test_the_command_looks_like_an_operators() -> None:
    async with DemoFleet(1, up=False) as demo:
        server = demo.settings.servers["kimi"]
        text = command_text(resolve(demo.settings, "reason", server, None))
    assert "NCCL_PROTO=LL" in text
    assert "python3 -m sglang.launch_server --model-path shared/kimi-k2.5-int4" in text
    assert f"--port {server.port}" in text
    assert "K2_DEMO" not in text


async def test_every_node_of_a_large_fleet_is_reached() -> None:
    async with DemoFleet(64, up=False) as demo:
        links = [demo.make_link(node) for node in demo.settings.nodes.values()]
        await asyncio.gather(*(link.connect() for link in links))
        told = await asyncio.gather(*(link.run(Script("who", 'echo "$USER"'), ()) for link in links))
        assert [done.stdout.decode().strip() for done in told] == [link.name for link in links]
        await asyncio.gather(*(link.close() for link in links))


async def test_a_killed_demo_takes_its_servers_with_it(tmp_path: Path) -> None:
    program = (
        "import asyncio\nfrom k2tui.demo.fleet import DemoFleet\n"
        "async def main():\n"
        "    async with DemoFleet(2, pace=0.05) as demo:\n"
        "        await demo.opened()\n"
        "        print(demo.layout.root, flush=True)\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert child.stdout is not None
    root = Path((await child.stdout.readline()).decode().strip())
    assert list(processes_under(root))
    child.send_signal(signal.SIGKILL)
    await child.wait()
    await until(lambda: not list(processes_under(root)))
    assert root.exists()
    assert remove_stale(tmp_path) == [root]
    assert not root.exists()


async def test_a_living_demo_is_not_stale(tmp_path: Path) -> None:
    async with DemoFleet(1, root=tmp_path / "k2tui-demo-x", up=False):
        assert remove_stale(tmp_path) == []


def test_names_go_on_past_the_alphabet() -> None:
    names = list(scene(64).nodes)
    assert names[:3] == ["gpu-a", "gpu-b", "gpu-c"]
    assert names[25:28] == ["gpu-z", "gpu-aa", "gpu-ab"]
    assert len({part.name for _, part in scene(64).parts()}) == len(list(scene(64).parts()))


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"nodes": 1000}, {"fault": "nonsense"}])
def test_what_cannot_be_played_is_a_usage_error(wrong: dict[str, int]) -> None:
    with pytest.raises(K2Error) as refused:
        DemoFleet(**wrong)  # type: ignore[arg-type]  # one of them is a text
    assert refused.value.exit_code == 2

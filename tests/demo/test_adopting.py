"""A server that was started by hand is adopted: written into the config, stopped by its identity, started as ours."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from k2tui.adapters.config_file import ConfigFile
from k2tui.adapters.config_writer import TomlConfigWriter
from k2tui.cli import real_doors
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.verbs import VerbEvent
from k2tui.core.views import ServerView
from k2tui.demo.fleet import DemoFleet
from k2tui.demo.models import QWEN
from k2tui.services.fleet import Fleet
from tests.demo.engines import READY
from tests.demo.waiting import until
from tests.fakes.audit import MemoryAudit
from tests.remote.node import free_port, is_alive

NODE = "gpu-a"
FLAGS = ("--served-model-name", "mine", "--tp-size", "2", "--enable-metrics")


@dataclass
class ByHand:
    """A shell of an operator, with the engine in it."""

    shell: subprocess.Popen[bytes]
    port: int
    log: Path


@contextmanager
def by_hand(demo: DemoFleet, *flags: str, port: int | None = None) -> Iterator[ByHand]:
    """`nohup python3 -m sglang.launch_server ... &` in a shell on the node, which stays open."""
    port = port or free_port()
    home = demo.layout.node(NODE)
    words = [
        "python3",
        "-m",
        "sglang.launch_server",
        "--model-path",
        f"shared/{QWEN.name}",
        "--port",
        str(port),
        *flags,
    ]
    line = f"nohup {shlex.join(words)} >hand.log 2>&1 &\nwhile read -r word; do :; done"
    env = {**demo.layout.environment(NODE), "HF_TOKEN": "hf_planted0123456789", "NCCL_PROTO": "LL128"}
    shell = subprocess.Popen(["sh", "-c", line], cwd=home, env=env, stdin=subprocess.PIPE, start_new_session=True)
    try:
        yield ByHand(shell, port, home / "hand.log")
    finally:
        shell.kill()
        shell.wait()


@asynccontextmanager
async def watched(demo: DemoFleet, audit: MemoryAudit, *, read_only: bool = False) -> AsyncIterator[Fleet]:
    assert demo.config is not None
    doors = replace(
        real_doors(demo.make_link),
        audit=audit,
        history=None,
        past=None,
        builds=None,
        kept_runs=None,
        alert_runner=None,
        config=TomlConfigWriter(demo.config),
    )
    fleet = Fleet(replace(demo.settings, read_only=read_only), doors, simulated=True)
    await fleet.open()
    try:
        yield fleet
    finally:
        await fleet.close()


async def found(fleet: Fleet, hand: ByHand) -> ServerView:
    """It serves, and was found."""

    def it() -> list[ServerView]:
        return [view for view in fleet.servers() if view.found is not None and view.found.port == hand.port]

    await until(lambda: hand.log.exists() and READY in hand.log.read_bytes() and bool(it()))
    return it()[0]


async def played(steps: AsyncIterator[VerbEvent]) -> list[VerbEvent]:
    return [event async for event in steps]


async def test_it_becomes_one_of_ours_and_runs_the_same_command() -> None:
    audit = MemoryAudit()
    async with DemoFleet(1, up=False, pace=0.05) as demo, watched(demo, audit) as fleet:
        with by_hand(demo, *FLAGS) as hand:
            view = await found(fleet, hand)
            name = view.settings.name
            assert view.found is not None
            main = view.found.process.pid
            events = await played(fleet.adopt(name, confirm=NODE))
            assert [event.exit_code for event in events][-1] is ExitCode.DONE, events[-1].text
            assert not is_alive(main)
            assert hand.shell.poll() is None
            first = events[0]
            assert first.type == "preflight"
            assert f"pid {main}" in first.text
            assert f"session {hand.shell.pid}" in first.text
            assert any("HF_TOKEN" in event.text for event in events if event.type == "preflight")
            kinds = [event.type for event in events if event.type not in ("phase", "progress", "weights", "effect")]
            assert kinds.index("config") < kinds.index("stopping") < kinds.index("stopped") < kinds.index("started")
            run = fleet.server(name).run
            assert run is not None
            assert (run.alive, run.why, run.port) == (True, "adopt", hand.port)
            assert run.argv[1:4] == ("-m", "sglang.launch_server", "--model-path")
            assert set(FLAGS) <= set(run.argv)
            assert dict(run.env)["NCCL_PROTO"] == "LL128"
            assert demo.config is not None
            written = ConfigFile(str(demo.config.path), {}).load()
            assert written.servers[name].port == hand.port
            assert "hf_planted" not in demo.config.path.read_text() + repr(events) + repr(audit.lines)
            done = [(action, subject, result) for _, action, subject, _, result in audit.lines]
            assert ("adopt", name, "began") in done
            assert done[-1] == ("adopt", name, "done")


async def test_it_is_not_touched_without_the_typed_word_and_what_would_be_hit_is_named() -> None:
    audit = MemoryAudit()
    async with DemoFleet(1, up=False, pace=0.05) as demo, watched(demo, audit) as fleet:
        with by_hand(demo, *FLAGS) as hand:
            view = await found(fleet, hand)
            assert view.found is not None
            before = Path(demo.layout.root / "config.toml").read_bytes()
            with pytest.raises(K2Error, match=rf"will be stopped: pid {view.found.process.pid}") as error:
                await played(fleet.adopt(view.settings.name))
            assert error.value.code == "confirm_needed"
            assert is_alive(view.found.process.pid)
            assert Path(demo.layout.root / "config.toml").read_bytes() == before
            assert audit.lines == []


async def test_one_with_a_secret_in_its_command_is_not_adopted() -> None:
    async with DemoFleet(1, up=False, pace=0.05) as demo, watched(demo, MemoryAudit()) as fleet:
        with by_hand(demo, *FLAGS, "--api-key", "hunter2hunter2") as hand:
            view = await found(fleet, hand)
            assert view.found is not None
            with pytest.raises(K2Error, match=r"has a secret \(--api-key\)") as error:
                await played(fleet.adopt(view.settings.name, confirm=NODE))
            assert error.value.code == "secret_unknown"
            assert is_alive(view.found.process.pid)


async def test_one_that_could_not_start_from_here_runs_on() -> None:
    async with DemoFleet(1, up=False, pace=0.05) as demo, watched(demo, MemoryAudit()) as fleet:
        with by_hand(demo, *FLAGS) as hand:
            view = await found(fleet, hand)
            assert view.found is not None
            next((demo.layout.root / "shared" / QWEN.name).glob("*.safetensors")).unlink()
            with pytest.raises(K2Error, match="runs on as it was") as error:
                await played(fleet.adopt(view.settings.name, confirm=NODE))
            assert error.value.code == "preflight"
            assert is_alive(view.found.process.pid)


async def test_one_on_the_port_of_a_server_of_the_config_is_started_as_it_ran() -> None:
    async with DemoFleet(1, up=False, pace=0.05) as demo, watched(demo, MemoryAudit()) as fleet:
        port = demo.settings.servers["kimi"].port
        before = Path(demo.layout.root / "config.toml").read_bytes()
        with by_hand(demo, *FLAGS, port=port) as hand:
            view = await found(fleet, hand)
            assert view.settings.name == "kimi"
            events = await played(fleet.adopt("kimi", confirm=NODE))
            assert events[-1].exit_code is ExitCode.DONE, events[-1].text
            run = fleet.server("kimi").run
            assert run is not None
            assert set(FLAGS) <= set(run.argv)
            assert Path(demo.layout.root / "config.toml").read_bytes() == before


async def test_what_nobody_found_is_nothing_to_adopt() -> None:
    async with DemoFleet(1, up=False, pace=0.05) as demo, watched(demo, MemoryAudit()) as fleet:
        with pytest.raises(K2Error, match="nothing that somebody else started") as error:
            await played(fleet.adopt("kimi", confirm=NODE))
        assert error.value.exit_code is ExitCode.MISSING

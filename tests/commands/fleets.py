"""A fleet that stands as the test says, and plain commands on it."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, cast

import pytest

from k2tui.adapters.scripts import script
from k2tui.commands.arguments import build_parser
from k2tui.commands.wires import Wires
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.link import LinkPhase
from k2tui.core.readings import GpuProcess, GpuReading, NodeReading
from k2tui.core.runs import ProcessIdentity
from k2tui.core.serving import Latency, ServingReading
from k2tui.core.settings import Settings
from k2tui.core.views import ServerStatus
from k2tui.services.fleet import Fleet
from tests.fakes.fleet import FakeClock, FakeFleet, gpus, reading, settings_of

Main = Callable[[argparse.Namespace, Wires], int]


class StandingFleet(FakeFleet):
    """Its figures are of this very moment, and everything was looked at."""

    def __init__(self, settings: Settings) -> None:
        clock = FakeClock()
        clock.at = time.monotonic()
        super().__init__(settings, clock)
        self.after: list[Callable[[], None]] = []
        """What happens meanwhile: one after each comparison of a command that watches, which ends with the last."""

    async def settle(self, names: Iterable[str] | None = None, *, limit_s: float = 30.0) -> None: ...

    def see(self, node: str, *processes: NodeProcess, held: Iterable[GpuProcess] = (), **changes: Any) -> None:
        """What runs there, what holds its GPUs, and what its reading says else."""
        view = self._nodes[node]
        now = self.clock.at
        told = replace(view.reading, gpu_processes=tuple(held), gpu_processes_at=now, **changes)
        self._nodes[node] = replace(view, processes=processes, processes_at=now, reading=told)
        self.revision += 1


def standing(node_count: int = 1, *, gpu_count: int = 2, **settings: Any) -> StandingFleet:
    """Nodes gpu-a ... with GPUs that are at work, and a server that does not run on each."""
    fleet = StandingFleet(settings_of(node_count, **settings))
    for name in fleet.settings.nodes:
        fleet.link(name, phase=LinkPhase.UP)
        fleet.read(name, reading(fleet.clock, gpus(gpu_count)))
        fleet.see(name)
    for name in fleet.settings.servers:
        fleet.set(name, status=ServerStatus.DOWN)
    return fleet


def serves(fleet: StandingFleet, name: str, **figures: Any) -> None:
    """It is ready and at work."""
    usual: dict[str, Any] = {
        "running": 3,
        "waiting": 1,
        "kv_usage": 0.12,
        "decode_tokens_per_s": 642.0,
        "window_s": 5.0,
        "ttft": Latency(0.1, 0.21, 0.4, 17),
    }
    fleet.ready(name)
    fleet.set(name, serving=ServingReading(fleet.clock.at, "metrics", **{**usual, **figures}))


def idle_gpu(index: int = 0, **changes: Any) -> GpuReading:
    """A GPU that nobody uses."""
    (one,) = gpus(1, utilization=0.0, used_gib=0.0)
    return replace(one, index=index, uuid=f"GPU-{index}", **changes)


def process(pid: int, parent: int = 1, user: str = "ann", title: str = "python train.py") -> NodeProcess:
    """A process that began at some time."""
    return NodeProcess(ProcessIdentity("boot", pid, 5), parent, pid, user, title, 1_796_000_000.0)


def by_hand(pid: int = 41, **changes: Any) -> FoundServer:
    """A server that Bob started."""
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", "/models/m", "--port", "31000")
    worker = process(pid + 1, pid, "bob", "sglang::scheduler_TP0")
    usual: dict[str, Any] = {"port": 31000, "listening": True, "log": "/tmp/m.log", "gpus": (0,), "workers": (worker,)}
    return FoundServer(process(pid, 1, "bob", " ".join(argv)), "sglang", argv, **{**usual, **changes})


def stale(seen: NodeReading, by_s: float) -> NodeReading:
    """The same reading, so much older."""
    gpus_at, host_at = seen.gpus_at or 0.0, seen.host_at or 0.0
    return replace(seen, gpus_at=gpus_at - by_s, host_at=host_at - by_s)


def run(main: Main, fleet: StandingFleet, *words: str) -> int:
    """The exit code of a plain command on this fleet; what it printed is captured by pytest."""
    wires = Wires(settings=lambda: fleet.settings, fleet=lambda _: cast(Fleet, fleet), script=script)
    return main(build_parser().parse_args(list(words)), wires)


def told(main: Main, fleet: StandingFleet, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    """The one document of a plain command on this fleet."""
    assert run(main, fleet, *words, "--json") == 0
    return json.loads(capsys.readouterr().out)


def watched(
    main: Main, fleet: StandingFleet, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> list[str]:
    """The lines of a command that watches while `fleet.after` happens."""
    happens = iter(fleet.after)
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        step = next(happens, None)
        if step is None:
            raise KeyboardInterrupt
        step()
        await real(0)

    monkeypatch.setattr("k2tui.commands.listing.asyncio.sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        run(main, fleet, *words)
    assert fleet.closed
    return capsys.readouterr().out.splitlines()

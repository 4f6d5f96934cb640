"""The simulated fleet with series on it: real SSH, real launches, real measurements; only the engine is played."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from k2tui.adapters.audit_file import AuditFile
from k2tui.adapters.config_file import ConfigFile
from k2tui.adapters.links import make_link
from k2tui.adapters.state.db import StateDb
from k2tui.cli import real_doors
from k2tui.core.benching import gates
from k2tui.core.benching.plan import BenchPlan
from k2tui.core.config_document import document_of
from k2tui.core.errors import ExitCode
from k2tui.core.settings import MatrixSettings, NodeSettings, ProfileSettings, Settings
from k2tui.core.toml_text import toml_text
from k2tui.demo.fleet import DemoFleet
from k2tui.services.doors import NodeLink
from k2tui.services.fleet import Fleet

SERVER, NODE = "kimi", "gpu-a"
PACE, RATE = 0.04, 300.0
QUICK = BenchPlan(max_tokens=64, repeats=2)
SLOW, QUICKER = "eager", "graphs"
"""Two profiles with one difference: CUDA graphs, which give 61 % more tok/s."""
OURS: Mapping[str, ProfileSettings] = {
    SLOW: ProfileSettings(SLOW, extends="reason", flags={"cuda-graph-backend-decode": "disabled"}),
    QUICKER: ProfileSettings(QUICKER, extends="reason"),
}
MATRIX = MatrixSettings(
    "nccl",
    SERVER,
    profile="reason",
    env={"NCCL_PROTO": ("LL", "LL128"), "NCCL_ALGO": ("Ring", "Tree")},
    restarts=2,
    launch_limit_s=6.0,
)


def lenient() -> None:
    """The machine of the tests is shared with other work: how late the generator wakes up says nothing here."""
    gates.MOST_LAG_MS = 1e6
    gates.MOST_CPU_SHARE = 1e6


@dataclass(frozen=True)
class Demo:
    """An open demo, and the directory from which another k2tui can reach it."""

    fleet: DemoFleet
    root: Path


@asynccontextmanager
async def demo_of(root: Path, *, fault: str | None = None) -> AsyncIterator[Demo]:
    """A demo of one node with these profiles; its config stands in config.toml."""
    async with DemoFleet(1, root, fault, PACE, rate=RATE, up=False) as demo:
        settings = replace(demo.settings, verify_checks="none", profiles={**demo.settings.profiles, **OURS})
        (root / "config.toml").write_text(toml_text(document_of(settings)), encoding="utf-8")
        yield Demo(demo, root)


@asynccontextmanager
async def k2_on(root: Path) -> AsyncIterator[Fleet]:
    """A k2tui of its own on an open demo."""
    config = ConfigFile(str(root / "config.toml"), {})
    settings: Settings = replace(config.load(), matrices={"nccl": MATRIX})

    def linked(node: NodeSettings) -> NodeLink:
        return make_link(node, trusted_hosts=root / "known_hosts", ssh_config=())

    state = StateDb(root / "state.db")
    doors = replace(
        real_doors(linked),
        audit=AuditFile(root / "audit.jsonl", user="tester"),
        history=state,
        past=state,
        builds=state,
        kept_runs=state,
        benches=state,
        alert_runner=None,
        config=None,
    )
    fleet = Fleet(settings, doors, simulated=True)
    await fleet.open()
    try:
        await fleet.settle()
        yield fleet
    finally:
        await fleet.close()


async def started(fleet: Fleet) -> str:
    """The server runs as its own profile says; its run's id."""
    last = [step async for step in fleet.start(SERVER)][-1]
    assert last.exit_code is ExitCode.DONE, last.text
    run = fleet.server(SERVER).run
    assert run is not None
    return run.run_id

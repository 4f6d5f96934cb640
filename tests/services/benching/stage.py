"""A server whose truth is known, watched on this machine by a real fleet: everything real but the model."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from k2tui.adapters.links import make_link
from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.adapters.state.db import StateDb
from k2tui.adapters.web_door import web_door
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan
from k2tui.core.benching.result import BenchResult
from k2tui.core.settings import NodeSettings, ServerSettings, Settings
from k2tui.core.views import ServerStatus
from k2tui.services.doors import BenchHistory, NodeLink, RealClock, Script
from k2tui.services.fleet import Fleet, FleetDoors
from tests.fakes.audit import MemoryAudit
from tests.waiting import until

NAME, NODE = "kimi", "here"
QUICK = BenchPlan(max_tokens=80, repeats=3)


async def nothing() -> None:
    return None


def ready_log(path: Path) -> Path:
    """The log of a server that came up just now."""
    now = time.strftime("%Y-%m-%d %H:%M:%S")
    lines = ("server_args=ServerArgs(model_path='/m')", "The server is fired up and ready to roll!")
    path.write_text("".join(f"[{now}] {line}\n" for line in lines))
    return path


@dataclass
class Place:
    """One k2tui on this machine: its store, its audit log, and the links that it made."""

    folder: Path
    read_only: bool = False
    history: BenchHistory | None = None
    scripts: Callable[[str], Script] = script
    audit: MemoryAudit = field(default_factory=MemoryAudit)
    links: list[NodeLink] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = StateDb(self.folder / "state.db")

    def fleet(self, settings: Settings) -> Fleet:
        def linked(node: NodeSettings) -> NodeLink:
            self.links.append(make_link(node, trusted_hosts=self.folder / "known_hosts", ssh_config=()))
            return self.links[-1]

        doors = FleetDoors(
            linked,
            nothing,
            self.scripts,
            self.audit,
            RealClock(),
            *(None, None, None),
            "tester@here",
            benches=self.history or self.store,
            ask_url=web_door,
        )
        return Fleet(settings, doors)

    @asynccontextmanager
    async def watching(self, port: int, *, up: bool = True) -> AsyncIterator[Fleet]:
        """A fleet with one server of somebody else on this port, by its log."""
        log = self.folder / "engine.log"
        if up:
            ready_log(log)
        server = ServerSettings(NAME, NODE, log=str(log), port=port)
        settings = Settings(
            read_only=self.read_only,
            probe_generate="never",
            nodes={NODE: NodeSettings(NODE, "localhost", transport="local", home=str(self.folder / "home"))},
            servers={NAME: server},
        )
        fleet = self.fleet(settings)
        await fleet.open()
        try:
            if up:
                await until(lambda: fleet.server(NAME).status is ServerStatus.UNPROVED, "a server that is up")
            yield fleet
        finally:
            await fleet.close()
            await self.store.close()

    @property
    def generators(self) -> int:
        """Load generators that still run on this machine."""
        links = [link for link in self.links if isinstance(link, LocalLink)]
        return sum(held._packed.name == "measure" for link in links for held in link._held)

    def benches(self) -> list[tuple[str, str]]:
        """(detail, result) of what the audit log says of benchmarks."""
        return [(line[3], line[4]) for line in self.audit.lines if line[1] == "bench"]


async def told(steps: AsyncIterator[BenchEvent]) -> list[BenchEvent]:
    return [step async for step in steps]


def result_of(steps: list[BenchEvent]) -> BenchResult:
    """The one result among them."""
    (result,) = [step.result for step in steps if step.result is not None]
    return result


def measured(result: BenchResult) -> int:
    """Requests that came to their end, warm-ups aside. A quick figure that is sure enough ends before its last."""
    return sum(1 for one in result.requests if not one.is_warm_up and one.error is None and one.finish is not None)


def gate(result: BenchResult, name: str) -> bool | None:
    return next(one.ok for one in result.gates if one.id == name)

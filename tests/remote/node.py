"""One node for a test: a home, a shell, a keeper, and servers that leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.runs import Run
from k2tui.core.settings import LaunchProfile, NodeSettings, ServerSettings
from k2tui.services.doors import NodeLink, Script
from k2tui.services.runs import RunKeeper, RunScripts
from tests.waiting import until

STUBBORN = str(Path(__file__).with_name("stubborn.py"))


EVERY_SHELL = pytest.mark.parametrize("node", ["dash", "bash", "busybox", "dash without ps"], indirect=True)
"""On the tests where a shell or a missing tool could make a difference."""


SHORTER = {
    "supervise": {"term_rounds=50": "term_rounds=5", "keep_kb=5242880": "keep_kb=2000"},
    "stop": {"kill_s=30": "kill_s=2"},
}


def quick(name: str) -> Script:
    """A script as it stands, with the patience of the supervisor and of a stop cut down."""
    found = script(name)
    text = found.text
    for usual, short in SHORTER.get(name, {}).items():
        assert usual in text
        text = text.replace(usual, short)
    return Script(name, text)


def free_port() -> int:
    """A port where nothing listens."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


def is_alive(pid: int) -> bool:
    """True while the process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(") ")[2][0] not in "ZX"
    except (OSError, IndexError):
        return False


def session(sid: int) -> list[int]:
    """Every living process of a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, IndexError):
            fields = (entry / "stat").read_text("utf-8", "replace").rpartition(") ")[2].split()
            if int(fields[3]) == sid and fields[0] not in "ZX":
                found.append(int(entry.name))
    return found


@dataclass
class Node:
    """A home directory on this machine and what was started in it."""

    link: NodeLink
    directory: Path
    script: Callable[[str], Script] = quick
    stubborn: list[Path] = field(default_factory=list)
    """The reports of the stubborn servers, oldest first."""
    home_setting: str | None = None

    def __post_init__(self) -> None:
        self.home = self.directory / "a home"
        self.settings = NodeSettings("gpu-a", "gpu-a", home=self.home_setting or str(self.home))
        self.keeper = RunKeeper(self.link, self.settings, RunScripts(self.script))

    def server(self, name: str = "kimi", **changes: Any) -> ServerSettings:
        """A server of this node on a port of its own."""
        return ServerSettings(**{"name": name, "node": "gpu-a", "port": free_port(), **changes})

    def profile(
        self, children: str = "", *more: str, env: Mapping[str, str] | None = None, **changes: Any
    ) -> LaunchProfile:
        """A profile whose program is the stubborn server; its report is the newest of `self.stubborn`."""
        report = self.directory / f"report-{len(self.stubborn)}"
        self.stubborn.append(report)
        argv = (sys.executable, "-S", "-E", STUBBORN, str(report), children, *more)
        return LaunchProfile(**{"name": "plain", "argv": argv, "env": env or {}, **changes})

    async def start(self, server: ServerSettings | None = None, profile: LaunchProfile | None = None) -> Run:
        """A run whose server has come up."""
        run = await self.keeper.launch(server or self.server(), profile or self.profile(), started_by="ada@desk")
        await self.report()
        return run

    async def report(self, number: int = -1) -> dict[str, Any]:
        """What the stubborn server says of itself."""
        path = self.stubborn[number]
        await until(lambda: Path(f"{path}.pids").exists())
        found = json.loads(path.read_text("utf-8", "surrogateescape"))
        return {**found, "pids": json.loads(Path(f"{path}.pids").read_text("utf-8"))}

    async def starting(self) -> Run:
        """The newest run as soon as its program, or what becomes it, has a pid."""
        while True:
            for run in (await self.keeper.scan())[:1]:
                if run.child is not None:
                    return run
            await asyncio.sleep(0.01)

    def end(self, how: str, number: int = -1) -> None:
        """Let the server end: an exit code, or `kill N`."""
        path = Path(f"{self.stubborn[number]}.end")
        Path(f"{path}.new").write_text(how, "utf-8")
        os.rename(f"{path}.new", path)

    async def ended(self, run: Run) -> Run:
        """The run once nothing of it lives."""
        while True:
            found = await self.seen(run)
            if found.alive is False:
                return found
            await asyncio.sleep(0.02)

    async def seen(self, run: Run) -> Run:
        """The run as a new scan tells it."""
        return next(found for found in await self.keeper.scan() if found.run_id == run.run_id)

    def files(self) -> dict[str, bytes]:
        """Every regular file in the home, by its path below it."""
        paths = (path for path in self.home.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(self.home)): path.read_bytes() for path in paths}

    def locks(self) -> list[str]:
        """The locks that somebody stands in."""
        return sorted(link.parent.name for link in self.home.glob("**/locks/*/*"))

    async def clear(self) -> None:
        """End everything that this test started."""
        for run in await self.keeper.scan():
            if run.alive:
                await self.keeper.stop(run, grace_s=0)
        for path in self.stubborn:
            with suppress(OSError, ValueError):
                for pid in json.loads(Path(f"{path}.pids").read_text("utf-8")).values():
                    if is_alive(pid) and STUBBORN in Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace"):
                        os.kill(pid, signal.SIGKILL)

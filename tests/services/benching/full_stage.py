"""A node with a small `sglang` on it, whose benchmark does what the test says: everything else is real."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.core.benching.plan import BenchPlan, BenchTarget, Procedure
from k2tui.core.benching.result import BenchResult, BenchSystem
from k2tui.services.benching.full import FullRun
from k2tui.services.benching.measuring import About, BenchTools
from k2tui.services.doors import NodeLink, RealClock, Script
from tests.core.benching.files import bench_serving
from tests.remote.node import is_alive, session
from tests.waiting import until

ID = "20261130T100000Z-abcd"
KEY = "sk-verysecret123"
"""What the fixture's `server_info` has as well."""
ADMIN_KEY = "the-other-key-of-the-server"
PLAN = BenchPlan(Procedure.FULL)

_FAKE = """
import json, os, pathlib, sys, time

def main(client):
    room = pathlib.Path(os.environ["FAKE_ROOM"])
    key = os.environ.get("OPENAI_API_KEY")
    seen = {"client": client, "pid": os.getpid(), "argv": sys.argv[1:], "cwd": os.getcwd(), "key": key}
    (room / "seen.part").write_text(json.dumps(seen))
    os.rename(room / "seen.part", room / "seen")
    with open(room / "begun", "a") as begun:
        begun.write("once\\n")
    plan = json.loads((room / "plan").read_text())
    sys.stderr.write(plan["says"])
    sys.stderr.flush()
    while not (room / "go").exists():
        time.sleep(0.01)
    sys.stderr.write(plan["last"])
    if plan["line"] is not None:
        with open(sys.argv[sys.argv.index("--output-file") + 1], "a") as file:
            file.write(plan["line"])
    sys.exit(plan["code"])
"""
BARS = "\r".join(f"{share:3}%|{'#' * done}| {done}/6 [00:0{done}<00:05]" for done, share in ((0, 0), (2, 33), (3, 50)))


def quick(name: str) -> Script:
    """A script as it stands, that looks more often."""
    found = script(name)
    return Script(name, found.text.replace("sleep 1\ndone", "sleep 0.05\ndone"))


def result_line(**other: Any) -> str:
    """What `bench_serving` appends to its file; the server's settings are in it, keys among them."""
    document = bench_serving(**other)
    command = f"python3 -m sglang.launch_server --api-key {KEY} --admin-api-key={ADMIN_KEY} --tp-size 8"
    document["server_info"].update(admin_api_key=ADMIN_KEY, launch_command=command, said=f"ask with {KEY}, please")
    return json.dumps(document) + "\n"


@dataclass
class Room:
    """One node, and the benchmarks that were begun on it."""

    folder: Path
    link: NodeLink = field(default_factory=lambda: LocalLink("here"))
    kept: list[BenchResult] = field(default_factory=list)
    api_key: str | None = None

    def __post_init__(self) -> None:
        self.home = self.folder / "a home"
        self.package = self.folder / "packages"

    def install(self, *, rust: bool = False) -> None:
        """Put the small sglang there, with or without a Rust client."""
        sglang = self.package / "sglang"
        (sglang / "benchmark").mkdir(parents=True, exist_ok=True)
        for name in ("__init__", "benchmark/__init__"):
            (sglang / f"{name}.py").touch()
        (sglang / "fake.py").write_text(_FAKE)
        clients = {"bench_serving": "python", **({"benchmark/rust_client": "rust"} if rust else {})}
        for name, client in clients.items():
            (sglang / f"{name}.py").write_text(f"from sglang.fake import main\nmain({client!r})\n")
        if rust:
            (sglang / "srt" / "rust_extensions").mkdir(parents=True)
            (sglang / "srt" / "rust_extensions" / "_bench.abi3.so").touch()

    def plays(
        self,
        name: str = "",
        *,
        says: str = BARS,
        last: str = "",
        line: str | None = "",
        code: int = 0,
        held: bool = False,
    ) -> Path:
        """What a benchmark is to do; its directory. `line`: its result, empty for the usual one; held: until `go`."""
        room = self.folder / f"room{name}"
        room.mkdir()
        plan = {"says": says, "last": last, "line": result_line() if line == "" else line, "code": code}
        (room / "plan").write_text(json.dumps(plan))
        if not held:
            (room / "go").touch()
        return room

    def target(self, room: Path, **changes: Any) -> BenchTarget:
        """A server, reached by its own python."""
        setup = f"export PYTHONPATH={shlex.quote(str(self.package))} FAKE_ROOM={shlex.quote(str(room))}"
        known = {"name": "kimi", "port": 30000, "node": "here", "engine": "sglang", "setup": setup}
        return BenchTarget(**{**known, "python": sys.executable, "api_key": self.api_key, **changes})

    def run(self, room: Path, plan: BenchPlan = PLAN, *, bench_id: str = ID, **changes: Any) -> FullRun:
        """A full run of that server."""
        tools = BenchTools(self.link, quick, RealClock(), self._keep, home=str(self.home))
        about = About(
            BenchSystem(model="/models/kimi", engine="sglang"), run_id="r-1", profile="plain", series_id="s-1"
        )
        return FullRun(self.target(room, **changes), plan, tools, about, bench_id=bench_id)

    async def _keep(self, result: BenchResult) -> None:
        self.kept.append(result)

    async def seen(self, room: Path) -> dict[str, Any]:
        """What the benchmark found, once it runs."""
        await until(lambda: (room / "seen").exists(), "a benchmark that runs")
        found: dict[str, Any] = json.loads((room / "seen").read_text())
        return found

    def bench(self, bench_id: str = ID) -> Path:
        """Its directory on the node."""
        return self.home / "benches" / bench_id

    def session(self, bench_id: str = ID) -> list[int]:
        """What lives of it."""
        return session(self.leader(bench_id))

    def leader(self, bench_id: str = ID) -> int:
        return int((self.bench(bench_id) / "state").read_text().split()[1])

    def names(self) -> list[str]:
        """The benchmarks whose directories are there."""
        return sorted(path.name for path in (self.home / "benches").glob("*"))

    def texts(self) -> dict[str, str]:
        """Every file of the home."""
        files = [path for path in self.home.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.home)): path.read_text(errors="replace") for path in files}

    async def clear(self) -> None:
        """End everything that this test started."""
        await self.link.close()
        for state in self.home.glob("benches/*/state"):
            for pid in session(int(state.read_text().split()[1])):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


async def gone(pids: Sequence[int]) -> None:
    """Return once none of them lives."""
    await until(lambda: not any(map(is_alive, pids)), "their end")

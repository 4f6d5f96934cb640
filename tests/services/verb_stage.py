"""One server on this machine, its verbs with the real scripts on a real /proc, and a k2tui that can be killed."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.pipes import HeldScript
from k2tui.adapters.scripts import script
from k2tui.core.preflight import Preflight
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import LaunchPlan, ProfileChange, VerbEvent
from k2tui.core.views import ServerView
from k2tui.services.doors import Completed, RealClock, Script
from k2tui.services.gate import Gate
from k2tui.services.launch_history import LaunchMemory
from k2tui.services.launching import Verbs
from k2tui.services.log_watch import LogScripts
from k2tui.services.planning import Planning
from k2tui.services.proofs import ProofScripts
from k2tui.services.run_scan import RunScan, watching_script
from k2tui.services.runs import RunKeeper, RunScripts
from k2tui.services.server_watch import ProofManners, ServerWatch
from k2tui.services.surroundings_watch import Around, SurroundingScripts
from k2tui.services.verb_tools import Tools
from tests.fakes.audit import MemoryAudit
from tests.remote.node import free_port, quick
from tests.waiting import until

ENGINE = Path(__file__).with_name("small_engine.py")
COMMAND = shlex.join((sys.executable, "-S", "-E", str(ENGINE), "--model-path", "toy", "--tag", "old"))
NAME, NODE = "kimi", "gpu-a"


class Killed(BaseException):
    """This k2tui was killed: nothing of it runs any more, no clean-up either."""


class DyingLink(LocalLink):
    """The link of a k2tui that is killed at a script, before it began (`before`), in the middle of it (`amid`), or when
    it has ended and nobody heard of that (`after`). From then on nothing of it reaches the node."""

    def __init__(self, at: str = "", when: str = "before") -> None:
        super().__init__(NODE)
        self.at, self.when = at, when
        self.ran: list[str] = []
        """The scripts, in order."""
        self.dead = asyncio.Event()
        self.amid: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the middle of that script has come."""

    async def run(
        self, script: Script, args: Sequence[str] = (), *, stdin: bytes = b"", timeout_s: float = 20.0
    ) -> Completed:
        self._look(script.name if self.when == "before" else "")
        self.ran.append(script.name)
        asked = asyncio.ensure_future(super().run(script, args, stdin=stdin, timeout_s=timeout_s))
        if script.name == self.at and self.when == "amid":
            await self.amid
            asked.cancel()
            self._die()
        done = await asked
        self._look(script.name)
        return done

    async def open(self, script: Script, args: Sequence[str] = ()) -> HeldScript:
        self._look(script.name)
        return await super().open(script, args)

    def http(self, port: int, *, timeout_s: float = 10.0) -> Any:
        self._look("http" if "begin" in self.ran else "")  # before that a restart may ask how busy the old one is
        return super().http(port, timeout_s=timeout_s)

    def _look(self, name: str) -> None:
        if self.dead.is_set():
            raise Killed
        if name and name == self.at and self.when != "amid":
            self._die()

    def _die(self) -> None:
        self.dead.set()
        raise Killed


@dataclass
class K2:
    """One k2tui: what it sees of the server, and its verbs."""

    place: Workplace
    watch: ServerWatch
    scan: RunScan
    keeper: RunKeeper
    link: DyingLink
    verbs: Verbs
    audit: MemoryAudit
    planning: Planning
    waiting: asyncio.Future[None] | None = None

    @property
    def view(self) -> ServerView:
        return self.watch.view

    def plan(self, change: ProfileChange | None = None) -> LaunchPlan:
        return self.verbs.tools.plan(change or ProfileChange())

    async def runs(self) -> tuple[Run, ...]:
        """As the node has them now, without those that were only planned."""
        return tuple(run for run in await self.keeper.scan() if not run.is_planned)


@dataclass
class Workplace:
    """A node's home, and the k2tuis that work on it one after the other."""

    directory: Path
    settings: Settings = field(init=False)
    found: Preflight = Preflight(())
    """What each preflight finds."""
    max_s: float = 10.0
    """What a proof may take."""

    def __post_init__(self) -> None:
        node = NodeSettings(NODE, NODE, home=str(self.directory / "home"), transport="local")
        server = ServerSettings(NAME, NODE, port=free_port(), profile="plain")
        profile = ProfileSettings("plain", cmd=COMMAND)
        self.settings = Settings(nodes={NODE: node}, servers={NAME: server}, profiles={"plain": profile})

    def configure(self, **changes: Any) -> None:
        """Change the server's settings."""
        server = replace(self.settings.servers[NAME], **changes)
        self.settings = replace(self.settings, servers={NAME: server})

    def use(self, command: str) -> None:
        """Give the server's profile another command."""
        self.settings = replace(self.settings, profiles={"plain": ProfileSettings("plain", cmd=command)})

    def tell_amid(self, k2: K2, words: str) -> None:
        """The middle of the script at which it is killed has come when these words stand in the server's log."""

        async def watch() -> None:
            await until(lambda: words in "".join(path.read_text() for path in self.directory.glob("home/runs/*/*/log")))
            k2.link.amid.set_result(None)

        k2.waiting = asyncio.ensure_future(watch())

    @asynccontextmanager
    async def k2(self, at: str = "", when: str = "before", *, read_only: bool = False) -> AsyncIterator[K2]:
        """A k2tui that has looked at the node once; killed at `at`."""
        link, clock, audit = DyingLink(at, when), RealClock(), MemoryAudit()
        node, server = self.settings.nodes[NODE], self.settings.servers[NAME]
        keeper = RunKeeper(link, node, RunScripts(quick))
        memory = LaunchMemory(None, clock=clock, tell=lambda *_: None, on_change=lambda _: None)
        watch = ServerWatch(
            server,
            link,
            LogScripts(script),
            clock=clock,
            log_now=lambda: None,
            manners=ProofManners("never", self.max_s),
            on_change=lambda: None,
            around=Around(SurroundingScripts(script), memory, lambda *_: None),
            gpu_busy=lambda: None,
            proof_scripts=ProofScripts(script),
        )
        scan = RunScan(
            link,
            keeper,
            clock=clock,
            on_change=lambda: watch.take_runs(scan.runs, scan.at or 0.0),
            watching=watching_script(script),
            home=node.home,
        )
        planning = Planning(lambda: self.settings, {NAME: watch}, lambda _: link)

        async def looked_at(_: LaunchPlan) -> Preflight:
            return self.found

        async def remember(_: Run) -> None: ...

        tools = Tools(
            watch=watch,
            scan=scan,
            keeper=keeper,
            gate=Gate(audit, read_only=read_only),
            clock=clock,
            operator="ana@jump",
            plan=lambda change: planning.plan(NAME, change),
            preflight=looked_at,
            remember=remember,
        )
        await link.connect()
        watch.start()
        scan.start()
        try:
            await until(lambda: scan.at is not None)
            yield K2(self, watch, scan, keeper, link, Verbs(tools), audit, planning)
        finally:
            await scan.close()
            await watch.close()
            await link.close()

    async def clear(self) -> None:
        """End everything that runs."""
        link = LocalLink(NODE)
        keeper = RunKeeper(link, self.settings.nodes[NODE], RunScripts(quick))
        for run in await keeper.scan():
            if run.alive:
                await keeper.stop(run, grace_s=0)
        await link.close()


async def played(steps: AsyncIterator[VerbEvent]) -> list[VerbEvent]:
    """All steps of a verb."""
    return [step async for step in steps]


async def played_until_killed(k2: K2, steps: AsyncIterator[VerbEvent]) -> None:
    """The steps of a verb until its k2tui is dead."""
    playing = asyncio.ensure_future(played(steps))
    dying = asyncio.ensure_future(k2.link.dead.wait())
    await asyncio.wait({playing, dying}, return_when=asyncio.FIRST_COMPLETED)
    assert k2.link.dead.is_set(), playing.result()[-1]
    await asyncio.wait({playing}, timeout=0.1)
    playing.cancel()
    await asyncio.wait({playing})


def kinds(steps: Sequence[VerbEvent]) -> list[str]:
    """The steps without repeats of the same kind in a row."""
    names = [step.type for step in steps]
    return [name for index, name in enumerate(names) if index == 0 or names[index - 1] != name]


def tag_of(run: Run | None) -> str | None:
    """Which of the configurations it is."""
    return None if run is None else run.argv[run.argv.index("--tag") + 1]

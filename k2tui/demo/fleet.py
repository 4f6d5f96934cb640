"""The embedded fleet: real SSH, real launches, simulated engines; gone without a trace when it closes."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import shutil
import socket
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from k2tui.adapters.config_file import ConfigFile
from k2tui.adapters.links import make_link
from k2tui.adapters.scripts import script
from k2tui.core.config_document import document_of
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.profiles import resolve
from k2tui.core.settings import NodeSettings, Settings
from k2tui.core.toml_text import toml_text
from k2tui.demo.engine import knobs
from k2tui.demo.engine.releases import CURRENT
from k2tui.demo.engine.speed import TOKENS_PER_S
from k2tui.demo.faults import NodeFault, split_fault
from k2tui.demo.layout import Layout, NodeKnobs
from k2tui.demo.scene import GPUS, PROFILES, Part, Scene, scene
from k2tui.demo.sshd import DemoSshd, write_private_key
from k2tui.demo.sweep import PREFIX, end_all, remove_stale
from k2tui.services.doors import NodeLink
from k2tui.services.runs import RunKeeper, RunScripts

HURRY, HURRY_TO_FAIL = 0.1, 0.3
"""The pace of what is to stand when the demo opens; a bar that stays on the screen should have moved."""


class DemoFleet:
    """`async with DemoFleet() as demo:` gives settings for a real fleet, and links to reach it."""

    def __init__(
        self,
        nodes: int = 4,
        root: Path | None = None,
        fault: str | None = None,
        pace: float | None = None,
        *,
        up: bool = True,
        version: str | None = None,
        verify_max_s: float = 20.0,
        rate: float | None = None,
    ) -> None:
        """`fault`, `pace`, `version`: None = K2_DEMO_FAULT, K2_DEMO_PACE, K2_DEMO_SGLANG, or nothing special.

        A fault is the engines' (demo/engine/knobs.py) or the first node's (demo/faults.py).

        `rate`: tok/s of one stream; None: as the pace has it.

        `up`: some servers run (and one has crashed) when it opens. `root`: a directory of the caller's, kept.
        """
        try:
            told = knobs.Knobs.of()
            engine_fault, self._node_fault = split_fault(fault)
            if fault is None:
                engine_fault = told.fault
            engine = None if engine_fault is None else str(engine_fault)
            self.told = NodeKnobs(pace=told.pace if pace is None else pace, fault=engine, rate=rate or told.rate)
            self.scene = scene(nodes, up=up)
        except ValueError as error:
            raise K2Error(str(error), code="usage", exit_code=ExitCode.USAGE) from None
        if not sys.platform.startswith("linux"):
            raise K2Error(
                "the demo needs Linux: its nodes run here, and a node needs /proc",
                code="needs_linux",
                exit_code=ExitCode.USAGE,
            )
        self._given_root = root
        self._version = version or os.environ.get(knobs.SGLANG) or CURRENT.version
        self._verify_max_s = verify_max_s
        self.settings = Settings()
        self.config: ConfigFile | None = None
        """The demo's own config, which goes with it; None while it is not open."""
        self._sshd: DemoSshd | None = None
        self._opening: asyncio.Task[None] | None = None
        self._layout: Layout | None = None

    async def __aenter__(self) -> DemoFleet:
        remove_stale()
        root = self._given_root or Path(tempfile.mkdtemp(prefix=PREFIX))
        self._layout = Layout(root.resolve(), self._version)
        try:
            await self._open(self._layout)
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    @property
    def layout(self) -> Layout:
        """Where everything lies; only while it is open."""
        assert self._layout is not None, "the demo is not open"
        return self._layout

    @property
    def sshd(self) -> DemoSshd:
        """The SSH server; only while it is open."""
        assert self._sshd is not None, "the demo is not open"
        return self._sshd

    @property
    def trusted_hosts(self) -> Path:
        """The known_hosts file that trusts the demo's host key."""
        return self.layout.known_hosts

    def make_link(self, node: NodeSettings) -> NodeLink:
        """A link to a node of the demo; the operator's own ssh config plays no part."""
        return make_link(node, trusted_hosts=self.trusted_hosts, ssh_config=())

    def tell(self, node: str, *, pace: float | None = None, fault: str | None = None, traffic: int = 0) -> None:
        """What the engines that start on this node from now on are told.

        `pace` is of their launch: a stream of one that was hurried up is as fast as that of any other.
        """
        rate = self.told.rate or TOKENS_PER_S / max(self.told.pace, 1e-6)
        self.layout.tell(node, NodeKnobs(self.told.pace if pace is None else pace, fault, traffic, rate))

    def break_node(self, node: str, fault: NodeFault) -> None:
        """Let this be wrong with a node from now on."""
        self.layout.break_node(node, fault)
        self.sshd.use_shell(node, self.layout.login_shell(fault, node))

    def mend_node(self, node: str) -> None:
        """Nothing is wrong with the node any more."""
        self.layout.mend_node(node)
        self.sshd.use_shell(node, self.layout.login_shell(None, node))

    def cut(self, node: str) -> int:
        """Break the node's SSH connections."""
        return self.sshd.cut(node)

    async def opened(self) -> None:
        """Wait until the servers that are up when it opens were started: half a second."""
        if self._opening is not None:
            await self._opening

    async def _open(self, layout: Layout) -> None:
        layout.make()
        for name in self.scene.nodes:
            layout.make_node(name, gpus=GPUS, told=self.told)
        key = write_private_key(layout.identity)
        self._sshd = DemoSshd({name: layout.environment(name) for name in self.scene.nodes}, key)
        await self._sshd.start()
        if self._node_fault is not None:
            self.break_node(next(iter(self.scene.nodes)), self._node_fault)
        layout.known_hosts.write_text(self._sshd.known_hosts_line(), encoding="ascii")
        self.scene = replace(self.scene, ports=_free_ports([part.name for _, part in self.scene.parts()]))
        self.settings = Settings(
            path=None,
            verify_max_s=self._verify_max_s,
            nodes=self.scene.node_settings(port=self._sshd.port, identity=str(layout.identity)),
            servers=self.scene.server_settings(),
            profiles=dict(PROFILES),
        )
        self.config = _written_config(layout.root / "config.toml", self.settings)
        self._opening = asyncio.create_task(self._raise_servers(self.scene))

    async def _raise_servers(self, parts: Scene) -> None:
        """Start what is to run already, by the real launch wrapper; all nodes at once."""
        await asyncio.gather(*(self._raise(node, part) for node, part in parts.parts() if part.up))

    async def _raise(self, node: str, part: Part) -> None:
        link = self.make_link(self.settings.nodes[node])
        try:
            await link.connect()
            pace = HURRY_TO_FAIL if part.fault else HURRY
            self.tell(node, pace=pace, fault=part.fault, traffic=part.traffic)
            server = self.settings.servers[part.name]
            keeper = RunKeeper(link, self.settings.nodes[node], RunScripts(script))
            profile = resolve(self.settings, part.profile, server, None)
            run = await keeper.launch(server, profile, started_by=f"{getpass.getuser()}@demo")
            await _until_written(Path(run.log_path))
        finally:
            self.layout.tell(node, self.told)
            await link.close()

    async def _close(self) -> None:
        if self._opening is not None:
            self._opening.cancel()
            with contextlib.suppress(asyncio.CancelledError, K2Error):
                await self._opening
        if self._sshd is not None:
            await self._sshd.close()
        if self._layout is not None:
            end_all(self._layout.root)
            if self._given_root is None:
                shutil.rmtree(self._layout.root, ignore_errors=True)


def _written_config(path: Path, settings: Settings) -> ConfigFile:
    """The settings as a file that can be written into."""
    path.write_text(toml_text(document_of(settings)), encoding="utf-8")
    config = ConfigFile(str(path), {})
    config.load()
    return config


async def _until_written(log: Path) -> None:
    """Until the engine has said its first word: by then it has read what it was told."""
    while True:
        with contextlib.suppress(OSError):
            if log.stat().st_size:
                return
        await asyncio.sleep(0.02)


def _free_ports(names: list[str]) -> dict[str, int]:
    """A free loopback port for each name."""
    sockets = [socket.socket() for _ in names]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return {name: each.getsockname()[1] for name, each in zip(names, sockets, strict=True)}
    finally:
        for each in sockets:
            each.close()

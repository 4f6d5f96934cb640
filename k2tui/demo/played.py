"""Many nodes at little cost: what one real demo node said is said again by each, over SSH.

For measuring who looks, not who is looked at. One node of a `DemoFleet` is the stage: its engine, its run, its log and
its HTTP side are real. Its probe is recorded once and played to everybody who asks, with figures that move; a short
script really runs on the stage, and its answer holds for every node for a while.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import re
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import asyncssh

from k2tui.adapters.scripts import script
from k2tui.core.errors import K2Error
from k2tui.core.runs import Run
from k2tui.core.settings import NodeSettings, ServerSettings, Settings
from k2tui.demo.fleet import DemoFleet
from k2tui.demo.probe_record import ProbeRecord, record_probe
from k2tui.demo.relay import Relay
from k2tui.demo.scene import PROFILES, letters
from k2tui.demo.sshd import LOOPBACK
from k2tui.services.doors import Completed, NodeLink, Script
from k2tui.services.runs import RunKeeper, RunScripts

STAGE, STAGED = "gpu-b", "kimi-prod"
"""The node and the server that are real."""
ANSWER_HOLDS_S = 20.0
LOG_LOOK_S = 0.25
LINE_EVERY_S = 0.5
"""A decode line in forty steps is one in about this time; the stage's engine hurries, so that its start is short."""
HEARTBEAT_S = 5.0
MSG_IGNORE = 2
"""RFC 4253, 11.2."""
INODE = 4242
READY = b"ready to roll"
CHANGES_NODES = frozenset({"launch", "stop"})
_LOADER = re.compile(r'printf "k2%s%s\\n" (\w+) (\w+);.*count=(\d+) ', re.DOTALL)


class PlayedFleet:
    """`async with PlayedFleet(64) as fleet:` gives settings for so many nodes, each with a server on all its GPUs."""

    def __init__(self, nodes: int) -> None:
        self.names = [f"gpu-{word}" for word, _ in zip(letters(), range(nodes), strict=False)]
        self.demo = DemoFleet(2, pace=0.1)
        self.settings = Settings()
        self.log = PlayedLog()
        self._relays: dict[str, Relay] = {}
        self._acceptor: asyncssh.SSHAcceptor | None = None
        self._link: NodeLink | None = None
        self._record: ProbeRecord | None = None
        self._answers: dict[tuple[str, tuple[str, ...]], tuple[float, asyncio.Future[Completed]]] = {}
        self._tail: asyncio.Task[None] | None = None

    async def __aenter__(self) -> PlayedFleet:
        await self.demo.__aenter__()
        try:
            await self._open()
        except BaseException:
            await self._close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    @property
    def identity(self) -> Path:
        """The key that all nodes let in."""
        return self.demo.layout.identity

    def known_hosts(self) -> str:
        """What a client must know to trust every node."""
        line = self.demo.sshd.known_hosts_line()
        key = line.partition(" ")[2]
        return "".join(f"[127.0.0.1]:{relay.port} {key}" for relay in self._relays.values())

    def cut(self, names: Sequence[str]) -> None:
        """Drop every byte to and from these nodes."""
        for name in names:
            self._relays[name].cut()

    def mend(self) -> None:
        """All nodes can be reached again."""
        for relay in self._relays.values():
            relay.mend()

    async def _open(self) -> None:
        demo = self.demo
        await demo.opened()
        stage = demo.settings.nodes[STAGE]
        self._link = demo.make_link(stage)
        run = await _staged(self._link, stage)
        self._tail = asyncio.ensure_future(self.log.follow(Path(run.log_path)))
        self._record = await record_probe(self._link, script("probe"))
        await self.log.says(READY)
        key = asyncssh.import_public_key(_public_of(self.identity))
        self._acceptor = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_factory=lambda: _Server(self),
            server_host_keys=[demo.sshd.host_key],
            authorized_client_keys=asyncssh.import_authorized_keys(key.export_public_key("openssh").decode()),
            encoding=None,
            line_editor=False,
            keepalive_interval=0,
        )
        for name in self.names:
            self._relays[name] = Relay(self._acceptor.get_port())
            await self._relays[name].start()
        port = demo.settings.servers[STAGED].port
        self.settings = Settings(
            nodes={
                name: NodeSettings(
                    name, "127.0.0.1", user=name, port=relay.port, identity=str(self.identity), disks=("/", "/dev/shm")
                )
                for name, relay in self._relays.items()
            },
            servers={
                server_of(name): ServerSettings(
                    server_of(name), name, gpus=tuple(range(8)), port=port, profile="reason"
                )
                for name in self.names
            },
            profiles=dict(PROFILES),
        )

    async def _close(self) -> None:
        if self._tail is not None:
            self._tail.cancel()
        for relay in self._relays.values():
            await relay.close()
        if self._acceptor is not None:
            self._acceptor.close()
        if self._link is not None:
            await self._link.close()
        await self.demo.__aexit__(None, None, None)

    @property
    def record(self) -> ProbeRecord:
        """What the stage's probe said."""
        assert self._record is not None, "the fleet is not open"
        return self._record

    async def answer(self, node: str, asked: Asked) -> Completed:
        """What the stage says to a short script, in this node's name."""
        if asked.name in CHANGES_NODES:
            return Completed(1, b"", b"a played node starts and stops nothing\n")
        mine, real = server_of(node), STAGED
        key = (asked.name, tuple(word.replace(f"/{mine}/", f"/{real}/") for word in asked.args))
        found = self._answers.get(key)
        if found is None or time.monotonic() - found[0] > ANSWER_HOLDS_S:
            assert self._link is not None
            running = asyncio.ensure_future(self._link.run(Script(asked.name, asked.text), key[1]))
            found = self._answers[key] = (time.monotonic(), running)
        try:
            done = await asyncio.shield(found[1])
        except K2Error as error:
            return Completed(1, b"", error.message.encode())
        return replace(done, stdout=done.stdout.replace(real.encode(), mine.encode()))


def server_of(node: str) -> str:
    """The name of a node's server."""
    return node.replace("gpu-", "kimi-")


async def _staged(link: NodeLink, node: NodeSettings) -> Run:
    """The stage's run."""
    await link.connect()
    keeper = RunKeeper(link, node, RunScripts(script))
    (run,) = await keeper.scan()
    return run


def _public_of(identity: Path) -> bytes:
    return asyncssh.read_private_key(identity).export_public_key("openssh")


class PlayedLog:
    """The stage's log, without the lines that requests of all those nodes left in it."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._grown = asyncio.Condition()

    async def follow(self, path: Path) -> None:
        """Read on for ever."""
        with path.open("rb") as file:
            rest, kept_at = b"", -math.inf
            while True:
                *lines, rest = (rest + file.read()).split(b"\n")
                for line in lines:
                    beat = b" batch, " in line
                    if b"HTTP/1.1" in line or (beat and time.monotonic() - kept_at < LINE_EVERY_S):
                        continue
                    kept_at = time.monotonic() if beat else kept_at
                    async with self._grown:
                        self.data += line + b"\n"
                        self._grown.notify_all()
                await asyncio.sleep(LOG_LOOK_S)

    async def says(self, words: bytes) -> None:
        """Wait until it does."""
        async with self._grown:
            await self._grown.wait_for(lambda: words in self.data)

    async def more(self, offset: int) -> bool:
        """Wait until there is more than `offset`; False after a heartbeat's time."""
        with contextlib.suppress(asyncio.TimeoutError):
            async with self._grown:
                await asyncio.wait_for(self._grown.wait_for(lambda: len(self.data) > offset), HEARTBEAT_S)
        return len(self.data) > offset


@dataclass(frozen=True)
class Asked:
    """A script that came through a channel."""

    name: str
    text: str
    args: tuple[str, ...]


class _Server(asyncssh.SSHServer):
    """One connection; the user is the node."""

    def __init__(self, fleet: PlayedFleet) -> None:
        self._fleet = fleet
        self._node = ""

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        _like_openssh(conn)

    def begin_auth(self, username: str) -> bool:
        self._node = username
        return True

    def session_requested(self) -> asyncssh.SSHServerSession[bytes]:
        return _Session(self._fleet, self._node)

    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return dest_host in LOOPBACK


def _like_openssh(connection: Any) -> None:
    """Send no ignored packet before each real one: asyncssh does, and it would double what the looker has to read."""
    send = connection.send_packet

    def without_ignored(kind: int, *words: bytes, **more: Any) -> None:
        if kind != MSG_IGNORE:
            send(kind, *words, **more)

    connection.send_packet = without_ignored


class _Session(asyncssh.SSHServerSession[bytes]):
    """One command: told from its line and its input what script it is."""

    def __init__(self, fleet: PlayedFleet, node: str) -> None:
        self._fleet, self._node = fleet, node
        self._input = bytearray()
        self._channel: asyncssh.SSHServerChannel[bytes] | None = None
        self._name = ""
        self._size = 0
        self._mark = b""
        self._playing: asyncio.Task[None] | None = None
        self._heard: Callable[[bytes], object] = lambda _: None
        self.interval_s = 2.0

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def exec_requested(self, command: str) -> bool:
        *_, name, loader = shlex.split(command)
        found = _LOADER.search(loader)
        if found is None:
            return False
        self._name, self._size = name.removeprefix("k2tui-"), int(found[3])
        self._mark = f"k2{found[1]}{found[2]}\n".encode()
        return True

    def data_received(self, data: bytes, datatype: int | None) -> None:
        if self._playing is not None:
            self._heard(data)
            return
        self._input += data
        if len(self._input) >= self._size:
            text = self._input[: self._size].decode("utf-8", "surrogateescape")
            first, _, body = text.partition("\n")
            asked = Asked(self._name, body, tuple(shlex.split(first)[2:]))
            self._playing = asyncio.ensure_future(self._play(asked))

    def eof_received(self) -> bool:
        if self._name in _HELD and self._playing is not None:
            self._playing.cancel()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if self._playing is not None:
            self._playing.cancel()

    async def _play(self, asked: Asked) -> None:
        channel = self._channel
        assert channel is not None
        try:
            channel.write(self._mark)
            channel.write_stderr(self._mark)
            if asked.name in _HELD:
                await _HELD[asked.name](self, asked)
            done = await self._fleet.answer(self._node, asked)
            channel.write(done.stdout)
            channel.write_stderr(done.stderr)
            channel.exit(done.code)
        except asyncio.CancelledError:
            channel.close()
        except OSError:
            pass  # the client is gone

    async def play_probe(self, asked: Asked) -> None:
        """The record, again and again, at the interval that was asked for."""
        channel = self._channel
        assert channel is not None
        interval = asyncio.Event()
        self.interval_s = float(asked.args[0])

        def hear(data: bytes) -> None:
            for line in data.decode("ascii", "replace").splitlines():
                word, _, rest = line.partition(" ")
                if word == "ping":
                    channel.write(f"pong {rest}\n".encode())
                elif word == "ask":
                    channel.write(record.answers.get(f"ask {rest.partition(' ')[0]}", b""))
                elif word == "interval":
                    self.interval_s = float(rest.split()[0])
                    interval.set()

        record = self._fleet.record
        self._heard = hear
        channel.write(record.greeting())
        await asyncio.sleep(random.random() * 0.2)
        for tick in record.ticks():
            for piece in tick:
                channel.write(piece)
                await asyncio.sleep(0.03)
            interval.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(interval.wait(), max(0.0, self.interval_s - 0.03 * len(tick)))

    async def play_follow(self, asked: Asked) -> None:
        """The log from where it was asked for, for ever."""
        channel, log = self._channel, self._fleet.log
        assert channel is not None
        offset = int(asked.args[2]) if asked.args[1] in ("0", str(INODE)) else 0
        if asked.args[1] not in ("0", str(INODE)):
            channel.write(b"R %d\n" % INODE)
        channel.write(b"H %d %d %d\n" % (INODE, offset, len(log.data)))
        self.interval_s = 0.0

        def hear(data: bytes) -> None:
            for line in data.decode("ascii", "replace").splitlines():
                self.interval_s = int(line.partition(" ")[2]) / 4

        self._heard = hear
        while True:
            if await log.more(offset):
                piece = bytes(log.data[offset : offset + (1 << 20)])
                channel.write(b"D %d %d %d %d\n%bE\n" % (INODE, offset, len(piece), len(log.data), piece))
                offset += len(piece)
                await asyncio.sleep(self.interval_s)
            else:
                channel.write(b"H %d %d %d\n" % (INODE, offset, len(log.data)))

    async def play_runs(self, asked: Asked) -> None:
        """The runs of the stage, told once; they never change."""
        channel = self._channel
        assert channel is not None
        scan = RunScripts(script).scan
        done = await self._fleet.answer(self._node, Asked(scan.name, scan.text, asked.args[:1]))
        channel.write(done.stdout)
        period = asyncio.Event()
        self.interval_s = float(asked.args[1])

        def hear(data: bytes) -> None:
            for line in data.decode("ascii", "replace").splitlines():
                self.interval_s = float(line.partition(" ")[2])
                period.set()

        self._heard = hear
        while True:
            period.clear()
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(period.wait(), self.interval_s)
            channel.write(b"same\n")


_HELD: Mapping[str, Callable[[_Session, Asked], Awaitable[None]]] = {
    "probe": _Session.play_probe,
    "follow": _Session.play_follow,
    "watch_runs": _Session.play_runs,
}

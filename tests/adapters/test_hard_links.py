"""Links to a real sshd that has little to give, or that a network takes away: nothing is lost, and all is told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from k2tui.adapters import ssh_dial
from k2tui.adapters.scripts import script
from k2tui.core.link import LinkPhase
from k2tui.demo.relay import Relay
from k2tui.services.doors import NodeLink, RealClock, Script
from k2tui.services.follow import LogFollower
from k2tui.services.node_watch import NodeWatch
from k2tui.ui.present import Freshness, freshness
from tests.adapters.conftest import LinkTo, MakeSshd
from tests.sshd import Sshd
from tests.waiting import until

TRUE = Script("true", "echo yes")
WAITS = Script("waits", "echo here; cat >/dev/null")
TICK_S = 1.0
NODES = 12

Through = Callable[..., Awaitable[tuple[Relay, NodeLink]]]


@pytest_asyncio.fixture
async def through(link_to: LinkTo, tmp_path: Path) -> AsyncIterator[Through]:
    """A link to a server, and the cable between them."""
    async with AsyncExitStack() as stack:

        async def make(server: Sshd) -> tuple[Relay, NodeLink]:
            relay = Relay(server.port)
            await relay.start()
            stack.push_async_callback(relay.close)
            link = link_to(server, node=replace(server.node(), port=relay.port))
            with (tmp_path / "k2tui" / "known_hosts").open("a", encoding="ascii") as file:
                file.write(f"[127.0.0.1]:{relay.port} {server.host_public}\n")
            return relay, link

        yield make


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent peer is given up after a second or two, and tried again soon."""
    monkeypatch.setattr(ssh_dial, "KEEPALIVE_S", 0.5)
    monkeypatch.setattr(ssh_dial, "KEEPALIVE_COUNT", 2)
    monkeypatch.setattr(ssh_dial, "LOGIN_S", 2.0)


class Watched:
    """A node's probe and one of its logs, as the app has them; a writer goes on writing whatever the network does."""

    def __init__(self, link: NodeLink, log: Path) -> None:
        self.link, self.log = link, log
        self.changes = 0
        self.watch = NodeWatch(link, script("probe"), RealClock(), self._changed, interval_s=TICK_S)
        self.follower = LogFollower(link, script("follow"), str(log), clock=RealClock())
        self.got = bytearray()
        self._reading: asyncio.Task[None] | None = None
        self._writing = threading.Event()
        self._writer = threading.Thread(target=self._write)

    def _changed(self) -> None:
        self.changes += 1

    @property
    def age_s(self) -> float | None:
        """Since the last tick."""
        at = self.watch.reading.host_at
        return None if at is None else asyncio.get_running_loop().time() - at

    @property
    def freshness(self) -> Freshness:
        """As the screens show it."""
        return freshness(self.age_s, TICK_S)

    async def __aenter__(self) -> Watched:
        self.log.touch()
        self._writer.start()
        self.watch.start()
        self._reading = asyncio.ensure_future(self._read())
        await self.is_live()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writing.set()
        self._writer.join()
        assert self._reading is not None
        await self.follower.close()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self.watch.close()

    async def is_live(self) -> None:
        """Until ticks and bytes come."""
        before = len(self.got)
        await until(lambda: self.freshness is Freshness.FRESH and len(self.got) > before, "a live node")

    async def lost_nothing(self) -> None:
        """Every byte of the log is here, once and in order."""
        self._writing.set()
        self._writer.join()
        written = self.log.read_bytes()
        await until(lambda: len(self.got) >= len(written), "the whole log")
        assert bytes(self.got) == written

    def _write(self) -> None:
        number = 0
        with self.log.open("ab", buffering=0) as log:
            while not self._writing.wait(0.01):
                log.write(b"".join(b"line %d \xff of the log\n" % (number + more) for more in range(20)))
                number += 20

    async def _read(self) -> None:
        async with aclosing(self.follower.chunks()) as chunks:  # type: ignore[type-var]  # it is an async generator
            async for chunk in chunks:
                self.got += chunk.data


async def test_a_node_whose_packets_are_dropped_is_stale_after_three_ticks_and_comes_back_whole(
    sshd: Sshd, through: Through, tmp_path: Path
) -> None:
    cable, link = await through(sshd)
    async with Watched(link, tmp_path / "log") as node:
        cable.cut()
        cut_at = time.monotonic()
        await until(lambda: node.freshness is Freshness.DIM, "a stale node")
        assert link.state.phase is LinkPhase.UP, "SSH itself has noticed nothing yet"
        assert node.age_s is not None
        assert node.age_s - (time.monotonic() - cut_at) <= TICK_S, "it is as old as its last tick before the cut"
        cable.mend()
        await node.is_live()
        await node.lost_nothing()
        assert cable.accepted == 1, "the connection itself outlived it"


@pytest.mark.usefixtures("impatient")
async def test_a_node_that_stays_cut_off_is_given_up_tried_again_and_comes_back_whole(
    sshd: Sshd, through: Through, tmp_path: Path
) -> None:
    cable, link = await through(sshd)
    async with Watched(link, tmp_path / "log") as node:
        cable.cut()
        await until(lambda: link.state.phase is LinkPhase.DOWN, "a link that was given up")
        assert link.state.code == "lost"
        await until(lambda: node.watch.state.retry_at is not None, "a try that is planned")
        await until(lambda: cable.accepted >= 2, "another try, into the void")
        cable.mend()
        node.watch.retry_now()
        await node.is_live()
        await node.lost_nothing()


async def test_a_node_whose_sshd_is_killed_comes_back_whole(sshd: Sshd, link_to: LinkTo, tmp_path: Path) -> None:
    link = link_to(sshd)
    async with Watched(link, tmp_path / "log") as node:
        sshd.stop()
        await until(lambda: link.state.code == "refused", "a node that lets nobody in")
        assert node.watch.state.attempt > 0
        sshd.start()
        node.watch.retry_now()
        await node.is_live()
        await node.lost_nothing()


async def test_a_silent_node_makes_no_other_wait(sshd: Sshd, make_sshd: MakeSshd, through: Through) -> None:
    cable, silent = await through(sshd)
    _, other = await through(make_sshd())
    await asyncio.gather(silent.connect(), other.connect())
    cable.cut()
    waiting = [asyncio.ensure_future(silent.run(TRUE)) for _ in range(8)]
    done = await asyncio.gather(*(other.run(TRUE) for _ in range(8)))
    assert {each.stdout for each in done} == {b"yes\n"}
    assert not any(each.done() for each in waiting)
    cable.mend()
    assert {each.stdout for each in await asyncio.gather(*waiting)} == {b"yes\n"}


@pytest.mark.parametrize("most", [1, 2, 3])
async def test_all_get_on_where_sshd_has_few_sessions(most: int, make_sshd: MakeSshd, link_to: LinkTo) -> None:
    server = make_sshd(f"MaxSessions {most}")
    link = link_to(server)
    held = await asyncio.gather(*(link.open(WAITS) for _ in range(3)))
    done = await asyncio.gather(*(link.run(TRUE) for _ in range(8)))
    assert [await stream.readline() for stream in held] == [b"here\n"] * 3
    assert {each.stdout for each in done} == {b"yes\n"}
    connections = logins(server)
    assert connections <= 3 // most + 2
    for _ in range(5):
        await link.run(TRUE)
    assert logins(server) == connections, "a script does not cost a login of its own"
    await asyncio.gather(*(stream.close() for stream in held))


async def test_what_is_more_than_all_connections_hold_is_refused_with_advice(
    make_sshd: MakeSshd, link_to: LinkTo
) -> None:
    link = link_to(make_sshd("MaxSessions 1"))
    held = await asyncio.gather(*(link.open(WAITS) for _ in range(8)), return_exceptions=True)
    refused = [each for each in held if isinstance(each, Exception)]
    assert refused
    assert all("1 sessions a connection, and 6 connections are full" in str(each) for each in refused)
    await asyncio.gather(*(each.close() for each in held if not isinstance(each, BaseException)))


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
async def test_twelve_nodes_behind_one_bastion_all_connect(
    transport: str, make_sshd: MakeSshd, link_to: LinkTo, tmp_path: Path
) -> None:
    bastion, server = make_sshd("MaxStartups 10:30:100"), make_sshd("MaxStartups 10:30:100")
    link_to(bastion)  # its key is known from here on
    bastion.directory.joinpath("authorized_keys").write_text(f"{server.public}\n")
    config = tmp_path / "config"
    config.write_text(
        f"Host jump\n  HostName 127.0.0.1\n  Port {bastion.port}\n  IdentityFile {server.identity}\n"
        f"  UserKnownHostsFile {tmp_path / 'k2tui' / 'known_hosts'}\n"
    )
    nodes = [replace(server.node(f"node-{number}"), proxy_jump="jump") for number in range(NODES)]
    links = [link_to(server, transport, node=node, ssh_config=(config,)) for node in nodes]
    await asyncio.gather(*(link.connect() for link in links))
    assert {link.state.phase for link in links} == {LinkPhase.UP}
    assert "MaxStartups" not in bastion.log + server.log


def logins(server: Sshd) -> int:
    return server.log.count("Accepted publickey")

"""Links to a real sshd."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from k2tui.adapters.bastions import Bastions
from k2tui.adapters.links import make_link
from k2tui.core.settings import NodeSettings
from k2tui.services.doors import NodeLink
from tests.sshd import MARK, Sshd, running
from tests.waiting import until

MakeSshd = Callable[..., Sshd]
LinkTo = Callable[..., NodeLink]


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A server that runs."""
    yield from running(tmp_path / "sshd")


@pytest.fixture
def make_sshd(tmp_path: Path) -> Iterator[MakeSshd]:
    """More servers, with lines of sshd_config."""
    with ExitStack() as stack:
        made: list[Sshd] = []

        def make(*lines: str, env: dict[str, str] | None = None) -> Sshd:
            server = Sshd(tmp_path / f"sshd-{len(made)}", lines=lines, env=env)
            made.append(server)
            stack.callback(server.stop)
            server.start()
            return server

        yield make


@pytest_asyncio.fixture
async def link_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LinkTo]:
    """Links that know the host keys of the servers they are made for. Afterwards no process of theirs is left."""
    bastions = Bastions()
    servers: list[Sshd] = []
    async with AsyncExitStack() as stack:

        def make(
            server: Sshd,
            transport: str = "asyncssh",
            *,
            node: NodeSettings | None = None,
            knows: bool = True,
            ssh_config: tuple[Path, ...] | None = (),
        ) -> NodeLink:
            monkeypatch.setenv(MARK, server.mark)
            trusted = tmp_path / "k2tui" / "known_hosts"
            trusted.parent.mkdir(exist_ok=True)
            if knows:
                with trusted.open("a", encoding="ascii") as file:
                    file.write(server.known_hosts_line)
            settings = replace(node or server.node(), transport=transport)
            link = make_link(settings, trusted_hosts=trusted, ssh_config=ssh_config, bastions=bastions)
            servers.append(server)
            stack.push_async_callback(link.close)
            return link

        yield make
    await bastions.close()
    for server in servers:
        await until(lambda server=server: not server.processes(), "an end without processes")  # type: ignore[misc]  # bound now


@pytest.fixture(params=["local", "asyncssh", "openssh"])
def link(request: pytest.FixtureRequest, sshd: Sshd, link_to: LinkTo) -> NodeLink:
    """One node, reached in each of the three ways; not connected yet."""
    return link_to(sshd, request.param)

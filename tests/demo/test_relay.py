"""A relay that is cut drops what goes through and closes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from k2tui.demo.relay import Relay
from tests.waiting import until


class Echo:
    """A server that sends back what it gets."""

    def __init__(self) -> None:
        self.clients = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients += 1
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        self.clients -= 1
        writer.close()


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
async def relay(echo: Echo) -> AsyncIterator[Relay]:
    server = await asyncio.start_server(echo.serve, "127.0.0.1", 0)
    made = Relay(server.sockets[0].getsockname()[1])
    await made.start()
    yield made
    await made.close()
    await until(lambda: not echo.clients)
    server.close()


async def connected(relay: Relay) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", relay.port)


async def test_bytes_go_both_ways(relay: Relay) -> None:
    reader, writer = await connected(relay)
    data = bytes(range(256)) * 4096
    writer.write(data)
    assert await reader.readexactly(len(data)) == data
    writer.close()


async def test_what_is_sent_into_a_cut_comes_when_it_is_mended(relay: Relay) -> None:
    reader, writer = await connected(relay)
    writer.write(b"before ")
    assert await reader.readexactly(7) == b"before "
    relay.cut()
    writer.write(b"meanwhile ")
    other = await connected(relay)
    await until(lambda: relay.accepted == 2)
    other[1].write(b"new")
    answers = [asyncio.ensure_future(reader.readexactly(10)), asyncio.ensure_future(other[0].readexactly(3))]
    third, _ = await connected(relay)
    await until(lambda: relay.accepted == 3)
    assert not any(answer.done() for answer in answers)
    assert not third.at_eof()
    relay.mend()
    assert await asyncio.gather(*answers) == [b"meanwhile ", b"new"]
    for each in (writer, other[1]):
        each.close()


async def test_an_end_that_closes_takes_the_other_with_it(relay: Relay, echo: Echo) -> None:
    _, writer = await connected(relay)
    await until(lambda: echo.clients == 1)
    writer.close()
    await until(lambda: echo.clients == 0)


async def test_a_server_that_is_not_there_closes_the_client() -> None:
    relay = Relay(1)
    await relay.start()
    reader, _ = await connected(relay)
    assert await reader.read() == b""
    await relay.close()

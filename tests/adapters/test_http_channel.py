"""HTTP to a server on a node, without a local port."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpcore
import httpx
import pytest

from k2tui.adapters import http_channel
from k2tui.adapters.http_channel import http_client, open_local
from k2tui.adapters.http_client import HttpClient
from k2tui.adapters.pipes import ByteChannel
from k2tui.core.errors import K2Error
from k2tui.services.doors import NodeLink
from tests.adapters.conftest import LinkTo, MakeSshd
from tests.sshd import Sshd
from tests.waiting import until


def client_of(link: NodeLink, port: int, *, timeout_s: float = 10.0) -> HttpClient:
    """All that httpx can, not only the one question of services."""
    client = link.http(port, timeout_s=timeout_s)
    assert isinstance(client, HttpClient)
    return client


Handler = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[int]:
    """A server on a free port: `handler` gets each request's head."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                await handler(await reader.readuntil(b"\r\n\r\n"), reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def echo(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answers with the request line and the length of its body."""
    length = int(dict(line.split(b": ") for line in head.lower().split(b"\r\n")[1:-2]).get(b"content-length", b"0"))
    body = await reader.readexactly(length)
    answer = head.split(b"\r\n")[0] + b" %d" % len(body)
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)


async def test_a_request_goes_there_and_back(link: NodeLink) -> None:
    async with serving(echo) as port, client_of(link, port) as client:
        answers = await asyncio.gather(*(client.get(f"/v1/{number}") for number in range(5)))
        assert [answer.text for answer in answers] == [f"GET /v1/{number} HTTP/1.1 0" for number in range(5)]
        assert (await client.post("/big", content=b"x" * 3_000_000)).text == "POST /big HTTP/1.1 3000000"


async def test_events_come_as_they_are_sent(link: NodeLink) -> None:
    go_on = asyncio.Event()

    async def stream(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for event in (b"data: one\n\n", b"data: two\n\n"):
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await writer.drain()
            await go_on.wait()
        writer.write(b"0\r\n\r\n")

    async with serving(stream) as port, client_of(link, port) as client, client.stream("GET", "/events") as answer:
        lines = answer.aiter_lines()
        assert await anext(lines) == "data: one"  # while the server still waits
        go_on.set()
        assert [line async for line in lines if line] == ["data: two"]


async def test_a_closed_port_is_a_connect_error(link: NodeLink) -> None:
    async with serving(echo) as port:
        pass
    async with client_of(link, port) as client:
        with pytest.raises(httpx.ConnectError, match="Connection refused"):
            await client.get("/health")


async def test_a_server_that_hangs_up_between_requests_is_called_anew(
    link: NodeLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[httpcore.AsyncNetworkStream] = []

    class Seen(http_channel._Stream):
        def __init__(self, channel: ByteChannel) -> None:
            super().__init__(channel)
            made.append(self)

    monkeypatch.setattr(http_channel, "_Stream", Seen)

    async def once(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await echo(head, reader, writer)
        writer.close()

    async with serving(once) as port, client_of(link, port) as client:
        for number in range(1, 4):
            assert (await client.get("/")).text == "GET / HTTP/1.1 0"
            await until(lambda: made[-1].get_extra_info("is_readable"), "the hang-up")
            assert len(made) == number


async def test_a_server_that_hangs_up_in_an_answer_is_told(link: NodeLink) -> None:
    async def half(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await writer.drain()
        writer.close()

    async with serving(half) as port, client_of(link, port) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            await client.get("/")


async def test_a_server_that_does_not_answer_is_a_timeout(link: NodeLink) -> None:
    async def mute(_head: bytes, reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with serving(mute) as port, client_of(link, port, timeout_s=0.3) as client:
        with pytest.raises(httpx.TimeoutException):
            await client.get("/")


async def flooding(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"sglang:num_running_reqs 1\n" * 10_000)
        await writer.drain()


async def dripping(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("handler", "silence_s", "code", "says"),
    [
        (flooding, 60.0, "http_broken", "the answer to /metrics is longer than 8 MB"),
        (dripping, 0.3, "http_timeout", "the answer to /metrics was not over within 0.6 s"),
    ],
)
async def test_an_answer_without_an_end_is_broken_off(handler: Handler, silence_s: float, code: str, says: str) -> None:
    async with serving(handler) as port, http_client(open_local("box"), port, timeout_s=silence_s) as client:
        with pytest.raises(K2Error, match=says) as raised:
            await client.ask("GET", "/metrics")
    assert raised.value.code == code


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
async def test_a_lost_node_is_a_connect_error(sshd: Sshd, link_to: LinkTo, transport: str) -> None:
    link = link_to(sshd, transport)
    async with serving(echo) as port, client_of(link, port) as client:
        assert (await client.get("/")).status_code == 200
        sshd.cut()
        await until(lambda: link.state.code == "lost")
        with pytest.raises(httpx.ConnectError, match="the connection to node was lost"):
            await client.get("/")
        await link.connect()
        assert (await client.get("/")).status_code == 200


async def test_a_cut_in_an_answer_is_a_read_error(sshd: Sshd, link_to: LinkTo) -> None:
    async def endless(_head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        await reader.read()

    link = link_to(sshd)
    async with serving(endless) as port, client_of(link, port) as client, client.stream("GET", "/") as answer:
        parts = answer.aiter_raw()
        assert await anext(parts) == b"half"
        sshd.cut()
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await anext(parts)


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
async def test_a_node_that_forbids_forwarding_is_said_to(make_sshd: MakeSshd, link_to: LinkTo, transport: str) -> None:
    link = link_to(make_sshd("AllowTcpForwarding no"), transport)
    async with serving(echo) as port, client_of(link, port) as client:
        with pytest.raises(httpx.ConnectError, match="forbids TCP forwarding"):
            await client.get("/")


async def test_a_proxy_of_this_machine_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with serving(echo) as port, http_client(open_local("here"), port, timeout_s=5.0) as client:
        assert (await client.get("/")).status_code == 200

"""A stream of events is read as it comes, and left as soon as nobody wants more of it; over a real small server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import pytest

from k2tui.adapters import http_client as module
from k2tui.adapters.http_channel import http_client, open_local
from k2tui.core.errors import K2Error
from tests.waiting import until

PATH = "/v1/chat/completions"


class Streaming:
    """Sends what the test puts in its queue; sees when its client is gone."""

    def __init__(self, status: str = "200 OK") -> None:
        self.status = status
        self.to_send: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.asked = b""
        self.left = False

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked = await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {self.status}\r\nContent-Type: text/event-stream\r\n\r\n".encode())
        sending = asyncio.ensure_future(self._send(writer))
        while await reader.read(65536):
            pass
        self.left = True
        sending.cancel()
        writer.close()

    async def _send(self, writer: asyncio.StreamWriter) -> None:
        while (part := await self.to_send.get()) is not None:
            writer.write(part)
            await writer.drain()
        writer.close()


@asynccontextmanager
async def serving(server: Streaming) -> AsyncIterator[module.HttpClient]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with listening, http_client(open_local("box"), port, timeout_s=30.0) as client:
        yield client


async def test_each_event_is_there_before_the_next_is_sent() -> None:
    server = Streaming()
    async with serving(server) as client, aclosing(client.events(PATH, body={"stream": True})) as events:
        server.to_send.put_nowait(b'data: {"a": 1}\n\n')
        assert await anext(events) == b'{"a": 1}'
        server.to_send.put_nowait(b": a comment\n\nevent: x\ndata:  tw")
        server.to_send.put_nowait(b"o\r\n\r\ndata: [DONE]\n\n")
        assert [await anext(events), await anext(events)] == [b"two", b"[DONE]"]
        server.to_send.put_nowait(None)
        assert [event async for event in events] == []
    assert server.asked.startswith(b"POST /v1/chat/completions HTTP/1.1\r\n")


async def test_the_server_sees_at_once_that_nobody_wants_more() -> None:
    server = Streaming()
    async with serving(server) as client:
        async with aclosing(client.events(PATH, body={}, headers={"Authorization": "Bearer k"})) as events:
            server.to_send.put_nowait(b"data: 1\n\n")
            assert await anext(events) == b"1"
            assert not server.left
        await until(lambda: server.left)
    assert b"Authorization: Bearer k" in server.asked


async def test_a_wait_that_is_over_leaves_the_server_too() -> None:
    server = Streaming()
    async with serving(server) as client:
        events = client.events(PATH, body={})
        waiting = asyncio.ensure_future(anext(events))
        await until(lambda: server.asked != b"")
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await until(lambda: server.left)


async def test_a_refusal_is_an_error_with_its_status() -> None:
    async with serving(Streaming("400 Bad Request")) as client:
        with pytest.raises(K2Error, match="HTTP 400 from /v1/chat/completions") as raised:
            await anext(client.events(PATH, body={}))
    assert raised.value.code == "http_status"


async def test_a_stream_without_an_end_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 1000)
    server = Streaming()
    async with serving(server) as client:
        events = client.events(PATH, body={})
        server.to_send.put_nowait(b"data: x\n\n" * 200)
        with pytest.raises(K2Error, match="longer than") as raised:
            async for _ in events:
                pass
    assert raised.value.code == "http_broken"


async def test_nothing_that_listens_is_said_so() -> None:
    async with http_client(open_local("box"), 1, timeout_s=5.0) as client:
        with pytest.raises(K2Error) as raised:
            await anext(client.events(PATH, body={}))
    assert raised.value.code == "http_refused"

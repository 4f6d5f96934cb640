"""A small HTTP/1.1 server with uvicorn's manners: keep-alive, chunked streams, an access line for each request."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from email.utils import formatdate
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlsplit

_MOST_HEAD_BYTES = 64 * 1024
_MOST_BODY_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Request:
    """One request, read to its end."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    peer: str
    """`127.0.0.1:41252`."""

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> Mapping[str, list[str]]:
        return parse_qs(urlsplit(self.target).query)


@dataclass(frozen=True)
class Reply:
    """What goes back: a body, or a stream of parts."""

    status: int = 200
    body: bytes = b""
    content_type: str | None = "application/json"
    stream: AsyncIterator[bytes] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(document: object, status: int = 200) -> Reply:
    """Compact JSON, as FastAPI and orjson write it."""
    return Reply(status, json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode())


NOT_FOUND = json_reply({"detail": "Not Found"}, 404)
NOT_ALLOWED = json_reply({"detail": "Method Not Allowed"}, 405)

Handler = Callable[[Request], Awaitable[Reply]]
AccessLog = Callable[[Request, str], object]
"""Called with the request and `200 OK`, when the reply begins."""


LAST_REPLIES_S = 2.0
"""What a reply that is being made may still take when the server goes."""


class WebServer:
    """Listens on one address."""

    def __init__(self, handler: Handler, access: AccessLog) -> None:
        self._handler, self._access = handler, access
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._answering: set[asyncio.Task[Any]] = set()
        """Those of them that have a request and owe its reply."""
        self._closing = False

    async def start(self, host: str, port: int) -> None:
        """Bind. OSError when the address is taken."""
        self._server = await asyncio.start_server(self._serve, host, port, limit=_MOST_HEAD_BYTES, backlog=2048)

    async def close(self) -> None:
        """Take no more connections, let replies that are being made be sent, and drop what is left."""
        self._closing = True
        if self._server is not None:
            self._server.close()
        if self._answering:
            await asyncio.wait(self._answering, timeout=LAST_REPLIES_S)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        peer = "{}:{}".format(*writer.get_extra_info("peername")[:2])
        try:
            while not self._closing and (request := await _read(reader, peer)) is not None:
                self._answering.add(task)
                reply = await self._handler(request)
                self._access(request, f"{reply.status} {HTTPStatus(reply.status).phrase}")
                await _write(writer, request, reply)
                self._answering.discard(task)
                if request.headers.get("connection", "").lower() == "close":
                    break
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
            pass  # the client is gone, or it does not speak HTTP
        except asyncio.CancelledError:
            if not self._closing:
                raise
        finally:
            self._tasks.discard(task)
            self._answering.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def _read(reader: asyncio.StreamReader, peer: str) -> Request | None:
    """The next request; None when the client closed."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    size = int(headers.get("content-length", "0"))
    if size > _MOST_BODY_BYTES:
        raise ValueError("body too large")
    body = await reader.readexactly(size) if size else b""
    return Request(method, target, headers, body, peer)


async def _write(writer: asyncio.StreamWriter, request: Request, reply: Reply) -> None:
    head = [f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}"]
    head += [f"date: {formatdate(usegmt=True)}", "server: uvicorn"]
    if reply.stream is None:
        head.append(f"content-length: {len(reply.body)}")
    if reply.content_type is not None:
        head.append(f"content-type: {reply.content_type}")
    head += ["vary: Origin", *(f"{name}: {value}" for name, value in reply.headers.items())]
    if reply.stream is not None:
        head.append("Transfer-Encoding: chunked")
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    if request.method != "HEAD" and reply.stream is None:
        writer.write(reply.body)
    await writer.drain()
    if reply.stream is not None:
        await _write_chunks(writer, reply.stream)


async def _write_chunks(writer: asyncio.StreamWriter, parts: AsyncIterator[bytes]) -> None:
    try:
        async for part in parts:
            if writer.transport.is_closing():
                raise ConnectionResetError
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    finally:
        closing = getattr(parts, "aclose", None)
        if closing is not None:
            await closing()

"""One HTTP/1.1 connection that is kept, and the body of a reply as it comes."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import ssl
from collections.abc import Mapping
from time import perf_counter

CONNECT_S = 10.0
MOST_HEAD = 64 << 10
MOST_LINE = 4 << 10
MOST_WHOLE = 16 << 20
MOST_SAID = 300
LOST = "the connection was cut"


class HttpError(Exception):
    """Why something could not be asked, as a sentence."""


class ClosedError(HttpError):
    """The connection closed before a byte of the answer came: the server may have been about to close it anyway."""


class Reply:
    """Takes one reply, piece by piece. `at` is time.perf_counter of the moment that the bytes were read."""

    def on_head(self, status: int, headers: Mapping[str, str], at: float) -> None:
        """Status and headers, their names in small letters."""

    def on_body(self, payload: bytes, at: float) -> None:
        """A piece of the body, never empty; pieces end anywhere."""

    def on_end(self, error: str | None, at: float) -> None:
        """The reply is over; None: it came whole. Said once."""


class Body:
    """Takes the framing off a body: chunked, of a length, or up to the end of the connection.

    Format: RFC 9112, sections 6 and 7. Raises HttpError for what is none.
    """

    def __init__(self, *, chunked: bool = False, length: int | None = None) -> None:
        self.done = not chunked and length == 0
        self.rest = b""
        """What came behind the end."""
        self.until_close = not chunked and length is None
        self._chunked = chunked
        self._left = 0 if length is None or chunked else length
        self._kept = b""
        self._behind_chunk = False
        self._in_trailer = False

    def feed(self, data: bytes) -> bytes:
        """The payload in these bytes."""
        if self._chunked:
            return self._unchunked(data)
        if self.until_close:
            return data
        piece = data[: self._left]
        self._left -= len(piece)
        if not self._left:
            self.done, self.rest = True, data[len(piece) :]
        return piece

    def _unchunked(self, data: bytes) -> bytes:
        # As both engines send an event: one chunk, which comes in one piece.
        end = data.find(b"\r\n")
        if end > 0 and not (self._left or self._kept or self._behind_chunk or self._in_trailer):
            size = chunk_size(data[:end])
            if size and len(data) == end + size + 4 and data.endswith(b"\r\n"):
                return data[end + 2 : -2]
        if self._kept:
            data, self._kept = self._kept + data, b""
        at, pieces = 0, []
        while at < len(data):
            if self._left:
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                pieces.append(piece)
                self._behind_chunk = not self._left
                continue
            end = data.find(b"\r\n", at)
            if end < 0:
                if len(data) - at > MOST_LINE:
                    raise HttpError("a chunk of the answer has no size")
                self._kept = data[at:]
                break
            line, at = data[at:end], end + 2
            if self._behind_chunk:
                if line:
                    raise HttpError("a chunk of the answer is longer than it said")
                self._behind_chunk = False
            elif not self._in_trailer:
                self._left = chunk_size(line)
                self._in_trailer = not self._left
            elif not line:
                self.done, self.rest = True, data[at:]
                break
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def chunk_size(line: bytes) -> int:
    """Of a chunk's first line, which may have extensions behind a semicolon."""
    digits = line if line.isalnum() else line.partition(b";")[0].strip()
    if not digits.isalnum():  # int() would take a sign and underscores
        raise HttpError("a chunk of the answer has no size")
    try:
        return int(digits, 16)
    except ValueError:
        raise HttpError("a chunk of the answer has no size") from None


_ROOM = memoryview(bytearray(64 << 10))
"""What every read of this process goes into: it is taken out before the next one."""


class Connection(asyncio.BufferedProtocol):
    """Asks one thing at a time. Made by `connect`.

    Buffered: a plain Protocol gets a new object of 256 KiB for each read, which costs as much as all the rest.
    """

    def __init__(self) -> None:
        self.heard_at = perf_counter()
        """The last byte of whatever kind."""
        self.is_used = False
        """It has answered before: its server may close it at any moment."""
        self.is_open = False
        self._transport: asyncio.Transport | None = None
        self._reply: Reply | None = None
        self._body: Body | None = None
        self._kept = b""
        self._keep = True
        self._why: str | None = None

    @property
    def is_free(self) -> bool:
        """Another thing can be asked."""
        return self.is_open and self._reply is None

    def ask(self, request: bytes, reply: Reply) -> float:
        """Send a request; the time just before its first byte went out."""
        assert self._transport is not None
        assert self._reply is None, "one question at a time"
        self._reply, self._body, self._kept, self._keep = reply, None, b"", True
        self.heard_at = perf_counter()
        sent_at = perf_counter()
        self._transport.write(request)
        return sent_at

    def cut(self, why: str | None = None) -> None:
        """Close at once. A reply that is under way ends with `why`; None: as if it were whole."""
        self._end(why, perf_counter())
        self.is_open = False
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self.is_open = transport, True

    def get_buffer(self, sizehint: int) -> memoryview:
        return _ROOM

    def buffer_updated(self, nbytes: int) -> None:
        self.received(bytes(_ROOM[:nbytes]))

    def received(self, data: bytes) -> None:
        at = self.heard_at = perf_counter()
        reply, body = self._reply, self._body
        try:
            if reply is None:
                raise HttpError("the server said something that nobody asked for")
            if body is None:
                self._read_head(data, at)
                return
            payload = body.feed(data)
            if payload:
                reply.on_body(payload, at)
            if body.done:
                self._whole(body, at)
        except HttpError as error:
            self.cut(str(error))

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_open = False
        whole = exc is None and self._body is not None and self._body.until_close
        self._end(None if whole else LOST, perf_counter())

    def _read_head(self, data: bytes, at: float) -> None:
        data, self._kept = self._kept + data, b""
        while self._body is None:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > MOST_HEAD:
                    raise HttpError("the answer has no end of its head")
                self._kept = data
                return
            version, status, headers = read_head(data[:end])
            data = data[end + 4 :]
            if 100 <= status < 200:
                continue
            says = headers.get("connection", "").lower()
            self._keep = version != "HTTP/1.0" and "close" not in says
            self._body = body_of(status, headers)
            assert self._reply is not None
            self._reply.on_head(status, headers, at)
        body = self._body
        payload = body.feed(data) if data or not body.done else b""
        if payload and self._reply is not None:
            self._reply.on_body(payload, at)
        if body.done and self._reply is not None:
            self._whole(body, at)

    def _whole(self, body: Body, at: float) -> None:
        if body.rest or not self._keep:
            self.is_open = False
        self.is_used = True
        self._end(None, at)
        if not self.is_open and self._transport is not None:
            self._transport.close()

    def _end(self, error: str | None, at: float) -> None:
        reply, self._reply, self._body = self._reply, None, None
        if reply is not None:
            reply.on_end(error, at)


def read_head(head: bytes) -> tuple[str, int, dict[str, str]]:
    """(version, status, headers by their names in small letters)."""
    first, *lines = head.decode("latin-1").split("\r\n")
    words = first.split(" ", 2)
    if len(words) < 2 or not words[0].startswith("HTTP/1.") or not (words[1].isdigit() and len(words[1]) == 3):
        raise HttpError("what answers there does not speak HTTP/1.1")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    return words[0], int(words[1]), headers


def body_of(status: int, headers: Mapping[str, str]) -> Body:
    """How the body of this reply is framed: RFC 9112, section 6.3."""
    if status in (204, 304):
        return Body(length=0)
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return Body(chunked=True)
    length = headers.get("content-length")
    if length is None:
        return Body()
    if not length.isdigit():
        raise HttpError("the answer has no length that can be read")
    return Body(length=int(length))


async def connect(host: str, port: int, tls: ssl.SSLContext | None, timeout_s: float = CONNECT_S) -> Connection:
    """An open connection. Raises HttpError."""
    loop = asyncio.get_running_loop()
    opening = loop.create_connection(Connection, host, port, ssl=tls, server_hostname=host if tls else None)
    try:
        return (await asyncio.wait_for(opening, timeout_s))[1]
    except asyncio.TimeoutError:
        raise HttpError(f"{host}:{port} did not answer within {timeout_s:g} s") from None
    except OSError as error:  # those of TLS and of names are such ones too
        is_systems = error.errno is not None and error.errno > 0 and not isinstance(error, ssl.SSLError)
        why = os.strerror(error.errno or 0) if is_systems else str(error)
        raise HttpError(plain(f"no connection to {host}:{port}: {why}")) from None


def tls_context(host: str) -> ssl.SSLContext:
    """Certificates are checked, but on this machine itself: nobody is between, and its certificate names another."""
    context = ssl.create_default_context()
    if _is_here(host):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def request(method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
    if body or method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


class Whole(Reply):
    """A reply that is read to its end before anybody looks at it."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.ended: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._pieces: list[bytes] = []
        self._size = 0

    @property
    def body(self) -> bytes:
        return b"".join(self._pieces)

    def on_head(self, status: int, headers: Mapping[str, str], at: float) -> None:
        self.status = status

    def on_body(self, payload: bytes, at: float) -> None:
        self._size += len(payload)
        if self._size > MOST_WHOLE:
            raise HttpError("the answer is longer than anybody reads")
        self._pieces.append(payload)

    def on_end(self, error: str | None, at: float) -> None:
        if not self.ended.done():
            self.ended.set_result(error)


async def ask(connection: Connection, sent: bytes, timeout_s: float) -> tuple[int, bytes]:
    """(status, body) of a short request. Raises HttpError; the connection is closed then."""
    reply = Whole()
    connection.ask(sent, reply)
    try:
        error = await asyncio.wait_for(reply.ended, timeout_s)
    except asyncio.TimeoutError:
        connection.cut()
        raise HttpError(f"no answer within {timeout_s:g} s") from None
    if reply.status is None:
        raise ClosedError(error or "there was no answer")
    if error is not None:
        raise HttpError(error)
    return reply.status, reply.body


def plain(text: str, most: int = MOST_SAID) -> str:
    """A text of the server's in one line, without what steers a terminal."""
    line = "".join(char if char.isprintable() else " " for char in text[: most * 4])
    return " ".join(line.split())[:most]

"""HTTP to a server on a node through whatever leads there, without a local port.

An httpx transport on httpcore's public connection pool and network interface.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
from collections.abc import AsyncIterator, Iterable, Iterator
from types import TracebackType
from typing import Any

import httpcore
import httpx

from k2tui.adapters.http_client import HttpClient
from k2tui.adapters.pipes import ByteChannel, OpenChannel
from k2tui.adapters.trouble import PortClosed
from k2tui.core.errors import K2Error

if importlib.util.find_spec("sniffio") is None:
    # httpcore tries to import it for every lock that it makes, and each time all of sys.path is searched in vain.
    sys.modules["sniffio"] = None  # type: ignore[assignment]  # as Python's own documentation has it

CONNECTIONS = 64
"""At once, to one server."""
IDLE_CONNECTIONS = 8
IDLE_S = 30.0


def http_client(
    open_channel: OpenChannel, port: int, *, timeout_s: float, connections: int = CONNECTIONS
) -> HttpClient:
    """A client whose base is http://127.0.0.1:PORT on the node."""
    return HttpClient(
        base_url=f"http://127.0.0.1:{port}",
        transport=ChannelTransport(open_channel, connections=connections),
        timeout=timeout_s,
        trust_env=False,  # a proxy of this machine knows nothing of the node
    )


class ChannelTransport(httpx.AsyncBaseTransport):
    """httpx on top of channels."""

    def __init__(self, open_channel: OpenChannel, *, connections: int = CONNECTIONS) -> None:
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=connections,
            max_keepalive_connections=IDLE_CONNECTIONS,
            keepalive_expiry=IDLE_S,
            network_backend=_Backend(open_channel),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.AsyncByteStream)
        url = request.url
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_httpx(request):
            answer = await self._pool.handle_async_request(asked)
        return httpx.Response(
            status_code=answer.status,
            headers=answer.headers,
            stream=_Body(answer, request),
            extensions=answer.extensions,
        )

    async def aclose(self) -> None:
        await self._pool.aclose()

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()


class _Body(httpx.AsyncByteStream):
    """The answer's bytes, as they come."""

    def __init__(self, answer: httpcore.Response, request: httpx.Request) -> None:
        self._answer, self._request = answer, request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx(self._request):
            async for part in self._answer.aiter_stream():
                yield part

    async def aclose(self) -> None:
        with _as_httpx(self._request):
            await self._answer.aclose()


class _Backend(httpcore.AsyncNetworkBackend):
    def __init__(self, open_channel: OpenChannel) -> None:
        self._open = open_channel

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            return _Stream(await asyncio.wait_for(self._open(host, port), timeout))
        except asyncio.TimeoutError:
            raise httpcore.ConnectTimeout(f"no connection to port {port} within {timeout:g} s") from None
        except (OSError, K2Error) as error:
            raise httpcore.ConnectError(str(error)) from error

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, channel: ByteChannel) -> None:
        self._channel = channel

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            return await asyncio.wait_for(self._channel.read(max_bytes), timeout)
        except asyncio.TimeoutError:
            raise httpcore.ReadTimeout(f"no answer within {timeout:g} s") from None
        except PortClosed as error:  # seen only now: some channels open before they connect
            raise httpcore.ConnectError(str(error)) from error
        except (OSError, K2Error) as error:
            raise httpcore.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not buffer:
            return
        try:
            await asyncio.wait_for(self._channel.write(buffer), timeout)
        except asyncio.TimeoutError:
            raise httpcore.WriteTimeout(f"could not send within {timeout:g} s") from None
        except (OSError, K2Error) as error:
            raise httpcore.WriteError(str(error)) from error

    async def aclose(self) -> None:
        await self._channel.close()

    def get_extra_info(self, info: str) -> Any:
        """`is_readable`, asked of an idle connection, means that the server closed it."""
        return self._channel.at_end() if info == "is_readable" else None


_AS_HTTPX: tuple[tuple[type[Exception], type[httpx.TransportError]], ...] = (
    (httpcore.ConnectTimeout, httpx.ConnectTimeout),
    (httpcore.ReadTimeout, httpx.ReadTimeout),
    (httpcore.WriteTimeout, httpx.WriteTimeout),
    (httpcore.PoolTimeout, httpx.PoolTimeout),
    (httpcore.ConnectError, httpx.ConnectError),
    (httpcore.ReadError, httpx.ReadError),
    (httpcore.WriteError, httpx.WriteError),
    (httpcore.UnsupportedProtocol, httpx.UnsupportedProtocol),
    (httpcore.LocalProtocolError, httpx.LocalProtocolError),
    (httpcore.RemoteProtocolError, httpx.RemoteProtocolError),
    (httpcore.ProtocolError, httpx.ProtocolError),
    (httpcore.NetworkError, httpx.NetworkError),
    (httpcore.TimeoutException, httpx.TimeoutException),
)


@contextlib.contextmanager
def _as_httpx(request: httpx.Request) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        for theirs, ours in _AS_HTTPX:
            if isinstance(error, theirs):
                raise ours(str(error), request=request) from error
        raise


class LocalChannel:
    """A TCP connection of this machine itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read(self, size: int) -> bytes:
        return await self._reader.read(size)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def close(self) -> None:
        self._writer.close()

    def at_end(self) -> bool:
        return self._reader.at_eof()


def open_local(node: str) -> OpenChannel:
    """Channels of this machine."""

    async def connect(host: str, port: int) -> ByteChannel:
        try:
            return LocalChannel(*await asyncio.open_connection(host, port))
        except ConnectionRefusedError:
            raise PortClosed(node, port, "Connection refused") from None

    return connect

"""One question to a server, one answer or a stream; what can go wrong on the way is said in k2tui's own words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import contextmanager

import httpx

from k2tui.core.errors import K2Error
from k2tui.services.doors import HttpReply

MOST_BYTES = 8 << 20
"""Of an answer: `/metrics` of a real server is 100 KB. What goes on and on is no engine."""
PATIENCE = 2.0
"""The whole answer may take so many times what silence may: a server that sends a byte now and then is never silent."""


class HttpClient(httpx.AsyncClient):
    """httpx's client, with the two questions that services ask."""

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        """The whole answer, whatever its status. Raises K2Error: http_timeout, http_refused or http_broken."""
        silence_s = self.timeout.read
        with _in_words(path, self.timeout):
            return await asyncio.wait_for(
                self._whole(method, path, body, headers or {}), None if silence_s is None else PATIENCE * silence_s
            )

    async def events(
        self, path: str, *, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The data of each server-sent event as it comes, of a POST; closing it ends the question at the server.

        Raises K2Error as `ask` does, and `http_status` for an answer other than 200. The time that it may take in all
        is whoever asks's to watch.
        """
        with _in_words(path, self.timeout):
            async with self.stream("POST", path, json=body, headers=dict(headers or {})) as reply:
                if reply.status_code != 200:
                    raise K2Error(f"HTTP {reply.status_code} from {path}", code="http_status")
                rest, taken = b"", 0
                async for part in reply.aiter_bytes():
                    taken += len(part)
                    if taken > MOST_BYTES:
                        raise _too_long(path)
                    *lines, rest = (rest + part).split(b"\n")
                    for line in lines:
                        if line.startswith(b"data:"):
                            yield line[5:].strip()

    async def _whole(
        self, method: str, path: str, body: Mapping[str, object] | None, headers: Mapping[str, str]
    ) -> HttpReply:
        content = bytearray()
        async with self.stream(method, path, json=body, headers=dict(headers)) as reply:
            async for part in reply.aiter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    raise _too_long(path)
        return HttpReply(reply.status_code, bytes(content))


@contextmanager
def _in_words(path: str, timeout: httpx.Timeout) -> Iterator[None]:
    """What fails inside becomes a K2Error."""
    try:
        yield
    except asyncio.TimeoutError:
        whole_s = PATIENCE * (timeout.read or 0)
        raise K2Error(f"the answer to {path} was not over within {whole_s:g} s", code="http_timeout") from None
    except httpx.TimeoutException:
        raise K2Error(f"no answer to {path} within {_limit(timeout)}", code="http_timeout") from None
    except httpx.ConnectError as error:
        if "refused" in str(error).lower():
            message = "nothing listens on the port: connection refused"
            raise K2Error(message, code="http_refused") from None
        raise K2Error(f"{path} can't be asked: {error}", code="http_broken") from None
    except httpx.HTTPError as error:
        raise K2Error(f"{path} broke off: {str(error) or type(error).__name__}", code="http_broken") from None


def _too_long(path: str) -> K2Error:
    limit = f"{MOST_BYTES >> 20} MB"
    return K2Error(f"the answer to {path} is longer than {limit}: no engine says so much", code="http_broken")


def _limit(timeout: httpx.Timeout) -> str:
    return "its time" if timeout.read is None else f"{timeout.read:g} s"

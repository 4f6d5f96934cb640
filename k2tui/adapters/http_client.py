"""One question to a server, one answer; what can go wrong on the way is said in k2tui's own words."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import httpx

from k2tui.core.errors import K2Error
from k2tui.services.doors import HttpReply

MOST_BYTES = 8 << 20
"""Of an answer: `/metrics` of a real server is 100 KB. What goes on and on is no engine."""
PATIENCE = 2.0
"""The whole answer may take so many times what silence may: a server that sends a byte now and then is never silent."""


class HttpClient(httpx.AsyncClient):
    """httpx's client, with the one question that services ask."""

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
        try:
            return await asyncio.wait_for(
                self._whole(method, path, body, headers or {}), None if silence_s is None else PATIENCE * silence_s
            )
        except asyncio.TimeoutError:
            raise K2Error(
                f"the answer to {path} was not over within {PATIENCE * (silence_s or 0):g} s", code="http_timeout"
            ) from None
        except httpx.TimeoutException:
            raise K2Error(f"no answer to {path} within {_limit(self.timeout)}", code="http_timeout") from None
        except httpx.ConnectError as error:
            if "refused" in str(error).lower():
                message = "nothing listens on the port: connection refused"
                raise K2Error(message, code="http_refused") from None
            raise K2Error(f"{path} can't be asked: {error}", code="http_broken") from None
        except httpx.HTTPError as error:
            raise K2Error(f"{path} broke off: {str(error) or type(error).__name__}", code="http_broken") from None

    async def _whole(
        self, method: str, path: str, body: Mapping[str, object] | None, headers: Mapping[str, str]
    ) -> HttpReply:
        content = bytearray()
        async with self.stream(method, path, json=body, headers=dict(headers)) as reply:
            async for part in reply.aiter_bytes():
                content += part
                if len(content) > MOST_BYTES:
                    limit = f"{MOST_BYTES >> 20} MB"
                    raise K2Error(
                        f"the answer to {path} is longer than {limit}: no engine says so much", code="http_broken"
                    )
        return HttpReply(reply.status_code, bytes(content))


def _limit(timeout: httpx.Timeout) -> str:
    return "its time" if timeout.read is None else f"{timeout.read:g} s"

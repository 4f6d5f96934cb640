"""One question to a server, one answer; what can go wrong on the way is said in k2tui's own words."""

from __future__ import annotations

from collections.abc import Mapping

import httpx

from k2tui.core.errors import K2Error
from k2tui.services.doors import HttpReply


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
        try:
            reply = await self.request(method, path, json=body, headers=dict(headers or {}))
        except httpx.TimeoutException:
            raise K2Error(f"no answer to {path} within {_limit(self.timeout)}", code="http_timeout") from None
        except httpx.ConnectError as error:
            if "refused" in str(error).lower():
                message = "nothing listens on the port: connection refused"
                raise K2Error(message, code="http_refused") from None
            raise K2Error(f"{path} can't be asked: {error}", code="http_broken") from None
        except httpx.HTTPError as error:
            raise K2Error(f"{path} broke off: {str(error) or type(error).__name__}", code="http_broken") from None
        return HttpReply(reply.status_code, reply.content)


def _limit(timeout: httpx.Timeout) -> str:
    return "its time" if timeout.read is None else f"{timeout.read:g} s"

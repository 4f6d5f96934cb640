"""What a server's HTTP side says without being made to generate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from k2tui.core.errors import K2Error
from k2tui.services.doors import Clock, HttpDoor, HttpReply


@dataclass(frozen=True, slots=True)
class HttpReading:
    """One look at the HTTP side."""

    ok: bool
    says: str
    at: float
    """time.monotonic."""
    running: int | None = None
    """Requests being worked on, summed over DP ranks; None when this server does not tell."""
    waiting: int | None = None


async def ask_server(client: HttpDoor, *, clock: Clock, api_key: str | None = None) -> HttpReading:
    """Ask `/v1/loads` (SGLang 0.5.8 and later; reads shared memory, never generates), else note that HTTP answers."""
    began = clock.monotonic()
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    try:
        reply = await client.ask("GET", "/v1/loads", headers=headers)
    except K2Error as error:
        return HttpReading(False, error.message, clock.monotonic())
    at = clock.monotonic()
    says = f"HTTP {reply.status} in {(at - began) * 1000:.0f} ms"
    running, waiting = _loads(reply)
    return HttpReading(reply.status < 500, says, at, running, waiting)


def _loads(reply: HttpReply) -> tuple[int | None, int | None]:
    """(running, waiting) of a `/v1/loads` reply; None for each that it does not hold."""
    if reply.status != 200:
        return None, None
    try:
        document: Any = reply.json()
        loads = document["loads"]
        running = sum(int(load["num_running_reqs"]) for load in loads)
        return running, sum(int(load["num_waiting_reqs"]) for load in loads)
    except (ValueError, KeyError, TypeError):
        return None, None

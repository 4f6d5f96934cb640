"""What a server's HTTP side says without being made to generate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from k2tui.core.errors import K2Error
from k2tui.services.doors import Clock

if TYPE_CHECKING:
    import httpx


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


async def ask_server(client: httpx.AsyncClient, *, clock: Clock, api_key: str | None = None) -> HttpReading:
    """Ask `/v1/loads` (SGLang 0.5.8 and later; reads shared memory, never generates), else note that HTTP answers."""
    began = clock.monotonic()
    headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
    try:
        reply = await client.get("/v1/loads", headers=headers)
    except K2Error as error:
        return HttpReading(False, error.message, clock.monotonic())
    except Exception as error:  # noqa: BLE001 - httpx is not this room's to import; whatever it raised is the answer
        return HttpReading(False, f"{type(error).__name__}: {error}".rstrip(": "), clock.monotonic())
    at = clock.monotonic()
    says = f"HTTP {reply.status_code} in {(at - began) * 1000:.0f} ms"
    running, waiting = _loads(reply)
    return HttpReading(reply.status_code < 500, says, at, running, waiting)


def _loads(reply: httpx.Response) -> tuple[int | None, int | None]:
    """(running, waiting) of a `/v1/loads` reply; None for each that it does not hold."""
    if reply.status_code != 200:
        return None, None
    try:
        loads = reply.json()["loads"]
        return sum(int(load["num_running_reqs"]) for load in loads), sum(
            int(load["num_waiting_reqs"]) for load in loads
        )
    except (ValueError, KeyError, TypeError):
        return None, None

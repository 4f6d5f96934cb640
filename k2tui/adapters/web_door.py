"""HTTP to a server that is known by its URL alone, from this machine."""

from __future__ import annotations

from k2tui.services.doors import HttpDoor

TIMEOUT_S = 5.0


def web_door(base_url: str) -> HttpDoor:
    """A client of the server at this base. The caller closes it."""
    from k2tui.adapters.http_client import HttpClient  # noqa: PLC0415  # httpx: only where a URL is measured

    # A proxy of this machine is not asked: what is measured is reached as the load generator reaches it.
    return HttpClient(base_url=base_url, timeout=TIMEOUT_S, trust_env=False)

"""Where the server is asked: its address, and the head of every request to it."""

from __future__ import annotations

import ssl

from k2tui.remote.load_http import CONNECT_S, Connection, connect, request, tls_context
from k2tui.remote.load_spec import Target


class Door:
    """Connections to one server. The key stands only in the head that is sent."""

    def __init__(self, target: Target) -> None:
        self.host, self.port = target.host, target.port
        self._tls: ssl.SSLContext | None = tls_context(target.host) if target.tls else None
        name = f"[{target.host}]" if ":" in target.host else target.host
        self._beside = _base(target.path)
        self._headers = {"Host": f"{name}:{target.port}", "User-Agent": "k2tui"}
        if target.api_key is not None:
            self._headers["Authorization"] = f"Bearer {target.api_key}"

    async def connect(self, timeout_s: float = CONNECT_S) -> Connection:
        """A new connection. Raises HttpError."""
        return await connect(self.host, self.port, self._tls, timeout_s)

    def beside(self, method: str, path: str) -> bytes:
        """The bytes of a request to another route of the same server, which may stand below a path of its own."""
        return self.request(method, self._beside + path)

    def request(self, method: str, path: str, body: bytes = b"", accept: str = "*/*") -> bytes:
        """The bytes of a request to it."""
        return request(method, path, {**self._headers, "Accept": accept}, body)


def _base(path: str) -> str:
    """What all routes of a server are below: its route for answers without `/v1` and what comes behind."""
    for end in ("/chat/completions", "/completions"):
        if path.endswith(end):
            path = path[: -len(end)]
            return path[: -len("/v1")] if path.endswith("/v1") else path
    return ""

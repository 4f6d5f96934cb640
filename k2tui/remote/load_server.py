"""What the server says of itself, asked beside the measurement. What it does not tell is None, never an error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from k2tui.remote.load_door import Door
from k2tui.remote.load_http import ClosedError, Connection, HttpError, ask, plain
from k2tui.remote.load_metrics import counters_in, figure_in
from k2tui.remote.load_stream import said_in, whole

LOOK_S = 3.0
FLUSH_S = 60


class Server:
    """The side doors of one server, on a connection of their own."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._connection: Connection | None = None
        self._running_from: str | None = ""
        """The path that tells how many requests run; "" not looked for yet, None: none does."""

    @property
    def tells_running(self) -> bool:
        """It says how many requests run, or has not been asked yet."""
        return self._running_from is not None

    async def models(self) -> list[Mapping[str, Any]]:
        """`/v1/models`; empty where there is none."""
        document = await self._json("/v1/models")
        rows = document.get("data") if isinstance(document, dict) else None
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def about(self) -> tuple[str | None, str | None, bool | None]:
        """(engine, version, decodes speculatively), as far as it tells."""
        for path in ("/server_info", "/get_server_info"):  # SGLang, before 0.5.8 the second
            info = await self._json(path)
            if isinstance(info, dict) and "model_path" in info:
                drafts = info.get("speculative_algorithm") if "speculative_algorithm" in info else ...
                return "sglang", _words(info.get("version")), None if drafts is ... else drafts is not None
        info = await self._json("/version")
        if isinstance(info, dict) and "version" in info:
            return "vllm", _words(info["version"]), None
        return None, None, None

    async def counters(self) -> dict[str, float | None] | None:
        """Of `/metrics`; None when it has none."""
        body = await self._body("/metrics")
        return None if body is None else counters_in(body)

    async def running(self) -> int | None:
        """Requests in its batch and its queue, ours and others'; None where nothing says."""
        paths = ("/metrics", "/v1/loads", "/get_load") if self._running_from == "" else (self._running_from,)
        for path in paths:
            if path is not None and (count := _running_in(path, await self._body(path))) is not None:
                self._running_from = path
                return count
        if self._running_from == "":
            self._running_from = None
        return None

    async def flush(self, engine: str | None) -> tuple[bool | None, str]:
        """Empty the prefix cache: (done, what it says); None: it can't be asked to."""
        path = "/reset_prefix_cache" if engine == "vllm" else f"/flush_cache?timeout={FLUSH_S}"
        try:
            status, body = await self._ask("POST", path, FLUSH_S + LOOK_S)
        except HttpError as error:
            return False, str(error)
        if status in (404, 405, 501):
            return None, "the server has no way to empty its cache"
        return status == 200, plain(body.decode("utf-8", "replace")) if status == 200 else said_in(body)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.cut()

    async def _json(self, path: str) -> Any:
        body = await self._body(path)
        try:
            return None if body is None else json.loads(body)
        except (ValueError, RecursionError):
            return None

    async def _body(self, path: str) -> bytes | None:
        try:
            status, body = await self._ask("GET", path, LOOK_S)
        except HttpError:
            return None
        return body if status == 200 else None

    async def _ask(self, method: str, path: str, timeout_s: float) -> tuple[int, bytes]:
        for attempt in (0, 1):
            connection = self._connection
            if connection is None or not connection.is_free:
                connection = self._connection = await self._door.connect(min(timeout_s, LOOK_S))
            was_used = connection.is_used
            try:
                return await ask(connection, self._door.beside(method, path), timeout_s)
            except ClosedError:
                if attempt or not was_used:
                    raise
        raise AssertionError


def _running_in(path: str, body: bytes | None) -> int | None:
    if body is None:
        return None
    if path == "/metrics":
        running, queued = figure_in(body, "running"), figure_in(body, "queued")
        return None if running is None else round(running + (queued or 0.0))
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    rows = document.get("loads") if isinstance(document, dict) else document
    counts = []
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict):
            names = ("num_running_reqs", "num_waiting_reqs") if "num_running_reqs" in row else ("num_reqs",)
            counts += [whole(row.get(name)) for name in names]
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _words(value: object) -> str | None:
    return plain(value, 80) if isinstance(value, str) else None

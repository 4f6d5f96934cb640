"""A small client that keeps a server busy and counts what comes back, token by token."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType


@dataclass
class Request:
    """One streamed completion."""

    began: float
    first_at: float | None = None
    """Unix time of its first token; None while it waits."""
    ended: float | None = None
    tokens: int = 0
    problem: str | None = None


@dataclass
class Load:
    """Streams that run at the same time, each on a connection of its own."""

    port: int
    streams: int
    max_tokens: int
    requests: list[Request] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)
    _open: list[http.client.HTTPConnection] = field(default_factory=list)
    _times: list[float] = field(default_factory=lambda: [0.0])
    _totals: list[int] = field(default_factory=lambda: [0])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Load:
        for number in range(self.streams):
            request = Request(time.time())
            self.requests.append(request)
            thread = threading.Thread(target=self._stream, args=(number, request), daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for connection in list(self._open):
            if connection.sock is not None:
                with contextlib.suppress(OSError):
                    connection.sock.shutdown(socket.SHUT_RDWR)  # closed alone, its reader would read on

    def tokens_by(self, at: float) -> float:
        """Tokens of all streams that had come by a unix time, straight between two of them."""
        with self._lock:
            place = bisect_right(self._times, at)
            if place >= len(self._times) or place < 2:
                return float(self._totals[min(place, len(self._totals)) - 1])
            before, after = self._times[place - 1], self._times[place]
            share = 0.0 if after == before else (at - before) / (after - before)
            return self._totals[place - 1] + share * (self._totals[place] - self._totals[place - 1])

    def running_at(self, at: float) -> int:
        """Streams that had a token by then, and had not ended."""
        return self._count(at, lambda request: request.first_at is not None and request.first_at <= at)

    def waiting_at(self, at: float) -> int:
        """Streams that had none yet."""
        return self._count(at, lambda request: request.first_at is None or request.first_at > at)

    def _count(self, at: float, holds: Callable[[Request], bool]) -> int:
        there = [one for one in self.requests if one.began <= at and (one.ended is None or one.ended > at)]
        return sum(1 for one in there if holds(one))

    def _stream(self, number: int, request: Request) -> None:
        body = {
            "model": "toy",
            "messages": [{"role": "user", "content": f"Count on, stream {number}."}],
            "max_tokens": self.max_tokens,
            "ignore_eos": True,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True, "continuous_usage_stats": True},
        }
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)
        self._open.append(connection)
        try:
            connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
            for line in connection.getresponse():
                if line.startswith(b"data: {"):
                    self._take(request, json.loads(line[6:]))
        except (OSError, ValueError, http.client.HTTPException, AttributeError) as error:
            request.problem = f"{type(error).__name__}: {error}"
        finally:
            request.ended = time.time()
            connection.close()

    def _take(self, request: Request, event: dict[str, object]) -> None:
        usage = event.get("usage")
        tokens = usage.get("completion_tokens") if isinstance(usage, dict) else None
        if not isinstance(tokens, int) or tokens <= request.tokens:
            return
        at = time.time()
        with self._lock:
            request.first_at = request.first_at or at
            self._times.append(at)
            self._totals.append(self._totals[-1] + tokens - request.tokens)
            request.tokens = tokens

"""An engine's HTTP side that the test plays: what each route answers, and what was asked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from k2tui.core.errors import K2Error
from k2tui.services.doors import HttpDoor, HttpReply
from tests.fakes.links import FakeLink

REPLIES = Path(__file__).parent.parent / "logs" / "replies"


@dataclass
class Engine:
    """An SGLang that says of itself what the test set; `routes` win over it."""

    running: int = 0
    waiting: int = 0
    written_at: float = 1.0
    """When its scheduler wrote its load; moves with each look while `alive`."""
    alive: bool = True
    """False: what goes through its scheduler is never answered."""
    gauge: float = 0.0
    decoded: float | None = None
    """Its counter of tokens; None: started without metrics."""
    active: int = 0
    routes: dict[str, HttpReply | K2Error] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    clients: int = 0
    """How many were opened."""

    def completes(self) -> None:
        """It answers completions, as a real one did."""
        for route, name in (("/v1/models", "models"), ("/v1/chat/completions", "chat")):
            self.routes[route] = HttpReply(200, (REPLIES / f"sglang0523-qwen3.{name}.json").read_bytes())

    def answer(self, path: str) -> HttpReply:
        if path in self.routes:
            found = self.routes[path]
            if isinstance(found, K2Error):
                raise found
            return found
        if path == "/v1/loads":
            return reply({"loads": [self._load()]})
        if path == "/v1/models":
            return reply({"data": [{"id": "m"}]})
        if path == "/metrics" and self.decoded is not None:
            return HttpReply(200, self._metrics().encode())
        if path == "/server_info":
            if not self.alive:
                raise timeout(path)
            return reply({"internal_states": [{"memory_usage": {"token_capacity": 8192}}]})
        return HttpReply(404, b"{}")

    def _load(self) -> Mapping[str, object]:
        if self.alive and (self.running or self.waiting):
            self.written_at += 1.0
        return {
            "dp_rank": 0,
            "timestamp": self.written_at,
            "num_running_reqs": self.running,
            "num_waiting_reqs": self.waiting,
            "gen_throughput": self.gauge,
        }

    def _metrics(self) -> str:
        return (
            f"sglang:num_running_reqs {self.running}\nsglang:num_queue_reqs {self.waiting}\n"
            f'sglang:realtime_tokens_total{{mode="decode"}} {self.decoded}\n'
            f'sglang:http_requests_active{{endpoint="/v1/chat/completions"}} {self.active}\n'
        )


def reply(document: object, status: int = 200) -> HttpReply:
    return HttpReply(status, json.dumps(document).encode())


def timeout(path: str) -> K2Error:
    return K2Error(f"no answer to {path} within 5 s", code="http_timeout")


def refused() -> K2Error:
    return K2Error("nothing listens on the port: connection refused", code="http_refused")


@dataclass
class Door:
    """services.doors.HttpDoor of an engine."""

    engine: Engine
    hangs: bool = False

    async def ask(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpReply:
        self.engine.asked.append(path)
        self.engine.keys.append((headers or {}).get("Authorization"))
        if self.hangs:
            await asyncio.Event().wait()
        return self.engine.answer(path)

    async def events(
        self, path: str, *, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """What a real engine streamed, piece by piece; a route that the test set to fail fails."""
        reply = await self.ask("POST", path, body=body, headers=headers)
        if reply.status != 200:
            raise K2Error(f"HTTP {reply.status} from {path}", code="http_status")
        for line in (REPLIES / "sglang0523-qwen3.chat-stream.sse").read_bytes().splitlines():
            if line.startswith(b"data:"):
                yield line[5:].strip()

    async def aclose(self) -> None: ...


class EngineLink(FakeLink):
    """A node on which an engine serves."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine = engine

    def http(self, port: int, *, timeout_s: float = 10.0) -> HttpDoor:
        self.engine.clients += 1
        return Door(self.engine)

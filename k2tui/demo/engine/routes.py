"""SGLang's HTTP routes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from k2tui.demo.engine.batch import Aborted, Job
from k2tui.demo.engine.completions import BadBody, Completions, json_body
from k2tui.demo.engine.console import Console
from k2tui.demo.engine.metrics import CONTENT_TYPE, metrics_text
from k2tui.demo.engine.parsers import parsed, separated
from k2tui.demo.engine.replies import Facts, bad_request
from k2tui.demo.engine.web import NOT_ALLOWED, NOT_FOUND, Reply, Request, json_reply
from k2tui.demo.engine.words import deprecated_endpoint

OPEN_PATHS = ("/health", "/ready", "/metrics", "/ping")
"""Answered without the API key."""
RENAMED = {"/get_model_info": "/model_info", "/get_server_info": "/server_info"}
HEALTH_S = 1.0
"""What a health check takes at least, since it polls once a second."""
FLUSH_POLL_S = 0.02
FLUSHED = (
    "Cache flushed.\nPlease check backend logs for more details. "
    "(When there are running or waiting requests, the operation will not be performed.)\n"
)


@dataclass
class Routes:
    """Answers requests of a server that is up."""

    facts: Facts
    console: Console
    pace: float
    ready: bool = False
    stopping: bool = False
    completions: Completions = field(init=False)

    def __post_init__(self) -> None:
        self.completions = Completions(self.facts)

    async def answer(self, request: Request) -> Reply:
        """The reply to any request."""
        key = self.facts.options["api_key"]
        if key and request.path not in OPEN_PATHS and request.headers.get("authorization") != f"Bearer {key}":
            return json_reply({"error": "Unauthorized"}, 401)
        path = RENAMED.get(request.path, request.path)
        route = self._routes().get(path)
        if route is None:
            return NOT_FOUND
        methods, handler = route
        if request.method not in methods:
            return NOT_ALLOWED
        if path != request.path:
            self.console.log(deprecated_endpoint(request.path, path))
        try:
            return await handler(request)
        except BadBody as error:
            return json_reply(error.document, 400)
        except Aborted:
            return json_reply(bad_request("The request was aborted.", "AbortedError"), 503)

    def _routes(self) -> Mapping[str, tuple[str, Callable[[Request], Awaitable[Reply]]]]:
        return {
            "/health": ("GET", self._health),
            "/health_generate": ("GET", self._health),
            "/ready": ("GET", self._ready),
            "/ping": ("GET", self._ready),
            "/v1/models": ("GET", self._models),
            "/model_info": ("GET", self._model_info),
            "/server_info": ("GET", self._server_info),
            "/v1/loads": ("GET", self._loads),
            "/metrics": ("GET", self._metrics),
            "/flush_cache": ("GET POST", self._flush),
            "/abort_request": ("POST", self._abort),
            "/separate_reasoning": ("POST", self._separate_reasoning),
            "/parse_function_call": ("POST", self._parse_function_call),
            "/generate": ("POST", self.completions.generate),
            "/v1/completions": ("POST", self.completions.completions),
            "/v1/chat/completions": ("POST", self.completions.chat),
        }

    async def _ready(self, _: Request) -> Reply:
        return Reply(200 if self.ready and not self.stopping else 503, content_type=None)

    async def _health(self, request: Request) -> Reply:
        """503 until ready; then it makes the model say one token, unless requests run anyway."""
        if not self.ready or self.stopping:
            return Reply(503, content_type=None)
        batch = self.facts.batch
        if not batch.hung and (not batch.running or request.path == "/health_generate"):
            job = batch.submit(Job(1, iter((" ",)), 1))
            batch.totals.requests -= 1
            _ = [token async for token in job.stream()]
        await asyncio.sleep(HEALTH_S * self.pace)
        return Reply(200, content_type=None)

    async def _models(self, _: Request) -> Reply:
        return json_reply(self.facts.models())

    async def _model_info(self, _: Request) -> Reply:
        return json_reply(self.facts.model_info())

    async def _server_info(self, _: Request) -> Reply:
        if self.facts.batch.hung:  # it goes through the scheduler's loop, which is stuck
            await asyncio.Event().wait()
        return json_reply(self.facts.server_info())

    async def _loads(self, _: Request) -> Reply:
        return json_reply(self.facts.loads())

    async def _metrics(self, _: Request) -> Reply:
        if not self.facts.options["enable_metrics"]:
            return NOT_FOUND
        return Reply(body=metrics_text(self.facts).encode(), content_type=CONTENT_TYPE)

    async def _separate_reasoning(self, request: Request) -> Reply:
        body = json_body(request, self.facts)
        found = separated(str(body.get("text", "")), str(body.get("reasoning_parser")))
        return NOT_FOUND if found is None else json_reply(found)

    async def _parse_function_call(self, request: Request) -> Reply:
        body = json_body(request, self.facts)
        found = parsed(str(body.get("text", "")), body.get("tools") or [], str(body.get("tool_call_parser")))
        return NOT_FOUND if found is None else json_reply(found)

    async def _flush(self, request: Request) -> Reply:
        """`?timeout=` waits so long for the scheduler to be idle; without it a busy one is refused at once."""
        batch = self.facts.batch
        ends = time.monotonic() + float((request.query.get("timeout") or ["0"])[0])
        while not (idle := not batch.running and not batch.waiting):
            if time.monotonic() >= ends:
                break
            await asyncio.sleep(FLUSH_POLL_S)
        if idle:
            batch.forget_prompts()
            self.console.log("Cache flushed successfully!", 0)
        return Reply(200 if idle else 400, FLUSHED.encode(), "text/plain; charset=utf-8")

    async def _abort(self, request: Request) -> Reply:
        body = json_body(request, self.facts)
        batch = self.facts.batch
        for job in (*batch.running, *batch.waiting):
            if body.get("abort_all") or job.rid == body.get("rid"):
                batch.abort(job)
        return Reply(200, content_type=None)

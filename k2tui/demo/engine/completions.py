"""The routes that make the model say something."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from k2tui.demo.engine.answers import Script, Splitter, ToolCall, bare_script, endless, rough_tokens, script_for
from k2tui.demo.engine.batch import Job
from k2tui.demo.engine.replies import (
    Facts,
    bad_request,
    metadata,
    tool_call_deltas,
    tool_calls,
    usage,
    validation_error,
)
from k2tui.demo.engine.web import Reply, Request, json_reply


class BadBody(Exception):
    """A body that SGLang refuses."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(str(document.get("message")))
        self.document = document


@dataclass
class Completions:
    """Chat, completions and /generate of one server."""

    facts: Facts
    on_completion: Callable[[], object] = lambda: None
    """Called at each request; where a fault strikes."""

    @property
    def kimi(self) -> bool:
        return self.facts.checkpoint.is_kimi

    def _job(self, body: Mapping[str, Any], texts: list[str], script: Script) -> Job:
        most = body.get("max_completion_tokens") or body.get("max_tokens") or body.get("max_new_tokens")
        limit = self.facts.context_length
        if most is not None and int(most) > limit:
            raise BadBody(
                bad_request(
                    f"max_completion_tokens is too large: {most}.This model supports at most {limit} completion tokens."
                )
            )
        prompt_tokens = rough_tokens(texts)
        room = max(1, limit - prompt_tokens)
        job = Job(
            prompt_tokens,
            endless(script, ignore_eos=bool(body.get("ignore_eos"))),
            min(int(most or room), room),
            words=[word for text in texts for word in text.split()],
        )
        self.on_completion()
        return self.facts.batch.submit(job)

    def _usage(self, job: Job, reasoning_tokens: int) -> dict[str, Any]:
        return usage(job, reasoning_tokens, cache=bool(self.facts.options["enable_cache_report"]))

    async def chat(self, request: Request) -> Reply:
        body = json_body(request, self.facts)
        _check_chat(body, self.facts)
        texts = [_text_of(message) for message in body["messages"]] + [json.dumps(body.get("tools") or "")]
        script = script_for(body, kimi=self.kimi)
        options = self.facts.options
        split = body.get("separate_reasoning") is not False
        splitter = Splitter(
            script, options["reasoning_parser"] if split else None, options["tool_call_parser"], self.kimi
        )
        job = self._job(body, texts, script)
        if body.get("stream"):
            return Reply(content_type="text/event-stream; charset=utf-8", stream=self._chat_stream(body, job, splitter))
        content: list[str] = []
        reasoning: list[str] = []
        call: ToolCall | None = None
        async for token in job.stream():
            piece = splitter.take(token)
            content.append(piece.content)
            reasoning.append(piece.reasoning)
            call = piece.call or call
        message: dict[str, Any] = {
            "role": "assistant",
            "content": "".join(content),
            "reasoning_content": "".join(reasoning) or None,
        }
        if call is not None:
            message["tool_calls"] = tool_calls(call, kimi=self.kimi)
        choice = {"index": 0, "message": message, "logprobs": None, **self._finish(job, called=call is not None)}
        return json_reply(
            {
                "id": job.rid,
                "object": "chat.completion",
                "created": int(time.time()),
                "model": body.get("model") or options.served_name,
                "choices": [choice],
                "usage": self._usage(job, splitter.reasoning_tokens),
                "metadata": metadata(job),
            }
        )

    def _finish(self, job: Job, *, called: bool) -> dict[str, Any]:
        if called:
            return {"finish_reason": "tool_calls", "matched_stop": None}
        stopped = job.finish == "stop"
        return {"finish_reason": job.finish, "matched_stop": self.facts.checkpoint.eos_token_id if stopped else None}

    async def _chat_stream(self, body: Mapping[str, Any], job: Job, splitter: Splitter) -> AsyncIterator[bytes]:
        head = {
            "id": job.rid,
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": body.get("model") or self.facts.options.served_name,
        }
        asked = body.get("stream_options") or {}
        running_usage = bool(asked.get("continuous_usage_stats"))

        def chunk(delta: Mapping[str, Any], **finish: Any) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": None, "matched_stop": None}
            document: dict[str, Any] = {**head, "choices": [{**choice, **finish}]}
            if running_usage:
                document["usage"] = self._usage(job, splitter.reasoning_tokens)
            return _event(document)

        try:
            yield chunk({"reasoning_content": None, "role": "assistant", "content": ""})
            async for token in job.stream():
                piece = splitter.take(token)
                if piece.call is not None:
                    nothing = dict.fromkeys(("role", "content", "reasoning_content"))
                    for delta in tool_call_deltas(piece.call, kimi=self.kimi):
                        yield chunk({**nothing, "tool_calls": [delta]})
                elif piece.reasoning:
                    yield chunk({"reasoning_content": piece.reasoning})
                elif piece.content:
                    yield chunk({"content": piece.content, "reasoning_content": None})
            yield chunk({"reasoning_content": None}, **self._finish(job, called=splitter.called))
            if asked.get("include_usage"):
                yield _event({**head, "choices": [], "usage": self._usage(job, splitter.reasoning_tokens)})
            yield b"data: [DONE]\n\n"
        finally:
            self.facts.batch.abort(job)

    async def completions(self, request: Request) -> Reply:
        body = json_body(request, self.facts)
        job = self._job(body, [str(body.get("prompt", ""))], bare_script())
        text = "".join([token async for token in job.stream()])
        choice = {"index": 0, "text": text, "logprobs": None, **self._finish(job, called=False)}
        return json_reply(
            {
                "id": job.rid,
                "object": "text_completion",
                "created": int(time.time()),
                "model": body.get("model") or self.facts.options.served_name,
                "choices": [choice],
                "usage": self._usage(job, 0),
                "metadata": metadata(job),
            }
        )

    async def generate(self, request: Request) -> Reply:
        body = json_body(request, self.facts)
        text, ids = body.get("text"), body.get("input_ids") or ()
        words = [str(text) if text is not None else "x " * len(ids)]
        job = self._job(body.get("sampling_params") or {}, words, bare_script())
        if body.get("stream"):
            return Reply(content_type="text/event-stream; charset=utf-8", stream=self._generate_stream(job))
        said = "".join([token async for token in job.stream()])
        return json_reply(self._generated(job, said))

    async def _generate_stream(self, job: Job) -> AsyncIterator[bytes]:
        text = ""
        try:
            async for token in job.stream():
                text += token
                yield _event(self._generated(job, text))
            yield b"data: [DONE]\n\n"
        finally:
            self.facts.batch.abort(job)

    def _generated(self, job: Job, text: str) -> dict[str, Any]:
        """The text so far: a stream of /generate is cumulative."""
        now, wall = time.monotonic(), time.time()
        reasons: Mapping[str | None, dict[str, Any] | None] = {
            None: None,
            "length": {"type": "length", "length": job.produced},
            "stop": {"type": "stop", "matched": self.facts.checkpoint.eos_token_id},
        }
        spent = now - job.arrived
        meta = {
            "id": job.rid,
            "finish_reason": reasons.get(job.finish),
            "prompt_tokens": job.prompt_tokens,
            "weight_version": "default",
            "num_retractions": 0,
            "reasoning_tokens": 0,
            "completion_tokens": job.produced,
            "cached_tokens": job.cached,
            "weight_versions": metadata(job)["weight_versions"],
            "cached_tokens_details": None,
            "dp_rank": None,
            "e2e_latency": spent,
            "request_received_ts": wall - spent,
            "first_token_latency": (job.first_token_at or now) - job.arrived,
            "decode_throughput": job.produced / max(spent, 1e-3),
        }
        return {"text": text, "output_ids": list(range(1904, 1904 + job.produced)), "meta_info": meta}


def _event(document: Mapping[str, Any]) -> bytes:
    return b"data: " + json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


def json_body(request: Request, facts: Facts) -> dict[str, Any]:
    try:
        body = json.loads(request.body or b"{}")
    except ValueError as error:
        problem = {
            "type": "json_invalid",
            "loc": ("body", getattr(error, "pos", 0)),
            "msg": "JSON decode error",
            "input": {},
            "ctx": {"error": str(getattr(error, "msg", error)).lower()},
        }
        raise BadBody(validation_error([problem], request.path, facts.options.release.site)) from None
    return body if isinstance(body, dict) else {}


def _check_chat(body: Mapping[str, Any], facts: Facts) -> None:
    problems = []
    if not isinstance(body.get("messages"), list):
        problem = {"type": "list_type", "loc": ("body", "messages"), "msg": "Input should be a valid list"}
        problems.append({**problem, "input": body.get("messages")})
    if isinstance(body.get("temperature"), str):
        message = "Input should be a valid number, unable to parse string as a number"
        problem = {"type": "float_parsing", "loc": ("body", "temperature"), "msg": message}
        problems.append({**problem, "input": body["temperature"]})
    if problems:
        raise BadBody(validation_error(problems, "/v1/chat/completions", facts.options.release.site))


def _text_of(message: Any) -> str:
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return str(content or "")

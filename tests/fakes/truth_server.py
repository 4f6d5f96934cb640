"""A model server whose truth is known: when it made each token, and what it did to hide that.

It decodes step by step, all streams together, as engines do. Run as a program it takes a Behaviour as JSON, prints its
port, and ends with its stdin.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

CHARS_A_TOKEN = 4.4
TEMPLATE_TOKENS = 6


@dataclass(frozen=True)
class Behaviour:
    """What the server does; every field but the first few is a trap."""

    tok_s: float = 100.0
    """Of each stream."""
    ttft_s: float = 0.03
    prefill_tok_s: float | None = None
    """How long a prompt takes besides; None: nothing."""
    kind: Literal["content", "reasoning", "tool"] = "content"
    thinks: int = 0
    """So many tokens are reasoning, before the others."""
    word: str = " word"
    bundle: int = 1
    """Tokens a chunk."""
    swallows: tuple[int, int] | None = None
    """A parser keeps tokens back: from which one, and how many."""
    role_first: bool = True
    usage: Literal["continuous", "final", "none"] = "continuous"
    splits: bool = False
    """Each event comes in several TCP segments, which end inside of characters."""
    pings: bool = False
    crlf: bool = False
    framing: Literal["chunked", "close"] = "chunked"
    tail_s: float = 0.0
    """The last usage and `[DONE]` come later by this."""
    refuses: tuple[str, ...] = ()
    """Fields of a request that are answered with 400."""
    fails: int = 0
    """So many requests are answered with 500, after the first."""
    cuts_after: int | None = None
    """The connection ends after so many tokens."""
    stalls_after: int | None = None
    cache_report: bool = True
    metrics: Literal["sglang", "vllm", "none"] = "sglang"
    others: int = 0
    """Requests of another client that run."""
    drops: int = 0
    """So many requests on a connection that was used before are answered by its end."""
    below: str = ""
    """The path that all routes are below."""
    flush: bool | None = True
    """None: there is no such endpoint."""
    max_model_len: int | None = None
    finish: str = "length"
    stop_after: int | None = None
    """Ends by itself after so many tokens, but with ignore_eos."""


@dataclass
class Truth:
    """One request, as the server knows it; times are time.perf_counter."""

    asked: dict[str, Any]
    prompt_tokens: int
    cached: int
    arrived_at: float
    times: list[float] = field(default_factory=list)
    """Of each token."""

    @property
    def decode_tps(self) -> float:
        return (len(self.times) - 1) / (self.times[-1] - self.times[0])

    @property
    def ttft_ms(self) -> float:
        return (self.times[0] - self.arrived_at) * 1000


class TruthServer:
    """Listens on a free port of 127.0.0.1 while it is entered."""

    def __init__(self, behaviour: Behaviour | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.behaviour = behaviour or Behaviour()
        self._tls = tls
        self.port = 0
        self.truths: list[Truth] = []
        self.asked: list[str] = []
        """Method and path of every request."""
        self.flushes = 0
        self.connections: set[_Connection] = set()
        self.opened = 0
        self.failed = self.dropped = 0
        self.cached: dict[str, int] = {}
        self.streams: list[_Answer] = []
        self._server: asyncio.Server | None = None
        self._steps: asyncio.Task[None] | None = None

    async def __aenter__(self) -> TruthServer:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", 0, backlog=1024, ssl=self._tls)
        self.port = self._server.sockets[0].getsockname()[1]
        self._steps = loop.create_task(self._step())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """As a server that dies: nothing is said, nothing listens any more."""
        assert self._server is not None
        assert self._steps is not None
        self._steps.cancel()
        self._server.close()
        for connection in list(self.connections):
            connection.abort()

    @property
    def made(self) -> int:
        """Tokens of all requests."""
        return sum(len(truth.times) for truth in self.truths)

    @property
    def measured(self) -> list[Truth]:
        """The requests of more than a probe's and a warm-up's tokens."""
        return [truth for truth in self.truths if truth.asked.get("max_tokens", 0) > 64]

    async def _step(self) -> None:
        """One token for each stream that is past its prefill, at each step."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + 1 / self.behaviour.tok_s, loop.time() - 0.05)
            await asyncio.sleep(max(0.0, due - loop.time()))
            now = perf_counter()
            for answer in self.streams[:]:
                if now >= answer.begins_at and not answer.step():
                    self.streams.remove(answer)

    def answer(self, connection: _Connection, method: str, path: str, body: bytes) -> None:
        """One request."""
        name = path.partition("?")[0]
        if connection.is_used and name.endswith("completions") and self.dropped < self.behaviour.drops:
            self.dropped += 1
            connection.abort()
            return
        connection.is_used = True
        self.asked.append(f"{method} {path}")
        routes: dict[str, Callable[[], tuple[int, str]]] = {
            "/v1/models": lambda: (200, json.dumps({"data": [self._model()]})),
            "/server_info": lambda: (200, '{"model_path":"/m","version":"0.5.23","speculative_algorithm":null}'),
            "/metrics": self._metrics,
            "/flush_cache": self._flush,
            "/truth": lambda: (200, json.dumps([truth.times for truth in self.truths])),
        }
        name = name.removeprefix(self.behaviour.below) if name.startswith(f"{self.behaviour.below}/") else ""
        if name == "/v1/chat/completions":
            self._chat(connection, json.loads(body))
        else:
            connection.reply(*routes.get(name, lambda: (404, "no such path"))())

    def _chat(self, connection: _Connection, asked: dict[str, Any]) -> None:
        said = json.dumps(asked)
        refused = [name for name in self.behaviour.refuses if f'"{name}"' in said]
        if refused:
            connection.reply(400, json.dumps({"error": {"message": f"Unknown parameter: {refused[0]}"}}))
            return
        if self.truths and self.failed < self.behaviour.fails:
            self.failed += 1
            connection.reply(500, '{"object":"error","message":"out of\\u001b[31m luck"}')
            return
        prompt = "\n".join(message["content"] for message in asked["messages"])
        tokens = round(len(prompt) / CHARS_A_TOKEN) + TEMPLATE_TOKENS
        cached = self.cached.get(prompt, 0)
        self.cached[prompt] = tokens - 1
        truth = Truth(asked, tokens, cached, perf_counter())
        self.truths.append(truth)
        answer = _Answer(self.behaviour, connection, truth)
        self.streams.append(answer)
        connection.answer = answer

    def _model(self) -> dict[str, Any]:
        return {"id": "truth", "max_model_len": self.behaviour.max_model_len}

    def _metrics(self) -> tuple[int, str]:
        engine = self.behaviour.metrics
        names = {
            "sglang": ("num_running_reqs", "num_queue_reqs", "num_requests_total", "cached_tokens_total"),
            "vllm": (
                "num_requests_running",
                "num_requests_waiting",
                "request_success_total",
                "prefix_cache_hits_total",
            ),
        }
        if engine == "none":
            return 404, "Not Found"
        running, queued, requests, cached = names[engine]
        cached_tokens = sum(truth.cached for truth in self.truths)
        values = {
            running: len(self.streams) + self.behaviour.others,
            queued: 0,
            requests: len(self.truths),
            "generation_tokens_total": self.made,
            "prompt_tokens_total": sum(truth.prompt_tokens for truth in self.truths),
            **({cached: cached_tokens} if cached_tokens else {}),
        }
        lines = [f'{engine}:{name}{{model_name="truth",tp_rank="0"}} {value:.1f}' for name, value in values.items()]
        return 200, "# HELP x\n" + "\n".join(lines) + "\n"

    def _flush(self) -> tuple[int, str]:
        if self.behaviour.flush is None:
            return 404, "Not Found"
        if not self.behaviour.flush or self.streams:
            return 400, "Flush cache failed: requests are running."
        self.flushes += 1
        self.cached.clear()
        return 200, "Cache flushed."


class _Connection(asyncio.Protocol):
    """HTTP/1.1, one request after the other."""

    def __init__(self, server: TruthServer) -> None:
        self._server = server
        self._kept = b""
        self._transport: asyncio.Transport | None = None
        self.answer: _Answer | None = None
        self.is_used = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.connections.add(self)
        self._server.opened += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.connections.discard(self)
        if self.answer in self._server.streams:  # the client gave up
            self._server.streams.remove(self.answer)

    def data_received(self, data: bytes) -> None:
        self._kept += data
        head, found, rest = self._kept.partition(b"\r\n\r\n")
        if not found:
            return
        method, path, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
        sizes = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        size = int(sizes[0].partition(b":")[2]) if sizes else 0
        if len(rest) >= size:
            self._kept = rest[size:]
            self._server.answer(self, method, path, rest[:size])

    def reply(self, status: int, body: str) -> None:
        text = body.encode()
        self.write(b"HTTP/1.1 %d X\r\nContent-Length: %d\r\n\r\n%s" % (status, len(text), text))

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class _Answer:
    """One stream: a token a step, told as the behaviour has it."""

    def __init__(self, behaviour: Behaviour, connection: _Connection, truth: Truth) -> None:
        self._b, self._connection, self._truth = behaviour, connection, truth
        asked = truth.asked
        self._most = int(asked.get("max_tokens") or asked.get("max_completion_tokens") or 16)
        if behaviour.stop_after is not None and not asked.get("ignore_eos"):
            self._most = min(self._most, behaviour.stop_after)
        options = asked.get("stream_options") or {}
        self._final = bool(options.get("include_usage")) and behaviour.usage != "none"
        self._continuous = bool(options.get("continuous_usage_stats")) and behaviour.usage == "continuous"
        self._told = 0
        prefill_s = 0.0
        if behaviour.prefill_tok_s is not None:
            prefill_s = (truth.prompt_tokens - truth.cached) / behaviour.prefill_tok_s
        self.begins_at = perf_counter() + behaviour.ttft_s + prefill_s

    def step(self) -> bool:
        """Make a token; False: it was the last."""
        behaviour, times = self._b, self._truth.times
        if behaviour.stalls_after == len(times):
            return True
        if not times:
            self._begin()
        if behaviour.cuts_after == len(times):
            self._connection.abort()
            return False
        times.append(perf_counter())
        made = len(times)
        if self._is_kept_back(made):
            pass
        elif made % behaviour.bundle == 0 or made == self._most:
            self._chunk(made - self._told)
        if made < self._most:
            return True
        self._event(self._choice("{}", f'"{self._reason()}"'))
        if behaviour.tail_s:
            asyncio.get_running_loop().call_later(behaviour.tail_s, self._end)
        else:
            self._end()
        return False

    def _is_kept_back(self, made: int) -> bool:
        if self._b.swallows is None:
            return False
        first, count = self._b.swallows
        return first <= made < first + count

    def _reason(self) -> str:
        return self._b.finish if self._b.stop_after is None or self._most != self._b.stop_after else "stop"

    def _begin(self) -> None:
        framing = "Transfer-Encoding: chunked" if self._b.framing == "chunked" else "Connection: close"
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{framing}\r\n\r\n"
        self._connection.write(head.encode())
        if self._b.role_first:
            self._event(self._choice('{"role":"assistant","content":""}', "null"))

    def _chunk(self, tokens: int) -> None:
        behaviour = self._b
        text = json.dumps(behaviour.word * tokens, ensure_ascii=False)
        kind = "reasoning" if len(self._truth.times) <= behaviour.thinks else behaviour.kind
        delta = {
            "content": f'{{"role":null,"content":{text},"reasoning_content":null,"tool_calls":null}}',
            "reasoning": f'{{"role":null,"content":null,"reasoning_content":{text},"tool_calls":null}}',
            "tool": f'{{"role":null,"content":null,"tool_calls":[{{"index":0,"function":{{"arguments":{text}}}}}]}}',
        }[kind]
        self._told = len(self._truth.times)
        self._event(self._choice(delta, "null"))

    def _choice(self, delta: str, finish: str) -> str:
        usage = self._usage() if self._continuous else "null"
        return (
            '{"id":"5f1c0c7b4d5e4f0f8c8d6a1b2c3d4e5f","object":"chat.completion.chunk","created":1754000000,'
            f'"model":"truth","choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish},'
            f'"matched_stop":null}}],"usage":{usage}}}'
        )

    def _usage(self) -> str:
        truth = self._truth
        details = f'{{"cached_tokens":{truth.cached}}}' if self._b.cache_report else "null"
        made = len(truth.times)
        return (
            f'{{"prompt_tokens":{truth.prompt_tokens},"total_tokens":{truth.prompt_tokens + made},'
            f'"completion_tokens":{made},"prompt_tokens_details":{details},"reasoning_tokens":0}}'
        )

    def _event(self, document: str) -> None:
        behaviour = self._b
        newline = "\r\n" if behaviour.crlf else "\n"
        text = f"data: {document}{newline}{newline}"
        if behaviour.pings:
            text = f": ping{newline}{newline}{text}"
        data = text.encode()
        if behaviour.splits:
            for at in range(0, len(data), 7):
                self._send(data[at : at + 7])
        else:
            self._send(data)

    def _send(self, data: bytes) -> None:
        if self._b.framing == "chunked":
            data = b"%x\r\n%s\r\n" % (len(data), data)
        if self._b.splits:  # also inside of the framing
            self._connection.write(data[:3])
            data = data[3:]
        self._connection.write(data)

    def _end(self) -> None:
        if self._final:
            self._event(f'{{"id":"5f","object":"chat.completion.chunk","choices":[],"usage":{self._usage()}}}')
        self._event("[DONE]")
        if self._b.framing == "chunked":
            self._connection.write(b"0\r\n\r\n")
        else:
            self._connection.close()


async def _serve(behaviour: Behaviour) -> None:
    loop = asyncio.get_running_loop()
    async with TruthServer(behaviour) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        await loop.run_in_executor(None, sys.stdin.read)


COMMAND = (sys.executable, str(Path(__file__).resolve()))
"""Starts it as a process of its own; the Behaviour as JSON comes behind."""

if __name__ == "__main__":
    asyncio.run(_serve(Behaviour(**json.loads(sys.argv[1] if len(sys.argv) > 1 else "{}"))))

"""A server for the tests of proofs that answers with what a real one said, and what it stands on."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from k2tui.adapters.http_client import HttpClient
from k2tui.core.effects import Wanted, wanted
from k2tui.core.effects.on_node import Listener, RankProcess
from k2tui.core.verdicts import Effect, Outcome
from k2tui.core.views import Proof
from k2tui.services.proofs import NodeLooks
from k2tui.services.proofs.prove import prove

REPLIES = Path(__file__).parent.parent / "logs" / "replies"
MODEL = "models/tiny-qwen3-64shards"
BASE = ("python3", "-m", "sglang.launch_server", "--model-path", MODEL)
REASON = (*BASE, "--reasoning-parser", "qwen3")
BOTH = (*REASON, "--tool-call-parser", "qwen")
CHAT = "/v1/chat/completions"

Answer = httpx.Response | Callable[[httpx.Request], httpx.Response | Awaitable[httpx.Response]]


def recorded(name: str, status: int = 200) -> httpx.Response:
    """What a real server said."""
    return httpx.Response(status, content=(REPLIES / name).read_bytes())


def changed(name: str, **message: Any) -> httpx.Response:
    """A real reply with its message changed."""
    reply = json.loads((REPLIES / name).read_text("utf-8"))
    reply["choices"][0]["finish_reason"] = message.pop("finish", reply["choices"][0]["finish_reason"])
    reply["choices"][0]["message"].update(message)
    return httpx.Response(200, json=reply)


def said(status: int = 200, **document: Any) -> httpx.Response:
    return httpx.Response(status, json=document)


def streamed(*deltas: Mapping[str, object]) -> httpx.Response:
    """A stream of these deltas."""
    events = [json.dumps({"choices": [{"delta": delta, "finish_reason": None}]}) for delta in deltas]
    return httpx.Response(200, content="".join(f"data: {event}\n\n" for event in (*events, "[DONE]")).encode())


class Server:
    """Answers by path; completions are told apart as `plain` (thinking off), `whole`, `stream` and `tools`."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = dict(answers)
        self.asked: list[httpx.Request] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        path = request.url.path
        if path == CHAT:
            path = kind(json.loads(request.content))
        answer = self.answers.get(path, httpx.Response(404, json={"detail": "Not Found"}))
        if isinstance(answer, httpx.Response):
            return httpx.Response(answer.status_code, content=answer.content)
        came = answer(request)
        return came if isinstance(came, httpx.Response) else await came

    @property
    def generated(self) -> list[dict[str, Any]]:
        """The bodies of what was to be generated."""
        return [json.loads(one.content) for one in self.asked if one.url.path in (CHAT, "/v1/completions")]

    async def prove(self, argv: Sequence[str] = BASE, want: Wanted | None = None, **more: Any) -> Proof:
        """Everything that these flags ask for, unless the test says what it wants."""
        transport = httpx.MockTransport(self)
        want = wanted(None, (argv, {})) if want is None else want
        async with HttpClient(transport=transport, base_url="http://127.0.0.1:30000", timeout=20.0) as client:
            asked = {"max_s": 20.0, "port": 30000, "engine": "sglang", **more}
            return await prove(client, argv=argv, wanted=want, **asked)


def kind(body: Mapping[str, Any]) -> str:
    """Which of the proof's questions this is."""
    if body.get("stream"):
        return "stream"
    return "tools" if "tools" in body else "plain" if "chat_template_kwargs" in body else "whole"


def sglang(**answers: Answer) -> Server:
    """The replies of a real SGLang 0.5.23 with a reasoning and a tool-call parser; `models=`, `plain=` replace one."""
    paths = {"models": "/v1/models", "info": "/server_info", "separate": "/separate_reasoning", "metrics": "/metrics"}
    paths |= {"parse": "/parse_function_call", "loads": "/v1/loads", "completions": "/v1/completions"}
    given: dict[str, Answer] = {
        "/v1/models": recorded("sglang0523-qwen3.models.json"),
        "/server_info": recorded("sglang0523-qwen3.server_info.json"),
        "/metrics": recorded("sglang0523-qwen3.metrics.txt"),
        "/v1/loads": said(loads=[{"dp_rank": 0, "num_running_reqs": 0, "num_waiting_reqs": 0}]),
        "/separate_reasoning": separates,
        "/parse_function_call": parses,
        "plain": recorded("sglang0523-qwen3.chat-nothink.json"),
        "whole": recorded("sglang0523-qwen3.chat.json"),
        "stream": recorded("sglang0523-qwen3.chat-stream.sse"),
        "tools": recorded("sglang0523-qwen3.chat-tools.json"),
        "/v1/completions": recorded("sglang0523-qwen3.completions.json"),
    }
    return Server({**given, **{paths.get(name, name): answer for name, answer in answers.items()}})


def separates(request: httpx.Request) -> httpx.Response:
    """/separate_reasoning, as the real one does for the think marks."""
    text = json.loads(request.content)["text"]
    thought, mark, rest = text.partition("</think>")
    return (
        said(reasoning_text=thought.removeprefix("<think>"), text=rest) if mark else said(reasoning_text="", text=text)
    )


def parses(request: httpx.Request) -> httpx.Response:
    """/parse_function_call, as the real one does for Qwen's marks."""
    inner = [part.partition("</tool_call>")[0] for part in json.loads(request.content)["text"].split("<tool_call>")[1:]]
    calls = [json.loads(part) for part in inner]
    rows = [{"tool_index": 0, "name": c["name"], "parameters": json.dumps(c["arguments"])} for c in calls]
    return said(normal_text="", calls=rows)


def effect(proof: Proof, check: str, setting: str | None = None) -> Effect:
    """The effect of this check (and of this flag, where there are several)."""
    found = [one for one in proof.effects if one.check == check and setting in (None, one.setting)]
    assert len(found) == 1, proof.effects
    return found[0]


def outcome(proof: Proof, check: str, setting: str | None = None) -> Outcome:
    return effect(proof, check, setting).outcome


@dataclass
class FakeLog:
    """A log that grows when it is read to its end."""

    shown: list[str] = field(default_factory=list)
    coming: list[str] = field(default_factory=list)

    def end(self) -> int:
        return len(self.shown)

    def lines(self, start: int) -> Sequence[str]:
        return self.shown[start:]

    async def read_to_end(self) -> None:
        self.shown += self.coming
        self.coming = []


class FakeNode(NodeLooks):
    """A node on which this listens, and these ranks live."""

    def __init__(self, word: str = "ours", ranks: Sequence[RankProcess] = ()) -> None:
        self.word, self.found, self.asked = word, tuple(ranks), list[str]()

    async def listener(self, port: int) -> Listener:
        return Listener(self.word, 4711, "python3 -m http.server")

    async def ranks(self, names: Iterable[str] = ()) -> tuple[RankProcess, ...]:
        self.asked += names
        return self.found

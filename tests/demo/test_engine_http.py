"""The replies have the keys and types of the real server's."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.demo.engines import READY, RunningEngine, engine
from tests.demo.shapes import REPLIES
from tests.demo.test_engine_answers import TOOL

FLAGS = ("--reasoning-parser", "qwen3", "--tool-call-parser", "qwen", "--enable-metrics", "--context-length", "4096")
SLOWLY = {"K2_DEMO_RATE": "400"}
"""Tok/s of one stream: a whole context takes ten seconds."""
QUESTION = [{"role": "user", "content": "How many shards are left?"}]


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, qwen: Path) -> AsyncIterator[RunningEngine]:
    async with engine(tmp_path_factory.mktemp("http"), qwen, *FLAGS, env=SLOWLY) as running:
        await running.until(READY)
        yield running


@pytest.fixture
async def client(server: RunningEngine) -> AsyncIterator[httpx.AsyncClient]:
    async with server.client() as opened:
        yield opened


def real(name: str) -> Any:
    return json.loads((REPLIES / f"sglang0523-qwen3.{name}.json").read_text(encoding="utf-8"))


def kind(value: object) -> str:
    """The JSON type; whole and broken numbers are told apart."""
    return "null" if value is None else type(value).__name__


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where keys or types differ; null on one side fits anything."""
    if ours is None or theirs is None:
        return []
    if kind(ours) != kind(theirs):
        return [f"{path}: {kind(ours)} for {kind(theirs)}"]
    if isinstance(ours, dict):
        found = [f"{path}.{key} is only ours" for key in ours.keys() - theirs.keys()]
        found += [f"{path}.{key} is missing" for key in theirs.keys() - ours.keys()]
        return found + [
            d for key in ours.keys() & theirs.keys() for d in differences(ours[key], theirs[key], f"{path}.{key}")
        ]
    if isinstance(ours, list) and ours and theirs:
        return differences(ours[0], theirs[0], f"{path}[0]")
    return []


def events(stream: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("chat", {}),
        ("chat-nothink", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("chat-tools", {"tools": [TOOL], "chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
async def test_a_chat_reply_is_shaped_as_the_real_one(
    client: httpx.AsyncClient, name: str, body: dict[str, Any]
) -> None:
    reply = await client.post("/v1/chat/completions", json={"messages": QUESTION, **body})
    theirs = real(name)
    assert differences(reply.json(), theirs) == []
    choice, real_choice = reply.json()["choices"][0], theirs["choices"][0]
    assert choice["finish_reason"] == real_choice["finish_reason"]
    assert choice["message"]["content"] == real_choice["message"]["content"]
    assert reply.headers["server"] == "uvicorn"
    assert reply.headers["content-type"] == "application/json"


async def test_a_chat_reply_says_what_the_real_toy_says(client: httpx.AsyncClient) -> None:
    reply = (await client.post("/v1/chat/completions", json={"messages": QUESTION})).json()
    theirs = real("chat")
    assert reply["choices"][0]["message"] == theirs["choices"][0]["message"]
    assert reply["usage"]["completion_tokens"] == theirs["usage"]["completion_tokens"] == 47
    assert reply["usage"]["reasoning_tokens"] == theirs["usage"]["reasoning_tokens"] == 30


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("chat-stream", {"stream_options": {"include_usage": True}}),
        ("chat-tools-stream", {"tools": [TOOL], "chat_template_kwargs": {"enable_thinking": False}}),
    ],
)
async def test_a_stream_has_the_chunks_of_the_real_one(
    client: httpx.AsyncClient, name: str, body: dict[str, Any]
) -> None:
    reply = await client.post("/v1/chat/completions", json={"messages": QUESTION, "stream": True, **body})
    ours, theirs = events(reply.text), events((REPLIES / f"sglang0523-qwen3.{name}.sse").read_text(encoding="utf-8"))
    assert reply.text.endswith("data: [DONE]\n\n")
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert len(ours) == len(theirs)

    def keys(chunk: dict[str, Any]) -> tuple[list[str], list[str]]:
        return sorted(chunk.keys() - {"usage"}), sorted(chunk["choices"][0]["delta"]) if chunk["choices"] else []

    assert [keys(chunk) for chunk in ours] == [keys(chunk) for chunk in theirs]


async def test_completions_and_generate_are_shaped_as_the_real_ones(client: httpx.AsyncClient) -> None:
    completion = (await client.post("/v1/completions", json={"prompt": "Hi", "max_tokens": 5})).json()
    assert differences(completion, real("completions")) == []
    assert completion["choices"][0]["finish_reason"] == "length"
    body = {"text": "Hi", "sampling_params": {"max_new_tokens": 16}}
    generated = (await client.post("/generate", json=body)).json()
    only_theirs = {d for d in differences(generated, real("generate")) if not d.endswith("is missing")}
    assert only_theirs == set()
    assert generated["text"] == real("generate")["text"]


async def test_generate_streams_the_text_so_far(client: httpx.AsyncClient) -> None:
    body = {"text": "Hi", "stream": True, "sampling_params": {"max_new_tokens": 3}}
    texts = [chunk["text"] for chunk in events((await client.post("/generate", json=body)).text)]
    assert len(texts) == 3
    assert all(later.startswith(earlier) for earlier, later in pairwise(texts))


async def test_models_and_facts_are_shaped_as_the_real_ones(client: httpx.AsyncClient) -> None:
    assert differences((await client.get("/v1/models")).json(), real("models")) == []
    ours, theirs = (await client.get("/server_info")).json(), real("server_info")
    # The real one is a CPU server: its graphs and a few values are of another type.
    assert [d for d in differences(ours, theirs) if "is missing" in d or "is only ours" in d] == []
    assert ours["launch_command"].startswith("--model-path ")
    assert (await client.get("/get_server_info")).json().keys() == ours.keys()


async def test_the_other_get_routes_answer_as_the_real_server(client: httpx.AsyncClient) -> None:
    text = (REPLIES / "sglang0523-qwen3.get-endpoints.http").read_text(encoding="utf-8")
    for block in re.split(r"^### GET ", text, flags=re.MULTILINE)[1:]:
        path, _, rest = block.partition("\n")
        head, _, body = rest.partition("\n\n")
        status = int(head.split()[1])
        if path not in (
            "/health",
            "/health_generate",
            "/v1/models",
            "/version",
            "/model_info",
            "/v1/loads",
            "/get_load",
        ):
            continue
        reply = await client.get(path)
        assert reply.status_code == status, path
        if body.strip().startswith("{"):
            assert differences(reply.json(), json.loads(body.strip())) == [], path


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("err-badjson", b'{"messages'),
        ("err-badfield", b'{"messages": "x", "temperature": "hot"}'),
        ("err-toolong", b'{"messages": [], "max_completion_tokens": 99999}'),
    ],
)
async def test_a_bad_body_is_refused_in_the_same_words(client: httpx.AsyncClient, name: str, content: bytes) -> None:
    reply = await client.post("/v1/chat/completions", content=content)
    assert reply.status_code == 400
    ours, theirs = reply.json(), real(name)
    assert differences(ours, theirs) == []
    assert ours["message"].splitlines()[0] == theirs["message"].splitlines()[0]


async def test_every_metric_is_a_real_one_with_its_labels(client: httpx.AsyncClient) -> None:
    def samples(text: str) -> dict[str, set[tuple[str, ...]]]:
        found: dict[str, set[tuple[str, ...]]] = {}
        for name, labels in re.findall(r"^(sglang:\w+)\{(.*)\} ", text, flags=re.MULTILINE):
            found.setdefault(name, set()).add(tuple(re.findall(r'(\w+)="', labels)))
        return found

    ours = samples((await client.get("/metrics")).text)
    theirs = samples((REPLIES / "sglang0523-qwen3.metrics.txt").read_text(encoding="utf-8"))
    assert len(ours) > 15
    assert ours.keys() - theirs.keys() == set()
    assert {name: labels for name, labels in ours.items() if not labels <= theirs[name]} == {}


async def test_counters_count(client: httpx.AsyncClient) -> None:
    async def generated() -> float:
        text = (await client.get("/metrics")).text
        return float(re.findall(r"^sglang:generation_tokens_total\{.*\} (.*)$", text, flags=re.MULTILINE)[0])

    before = await generated()
    await client.post("/v1/chat/completions", json={"messages": QUESTION})
    assert await generated() == before + 47


async def test_histograms_have_the_real_buckets_and_count_what_passed(client: httpx.AsyncClient) -> None:
    def buckets(text: str, name: str) -> dict[str, float]:
        found = re.findall(rf"^sglang:{name}_bucket\{{(.*)\}} (.*)$", text, flags=re.MULTILINE)
        return {
            re.findall(r'le="([^"]*)"', labels)[0]: float(count)
            for labels, count in found
            if 'is_streaming="true"' not in labels
        }

    reply = await client.post("/v1/chat/completions", json={"messages": QUESTION})
    assert reply.json()["usage"]["completion_tokens"] == 47
    text = (await client.get("/metrics")).text
    theirs = (REPLIES / "sglang0523-qwen3.metrics.txt").read_text(encoding="utf-8")
    for name in ("time_to_first_token_seconds", "inter_token_latency_seconds", "e2e_request_latency_seconds"):
        ours = buckets(text, name)
        assert list(ours) == list(buckets(theirs, name))
        assert list(ours.values()) == sorted(ours.values())
        assert ours["+Inf"] >= (46 if name.startswith("inter") else 1)


async def test_running_requests_show_in_the_loads_and_a_client_that_leaves_is_forgotten(
    client: httpx.AsyncClient,
) -> None:
    async def until_running(count: int) -> None:
        while True:
            if (await client.get("/v1/loads")).json()["loads"][0]["num_running_reqs"] == count:
                return
            await asyncio.sleep(0.01)

    body = {"messages": QUESTION, "stream": True, "ignore_eos": True}
    async with client.stream("POST", "/v1/chat/completions", json=body) as reply:
        lines = reply.aiter_lines()  # held: an iterator that is let go of closes the answer
        await anext(lines)
        await until_running(1)
    await until_running(0)


async def test_without_enable_metrics_there_are_none(tmp_path: Path, qwen: Path) -> None:
    async with engine(tmp_path, qwen, "--tp-size", "2", "--api-key", "sk-demo") as running, running.client() as client:
        await running.until(READY)
        assert (await client.get("/metrics")).status_code == 404
        refused = await client.get("/v1/models")
        assert (refused.status_code, refused.json()) == (401, {"error": "Unauthorized"})
        allowed = await client.get("/v1/models", headers={"Authorization": "Bearer sk-demo"})
        assert allowed.status_code == 200
        assert (await client.get("/server_info", headers={"Authorization": "Bearer sk-demo"})).json()["api_key"] == (
            "<redacted>"
        )


async def test_health_is_503_until_the_warm_up_is_through(tmp_path: Path, qwen: Path) -> None:
    env = {"K2_DEMO_FAULT": "stall:warmup"}
    async with engine(tmp_path, qwen, env=env) as running, running.client() as client:
        await running.until(b"GET /model_info")
        assert (await client.get("/health")).status_code == 503
        assert b'"GET /health HTTP/1.1" 503 Service Unavailable' in running.log

"""A text comes apart as under the real parsers: each case was given to those of SGLang 0.5.23."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from k2tui.demo.engine.parsers import parsed, separated
from tests.demo.engines import READY, RunningEngine, engine
from tests.demo.shapes import REPLIES

CASES = json.loads((REPLIES / "sglang0523.parsers.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory, qwen: Path) -> AsyncIterator[RunningEngine]:
    async with engine(tmp_path_factory.mktemp("parsers"), qwen) as running:
        await running.until(READY)
        yield running


@pytest.fixture
async def client(server: RunningEngine) -> AsyncIterator[httpx.AsyncClient]:
    async with server.client() as opened:
        yield opened


@pytest.mark.parametrize(
    "case", CASES["separate_reasoning"], ids=lambda case: f"{case['reasoning_parser']} {case['text']}"
)
def test_reasoning_is_set_apart_as_by_the_real_one(case: dict[str, Any]) -> None:
    assert separated(case["text"], case["reasoning_parser"]) == case["reply"]


@pytest.mark.parametrize(
    "case", CASES["parse_function_call"], ids=lambda case: f"{case['tool_call_parser']} {case['text']}"
)
def test_calls_are_found_as_by_the_real_one(case: dict[str, Any]) -> None:
    assert parsed(case["text"], case["tools"], case["tool_call_parser"]) == case["reply"]


@pytest.mark.parametrize("route", ["separate_reasoning", "parse_function_call"])
async def test_the_server_answers_so(client: httpx.AsyncClient, route: str) -> None:
    case = CASES[route][1]
    reply = await client.post(f"/{route}", json={name: value for name, value in case.items() if name != "reply"})
    assert (reply.status_code, reply.json()) == (200, case["reply"])


@pytest.mark.parametrize("route", ["separate_reasoning", "parse_function_call"])
async def test_a_family_that_the_demo_does_not_play_is_not_there(client: httpx.AsyncClient, route: str) -> None:
    body = {"text": "x", "reasoning_parser": "gpt-oss", "tool_call_parser": "llama3"}
    assert (await client.post(f"/{route}", json=body)).status_code == 404

"""A proof is a real answer of the server that was started; anything else says what came instead."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from k2tui.adapters.http_client import HttpClient
from k2tui.core.views import Proof
from k2tui.services.prove import prove

REPLIES = Path(__file__).parent.parent / "logs" / "replies"
MODEL = "models/tiny-qwen3-64shards"
ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", MODEL, "--reasoning-parser", "qwen3")
KIMI = (*ARGV, "--served-model-name", "tiny")
ALL = frozenset({"reasoning", "tools"})

Answer = httpx.Response | Callable[[httpx.Request], httpx.Response]


def recorded(name: str, status: int = 200) -> httpx.Response:
    """What a real server said."""
    return httpx.Response(status, content=(REPLIES / name).read_bytes())


def changed(name: str, **message: Any) -> httpx.Response:
    """A real reply with its message changed."""
    reply = json.loads((REPLIES / name).read_text("utf-8"))
    reply["choices"][0]["finish_reason"] = message.pop("finish", reply["choices"][0]["finish_reason"])
    reply["choices"][0]["message"].update(message)
    return httpx.Response(200, json=reply)


class Server:
    """Answers by path; a completion with tools in it counts as the path `tools`."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = dict(answers)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        path = request.url.path
        if path == "/v1/chat/completions" and "tools" in json.loads(request.content):
            path = "tools"
        answer = self.answers.get(path, httpx.Response(404, json={"detail": "Not Found"}))
        return answer if isinstance(answer, httpx.Response) else answer(request)

    async def prove(self, argv: tuple[str, ...] = ARGV, checks: frozenset[str] = frozenset(), **more: Any) -> Proof:
        transport = httpx.MockTransport(self)
        async with HttpClient(transport=transport, base_url="http://127.0.0.1:30000", timeout=20.0) as client:
            return await prove(client, argv=argv, checks=checks, **{"max_s": 20.0, **more})


def sglang(**answers: Answer) -> Server:
    """The replies of a real SGLang with a reasoning and a tool-call parser."""
    given = {
        "/v1/models": recorded("sglang0523-qwen3.models.json"),
        "/v1/chat/completions": recorded("sglang0523-qwen3.chat.json"),
        "tools": recorded("sglang0523-qwen3.chat-tools.json"),
    }
    return Server(
        {**given, **{{"chat": "/v1/chat/completions", "models": "/v1/models"}.get(k, k): v for k, v in answers.items()}}
    )


def verdict(proof: Proof, check: str) -> bool | None:
    return {name: ok for name, ok, _ in proof.checks}[check]


async def test_a_real_answer_proves_the_server_and_its_flags() -> None:
    proof = await sglang().prove(checks=ALL)
    assert (proof.ok, proof.tokens) == (True, 47)
    assert [(name, ok) for name, ok, _ in proof.checks] == [("completion", True), ("reasoning", True), ("tools", True)]
    assert proof.text.startswith("47 tokens in ")
    assert proof.text.endswith("reasoning apart from content; a tool call parses")


async def test_only_what_was_asked_for_is_asked() -> None:
    server = sglang()
    proof = await server.prove()
    assert (proof.ok, [name for name, _, _ in proof.checks]) == (True, ["completion"])
    body = json.loads(server.asked[-1].content)
    assert (body["model"], body["temperature"], body["stream"]) == (MODEL, 0, False)
    assert body["max_tokens"] <= 64


async def test_vllm_calls_the_reasoning_by_another_name() -> None:
    server = Server(
        {
            "/v1/models": recorded("vllm032-qwen3.models.json"),
            "/v1/chat/completions": recorded("vllm032-qwen3.chat.json"),
            "tools": recorded("vllm032-qwen3.chat-tools.json"),
        }
    )
    proof = await server.prove(("vllm", "serve", MODEL, "--reasoning-parser", "qwen3"), ALL)
    assert (proof.ok, verdict(proof, "reasoning"), verdict(proof, "tools")) == (True, True, True)


async def test_thinking_in_the_content_is_the_lost_reasoning() -> None:
    chat = changed("sglang0523-qwen3.chat.json", content="<think> 17 times 3</think>\n\n51", reasoning_content=None)
    proof = await sglang(chat=chat).prove(checks=frozenset({"reasoning"}))
    assert (proof.ok, verdict(proof, "completion"), verdict(proof, "reasoning")) == (False, True, False)
    assert "thinking stands in content" in proof.text


async def test_a_closing_mark_alone_gives_it_away_as_well() -> None:
    chat = changed("sglang0523-qwen3.chat.json", content="17 times 3</think>\n\n51", reasoning_content=None)
    assert verdict(await sglang(chat=chat).prove(checks=ALL), "reasoning") is False


async def test_a_thought_that_was_cut_is_apart_all_the_same_and_that_is_said() -> None:
    proof = await sglang(chat=recorded("sglang0523-qwen3.err-badmodel.json")).prove(checks=frozenset({"reasoning"}))
    assert (proof.ok, verdict(proof, "reasoning")) == (True, True)
    assert "cut at 4 tokens before the answer began" in proof.text


async def test_a_content_that_fills_up_without_a_thought_apart_fails() -> None:
    chat = changed("sglang0523-qwen3.chat.json", content="Let me think", reasoning_content=None, finish="length")
    assert verdict(await sglang(chat=chat).prove(checks=ALL), "reasoning") is False


async def test_a_model_that_did_not_think_proves_nothing_about_reasoning() -> None:
    proof = await sglang(chat=recorded("sglang0523-qwen3.chat-nothink.json")).prove(checks=frozenset({"reasoning"}))
    assert (proof.ok, verdict(proof, "reasoning")) == (True, None)
    assert "could not tell about reasoning" in proof.text


async def test_a_tool_call_that_went_into_the_reasoning_is_found_there() -> None:
    server = Server(
        {
            "/v1/models": recorded("sglang0523-tp2-kimi.models.json"),
            "/v1/chat/completions": recorded("sglang0523-tp2-kimi.chat.json"),
            "tools": recorded("sglang0523-tp2-kimi.chat-tools.json"),
        }
    )
    proof = await server.prove(KIMI, ALL)
    assert (proof.ok, verdict(proof, "tools")) == (False, False)
    assert "unparsed in reasoning_content (<tool_call>)" in proof.text


@pytest.mark.parametrize(
    ("message", "ok"),
    [
        ({"tool_calls": None, "content": "It is sunny."}, None),
        ({"tool_calls": [], "content": "thinking", "finish": "length"}, None),
        ({"tool_calls": None, "content": "<|tool_calls_section_begin|>..."}, False),
        ({"tool_calls": [{"function": {"name": "get_weather", "arguments": '{"city": '}}]}, False),
        ({"tool_calls": [{"function": {"name": "other", "arguments": "{}"}}]}, False),
        ({"tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]}, True),
        ({"tool_calls": ["nonsense"]}, False),
    ],
)
async def test_a_tool_call_passes_fails_or_can_not_be_told(message: dict[str, Any], ok: bool | None) -> None:
    proof = await sglang(tools=changed("sglang0523-qwen3.chat-tools.json", **message)).prove(checks=ALL)
    assert verdict(proof, "tools") is ok
    assert proof.ok is (ok is not False)


async def test_a_tool_request_without_an_answer_can_not_be_told() -> None:
    proof = await sglang(tools=httpx.Response(503)).prove(checks=ALL)
    assert (proof.ok, verdict(proof, "tools")) == (True, None)


async def test_an_empty_answer_is_no_proof() -> None:
    chat = changed("sglang0523-qwen3.chat.json", content="", reasoning_content=None)
    proof = await sglang(chat=chat).prove(checks=ALL)
    assert (proof.ok, proof.text) == (False, "the completion came back empty")


async def test_an_answer_of_another_model_is_no_proof() -> None:
    server = sglang(models=recorded("sglang0523-tp2-kimi.models.json"))
    proof = await server.prove()
    assert proof.ok is False
    assert proof.text == f"another server answers on this port: it serves tiny, not {MODEL}"
    assert not [request for request in server.asked if request.method == "POST"]


async def test_a_served_name_is_believed_when_the_server_says_that_it_loaded_the_path() -> None:
    server = sglang(models=recorded("sglang0523-tp2-kimi.models.json"))
    server.answers["/server_info"] = recorded("sglang0523-tp2-kimi.server_info.json")
    server.answers["/v1/chat/completions"] = recorded("sglang0523-tp2-kimi.chat.json")
    assert (await server.prove()).ok


async def test_a_slash_at_the_end_of_the_path_is_no_difference() -> None:
    assert (await sglang().prove(("x", "--model-path", f"{MODEL}/"))).ok


async def test_of_a_log_that_is_only_watched_the_first_model_is_asked() -> None:
    assert (await sglang().prove(())).ok


@pytest.mark.parametrize(
    ("status", "words"),
    [(503, "still starting"), (404, "no such server"), (500, "HTTP 500"), (401, "API key"), (403, "API key")],
)
async def test_a_refusal_says_what_it_means(status: int, words: str) -> None:
    proof = await sglang(models=httpx.Response(status, json={"error": "no"})).prove()
    assert (proof.ok, proof.checks[0][:2]) == (False, ("completion", False))
    assert words in proof.text


async def test_a_refusal_carries_the_servers_own_words_on_one_line() -> None:
    proof = await sglang(chat=recorded("sglang0523-qwen3.err-badfield.json", 400)).prove()
    assert "validation errors" in proof.text
    assert proof.text.isprintable()
    assert len(proof.text) < 300
    said = await sglang(chat=recorded("vllm032-qwen3.err-badmodel.json", 404)).prove()
    assert "The model `nope` does not exist" in said.text


async def test_a_closed_port_is_said_so() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[Errno 111] Connection refused", request=request)

    proof = await sglang(models=refuse).prove()
    assert (proof.ok, proof.text) == (False, "nothing listens on the port: connection refused")


async def test_a_server_that_breaks_off_is_said_so() -> None:
    def break_off(request: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)

    assert "Server disconnected" in (await sglang(chat=break_off).prove()).text


async def test_silence_ends_with_the_time_that_was_given() -> None:
    async def silent(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with HttpClient(transport=httpx.MockTransport(silent), base_url="http://n") as client:
        proof = await prove(client, argv=ARGV, checks=ALL, max_s=0.05)
    assert (proof.ok, proof.text) == (False, "no answer to /v1/models within 0.05 s")


async def test_a_timeout_of_the_client_reads_the_same() -> None:
    def slow(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("", request=request)

    assert (await sglang(chat=slow).prove()).text == "no answer to /v1/chat/completions within 20 s"


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"choices": []}', b'{"choices": [null]}', b"<html>"])
async def test_no_reply_is_too_odd(body: bytes) -> None:
    for path in ("models", "chat", "tools"):
        proof = await sglang(**{path: httpx.Response(200, content=body)}).prove(checks=ALL)
        assert proof.ok is (path == "tools")


async def test_the_api_key_is_sent_and_never_shown() -> None:
    key = "sk-0123456789abcdefghijklmn"
    server = sglang(chat=httpx.Response(500, json={"error": f"bad key {key}"}))
    proof = await server.prove((*ARGV, "--api-key", key))
    assert {request.headers["authorization"] for request in server.asked} == {f"Bearer {key}"}
    assert key not in repr(proof)


async def test_a_masked_key_is_not_sent_but_the_one_that_is_given_is() -> None:
    server = sglang()
    await server.prove((*ARGV, "--api-key", "***"))
    assert "authorization" not in server.asked[0].headers
    await server.prove((*ARGV, "--api-key", "***"), api_key="sk-other")
    assert server.asked[-1].headers["authorization"] == "Bearer sk-other"


async def test_a_base_model_without_a_chat_template_completes_text() -> None:
    refusal = httpx.Response(400, json={"message": "Cannot use chat template functions: no chat template is set"})
    text = httpx.Response(200, json={"choices": [{"text": " 51."}], "usage": {"completion_tokens": 3}})
    server = sglang(chat=refusal)
    server.answers["/v1/completions"] = text
    proof = await server.prove()
    assert (proof.ok, proof.tokens) == (True, 3)

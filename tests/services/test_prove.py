"""A proof is a real answer of the server that was launched; anything else says what came instead."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import httpx
import pytest

from k2tui.adapters.http_client import HttpClient
from k2tui.core.effects import Wanted, verdict_of
from k2tui.core.verdicts import Outcome
from k2tui.services.proofs.prove import prove
from tests.services.proof_stage import (
    BASE,
    BOTH,
    MODEL,
    REASON,
    Answer,
    FakeNode,
    Server,
    changed,
    effect,
    outcome,
    recorded,
    said,
    sglang,
)


async def test_a_real_answer_proves_the_server() -> None:
    server = sglang()
    proof = await server.prove(want=Wanted())
    assert (proof.ok, proof.tokens, [one.check for one in proof.effects]) == (True, 17, ["completion"])
    assert proof.text.startswith("17 tokens in ")
    (body,) = server.generated
    assert (body["model"], body["temperature"], body["stream"], body["max_tokens"]) == (MODEL, 0, False, 32)
    assert not proof.text.endswith("for all of it)")


async def test_what_it_cost_is_said_and_is_a_few_hundred_tokens_at_most() -> None:
    server = sglang()
    proof = await server.prove(BOTH)
    assert proof.ok
    assert proof.tokens == 17 + 47 + 30 + 6  # plain, whole, as much of the stream as decided it, the call
    assert "(100 tokens and " in proof.text
    assert sum(body["max_tokens"] for body in server.generated) <= 500


async def test_the_answers_are_asked_for_at_once() -> None:
    """Each waits until all have come: asked one after the other they would never end."""
    everyone, came = asyncio.Event(), list[str]()

    def waits(name: str) -> Answer:
        async def answer(request: httpx.Request) -> httpx.Response:
            came.append(name)
            if len(came) == 4:
                everyone.set()
            await everyone.wait()
            return recorded(name)

        return answer

    server = sglang(
        plain=waits("sglang0523-qwen3.chat-nothink.json"),
        whole=waits("sglang0523-qwen3.chat.json"),
        stream=waits("sglang0523-qwen3.chat-stream.sse"),
        tools=waits("sglang0523-qwen3.chat-tools.json"),
    )
    assert (await server.prove(BOTH)).ok


async def test_the_answer_of_a_model_with_random_weights_is_an_answer_and_no_verdict() -> None:
    """Of a real SGLang on a model that was never trained."""
    proof = await sglang(plain=recorded("sglang0523-random.chat-nothink.json")).prove(want=Wanted())
    assert (proof.ok, outcome(proof, "completion")) == (True, Outcome.CANNOT)
    assert "they look like random tokens" in proof.text
    assert verdict_of(proof, at=1.0).verified is False


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "came back empty"),
        ("!!!!!!!!!!!!!!!!", "repeats one character (!)"),
        ("the the the the the the", "repeats 'the' over and over"),
        ("\ufffd\ufffd ab \ufffd\ufffd cd \ufffd x", "full of characters that are none"),
    ],
)
async def test_garbage_is_no_answer(content: str, words: str) -> None:
    proof = await sglang(plain=changed("sglang0523-qwen3.chat-nothink.json", content=content)).prove(want=Wanted())
    assert (proof.ok, outcome(proof, "completion")) == (False, Outcome.NOT_PROVED)
    assert words in proof.text


async def test_who_listens_there_is_the_run_itself() -> None:
    proof = await sglang().prove(node=FakeNode("ours"), want=Wanted())
    assert [(one.check, one.outcome) for one in proof.effects] == [
        ("identity", Outcome.PROVED),
        ("completion", Outcome.PROVED),
    ]
    assert proof.text.startswith("17 tokens in ")


@pytest.mark.parametrize(
    ("word", "says"), [("foreign", "is answered by another process, pid 4711"), ("none", "nothing listens")]
)
async def test_a_foreign_answer_is_never_ready_and_not_asked_for_tokens(word: str, says: str) -> None:
    server = sglang()
    proof = await server.prove(BOTH, node=FakeNode(word))
    assert (proof.ok, outcome(proof, "identity")) == (False, Outcome.NOT_PROVED)
    assert says in proof.text
    assert server.generated == []
    assert verdict_of(proof, at=1.0).verified is False


async def test_a_listener_that_can_not_be_told_leaves_it_to_the_model() -> None:
    proof = await sglang().prove(node=FakeNode("unknown"), want=Wanted())
    assert (proof.ok, outcome(proof, "identity")) == (True, Outcome.CANNOT)
    server = sglang(models=recorded("sglang0523-tp2-kimi.models.json"), info=httpx.Response(404))
    other = await server.prove(node=FakeNode("unknown"), want=Wanted())
    assert (other.ok, outcome(other, "identity")) == (False, Outcome.NOT_PROVED)


async def test_an_answer_of_another_model_is_no_proof() -> None:
    server = sglang(models=recorded("sglang0523-tp2-kimi.models.json"), info=httpx.Response(404))
    proof = await server.prove(want=Wanted())
    assert proof.text == f"another server answers on this port: it serves tiny, not {MODEL}"
    assert (proof.ok, server.generated) == (False, [])


async def test_a_served_name_is_believed_when_the_server_says_that_it_loaded_the_path() -> None:
    info = recorded("sglang0523-tp2-kimi.server_info.json")
    server = sglang(models=recorded("sglang0523-tp2-kimi.models.json"), info=info)
    assert (await server.prove(want=Wanted())).ok


async def test_a_slash_at_the_end_of_the_path_is_no_difference() -> None:
    assert (await sglang().prove(("x", "--model-path", f"{MODEL}/"), Wanted())).ok


async def test_of_a_log_that_is_only_watched_the_first_model_is_asked() -> None:
    assert (await sglang().prove((), Wanted())).ok


@pytest.mark.parametrize(
    ("status", "words"),
    [(503, "still starting"), (404, "no such server"), (500, "HTTP 500")],
)
async def test_a_refusal_says_what_it_means(status: int, words: str) -> None:
    proof = await sglang(models=httpx.Response(status, json={"error": "no"})).prove()
    assert (proof.ok, outcome(proof, "completion")) == (False, Outcome.NOT_PROVED)
    assert words in proof.text


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_k2tui_was_not_given_proves_nothing_of_the_server(status: int) -> None:
    proof = await sglang(models=httpx.Response(status, json={"error": "no"})).prove()
    assert (proof.ok, outcome(proof, "completion")) == (False, Outcome.CANNOT)
    assert "API key that k2tui was not given" in proof.text


async def test_a_refusal_carries_the_servers_own_words_on_one_line() -> None:
    proof = await sglang(plain=recorded("sglang0523-qwen3.err-badfield.json", 422)).prove(want=Wanted())
    assert "validation errors" in proof.text
    assert proof.text.isprintable()
    assert len(proof.text) < 300
    told = await sglang(plain=recorded("vllm032-qwen3.err-badmodel.json", 404)).prove(want=Wanted())
    assert "The model `nope` does not exist" in told.text


async def test_a_closed_port_is_said_so() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("[Errno 111] Connection refused", request=request)

    proof = await sglang(models=refuse).prove()
    assert (proof.ok, proof.text) == (False, "nothing listens on the port: connection refused")


async def test_a_server_that_breaks_off_is_said_so() -> None:
    def break_off(request: httpx.Request) -> httpx.Response:
        raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)

    assert "Server disconnected" in (await sglang(plain=break_off).prove(want=Wanted())).text


async def test_silence_ends_with_the_time_that_was_given() -> None:
    async def silent(request: httpx.Request) -> httpx.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with HttpClient(transport=httpx.MockTransport(silent), base_url="http://n") as client:
        proof = await prove(client, argv=REASON, wanted=Wanted(), max_s=0.05, port=30000)
    assert (proof.ok, proof.text) == (False, "no answer to /v1/models within 0.05 s")


async def never(request: httpx.Request) -> httpx.Response:
    await asyncio.Event().wait()
    raise AssertionError


def loads(*waiting: int) -> httpx.Response:
    rows = [{"dp_rank": at, "num_running_reqs": 8, "num_waiting_reqs": many} for at, many in enumerate(waiting)]
    return said(loads=rows)


async def test_a_slow_answer_of_a_busy_server_waited_in_its_queue() -> None:
    proof = await sglang(plain=never, loads=loads(2, 1)).prove(want=Wanted(), max_s=0.5)
    assert (proof.ok, outcome(proof, "completion")) == (False, Outcome.CANNOT)
    assert proof.text == "waited in the queue for 0 s, with 18 other requests"


async def test_a_slow_answer_of_a_server_without_a_queue_is_none() -> None:
    proof = await sglang(plain=never, loads=loads(0)).prove(want=Wanted(), max_s=0.5)
    assert (proof.ok, outcome(proof, "completion")) == (False, Outcome.NOT_PROVED)
    assert proof.text == "no answer to /v1/chat/completions within 0.5 s"


async def test_our_own_requests_are_no_queue() -> None:
    """A hung server holds what the proof itself asked, and nothing else."""
    row = {"dp_rank": 0, "num_running_reqs": 0, "num_waiting_reqs": 4}
    server = sglang(plain=never, whole=never, stream=never, tools=never, loads=said(loads=[row]))
    proof = await server.prove(BOTH, max_s=0.5)
    assert outcome(proof, "completion") is Outcome.NOT_PROVED
    assert proof.text == "no answer to /v1/chat/completions within 0.5 s"


async def test_the_queue_of_vllm_stands_in_its_metrics() -> None:
    metrics = httpx.Response(
        200, content=b'vllm:num_requests_running{engine="0"} 9.0\nvllm:num_requests_waiting{engine="0"} 4.0\n'
    )
    server = Server({"/v1/models": recorded("vllm032-qwen3.models.json"), "plain": never, "/metrics": metrics})
    proof = await server.prove(("vllm", "serve", MODEL), Wanted(), max_s=0.5, engine="vllm")
    assert outcome(proof, "completion") is Outcome.CANNOT
    assert proof.text.endswith("with 12 other requests")


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"\xff", b'{"choices": []}', b'{"choices": [null]}', b"<html>", b"[" * 99999]
)
async def test_no_reply_is_too_odd(body: bytes) -> None:
    odd = httpx.Response(200, content=body)
    for name in ("models", "info", "metrics", "loads", "separate", "parse", "plain", "whole", "stream", "tools"):
        proof = await sglang(**{name: odd}).prove((*BOTH, "--enable-metrics", "--speculative-algorithm", "EAGLE"))
        assert proof.ok is (name not in ("models", "metrics")) or any(
            one.outcome is Outcome.NOT_PROVED for one in proof.effects
        )


async def test_the_api_key_is_sent_and_never_shown() -> None:
    key = "sk-0123456789abcdefghijklmn"
    server = sglang(plain=httpx.Response(500, json={"error": f"bad key {key}"}))
    proof = await server.prove((*BASE, "--api-key", key), Wanted())
    assert {request.headers["authorization"] for request in server.asked} == {f"Bearer {key}"}
    assert key not in repr(proof)


async def test_a_masked_key_is_not_sent_but_the_one_that_is_given_is() -> None:
    server = sglang()
    await server.prove((*BASE, "--api-key", "***"), Wanted())
    assert "authorization" not in server.asked[0].headers
    await server.prove((*BASE, "--api-key", "***"), Wanted(), api_key="sk-other")
    assert server.asked[-1].headers["authorization"] == "Bearer sk-other"


def guarded(answers: Sequence[int]) -> Answer:
    """/v1/models that wants a key: (without, with)."""

    def answer(request: httpx.Request) -> httpx.Response:
        found = answers[1 if "authorization" in request.headers else 0]
        return recorded("sglang0523-qwen3.models.json") if found == 200 else said(found, error="Unauthorized")

    return answer


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [((401, 200), Outcome.PROVED), ((200, 200), Outcome.NOT_PROVED), ((500, 200), Outcome.CANNOT)],
)
async def test_a_key_is_proved_by_what_is_refused_without_it(statuses: tuple[int, int], expected: Outcome) -> None:
    proof = await sglang(models=guarded(statuses)).prove((*BASE, "--api-key", "sk-secret-secret"))
    assert outcome(proof, "key") is expected


async def test_a_base_model_without_a_chat_template_completes_text() -> None:
    refusal = httpx.Response(400, json={"message": "Cannot use chat template functions: no chat template is set"})
    text = said(choices=[{"text": " 51."}], usage={"completion_tokens": 3})
    server = sglang(plain=refusal, completions=text)
    proof = await server.prove(want=Wanted())
    assert (proof.ok, proof.tokens, outcome(proof, "completion")) == (True, 3, Outcome.PROVED)


async def test_a_template_that_takes_no_arguments_is_asked_without() -> None:
    server = sglang(plain=said(400, message="chat_template_kwargs is not supported for this tokenizer"))
    assert (await server.prove(want=Wanted())).ok
    assert [("chat_template_kwargs" in body) for body in server.generated] == [True, False]


async def test_effects_come_in_the_order_in_which_they_were_asked_for() -> None:
    argv = (*BOTH, "--served-model-name", "tiny", "--context-length", "4096", "--enable-metrics")
    proof = await sglang(models=recorded("sglang0523-tp2-kimi.models.json")).prove(argv, node=FakeNode("ours"))
    checks = [one.check for one in proof.effects]
    assert checks == ["identity", "completion", "model", "name", "reasoning", "tools", "context", "metrics", "value"]
    assert effect(proof, "name").setting == "--served-model-name"

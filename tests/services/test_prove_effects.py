"""Each effect that flags and variables ask for: what shows it, what shows that it is missing, and what can't tell."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from k2tui.core.effects import Wanted, wanted
from k2tui.core.effects.on_node import RankProcess
from k2tui.core.verdicts import Outcome
from tests.services.proof_stage import (
    BASE,
    BOTH,
    MODEL,
    REASON,
    Answer,
    FakeLog,
    FakeNode,
    Server,
    changed,
    effect,
    outcome,
    parses,
    recorded,
    said,
    sglang,
    streamed,
)

PROVED, NOT_PROVED, CANNOT = Outcome.PROVED, Outcome.NOT_PROVED, Outcome.CANNOT
VLLM = ("vllm", "serve", MODEL)


def plain(**message: Any) -> httpx.Response:
    return changed("sglang0523-qwen3.chat-nothink.json", **message)


def whole(**message: Any) -> httpx.Response:
    return changed("sglang0523-qwen3.chat.json", **message)


async def test_reasoning_is_apart_in_one_piece_in_the_stream_and_absent_with_thinking_off() -> None:
    server = sglang()
    proof = await server.prove(REASON)
    assert effect(proof, "reasoning").text == (
        "reasoning apart from content in one piece and in the stream; none left in content with thinking off"
    )
    assert effect(proof, "reasoning").setting == "--reasoning-parser"
    off = next(body for body in server.generated if "chat_template_kwargs" in body)
    assert off["chat_template_kwargs"] == {"thinking": False, "enable_thinking": False}


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        # the lost reasoning: no parser at work
        ({"whole": whole(content="<think> 17</think>\n\n51", reasoning_content=None)}, "in one piece (<think>)"),
        ({"whole": whole(content="17 times 3</think>\n\n51", reasoning_content=None)}, "(</think>)"),
        ({"whole": whole(content="Let me", reasoning_content=None, finish="length")}, "none into reasoning_content"),
        ({"stream": streamed({"content": "<thi"}, {"content": "nk> 17 times"})}, "in the stream (<think>)"),
        ({"stream": streamed({"reasoning_content": "17"}, {"content": "51</think>"})}, "in the stream (</think>)"),
        ({"plain": plain(content="The answer is 51.</think>")}, "with thinking off a mark is left"),
        # kimi_k2 of SGLang 0.5.6 to 0.5.8: the answer lands in the reasoning
        ({"plain": plain(content="", reasoning_content="The answer is 51.")}, "whole answer stands in reasoning"),
    ],
)
async def test_reasoning_that_is_not_apart_is_said_where(answers: dict[str, Answer], says: str) -> None:
    proof = await sglang(**answers).prove(REASON)
    assert (proof.ok, outcome(proof, "completion"), outcome(proof, "reasoning")) == (False, PROVED, NOT_PROVED)
    assert says in proof.text


THINKS = streamed({"content": "<think>"}, {"content": " 17 times 3"})


async def test_a_server_without_a_reasoning_parser_is_told_what_it_lacks() -> None:
    """It was not asked for, so that nothing failed."""
    proof = await sglang(stream=THINKS).prove(BASE)
    assert (proof.ok, outcome(proof, "lacking")) == (True, CANNOT)
    assert "thinking stands in content (<think>): it was started without --reasoning-parser" in proof.text
    assert "lacking" not in [one.check for one in (await sglang().prove(BASE)).effects]


async def test_whether_it_lacks_one_is_not_asked_where_no_more_than_an_answer_is_wanted() -> None:
    server = sglang(stream=THINKS)
    await server.prove(BASE, Wanted())
    assert len(server.generated) == 1


async def test_a_thought_that_was_cut_is_apart_all_the_same_and_that_is_said() -> None:
    cut = recorded("sglang0523-qwen3.err-badmodel.json")
    proof = await sglang(whole=cut).prove(REASON)
    assert outcome(proof, "reasoning") is PROVED
    assert "in one piece, cut at 4 tokens before the answer began" in effect(proof, "reasoning").text


async def test_a_model_that_did_not_think_proves_nothing_about_reasoning() -> None:
    silent = recorded("sglang0523-qwen3.chat-nothink.json")
    proof = await sglang(whole=silent, stream=streamed({"content": "The answer is 51."})).prove(REASON)
    assert (proof.ok, outcome(proof, "reasoning")) == (True, CANNOT)
    assert "could not tell about reasoning: the model did not think in one piece" in effect(proof, "reasoning").text


async def test_a_parser_that_fails_on_a_given_text_is_not_asked_to_generate() -> None:
    server = sglang(separate=said(reasoning_text="", text="<think>17 times 3 is 51.</think>\n\nThe answer is 51."))
    proof = await server.prove(REASON)
    assert effect(proof, "reasoning").text == "the parser finds no reasoning in a text of its own family"
    assert (proof.ok, len(server.generated)) == (False, 1)


@pytest.mark.parametrize("refusal", [httpx.Response(404), httpx.Response(500, content=b"Internal Server Error")])
async def test_a_server_without_these_routes_is_asked_to_generate(refusal: httpx.Response) -> None:
    """vLLM has none; SGLang answers 500 for parsers that need their own model's tokenizer."""
    proof = await sglang(separate=refusal, parse=refusal).prove(BOTH)
    assert (outcome(proof, "reasoning"), effect(proof, "tools").text) == (PROVED, "a tool call parses")


async def test_a_stream_is_left_as_soon_as_it_has_decided() -> None:
    deltas = [{"reasoning_content": "17 times 3"}, {"content": "The answer is 51."}, *[{"content": " more"}] * 50]
    proof = await sglang(stream=streamed(*deltas)).prove(REASON)
    assert proof.tokens == 17 + 47 + 2


async def test_a_stream_that_breaks_off_is_said_and_is_no_failure_of_the_parser() -> None:
    def broken(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadError("cut", request=request)

    proof = await sglang(stream=broken).prove(REASON)
    assert outcome(proof, "reasoning") is PROVED
    assert "in the stream: /v1/chat/completions broke off: cut" in effect(proof, "reasoning").text


async def test_an_answer_that_is_refused_with_thinking_off_is_said_beside_what_came() -> None:
    proof = await sglang(plain=said(500, error="no such switch")).prove(REASON)
    assert (proof.ok, outcome(proof, "completion"), outcome(proof, "reasoning")) == (True, PROVED, PROVED)
    assert "with thinking off: HTTP 500 from /v1/chat/completions: no such switch" in effect(proof, "reasoning").text


async def test_a_tool_call_parses_with_an_option_twice_and_after_reasoning() -> None:
    proof = await sglang().prove(BOTH)
    assert effect(proof, "tools").text == (
        "a tool call parses; in given texts an optional parameter, two calls at once, a call after reasoning"
    )


@pytest.mark.parametrize(
    ("message", "expected", "says"),
    [
        ({"tool_calls": None, "content": "It is sunny."}, CANNOT, "the model answered without a call"),
        ({"tool_calls": [], "content": "thinking", "finish": "length"}, CANNOT, "cut at 6 tokens"),
        ({"tool_calls": None, "content": "<|tool_calls_section_begin|>..."}, NOT_PROVED, "unparsed in content"),
        (
            {"tool_calls": [{"function": {"name": "get_weather", "arguments": '{"city": '}}]},
            NOT_PROVED,
            "does not parse",
        ),
        ({"tool_calls": [{"function": {"name": "other", "arguments": "{}"}}]}, NOT_PROVED, "does not parse: other"),
        ({"tool_calls": [{"function": {"name": "get_weather", "arguments": {"city": "Paris"}}}]}, PROVED, "parses"),
        ({"tool_calls": ["nonsense"]}, NOT_PROVED, "does not parse"),
    ],
)
async def test_a_tool_call_passes_fails_or_can_not_be_told(
    message: dict[str, Any], expected: Outcome, says: str
) -> None:
    proof = await sglang(tools=changed("sglang0523-qwen3.chat-tools.json", **message)).prove(BOTH)
    assert (outcome(proof, "tools"), proof.ok) == (expected, expected is not NOT_PROVED)
    assert says in effect(proof, "tools").text


async def test_a_tool_call_that_went_into_the_reasoning_is_found_there() -> None:
    """Of a real SGLang whose reasoning parser swallowed it."""
    proof = await sglang(tools=recorded("sglang0523-tp2-kimi.chat-tools.json")).prove(BOTH)
    assert (proof.ok, outcome(proof, "tools")) == (False, NOT_PROVED)
    assert "unparsed in reasoning_content (<tool_call>)" in proof.text


async def test_a_parser_that_finds_one_of_two_calls_fails_before_anything_is_generated() -> None:
    def first_alone(request: httpx.Request) -> httpx.Response:
        found = json.loads(parses(request).content)
        return said(normal_text="", calls=found["calls"][:1])

    server = sglang(parse=first_alone)
    proof = await server.prove(BOTH)
    assert effect(proof, "tools").text == (
        "the parser finds 1 of 2 calls in a text of its own family (two calls at once)"
    )
    assert all("tools" not in body for body in server.generated)


async def test_a_reasoning_parser_that_swallows_the_call_after_it_is_found_on_given_texts() -> None:
    def swallows(request: httpx.Request) -> httpx.Response:
        text = json.loads(request.content)["text"]
        if "<tool_call>" in text:
            return said(reasoning_text=text, text="")
        thought, mark, rest = text.partition("</think>")
        return said(reasoning_text=thought.removeprefix("<think>") if mark else "", text=rest if mark else text)

    proof = await sglang(separate=swallows).prove(BOTH)
    assert effect(proof, "tools").text == "--reasoning-parser qwen3 swallows a tool call that follows a thought"


@pytest.mark.parametrize(
    ("call_id", "expected"), [("functions.get_weather:0", PROVED), ("call_38ab", NOT_PROVED), (None, NOT_PROVED)]
)
async def test_kimi_wants_its_own_ids(call_id: str | None, expected: Outcome) -> None:
    call = {"id": call_id, "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}
    server = sglang(tools=changed("sglang0523-qwen3.chat-tools.json", tool_calls=[call]), parse=httpx.Response(404))
    assert outcome(await server.prove((*BASE, "--tool-call-parser", "kimi_k2")), "tools") is expected


async def test_a_refused_request_with_tools_is_the_missing_parser() -> None:
    refusal = said(
        400, message='"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    )
    proof = await sglang(tools=refusal).prove(BOTH)
    assert outcome(proof, "tools") is NOT_PROVED
    assert outcome(await sglang(tools=httpx.Response(503)).prove(BOTH), "tools") is CANNOT


async def test_vllm_calls_the_reasoning_by_another_name_and_says_little_of_its_settings() -> None:
    server = Server(
        {
            "/v1/models": recorded("vllm032-qwen3.models.json"),
            "/metrics": recorded("vllm032-qwen3.metrics-loaded.txt"),
            "plain": recorded("vllm032-qwen3.chat.json"),
            "whole": recorded("vllm032-qwen3.chat.json"),
            "stream": streamed({"reasoning": "17 times 3"}, {"content": "The answer is 51."}),
            "tools": recorded("vllm032-qwen3.chat-tools.json"),
        }
    )
    flags = ("--reasoning-parser", "qwen3", "--tool-call-parser", "hermes", "--max-model-len", "4096")
    more = ("--gpu-memory-utilization", "0.92", "--block-size", "64", "--max-num-seqs", "8")
    proof = await server.prove((*VLLM, *flags, *more), engine="vllm")
    assert [outcome(proof, check) for check in ("reasoning", "tools", "context")] == [PROVED] * 3
    assert outcome(proof, "value", "--gpu-memory-utilization") is PROVED
    assert effect(proof, "value", "--block-size").text == "--block-size was asked to be 64 and is 128"
    assert outcome(proof, "value", "--max-num-seqs") is CANNOT
    assert "/server_info" not in {request.url.path for request in server.asked}


def decodes(word: str) -> str:
    return (
        f"[2026-11-30 04:51:47] Decode batch, #running-req: 1, #token: 47, token usage: 0.01, {word}, "
        "gen throughput (token/s): 107.37, #queue-req: 0"
    )


@pytest.mark.parametrize(
    ("argv", "word", "expected"),
    [
        ((*BASE, "--disable-cuda-graph"), "cuda graph: False", PROVED),
        ((*BASE, "--disable-cuda-graph"), "cuda graph: True", NOT_PROVED),
        ((*BASE, "--disable-cuda-graph"), "cpu graph: False", PROVED),
        ((*BASE, "--cuda-graph-backend-decode", "disabled"), "cuda graph: True", NOT_PROVED),
        ((*BASE, "--cuda-graph-max-bs-decode", "8"), "cuda graph: True", PROVED),
        ((*BASE, "--cuda-graph-max-bs-decode", "8"), "cuda graph: False", NOT_PROVED),
    ],
)
async def test_graphs_show_in_the_lines_of_batches(argv: tuple[str, ...], word: str, expected: Outcome) -> None:
    log = FakeLog([decodes("cuda graph: Maybe"), decodes("cuda graph: True")], [decodes(word)])
    server = sglang()
    proof = await server.prove(argv, log=log)
    assert outcome(proof, "graphs") is expected
    assert effect(proof, "graphs").text.endswith(word)
    steps = next(body for body in server.generated if body.get("ignore_eos"))
    assert steps["max_tokens"] == 41  # one more than this server's decode_log_interval


@pytest.mark.parametrize(("size", "expected"), [(0.0, PROVED), (2.5, NOT_PROVED), (None, CANNOT)])
async def test_without_such_a_line_the_memory_of_graphs_tells(size: float | None, expected: Outcome) -> None:
    memory = {} if size is None else {"graph": {"decode": size, "prefill": 9.0}}
    info = said(version="0.5.23", disable_cuda_graph=True, internal_states=[{"memory_usage": memory}])
    proof = await sglang(info=info).prove((*BASE, "--disable-cuda-graph"))
    assert outcome(proof, "graphs") is expected


SPECULATES = (*BASE, "--speculative-algorithm", "EAGLE")


@pytest.mark.parametrize(
    ("state", "spec", "lines", "expected", "says"),
    [
        ({"avg_spec_accept_length": 2.31}, None, [], PROVED, "EAGLE runs: accept length 2.31"),
        ({}, {"accept_length": 1.9}, [], PROVED, "accept length 1.90"),
        ({}, None, [decodes("accept len: 3.25, accept rate: 0.8")], PROVED, "accept length 3.25"),
        ({}, None, [], CANNOT, "no figure of it was told yet"),
        ({"speculative_algorithm": None}, None, [], NOT_PROVED, "EAGLE was asked for, and it runs without"),
    ],
)
async def test_speculative_decoding_shows_in_its_accept_length(
    state: dict[str, Any], spec: object, lines: list[str], expected: Outcome, says: str
) -> None:
    info = said(version="0.5.23", speculative_algorithm="EAGLE", internal_states=[state])
    row = {"dp_rank": 0, "num_running_reqs": 0, "num_waiting_reqs": 0, "speculative": spec}
    proof = await sglang(info=info, loads=said(loads=[row])).prove(SPECULATES, log=FakeLog([], lines))
    assert outcome(proof, "speculation") is expected
    assert says in effect(proof, "speculation").text


@pytest.mark.parametrize(
    ("flags", "check", "expected"),
    [
        (("--context-length", "4096"), "context", PROVED),
        (("--context-length", "8192"), "context", NOT_PROVED),
        (("--enable-metrics",), "metrics", PROVED),
        (("--served-model-name", MODEL), "name", PROVED),
        (("--model-path", MODEL), "model", PROVED),
    ],
)
async def test_what_a_route_shows(flags: tuple[str, ...], check: str, expected: Outcome) -> None:
    assert outcome(await sglang().prove((*BASE, *flags)), check) is expected


async def test_metrics_that_are_not_there_or_of_something_else() -> None:
    for reply in (httpx.Response(404), httpx.Response(200, content=b"python_gc_objects_total 5\n")):
        assert outcome(await sglang(metrics=reply).prove((*BASE, "--enable-metrics")), "metrics") is NOT_PROVED


async def test_a_flag_without_effect_in_this_version_is_said_with_the_basis() -> None:
    argv = (*BASE, "--num-continuous-decode-steps", "4")
    info = said(version="0.5.23", num_continuous_decode_steps=4, internal_states=[])
    proof = await sglang(info=info).prove(argv)
    found = effect(proof, "value", "--num-continuous-decode-steps")
    assert (found.outcome, proof.ok) == (Outcome.NO_EFFECT, True)
    assert found.text.startswith("--num-continuous-decode-steps has no effect in sglang 0.5.23: ")
    assert "1 without effect" in proof.text


def ranks(*values: str | None) -> list[RankProcess]:
    return [
        RankProcess(100 + at, f"sglang::scheduler_TP{at}", env={"NCCL_PROTO": value}) for at, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "expected", "says"),
    [
        (("LL",) * 8, PROVED, "NCCL_PROTO is LL on 8 of 8 ranks"),
        (("LL", "LL", None), NOT_PROVED, "NCCL_PROTO is LL on 2 of 3 ranks; on sglang::scheduler_TP2 it is not set"),
        (("LL", "Simple"), NOT_PROVED, "NCCL_PROTO is LL on 1 of 2 ranks; on sglang::scheduler_TP1 it is Simple"),
        ((), CANNOT, "NCCL_PROTO: no process of it was found"),
    ],
)
async def test_a_variable_is_proved_on_so_many_ranks(
    values: tuple[str | None, ...], expected: Outcome, says: str
) -> None:
    proof = await sglang().prove(want=wanted(None, ((), {"NCCL_PROTO": "LL"})), node=FakeNode("ours", ranks(*values)))
    assert (effect(proof, "environment").outcome, effect(proof, "environment").text) == (expected, says)
    assert effect(proof, "environment").setting == "NCCL_PROTO"


@pytest.mark.parametrize(("value", "expected"), [("LL", PROVED), ("L", CANNOT), ("Simple", CANNOT)])
async def test_where_no_environment_can_be_read_nccls_own_line_counts(value: str, expected: Outcome) -> None:
    log = FakeLog(["gpu-a:1:1 [0] NCCL INFO NCCL_PROTO set by environment to LL"])
    want = Wanted(("completion", "environment"), env={"NCCL_PROTO": value})
    dark = [RankProcess(1, "sglang::scheduler", is_readable=False)]
    proof = await sglang().prove(want=want, node=FakeNode("ours", dark), log=log)
    assert outcome(proof, "environment") is expected


async def test_of_a_secret_only_its_presence_is_asked() -> None:
    node = FakeNode("ours", [RankProcess(1, "sglang::scheduler", env={"HF_TOKEN": "***", "PLAIN": "***"})])
    want = wanted(None, ((), {"HF_TOKEN": "***", "PLAIN": "***", "NCCL_PROTO": "LL"}))
    proof = await sglang().prove(want=want, node=node)
    assert node.asked == ["@HF_TOKEN", "@PLAIN", "NCCL_PROTO"]
    assert [one.text for one in proof.effects if one.setting == "HF_TOKEN"] == ["HF_TOKEN is set on 1 of 1 rank"]


@pytest.mark.parametrize(("tp", "expected"), [("4", PROVED), ("8", NOT_PROVED)])
async def test_as_many_ranks_live_as_were_asked_for(tp: str, expected: Outcome) -> None:
    info = said(version="0.5.23", tp_size=int(tp), internal_states=[])
    node = FakeNode("ours", ranks("LL", "LL", "LL", "LL"))
    proof = await sglang(info=info).prove((*BASE, "--tp-size", tp), node=node)
    assert effect(proof, "ranks").text == f"4 of {tp} ranks live on this node"
    assert outcome(proof, "ranks") is expected

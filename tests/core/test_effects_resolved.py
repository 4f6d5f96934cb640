"""A flag's value against what the server says it runs with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from k2tui.core.effects.on_node import ranks_asked
from k2tui.core.effects.others import judge_context
from k2tui.core.effects.resolved import Resolved, judge_value, of_server_info, of_vllm_metrics
from k2tui.core.grammar.decode_words import accept_length, graph_word
from k2tui.core.verdicts import Outcome

REPLIES = Path(__file__).parent.parent / "logs" / "replies"
INFO = of_server_info(json.loads((REPLIES / "sglang0523-qwen3.server_info.json").read_text("utf-8")))
PROVED, NOT_PROVED, CANNOT = Outcome.PROVED, Outcome.NOT_PROVED, Outcome.CANNOT


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("mem-fraction-static", ("0.716",), PROVED),
        ("mem-fraction-static", ("0.9",), NOT_PROVED),
        ("max-total-tokens", ("8192",), PROVED),
        ("schedule-policy", ("fcfs",), PROVED),
        ("schedule-policy", ("lpm",), NOT_PROVED),
        ("enable-metrics", (), PROVED),
        ("enable-mixed-chunk", (), NOT_PROVED),
        # the front process says false, the scheduler made it true: the scheduler is who runs
        ("disable-chunked-prefix-cache", (), PROVED),
        ("json-model-override-args", ("{ }",), PROVED),
        ("attention-backend", ("auto",), PROVED),
        ("watermark-config", ("x",), CANNOT),
        ("api-key", ("***",), CANNOT),
        ("no-such-flag", ("1",), CANNOT),
        ("reasoning-parser", None, CANNOT),
        ("chat-template", None, PROVED),
        ("enable-mixed-chunk", None, PROVED),
    ],
)
def test_a_value_is_as_asked_is_another_or_is_not_told(
    name: str, values: tuple[str, ...] | None, expected: Outcome
) -> None:
    effect = judge_value(name, values, f"--{name}", INFO)
    assert (effect.outcome, effect.setting) == (expected, f"--{name}"), effect.text


def test_the_sentence_names_both_values() -> None:
    effect = judge_value("mem-fraction-static", ("0.9",), "--mem-fraction-static", INFO)
    assert effect.text == "--mem-fraction-static was asked to be 0.9 and is 0.716"


def test_figures_of_any_size_are_judged_and_a_long_value_is_cut_in_the_sentence() -> None:
    hostile = of_server_info({"mem_fraction_static": 10**400, "internal_states": []})
    assert judge_value("mem-fraction-static", ("0.9",), "--mem-fraction-static", hostile).outcome is NOT_PROVED
    long = judge_value("schedule-policy", ("x" * 5000,), "--schedule-policy", INFO)
    assert len(long.text) < 200
    asked = ("x", "--context-length", "9" * 400)
    assert judge_context(asked, {"data": [{"max_model_len": 4096}]}, hostile, None).outcome is CANNOT


@pytest.mark.parametrize(
    ("default", "expected"), [("8192", PROVED), ("None", CANNOT), (None, CANNOT), ("4096", CANNOT)]
)
def test_what_was_taken_away_is_back_at_its_default(default: str | None, expected: Outcome) -> None:
    assert judge_value("max-total-tokens", None, "--max-total-tokens", INFO, default=default).outcome is expected


def test_ranks_that_disagree_are_no_proof() -> None:
    resolved = Resolved("sglang", "0.5.23", {}, ({"page_size": 16}, {"page_size": 1}))
    effect = judge_value("page-size", ("16",), "--page-size", resolved)
    assert (effect.outcome, effect.text) == (NOT_PROVED, "--page-size was asked to be 16 and is [16, 1]")


def test_values_in_their_own_shapes() -> None:
    said = {"bs": [1, 2, 4], "config": {"decode": {"backend": "full"}, "more": 1}, "text": "4", "flag": "True"}
    resolved = Resolved("sglang", None, said)
    for name, values in (
        ("bs", ("1", "2", "4")),
        ("config", ('{"more": 1}',)),
        ("text", ("4.0",)),
        ("flag", ("true",)),
        ("flag", ()),
    ):
        assert judge_value(name, values, f"--{name}", resolved).outcome is PROVED, name
    for name, words in (("bs", ["1", "2"]), ("bs", ["1"]), ("config", ['{"more": 2}']), ("text", ["x"])):
        assert judge_value(name, words, f"--{name}", resolved).outcome is NOT_PROVED, name


def test_a_flag_that_nothing_reads_has_no_effect_whatever_the_server_says() -> None:
    effect = judge_value("num-continuous-decode-steps", ("4",), "--num-continuous-decode-steps", INFO)
    assert effect.outcome is Outcome.NO_EFFECT
    assert effect.text.startswith("--num-continuous-decode-steps has no effect in sglang 0.5.23: ")


def test_vllm_tells_the_settings_of_its_cache_and_no_others() -> None:
    resolved = of_vllm_metrics((REPLIES / "vllm032-qwen3.metrics-loaded.txt").read_bytes(), "0.32.0")
    assert judge_value("gpu-memory-utilization", ("0.92",), "--x", resolved).outcome is PROVED
    assert judge_value("kv-cache-dtype", ("auto",), "--x", resolved).outcome is PROVED
    assert judge_value("enable-prefix-caching", (), "--x", resolved).outcome is PROVED
    assert "says nowhere" in judge_value("max-num-seqs", ("8",), "--x", resolved).text


@pytest.mark.parametrize(
    ("flags", "ranks"),
    [
        ("", 1),
        ("--tp-size 8", 8),
        ("--tensor-parallel-size 4 --pp-size 2", 8),
        ("--tp-size 4 --dp-size 2", 8),
        ("--tp-size 8 --dp-size 8 --enable-dp-attention", 8),
        ("--tp-size 16 --nnodes 2 --node-rank 1", 8),
        ("--tp-size x", None),
        pytest.param(f"--tp-size {'9' * 5000}", None, id="5000 digits"),
    ],
)
def test_as_many_ranks_as_the_flags_ask_for_on_one_node(flags: str, ranks: int | None) -> None:
    assert ranks_asked(("python3", "-m", "sglang.launch_server", *flags.split())) == ranks


@pytest.mark.parametrize(
    ("line", "graphs", "accepted"),
    [
        ("[2026-11-30 04:51:47] Decode batch, #running-req: 1, token usage: 0.01, cuda graph: True, x", True, None),
        ("[2026-11-30 04:51:47 TP0] Decode batch. #running-req: 1, #token: 9, cuda graph: False, ", False, None),
        ("Decode batch, #running-req: 1, accept len: 2.75, accept rate: 0.69, cuda graph: True, ", True, 2.75),
        ("Prefill batch, #new-seq: 1, cuda graph: True", None, None),
        ("", None, None),
    ],
)
def test_a_decode_line_says_how_it_decodes(line: str, graphs: bool | None, accepted: float | None) -> None:
    word = graph_word(line)
    assert (None if word is None else word[0]) is graphs
    assert accept_length(line) == accepted

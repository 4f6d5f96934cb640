"""What a clean log hides: settings without effect, or not what the model needs."""

from __future__ import annotations

import pytest

from k2tui.core.families import family_of
from k2tui.core.launch import LaunchKind
from tests.core.logs import read, real

ARGS = (
    "[2026-02-01 10:00:00] server_args=ServerArgs(model_path='{model}', reasoning_parser={reasoning}, "
    "tool_call_parser={tools}, tp_size=8, {more}port=30000)"
)


def args(model: str, reasoning: str = "None", tools: str = "None", more: str = "") -> str:
    return ARGS.format(model=model, reasoning=reasoning, tools=tools, more=more)


def names(*lines: str) -> list[str]:
    return [finding.name for finding in read(*lines).findings]


def test_a_model_that_thinks_wants_a_reasoning_parser() -> None:
    assert names(args("/models/Kimi-K2.5")) == ["no_reasoning_parser"]
    assert names(args("/models/Kimi-K2.5", "'kimi_k2'", "'kimi_k2'")) == []
    assert names(args("/models/Kimi-K2-Instruct")) == []
    assert names(args("/models/Qwen3-235B-A22B-Thinking-2507")) == ["no_reasoning_parser"]
    assert names(args("/models/Qwen3-235B-A22B-Instruct-2507")) == []


def test_a_parser_of_another_family_is_named_with_the_right_one() -> None:
    found = read(args("/models/Kimi-K2.5", "'deepseek-r1'", "'qwen25'")).findings
    assert [finding.name for finding in found] == ["other_reasoning_parser", "other_tool_parser"]
    assert all("kimi_k2" in finding.text for finding in found)


def test_a_line_that_was_cut_before_the_parsers_says_nothing() -> None:
    assert names("[2026-02-01 10:00:00] server_args=ServerArgs(model_path='/models/Kimi-K2.5', tp_size=8, ") == []


def test_vllm_prints_only_what_was_given() -> None:
    given = "INFO 11-02 10:00:00 [utils.py:253] non-default args: {'model': '/m/Kimi-K2.5'%s}"
    assert names(given % "") == ["no_reasoning_parser"]
    assert names(given % ", 'reasoning_parser': 'kimi_k2'") == []


def test_what_the_engine_read_from_the_template_counts() -> None:
    line = "[2026-02-01 10:00:01] Auto-detected template features: reasoning_parser=qwen3, tool_call_parser=qwen"
    assert names(args("/models/mine"), line) == ["no_reasoning_parser", "no_tool_parser"]
    assert names(args("/models/mine", "'qwen3'", "'qwen'"), line) == []


def test_a_deprecated_flag_is_named_with_what_replaces_it() -> None:
    line = (
        "\x1b[1;33m'--disable-cuda-graph' is deprecated and will be removed in a future release. "
        "Use '--cuda-graph-backend-{decode,prefill}=disabled' instead.\x1b[0m"
    )
    (finding,) = read(line).findings
    assert finding.text == "--disable-cuda-graph is deprecated: use --cuda-graph-backend-{decode,prefill}=disabled."


@pytest.mark.parametrize(
    "line",
    [
        "[2026-02-01 10:00:01] Ignoring --schedule-policy for this model",
        "[2026-02-01 10:00:01] Overriding max_running_requests to 32 for speculative decoding",
        "[2026-02-01 10:00:01] --moe-dense-tp-size is overridden because DP attention is off.",
    ],
)
def test_a_setting_without_effect_is_named(line: str) -> None:
    (finding,) = read(line).findings
    assert finding.name == "setting_ignored"
    assert finding.line_number == 1


@pytest.mark.parametrize(
    "line",
    [
        "[2026-02-01 10:00:01] Custom allreduce is disabled because it's not supported on PCIe-only GPUs.",
        "[2026-02-01 10:00:01] Using default MoE kernel config. Performance might be sub-optimal!",
        "[2026-02-01 10:00:01] FlashInfer is not available. Falling back to the PyTorch-native implementation of top-p",
        "[2026-02-01 10:00:01] Failed to import deprecated module, it is ignored",
        "[2026-02-01 10:00:01] Receive: obj=GenerateReqInput(text='--port is ignored, the flag has no effect')",
    ],
)
def test_what_good_starts_say_is_no_finding(line: str) -> None:
    assert read(args("/models/mine"), line).findings == ()


def test_a_back_end_that_something_else_stands_in_for_is_named_and_the_server_is_not_blamed() -> None:
    asked = args("/models/mine", more="attention_backend='fa3', ")
    line = "[2026-02-01 10:00:01 TP0] The fa3 attention backend lacks this head size, falling back to triton."
    assert names(asked, line) == ["backend_replaced"]
    assert names(args("/models/mine"), line) == []


def test_a_back_end_that_was_given_for_both_and_dropped_is_named() -> None:
    line = "[2026-02-01 10:00:01] Attention backend not explicitly specified. Use flashinfer backend by default."
    both = "prefill_attention_backend='fa3', decode_attention_backend='fa3', "
    assert names(args("/models/mine", more=both), line) == ["backend_ignored"]
    one = "prefill_attention_backend='fa3', decode_attention_backend='triton', "
    assert names(args("/models/mine", more=one), line) == []
    assert names(args("/models/mine"), line) == []


def test_a_flag_that_no_version_reads_is_named_when_it_is_set() -> None:
    assert names(args("/models/mine", more="num_continuous_decode_steps=4, ")) == ["dead_flag"]
    assert names(args("/models/mine", more="num_continuous_decode_steps=1, ")) == []


def test_the_draft_that_is_the_target_again() -> None:
    speculative = "speculative_algorithm='EAGLE', speculative_draft_model_path=None, "
    bar = "Loading safetensors checkpoint shards: {} Completed | {}/4 [00:0{}<00:00,  1.00it/s]"
    load = (
        "[2026-02-01 10:00:02 TP0] Load weight begin. avail mem=78.0 GB",
        bar.format("  0%", 0, 0),
        bar.format("100%", 4, 4),
        "[2026-02-01 10:00:09 TP0] Load weight end. type=X, avail mem=20.0 GB, mem usage=58.0 GB.",
    )
    found = read(args("/models/mine", more=speculative), *load, *load).findings
    assert [finding.name for finding in found] == ["draft_is_target"]


def test_a_real_server_on_the_cpu_says_so_and_is_ready_all_the_same() -> None:
    from k2tui.core.diagnosis import diagnose

    launch = diagnose([real("sglang0523-llama-notriton")]).launch
    assert "on_cpu" in [finding.name for finding in launch.findings]
    assert launch.kind is not LaunchKind.MISCONFIGURED


@pytest.mark.parametrize(
    ("path", "family"),
    [
        ("/models/Kimi-K2.5", "Kimi-K2.5 or Kimi-K2-Thinking"),
        ("moonshotai/Kimi-K2-Instruct-0905", "Kimi-K2"),
        ("deepseek-ai/DeepSeek-R1-0528/", "DeepSeek-R1"),
        ("Qwen/Qwen3-8B", "Qwen3"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8", "Qwen3-Coder"),
        ("Qwen/Qwen3-Embedding-8B", "Qwen3 embedding"),
        ("zai-org/GLM-4.6-FP8", "GLM-4.5 and later"),
        ("meta-llama/Llama-3.3-70B-Instruct", None),
    ],
)
def test_a_family_is_known_by_the_name_of_its_checkpoint(path: str, family: str | None) -> None:
    found = family_of(path)
    assert (None if found is None else found.name) == family

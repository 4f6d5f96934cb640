"""The counters of a server, as its `/metrics` writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.remote.load_metrics import NAMES, counters_in, figure_in

SGLANG = b"""# HELP sglang:prompt_tokens_total Number of prefill tokens processed.
# TYPE sglang:prompt_tokens_total counter
sglang:prompt_tokens_total{engine_type="unified",model_name="a } b"} 1234.0
sglang:generation_tokens_total{model_name="m"} 5.6e+03
sglang:generation_tokens_created{model_name="m"} 1.7e+09
sglang:cached_tokens_total{cache_source="device",model_name="m"} 10.0
sglang:cached_tokens_total{cache_source="host",model_name="m"} 5.0
sglang:num_requests_total{model_name="m"} 7.0
sglang:num_running_reqs{dp_rank="0",tp_rank="0"} 3.0
sglang:num_running_reqs{dp_rank="0",tp_rank="1"} 3.0
sglang:num_running_reqs{dp_rank="1",tp_rank="0"} 2.0
sglang:num_queue_reqs{tp_rank="0"} NaN
"""
VLLM = b"""vllm:prompt_tokens_total{engine="0",model_name="m"} 100.0
vllm:generation_tokens_total{engine="0",model_name="m"} 50.0
vllm:prefix_cache_hits_total{engine="0"} 16.0
vllm:num_requests_running{engine="0"} 1.0
vllm:num_requests_running{engine="1"} 2.0
vllm:num_requests_waiting{engine="0"} 0.0
vllm:request_success_total{engine="0",finished_reason="stop"} 3.0
vllm:request_success_total{engine="0",finished_reason="length"} 4.0
"""


def test_sglangs_counters_are_read() -> None:
    assert counters_in(SGLANG) == {
        "generation_tokens": 5600.0,
        "prompt_tokens": 1234.0,
        "cached_tokens": 15.0,
        "requests": 7.0,
        "running": 5.0,  # both data-parallel ranks, one tensor rank of each
        "queued": None,
    }


def test_vllms_counters_are_read() -> None:
    assert counters_in(VLLM) == {
        "generation_tokens": 50.0,
        "prompt_tokens": 100.0,
        "cached_tokens": 16.0,
        "requests": 7.0,
        "running": 3.0,
        "queued": 0.0,
    }


def test_a_collectors_line_instead_of_the_colon_is_read_alike() -> None:
    assert counters_in(SGLANG.replace(b"sglang:", b"sglang_")) == counters_in(SGLANG)


def test_sglang_has_no_counter_of_cached_tokens_before_the_first() -> None:
    without = b"".join(line + b"\n" for line in SGLANG.splitlines() if b"cached" not in line)
    assert counters_in(without)["cached_tokens"] == 0.0


def test_what_is_not_there_is_none() -> None:
    assert set(counters_in(b"# nothing\nother_metric 3\n").values()) == {None}
    assert counters_in(VLLM.replace(b"prefix_cache", b"x"))["cached_tokens"] is None


@pytest.mark.parametrize("line", [b"xsglang:num_running_reqs 1\n", b"sglang:num_running_reqs_total 1\n"])
def test_a_longer_name_is_another_metric(line: bytes) -> None:
    assert figure_in(line, "running") is None


@given(st.binary(max_size=300))
def test_no_bytes_break_the_reader(tail: bytes) -> None:
    assert set(counters_in(SGLANG + tail)) == set(NAMES)
    figure_in(b"sglang:num_running_reqs{" + tail, "running")

"""Prometheus text: what is read of it, and what can't be."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.measuring.prometheus import MOST_BYTES, MetricsReader, Sample

REPLIES = Path(__file__).parent.parent / "logs" / "replies"
READER = MetricsReader(("num_running_reqs", "num_running_reqs_total", "x_bucket"))


def test_only_the_names_that_are_asked_for_are_read() -> None:
    text = b"# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs 3\nsglang:other 4\nnum_running_reqs 9\n"
    assert READER.read(text) == {"num_running_reqs": (Sample({}, 3.0),)}


def test_a_name_that_begins_another_is_not_taken_for_it() -> None:
    assert set(READER.read(b"sglang:num_running_reqs_total 1\n")) == {"num_running_reqs_total"}


@pytest.mark.parametrize(
    ("line", "labels", "value"),
    [
        ("sglang:num_running_reqs 2.0", {}, 2.0),
        ("vllm:num_running_reqs 2e3", {}, 2000.0),
        ("sglang_num_running_reqs 2 1700000000000", {}, 2.0),
        ('sglang:num_running_reqs{a="1",b="x,y"} 2', {"a": "1", "b": "x,y"}, 2.0),
        (r'sglang:num_running_reqs{a="quote \" and } brace"} 2', {"a": r"quote \" and } brace"}, 2.0),
        ('sglang:num_running_reqs{a="1"} +2', {"a": "1"}, 2.0),
    ],
)
def test_a_line_is_labels_and_a_value(line: str, labels: dict[str, str], value: float) -> None:
    assert READER.read(line.encode()) == {"num_running_reqs": (Sample(labels, value),)}


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-Inf", "1e999", "three", '"2"', ""])
def test_what_is_no_finite_number_is_left_out(value: str) -> None:
    assert READER.read(f"sglang:num_running_reqs {value}\n".encode()) == {}


def test_what_comes_after_the_cap_is_not_read() -> None:
    body = b"#" * MOST_BYTES + b"\nsglang:num_running_reqs 1\n"
    assert READER.read(body) == {}


@given(st.binary(max_size=400))
def test_no_bytes_can_break_the_reader(tail: bytes) -> None:
    for samples in READER.read(b"sglang:num_running_reqs{" + tail + b"\nsglang:num_running_reqs " + tail).values():
        assert all(math.isfinite(sample.value) for sample in samples)


def test_a_real_servers_metrics_are_read_whole() -> None:
    body = (REPLIES / "sglang0523-qwen3.metrics.txt").read_bytes()
    found = MetricsReader(("time_to_first_token_seconds_bucket", "realtime_tokens_total")).read(body)
    assert {sample.labels["mode"] for sample in found["realtime_tokens_total"]} == {
        "decode",
        "prefill_compute",
        "prefill_cache",
    }
    assert {sample.labels["le"] for sample in found["time_to_first_token_seconds_bucket"]} > {"0.1", "+Inf"}

"""What each source says, in the words of real servers of several versions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.measuring.latency import percentile
from k2tui.core.measuring.loads import MOST_RANKS, of_loads, of_server_info
from k2tui.core.measuring.look import Look, RankLook
from k2tui.core.measuring.metrics import of_metrics

REPLIES = Path(__file__).parent.parent / "logs" / "replies"


def metrics(name: str) -> Look:
    look = of_metrics((REPLIES / f"{name}.txt").read_bytes(), 1.0)
    assert look is not None
    return look


def document(name: str) -> object:
    return json.loads((REPLIES / f"{name}.json").read_text("utf-8"))


def lines(*samples: str) -> bytes:
    return "\n".join(f"sglang:{sample}" for sample in samples).encode()


def test_sglang_0_5_23_counts_each_step() -> None:
    look = metrics("sglang0523-qwen3.metrics-loaded")
    assert look.ranks == (
        RankLook(
            0,
            running=1,
            waiting=20,
            kv_usage=0.3,
            gauge_tokens_per_s=199.07506022358217,
            decode_tokens=5997.0,
            capacity_tokens=8192,
        ),
    )
    counters = look.counters
    assert (counters.decode_tokens, counters.prefill_tokens, counters.by_step) == (5997.0, 3013.0, True)
    assert (counters.cache_hits, counters.cache_asked) == (3587.0, 6600.0)
    assert counters.ttft is not None
    assert counters.ttft.count == 51
    assert counters.itl is not None
    assert counters.itl.count == 3455
    assert (look.active, look.at_work) == (48, 48)


def test_two_h200_under_load_say_the_same_in_loads_and_metrics() -> None:
    """SGLang 0.5.14, TP2, twenty streams of 512 tokens each: the client saw 1 500 tok/s and 6 s a request."""
    loads = of_loads(document("sglang0514-h200x2.v1-loads-under-load"), 1.0)
    look = metrics("sglang0514-h200x2.metrics-under-load")
    assert loads is not None
    assert (loads.running, loads.waiting, look.running, look.waiting, look.active) == (20, 0, 20, 0, 20)
    assert loads.ranks[0].capacity_tokens == look.ranks[0].capacity_tokens == 14_489_836
    assert (look.counters.decode_tokens, look.counters.by_step) == (120_096.0, True)
    assert look.counters.e2e is not None
    seconds = percentile(look.counters.e2e, 0.5)
    assert seconds is not None
    assert 6 < seconds < 8


def test_vllm_0_32_has_other_names() -> None:
    look = metrics("vllm032-qwen3.metrics-loaded")
    assert look.ranks == (RankLook(0, running=0, waiting=0, kv_usage=0.0, capacity_tokens=262144),)
    counters = look.counters
    assert (counters.decode_tokens, counters.prefill_tokens, counters.by_step) == (5651.0, 3934.0, True)
    assert (counters.cache_hits, counters.cache_asked, counters.retracted) == (0.0, 3934.0, 0.0)
    assert counters.e2e is not None
    assert counters.e2e.count == 48


def test_the_running_gauge_of_the_metrics_sticks_where_the_loads_know_better() -> None:
    """SGLang 0.5.14, idle: /metrics still says that one request runs."""
    loads = of_loads(document("sglang0514-llama.loads"), 1.0)
    assert loads is not None
    assert (loads.running, metrics("sglang0514-llama.metrics").running) == (0, 1)


def test_loads_of_0_5_23_say_when_the_scheduler_wrote_them() -> None:
    assert of_loads(document("sglang0523-qwen3.loads"), 7.0) == Look(
        7.0,
        "loads",
        (
            RankLook(
                0,
                running=28,
                waiting=20,
                kv_usage=0.304,
                gauge_tokens_per_s=199.08,
                capacity_tokens=8192,
                most_running=2048,
                cache_hit=0.9863,
                written_at=1795969620.5603302,
                used_tokens=2490,
            ),
        ),
    )


def test_get_load_of_old_versions_counts_the_queue_with_the_rest() -> None:
    look = of_loads([{"dp_rank": 1, "num_reqs": 7, "num_waiting_reqs": 3, "num_tokens": 9}], 1.0)
    assert look is not None
    assert look.ranks == (RankLook(1, running=4, waiting=3, used_tokens=9),)
    assert of_loads(document("sglang0514-llama.get_load"), 1.0) is not None


def test_server_info_knows_capacity_and_the_last_rate() -> None:
    look = of_server_info(document("sglang0523-qwen3.server_info"), 1.0)
    assert look is not None
    rank = look.ranks[0]
    assert (rank.capacity_tokens, rank.most_running, rank.running) == (8192, 2048, None)
    assert rank.gauge_tokens_per_s is not None


@pytest.mark.parametrize(
    ("samples", "running"),
    [
        # data-parallel ranks add up
        (('num_running_reqs{dp_rank="0",tp_rank="0"} 3', 'num_running_reqs{dp_rank="1",tp_rank="1"} 4'), 7),
        # tensor and pipeline ranks of one work on the same requests
        (('num_running_reqs{tp_rank="0",pp_rank="0"} 3', 'num_running_reqs{tp_rank="0",pp_rank="1"} 3'), 3),
        (('num_running_reqs{tp_rank="0"} 3', 'num_running_reqs{tp_rank="1"} 0'), 3),
    ],
)
def test_ranks_add_up_where_they_have_requests_of_their_own(samples: tuple[str, ...], running: int) -> None:
    look = of_metrics(lines(*samples), 1.0)
    assert look is not None
    assert look.running == running


def test_an_old_sglang_counts_tokens_only_when_a_request_ends() -> None:
    look = of_metrics(lines("num_running_reqs 1", 'generation_tokens_total{model_name="m"} 50'), 1.0)
    assert look is not None
    assert (look.counters.decode_tokens, look.counters.by_step) == (50.0, False)
    assert look.counters.prefill_tokens is None


def test_an_answer_without_an_engines_work_is_none() -> None:
    assert of_metrics(b"# HELP python_gc\npython_gc_objects_collected_total 4\n", 1.0) is None
    assert of_metrics(b"", 1.0) is None


@pytest.mark.parametrize(
    "answer",
    [None, 3, "loads", [], {}, {"loads": None}, {"loads": [3]}, {"loads": [{}]}, {"loads": [{"num_running_reqs": "3"}]}]
    + [{"loads": [{"num_running_reqs": value}]} for value in (-1, float("nan"), float("inf"), 1e300, True)],
)
def test_what_is_no_figure_is_no_look(answer: object) -> None:
    assert of_loads(answer, 1.0) is None


def test_no_more_rows_are_read_than_there_can_be_ranks() -> None:
    look = of_loads({"loads": [{"num_running_reqs": 1, "num_waiting_reqs": 0}] * (MOST_RANKS + 5)}, 1.0)
    assert look is not None
    assert len(look.ranks) == MOST_RANKS


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda below: (
        st.lists(below, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["loads", "dp_rank", "num_running_reqs", "memory", "memory_usage", "internal_states", "speculative"]
            ),
            below,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON)
def test_no_document_can_break_the_readers(answer: object) -> None:
    of_loads(answer, 1.0)
    of_server_info(answer, 1.0)

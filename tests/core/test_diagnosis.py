"""Whole logs to one document: what is wrong, why, and what to do."""

from __future__ import annotations

import json

import pytest

from k2tui.core.advice import advice_for
from k2tui.core.diagnosis import diagnose
from k2tui.core.launch import Cause, Launch, LaunchKind, LaunchPhase
from tests.core.logs import real

STOPPED, CRASHED, REFUSED = LaunchKind.STOPPED, LaunchKind.CRASHED, LaunchKind.MISCONFIGURED
P = LaunchPhase


def test_a_real_launch_of_two_ranks_goes_through_every_phase() -> None:
    launch = diagnose([real("sglang0523-tp2-capture-ready-sigterm")]).launch
    assert [span.phase for span in launch.spans] == [
        P.ARGS,
        P.DISTRIBUTED,
        P.WEIGHTS,
        P.POSTPROCESS,
        P.KV_CACHE,
        P.WARMUP,
        P.READY,
        P.SERVING,
    ]
    assert launch.ranks_expected == 2
    assert launch.ranks_loaded == {"TP0", "TP1"}
    assert (launch.port, launch.kv_tokens) == (31121, 8192)
    assert all(span.began is not None for span in launch.spans)


def test_a_real_gpu_launch_captures_graphs() -> None:
    launch = diagnose([real("sglang0514-h200-llama")]).launch
    seconds = {span.phase: span.elapsed_s for span in launch.spans}
    assert seconds[P.CUDA_GRAPH] == 42
    assert [bar.progress.total for bar in launch.bars] == [64, 6, 6]


@pytest.mark.parametrize(
    ("observed_at", "kind", "detail"),
    [("22:24:35", "loading", None), ("22:25:55", "loading", "slow"), ("22:26:25", "hung", None)],
)
def test_a_real_launch_that_stands_still_is_slow_and_then_hung(observed_at: str, kind: str, detail: str | None) -> None:
    log = real("sglang0523-stopped-then-scheduler-sigkill")
    log = log[: log.index(b"]", log.index(b" 17/64 [")) + 1]  # where its scheduler was stopped, at 22:24:14
    context = {"observed_at": f"2026-11-29 {observed_at}", "process_alive": True}
    document = diagnose([log], context).to_json()
    facts = document["facts"]
    assert isinstance(facts, dict)
    assert (document["kind"], document["phase"], facts.get("detail")) == (kind, "weights", detail)


def test_a_real_launch_that_goes_on_after_a_long_pause_is_slow_and_has_a_range() -> None:
    log = real("sglang0523-stopped-then-scheduler-sigkill")
    log = log[: log.index(b"]", log.index(b" 25/64 [")) + 1]
    document = diagnose([log], {"observed_at": "2026-11-29 22:26:17", "process_alive": True}).to_json()
    assert (document["kind"], document["facts"].get("detail")) == ("loading", "slow")  # type: ignore[attr-defined]
    left = document["eta_s"]
    assert isinstance(left, dict)
    assert left["low"] < 25 < left["high"]  # five more times 5 s, as it was told to take


def test_the_document_has_the_contracts_shape() -> None:
    document = diagnose([real("sglang0523-memfail")], {"observed_at": "2026-11-29 16:38:00"}).to_json()
    assert list(document) == [
        "engine",
        "version",
        "kind",
        "phase",
        "progress",
        "eta_s",
        "ranks",
        "root_cause",
        "advice",
        "silence_s",
        "evidence",
        "facts",
    ]
    assert document["progress"] == {
        "done": 64,
        "total": 64,
        "unit": "shards",
        "label": "Multi-thread loading shards",
        "fraction": 1.0,
        "by": "count",
    }
    cause = document["root_cause"]
    assert isinstance(cause, dict)
    assert list(cause) == ["line", "line_number", "rank", "class"]
    assert 71 in document["evidence"]  # type: ignore[operator]
    assert document["ranks"] == {"expected": 1, "seen": [], "behind": []}
    assert json.loads(json.dumps(document)) == document


def test_an_empty_log_is_a_launch_that_has_just_begun() -> None:
    document = diagnose([]).to_json()
    assert (document["kind"], document["phase"], document["engine"]) == ("loading", "args", None)
    assert document["progress"] is document["root_cause"] is document["silence_s"] is None


LOADING = b"""[2026-06-26 18:23:06 TP0] Init torch distributed begin.
[2026-06-26 18:23:06 TP1] Init torch distributed begin.
[2026-06-26 18:23:10 TP0] Load weight begin. avail mem=94.51 GB
\rLoading safetensors checkpoint shards:   0% Completed | 0/71 [00:00<?, ?it/s]\rLoading safetensors checkpoint shards:\
   1% Completed | 1/71 [00:30<36:10, 31.00s/it]\rLoading safetensors checkpoint shards:   3% Completed | 2/71 [01:00<\
36:10, 30.00s/it]"""


def test_while_it_loads_the_document_says_how_far_how_long_and_who_is_behind() -> None:
    document = diagnose([LOADING], {"observed_at": "2026-06-26 18:24:20", "process_alive": True}).to_json()
    assert (document["kind"], document["silence_s"]) == ("loading", 10.0)
    assert document["eta_s"] == {"low": 2070.0, "high": 2070.0}
    assert document["ranks"] == {"expected": None, "seen": ["TP0", "TP1"], "behind": ["TP1"]}
    cause = document["root_cause"]
    assert isinstance(cause, dict)
    assert cause["line_number"] == 4
    assert "2/71" in cause["line"]


@pytest.mark.parametrize(
    "context",
    [
        {"observed_at": "never", "process_alive": "yes", "exit_code": "1", "probe": 3},
        {"observed_at": None, "probe": {"chat": []}},
        {"observed_at": 1e9},
    ],
)
def test_a_context_that_makes_no_sense_says_nothing(context: dict[str, object]) -> None:
    assert diagnose([LOADING], context).launch.kind is LaunchKind.LOADING


def test_an_exit_code_makes_a_crash_of_a_silent_log() -> None:
    diagnosis = diagnose([LOADING], {"exit_code": -9})
    assert diagnosis.launch.kind is CRASHED
    assert diagnosis.root_cause is None
    assert "dmesg" in advice_for(diagnosis.launch)[0].text


def test_an_export_that_begins_with_the_newest_line_is_read_from_its_end() -> None:
    lines = real("sglang0523-memfail").split(b"\n")[:-1]
    upside_down = b"\n".join(reversed(lines)) + b"\n"
    document = diagnose([upside_down[:300], upside_down[300:]]).to_json()
    assert (document["kind"], document["phase"]) == ("crashed", "kv_cache")
    cause = document["root_cause"]
    assert isinstance(cause, dict)
    assert upside_down.decode().split("\n")[cause["line_number"] - 1] == cause["line"]


def crashed(failure: str, line: str = "", engine: str = "sglang", names: frozenset[str] = frozenset()) -> Launch:
    return Launch(kind=CRASHED, cause=Cause(line, 1, None, failure), engine=engine, arg_names=names)


def first(launch: Launch) -> str:
    return advice_for(launch)[0].text


def test_memory_advice_points_in_opposite_directions() -> None:
    assert "Raise --mem-fraction-static" in first(crashed("kv_no_room"))
    assert "Lower --mem-fraction-static" in first(crashed("oom_graphs"))
    assert not any("Lower" in advice.text for advice in advice_for(crashed("oom_weights")))
    assert "--gpu-memory-utilization" in first(crashed("kv_no_room", engine="vllm"))


def test_leftover_processes_in_an_out_of_memory_message_come_first() -> None:
    line = "CUDA out of memory. Tried to allocate 2 GiB. Process 4711 has 70.1 GiB memory in use."
    assert "nvidia-smi" in first(crashed("oom_graphs", line))


def test_a_flag_with_underscores_is_spelt_out() -> None:
    line = "launch_server.py: error: unrecognized arguments: --reasoning_parser kimi_k2"
    assert "--reasoning-parser" in first(crashed("bad_argument", line))


def test_the_engines_own_estimate_is_repeated() -> None:
    line = "ValueError: ... the estimated maximum model length is 34736. Try increasing `gpu_memory_utilization`"
    assert first(crashed("kv_no_room", line, "vllm")).startswith("--max-model-len 34736 fits")


def test_advice_says_where_it_is_known_from() -> None:
    for failure in ("oom_weights", "nccl", "port_taken", "watchdog", "remote_code"):
        assert {advice.basis for advice in advice_for(crashed(failure))} <= {"source", "thread", "inferred"}


def test_nothing_is_advised_while_nothing_is_wrong() -> None:
    assert advice_for(Launch()) == ()
    assert advice_for(Launch(kind=LaunchKind.READY)) == ()

"""Two looks at a node make what moves between them."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.activity import Look, Moving, ProcessLook, RankActivity, from_json, moving, parse, rank_of

LOOK = b"""k2act 1 b00t 1000.50
disk 2000
net 5000000
proc 71 400 S 1200 9000000 4096 sglang::scheduler_TP3
proc 72 401 R 30 - - python3
proc 73 402 S 0 100 0 a name (with) blanks
tool nvcc
tool cicc
tool nvcc
k2end
"""


def rank(
    number: int = 3, *, ticks: int = 0, rchar: int | None = 0, stored: int | None = 0, start: int = 1
) -> ProcessLook:
    return ProcessLook(70 + number, start, "S", ticks, rchar, stored, f"sglang::scheduler_TP{number}")


def look(up_s: float, *processes: ProcessLook, **figures: object) -> Look:
    return replace(Look("b00t", up_s, processes={one.pid: one for one in processes}), **figures)  # type: ignore[arg-type]


def test_a_look_is_read_from_the_scripts_words() -> None:
    found = parse(LOOK)
    assert found is not None
    assert (found.boot_id, found.up_s, found.disk_sectors, found.net_bytes) == ("b00t", 1000.5, 2000, 5000000)
    assert found.processes[71] == ProcessLook(71, 400, "S", 1200, 9000000, 4096, "sglang::scheduler_TP3")
    assert found.processes[72].rchar is None
    assert found.processes[73].name == "a name (with) blanks"
    assert found.compilers == ("cicc", "nvcc")


@pytest.mark.parametrize("output", [b"", b"k2end\n", b"k2act 1 b00t 5.0\n", b"k2act 1 b00t soon\nk2end\n", LOOK[:-6]])
def test_an_answer_that_is_not_whole_is_no_look(output: bytes) -> None:
    assert parse(output) is None


def test_a_name_from_a_node_never_steers_the_terminal() -> None:
    found = parse(b"k2act 1 b00t 1.0\nproc 7 1 S 0 - - evil\x1b[2Jname\ntool cc\x1b]0;x\x07\nk2end\n")
    assert found is not None
    assert found.processes[7].name.isprintable()
    assert all(name.isprintable() for name in found.compilers)


_WORDS = st.sampled_from(
    [b"k2act", b"1", b"disk", b"net", b"proc", b"tool", b"-", b"7", b"1.5", b"S", b"\n", b"k2end", b""]
)


@given(st.one_of(st.binary(), st.lists(_WORDS).map(b" ".join)), st.binary())
def test_no_answer_can_break_the_reading(one: bytes, other: bytes) -> None:
    first, second = parse(one + b"\nk2end\n"), parse(b"k2act 1 b00t 9.0\n" + other + b"\nk2end")
    if first is not None and second is not None:
        moving(first, second)


def test_the_difference_of_two_looks_is_what_moves() -> None:
    before = look(100.0, rank(ticks=100, rchar=1_000, stored=0), disk_sectors=10, net_bytes=500)
    after = look(110.0, rank(ticks=600, rchar=1_000, stored=50_000_000), disk_sectors=2010, net_bytes=10_500)
    found = moving(before, replace(after, compilers=("nvcc",)), gpu_busy=0.4)
    assert found == Moving(
        over_s=10.0,
        disk_read_bytes_per_s=2000 * 512 / 10,
        net_received_bytes_per_s=1000.0,
        ranks=(RankActivity("sglang::scheduler_TP3", "TP3", 0.5, 5e6),),
        compilers=("nvcc",),
        gpu_busy=0.4,
    )


def test_a_compiler_that_has_just_ended_still_counts() -> None:
    found = moving(replace(look(0.0), compilers=("ptxas",)), replace(look(9.0), compilers=("cicc",)))
    assert found is not None
    assert found.compilers == ("cicc", "ptxas")


def test_a_rank_reads_from_the_page_cache_too() -> None:
    found = moving(look(0.0, rank(rchar=0)), look(2.0, rank(rchar=8_000_000)))
    assert found is not None
    assert found.ranks[0].read_bytes_per_s == 4e6


def test_a_counter_that_went_back_says_nothing() -> None:
    before = look(0.0, rank(ticks=50, rchar=900, stored=900), disk_sectors=10, net_bytes=10)
    after = look(5.0, rank(ticks=50, rchar=100, stored=100), disk_sectors=9, net_bytes=None)
    found = moving(before, after)
    assert found is not None
    assert (found.disk_read_bytes_per_s, found.net_received_bytes_per_s) == (None, None)
    assert found.ranks == (RankActivity("sglang::scheduler_TP3", "TP3", 0.0, None),)
    assert moving(look(0.0, rank(ticks=50)), look(5.0, rank(ticks=40))) == Moving(5.0)


def test_a_pid_that_another_process_has_now_says_nothing() -> None:
    found = moving(look(0.0, rank(start=1)), look(5.0, rank(start=2, rchar=10**12)))
    assert found == Moving(5.0)


@pytest.mark.parametrize("after", [look(100.0), look(99.0), replace(look(500.0), boot_id="another")])
def test_looks_without_time_between_them_can_not_be_compared(after: Look) -> None:
    assert moving(look(100.0), after) is None


def test_helpers_are_told_only_when_they_work() -> None:
    idle = ProcessLook(9, 1, "S", 0, 0, 0, "python3")
    busy = ProcessLook(10, 1, "S", 0, 0, 0, "python3")
    found = moving(look(0.0, rank(), idle, busy), look(1.0, rank(), idle, replace(busy, cpu_ticks=100)))
    assert found is not None
    assert [(one.name, one.cpu) for one in found.ranks] == [("python3", 1.0), ("sglang::scheduler_TP3", 0.0)]


@pytest.mark.parametrize(
    ("name", "logged"),
    [
        ("sglang::scheduler_TP3", "TP3"),
        ("sglang::scheduler_DP0_TP3", "DP0 TP3"),
        ("sglang::scheduler_DP0_PP1_TP0_EP0", "DP0 PP1 TP0 EP0"),
        ("sglang::scheduler_PP0_ATTN_CP4_TP4_EP4", "PP0 ATTN_CP4 TP4 EP4"),
        ("sglang::scheduler", None),
        ("sglang::detokenizer", None),
        ("VLLM::Worker_TP1_EP1", "TP1 EP1"),
        ("VLLM::Worker_DP0_TP1", "DP0 TP1"),
        ("VLLM::EngineCore_DP0", None),
        ("python3", None),
    ],
)
def test_a_process_is_named_as_its_log_names_it(name: str, logged: str | None) -> None:
    assert rank_of(name) == logged


def test_a_context_can_say_what_moves() -> None:
    document = {
        "disk_read_bytes_per_s": 3.1e8,
        "net_received_bytes_per_s": None,
        "compilers": ["nvcc"],
        "gpu_busy": 0,
        "over_s": 10,
        "ranks": [
            {"name": "sglang::scheduler_TP5", "rank": None, "cpu": 1.0, "read_bytes_per_s": 3.1e8},
            {"rank": "TP6"},
        ],
    }
    assert from_json(json.loads(json.dumps(document))) == Moving(
        over_s=10.0,
        disk_read_bytes_per_s=3.1e8,
        ranks=(RankActivity("sglang::scheduler_TP5", "TP5", 1.0, 3.1e8), RankActivity("TP6", "TP6", 0.0, None)),
        compilers=("nvcc",),
        gpu_busy=0.0,
    )


@pytest.mark.parametrize("document", [None, 3, "much", [], True])
def test_a_context_that_is_no_object_says_nothing(document: object) -> None:
    assert from_json(document) is None


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "rank", "cpu"]), inner),
    max_leaves=8,
)
_KEYS = st.sampled_from(["disk_read_bytes_per_s", "compilers", "gpu_busy", "over_s", "ranks"])


@given(st.dictionaries(_KEYS, _JSON))
def test_no_context_can_break_the_reading(document: dict[str, object]) -> None:
    found = from_json(document)
    assert found is not None
    assert math.isfinite(found.over_s)

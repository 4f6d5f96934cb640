"""A half-typed flag becomes a name of the build, then one of its values."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.flag_completion import Candidate, candidates, common_start

BUILD = Build(
    "sglang",
    (
        BuildFlag("reasoning-parser", choices=("kimi", "kimi_k2", "qwen3"), default="kimi", help="Takes reasoning out"),
        BuildFlag("real-old", deprecated=True, replacement="--new"),
        BuildFlag("disable-cuda-graph", Takes.NOTHING),
        BuildFlag("cuda-graph-max-bs", type="int"),
        BuildFlag("cuda-graph-bs", refused=True),
        BuildFlag("modes", Takes.SEVERAL, choices=("a", "ab", "c")),
        BuildFlag("tp-size", aliases=("tensor-parallel-size",), type="int"),
    ),
)
VARIABLES = {"NCCL_PROTO": (("LL", "LL128", "Simple"), "Protocols"), "NCCL_DEBUG": (("INFO",), "How much it says")}


def texts(line: str) -> list[str]:
    return [one.text for one in candidates(line, BUILD, VARIABLES)]


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        ("", []),
        ("--rea", ["--reasoning-parser ", "--real-old "]),
        ("rea", ["--reasoning-parser ", "--real-old "]),
        ("--tensor", ["--tp-size "]),
        ("--cuda", ["--cuda-graph-max-bs ", "--disable-cuda-graph"]),
        ("--reasoning-parser ", [f"--reasoning-parser {name}" for name in ("kimi", "kimi_k2", "qwen3")]),
        ("--reasoning-parser ki", ["--reasoning-parser kimi", "--reasoning-parser kimi_k2"]),
        ("--reasoning-parser=q", ["--reasoning-parser=qwen3"]),
        ("--modes a c a", ["--modes a c a", "--modes a c ab"]),
        ("NCCL_P", ["NCCL_PROTO="]),
        ("nccl", ["NCCL_DEBUG=", "NCCL_PROTO="]),
        ("NCCL_PROTO=LL", ["NCCL_PROTO=LL", "NCCL_PROTO=LL128"]),
        ("--tp-size 8", []),
        ("--nothing-like-it", []),
    ],
)
def test_what_a_line_may_become(line: str, lines: list[str]) -> None:
    assert texts(line) == lines


def test_a_name_comes_with_its_help_and_a_value_with_being_the_default() -> None:
    assert candidates("--reaso", BUILD)[0].note == "Takes reasoning out"
    assert candidates("--real", BUILD)[0].note == "deprecated, use --new: text"
    assert [one.note for one in candidates("--reasoning-parser k", BUILD)] == ["the default", ""]


def test_without_a_build_variables_are_completed_all_the_same() -> None:
    assert candidates("--rea", None, VARIABLES) == ()
    assert [one.text for one in candidates("NCCL_D", None, VARIABLES)] == ["NCCL_DEBUG="]


def test_the_common_start_is_what_all_begin_with() -> None:
    assert common_start([Candidate("NCCL_PROTO=LL"), Candidate("NCCL_PROTO=LL128")]) == "NCCL_PROTO=LL"
    assert common_start([]) == ""


@given(st.text(max_size=40))
def test_no_text_breaks_it(line: str) -> None:
    candidates(line, BUILD, VARIABLES)

"""`:try` completed from the build, from known variables, and from what runs."""

from __future__ import annotations

import pytest

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.try_completion import try_candidates

BUILD = Build(
    "sglang",
    (
        BuildFlag("reasoning-parser", choices=("kimi_k2", "qwen3")),
        BuildFlag("disable-cuda-graph", Takes.NOTHING),
        BuildFlag("tp-size", type="int"),
    ),
)
VARIABLES = {"NCCL_PROTO": (("LL", "LL128", "Simple"), "protocol"), "NCCL_ALGO": ((), "algorithm")}
ARGV = ("python3", "-m", "sglang.launch_server", "--model-path", "/m", "--disable-cuda-graph")
ENV = {"NCCL_PROTO": "LL", "A": "1"}
TYPED = [
    ("+rea", ["+reasoning-parser "]),
    ("--rea", ["--reasoning-parser "]),
    ("+reasoning-parser k", ["+reasoning-parser kimi_k2"]),
    ("+reasoning-parser=k", ["+reasoning-parser=kimi_k2"]),
    ("NCCL_P", ["NCCL_PROTO="]),
    ("NCCL_PROTO=LL", ["NCCL_PROTO=LL", "NCCL_PROTO=LL128"]),
    ("-dis", ["-disable-cuda-graph"]),
    ("-NCCL", ["-NCCL_PROTO"]),
    ("-", ["-A", "-NCCL_PROTO", "-disable-cuda-graph", "-model-path"]),
    ("+tp-size 4 -dis", ["+tp-size 4 -disable-cuda-graph"]),
    ("NCCL_PROTO=LL +disable", ["NCCL_PROTO=LL +disable-cuda-graph"]),
    ("+tp-size 4", []),
    ("", []),
    ("hello", []),
]


@pytest.mark.parametrize(("line", "found"), TYPED, ids=[line or "nothing" for line, _ in TYPED])
def test_the_last_word_is_finished(line: str, found: list[str]) -> None:
    assert [one.text for one in try_candidates(line, BUILD, VARIABLES, ARGV, ENV)] == found


def test_without_a_build_the_flags_that_run_are_known() -> None:
    assert [one.text for one in try_candidates("+mod", None, VARIABLES, ARGV, ENV)] == ["+model-path "]

"""What is known of a flag on a build, in one record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.engine_flags import release
from k2tui.core.flag_report import report, reports

OLD, NEW = release("sglang", "0.5.9"), release("sglang", "0.5.23")


@pytest.mark.parametrize(
    ("build", "name", "status", "replacement", "effect"),
    [
        (OLD, "--cuda-graph-max-bs", "ok", None, "yes"),
        (release("sglang", "0.5.16"), "cuda-graph-max-bs", "deprecated", "--cuda-graph-max-bs-decode", "yes"),
        (NEW, "cuda-graph-max-bs", "gone", "--cuda-graph-max-bs-decode", None),
        (NEW, "num-continuous-decode-steps", "ok", None, "none"),
        (NEW, "reasoning-parser", "ok", None, "yes"),
        (NEW, "schedule-policy", "ok", None, None),
        (NEW, "enable-dp-attention", "deprecated", "--attn-dp-size <dp-size>", "yes"),
        (NEW, "stream-output", "gone", "--incremental-streaming-output", None),
        (NEW, "pdlb-url", "gone", None, None),
        (release("sglang", "0.4.6.post5"), "enable-flashmla", "gone", "--attention-backend flashmla", None),
        (OLD, "cuda-graph-max-bs-decode", "unknown", None, None),
        (OLD, "max-runing-requests", "unknown", None, None),
        (NEW, "pp", "unknown", None, None),
        (NEW, "tp", "ok", None, "yes"),
    ],
)
def test_a_name_on_a_build(build: Build, name: str, status: str, replacement: str | None, effect: str | None) -> None:
    found = report(build, name)
    assert (found.status, found.replacement, found.effect) == (status, replacement, effect)


@pytest.mark.parametrize(
    ("build", "name", "note"),
    [
        (NEW, "tp", "--tp is the beginning of this name only: write the whole name"),
        (NEW, "model", "--model is another name of it"),
        (NEW, "pp", "ambiguous: --pp-async-batch-depth, --pp-max-micro-batch-size, --pp-size"),
        (NEW, "cuda-graph-max-bs", "sglang has it from 0.4.6.post5 to 0.5.18"),
        (OLD, "cuda-graph-max-bs-decode", "sglang has it from 0.5.15 on"),
        (OLD, "max-runing-requests", "near: --max-running-requests"),
        (OLD, "zzzz", "no name is near"),
        (release("sglang", "0.5.8"), "reasoning-parser", "kimi_k2: splits wrongly with thinking off"),
        (release("sglang", "0.5.16"), "port", "0.5.16 is not known: these are the flags of 0.5.15"),
    ],
)
def test_a_note_says_what_to_know(build: Build, name: str, note: str) -> None:
    assert note in (report(build, name).note or "")


def test_the_source_says_where_from() -> None:
    assert report(NEW, "num-continuous-decode-steps").source.startswith("the release sglang 0.5.23; it is parsed and")
    read = replace(NEW, how="source", path="/opt/x/sglang")
    assert report(read, "port").source == "the source of sglang 0.5.23 in /opt/x/sglang"
    assert report(replace(read, how="argparse"), "port").source == "the parser of sglang 0.5.23 in /opt/x/sglang"


def test_a_build_knows_better_than_the_table() -> None:
    patched = Build("sglang", (BuildFlag("cuda-graph-max-bs", type="int"), BuildFlag("mine", Takes.NOTHING)), "0.5.23")
    assert (report(patched, "cuda-graph-max-bs").status, report(patched, "mine").status) == ("ok", "ok")
    assert report(replace(patched, version=None), "num-continuous-decode-steps").status == "unknown"


def test_every_flag_of_a_build_has_a_report() -> None:
    assert [one.name for one in reports(NEW)] == [flag.name for flag in NEW.flags]
    assert {one.status for one in reports(NEW)} == {"ok", "deprecated"}

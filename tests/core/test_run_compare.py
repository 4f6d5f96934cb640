"""Runs in words, and two of them side by side."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from k2tui.core.history import PastLaunch
from k2tui.core.launch import LaunchPhase
from k2tui.core.run_compare import Difference, compare_runs, launches_of
from k2tui.core.run_words import change_words, difference_words, effect_words, ending_words, verdict_word
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.surroundings import Surroundings
from k2tui.core.verdicts import Effect, Outcome, RunVerdict
from k2tui.core.views import ServerView
from tests.core.launches import launch, past

ENGINE = ("python3", "-m", "sglang.launch_server", "--model-path", "/m")


def run(run_id: str = "r1", *flags: str, env: dict[str, str] | None = None, **changes: Any) -> Run:
    usual: dict[str, Any] = {"argv": (*ENGINE, *flags), "env": tuple((env or {}).items())}
    return Run("kimi", run_id, f"/k2/runs/kimi/{run_id}", **{**usual, **changes})


def by_run(*launches: PastLaunch) -> dict[str, PastLaunch]:
    """What is remembered, through a server's view."""
    return launches_of(ServerView(ServerSettings("kimi", "gpu-a"), around=Surroundings(past=launches)))


CHANGES = [
    (("--tp-size", "8"), ("--tp-size", "8"), "no change"),
    ((), ("--reasoning-parser", "qwen3"), "+--reasoning-parser qwen3"),
    (("--disable-cuda-graph",), (), "---disable-cuda-graph"),
    (("--mem-fraction-static", "0.8"), ("--mem-fraction-static", "0.9"), "~--mem-fraction-static 0.8>0.9"),
    (("--numa-bind",), ("--numa-bind", "0"), "~--numa-bind bare>0"),
    (("--tp", "4"), ("--tensor-parallel-size", "4"), "no change"),
]


@pytest.mark.parametrize(("old", "new", "words"), CHANGES, ids=[words for _, _, words in CHANGES])
def test_a_difference_reads_as_one_line(old: tuple[str, ...], new: tuple[str, ...], words: str) -> None:
    said = difference_words(((*ENGINE, *old), {}), ((*ENGINE, *new), {}))
    assert said == words


def test_a_value_of_several_lines_makes_no_row_of_its_own() -> None:
    said = difference_words((ENGINE, {}), ((*ENGINE, "--chat-template", "a\nb"), {"X": "1\n  ok  gpus\x1b[2J"}))
    assert said == "+--chat-template a\\nb  +X=1\\n  ok  gpus [2J"


def test_a_difference_shows_no_secret() -> None:
    said = difference_words((ENGINE, {}), ((*ENGINE, "--api-key", "sk-secret-1234567890"), {"HF_TOKEN": "hf_abcdefgh"}))
    assert said.startswith("+--api-key ")
    assert "secret" not in said
    assert "abcdefgh" not in said


def test_variables_follow_the_flags() -> None:
    old, new = run(env={"NCCL_ALGO": "Ring", "A": "1"}), run("r2", "--tp-size", "8", env={"A": "2", "B": "3"})
    assert change_words(new, old) == "+--tp-size 8  ~A 1>2  +B=3  -NCCL_ALGO"
    assert change_words(old, None) == "the first run that is known"


ENDS = [
    (run(alive=True), "running"),
    (run(is_planned=True, alive=False), "planned"),
    (run(alive=False, stop_asked=True, exit_code=143), "stopped"),
    (run(alive=False), "ended"),
    (run(), "—"),
    (run(alive=False, exit_code=137), "killed by signal 9"),
    (run(alive=False, exit_code=1), "exit 1"),
]


@pytest.mark.parametrize(("one", "words"), ENDS, ids=[words for _, words in ENDS])
def test_how_a_run_ended(one: Run, words: str) -> None:
    assert ending_words(one) == words


PROVED = Effect("reasoning", Outcome.PROVED, "reasoning apart from content", "--reasoning-parser")
MISSING = Effect("reasoning", Outcome.NOT_PROVED, "a tag is left in content", "--reasoning-parser")
DEAD = Effect("flags", Outcome.NO_EFFECT, "parsed and never used", "--num-continuous-decode-steps")


def test_effects_are_named_by_outcome() -> None:
    assert effect_words((PROVED, DEAD, MISSING)) == "proved: reasoning; not proved: reasoning; no effect: flags"
    assert effect_words(()) == ""
    values = [Effect("value", Outcome.PROVED, "as asked", flag) for flag in ("--tp-size", "--dtype", "--dtype")]
    assert effect_words(values) == "proved: --tp-size, --dtype"
    assert [verdict_word(run(verdict=verdict)) for verdict in (None, RunVerdict(True, 1.0, "ok"))] == ["—", "verified"]


def test_two_equal_runs_differ_in_nothing() -> None:
    assert compare_runs(run(), run("r2"), {}) == ()


def test_all_that_differs_is_listed_in_order() -> None:
    verdicts = (
        RunVerdict(False, 1.0, "bad", (MISSING,), "0.5.9", ("models/deepseek_v2.py",)),
        RunVerdict(True, 2.0, "good", (PROVED,), "0.5.23", ()),
    )
    old = run("run-1", "--tp-size", "8", env={"NCCL_PROTO": "LL"}, verdict=verdicts[0], alive=False, exit_code=1)
    new = run("run-2", "--tp-size", "4", "--trust-remote-code", verdict=verdicts[1], alive=True)
    launches = by_run(past(1, weights=10.0), past(2, weights=90.0))
    assert compare_runs(old, new, launches) == (
        Difference("flags", "--tp-size", "8", "4"),
        Difference("flags", "--trust-remote-code", None, ""),
        Difference("environment", "NCCL_PROTO", "LL", None),
        Difference("engine", "version", "0.5.9", "0.5.23"),
        Difference("engine", "modified files", "models/deepseek_v2.py", "none"),
        Difference("launch", "weights", "10 s", "1m30s"),
        Difference("launch", "ready after", "5m03s", "6m23s"),
        Difference("proof", "reasoning (--reasoning-parser)", "not proved: a tag is left in content", "proved"),
        Difference("proof", "verdict", "not verified", "verified"),
        Difference("end", "ended", "exit 1", "running"),
    )


def test_what_is_not_known_of_one_is_a_dash_and_never_zero() -> None:
    rows = compare_runs(run("run-1"), run("run-2"), by_run(past(2)))
    assert {row.words(row.one) for row in rows} == {"—"}
    assert ("ready after", "—", "5m03s") in [(row.name, row.words(row.one), row.words(row.other)) for row in rows]


def test_a_bare_switch_and_an_absent_flag_have_words() -> None:
    row = Difference("flags", "--trust-remote-code", None, "")
    assert (row.words(row.one), row.words(row.other)) == ("absent", "set")


def test_the_version_is_known_from_the_launch_when_nothing_was_proved() -> None:
    launches = by_run(replace(past(1), version="0.5.9"), replace(past(2), version="0.5.23"))
    rows = compare_runs(run("run-1"), run("run-2"), launches)
    assert [(row.one, row.other) for row in rows] == [("0.5.9", "0.5.23")]


def test_the_newest_launch_is_known_from_its_own_log() -> None:
    view = ServerView(ServerSettings("kimi", "gpu-a"), run=run("run-3"), launch=launch(weights=70.0))
    known = launches_of(view)
    assert known["run-3"].phases_s[LaunchPhase.WEIGHTS] == 70.0
    assert known["run-3"].ready_s is not None


def test_a_launch_that_is_on_its_way_has_no_times_yet() -> None:
    view = ServerView(ServerSettings("kimi", "gpu-a"), run=run("run-3"), launch=launch(LaunchPhase.WEIGHTS))
    assert launches_of(view) == {}

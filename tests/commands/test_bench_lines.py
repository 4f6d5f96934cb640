"""`k2tui bench`: what a person reads, said once, and what a wrong word is answered with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.commands.bench_text import result_lines
from k2tui.core.benching.facts import PrefillSlope
from k2tui.core.benching.live import BenchEvent, BenchLive
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem, Spread
from k2tui.core.benching.series import SeriesEvent, SeriesStage, SeriesState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.verbs import VerbEvent
from tests.commands.test_bench import OK, QUICK, ask, documents, kept, name_of, series_plan
from tests.commands.test_verbs import CommandFleet, fleet_of

BARE = BenchResult("20261130T090000Z-0a1b", "kimi", "gpu-a", Procedure.QUICK, 1_764_493_200.0)


def telling(*steps: BenchEvent, result: BenchResult = QUICK) -> CommandFleet:
    fleet = fleet_of(1)
    name = name_of(fleet)
    told = replace(result, subject=name)
    fleet.bench_steps[name] = [
        *(replace(step, subject=name) for step in steps),
        BenchEvent("result", name, 9.4, "measured", result=told),
        BenchEvent("done", name, 9.4, "measured", exit_code=ExitCode.DONE),
    ]
    return fleet


def test_gates_and_notes_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = telling(
        BenchEvent("gate", "", 9.3, "G1 ok: gate 1 held"),
        BenchEvent("note", "", 9.3, "It ended early."),
        BenchEvent("note", "", 9.3, "It could not be kept: the disk is full."),
        result=replace(QUICK, notes=("It ended early.",)),
    )
    ask(fleet, name_of(fleet))
    said = capsys.readouterr().out
    assert [said.count(text) for text in ("gate 1 held", "It ended early.", "It could not be kept")] == [1, 1, 1]
    ask(fleet, name_of(fleet), "--json")
    assert "gate" in {told["type"] for told in documents(capsys)}


def test_a_sweep_is_told_by_its_points(capsys: pytest.CaptureFixture[str]) -> None:
    live = BenchLive("x", Procedure.SWEEP, 0.0, "8 streams")
    one, point = (
        BenchEvent(kind, "", 9.0, text, live=live) for kind, text in (("request", "request 3"), ("point", "8 streams"))
    )
    fleet = telling(one, point)
    ask(fleet, name_of(fleet), "--sweep", "8")
    said = capsys.readouterr().out
    assert "request 3" not in said
    assert "8 streams" in said


def test_a_prefill_slope_tells_its_slope_alone() -> None:
    slope = PrefillSlope(256.0, 8192.0, 20.0, 340.0, 24_800.0, 24_094.0)
    said = list(result_lines(replace(BARE, procedure=Procedure.PREFILL, slope=slope)))
    assert any("24 800 tok/s" in line and "20 ms of 256" in line and "340 ms of 8192" in line for line in said)
    assert not any("one stream" in line for line in said)
    flat = replace(slope, prefill_tps=None)
    assert any(
        "—  the long prompts took no longer than the short ones" in line
        for line in result_lines(replace(BARE, procedure=Procedure.PREFILL, slope=flat))
    )


def test_figures_that_are_missing_for_one_reason_are_one_row() -> None:
    point = BenchPoint(8, agg_tps_total=1310.7, sent=64, spreads={"ttft_any_ms": Spread(64, 110.0)})
    said = list(result_lines(replace(BARE, procedure=Procedure.IMPORTED, points=(point,))))
    assert sum("no single stream was measured" in line for line in said) == 1
    assert any("1310.7" in line for line in said)


def test_a_failure_says_whether_something_was_measured() -> None:
    nothing = "\n".join(result_lines(replace(BARE, error="the server went away")))
    assert "failed: the server went away; nothing was measured until then" in nothing
    assert "one stream" not in nothing
    assert "what was measured until then is kept" in "\n".join(
        result_lines(replace(QUICK, error="the server went away"))
    )


def test_show_tells_the_system_and_each_request(capsys: pytest.CaptureFixture[str]) -> None:
    system = BenchSystem("kimi-k2.5", engine="sglang", version="0.5.23", argv=(("tp-size", "8"),), env=(("A", "b"),))
    result = replace(QUICK, system=system, run_id="run-1")
    assert ask(kept(result), "show", result.bench_id) == 0
    said = capsys.readouterr().out
    for words in ("sglang 0.5.23", "kimi-k2.5", "run-1", "--tp-size 8", "A=b", "TTFT answer", "89.8"):
        assert words in said


def test_a_name_that_nobody_has_is_no_empty_history(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = kept(QUICK)
    with pytest.raises(K2Error) as raised:
        ask(fleet, "history", "kimmy")
    assert raised.value.exit_code is ExitCode.MISSING
    assert name_of(fleet) in str(raised.value.hint)
    assert ask(fleet_of(1), "history", name_of(fleet)) == 0
    assert f"of {name_of(fleet)} yet" in capsys.readouterr().out


def test_a_misspelled_word_is_no_server() -> None:
    with pytest.raises(K2Error) as raised:
        ask(fleet_of(1), "histroy")
    assert "k2tui bench history" in str(raised.value.hint)


@pytest.mark.parametrize("profiles", [("base",), ("base", "base")], ids=["one", "twice"])
def test_an_ab_says_what_it_lacks(profiles: tuple[str, ...]) -> None:
    fleet = fleet_of(1)
    with pytest.raises(K2Error) as raised:
        ask(fleet, "ab", name_of(fleet), *profiles)
    assert "two profiles or more" in str(raised.value)
    assert "profiles: " in str(raised.value.hint)


def test_a_series_of_single_restarts_is_warned_of(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of(1)
    fleet.plans[name_of(fleet)] = replace(series_plan(fleet), restarts=1)
    ask(fleet, "ab", name_of(fleet), "base", "reason", "--dry-run")
    assert "no verdict" in capsys.readouterr().out


def test_a_series_tells_its_milestones_alone(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of(1)
    name = name_of(fleet)
    plan = series_plan(fleet)
    state = SeriesState(plan, (), SeriesStage.DONE)
    steps = {"weights": "4 of 64 files", "started": "it runs as run-1", "effect": "K is 1", "failed": "out of memory"}
    fleet.plans[name_of(fleet)] = plan
    fleet.series_steps[plan.series_id] = [
        *(SeriesEvent("launch", state, 1.0, text, VerbEvent(kind, name, 1.0, text)) for kind, text in steps.items()),
        SeriesEvent("bench", state, 2.0, "90.0 tok/s so far", data={"step": "figure"}),
        SeriesEvent("bench", state, 2.0, "the node is lost", data={"trial": 1}),
        SeriesEvent("done", state, 3.0, "nothing was measured", exit_code=ExitCode.BAD),
    ]
    ask(fleet, "ab", name, "base", "reason")
    said = capsys.readouterr().out
    assert [text in said for text in steps.values()] == [False, True, False, True]
    assert "so far" not in said
    assert "the node is lost" in said
    assert said.count("nothing was measured") == 1


def test_the_gates_of_a_quick_figure_stand_in_its_lines() -> None:
    assert sum(gate.reason in line for gate in OK for line in result_lines(QUICK)) == len(OK)

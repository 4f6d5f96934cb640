"""`k2tui bench`: what the options ask for, and how results, verdicts and series are told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from k2tui.adapters.scripts import script
from k2tui.commands import bench
from k2tui.commands.arguments import UsageError, build_parser, plain_names
from k2tui.commands.bench_run import plan_of, prompts_of
from k2tui.commands.wires import Wires
from k2tui.core.benching.comparison import Answer, Changed, Comparison, MetricRow
from k2tui.core.benching.facts import RequestFigures
from k2tui.core.benching.live import BenchEvent
from k2tui.core.benching.plan import BenchPlan, CachePolicy, Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, GateResult
from k2tui.core.benching.series import Arm, SeriesEvent, SeriesPlan, SeriesStage, SeriesState, Trial, TrialState
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import MatrixSettings, Settings
from k2tui.core.verbs import ProfileChange
from k2tui.services.fleet import Fleet
from tests.commands.test_verbs import CommandFleet, fleet_of

OK = tuple(GateResult(f"G{number}", True, f"gate {number} held") for number in range(1, 8))
REQUESTS = tuple(
    RequestFigures(1, number, float(number), osl=256, decode_tps=value, ttft_any_ms=180.0, finish="length")
    for number, value in enumerate((89.8, 90.0, 90.2))
)
QUICK = BenchResult(
    "20261130T090000Z-0a1b",
    "server-a",
    "gpu-a",
    Procedure.QUICK,
    1_764_493_200.0,
    tool_version="0.1",
    formula_set="k2-1",
    profile="reason",
    elapsed_s=9.4,
    decode_tps=90.0,
    decode_tps_min=89.8,
    decode_tps_max=90.2,
    decode_tps_cv=0.0022,
    decode_tps_low=89.5,
    decode_tps_high=90.5,
    e2e_tps=84.7,
    ttft_any_ms=180.0,
    tpot_ms=11.11,
    points=(BenchPoint(1, agg_tps_total=84.0, decode_tps=90.0, sent=3),),
    requests=REQUESTS,
    gates=OK,
)
RED = (*OK[:2], GateResult("G3", False, "41 % of the prompt tokens came out of the cache"), *OK[3:])


def measuring(result: BenchResult = QUICK) -> CommandFleet:
    """A fleet whose first server gives this result."""
    fleet = fleet_of(1)
    name = next(iter(fleet.settings.servers))
    result = replace(result, subject=name)
    code = ExitCode.DONE if result.valid else ExitCode.BAD
    fleet.bench_steps[name] = [
        BenchEvent("connected", name, 0.4, "3 connections are open"),
        BenchEvent("figure", name, 3.1, "89.9 tok/s of one stream so far"),
        BenchEvent("result", name, 9.4, "quick: 90.0 tok/s of one stream", result=result),
        BenchEvent("done", name, 9.4, "quick: 90.0 tok/s of one stream", exit_code=code),
    ]
    return fleet


def ask(fleet: CommandFleet, *words: str) -> int:
    args = build_parser().parse_args(plain_names(["bench", *words]))
    wires = Wires(settings=lambda: fleet.settings, fleet=lambda _: cast(Fleet, fleet), script=script)
    return bench.main(args, wires)


def name_of(fleet: CommandFleet) -> str:
    return next(iter(fleet.settings.servers))


def documents(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


# ---- what is asked for


def planned(*words: str) -> BenchPlan:
    return plan_of(build_parser().parse_args(plain_names(["bench", "kimi", *words])))


def test_a_bare_server_is_a_quick_figure() -> None:
    assert planned() == BenchPlan()


def test_the_options_say_what_is_measured() -> None:
    swept = planned("--sweep", "1, 2,4,2", "--hold", "2m", "--max-tokens", "64", "--cache", "cold", "--seed", "5")
    assert (swept.procedure, swept.concurrencies, swept.hold_s) == (Procedure.SWEEP, (1, 2, 4), 120.0)
    assert (swept.max_tokens, swept.policy, swept.seed) == (64, CachePolicy.COLD, 5)
    slope = planned("--prefill", "--lengths", "128,1024", "--repeats", "4")
    assert (slope.procedure, slope.prompt_lengths, slope.repeats) == (Procedure.PREFILL, (128, 1024), 4)
    full = planned("--full", "--client", "python", "--", "--num-prompts", "6")
    assert (full.procedure, full.full_client) == (Procedure.FULL, "python")
    assert full.full_args == ("--num-prompts", "6")


@pytest.mark.parametrize(
    "words",
    [("--sweep", "1,x"), ("--sweep", "0"), ("--lengths", "9,3"), ("--repeats", "0"), ("--quick", "--full")],
    ids=" ".join,
)
def test_a_wrong_word_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        planned(*words)


def test_words_of_another_program_need_a_full_run() -> None:
    with pytest.raises(K2Error) as raised:
        planned("--", "--num-prompts", "6")
    assert raised.value.exit_code is ExitCode.USAGE


def test_prompts_are_lines_or_json(tmp_path: Path) -> None:
    file = tmp_path / "prompts"
    file.write_text('Plain text.\n\n"a JSON \\n string"\n{"prompt": "of an object"}\n{"text": "another"}\n17\n')
    assert prompts_of(str(file)) == ("Plain text.", "a JSON \n string", "of an object", "another", "17")


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe\n"], ids=["missing", "empty", "no text"])
def test_a_file_without_prompts_is_said(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "prompts"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(K2Error) as raised:
        prompts_of(str(file))
    assert raised.value.exit_code is ExitCode.USAGE
    assert raised.value.hint


@pytest.mark.parametrize("words", [("history",), ("series",), ("compare", "a", "b")], ids=" ".join)
def test_the_words_of_bench_itself_are_no_servers(words: tuple[str, ...]) -> None:
    assert build_parser().parse_args(plain_names(["bench", *words])).action == words[0]


# ---- how it is told


def test_a_quick_figure_is_told_with_its_names_and_units(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = measuring()
    assert ask(fleet, name_of(fleet)) == 0
    said = capsys.readouterr().out
    assert "one stream, without prefill" in said
    assert "90.0 tok/s" in said
    assert "±0.5 (95 % over 3 requests)" in said
    assert "valid: it may be compared" in said


def test_the_last_document_is_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = measuring()
    assert ask(fleet, name_of(fleet), "--json") == 0
    told = documents(capsys)
    assert [document["type"] for document in told] == ["connected", "figure", "result"]
    assert told[-1]["decode_tps"] == 90.0
    assert told[-1]["valid"] is True
    assert [gate["id"] for gate in told[-1]["gates"]] == [f"G{number}" for number in range(1, 8)]


def test_what_is_missing_is_null_and_a_dash_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = measuring()
    ask(fleet, name_of(fleet), "--json")
    assert documents(capsys)[-1]["ttft_answer_ms"] is None
    ask(fleet, name_of(fleet))
    [line] = [line for line in capsys.readouterr().out.splitlines() if "first token of the answer" in line]
    assert "—" in line
    assert "reasoning or tool calls alone" in line
    assert "0" not in line.partition("—")[2]


def test_a_red_gate_is_told_and_the_exit_code_is_1(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = measuring(replace(QUICK, gates=RED))
    assert ask(fleet, name_of(fleet)) == 1
    said = capsys.readouterr().out
    assert "G3 RED  41 % of the prompt tokens" in said
    assert "never compared" in said


def test_a_failed_run_says_why_and_keeps_its_figures(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = measuring(replace(QUICK, error="the server is gone: connection refused"))
    assert ask(fleet, name_of(fleet)) == 1
    said = capsys.readouterr().out
    assert "failed: the server is gone" in said
    assert "90.0 tok/s" in said


def test_a_sweep_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    points = tuple(BenchPoint(c, agg_tps_steady=80.0 * c, agg_tps_total=70.0 * c, steady=c < 8, sent=9) for c in (1, 8))
    fleet = measuring(replace(QUICK, procedure=Procedure.SWEEP, points=points))
    ask(fleet, name_of(fleet))
    said = capsys.readouterr().out
    assert "640.0" in said
    assert "not steady" in next(line for line in said.splitlines() if "640.0" in line)


def test_a_server_that_does_not_answer_is_an_error() -> None:
    fleet = fleet_of(1)
    with pytest.raises(K2Error) as raised:
        ask(fleet, name_of(fleet))
    assert raised.value.exit_code is ExitCode.MISSING


def test_no_question_of_ours_runs_beside_a_measurement() -> None:
    fleet, seen = measuring(), list[Settings]()

    def made(settings: Settings) -> Fleet:
        seen.append(settings)
        return cast(Fleet, fleet)

    args = build_parser().parse_args(plain_names(["bench", name_of(fleet)]))
    bench.main(args, Wires(settings=lambda: fleet.settings, fleet=made, script=script))
    assert [settings.probe_generate for settings in seen] == ["never"]


def test_a_key_from_the_shell_is_for_urls() -> None:
    fleet = measuring()
    with pytest.raises(K2Error, match="profile"):
        ask(fleet, name_of(fleet), "--api-key-env", "KEY")
    with pytest.raises(K2Error, match="NO_SUCH_KEY"):
        ask(fleet, "http://127.0.0.1:1", "--api-key-env", "NO_SUCH_KEY")


# ---- what was measured


def kept(*results: BenchResult) -> CommandFleet:
    fleet = fleet_of(1)
    fleet.measured.extend(results or (QUICK,))
    return fleet


def test_the_history_names_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(kept(QUICK, replace(QUICK, gates=RED, bench_id="x-1")), "history") == 0
    head, first, second = capsys.readouterr().out.splitlines()
    assert "FIGURE" in head
    assert "90.0 tok/s of one stream" in first
    assert "red: G3" in second


def test_an_empty_history_says_how_it_is_filled(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(fleet_of(1), "history") == 0
    assert "k2tui bench SERVER" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["json", "csv", "md"])
def test_the_history_can_be_taken_away(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(kept(), "history", "--export", form) == 0
    said = capsys.readouterr().out
    assert QUICK.bench_id in said
    assert "90" in said


def test_one_benchmark_is_shown_by_a_part_of_its_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert ask(kept(), "show", "0a1b", "--json") == 0
    assert documents(capsys)[0]["bench_id"] == QUICK.bench_id
    with pytest.raises(K2Error):
        ask(kept(), "show", "ffff")


COMPARISON = Comparison(
    Answer.FASTER,
    "B is faster: 90.0 against 63.6 tok/s of one stream",
    ratio=1.415,
    low=1.39,
    high=1.44,
    basis="restarts",
    restarts_a=3,
    restarts_b=3,
    changes=(Changed("NCCL_PROTO", None, "LL"),),
    rows=(
        MetricRow("decode_tps", "tok/s of one stream", 63.6, 90.0, True),
        MetricRow("ttft_answer_ms", "TTFT of the answer", None, 310.0, False, "A had no answer"),
    ),
)


@pytest.mark.parametrize(
    ("answer", "code"),
    [(Answer.FASTER, 0), (Answer.SAME, 0), (Answer.SLOWER, 1), (Answer.INCONCLUSIVE, 1), (Answer.NONE, 1)],
    ids=lambda value: getattr(value, "value", value),
)
def test_a_verdict_is_an_exit_code(answer: Answer, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    fleet = kept()
    fleet.comparisons["a", "b"] = replace(COMPARISON, answer=answer)
    assert ask(fleet, "compare", "a", "b", "--json") == code
    [told] = documents(capsys)
    assert told["answer"] == answer.value
    assert told["changes"] == [{"name": "NCCL_PROTO", "a": None, "b": "LL"}]


def test_a_verdict_is_told_with_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = kept()
    fleet.comparisons["a", "b"] = replace(COMPARISON, confounded=True, left_out=("x-1: G3 is red",))
    ask(fleet, "compare", "a", "b")
    said = capsys.readouterr().out
    for words in ("B is faster", "NCCL_PROTO: not set → LL", "confounded", "×1.415", "A had no answer", "G3 is red"):
        assert words in said
    assert "0.0" not in said.partition("TTFT of the answer")[2].partition("310")[0]


def test_a_base_is_set_and_taken_away(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = kept()
    assert ask(fleet, "base", "server-a", "0a1b") == 0
    assert ask(fleet, "base", "server-a", "none") == 0
    assert fleet.bases == [("server-a", QUICK.bench_id), ("server-a", None)]
    assert "has no base now" in capsys.readouterr().out


# ---- series


def series_plan(fleet: CommandFleet, **changes: Any) -> SeriesPlan:
    arms = (Arm("LL", ProfileChange(profile="a")), Arm("Simple", ProfileChange(profile="b")))
    plan = SeriesPlan("20261130T090000Z-5e1e", "nccl", name_of(fleet), "gpu-a", arms, restarts=2, order=(0, 1, 1, 0))
    return replace(plan, **changes)


def test_a_dry_run_shows_order_and_cost_and_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of(1)
    fleet.plans[name_of(fleet)] = series_plan(fleet, launch_s=60.0, confirm_needed="2 requests are running")
    assert ask(fleet, "ab", name_of(fleet), "a", "b", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "2 configurations × 2 restarts" in said
    assert "needs --confirm gpu-a" in said
    assert ask(fleet, "ab", name_of(fleet), "a", "b", "--dry-run", "--json") == 0
    assert documents(capsys)[0]["order"] == ["LL", "Simple", "Simple", "LL"]


def test_a_series_is_told_step_by_step_and_ends_with_its_table(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of(1)
    name = name_of(fleet)
    fleet.settings = replace(
        fleet.settings, matrices={"nccl": MatrixSettings("nccl", name, env={"NCCL_PROTO": ("LL",)})}
    )
    plan = series_plan(fleet)
    trials = tuple(
        Trial(number, arm, TrialState.MEASURED, f"run-{number}", decode_tps=(90.0, 63.6)[arm] + number / 10, valid=True)
        for number, arm in enumerate(plan.order, 1)
    )
    state = SeriesState(plan, trials, SeriesStage.DONE, left="left as found")
    fleet.plans["nccl"] = plan
    fleet.series_steps[plan.series_id] = [
        SeriesEvent("trial", state, 1.0, "trial 1 of 4: LL"),
        SeriesEvent("done", state, 600.0, "4 trials; left as found", exit_code=ExitCode.DONE),
    ]
    assert ask(fleet, "matrix", "nccl") == 0
    said = capsys.readouterr().out
    assert said.index("trial 1 of 4") < said.index("left as found")
    assert said.index("1  LL") < said.index("2  Simple")
    assert "best is LL: 90.2 tok/s of one stream" in said
    assert ask(fleet, "matrix", "nccl", "--json") == 0
    told = documents(capsys)
    assert told[-1]["exit_code"] == 0
    assert told[-1]["state"]["stage"] == "done"


def test_a_matrix_that_the_config_has_not_is_said() -> None:
    with pytest.raises(K2Error) as raised:
        ask(fleet_of(1), "matrix", "nccl")
    assert raised.value.code == "no_such_matrix"
    assert raised.value.exit_code is ExitCode.MISSING


def test_an_interrupted_series_is_listed_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of(1)
    plan = series_plan(fleet)
    fleet.series_kept.append(SeriesState(plan, (Trial(1, 0), Trial(2, 1, TrialState.MEASURED)), owner=None))
    assert ask(fleet, "series") == 0
    assert "interrupted" in capsys.readouterr().out
    fleet.series_steps[plan.series_id] = [
        SeriesEvent("done", fleet.series_kept[0], 1.0, "left as found", exit_code=ExitCode.DONE)
    ]
    assert ask(fleet, "resume", "5e1e", "--continue") == 0
    with pytest.raises(K2Error):
        ask(fleet, "resume", "ffff", "--end")

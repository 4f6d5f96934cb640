"""The commands that change servers, on a fleet that behaves."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from k2tui.adapters.scripts import script
from k2tui.commands import runs as runs_command
from k2tui.commands import verbs
from k2tui.commands.arguments import UsageError, build_parser, plain_names
from k2tui.commands.output import Output
from k2tui.commands.wires import Wires
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.preflight import Preflight, PreflightItem, Weight
from k2tui.core.verbs import Manner, OnFailure, ProfileChange, VerbEvent
from k2tui.services.fleet import Fleet
from tests.fakes.fleet import settings_of
from tests.ui.tried import TriedFleet, history, interrupted, proof, tried
from tests.ui.working import found


class CommandFleet(TriedFleet):
    """What a plain command is handed: nodes that can be connected to, or can't."""

    unreachable: K2Error | None = None
    """Why no node is reached."""

    async def settle(self, names: Iterable[str] | None = None, *, limit_s: float = 30.0) -> None: ...

    def link(self, node: str, **changes: Any) -> Any:
        """As for tests; without changes the connection itself."""
        return super().link(node, **changes) if changes else self

    async def connect(self) -> None:
        if self.unreachable is not None:
            raise self.unreachable


def fleet_of(count: int = 1, **options: Any) -> CommandFleet:
    made = tried(count, **options)
    made.__class__ = CommandFleet
    return cast(CommandFleet, made)


def run(fleet: CommandFleet, *words: str) -> int:
    args = build_parser().parse_args(list(words))
    wires = Wires(settings=lambda: fleet.settings, fleet=lambda _: cast(Fleet, fleet), script=script)
    main = runs_command.main if args.command == "runs" else verbs.main
    return main(args, wires)


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def refused(fleet: CommandFleet, *words: str) -> K2Error:
    with pytest.raises(K2Error) as raised:
        run(fleet, *words)
    return raised.value


# ---- how a launch is done


MANNERS = [
    ((), Manner(why="restart")),
    (("--on-failure", "rollback"), Manner(why="restart", on_failure=OnFailure.ROLLBACK)),
    (("--on-failure", "leave", "--drain", "2m"), Manner(120.0, OnFailure.LEAVE, "restart")),
    (("--drain", "90", "--force"), Manner(90.0, why="restart", force=True)),
]


@pytest.mark.parametrize(("words", "manner"), MANNERS, ids=[" ".join(words) or "none" for words, _ in MANNERS])
def test_the_options_say_how_and_the_config_says_the_rest(words: tuple[str, ...], manner: Manner) -> None:
    fleet = fleet_of()
    assert run(fleet, "restart", "kimi", *words) == 0
    assert fleet.manners == [manner]


def test_what_the_config_says_of_failures_and_draining_holds_where_nothing_is_said() -> None:
    settings = settings_of()
    servers = {name: replace(one, on_failure="rollback", drain_s=30.0) for name, one in settings.servers.items()}
    fleet = fleet_of(servers=servers)
    run(fleet, "start", "kimi")
    assert fleet.manners == [Manner(30.0, OnFailure.ROLLBACK, "start")]


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "s"])
def test_a_time_that_is_none_is_told(text: str) -> None:
    with pytest.raises(UsageError, match="is no time"):
        build_parser().parse_args(["restart", "kimi", f"--drain={text}"])


def test_a_launch_begins_from_an_earlier_run() -> None:
    fleet = fleet_of()
    runs = history(fleet)
    assert run(fleet, "restart", "kimi", "--run", runs[3].run_id, "--set", "tp-size=4") == 0
    assert [change for _, _, change, _ in fleet.asked] == [ProfileChange(run=runs[3].run_id, set={"tp-size": "4"})]


@pytest.mark.parametrize("from_file", [True, False])
def test_a_launch_begins_from_a_command_line(from_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = "NCCL_PROTO=LL python3 -m sglang.launch_server --model-path /m \\\n --tp-size 2\n"
    (tmp_path / "cmd").write_text(command, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.StringIO(command))
    fleet = fleet_of()
    assert run(fleet, "start", "kimi", "--cmd", str(tmp_path / "cmd") if from_file else "-") == 0
    assert fleet.asked[0][2].cmd == command
    assert "--tp-size" in fleet.server("kimi").runs[0].argv


def test_a_command_line_that_cant_be_read_is_told(tmp_path: Path) -> None:
    error = refused(fleet_of(), "start", "kimi", "--cmd", str(tmp_path / "nothing"))
    assert error.exit_code is ExitCode.USAGE
    assert "can't be read" in error.message


def test_two_beginnings_are_one_too_many() -> None:
    error = refused(fleet_of(), "restart", "kimi", "--run", "r1", "--profile", "base")
    assert error.message == "--profile and --run both say what to begin from"


def test_a_failure_that_is_left_says_how_to_go_back(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    fleet.fails["kimi"] = "r7"
    assert run(fleet, "restart", "kimi") == 1
    assert "it is left as it is; k2tui restart kimi --run r7 goes back" in capsys.readouterr().out


def test_the_way_back_is_data_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    fleet.fails["kimi"] = "r7"
    assert run(fleet, "restart", "kimi", "--json") == 1
    assert lines(capsys)[-1] | {"elapsed_s": 0} == {
        "type": "done",
        "server": "kimi",
        "elapsed_s": 0,
        "text": "kimi answers, and reasoning is not apart from content",
        "back_to": "r7",
        "exit_code": 1,
    }


# ---- several


def test_several_are_restarted_one_after_the_other_up_to_the_first_that_fails(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = fleet_of(3)
    fleet.fails["kimi-2"] = None
    assert run(fleet, "restart", "kimi", "kimi-2", "kimi-3", "--json") == 1
    last = lines(capsys)[-1]
    assert (last["verified"], last["failed"], last["untouched"]) == (["kimi"], ["kimi-2"], ["kimi-3"])
    assert [name for _, name, _, _ in fleet.asked] == ["kimi", "kimi-2"]


def test_several_are_told_by_name_with_the_sum_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(fleet_of(2), "restart", "kimi", "kimi-2", "--env", "NCCL_PROTO=LL128") == 0
    out = capsys.readouterr().out.splitlines()
    assert any("kimi-2  started" in line for line in out)
    assert out[-1] == "2 of 2 are verified"


def test_a_server_that_is_named_twice_is_restarted_once() -> None:
    fleet = fleet_of()
    assert run(fleet, "restart", "kimi", "kimi") == 0
    assert len(fleet.asked) == 1


def test_several_nodes_are_confirmed_with_commas() -> None:
    fleet = fleet_of(2)
    run(fleet, "restart", "kimi", "kimi-2", "--confirm", "gpu-a,gpu-b")
    assert [confirm for *_, confirm in fleet.asked] == ["gpu-a", "gpu-b"]


@pytest.mark.parametrize("option", [("--run", "r1"), ("--no-wait",), ("--no-verify",)])
def test_what_is_for_one_server_is_refused_for_several(option: tuple[str, ...]) -> None:
    error = refused(fleet_of(2), "restart", "kimi", "kimi-2", *option)
    assert error.message == f"{option[0]} is for one server"


def test_a_server_that_is_not_there_is_told_before_any_is_touched() -> None:
    fleet = fleet_of(2)
    assert refused(fleet, "restart", "kimi", "nope").exit_code is ExitCode.MISSING
    assert fleet.asked == []


# ---- going back, proving, ending what was interrupted, adopting


def test_undo_restarts_what_was_verified_before() -> None:
    fleet = fleet_of()
    runs = history(fleet)
    fleet.undo_to["kimi"] = runs[1].run_id
    assert run(fleet, "undo", "kimi") == 0
    assert [(verb, change) for verb, _, change, _ in fleet.asked] == [("restart", ProfileChange(run=runs[1].run_id))]
    assert fleet.manners == [Manner(why="undo")]


def test_undo_of_nothing_is_exit_3_and_says_why() -> None:
    error = refused(fleet_of(), "undo", "kimi")
    assert (error.exit_code, error.code) == (ExitCode.MISSING, "no_way_back")
    assert "no run of kimi with other settings was verified" in error.message
    assert "k2tui runs kimi" in (error.hint or "")


def test_verify_is_0_only_when_all_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    assert run(fleet, "verify", "kimi") == 0
    fleet.proofs["kimi"] = proof()
    assert run(fleet, "verify", "kimi", "--json") == 1
    assert '"tools is not proved"' in capsys.readouterr().out


@pytest.mark.parametrize(("option", "verb"), [("--continue", "go_on"), ("--undo", "take_back")])
def test_an_interrupted_restart_is_continued_or_undone(option: str, verb: str) -> None:
    fleet = fleet_of()
    interrupted(fleet)
    assert run(fleet, "resume", "kimi", option, "--confirm", "gpu-a") == 0
    assert [(asked, confirm) for asked, _, _, confirm in fleet.asked] == [(verb, "gpu-a")]


@pytest.mark.parametrize(
    ("plans", "last", "is_told"),
    [(True, "drain", True), (True, "preflight", False), (True, "progress", False), (False, "stopping", False)],
)
def test_a_restart_that_is_interrupted_half_done_says_how_to_go_on(
    plans: bool, last: str, is_told: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    async def steps() -> AsyncIterator[VerbEvent]:
        yield VerbEvent(last, "kimi", 0.5, "2 requests are running")
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(verbs._stream(steps(), Output(as_json=False), until_started=False, plans=plans))
    said = "the restart of kimi is half done: k2tui resume kimi --continue ends it, --undo takes it back"
    assert (said in capsys.readouterr().err) is is_told


def test_resume_wants_to_know_which_way() -> None:
    with pytest.raises(UsageError, match="--continue"):
        build_parser().parse_args(["resume", "kimi"])


def test_a_found_server_is_adopted_by_its_name() -> None:
    fleet = fleet_of()
    fleet.find("vllm-8000", found())
    assert run(fleet, "adopt", "vllm-8000", "--confirm", "gpu-a") == 0
    assert [(verb, name, confirm) for verb, name, _, confirm in fleet.asked] == [("adopt", "vllm-8000", "gpu-a")]


# ---- dry runs


BLOCKED = Preflight(
    (
        PreflightItem("ssh", Weight.FINE, "ssh ok"),
        PreflightItem("port", Weight.BLOCK, "port 30000 is held by pid 77", "stop it, or take another port"),
    )
)


def test_a_dry_run_shows_what_changes_who_said_so_and_what_stands_in_its_way(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = fleet_of()
    fleet.preflights["kimi"] = BLOCKED
    assert run(fleet, "restart", "kimi", "--dry-run", "--set", "mem-fraction-static=0.88", "--unset", "NCCL_ALGO") == 0
    out = capsys.readouterr().out
    assert "~ --mem-fraction-static 0.9 -> 0.88" in out
    assert "- NCCL_ALGO" in out
    assert "NO  port     port 30000 is held by pid 77; stop it, or take another port" in out
    assert f"stops run {fleet.server('kimi').runs[0].run_id} first" in out
    assert fleet.asked == []


def test_a_value_of_several_lines_is_one_row_of_a_dry_run(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    assert run(fleet, "restart", "kimi", "--dry-run", "--env", "X=1\n    ok  gpus  free") == 0
    assert "+ X=1\\n    ok  gpus  free" in capsys.readouterr().out


def test_a_dry_run_of_a_server_that_never_ran_compares_with_its_own_profile(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = fleet_of()
    fleet.set("kimi", run=None, runs=())
    assert run(fleet, "start", "kimi", "--dry-run", "--set", "tp-size=4") == 0
    assert "~ --tp-size 8 -> 4" in capsys.readouterr().out


def test_a_dry_run_for_programs_is_the_whole_plan(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    fleet.preflights["kimi"] = BLOCKED
    assert run(fleet, "restart", "kimi", "--dry-run", "--env", "NCCL_PROTO=LL128", "--json") == 0
    (plan,) = lines(capsys)
    changed = [one for one in plan["settings"] if one["kind"] != "same"]
    assert [(one["name"], one["old"], one["new"], one["kind"]) for one in changed] == [
        ("NCCL_PROTO", "LL", "LL128", "changed")
    ]
    assert plan["would_start"] is False
    assert plan["preflight"][1] == {
        "name": "port",
        "weight": "block",
        "text": "port 30000 is held by pid 77",
        "hint": "stop it, or take another port",
    }
    assert plan["unreachable"] is None


def test_a_dry_run_of_a_node_out_of_reach_says_so_and_still_shows_the_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fleet = fleet_of()
    fleet.unreachable = K2Error("gpu-a: no answer in 10 s", code="timeout", exit_code=ExitCode.UNREACHABLE)
    assert run(fleet, "start", "kimi", "--dry-run", "--json") == 0
    (plan,) = lines(capsys)
    assert (plan["preflight"], plan["would_start"], plan["unreachable"]) == (None, None, "gpu-a: no answer in 10 s")
    assert "--model-path" in plan["command"]


def test_a_dry_run_of_an_undo_shows_what_it_would_go_back_to(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    runs = history(fleet)
    fleet.undo_to["kimi"] = runs[1].run_id
    assert run(fleet, "undo", "kimi", "--dry-run") == 0
    out = capsys.readouterr().out
    assert f"kimi on gpu-a, as run {runs[1].run_id}; nothing was done" in out
    assert "~ --mem-fraction-static 0.88 -> 0.9" in out
    assert fleet.asked == []


# ---- runs


def test_runs_are_told_with_what_each_changed(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    history(fleet)
    assert run(fleet, "runs", "kimi") == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["STARTED", "SERVER", "RUN", "WHY", "READY", "PROOF", "ENDED", "CHANGED"]
    assert "~--mem-fraction-static 0.9>0.88" in out[1]
    assert "exit 1" in out[3]


def test_runs_for_programs_hold_diff_phases_verdict_and_end(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    runs = history(fleet)
    assert run(fleet, "runs", "--json") == 0
    (document,) = lines(capsys)
    newest, _, failed, first = document["runs"]
    assert newest["run_id"] == runs[0].run_id
    assert newest["compared_with"] == runs[1].run_id
    assert {one["name"] for one in newest["changed"]} == {"--mem-fraction-static", "NCCL_PROTO"}
    assert newest["verdict"]["verified"] is False
    assert newest["verdict"]["modified"] == ["models/deepseek_v2.py", "layers/moe.py"]
    assert newest["phases_s"]["weights"] > 0
    assert (failed["end"], failed["exit_code"], failed["verdict"], failed["phases_s"]) == ("exit 1", 1, None, None)
    assert (first["compared_with"], first["changed"]) == (None, [])


def test_two_runs_are_compared_the_older_one_first(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    runs = history(fleet)
    assert run(fleet, "runs", "--compare", runs[0].run_id, "120000Z", "--json") == 0
    (document,) = lines(capsys)
    assert (document["one"], document["other"]) == (runs[2].run_id, runs[0].run_id)
    assert ("flags", "--disable-cuda-graph", "", None) in [tuple(row.values()) for row in document["differences"]]


def test_runs_that_are_the_same_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    fleet = fleet_of()
    runs = history(fleet)
    assert run(fleet, "runs", "kimi", "--compare", runs[0].run_id, runs[0].run_id) == 0
    assert "the same in all that is known" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("asked", "said"), [("nope", "there is no run nope"), ("2026", "several runs are called 2026")]
)
def test_a_run_that_is_not_clear_is_exit_3(asked: str, said: str) -> None:
    fleet = fleet_of()
    history(fleet)
    error = refused(fleet, "runs", "--compare", asked, asked)
    assert (error.message, error.exit_code) == (said, ExitCode.MISSING)


@pytest.mark.parametrize(
    "words",
    [
        ["restart", "kimi"],
        ["restart", "kimi", "kimi-2"],
        ["undo", "kimi"],
        ["stop", "kimi"],
        ["resume", "kimi", "--continue"],
        ["resume", "kimi", "--undo"],
        ["adopt", "kimi", "--confirm", "gpu-a"],
    ],
    ids=" ".join,
)
def test_read_only_refuses_every_verb(words: list[str]) -> None:
    fleet = fleet_of(2, read_only=True)
    runs = history(fleet)
    interrupted(fleet)
    fleet.undo_to["kimi"] = runs[1].run_id
    assert refused(fleet, *words).code == "read_only"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["flags", "kimi", "--tp-size", "--json"], ["flags", "kimi", "tp-size", "--json"]),
        (["--config", "flags", "flags", "kimi", "--tp-size"], ["--config", "flags", "flags", "kimi", "tp-size"]),
        (["restart", "flags", "--json"], ["restart", "flags", "--json"]),
        (["--version"], ["--version"]),
    ],
)
def test_a_flag_of_the_engine_may_be_typed_with_its_dashes(typed: list[str], read: list[str]) -> None:
    assert plain_names(typed) == read

"""The keeper of runs says in an operator's words what the node said in a script's."""

from __future__ import annotations

from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.settings import LaunchProfile, NodeSettings, ServerSettings
from k2tui.core.verdicts import RunVerdict
from k2tui.services.runs import RunKeeper, RunScripts, port_of
from tests.core.test_runs import FIRST, STATE, told
from tests.fakes.shell_link import AnswerLink

SERVER = ServerSettings("kimi", "gpu-a", port=30000, gpus=(3, 0, 0), setup=". /venv/activate")
PROFILE = LaunchProfile("reason", ("python3", "-m", "sglang.launch_server"), {}, setup=". /venv/activate")
OWNER = "what port 30000\nserver kimi\nrun R1\npid 77\nstage running\nwho ada@desk\n"


def keeper(answer: str | bytes) -> tuple[RunKeeper, AnswerLink]:
    data = answer.encode() if isinstance(answer, str) else answer
    link = AnswerLink(Path("/none"), answer=lambda _: data)
    return RunKeeper(link, NodeSettings("gpu-a", "gpu-a", home="/data/k2tui"), RunScripts(script)), link


async def refused(answer: str) -> K2Error:
    runs, _ = keeper(answer)
    with pytest.raises(K2Error) as error:
        await runs.launch(SERVER, PROFILE, started_by="bob@desk")
    assert error.value.subject == "kimi"
    assert error.value.exit_code is ExitCode.BAD
    return error.value


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (
            f"refused already_running\n{OWNER}",
            "already_running",
            ["port 30000", "gpu-a", "run R1", "pid 77", "restart"],
        ),
        (
            f"refused already_running\n{OWNER.replace('kimi', 'qwen')}",
            "already_running",
            ["held by qwen", "stop qwen first"],
        ),
        (
            f"refused already_running\n{OWNER.replace('running', 'orphaned')}",
            "already_running",
            ["supervisor is gone", "k2tui stop kimi"],
        ),
        (f"refused start_in_progress\n{OWNER}", "start_in_progress", ["in progress", "R1", "ada@desk"]),
        (
            f"refused gpus_taken\n{OWNER.replace('port 30000', 'GPU 3').replace('kimi', 'qwen')}",
            "gpus_taken",
            ["GPU 3", "qwen", "other gpus"],
        ),
        ("refused port_taken\npid 9\ncommand nc -l\n", "port_taken", ["port 30000", "pid 9 (nc -l)", "another port"]),
        ("refused port_taken\npid \ncommand \n", "port_taken", ["another user's process"]),
        ("refused no_cwd\ndetail /root/x\n", "no_cwd", ["/root/x", "[servers.kimi]"]),
        ("refused no_program\ndetail python9\n", "no_program", ["python9", "setup"]),
        (
            "refused setup_failed\nrun R1\nstatus 3\ndetail no venv\n",
            "launch_failed",
            ["exit 3", "no venv", "/venv/activate"],
        ),
        ("refused launch_failed\ndetail no setsid\n", "launch_failed", ["no setsid"]),
    ],
)
async def test_a_refusal_is_one_sentence_and_a_way_out(answer: str, code: str, words: list[str]) -> None:
    error = await refused(answer)
    assert error.code == code
    assert not [word for word in words if word not in str(error)]


async def test_a_launch_that_breaks_off_is_no_run() -> None:
    assert (await refused("launched\n")).code == "launch_failed"


async def test_a_refusal_shows_no_secret() -> None:
    token = "hf_abcdefGHIJKLmnop12345678"
    runs, _ = keeper(f"refused setup_failed\nstatus 1\ndetail login {token} refused\n")
    profile = LaunchProfile("p", ("x",), {}, setup=f"login {token}", secrets=frozenset({token}))
    with pytest.raises(K2Error) as error:
        await runs.launch(SERVER, profile, started_by="bob@desk")
    assert token not in str(error.value)


async def test_a_launch_tells_the_node_what_to_lock() -> None:
    runs, link = keeper(b"launched\n" + told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}"))
    await runs.launch(SERVER, PROFILE, started_by="bob smith@desk")
    name, args, stdin = link.told[0]
    assert name == "launch"
    assert args[:4] == ("/data/k2tui", "kimi", "30000", "0 3")
    assert args[7] == "bob_smith@desk"
    assert b"sglang.launch_server" in stdin


async def test_a_plan_tells_the_node_what_it_is_to_be_begun_with() -> None:
    runs, link = keeper(b"planned\n" + told(f"run p {FIRST}", f"{FIRST}/spec.json:{{}}"))
    run = await runs.prepare(SERVER, PROFILE, started_by="ada@desk", why="try", replaces="R 0")
    name, args, stdin = link.told[0]
    assert (name, args[3], args[7:]) == ("prepare", "0 3", ("ada@desk", "setsid", "k2tui-kimi", "R_0"))
    assert b'"why": "try", "replaces": "R 0"' in stdin
    link.answer = lambda _: b"launched\n" + told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}")
    await runs.begin(run)
    assert link.told[1][:2] == ("begin", (FIRST, "60"))


async def test_a_plan_that_is_gone_is_told_with_what_to_do() -> None:
    runs, link = keeper(b"planned\n" + told(f"run p {FIRST}", f"{FIRST}/spec.json:{{}}"))
    run = await runs.prepare(SERVER, PROFILE, started_by="ada@desk")
    link.answer = lambda _: b"refused no_such_run\nrun R1\n"
    with pytest.raises(K2Error) as error:
        await runs.begin(run)
    assert (error.value.code, error.value.exit_code) == ("no_such_run", ExitCode.MISSING)
    assert "k2tui start kimi" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("answer", "code"),
    [("refused start_in_progress", "start_in_progress"), ("", "discard_failed"), ("x", "discard_failed")],
)
async def test_a_plan_that_can_not_be_discarded_says_why(answer: str, code: str) -> None:
    runs, link = keeper(b"planned\n" + told(f"run p {FIRST}", f"{FIRST}/spec.json:{{}}"))
    run = await runs.prepare(SERVER, PROFILE, started_by="ada@desk")
    link.answer = lambda _: answer.encode()
    with pytest.raises(K2Error) as error:
        await runs.discard(run)
    assert error.value.code == code


async def test_a_look_and_a_verdict_that_break_off_are_told() -> None:
    runs, link = keeper(told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}"))
    (run,) = await runs.scan()
    link.answer = lambda _: b"gpu 0 1"
    with pytest.raises(K2Error) as error:
        await runs.remains(run)
    assert error.value.code == "remains_failed"
    with pytest.raises(K2Error) as error:
        await runs.write_verdict(run, RunVerdict(True, 1.0, "answers"))
    assert error.value.code == "verdict_failed"


async def test_a_variable_that_can_not_be_set_is_refused_here() -> None:
    runs, link = keeper("")
    with pytest.raises(K2Error) as error:
        await runs.launch(SERVER, LaunchProfile("p", ("x",), {"A B": "c"}), started_by="b")
    assert error.value.code == "launch_failed"
    assert link.told == []


async def test_a_list_that_breaks_off_is_no_list() -> None:
    runs, _ = keeper("k2runs 1 boot 5\n")
    with pytest.raises(K2Error) as error:
        await runs.scan()
    assert error.value.code == "scan_failed"


async def test_what_can_not_be_killed_is_an_error_that_says_what_state_d_is() -> None:
    runs, link = keeper(told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}"))
    (run,) = await runs.scan()
    link.answer = lambda _: b"term 8\nleft 8 D python3\nelapsed 50\nk2end\n"
    with pytest.raises(K2Error) as error:
        await runs.stop(run)
    assert error.value.code == "still_running"
    assert "pid 8" in error.value.message
    assert "state D" in (error.value.hint or "")


async def test_a_stop_that_breaks_off_is_no_stop() -> None:
    runs, link = keeper(told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}"))
    (run,) = await runs.scan()
    link.answer = lambda _: b"term 8\n"
    with pytest.raises(K2Error) as error:
        await runs.stop(run)
    assert error.value.code == "stop_failed"


@pytest.mark.parametrize(
    ("argv", "port", "engine", "bound"),
    [
        (("x", "--port", "31000"), 30000, "sglang", 31000),
        (("x", "--port=31000"), None, "sglang", 31000),
        (("x",), 30005, "sglang", 30005),
        (("x",), None, "sglang", 30000),
        (("vllm", "serve", "m"), None, "vllm", 8000),
    ],
)
def test_the_port_to_lock_is_the_one_that_will_be_bound(
    argv: tuple[str, ...], port: int | None, engine: str, bound: int
) -> None:
    assert port_of(ServerSettings("k", "n", engine=engine, port=port), argv) == bound

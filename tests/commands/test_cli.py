"""Plain commands as an operator types them: words in, text and an exit code out."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from k2tui import __version__
from k2tui.cli import main

LOGS = Path(__file__).parent.parent / "logs"
READY = LOGS / "real" / "sglang0523-qwen3-ready-load-sigterm.log"
REFUSED = LOGS / "real" / "sglang0514-h200-badflag.log"

CONFIG = """
[nodes.box]
transport = "local"
home = "{home}"
[servers.toy]
node = "box"
port = {port}
profile = "base"
[servers.by-hand]
node = "box"
log = "{log}"
[profiles.base]
cmd = "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx python3 -m sglang.launch_server --model-path /models/toy --tp-size 8"
"""


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("K2TUI_ONLY", "K2TUI_TEST=nobody")  # other engines may run on this machine meanwhile
    path = tmp_path / "config.toml"
    path.write_text(CONFIG.format(home=tmp_path / "home", log=READY, port=free_port()), encoding="utf-8")
    return str(path)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def spoken(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"k2tui {__version__}\n"


def test_a_dry_run_shows_the_exact_command_without_secrets_and_does_nothing(
    config: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--config", config, "start", "toy", "--dry-run", "--set", "tp-size=4", "--env", "NCCL_PROTO=LL"]) == 0
    out = capsys.readouterr().out
    assert "--tp-size 4" in out
    assert "NCCL_PROTO=LL" in out
    assert "hf_abc" not in out
    assert not (tmp_path / "home").exists()


def test_a_dry_run_for_programs_is_one_document(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "restart", "toy", "--dry-run", "--json"]) == 0
    plan = spoken(capsys)
    assert (plan["type"], plan["server"], plan["node"], plan["profile"]) == ("plan", "toy", "box", "base")


@pytest.mark.parametrize("words", [["start", "nope"], ["logs", "nope"], ["stop", "nope"], ["doctor", "nope"]])
def test_what_is_not_in_the_config_is_exit_3_with_what_is(
    words: list[str], config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--config", config, *words]) == 3
    assert "'nope'" in capsys.readouterr().err


def test_errors_for_programs_are_json_on_standard_output(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "stop", "toy", "--json"]) == 3
    error = spoken(capsys)
    assert (error["type"], error["code"], error["subject"]) == ("error", "not_running", "toy")
    assert set(error) == {"type", "code", "message", "subject", "hint"}


def test_read_only_refuses_with_exit_2(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "--read-only", "start", "toy"]) == 2
    assert "read-only" in capsys.readouterr().err


def test_a_set_without_a_name_is_told(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "start", "toy", "--env", "NCCL_PROTO"]) == 2
    assert "NAME=VALUE" in capsys.readouterr().err


def test_a_program_that_is_not_there_is_told_before_anything_runs(
    config: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(config).write_text(Path(config).read_text(encoding="utf-8").replace("python3 -m", "no-such-program -m"))
    assert main(["--config", config, "start", "toy"]) == 1
    assert "no program no-such-program" in capsys.readouterr().err


def test_a_node_out_of_reach_is_exit_4(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        f'[nodes.gone]\nhost = "127.0.0.1"\nport = {free_port()}\n[servers.kimi]\nnode = "gone"\nprofile = "p"\n'
        '[profiles.p]\ncmd = "python3 -m sglang.launch_server --model-path m"\n',
        encoding="utf-8",
    )
    assert main(["--config", str(path), "start", "kimi"]) == 4
    assert "gone" in capsys.readouterr().err
    assert main(["--config", str(path), "nodes", "--json"]) == 4
    node = spoken(capsys)["nodes"][0]
    assert (node["name"], node["link"], node["gpus"], node["load_1m"]) == ("gone", "down", [], None)


def test_servers_say_what_is_known_and_null_for_the_rest(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "servers", "--json"]) == 0
    toy, by_hand = spoken(capsys)["servers"]
    assert (toy["name"], toy["status"], toy["phase"], toy["run_id"], toy["proof"]) == ("toy", "down", None, None, None)
    assert (by_hand["name"], by_hand["log"], by_hand["run_id"]) == ("by-hand", str(READY), None)


def test_tables_are_for_people(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "servers"]) == 0
    head, toy, _ = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["NODE", "SERVER", "STATE"]
    assert toy.split()[:3] == ["box", "toy", "down"]


def test_the_log_of_a_watched_server_is_printed(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "logs", "by-hand"]) == 0
    assert "The server is fired up and ready to roll!" in capsys.readouterr().out


def test_a_server_that_never_ran_has_no_log(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "logs", "toy"]) == 3
    assert "no run" in capsys.readouterr().err


def test_diagnose_says_what_a_log_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(READY), "--json"]) == 0
    assert spoken(capsys)["kind"] == "stopped"
    assert main(["diagnose", str(REFUSED)]) == 1
    assert "unrecognized arguments" in capsys.readouterr().out


def test_diagnose_follows_a_log_to_its_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "-f", str(REFUSED), "--json"]) == 1
    assert spoken(capsys)["kind"] == "misconfigured"


def test_diagnose_of_nothing_is_exit_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(tmp_path / "no.log")]) == 3
    assert "no.log" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_context_that_is_no_object_is_told(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    context = tmp_path / "context.json"
    context.write_text(text, encoding="utf-8")
    assert main(["diagnose", str(READY), "--context", str(context)]) == 2
    assert "context.json" in capsys.readouterr().err


def test_doctor_says_what_is_there(config: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", config, "doctor", "--json"]) in (0, 1)
    found = {finding["check"]: finding for finding in spoken(capsys)["nodes"]["box"]}
    assert found["login"]["ok"] is True
    assert found["home"]["ok"] is True
    assert {"clock", "setsid", "python", "nvidia-smi", "disk"} <= set(found)


def test_a_broken_config_is_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[nodes.a]\nhots = 1\n", encoding="utf-8")
    assert main(["--config", str(path), "servers"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{path}, line 2, nodes.a.hots: ")


def test_a_watch_of_a_directory_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", str(tmp_path)]) == 3
    assert f"{tmp_path} is no file" in capsys.readouterr().err


def test_a_watch_of_a_missing_file_says_how_to_name_a_node(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["watch", "/no/such.log"]) == 3
    assert "NODE:PATH" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [["start"], ["bogus"], ["stop", "toy", "--bogus"], ["demo", "--nodes", "0"], ["config"]]
)
def test_wrong_words_are_told_to_programs_in_json(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--json"]) == 2
    told = spoken(capsys)
    assert (told["type"], told["code"]) == ("error", "usage")


def test_wrong_words_are_told_to_people_with_what_would_be_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["start"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("usage: k2tui start")
    assert "Traceback" not in told.err


def test_servers_says_why_a_node_is_out_of_reach(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text(
        f'[nodes.gone]\nhost = "127.0.0.1"\nport = {free_port()}\n[servers.s]\nnode = "gone"\nlog = "/x"\n',
        encoding="utf-8",
    )
    assert main(["--config", str(path), "servers"]) == 4
    assert "refused" in capsys.readouterr().out


def test_a_full_disk_under_the_answer_is_one_line(config: str) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "k2tui", "--config", config, "config", "show"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "k2tui: the answer can't be written: No space left on device\n")

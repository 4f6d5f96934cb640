from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.config_file import ConfigFile, starter_text
from k2tui.commands.config import main

CONFIG = """
[nodes.gpu-a]
[servers.kimi]
node = "gpu-a"
profile = "base"
[profiles.base]
cmd = "python3 -m sglang.launch_server --api-key hunter2 > log"
env = { HF_TOKEN = "hunter3" }
"""


def run(action: str, path: Path | None, *, as_json: bool = False, environ: dict[str, str] | None = None) -> int:
    file = ConfigFile(str(path) if path is not None else None, environ or {})
    return main(argparse.Namespace(action=action, json=as_json), file)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "config.toml"
    found.write_text(CONFIG)
    return found


def test_path_says_where_the_file_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("path", tmp_path / "x.toml") == 0
    assert capsys.readouterr().out == f"{tmp_path / 'x.toml'}\n"


def test_path_for_programs_says_who_named_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("path", None, as_json=True, environ={"K2TUI_CONFIG": str(tmp_path)}) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer == {"path": str(tmp_path), "source": "environment", "exists": True}


def test_init_writes_a_starter_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep" / "config.toml"
    assert run("init", path) == 0
    assert str(path) in capsys.readouterr().out
    assert run("init", path) == 2
    captured = capsys.readouterr()
    assert (captured.out, "is there already" in captured.err) == ("", True)
    assert path.read_text() == starter_text()


def test_check_says_in_one_line_what_was_read(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", path) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path}: right; 1 node, 1 server, 1 profile"
    assert lines[1] == "  profiles.base.cmd: >log was left out: k2tui keeps one log for each run"


def test_check_for_programs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", path, as_json=True) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["ok"], answer["nodes"], answer["servers"], answer["profiles"]) == (True, 1, 1, 1)


def test_check_without_a_file_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", None) == 0
    assert "no file there, which is fine: k2tui shows this machine alone" in capsys.readouterr().out


def test_check_prints_all_errors_a_line_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text("mouse = 3\nread_only = 4\n")
    assert run("check", path) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"{path}, line 1, mouse: found 3, expected true or false, without quotes\n"
        f"{path}, line 2, read_only: found 4, expected true or false, without quotes\n"
    )


def test_an_error_at_a_secret_says_its_name_and_not_its_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config.toml"
    path.write_text("[profiles.p.env]\nHF_TOKEN = 123456\n")
    assert run("check", path) == 2
    expected = "profiles.p.env.HF_TOKEN: found ***, expected a text in quotes"
    assert f"{path}, line 2, {expected}" in capsys.readouterr().err


@pytest.mark.parametrize("action", ["check", "show"])
def test_errors_for_programs_are_one_document(action: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "config.toml"
    path.write_text("mouse = 3\nread_only = 4\n")
    assert run(action, path, as_json=True) == 2
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert (answer["type"], answer["code"], answer["subject"], answer["hint"]) == ("error", "config", str(path), None)
    assert len(answer["message"].split("\n")) == 2
    assert captured.err == ""


def parsed(text: str) -> dict[str, Any]:
    document: dict[str, Any] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    return document


def test_show_is_toml_with_the_commands_as_comments_and_no_secret(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", path) == 0
    text = capsys.readouterr().out
    assert "hunter" not in text
    document = parsed(text)
    assert document["nodes"]["gpu-a"]["transport"] == "asyncssh"
    assert document["profiles"]["base"]["env"] == {"HF_TOKEN": "***"}
    assert "# kimi on gpu-a runs:\n#   env HF_TOKEN=*** " in text


def test_show_for_programs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", path, as_json=True) == 0
    text = capsys.readouterr().out
    assert "hunter" not in text
    answer = json.loads(text)
    assert answer["servers"]["kimi"]["profile"] == "base"
    assert answer["commands"]["kimi"].endswith("python3 -m sglang.launch_server --api-key ***")


def test_show_without_a_file_shows_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", None) == 0
    assert 'transport = "local"' in capsys.readouterr().out

"""What a node is told comes out of its shell as it went in, and what it answers is understood."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k2tui.core.launch_order import Container, launch_payload, parse_launch, session_name, start_text
from k2tui.core.settings import LaunchProfile
from tests.core.test_runs import FIRST, STATE, told

TEXT = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20)
SHOW = 'eval "$(cat)"; k2_exports; printf "%s\\0" "${A-}" "$@"'


@settings(max_examples=25)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=5))
def test_a_shell_reads_back_what_was_written(value: str, argv: list[str]) -> None:
    text = start_text(LaunchProfile("p", tuple(argv), {"A": value}))
    done = subprocess.run(["sh", "-c", SHOW], input=text.encode(), capture_output=True, check=True)
    assert done.stdout.decode().split("\0")[:-1] == [value, *argv]


def in_docker(profile: LaunchProfile, *, gpus: tuple[int, ...] = (), tools: str = "/none") -> list[str]:
    """The command that docker is given, as a shell reads it from env.sh."""
    show = 'k2_dir="/h o/runs/kimi/R1" k2_name=k2tui-kimi-R1; eval "$(cat)"; printf "%s\\0" "$@"'
    text = start_text(profile, Container("engine:1", gpus)).encode()
    env = {"HOME": "/home/ada", "PATH": tools}
    sh = shutil.which("sh") or "sh"
    cat = f"cat() {{ {shutil.which('cat')}; }}; "
    done = subprocess.run([sh, "-c", cat + show], input=text, capture_output=True, check=True, env=env)
    return done.stdout.decode().split("\0")[:-1]


def test_docker_gets_the_command_with_its_directories_and_only_the_names_of_variables() -> None:
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", "/models/kimi k2", "--note", "a'b\nc")
    profile = LaunchProfile("p", argv, {"HF_TOKEN": "hf_secret", "A": "b c"}, cwd="~/work")
    words = in_docker(profile, gpus=(0, 3))
    assert words == [
        *("docker", "run", "--rm", "--init", "--pull", "never", "--name", "k2tui-kimi-R1", "--label", "k2tui.run=R1"),
        *("--network", "host", "--ipc", "host", "--gpus", '"device=0,3"'),
        *("--mount", "type=bind,source=/h o/runs/kimi/R1,target=/h o/runs/kimi/R1,readonly"),
        *("--mount", "type=bind,source=/home/ada/work,target=/home/ada/work", "-w", "/home/ada/work"),
        *("--mount", "type=bind,source=/models/kimi k2,target=/models/kimi k2,readonly"),
        *("-e", "HF_TOKEN", "-e", "A", "engine:1", *argv),
    ]


def test_without_gpus_docker_is_asked_for_all_where_there_are_any(tmp_path: Path) -> None:
    profile = LaunchProfile("p", ("engine",), {})
    assert "--gpus" not in in_docker(profile)
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    words = in_docker(profile, tools=str(tmp_path))
    assert words[words.index("--gpus") + 1] == "all"


def test_the_setup_line_of_a_container_stands_in_no_command() -> None:
    words = in_docker(LaunchProfile("p", ("engine", "--flag"), {}, setup="login hf_secret"))
    assert words[-7:-4] == ["engine:1", "sh", "-c"]
    assert words[-3:] == ["k2tui", "engine", "--flag"]
    assert not [word for word in words if "hf_secret" in word]


@pytest.mark.parametrize("path", ["/a,b", '/a"b', "/a\nb"])
def test_a_path_that_docker_can_not_mount_is_refused(path: str) -> None:
    for profile in (LaunchProfile("p", ("x", "--model-path", path), {}), LaunchProfile("p", ("x",), {}, cwd=path)):
        with pytest.raises(ValueError):
            start_text(profile, Container("engine:1"))


@pytest.mark.parametrize(
    ("server", "name"),
    [("kimi", "k2tui-kimi"), ("kimi k2.6:a/ä", "k2tui-kimi_k2_6_a__"), ("x" * 500, "k2tui-" + "x" * 80)],
)
def test_a_session_has_a_name_that_every_keeper_takes(server: str, name: str) -> None:
    assert session_name(server) == name


def test_a_plan_gives_its_run() -> None:
    answer = parse_launch(b"planned\n" + told(f"run p {FIRST}", f'{FIRST}/spec.json:{{"started_at":5}}'))
    assert answer is not None
    assert answer.run is not None
    assert (answer.run.is_planned, answer.run.started_at) == (True, 5)


def test_the_payload_ends_with_the_sign_that_it_is_whole() -> None:
    payload = launch_payload("{}", LaunchProfile("p", ("x",), {}), "exit")
    assert payload.endswith(b"k2_whole=1\n")


def test_the_argv_that_is_kept_has_its_secrets_masked() -> None:
    key = "sk-0123456789abcdefghijklmn"
    profile = LaunchProfile("p", ("x", "--api-key", key), {}, secrets=frozenset({key}))
    kept = launch_payload("{}", profile, "exit").decode().partition("k2_argv=")[2].partition("k2_env=")[0]
    assert key not in kept
    assert key in start_text(profile)


@pytest.mark.parametrize("name", ["A B", "A;reboot", "", "1A", "A=B", "$(id)"])
def test_a_name_that_no_shell_could_set_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        start_text(LaunchProfile("p", ("x",), {name: "v"}))


def test_a_nul_byte_is_refused() -> None:
    with pytest.raises(ValueError):
        launch_payload("{}", LaunchProfile("p", ("a\0b",), {}), "exit")


def test_a_launch_gives_its_run() -> None:
    answer = parse_launch(b"launched\n" + told(f"run 1 {FIRST}", f"{FIRST}/state.json:{STATE}"))
    assert answer is not None
    assert answer.run is not None
    assert answer.run.directory == FIRST


def test_a_refusal_gives_its_reason() -> None:
    answer = parse_launch(b"refused port_taken\npid 12\ncommand python3 -m http.server\n")
    assert answer is not None
    assert (answer.run, answer.code) == (None, "port_taken")
    assert answer.details == {"pid": "12", "command": "python3 -m http.server"}


@given(st.binary())
def test_no_answer_breaks_the_reader(answer: bytes) -> None:
    parse_launch(answer)


def test_an_answer_that_broke_off_is_none() -> None:
    assert parse_launch(b"") is None
    assert parse_launch(b"launched\nk2runs 1 boot 5\n") is None

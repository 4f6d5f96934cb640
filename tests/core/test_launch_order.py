"""What a node is told comes out of its shell as it went in, and what it answers is understood."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k2tui.core.launch_order import launch_payload, parse_launch, start_text
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

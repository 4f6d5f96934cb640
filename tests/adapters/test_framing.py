"""Scripts and arguments arrive as they were."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k2tui.adapters.framing import after_mark, pack
from k2tui.adapters.scripts import script
from k2tui.services.doors import Script

SHOW = Script("show", 'for word in "$@"; do printf "%s\\0" "$word"; done; cat')
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
_SHELLS = ("sh", "bash", "dash", "fish", "tcsh", "zsh", "ksh")


@settings(max_examples=25)
@given(st.lists(WORDS, max_size=4), st.binary(max_size=200), st.sampled_from([None, 20.0]))
def test_any_words_and_any_stdin_arrive(words: list[str], stdin: bytes, limit_s: float | None) -> None:
    packed = pack(SHOW, words, limit_s=limit_s)
    done = subprocess.run(["sh", "-c", packed.command], input=packed.stdin + stdin, capture_output=True, check=True)
    expected = b"".join(word.encode() + b"\0" for word in words) + stdin
    assert after_mark(done.stdout, packed.mark) == expected
    assert after_mark(done.stderr, packed.mark) == b""


@pytest.mark.parametrize("shell", [name for name in _SHELLS if shutil.which(name)])
def test_every_login_shell_of_this_machine_understands_the_command(shell: str) -> None:
    packed = pack(SHOW, ["it's"], limit_s=5.0)
    done = subprocess.run([shell, "-c", packed.command], input=packed.stdin, capture_output=True, check=True)
    assert after_mark(done.stdout, packed.mark) == b"it's\0"


def test_the_command_holds_nothing_that_a_login_shell_could_trip_over() -> None:
    for limit_s in (None, 3.0):
        command = pack(SHOW, ["!", "a\nb"], limit_s=limit_s).command
        assert "\n" not in command
        assert "!" not in command
        assert "\\\\" not in command


def test_a_shell_that_prints_its_command_line_does_not_print_the_mark() -> None:
    packed = pack(SHOW, [], limit_s=None)
    assert packed.mark.strip().decode() not in packed.command


def test_a_script_without_its_mark_did_not_run() -> None:
    assert after_mark(b"welcome\n", b"k2abc\n") is None


@pytest.mark.parametrize("name", ["probe", "follow", "read", "log_size"])
@pytest.mark.parametrize("shell", ["sh", "bash"])
def test_the_remote_scripts_are_valid(name: str, shell: str) -> None:
    done = subprocess.run([shell, "-n"], input=script(name).text.encode(), capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")

from __future__ import annotations

import shlex
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.commandline import CommandError, parse_command
from k2tui.core.errors import ExitCode, K2Error

ENGINE = ("python3", "-m", "sglang.launch_server")


@pytest.mark.parametrize(
    ("text", "env", "argv"),
    [
        ("python3 -m x --tp 8", {}, ("python3", "-m", "x", "--tp", "8")),
        ("A=b C='d e' python3", {"A": "b", "C": "d e"}, ("python3",)),
        ("env A=b 'C=d e' python3", {"A": "b", "C": "d e"}, ("python3",)),
        ("A= python3", {"A": ""}, ("python3",)),
        ("export A=b; export C=d E=f;\npython3", {"A": "b", "C": "d", "E": "f"}, ("python3",)),
        ("A=1 nohup env B=2 setsid python3 x", {"A": "1", "B": "2"}, ("python3", "x")),
        ("python3 \\\n  --a 1 \\\r\n  --b 2", {}, ("python3", "--a", "1", "--b", "2")),
        ("python3 \\", {}, ("python3",)),
        ("#!/bin/sh\n# start it\n\npython3 x # the end\n", {}, ("python3", "x")),
        ("""python3 '{"a": 1}' "b c" d\\ e ''""", {}, ("python3", '{"a": 1}', "b c", "d e", "")),
        ("""python3 "a\\$b\\"c" 'd$e`f'""", {}, ("python3", 'a$b"c', "d$e`f")),
        ("""python3 "a\\\nb" --x='y'z""", {}, ("python3", "ab", "--x=yz")),
        ("python3 --price 5$ --a#b '~/x'", {}, ("python3", "--price", "5$", "--a#b", "~/x")),
        ("python3 A=b", {}, ("python3", "A=b")),
        ("python3 'x > y' '&&' '|'", {}, ("python3", "x > y", "&&", "|")),
        ("numactl -N 0 python3 x", {}, ("numactl", "-N", "0", "python3", "x")),
    ],
)
def test_a_pasted_line_becomes_environment_and_arguments(text: str, env: dict[str, str], argv: tuple[str, ...]) -> None:
    pasted = parse_command(text)
    assert (dict(pasted.env), pasted.argv) == (env, argv)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("python3 x > log 2>&1 &", ">log was left out: k2tui keeps one log for each run"),
        ("python3 x >>/tmp/log", ">>/tmp/log was left out: k2tui keeps one log for each run"),
        ("python3 x &> /dev/null", "&>/dev/null was left out: k2tui keeps one log for each run"),
        ("python3 x < /dev/null", "</dev/null was left out: k2tui keeps one log for each run"),
        ("python3 x 2>err.log", "2>err.log was left out: k2tui keeps one log for each run"),
        ("python3 x &", "& was left out: k2tui starts it in the background by itself"),
        ("python3 x & disown", "& was left out: k2tui starts it in the background by itself"),
        ("nohup python3 x", "nohup was left out: k2tui's supervisor outlives the connection by itself"),
        (
            "python3 \\ \n x",
            "a backslash with blanks behind it was read as the line's continuation",
        ),
    ],
)
def test_what_is_left_out_is_said(text: str, warning: str) -> None:
    pasted = parse_command(text)
    assert pasted.argv == ("python3", "x")
    assert warning in pasted.warnings


def test_a_comment_between_continued_lines_does_not_lose_the_flags_behind_it() -> None:
    pasted = parse_command("python3 x \\\n  --a 1 \\\n  # --b 2 \\\n  --c 3")
    assert pasted.argv == ("python3", "x", "--a", "1", "--c", "3")
    assert pasted.warnings == ("--c was taken as part of the command; a shell would end the command before it",)


def test_a_number_before_a_blank_and_a_redirection_is_an_argument() -> None:
    assert parse_command("python3 --tp 8 > log").argv == ("python3", "--tp", "8")


def test_a_variable_on_its_own_line_is_passed_on_with_a_word() -> None:
    pasted = parse_command("NCCL_PROTO=LL\npython3 x")
    assert pasted.env == {"NCCL_PROTO": "LL"}
    assert pasted.warnings[0].startswith("NCCL_PROTO is set on a line of its own")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("python3 x | tee log", "| tee log"),
        ("cd /root && python3 x", "&& python3 x"),
        ("cd /root; python3 x", "cd"),
        (". /opt/activate\npython3 x", "."),
        ("python3 $HOME/x", "$HOME/x"),
        ("python3 ${HOME}/x", "${HOME}/x"),
        ("python3 'a' \"$HOME\"", '$HOME"'),
        ("python3 $(which x)", "$(which x)"),
        ("python3 `which x`", "`which x`"),
        ("python3 $'a'", "$'a'"),
        ("python3 ~/x", "~/x"),
        ("MODEL=~/x python3", "MODEL=~/x"),
        ("python3 --bs {1,2}", "{1,2}"),
        ('python3 --x {"a":1,"b":2}', "{a:1,b:2}"),
        ("python3 'x", "'x"),
        ('python3 "x', '"x'),
        ("(python3 x)", "(python3 x)"),
        ("python3 x <<EOF", "<<EOF"),
        ("python3 x >", ">"),
        ("$ python3 x", "$"),
        ("python3 –tp 8", "–tp 8"),
        ("python3 x; sleep 3", "a second command: sleep"),
        ("python3 x\nexport A=b", "a second command: export"),
        ("export HF_HOME\npython3 x", "export HF_HOME"),
        ("env -i python3", "env -i"),
        ("A=b", "no program"),
        ("", "no program"),
        ("nohup", "no program"),
        ("python3 \0", "a NUL byte"),
    ],
)
def test_what_only_a_shell_could_do_is_refused(text: str, found: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse_command(text)
    assert caught.value.found == found
    assert caught.value.exit_code is ExitCode.USAGE


def test_an_error_shows_no_secret() -> None:
    with pytest.raises(CommandError) as caught:
        parse_command("python3 x | curl -H 'Authorization: Bearer abcdefgh123' x")
    assert "abcdefgh" not in str(caught.value)


WORDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
PROGRAMS = st.sampled_from(["python3", "/opt/my env/bin/python", "numactl", "vllm"])


@given(st.dictionaries(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,5}", fullmatch=True), WORDS), PROGRAMS, st.lists(WORDS))
def test_what_a_shell_quotes_is_read_back(env: dict[str, str], program: str, words: list[str]) -> None:
    pairs = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
    pasted = parse_command(" ".join([*pairs, shlex.join([program, *words])]))
    assert (dict(pasted.env), pasted.argv) == (env, (program, *words))
    assert pasted.warnings == ()


@given(st.text(st.sampled_from("ab ='\"\\\n#;&|<>$`(){}~-1,.\t")))
def test_what_is_accepted_is_what_a_shell_would_split(text: str) -> None:
    try:
        pasted = parse_command(f"python3 {text}")
    except K2Error:
        return
    if not pasted.warnings and not set("#;\n&<>") & set(text) and not text.endswith("\\"):
        assert list(pasted.argv) == shlex.split(f"python3 {text}")


@given(st.text())
def test_no_text_can_break_the_reader(text: str) -> None:
    with suppress(CommandError):
        assert parse_command(text).argv

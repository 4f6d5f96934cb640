"""The matrices of a config: what can be wrong, in one line with a way out, and what comes of what is right."""

from __future__ import annotations

import pytest

from k2tui.core.config_document import document_of
from k2tui.core.errors import ConfigErrors
from k2tui.core.settings import MatrixSettings
from tests.core.test_config_errors import SERVER, read

KEYS = (
    "server, profile, profiles, env, flags, restarts, launch_limit, leave, prescreen, max_tokens, repeats"  # in order
)
TWO = "env = { NCCL_PROTO = ['LL', 'Simple'] }\n"
LISTED = 'a list with at least one value, such as ["LL", "Simple"]'
TIME = 'a TIME above 0 in quotes, such as "6m" (30s, 5m, 1h, 1d)'
OPEN = "a value without a secret: what a series tries is kept and shown"


def matrix(text: str, *, server: str = "server = 'kimi'\n") -> str:
    """A config whose matrix begins in line 7."""
    return f"{SERVER}[matrix.m]\n{server}{text}"


WRONG: list[tuple[str, str, str]] = [
    # what is wrong, the file, the line without the file's name
    (
        "a matrix that is none",
        SERVER + "[matrix]\nm = true",
        "line 8, matrix.m: found true, expected a table: [matrix.NAME] stands before such keys",
    ),
    (
        "an unknown key",
        matrix(TWO + "restart = 3"),
        f"line 10, matrix.m.restart: found an unknown key (= 3), expected another key here: {KEYS};"
        " did you mean restarts?",
    ),
    (
        "no server",
        matrix(TWO, server=""),
        "line 7, matrix.m.server: found nothing, expected the name of a server (kimi)",
    ),
    (
        "a server that is none",
        matrix(TWO, server="server = 'kimmi'\n"),
        'line 8, matrix.m.server: found "kimmi", expected the name of a server (kimi); did you mean kimi?',
    ),
    (
        "a server that is only watched",
        SERVER + "[servers.w]\nnode = 'gpu-a'\nlog = '/l'\n[matrix.m]\nserver = 'w'\n" + TWO,
        'line 11, matrix.m.server: found "w", expected a server with a profile: one with a log alone is only watched,'
        " and never restarted",
    ),
    (
        "a profile that is none",
        matrix("profile = 'bas'\n" + TWO),
        'line 9, matrix.m.profile: found "bas", expected the name of a profile (base); did you mean base?',
    ),
    (
        "one of the profiles that is none",
        matrix("profiles = ['base', 'fast']"),
        'line 9, matrix.m.profiles.1: found "fast", expected the name of a profile (base)',
    ),
    (
        "a profile twice",
        matrix("profiles = ['base', 'base']"),
        'line 9, matrix.m.profiles.1: found "base", expected each profile once',
    ),
    (
        "no profile in the list",
        matrix("profiles = []"),
        'line 9, matrix.m.profiles: found [], expected a list of profiles, each once, such as ["reason", "fast"]',
    ),
    (
        "profiles and combinations",
        matrix("profiles = ['base']\n" + TWO),
        "line 10, matrix.m.env: found a table, expected profiles or env, not both: whole profiles are compared, or"
        " combinations on top of one",
    ),
    (
        "nothing to compare",
        matrix("restarts = 2"),
        'line 7, matrix.m.env: found nothing, expected what is to be compared: env = { NCCL_PROTO = ["LL", "Simple"] },'
        " flags, or profiles",
    ),
    (
        "a single value without a list",
        matrix("env = { NCCL_PROTO = 'LL' }"),
        f'line 9, matrix.m.env.NCCL_PROTO: found "LL", expected {LISTED}',
    ),
    ("a list without values", matrix("flags = { x = [] }"), f"line 9, matrix.m.flags.x: found [], expected {LISTED}"),
    (
        "a number for a variable",
        matrix("env = { NCCL_NTHREADS = [256] }"),
        'line 9, matrix.m.env.NCCL_NTHREADS.0: found 256, expected a text in quotes, such as "1"',
    ),
    (
        "a variable's name that is none",
        matrix("env = { NCCL-PROTO = ['LL'] }"),
        "line 9, matrix.m.env.NCCL-PROTO: found this name, expected a variable's name of letters, digits and _, such as"
        " NCCL_PROTO",
    ),
    (
        "a value twice",
        matrix("env = { NCCL_PROTO = ['LL', 'Simple', 'LL'] }"),
        'line 9, matrix.m.env.NCCL_PROTO.2: found "LL", expected each value once',
    ),
    (
        "a flag in two spellings",
        matrix("flags = { tp-size = [8], tensor-parallel-size = [4] }"),
        "line 9, matrix.m.flags.tensor-parallel-size: found the same flag as tp-size, expected each flag once; take one"
        " out",
    ),
    (
        "a secret among the variables",
        matrix("env = { HF_TOKEN = ['hunter2', 'hunter3'] }"),
        "line 9, matrix.m.env.HF_TOKEN: found the name of a secret, expected a name without one: what a series tries is"
        " kept and shown",
    ),
    (
        "a secret among the values",
        matrix("env = { EXTRA = ['api_key=hunter2hunter2'] }"),
        f"line 9, matrix.m.env.EXTRA.0: found a secret, expected {OPEN}",
    ),
    (
        "a value that would break a table",
        matrix('flags = { x = ["a\\nb"] }'),
        r'line 9, matrix.m.flags.x.0: found "a\nb", expected text on one line, of characters that can be shown',
    ),
    (
        "no restarts",
        matrix(TWO + "restarts = 0"),
        "line 10, matrix.m.restarts: found 0, expected a whole number from 1 to 20",
    ),
    (
        "too many restarts",
        matrix(TWO + "restarts = 21"),
        "line 10, matrix.m.restarts: found 21, expected a whole number from 1 to 20",
    ),
    (
        "a limit without a unit",
        matrix(TWO + "launch_limit = 360"),
        'line 10, matrix.m.launch_limit: found 360, expected a TIME in quotes, such as "60s" (30s, 5m, 1h, 1d)',
    ),
    (
        "a limit of nothing",
        matrix(TWO + "launch_limit = '0s'"),
        f'line 10, matrix.m.launch_limit: found "0s", expected {TIME}',
    ),
    (
        "a way to leave it that is none",
        matrix(TWO + "leave = 'as_found'"),
        'line 10, matrix.m.leave: found "as_found", expected one of as-found, best; did you mean as-found?',
    ),
    (
        "a word for the pre-screen",
        matrix(TWO + "prescreen = 'yes'"),
        'line 10, matrix.m.prescreen: found "yes", expected true or false, without quotes',
    ),
    (
        "no tokens",
        matrix(TWO + "max_tokens = 0"),
        "line 10, matrix.m.max_tokens: found 0, expected a whole number from 1 to 100000",
    ),
    (
        "half a request",
        matrix(TWO + "repeats = 1.5"),
        "line 10, matrix.m.repeats: found 1.5, expected a whole number from 1 to 100",
    ),
    (
        "more configurations than anyone waits for",
        matrix("env = { A = ['1', '2', '3', '4', '5'], B = ['1', '2', '3', '4', '5'] }\nflags = { c = [1, 2, 3] }"),
        "line 7, matrix.m: found 75 configurations, expected at most 64: each is started 3 times; take values out",
    ),
]


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_each_mistake_gives_one_line(text: str, expected: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        read(text)
    assert caught.value.lines == (f"k2.toml, {expected}",)


def test_a_matrix_has_three_restarts_of_six_minutes_and_is_left_as_found_when_it_says_nothing() -> None:
    assert read(matrix(TWO)).matrices == {"m": MatrixSettings("m", "kimi", env={"NCCL_PROTO": ("LL", "Simple")})}


def test_sixty_four_configurations_are_not_too_many() -> None:
    values = str([str(number) for number in range(8)])
    assert len(read(matrix(f"env = {{ A = {values}, B = {values} }}")).matrices["m"].env["A"]) == 8


def test_a_switch_and_a_number_are_two_values() -> None:
    assert read(matrix("flags = { x = [true, 1, false, 0] }")).matrices["m"].flags == {"x": (True, 1, False, 0)}


def test_a_config_without_a_matrix_shows_none() -> None:
    assert "matrix" not in document_of(read(SERVER))


def test_the_limit_is_shown_as_it_is_written() -> None:
    shown = document_of(read(matrix(TWO + "launch_limit = '90s'")))["matrix"]["m"]
    assert (shown["launch_limit"], shown["restarts"], shown["leave"]) == ("90s", 3, "as-found")

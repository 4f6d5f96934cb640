from __future__ import annotations

import shlex
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.flags import arguments, identity
from k2tui.core.profiles import Draft, chain, command_lines, command_text, parse_command, resolve, warnings_of
from k2tui.core.settings import FlagValue, LaunchProfile, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange

HEAD = ("python3", "-m", "sglang.launch_server")
BASE = ProfileSettings(
    "base",
    cmd="NCCL_PROTO=LL NCCL_ALGO=Ring python3 -m sglang.launch_server --model-path /m --tp 8 --trust-remote-code",
)
REASON = ProfileSettings(
    "reason",
    extends="base",
    flags={"tensor-parallel-size": 4, "reasoning-parser": "kimi_k2", "trust-remote-code": False},
    env={"NCCL_PROTO": "Simple", "EMPTY": ""},
    unset=("NCCL_ALGO",),
)
SETTINGS = Settings(profiles={"base": BASE, "reason": REASON})
SERVER = ServerSettings("kimi", "gpu-a", profile="reason")
SGLANG_ENV = {"SPT_NOENV": "1", "PYTHONUNBUFFERED": "1"}


def test_a_profile_builds_on_its_base() -> None:
    profile = resolve(SETTINGS, "reason", SERVER)
    assert profile.argv == (
        *HEAD,
        "--model-path",
        "/m",
        "--tensor-parallel-size",
        "4",
        "--reasoning-parser",
        "kimi_k2",
    )
    assert profile.env == {"NCCL_PROTO": "Simple", "EMPTY": "", **SGLANG_ENV}


def test_flag_names_are_written_out() -> None:
    assert "--tp-size" in resolve(SETTINGS, "base", SERVER).argv


def test_a_server_adds_its_port_gpus_and_python() -> None:
    server = ServerSettings(
        "kimi", "gpu-a", python="/opt/bin/python", port=30001, gpus=(0, 1), setup=". x", cwd="/root", profile="base"
    )
    profile = resolve(SETTINGS, None, server)
    assert profile.argv[0] == "/opt/bin/python"
    assert profile.argv[-2:] == ("--port", "30001")
    assert profile.env["CUDA_VISIBLE_DEVICES"] == "0,1"
    assert (profile.name, profile.setup, profile.cwd) == ("base", ". x", "/root")


def test_a_servers_port_takes_the_place_of_the_commands_own() -> None:
    settings = Settings(profiles={"p": ProfileSettings("p", cmd="python3 -m sglang.launch_server --port 1 --x")})
    assert resolve(settings, "p", ServerSettings("s", "n", port=2)).argv == (*HEAD, "--port", "2", "--x")


def test_a_change_of_a_port_that_the_server_gives_is_refused_not_passed_over() -> None:
    settings, server = Settings(profiles={"p": ProfileSettings("p")}), ServerSettings("s", "n", port=2)
    with pytest.raises(K2Error, match=r"s has its port 2 from \[servers.s\]") as refused:
        resolve(settings, "p", server, ProfileChange(set={"port": "3"}))
    assert (refused.value.code, refused.value.exit_code) == ("bad_change", ExitCode.USAGE)
    assert resolve(settings, "p", server, ProfileChange(set={"port": "2"})).argv == (*HEAD, "--port", "2")
    free = ServerSettings("s", "n")
    assert resolve(settings, "p", free, ProfileChange(set={"port": "3"})).argv == (*HEAD, "--port", "3")


def test_what_the_profile_sets_itself_is_left_as_it_is() -> None:
    env = {"CUDA_VISIBLE_DEVICES": "7", "SPT_NOENV": "0", "PYTHONUNBUFFERED": ""}
    settings = Settings(profiles={"p": ProfileSettings("p", env=env)})
    assert resolve(settings, "p", ServerSettings("s", "n", gpus=(0,))).env == env


def test_a_profile_without_a_command_starts_the_servers_engine() -> None:
    settings = Settings(profiles={"p": ProfileSettings("p", flags={"model": "/m", "tp": 2})})
    assert resolve(settings, "p", ServerSettings("s", "n")).argv == (*HEAD, "--model", "/m", "--tp-size", "2")
    vllm = resolve(settings, "p", ServerSettings("s", "n", engine="vllm"))
    assert vllm.argv == ("vllm", "serve", "/m", "--tensor-parallel-size", "2")
    assert vllm.env == {}


def test_a_change_comes_on_top() -> None:
    change = ProfileChange(
        set={"--reasoning_parser": "qwen3", "enable-metrics": "true", "tp-size": "2", "j": '{"a": 1}'},
        unset=("--model-path",),
        env={"NCCL_PROTO": ""},
    )
    profile = resolve(SETTINGS, "reason", SERVER, change)
    expected = ("--tp-size", "2", "--reasoning-parser", "qwen3", "--enable-metrics", "--j", '{"a": 1}')
    assert profile.argv == (*HEAD, *expected)
    assert profile.env["NCCL_PROTO"] == ""


def test_a_change_may_choose_another_profile() -> None:
    assert resolve(SETTINGS, "reason", SERVER, ProfileChange(profile="base")).name == "base"


def test_false_takes_a_flag_away() -> None:
    profile = resolve(SETTINGS, "base", SERVER, ProfileChange(set={"trust-remote-code": "false"}))
    assert "--trust-remote-code" not in profile.argv


def test_a_flag_of_several_values_takes_several_words() -> None:
    settings = Settings(profiles={"p": ProfileSettings("p", flags={"bs": (1, 2)})})
    argv = resolve(settings, "p", ServerSettings("s", "n"), ProfileChange(set={"bs": "4 8"})).argv
    assert argv == (*HEAD, "--bs", "4", "8")


@pytest.mark.parametrize(
    ("profile", "change", "code"),
    [
        ("gone", ProfileChange(), "no_such_profile"),
        ("reason", ProfileChange(profile="gone"), "no_such_profile"),
        ("reason", ProfileChange(unset=("tp-sise",)), "bad_change"),
        ("reason", ProfileChange(unset=("trust-remote-code",)), "bad_change"),
        ("reason", ProfileChange(set={"tp size": "2"}), "bad_change"),
        ("reason", ProfileChange(set={"--": "2"}), "bad_change"),
        ("reason", ProfileChange(set={"x": "a\0b"}), "bad_change"),
        ("reason", ProfileChange(env={"A-B": "2"}), "bad_change"),
        ("reason", ProfileChange(env={"A": "\0"}), "bad_change"),
    ],
)
def test_a_wrong_change_is_refused(profile: str, change: ProfileChange, code: str) -> None:
    with pytest.raises(K2Error) as caught:
        resolve(SETTINGS, profile, SERVER, change)
    assert (caught.value.code, caught.value.exit_code) == (code, ExitCode.USAGE)


def test_a_watched_server_has_no_profile() -> None:
    with pytest.raises(K2Error, match="s has no profile"):
        resolve(SETTINGS, None, ServerSettings("s", "n", log="/l"))


def test_a_loop_is_named() -> None:
    profiles = {name: ProfileSettings(name, extends=base) for name, base in (("a", "b"), ("b", "c"), ("c", "b"))}
    with pytest.raises(K2Error, match="b -> c -> b"):
        chain(profiles, "a")


def test_warnings_come_from_the_base_too() -> None:
    profiles = {"base": ProfileSettings("base", cmd="python3 x > log"), "p": ProfileSettings("p", extends="base")}
    assert warnings_of(profiles, "p") == (">log was left out: k2tui keeps one log for each run",)


def test_a_secret_is_known_and_never_shown() -> None:
    flags: dict[str, FlagValue] = {"api-key": "hunter-two", "admin-api-key": "hunter-three"}
    settings = Settings(profiles={"p": ProfileSettings("p", flags=flags, env={"HF_TOKEN": "hunter-one"})})
    profile = resolve(settings, "p", ServerSettings("s", "n"))
    assert profile.secrets == {"hunter-one", "hunter-two", "hunter-three"}
    assert profile.env["HF_TOKEN"] == "hunter-one"
    shown = command_text(profile) + "\n".join(command_lines(profile))
    assert "hunter" not in shown
    assert "env HF_TOKEN=*** SPT_NOENV=1 PYTHONUNBUFFERED=1 python3" in shown


def test_the_command_on_several_lines() -> None:
    profile = LaunchProfile("p", (*HEAD, "--a", "b c", "--d"), {"A": "b"})
    assert command_text(profile) == "env A=b python3 -m sglang.launch_server --a 'b c' --d"
    assert command_lines(profile) == (
        "env A=b \\",
        "  python3 -m sglang.launch_server \\",
        "    --a 'b c' \\",
        "    --d",
    )


def test_a_command_without_variables_has_no_env_in_front() -> None:
    assert command_text(LaunchProfile("p", ("python3", "x"), {})) == "python3 x"


ENV_NAMES = st.from_regex(r"[A-Z_][A-Z0-9_]{0,5}", fullmatch=True).map(lambda name: f"NCCL_{name}")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
NAMES = st.sampled_from(["tp", "tp-size", "tensor-parallel-size", "model", "model-path", "bs", "enable-x", "mode"])
SCALARS = st.integers(-9, 9) | TEXT | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.booleans() | SCALARS | st.dictionaries(TEXT, SCALARS, max_size=2)
FLAGS = st.dictionaries(NAMES, VALUES, max_size=4).filter(
    lambda flags: len({identity(name) for name in flags}) == len(flags)  # the config refuses one flag under two names
)
ENVS = st.dictionaries(ENV_NAMES, TEXT, max_size=3)


@given(FLAGS, ENVS, FLAGS)
def test_the_shown_command_is_read_back_as_what_runs(
    flags: Mapping[str, FlagValue], env: Mapping[str, str], more: Mapping[str, FlagValue]
) -> None:
    profiles = {"a": ProfileSettings("a", flags=flags, env=env), "b": ProfileSettings("b", extends="a", flags=more)}
    profile = resolve(Settings(profiles=profiles), "b", SERVER)
    if profile.secrets or "***" in command_text(profile):
        return  # what is masked can't come back
    for text in (command_text(profile), "\n".join(command_lines(profile))):
        pasted = parse_command(text)
        assert (pasted.argv, dict(pasted.env)) == (profile.argv, dict(profile.env))
    assert tuple(shlex.split(shlex.join(profile.argv))) == profile.argv


@given(FLAGS, FLAGS, st.lists(NAMES | ENV_NAMES, max_size=3), ENVS, ENVS)
def test_two_steps_of_inheritance_are_one_step_of_both(
    first: dict[str, FlagValue],
    second: dict[str, FlagValue],
    unset: list[str],
    first_env: dict[str, str],
    second_env: dict[str, str],
) -> None:
    """(base <- a) <- b gives the flags and variables of base <- (a <- b)."""
    base = Draft(arguments((*HEAD, "--tp", "8", "--bs", "1", "2", "--mode=x")), {"NCCL_A": "1"})
    two_steps = base.changed("sglang", flags=first, env=first_env).changed(
        "sglang", unset=unset, flags=second, env=second_env
    )
    gone = {identity(name) for name in unset}
    joined = {name: value for name, value in first.items() if identity(name) not in gone} | second
    joined_env = {name: value for name, value in first_env.items() if name not in unset} | second_env
    if len({identity(name) for name in joined}) < len(joined):
        return
    one_step = base.changed("sglang", unset=unset, flags=joined, env=joined_env)
    assert sorted(map(repr, two_steps.arguments.parts)) == sorted(map(repr, one_step.arguments.parts))
    assert two_steps.env == one_step.env


@given(FLAGS)
def test_putting_a_flag_twice_is_putting_it_once(flags: dict[str, FlagValue]) -> None:
    once = Draft(arguments(HEAD)).changed("sglang", flags=flags)
    assert once.changed("sglang", flags=flags) == once

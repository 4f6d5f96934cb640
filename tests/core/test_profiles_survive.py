"""A command that an operator pastes becomes a profile and the same command again, whatever is in it."""

from __future__ import annotations

import shlex
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k2tui.core.commandline import parse_command
from k2tui.core.flags import arguments, identity, is_flag
from k2tui.core.profiles import command_lines, command_text, resolve
from k2tui.core.run_profile import started_with
from k2tui.core.runs import Run, parse_scan, spec_json
from k2tui.core.saved_profile import saved_profile
from k2tui.core.settings import LaunchProfile, NodeSettings, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange

SERVER = ServerSettings("s", "a", profile="p")
HEADS = st.sampled_from(
    [
        ("python3", "-m", "sglang.launch_server"),
        ("/opt/a b/bin/python3.11", "-X", "dev", "-m", "sglang.launch_server"),
        ("sglang", "serve"),
        ("python", "/srv/sglang/launch_server.py"),
    ]
)
KNOWN = (
    *("tp-size", "mem-fraction-static", "context-length", "served-model-name", "reasoning-parser", "cuda-graph-bs"),
    *("json-model-override-args", "trust-remote-code", "disable-cuda-graph", "port", "tp", "dp", "model", "api-key"),
)
NAMES = st.sampled_from(KNOWN) | st.from_regex(r"[a-z][a-z0-9]{0,5}([-_][a-z0-9]{1,4}){0,2}", fullmatch=True)
PLAIN = st.characters(exclude_categories=["Cs", "Cc"])
TEXT = st.text(PLAIN, min_size=1, max_size=12) | st.sampled_from(
    [
        "$HOME",
        "~/x",
        "a b",
        "{1,2}",
        "it's",
        '"',
        "\\",
        "#",
        "&&",
        "|",
        ";",
        "*",
        "–",
        "0.85",
        "-1",
        "-0.5",
        '{"a": [1]}',
    ]
)
VALUES = st.lists(TEXT.filter(lambda text: not is_flag(text)), max_size=3)
ENV = st.dictionaries(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True), st.text(PLAIN, max_size=8), max_size=4
)


@st.composite
def flags(draw: st.DrawFn) -> list[list[str]]:
    """Flags as one types them: each once, with values apart or behind `=`."""
    found: list[list[str]] = []
    seen: set[str] = set()
    for name in draw(st.lists(NAMES, max_size=8)):
        if identity(name) in seen:
            continue
        seen.add(identity(name))
        values = draw(VALUES)
        glued = len(values) == 1 and draw(st.booleans())
        found.append([f"--{name}={values[0]}"] if glued else [f"--{name}", *values])
    return found


@st.composite
def commands(draw: st.DrawFn) -> tuple[tuple[str, ...], dict[str, str]]:
    head = draw(HEADS)
    return (*head, *(token for flag in draw(flags()) for token in flag)), draw(ENV)


def configured(profile: ProfileSettings, *more: ProfileSettings) -> Settings:
    return Settings(
        nodes={"a": NodeSettings("a", "a")},
        servers={"s": SERVER},
        profiles={each.name: each for each in (profile, *more)},
    )


def pasted(argv: tuple[str, ...], env: dict[str, str]) -> str:
    return " ".join(
        [*(f"{name}={shlex.quote(value) if value else ''}" for name, value in env.items()), shlex.join(argv)]
    )


def run_of(spec: str) -> Run:
    """The run as its node tells it."""
    directory = "/h/runs/s/20261130T000000Z-abcd"
    state = f'{directory}/state.json:{{"boot_id":"b","supervisor_pid":7,"supervisor_start_ticks":8}}'
    told = f"k2runs 1 b 1\nrun 1 {directory}\n{directory}/spec.json:{spec}\n{state}\nk2end\n"
    return parse_scan(told.encode())[0]


def meant(argv: tuple[str, ...]) -> list[Any]:
    """What a command says, whatever its flags are spelled like."""
    taken = arguments(argv)
    return [taken.head, *((identity(part.name or ""), part.values) for part in taken.parts)]


def said(profile: LaunchProfile) -> tuple[list[Any], dict[str, str]]:
    added = {"SPT_NOENV": "1", "PYTHONUNBUFFERED": "1"}
    env = {name: value for name, value in profile.env.items() if added.get(name) != value}
    return meant(profile.argv), env


def wanted(argv: tuple[str, ...], env: dict[str, str]) -> tuple[list[Any], dict[str, str]]:
    added = {"SPT_NOENV": "1", "PYTHONUNBUFFERED": "1"}
    return meant(argv), {name: value for name, value in env.items() if added.get(name) != value}


@settings(max_examples=1000, deadline=None)
@given(commands())
def test_a_pasted_command_becomes_a_profile_that_runs_it(command: tuple[tuple[str, ...], dict[str, str]]) -> None:
    argv, env = command
    assert arguments(argv).argv == argv
    text = pasted(argv, env)
    read = parse_command(text)
    assert (read.argv, dict(read.env), read.warnings) == (argv, env, ())
    profile = resolve(configured(ProfileSettings("p", cmd=text)), "p", SERVER)
    assert said(profile) == wanted(argv, env)
    if not profile.secrets:
        for shown in (command_text(profile), "\n".join(command_lines(profile))):
            again = parse_command(shown)
            assert (again.argv, dict(again.env)) == (profile.argv, dict(profile.env))


@settings(max_examples=300, deadline=None)
@given(commands())
def test_a_run_of_it_can_be_started_again(command: tuple[tuple[str, ...], dict[str, str]]) -> None:
    profile = resolve(configured(ProfileSettings("p", cmd=pasted(*command))), "p", SERVER)
    spec = spec_json(SERVER, profile, port=30000, started_by="ann@desk")
    run = run_of(spec)
    was = started_with(run, [profile])
    assert (was.arguments.argv, was.env) == (profile.argv, dict(profile.env))


@settings(max_examples=300, deadline=None)
@given(commands(), flags(), ENV)
def test_a_profile_with_changes_is_saved_as_one_that_runs_the_same(
    command: tuple[tuple[str, ...], dict[str, str]], more: list[list[str]], env: dict[str, str]
) -> None:
    whole = configured(ProfileSettings("p", cmd=pasted(*command)))
    change = ProfileChange(
        set={flag[0].removeprefix("--"): flag[1] if len(flag) > 1 else "true" for flag in more if "=" not in flag[0]},
        env=env,
    )
    wanted_profile = resolve(whole, "p", SERVER, change)
    made = saved_profile(whole, SERVER, change, "new")
    found = resolve(configured(*whole.profiles.values(), made), "new", SERVER)
    assert (sorted(map(repr, said(found)[0])), said(found)[1]) == (
        sorted(map(repr, said(wanted_profile)[0])),
        said(wanted_profile)[1],
    )

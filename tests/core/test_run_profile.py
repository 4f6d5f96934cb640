"""A run can be begun from again, with the secrets that only the config has; and which run to go back to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.builds import Build, BuildFlag, Takes
from k2tui.core.commandline import CommandError
from k2tui.core.errors import K2Error
from k2tui.core.profiles import resolve, resolved
from k2tui.core.run_profile import differs, ways_back, ways_to_undo
from k2tui.core.runs import Run
from k2tui.core.secrets import mask, masked_argv, masked_env
from k2tui.core.settings import LaunchProfile, ProfileSettings, ServerSettings, Settings
from k2tui.core.verbs import ProfileChange
from k2tui.core.verdicts import RunVerdict

KEY, TOKEN = "sk-12345678abcdef", "hf_abcdefGHIJKLmnop12345678"
BASE = ProfileSettings(
    "base", cmd=f"HF_TOKEN={TOKEN} python3 -m sglang.launch_server --model-path /m --tp 8 --api-key {KEY}"
)
REASON = ProfileSettings("reason", extends="base", flags={"reasoning-parser": "kimi_k2"}, env={"NCCL_PROTO": "LL"})
SETTINGS = Settings(profiles={"base": BASE, "reason": REASON})
SERVER = ServerSettings(
    "kimi", "gpu-a", profile="reason", port=30000, gpus=(0, 1), cwd="/srv", setup=f"login {TOKEN}; . /venv"
)
VERIFIED = RunVerdict(True, 5.0, "47 tokens in 0.9 s")


def run_of(profile: LaunchProfile, number: int = 1, verdict: RunVerdict | None = None) -> Run:
    """What a node keeps of a start of this profile."""
    return Run(
        "kimi",
        f"2026110{number}T101010Z-abcd",
        f"/runs/{number}",
        argv=masked_argv(profile.argv, profile.secrets),
        env=tuple(masked_env(profile.env, profile.secrets).items()),
        setup=None if profile.setup is None else mask(profile.setup, profile.secrets),
        cwd=profile.cwd,
        profile=profile.name,
        gpus=SERVER.gpus,
        verdict=verdict,
    )


FIRST = resolve(SETTINGS, None, SERVER)
RUN = run_of(FIRST)
OF_RUN = ProfileChange(run=RUN.run_id)


def test_a_run_is_begun_from_with_the_secrets_of_the_config() -> None:
    assert KEY not in str(RUN)
    assert TOKEN not in str(RUN)
    assert resolve(SETTINGS, None, SERVER, OF_RUN, runs=(RUN,)) == FIRST


def test_it_is_what_ran_then_whatever_the_profile_says_now() -> None:
    now = replace(SETTINGS, profiles={"base": BASE, "reason": replace(REASON, flags={"tp-size": 4}, env={})})
    assert resolve(now, None, SERVER, OF_RUN, runs=(RUN,)).argv == FIRST.argv


def test_a_change_comes_on_top_of_the_run() -> None:
    change = ProfileChange(
        run=RUN.run_id, set={"tp-size": "4"}, unset=("reasoning-parser",), env={"NCCL_PROTO": "LL128"}
    )
    profile = resolve(SETTINGS, None, SERVER, change, runs=(RUN,))
    assert profile.argv[5:7] == ("--tp-size", "4")
    assert "--reasoning-parser" not in profile.argv
    assert profile.env["NCCL_PROTO"] == "LL128"


def test_a_secret_that_nobody_has_is_named_before_anything_is_done() -> None:
    bare = Settings(profiles={"reason": ProfileSettings("reason", flags={"model-path": "/m"})})
    with pytest.raises(K2Error) as refused:
        resolve(bare, None, replace(SERVER, setup=None), OF_RUN, runs=(RUN,))
    assert refused.value.code == "secret_unknown"
    assert "--api-key, HF_TOKEN, the setup line" in refused.value.message


def test_a_secret_that_the_change_gives_or_takes_away_is_not_missed() -> None:
    bare = Settings(profiles={"reason": ProfileSettings("reason", flags={"model-path": "/m"})})
    run = replace(RUN, setup=None)
    change = ProfileChange(run=run.run_id, unset=("api_key",), env={"HF_TOKEN": "hf_another1234567890"})
    profile = resolve(bare, None, SERVER, change, runs=(run,))
    assert "--api-key" not in profile.argv
    assert profile.env["HF_TOKEN"] == "hf_another1234567890"


def test_the_server_gives_its_port_and_gpus_as_they_are_now() -> None:
    moved = replace(SERVER, port=31000, gpus=(4, 5))
    found = resolved(SETTINGS, None, moved, OF_RUN, runs=(RUN,))
    assert found.profile.argv[-2:] == ("--port", "31000")
    assert found.profile.env["CUDA_VISIBLE_DEVICES"] == "4,5"


def test_a_run_that_is_not_there_or_keeps_no_command_is_told() -> None:
    for runs, code in (((), "no_such_run"), ((replace(RUN, argv=()),), "no_command")):
        with pytest.raises(K2Error) as refused:
            resolve(SETTINGS, None, SERVER, OF_RUN, runs=runs)
        assert refused.value.code == code


def test_a_planned_run_was_never_started_and_is_nothing_to_begin_from() -> None:
    with pytest.raises(K2Error, match="has no run"):
        resolve(SETTINGS, None, SERVER, OF_RUN, runs=(replace(RUN, is_planned=True),))


def test_a_pasted_command_is_begun_from() -> None:
    change = ProfileChange(cmd="NCCL_ALGO=Ring python3 -m sglang.launch_server --model-path /x --tp 2", set={"tp": "4"})
    found = resolved(SETTINGS, None, SERVER, change)
    assert found.profile.argv[3:] == ("--model-path", "/x", "--tp-size", "4", "--port", "30000")
    assert found.profile.env["NCCL_ALGO"] == "Ring"
    assert (found.profile.name, found.sources["--model-path"]) == ("pasted command", "pasted command")


def test_a_pasted_command_that_needs_a_shell_is_refused() -> None:
    with pytest.raises(CommandError):
        resolve(SETTINGS, None, SERVER, ProfileChange(cmd="python3 x | tee log"))


def test_a_flag_that_takes_several_words_gets_them_where_the_build_is_known() -> None:
    change = ProfileChange(set={"cuda-graph-bs": "1 2 4", "chat-template": "a b"})
    build = Build("sglang", (BuildFlag("cuda-graph-bs", Takes.SEVERAL), BuildFlag("chat-template")))
    argv = resolve(SETTINGS, None, SERVER, change, build=build).argv
    assert argv[-8:-2] == ("--cuda-graph-bs", "1", "2", "4", "--chat-template", "a b")
    assert "1 2 4" in resolve(SETTINGS, None, SERVER, change).argv


def test_each_setting_says_who_gave_it() -> None:
    change = ProfileChange(set={"tp-size": "4", "max-running-requests": "64"}, env={"NCCL_PROTO": "LL"})
    assert resolved(SETTINGS, None, SERVER, change).sources == {
        "--model-path": "base",
        "--tp-size": "this change",
        "--api-key": "base",
        "--reasoning-parser": "reason",
        "--max-running-requests": "this change",
        "--port": "server",
        "HF_TOKEN": "base",
        "NCCL_PROTO": "reason",  # it has this value already
        "CUDA_VISIBLE_DEVICES": "server",
        "SPT_NOENV": "k2tui",
        "PYTHONUNBUFFERED": "k2tui",
    }


def test_what_a_run_had_says_which_run_and_the_server_still_gives_its_own() -> None:
    sources = resolved(SETTINGS, None, SERVER, replace(OF_RUN, set={"tp-size": "4"}), runs=(RUN,)).sources
    label = f"run {RUN.run_id}"
    assert (sources["--model-path"], sources["NCCL_PROTO"], sources["--tp-size"]) == (label, label, "this change")
    assert (sources["--port"], sources["CUDA_VISIBLE_DEVICES"], sources["SPT_NOENV"]) == ("server", "server", "k2tui")


def named(runs: object) -> list[str]:
    return [run.run_id[7] for run in runs]  # type: ignore[attr-defined]


TRIED = resolve(SETTINGS, None, SERVER, ProfileChange(set={"tp-size": "4"}))
OLDER, NEWER = run_of(FIRST, 1, VERIFIED), run_of(TRIED, 2, VERIFIED)
FAILED, PLANNED = (
    run_of(TRIED, 3, replace(VERIFIED, verified=False)),
    replace(run_of(FIRST, 4, VERIFIED), is_planned=True),
)


def test_the_way_back_is_the_newest_verified_run_and_the_live_one_comes_first() -> None:
    runs = (PLANNED, FAILED, NEWER, OLDER)
    assert named(ways_back(runs)) == ["2", "1"]
    assert named(ways_back(runs, live=OLDER)) == ["1", "2"]
    assert named(ways_back(runs, live=FAILED)) == ["2", "1"]


def test_an_undo_goes_to_another_configuration_than_the_one_that_runs() -> None:
    again = run_of(TRIED, 3, VERIFIED)
    assert named(ways_to_undo((again, NEWER, OLDER), again)) == ["1"]
    assert named(ways_to_undo((FAILED, NEWER, OLDER), FAILED)) == ["1"]


def test_the_order_of_flags_makes_no_other_configuration() -> None:
    turned = replace(RUN, argv=(*RUN.argv[:3], *RUN.argv[5:], *RUN.argv[3:5]))
    assert turned.argv != RUN.argv
    assert not differs(RUN, turned)
    assert differs(RUN, replace(RUN, cwd="/elsewhere"))

"""A change that is saved as a profile starts the same as the change did."""

from __future__ import annotations

from dataclasses import replace

import pytest

from k2tui.core.errors import K2Error
from k2tui.core.flags import identity
from k2tui.core.profiles import resolve, resolved
from k2tui.core.saved_profile import saved_profile
from k2tui.core.settings import LaunchProfile, ProfileSettings, ServerSettings, Settings
from k2tui.core.settings_between import flags_of
from k2tui.core.verbs import ProfileChange
from tests.core.test_run_profile import RUN

BASE = ProfileSettings(
    "base", cmd="NCCL_PROTO=LL python3 -m sglang.launch_server --model-path /m --tp 8 --skip-tokenizer-init"
)
REASON = ProfileSettings("reason", extends="base", flags={"reasoning-parser": "kimi_k2"}, env={"NCCL_ALGO": "Ring"})
SETTINGS = Settings(profiles={"base": BASE, "reason": REASON})
SERVER = ServerSettings("kimi", "gpu-a", profile="reason", port=30000, gpus=(0, 1), python="/opt/bin/python")
CHANGE = ProfileChange(
    set={"tp-size": "4", "mem-fraction-static": "0.85", "enable-metrics": "true"},
    unset=("reasoning-parser", "NCCL_PROTO"),
    env={"NCCL_ALGO": "Tree"},
)


def shape(profile: LaunchProfile) -> tuple[object, ...]:
    """What it runs; the order of flags aside."""
    flags = {identity(key): value[1] for key, value in flags_of(profile.argv).items()}
    return profile.argv[:3], flags, dict(profile.env)


def started_by(made: ProfileSettings, settings: Settings = SETTINGS, server: ServerSettings = SERVER) -> LaunchProfile:
    return resolve(replace(settings, profiles={**settings.profiles, made.name: made}), made.name, server)


def test_a_new_profile_extends_the_servers_by_what_is_other() -> None:
    made = saved_profile(SETTINGS, SERVER, CHANGE, "fast")
    assert made == ProfileSettings(
        "fast",
        extends="reason",
        flags={"tp-size": 4, "mem-fraction-static": 0.85, "enable-metrics": True},
        env={"NCCL_ALGO": "Tree"},
        unset=("reasoning-parser", "NCCL_PROTO"),
    )
    assert shape(started_by(made)) == shape(resolve(SETTINGS, None, SERVER, CHANGE))


def test_a_profile_that_is_written_over_keeps_what_it_extends() -> None:
    made = saved_profile(SETTINGS, SERVER, CHANGE, "reason")
    assert (made.extends, "reasoning-parser" in made.flags, made.unset) == ("base", False, ("NCCL_PROTO",))
    assert shape(started_by(made)) == shape(resolve(SETTINGS, None, SERVER, CHANGE))


@pytest.mark.parametrize("as_name", ["base", "new"])
def test_a_profile_with_a_command_of_its_own_keeps_that(as_name: str) -> None:
    server = replace(SERVER, profile="base")
    change = ProfileChange(set={"tp-size": "2"}, unset=("skip-tokenizer-init",))
    made = saved_profile(SETTINGS, server, change, as_name)
    assert made.cmd == (BASE.cmd if as_name == "base" else None)
    assert shape(started_by(made, server=server)) == shape(resolve(SETTINGS, None, server, change))


def test_another_program_is_written_out_whole() -> None:
    change = ProfileChange(cmd="A='b c' python3 -m other.server --model-path /m --tp-size 2")
    made = saved_profile(SETTINGS, SERVER, change, "other")
    assert (made.extends, made.cmd) == (None, "A='b c' python3 -m other.server --model-path /m --tp-size 2")
    assert shape(started_by(made)) == shape(resolve(SETTINGS, None, SERVER, change))


def test_a_run_is_saved_without_what_the_server_gives_by_itself() -> None:
    before = resolve(SETTINGS, None, SERVER)
    run = replace(RUN, argv=before.argv, env=tuple(before.env.items()), setup=None, gpus=SERVER.gpus)
    now = replace(SETTINGS, profiles={**SETTINGS.profiles, "reason": replace(REASON, flags={}, env={})})
    made = saved_profile(now, SERVER, ProfileChange(run=run.run_id), "then", runs=(run,))
    assert made == ProfileSettings(
        "then", extends="reason", flags={"reasoning-parser": "kimi_k2"}, env={"NCCL_ALGO": "Ring"}
    )


def test_what_others_build_on_is_not_made_to_build_on_them() -> None:
    with pytest.raises(K2Error, match="would extend itself"):
        saved_profile(SETTINGS, SERVER, CHANGE, "base")


def test_a_name_is_needed() -> None:
    with pytest.raises(K2Error, match="needs a name"):
        saved_profile(SETTINGS, SERVER, CHANGE, " ")


def test_several_values_and_texts_that_look_like_numbers_come_back_as_they_were() -> None:
    change = ProfileChange(cmd="python3 -m sglang.launch_server --model-path /m --lora-paths a b --x 08 --y 1e5 --z=-3")
    made = saved_profile(SETTINGS, SERVER, change, "other")
    argv = resolved(replace(SETTINGS, profiles={**SETTINGS.profiles, "other": made}), "other", SERVER).profile.argv
    assert shape(resolve(SETTINGS, None, SERVER, change)) == shape(started_by(made))
    assert {"08", "1e5"} <= set(argv)

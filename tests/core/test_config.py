from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.config import known_keys, matching, settings_from
from k2tui.core.config_document import document_of, gpus_text, masked
from k2tui.core.errors import ConfigErrors
from k2tui.core.settings import (
    AlertRuleSettings,
    AlertSettings,
    MatrixSettings,
    NodeSettings,
    ProfileSettings,
    ServerSettings,
    Settings,
)
from k2tui.core.toml_lines import key_lines
from k2tui.core.toml_text import toml_text


def parsed(text: str) -> dict[str, Any]:
    document: dict[str, Any] = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli").loads(text)
    return document


def read(text: str, aliases: Sequence[str] = (), this_machine: str | None = "box") -> Settings:
    return settings_from(
        parsed(text),
        path="k2.toml",
        locate=key_lines(text),
        ssh_hosts=lambda pattern: matching(aliases, pattern),
        this_machine=this_machine,
    )


FULL = """
theme = "night"
read_only = true
mouse = true
probe = { generate = "never" }
verify = { checks = "all", max_s = 5 }

[nodes.gpu-a]
host = "10.0.0.1"
user = "root"
port = 2222
proxy_jump = "bastion"
identity = "~/.ssh/id"
transport = "openssh"
home = "/data/k2tui"
disks = ["/data"]
tags = ["prod"]
confirm = "always"

[servers.kimi]
node = "gpu-a"
engine = "sglang"
setup = ". /opt/bin/activate"
python = "/opt/bin/python"
cwd = "/root"
gpus = "0,2,4-5"
port = 30000
profile = "reason"
on_crash = "restart:2/1h"
supervisor = "docker"
image = "lmsysorg/sglang:v0.5.9"
on_failure = "rollback"
drain = "90s"

[servers.by-hand]
node = "gpu-a"
log = "/data/log"

[profiles.base]
cmd = "A=b python3 -m sglang.launch_server --tp-size 8"

[profiles.reason]
extends = "base"
flags = { reasoning_parser = "kimi_k2", --mem-fraction-static = 0.9, x = true, y = [1, 2], z = { a = [true] } }
env = { NCCL_PROTO = "LL" }
unset = ["--tp_size", "A"]

[matrix.nccl]
server = "kimi"
profile = "base"
env = { NCCL_PROTO = ["LL", ""] }
flags = { chunked_prefill_size = [4096, 8192], x = [true, 1, [1, 2], { a = "b" }] }
restarts = 2
launch_limit = "5m"
leave = "best"
prescreen = true
max_tokens = 128
repeats = 5

[matrix.whole]
server = "kimi"
profiles = ["base", "reason"]

[alerts]
bell = false
command = ["notify-send", "{text}"]
off = ["gpu_power_cap"]

[alerts.rules.warm]
on = "gpu"
when = "temp > 60"
until = "temp < 50"
for_s = 30
severity = "info"
say = "{name} is at {temp} degrees"

[alerts.rules.gpu_hot]
for_s = 0

[keys]
"log.follow" = "Z"
"""


def test_every_key_becomes_a_setting() -> None:
    assert read(FULL) == Settings(
        path="k2.toml",
        theme="night",
        read_only=True,
        mouse=True,
        probe_generate="never",
        verify_checks="all",
        verify_max_s=5.0,
        nodes={
            "gpu-a": NodeSettings(
                name="gpu-a",
                host="10.0.0.1",
                user="root",
                port=2222,
                proxy_jump="bastion",
                identity="~/.ssh/id",
                transport="openssh",
                home="/data/k2tui",
                disks=("/data",),
                tags=("prod",),
                confirm="always",
            )
        },
        servers={
            "kimi": ServerSettings(
                name="kimi",
                node="gpu-a",
                setup=". /opt/bin/activate",
                python="/opt/bin/python",
                cwd="/root",
                gpus=(0, 2, 4, 5),
                port=30000,
                profile="reason",
                on_crash_restarts=2,
                on_crash_window_s=3600.0,
                supervisor="docker",
                image="lmsysorg/sglang:v0.5.9",
                on_failure="rollback",
                drain_s=90.0,
            ),
            "by-hand": ServerSettings(name="by-hand", node="gpu-a", log="/data/log"),
        },
        profiles={
            "base": ProfileSettings(name="base", cmd="A=b python3 -m sglang.launch_server --tp-size 8"),
            "reason": ProfileSettings(
                name="reason",
                extends="base",
                flags={
                    "reasoning-parser": "kimi_k2",
                    "mem-fraction-static": 0.9,
                    "x": True,
                    "y": (1, 2),
                    "z": {"a": [True]},
                },
                env={"NCCL_PROTO": "LL"},
                unset=("tp-size", "A"),
            ),
        },
        alerts=AlertSettings(
            bell=False,
            command=("notify-send", "{text}"),
            off=("gpu_power_cap",),
            rules={
                "warm": AlertRuleSettings(
                    "warm",
                    on="gpu",
                    when="temp > 60",
                    until="temp < 50",
                    for_s=30.0,
                    severity="info",
                    say="{name} is at {temp} degrees",
                ),
                "gpu_hot": AlertRuleSettings("gpu_hot", for_s=0.0),
            },
        ),
        matrices={
            "nccl": MatrixSettings(
                "nccl",
                "kimi",
                profile="base",
                env={"NCCL_PROTO": ("LL", "")},
                flags={"chunked-prefill-size": (4096, 8192), "x": (True, 1, (1, 2), {"a": "b"})},
                restarts=2,
                launch_limit_s=300.0,
                leave="best",
                prescreen=True,
                max_tokens=128,
                repeats=5,
            ),
            "whole": MatrixSettings("whole", "kimi", profiles=("base", "reason")),
        },
        keys={"log.follow": "Z"},
    )


def test_a_host_is_the_nodes_own_name_when_it_says_nothing() -> None:
    assert read("[nodes.gpu-a]").nodes["gpu-a"].host == "gpu-a"


def test_an_empty_config_shows_this_machine() -> None:
    assert read("").nodes == {"box": NodeSettings(name="box", host="box", transport="local")}


def test_a_config_with_a_node_does_not_add_this_machine() -> None:
    assert list(read("[nodes.gpu-a]").nodes) == ["gpu-a"]


def test_a_pattern_adds_the_hosts_of_the_ssh_config_and_what_is_written_by_hand_wins() -> None:
    text = "[fleet]\nfrom_ssh_config = 'gpu-*'\n[nodes.gpu-a]\nuser = 'root'\n[nodes.mine]\nhost = 'gpu-c'"
    nodes = read(text, aliases=["gpu-a", "gpu-b", "gpu-c", "db", "gpu-b", "gpu-/x"]).nodes
    assert list(nodes) == ["gpu-a", "mine", "gpu-b"]
    assert nodes["gpu-a"].user == "root"
    assert nodes["gpu-b"] == NodeSettings(name="gpu-b", host="gpu-b")


def test_a_server_may_stand_on_a_node_of_the_ssh_config() -> None:
    text = "[fleet]\nfrom_ssh_config = 'gpu-*'\n[servers.s]\nnode = 'gpu-b'\nlog = '/l'"
    assert read(text, aliases=["gpu-b"]).servers["s"].node == "gpu-b"


def test_a_pattern_that_matches_nothing_is_no_error() -> None:
    assert read("[fleet]\nfrom_ssh_config = 'gpu-*'").nodes == {}


def test_the_engine_is_what_the_command_says() -> None:
    text = (
        "[nodes.a]\n[servers.s]\nnode = 'a'\nprofile = 'child'\n"
        "[profiles.base]\ncmd = 'vllm serve /m'\n[profiles.child]\nextends = 'base'"
    )
    assert read(text).servers["s"].engine == "vllm"


@pytest.mark.parametrize(
    ("text", "restarts", "window_s"),
    [("stay", 0, 0.0), ("restart:3/30s", 3, 30.0), ("restart:1/5m", 1, 300.0), ("restart:2/1h", 2, 3600.0)],
)
def test_on_crash(text: str, restarts: int, window_s: float) -> None:
    server = read(f"[nodes.a]\n[servers.s]\nnode = 'a'\nlog = '/l'\non_crash = '{text}'").servers["s"]
    assert (server.on_crash_restarts, server.on_crash_window_s) == (restarts, window_s)


@pytest.mark.parametrize(
    ("text", "seconds", "shown"),
    [("0s", 0.0, None), ("90s", 90.0, "90s"), ("60s", 60.0, "1m"), ("2m", 120.0, "2m"), ("1d", 86400.0, "1d")],
)
def test_drain(text: str, seconds: float, shown: str | None) -> None:
    settings = read(f"[nodes.a]\n[servers.s]\nnode = 'a'\nlog = '/l'\ndrain = '{text}'")
    assert settings.servers["s"].drain_s == seconds
    assert document_of(settings)["servers"]["s"].get("drain") == shown


def test_a_moved_key_may_be_one_that_was_made_free() -> None:
    assert read('[keys]\n"log.follow" = "w"\n"log.wrap" = "f"').keys == {"log.follow": "w", "log.wrap": "f"}


def test_a_setting_written_out_gives_the_same_setting_again() -> None:
    settings = read(FULL)
    assert read(toml_text(document_of(settings))) == settings


def test_what_is_shown_has_its_secrets_masked() -> None:
    text = FULL.replace('NCCL_PROTO = "LL"', 'HF_TOKEN = "hunter2"').replace("x = true", "api-key = 'hunter2'")
    text = text.replace("A=b", "WANDB_API_KEY=hunter2").replace('"A"]', "]")
    text = text.replace('"notify-send", "{text}"', '"curl", "https://h", "--oauth2-bearer", "hunter2"')
    shown = toml_text(masked(document_of(read(text))))
    assert "hunter2" not in shown
    assert shown.count("***") == 4


def test_the_known_keys_have_no_twins() -> None:
    keys = known_keys()
    assert len(keys) == len(set(keys))
    assert {"theme", "servers.*.on_crash", "profiles.*.flags", "fleet.from_ssh_config", "keys.*"} <= set(keys)


@given(st.lists(st.integers(0, 1023), unique=True, min_size=1))
def test_gpu_numbers_survive_being_written(gpus: list[int]) -> None:
    text = f"[nodes.a]\n[servers.s]\nnode = 'a'\nlog = '/l'\ngpus = '{gpus_text(tuple(gpus))}'"
    assert read(text).servers["s"].gpus == tuple(gpus)


CLEAN = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)
SCALARS = CLEAN | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    SCALARS | st.booleans(), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(CLEAN, inner, max_size=3)
)
LISTED = st.lists(SCALARS.filter(lambda item: not str(item).startswith("-")), min_size=1, max_size=3).map(tuple)
VALUES = st.booleans() | SCALARS | LISTED | st.dictionaries(CLEAN, JSON, max_size=3)
FLAG_NAMES = st.from_regex(r"[a-z][a-z0-9]{0,6}(-[a-z0-9]{1,6}){1,3}", fullmatch=True)


@given(
    flags=st.dictionaries(FLAG_NAMES, VALUES, max_size=4),
    env=st.dictionaries(st.from_regex(r"[A-Z_][A-Z0-9_]{0,8}", fullmatch=True), CLEAN, max_size=4),
)
def test_a_profile_becomes_toml_and_the_same_profile_again(flags: dict[str, Any], env: dict[str, str]) -> None:
    profile = ProfileSettings("p", flags=flags, env=env)
    again = read(toml_text(document_of(Settings(profiles={"p": profile}))), this_machine=None)
    assert again.profiles.get("p", ProfileSettings("p")) == profile


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KEYS = st.sampled_from(
    ["theme", "nodes", "servers", "profiles", "alerts", "keys", "probe", "verify", "fleet", "matrix", "x"]
)
INNER = st.sampled_from(
    [
        *("node", "host", "port", "gpus", "profile", "log", "extends", "cmd", "flags", "env", "unset", "a"),
        *("bell", "command", "off", "rules", "on", "when", "until", "say"),
        *("server", "profiles", "restarts", "launch_limit", "leave", "max_tokens"),
    ]
)
NAMED = st.dictionaries(st.sampled_from(["a", "b"]), DOCUMENTS | st.dictionaries(INNER, DOCUMENTS | INNER, max_size=5))


@given(st.dictionaries(KEYS, DOCUMENTS | NAMED, max_size=6))
def test_no_document_can_break_the_checks(document: dict[str, Any]) -> None:
    lines: tuple[str, ...] = ()
    try:
        settings_from(document, path="k", locate=lambda key: None)
    except ConfigErrors as error:
        lines = error.lines
    assert all(line.startswith("k, ") and "\n" not in line for line in lines)

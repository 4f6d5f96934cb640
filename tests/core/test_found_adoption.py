"""A server that was started by hand becomes config, and the config starts the very same command."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.config import settings_from
from k2tui.core.flags import arguments
from k2tui.core.foreign.adoption import adoption_of, adoption_toml
from k2tui.core.found import FoundServer, NodeProcess
from k2tui.core.profiles import parse_command, resolve
from k2tui.core.runs import ProcessIdentity
from k2tui.core.secrets import MASK, mask
from k2tui.core.settings import Settings
from k2tui.core.toml_lines import key_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MAIN = NodeProcess(ProcessIdentity("boot", 41233, 99), 1, 41230, "ann", "python3 -m sglang.launch_server")
HEAD = ("python3", "-m", "sglang.launch_server")
MODEL = ("--model-path", "/models/kimi")


def found(*argv: str, **changes: Any) -> FoundServer:
    return replace(FoundServer(MAIN, "sglang", (*HEAD, *MODEL, *argv), port=30000), **changes)


def settings(server: FoundServer, name: str = "sglang-30000") -> Settings:
    """The config with a node, and what adoption adds to it."""
    text = f'[nodes.gpu-a]\nhost = "gpu-a"\n\n{adoption_toml(server, "gpu-a", name)}'
    return settings_from(tomllib.loads(text), path="config.toml", locate=key_lines(text))


def pasted(server: FoundServer) -> tuple[tuple[str, ...], dict[str, str]]:
    """Arguments and environment of the command in the config."""
    command = settings(server).profiles["sglang-30000"].cmd
    assert command is not None
    read = parse_command(command)
    assert read.warnings == ()
    return read.argv, dict(read.env)


@pytest.mark.parametrize(
    "argv",
    [
        ("--tp", "8", "--port", "30000"),
        ("--json-model-override-args", '{"architectures": ["X"], "a": {"b": "it\'s"}}'),
        ("--served-model-name", "kimi k2", "--trust-remote-code"),
        ("--chat-template", "{% for m in $messages %}`{{ m }}`~{a,b}\n\t# not a comment; $(rm -rf)"),
        ("--a", "", "--b", "'''", "--c", '"""', "--d", "\\", "--e", "–dash"),
        ("--name", "日本語", "--speed", "-1.5", "--x=y=z"),
    ],
)
def test_the_config_holds_exactly_what_runs(argv: tuple[str, ...]) -> None:
    assert pasted(found(*argv))[0] == (*HEAD, *MODEL, *argv)


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs"), exclude_characters="\ufffd"))))
def test_any_arguments_come_back_as_they_were(values: list[str]) -> None:
    argv = tuple(word for value in values for word in ("--flag", f"v{value}"))
    if MASK not in "".join(argv):
        assert pasted(found(*argv))[0] == (*HEAD, *MODEL, *argv)


@pytest.mark.parametrize(
    "server",
    [
        found("--tp-size", "8", "--port", "31000", port=31000, cwd="/root/a b", gpus=(3, 0, 1, 2, 6)),
        found("--base-gpu-id", "2", gpus=(2, 3), env=(("NCCL_ALGO", "Ring"), ("VIRTUAL_ENV", "/opt/a"))),
        found("--x", "'''", "--api-key", MASK, port=None, cwd="/a\x01", env_unknown=True),
    ],
    ids=["port and GPUs", "python", "what can't be written"],
)
def test_the_settings_are_what_the_lines_say(server: FoundServer) -> None:
    adoption = adoption_of(server, "gpu-a", "sglang-30000")
    read = settings(server)
    assert read.servers == {"sglang-30000": adoption.server}
    assert read.profiles == {"sglang-30000": adoption.profile}


def test_a_secret_in_the_command_is_named() -> None:
    adoption = adoption_of(found("--api-key", MASK), "gpu-a", "s")
    assert (adoption.secrets, adoption.notes) == (
        ("--api-key",),
        ("its value is a secret, so it was left out: --api-key",),
    )


def test_its_allowed_environment_comes_along() -> None:
    env = (("NCCL_ALGO", "Ring"), ("NCCL_DEBUG_FILE", "/tmp/a b.%h"), ("SGLANG_X", ""), ("SPT_NOENV", "1"))
    assert pasted(found(env=env))[1] == {"NCCL_ALGO": "Ring", "NCCL_DEBUG_FILE": "/tmp/a b.%h", "SGLANG_X": ""}


def test_a_start_from_there_runs_the_same_on_the_same_port_and_gpus() -> None:
    server = found("--tp-size", "8", "--port", "31000", port=31000, cwd="/root/a b", gpus=(0, 1, 2, 3, 6))
    config = settings(server)
    made = config.servers["sglang-30000"]
    assert (made.node, made.engine, made.port, made.cwd, made.gpus) == (
        "gpu-a",
        "sglang",
        31000,
        "/root/a b",
        server.gpus,
    )
    profile = resolve(config, None, made)
    assert profile.argv == server.argv
    assert profile.env["CUDA_VISIBLE_DEVICES"] == "0,1,2,3,6"


def test_gpus_that_its_environment_names_are_not_named_twice() -> None:
    server = found(env=(("CUDA_VISIBLE_DEVICES", "GPU-1"),), gpus=(1,))
    assert settings(server).servers["sglang-30000"].gpus == ()


@pytest.mark.parametrize("words", [("--base-gpu-id", "3"), ("--base-gpu-id=3",), ("--base_gpu_id", "3")])
def test_gpus_that_its_command_counts_off_are_not_counted_twice(words: tuple[str, ...]) -> None:
    """CUDA_VISIBLE_DEVICES=3 leaves one GPU, which is number 0: `--base-gpu-id 3` would find none."""
    server = found(*words, gpus=(3,))
    assert settings(server).servers["sglang-30000"].gpus == ()
    assert words[-1] in pasted(server)[0]


def test_a_bare_python_is_the_one_of_its_virtual_environment() -> None:
    config = settings(found(env=(("VIRTUAL_ENV", "/opt/sglang"),)))
    assert resolve(config, None, config.servers["sglang-30000"]).argv[0] == "/opt/sglang/bin/python3"


def test_a_script_is_written_as_one_types_it() -> None:
    argv = ("/opt/vllm/bin/python3", "/opt/vllm/bin/vllm", "serve", "/models/m", "--port", "8000")
    config = settings(FoundServer(MAIN, "vllm", argv, port=8000), "vllm-8000")
    profile = resolve(config, None, config.servers["vllm-8000"])
    assert profile.argv == argv[1:]
    assert arguments(profile.argv).head == argv[1:3]


@pytest.mark.parametrize(
    ("server", "left_out", "said"),
    [
        (found("--api-key", MASK, "--tp", "8"), "api-key", "# its value is a secret, so it was left out: --api-key"),
        (found(f"--api-key={MASK}"), "api-key", "# its value is a secret, so it was left out: --api-key"),
        (
            found("--title", "a\ufffdb"),
            "title",
            "# it has a character that no config can hold, so it was left out: --title",
        ),
        (
            found(env=(("HF_ENDPOINT", f"https://{MASK}@hub"),)),
            "HF_",
            "# its value is a secret, so it was left out: HF_ENDPOINT",
        ),
        (found(env_unknown=True), "env", "# its environment could not be read: what it needs of one goes in front"),
        (found(container="docker 0123456789ab"), "docker", "# it runs in docker 0123456789ab: started from here, it"),
    ],
)
def test_what_can_not_be_written_is_left_out_and_told(server: FoundServer, left_out: str, said: str) -> None:
    text = adoption_toml(server, "gpu-a", "sglang-30000")
    assert said in text
    assert MASK not in text
    assert mask(text) == text, "what a plain command prints is the same"
    argv, env = pasted(server)
    assert not [word for word in (*argv, *env) if left_out in word]
    assert argv[:5] == (*HEAD, *MODEL)

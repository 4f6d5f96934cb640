"""The model that a command serves is found on its node, wherever the command keeps it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.checkpoint import Checkpoint
from k2tui.core.errors import K2Error
from k2tui.services.checkpoint_look import look, model_of
from k2tui.services.doors import Completed
from tests.fakes.shell_link import AnswerLink, ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.weights import hub_model, write_model

WEIGHTS = script("weights")
FOUND = b"k2weights 1/\npath /models/kimi/\nf 81a4 100 model.safetensors/\nk2end\n"


async def seen(
    link: ShellLink, *argv: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> Checkpoint:
    found = await look(link, WEIGHTS, argv=argv, env=env or {}, cwd=None if cwd is None else str(cwd))
    assert found is not None
    return found


@pytest.fixture
def link(tmp_path: Path) -> ShellLink:
    """This machine, with a home and no cache of its own."""
    clean = dict.fromkeys(("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"), "")
    return ShellLink(shell_bin("dash", tmp_path / "bin"), env={**clean, "HOME": str(tmp_path / "home")})


@pytest.mark.parametrize(
    ("argv", "model"),
    [
        (("python3", "-m", "sglang.launch_server", "--model-path", "/m"), "/m"),
        (("python3", "-m", "sglang.launch_server", "--model=/m", "--tp", "8"), "/m"),
        (("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "a/b"), "a/b"),
        (("vllm", "serve", "moonshotai/Kimi-K2.5", "--port", "1"), "moonshotai/Kimi-K2.5"),
        (("/venv/bin/vllm", "serve", "--enable-expert-parallel", "/m"), "/m"),
        (("sglang", "serve", "--model-path", "/m"), "/m"),
        (("python3", "-m", "sglang.launch_server", "--tp", "8"), None),
        (("python3", "serve.py", "/m"), None),
        ((), None),
    ],
)
def test_the_model_is_found_in_either_engines_command(argv: tuple[str, ...], model: str | None) -> None:
    assert model_of(argv) == model


async def test_a_command_without_a_model_asks_nothing() -> None:
    link = AnswerLink(Path("/none"), answer=lambda _: FOUND)
    assert await look(link, WEIGHTS, argv=("python3", "serve.py"), env={}, cwd=None) is None
    assert await look(link, WEIGHTS, argv=("vllm", "serve", "/m", "--load-format", "dummy"), env={}, cwd=None) is None
    assert link.told == []


async def test_the_node_is_told_where_to_look() -> None:
    link = AnswerLink(Path("/none"), answer=lambda _: FOUND)
    argv = ("vllm", "serve", "a/b", "--revision", "v2", "--download-dir", "/big")
    await look(link, WEIGHTS, argv=argv, env={"HF_HOME": "/hf/", "HF_HUB_CACHE": "/hub", "X": "y"}, cwd="/srv")
    assert link.told == [("weights", ("a/b", "v2", "/srv", "/big", "/hub", "/hf/hub"), b"")]


async def test_a_node_that_has_no_such_model_gives_none() -> None:
    link = AnswerLink(Path("/none"), answer=lambda _: b"none/\nk2end\n")
    assert await look(link, WEIGHTS, argv=("vllm", "serve", "a/b"), env={}, cwd=None) is None


async def test_an_engine_that_is_told_not_to_sort_is_believed() -> None:
    link = AnswerLink(Path("/none"), answer=lambda _: FOUND)
    found = await seen(link, "vllm", "serve", "a/b", env={"SGLANG_SORT_WEIGHT_FILES": "-1"})
    assert found.is_sorted is False
    assert (await seen(link, "vllm", "serve", "a/b")).is_sorted is None


async def test_a_link_that_is_down_says_so() -> None:
    class Down(AnswerLink):
        async def run(self, *_: object, **__: object) -> Completed:
            raise K2Error("n1 is unreachable", code="timeout")

    with pytest.raises(K2Error):
        await look(Down(Path("/none")), WEIGHTS, argv=("vllm", "serve", "a/b"), env={}, cwd=None)


async def test_a_path_below_the_servers_directory_is_found(link: ShellLink, tmp_path: Path) -> None:
    write_model(tmp_path / "srv" / "models" / "kimi", shards=3)
    found = await seen(link, "vllm", "serve", "models/kimi", cwd=tmp_path / "srv")
    assert found.path == str(tmp_path / "srv" / "models" / "kimi")
    assert len(found.shards) == 3


async def test_a_path_below_the_home_is_found(link: ShellLink, tmp_path: Path) -> None:
    write_model(tmp_path / "home" / "kimi", shards=2)
    assert len((await seen(link, "vllm", "serve", "~/kimi")).shards) == 2
    assert len((await seen(link, "vllm", "serve", "kimi")).shards) == 2


@pytest.mark.parametrize(
    ("cache", "more", "env"),
    [
        ("hub", (), {"HF_HUB_CACHE": "{}/hub"}),
        ("hf/hub", (), {"HF_HOME": "{}/hf"}),
        ("xdg/huggingface/hub", (), {"XDG_CACHE_HOME": "{}/xdg"}),
        ("big", ("--download-dir", "{}/big"), {"HF_HOME": "{}/hf"}),
        ("home/.cache/huggingface/hub", (), {}),
    ],
)
async def test_a_name_of_the_hub_is_found_in_its_cache(
    cache: str, more: tuple[str, ...], env: dict[str, str], link: ShellLink, tmp_path: Path
) -> None:
    snapshot = hub_model(tmp_path / cache, "moonshotai/Kimi-K2.5", shards=3)
    more = tuple(word.format(tmp_path) for word in more)
    env = {name: value.format(tmp_path) for name, value in env.items()}
    found = await seen(link, "vllm", "serve", "moonshotai/Kimi-K2.5", *more, env=env)
    assert found.path == str(snapshot)
    assert (len(found.shards), found.troubles) == (3, ())
    assert all(shard.tensors_bytes for shard in found.shards)


async def test_another_revision_is_another_snapshot(link: ShellLink, tmp_path: Path) -> None:
    cache = tmp_path / "home/.cache/huggingface/hub"
    hub_model(cache, "a/b", shards=3)
    snapshot = hub_model(cache, "a/b", shards=2, revision="v2")
    found = await seen(link, "vllm", "serve", "a/b", "--revision", "v2")
    assert (found.path, len(found.shards)) == (str(snapshot), 2)
    found = await seen(link, "vllm", "serve", "a/b", "--revision", snapshot.name)
    assert found.path == str(snapshot)

"""A launch is looked at as a whole: on a real node, and on one that does not answer."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.checkpoint import Checkpoint
from k2tui.core.errors import K2Error
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.preflight import Preflight, PreflightItem, Weight
from k2tui.core.readings import NodeReading
from k2tui.core.runs import Run
from k2tui.core.settings import LaunchProfile, NodeSettings, ServerSettings
from k2tui.services.doors import Completed, Script
from k2tui.services.preflight import preflight
from tests.core.builds import NEW
from tests.fakes.shell_link import AnswerLink, ShellLink
from tests.remote.conftest import shell_bin
from tests.remote.node import free_port
from tests.remote.weights import write_model

NODE = NodeSettings("gpu-a", "gpu-a", home="~/k2tui")
SECRET = "s3cr3t-value-of-ann"


def profile(model: Path | str, *more: str, **changes: object) -> LaunchProfile:
    argv = (sys.executable, "-m", "sglang.launch_server", "--model-path", str(model), "--device", "cpu", *more)
    return replace(LaunchProfile("plain", argv, {"SPT_NOENV": "1"}), **changes)  # type: ignore[arg-type]


async def look(
    link: ShellLink,
    plan: LaunchProfile,
    *,
    port: int,
    server: ServerSettings | None = None,
    replaces: Run | None = None,
    requests: int | None = None,
    checkpoint: Checkpoint | None = None,
) -> Preflight:
    return await preflight(
        link,
        NODE,
        script,
        server=server or ServerSettings("kimi", "gpu-a", port=port),
        profile=plan,
        replaces=replaces,
        reading=NodeReading(),
        processes=(),
        requests=requests,
        rivals=(),
        build=replace(
            NEW, flags=(*NEW.flags, replace(NEW.flags[1], name="device"), replace(NEW.flags[1], name="api-key"))
        ),
        checkpoint=checkpoint,
    )


def words(found: Preflight) -> dict[str, PreflightItem]:
    return {item.name: item for item in found.items}


@pytest.fixture
def link(tmp_path: Path) -> ShellLink:
    """This machine, with a home of its own."""
    return ShellLink(shell_bin("dash", tmp_path / "bin"), env={"HOME": str(tmp_path)})


async def test_a_launch_that_will_go_well_has_nothing_in_its_way(link: ShellLink, tmp_path: Path) -> None:
    write_model(tmp_path / "llama", shards=3)
    port = free_port()
    found = await look(link, profile(tmp_path / "llama"), port=port)
    told = words(found)
    assert (found.blocks, found.warnings) == ((), ())
    assert [item.name for item in found.items] == ["ssh", "program", "port", "model", "disk", "gpus", "flags", "env"]
    assert told["ssh"].text == "gpu-a answers"
    assert told["port"].text == f"port {port} free"
    assert told["model"].text.startswith("3 of 3 shards, ")
    assert told["flags"].text == "flags accepted by this build 2/2"
    assert told["gpus"].text == "no GPU needed: it runs on the CPU"
    assert [check.name for check in found.checks] == ["--model-path", "--device", "SPT_NOENV"]


async def test_everything_that_must_fail_is_said_at_once(link: ShellLink, tmp_path: Path) -> None:
    paths = write_model(tmp_path / "llama", shards=3)
    paths[1].unlink()
    plan = profile(tmp_path / "llama", "--cuda-graph-max-bs", "8", cwd=f"{tmp_path}/gone")
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    async with server:
        port = int(server.sockets[0].getsockname()[1])
        found = await look(link, plan, port=port)
    assert {item.name for item in found.blocks} == {"program", "port", "model", "flags"}
    told = words(found)
    assert told["model"].text.startswith("2 of 3 shards: ")
    assert told["flags"].text == "--cuda-graph-max-bs: gone: use --cuda-graph-max-bs-decode"
    assert told["port"].text.startswith(f"port {port} is held by pid ")


async def test_a_checkpoint_that_is_known_is_not_looked_at_again(tmp_path: Path) -> None:
    link = AnswerLink(tmp_path, answer=lambda _: b"k2pre 1\nmodel dir\nk2end\n")
    found = await look(link, profile("/m/llama"), port=30000, checkpoint=Checkpoint("/m/llama"))
    assert [name for name, _, _ in link.told] == ["preflight"]
    assert words(found)["model"].text == "no weight files in llama"
    await look(link, profile("/m/llama"), port=30000)
    assert sorted(name for name, _, _ in link.told[1:]) == ["preflight", "weights"]


async def test_secrets_reach_the_node_by_stdin_and_no_item_holds_one(tmp_path: Path) -> None:
    link = AnswerLink(tmp_path, answer=lambda _: b"k2pre 1\nk2end\n")
    plan = profile(
        "/m/llama",
        "--api-key",
        SECRET,
        "--served-model-name",
        f"{SECRET}:x",
        setup=f"export TOKEN={SECRET}",
        env={"HF_TOKEN": SECRET, "MY_OWN": SECRET},
        secrets=frozenset((SECRET,)),
    )
    found = await look(link, plan, port=30000)
    assert SECRET not in repr(found)
    for _, args, stdin in link.told:
        assert SECRET not in repr(args)
        assert b"HF_TOKEN" not in stdin


@dataclass
class BrokenLink(AnswerLink):
    """Says why it can't."""

    async def run(self, script: Script, args: object = (), *, stdin: bytes = b"", timeout_s: float = 20.0) -> Completed:
        raise K2Error("gpu-a is out of reach: no route to host", code="unreachable", hint="k2tui doctor gpu-a")


@pytest.mark.parametrize(("phase", "weight"), [(LinkPhase.DOWN, Weight.BLOCK), (LinkPhase.UP, Weight.WARN)])
async def test_a_node_that_does_not_answer_is_told_and_nothing_there_is_called_fine(
    tmp_path: Path, phase: LinkPhase, weight: Weight
) -> None:
    link = BrokenLink(tmp_path, state=LinkState(phase))
    live = Run("kimi", "r1", "/runs/kimi/r1", session_id=1, alive=True)
    found = await look(link, profile("/m/llama"), port=30000, replaces=live)
    told = words(found)
    assert (told["ssh"].weight, told["ssh"].text) == (weight, "gpu-a is out of reach: no route to host")
    assert {told[name].weight for name in ("program", "port", "model", "disk", "clients")} == {Weight.UNKNOWN}
    assert told["flags"].weight is Weight.FINE


async def test_an_answer_that_breaks_off_is_no_answer(tmp_path: Path) -> None:
    link = AnswerLink(tmp_path, answer=lambda _: b"k2pre 1\nport 30000 free\n")
    told = words(await look(link, profile("/m/llama"), port=30000, requests=2))
    assert (told["ssh"].weight, told["ssh"].text) == (Weight.WARN, "gpu-a did not answer to the end")
    assert told["port"].weight is Weight.FINE
    assert told["disk"].weight is Weight.UNKNOWN


async def test_what_is_in_an_image_is_not_looked_for_on_the_node(link: ShellLink, tmp_path: Path) -> None:
    server = ServerSettings("kimi", "gpu-a", port=free_port(), supervisor="docker", image="sglang:v0.5.23")
    told = words(await look(link, profile(tmp_path / "gone"), port=1, server=server))
    assert {told["program"].weight, told["model"].weight} == {Weight.UNKNOWN}
    assert told["program"].text == "program in sglang:v0.5.23 not looked at"

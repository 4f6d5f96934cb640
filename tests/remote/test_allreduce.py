"""The all-reduce of a node's ranks: figures, what fails, what hangs, and nothing left of it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.services.doors import RemoteStream
from tests.remote.fake_torch import write_torch
from tests.remote.node import is_alive
from tests.waiting import until


class Node:
    """This machine, with a torch that is none."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.site = write_torch(directory / "site")
        self.seen = directory / "seen"
        self.seen.mkdir()
        self.model(hidden_size=256)
        self.link = LocalLink("here")

    def model(self, **config: Any) -> None:
        (self.directory / "config.json").write_text(json.dumps(config), encoding="utf-8")

    async def open(self, *arms: dict[str, str], ranks: int = 2, limit_s: float = 30.0, **more: Any) -> RemoteStream:
        program = script("allreduce.py").text.encode()
        listed = [{"label": str(number), "env": env} for number, env in enumerate(arms)]
        order = {"model": str(self.directory), "ranks": ranks, "batches": [1, 8], "arms": listed, "limit_s": limit_s}
        args = (sys.executable, f"export RANKS_SEEN={self.seen}", "", "", str(self.site))
        stream = await self.link.open(script("allreduce"), args)
        await stream.write(b"%d\n" % len(program) + program)
        await stream.write(json.dumps({**order, **more}).encode() + b"\n")
        return stream

    async def said(self, *arms: dict[str, str], **order: Any) -> list[dict[str, Any]]:
        stream = await self.open(*arms, **order)
        lines = []
        while line := await stream.readline():
            lines.append(json.loads(line))
        await stream.close()
        return lines

    def ranks(self) -> list[int]:
        """Pids of all ranks that came to join."""
        return [int(name.rpartition("-")[2]) for name in os.listdir(self.seen)]


@pytest.fixture
async def node(tmp_path: Path) -> AsyncIterator[Node]:
    made = Node(tmp_path)
    yield made
    await made.link.close()


async def test_each_setting_gets_its_median_for_the_sizes_of_decoding(node: Node) -> None:
    hello, fast, slow, end = await node.said({"NCCL_PROTO": "LL"}, {"NCCL_PROTO": "Simple"})
    assert (hello["type"], hello["backend"], hello["hidden_size"], hello["ranks"]) == ("hello", "gloo", 256, 2)
    assert (fast["label"], fast["state"], slow["label"], slow["state"]) == ("0", "ok", "1", "ok")
    assert set(fast["p50_us"]) == {"512", "4096"}
    assert slow["p50_us"]["4096"] > 0
    assert end == {"type": "end"}


async def test_what_hangs_is_ended_and_what_fails_says_why(node: Node) -> None:
    said = await node.said({"NCCL_ALGO": "Tree"}, {"NCCL_PROTO": "LL128"}, {}, limit_s=3.0)
    hung, failed, fine = said[1:4]
    assert (hung["state"], hung["why"], hung["p50_us"]) == ("hung", "no answer within 3 s", None)
    assert (failed["state"], failed["why"]) == ("failed", "RuntimeError: NCCL error: unhandled cuda error")
    assert (fine["state"], fine["graphs"]) == ("ok", False)
    assert len(node.ranks()) == 6
    assert not [pid for pid in node.ranks() if is_alive(pid)]


async def test_the_end_of_its_leash_ends_every_rank(node: Node) -> None:
    stream = await node.open({"NCCL_ALGO": "Tree"}, limit_s=600.0)
    await until(lambda: len(node.ranks()) == 2)
    await stream.close()
    await until(lambda: not [pid for pid in node.ranks() if is_alive(pid)])


async def test_the_hidden_size_of_a_text_model_inside_is_found(node: Node) -> None:
    node.model(text_config={"hidden_size": 7168})
    assert (await node.said())[0]["hidden_size"] == 7168


async def test_a_model_that_does_not_say_its_size_is_told(node: Node) -> None:
    node.model(layers=3)
    (said,) = await node.said()
    assert said["type"] == "error"
    assert "names no hidden_size" in said["message"]


async def test_a_python_without_torch_is_told(node: Node) -> None:
    (node.site / "torch" / "__init__.py").write_text("raise ImportError('no such thing')\n", encoding="utf-8")
    (said,) = await node.said({})
    assert said == {"type": "error", "message": "ImportError: no such thing"}

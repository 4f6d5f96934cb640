"""After a stop it is looked at what is left, and nothing is touched by that."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from k2tui.core.remains import MIB
from k2tui.core.runs import Run
from tests.fakes.shell_link import ShellLink
from tests.remote.node import EVERY_SHELL, Node, is_alive
from tests.waiting import until

SMI = """#!/bin/sh
here=${0%/*}/..
case $* in
  *query-gpu*) cat "$here/gpus" ;;
  *query-compute-apps*) cat "$here/apps" ;;
esac
"""


class Gpus:
    """Two GPUs of the node, as its driver tells them."""

    def __init__(self, node: Node) -> None:
        assert isinstance(node.link, ShellLink)
        self._at = node.link.bin.parent
        tool = node.link.bin / "nvidia-smi"
        tool.write_text(SMI)
        tool.chmod(0o755)
        self.tell(600, 500)

    def tell(self, *used_mib: int, held: dict[int, tuple[int, int | str]] | None = None) -> None:
        """MiB in use on each, and who holds what: GPU and MiB by pid."""
        (self._at / "gpus").write_text("".join(f"{at}, GPU-{at}, {mib}\n" for at, mib in enumerate(used_mib)))
        (self._at / "apps").write_text("".join(f"GPU-{at}, {pid}, {mib}\n" for pid, (at, mib) in (held or {}).items()))

    def baseline(self, run: Run) -> str:
        return Path(run.directory, "baseline").read_text()


@pytest.fixture
def gpus(node: Node) -> Gpus:
    return Gpus(node)


@EVERY_SHELL
async def test_a_gpu_is_back_when_it_has_no_more_in_use_than_before_the_start(node: Node, gpus: Gpus) -> None:
    run = await node.start(node.server(gpus=(0, 1)))
    assert run.child is not None
    gpus.tell(90_600, 500, held={run.child.pid: (0, 90_000)})
    busy = await node.keeper.remains(run)
    assert [(gpu.index, gpu.used_bytes, gpu.baseline_bytes, gpu.is_back) for gpu in busy.gpus] == [
        (0, 90_600 * MIB, 600 * MIB, False),
        (1, 500 * MIB, 500 * MIB, True),
    ]
    (holder,) = busy.gpus[0].holders
    assert (holder.pid, holder.used_bytes, holder.is_ours) == (run.child.pid, 90_000 * MIB, True)
    assert {found.pid for found in busy.living} >= {run.child.pid}
    assert not busy.is_clean
    await node.keeper.stop(run)
    gpus.tell(40_000, 500)
    late = await node.keeper.remains(run)
    assert (late.living, late.is_clean) == ((), False)
    assert "GPU 0 has 40000 MiB in use, 600 MiB before it started; no process of it to be seen" in late.sentence
    gpus.tell(1_100, 1_000)
    assert (await node.keeper.remains(run)).is_clean


async def test_what_a_stranger_holds_is_not_waited_for(node: Node, gpus: Gpus) -> None:
    stranger = os.getpid()
    gpus.tell(10_600, 500, held={stranger: (0, 10_000)})
    run = await node.start(node.server(gpus=(0,)))
    assert gpus.baseline(run) == "0 600\n"
    await node.keeper.stop(run)
    gpus.tell(30_600, 500, held={stranger: (0, 30_000)})
    remains = await node.keeper.remains(run)
    (holder,) = remains.gpus[0].holders
    assert (holder.is_ours, remains.gpus[0].is_back, remains.is_clean) == (False, True, True)


async def test_what_is_left_of_the_run_before_is_no_baseline(node: Node, gpus: Gpus) -> None:
    server = node.server(gpus=(0, 1))
    first = await node.start(server)
    await node.keeper.stop(first)
    gpus.tell(80_000, 400)
    second = await node.keeper.launch(server, node.profile(), started_by="ada@desk", replaces=first.run_id)
    assert gpus.baseline(second) == "0 600\n1 400\n"


async def test_without_a_driver_nothing_is_known_of_gpus_and_nothing_is_held_up(node: Node) -> None:
    run = await node.start(node.server(gpus=(0,)))
    await node.keeper.stop(run)
    remains = await node.keeper.remains(run)
    assert (remains.gpus, remains.is_clean) == ((), True)
    assert "no nvidia-smi" in (remains.gpu_trouble or "")
    assert not Path(run.directory, "baseline").exists()


async def test_a_figure_that_the_driver_does_not_tell_is_unknown(node: Node, gpus: Gpus) -> None:
    run = await node.start(node.server(gpus=(0,)))
    assert run.child is not None
    Path(run.directory, "baseline").unlink()
    gpus.tell(600, 500, held={os.getpid(): (0, "[N/A]")})
    (gpu,) = (await node.keeper.remains(run)).gpus
    assert (gpu.baseline_bytes, gpu.is_back, gpu.holders[0].used_bytes) == (None, None, None)


@EVERY_SHELL
async def test_a_port_that_somebody_holds_is_told(node: Node) -> None:
    run = await node.start()
    await node.keeper.stop(run)
    assert (await node.keeper.remains(run)).is_clean
    assert run.port is not None
    with socket.create_server(("127.0.0.1", run.port)):
        remains = await node.keeper.remains(run)
    assert remains.port_holder is not None
    assert (remains.port_holder.pid, remains.is_clean) == (os.getpid(), False)


@EVERY_SHELL
async def test_shared_memory_that_nobody_has_open_is_listed_and_left_alone(node: Node) -> None:
    run = await node.start()
    left, held = (Path(f"/dev/shm/psm_k2tui_{what}_{os.getpid()}") for what in ("left", "held"))
    try:
        left.write_bytes(b"x" * 4096)
        with held.open("wb"):
            shm = {one.name: one.size_bytes for one in (await node.keeper.remains(run)).shm}
            assert shm.get(left.name) == 4096
            assert held.name not in shm
        assert left.exists()
    finally:
        left.unlink(missing_ok=True)
        held.unlink(missing_ok=True)


@EVERY_SHELL
async def test_orphans_that_kept_their_session_are_found(node: Node) -> None:
    run = await node.start(profile=node.profile("deaf,twice"))
    pids = (await node.report())["pids"]
    assert run.supervisor is not None
    for pid in (run.supervisor.pid, pids["main"]):
        os.kill(pid, 9)
    await until(lambda: not is_alive(pids["main"]))
    remains = await node.keeper.remains(run)
    assert {found.pid for found in remains.living} == {pids["deaf"], pids["twice"]}
    assert not remains.is_clean

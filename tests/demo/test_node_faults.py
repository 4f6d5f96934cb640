"""Each fault of a simulated node is shown as what it is, through the real probe and the real link."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from k2tui.adapters.framing import pack
from k2tui.adapters.scripts import script
from k2tui.core.link import LinkPhase
from k2tui.core.readings import NodeReading
from k2tui.demo.faults import (
    BUSES,
    RC_NOISE_BYTES,
    XIDS,
    NodeFault,
    fault_words,
    kernel_log,
    parse_node_fault,
    split_fault,
)
from k2tui.demo.fleet import DemoFleet
from k2tui.demo.tools import tools
from k2tui.services.doors import NodeLink, RealClock, Script
from k2tui.services.node_watch import NodeWatch
from k2tui.services.runs import RunKeeper, RunScripts
from tests.waiting import until

NODE = "gpu-a"
GPUS = 8
BAD = 3
"""The GPU that a fault names."""


@dataclass
class Seen:
    """A node, as it is watched."""

    demo: DemoFleet
    link: NodeLink
    watch: NodeWatch

    @property
    def reading(self) -> NodeReading:
        return self.watch.reading

    @property
    def is_whole(self) -> bool:
        return len(self.reading.gpus) == GPUS and self.reading.host_at is not None


@asynccontextmanager
async def watched(fault: str | None) -> AsyncIterator[Seen]:
    """The first node of a demo with this fault."""
    async with DemoFleet(1, fault=fault, up=False) as demo:
        link = demo.make_link(demo.settings.nodes[NODE])
        watch = NodeWatch(
            link, script("probe"), RealClock(), lambda: None, disks=demo.settings.nodes[NODE].disks, interval_s=1.0
        )
        watch.start()
        yield Seen(demo, link, watch)
        await watch.close()
        await link.close()


def others_are_well(seen: Seen) -> bool:
    """All but the bad GPU tell their figures."""
    return all(gpu.fault is None and gpu.power_w is not None for gpu in seen.reading.gpus if gpu.index != BAD)


def ahead_s(seen: Seen) -> float | None:
    """How far the node's clock is ahead of this machine's, whose time zone it shares."""
    offset = seen.reading.clock_offset_s
    return None if offset is None else offset - time.localtime().tm_gmtoff


def free_bytes(seen: Seen, mount: str) -> int | None:
    return next((disk.available_bytes for disk in seen.reading.host.disks if disk.mount == mount), None)


def says(text: str | None, words: str) -> bool:
    return text is not None and words in text


SHOWN: dict[str, Callable[[Seen], object]] = {
    "smi_hang": lambda seen: says(seen.reading.gpus_trouble, "does not answer") and seen.reading.host_at,
    "smi_slow": lambda seen: seen.is_whole,
    "smi_none": lambda seen: says(seen.reading.no_gpus_because, "No devices were found"),
    "smi_mismatch": lambda seen: says(seen.reading.no_gpus_because, "Driver/library version mismatch"),
    "smi_na": lambda seen: seen.is_whole and {gpu.utilization_percent for gpu in seen.reading.gpus} == {None},
    "no_smi": lambda seen: seen.reading.no_gpus_because == "no nvidia-smi",
    "gpu_lost:3": lambda seen: seen.is_whole
    and says(seen.reading.gpus[BAD].fault, "lost")
    and seen.reading.gpus[BAD].utilization_percent is None
    and others_are_well(seen)
    and [xid.number for xid in seen.reading.xids] == [79],
    "gpu_gone:3": lambda seen: [gpu.index for gpu in seen.reading.gpus] == [0, 1, 2, 4, 5, 6, 7],
    "gpu_heat:3": lambda seen: seen.is_whole and (seen.reading.gpus[BAD].throttle_mask or 0) & 0x60,
    "gpu_brake:3": lambda seen: seen.is_whole and (seen.reading.gpus[BAD].throttle_mask or 0) & 0x80,
    "gpu_pcie:3": lambda seen: seen.is_whole
    and (seen.reading.gpus[BAD].pcie_width, seen.reading.gpus[BAD].pcie_width_max) == (8, 16)
    and seen.reading.gpus[0].pcie_width == 16,
    "gpu_ecc:3": lambda seen: seen.is_whole
    and (seen.reading.gpus[BAD].ecc_uncorrected or 0) > 0
    and seen.reading.gpus[BAD].rows_pending is True,
    "mig:0": lambda seen: seen.is_whole and seen.reading.gpus[0].mig is True and seen.reading.gpus[1].mig is False,
    "xid_storm:3": lambda seen: 1 < len(seen.reading.xids) <= XIDS
    and seen.reading.xids[-1].number == 79
    and {xid.number for xid in seen.reading.xids[:-1]} == {31}
    and {xid.bus for xid in seen.reading.xids} == {f"PCI:0000:{BUSES[BAD]}:00"},
    "kernel_denied": lambda seen: says(seen.reading.xids_unknown_because, "permission"),
    "clock_skew:300": lambda seen: abs((ahead_s(seen) or 0.0) - 300) < 5,
    "disk_full:/dev/shm": lambda seen: free_bytes(seen, "/dev/shm") == 0 and (free_bytes(seen, "/") or 0) > 0,
    f"rc_noise:{RC_NOISE_BYTES}": lambda seen: seen.is_whole and seen.link.state.phase is LinkPhase.UP,
    "fish": lambda seen: seen.is_whole and seen.link.state.phase is LinkPhase.UP,
    "tcsh": lambda seen: seen.is_whole and seen.link.state.phase is LinkPhase.UP,
}
"""What is seen of each."""


def test_every_fault_has_its_row() -> None:
    assert set(SHOWN) == set(fault_words())


@pytest.mark.parametrize("fault", SHOWN)
async def test_a_fault_is_shown_as_what_it_is(fault: str) -> None:
    async with watched(fault) as seen:
        await until(lambda: SHOWN[fault](seen), f"what {fault} looks like")
        keeper = RunKeeper(seen.link, seen.demo.settings.nodes[NODE], RunScripts(script))
        assert await keeper.scan() == (), "whatever is wrong with the node, its runs are told"


@pytest.mark.parametrize("fault", ["smi_hang", "gpu_lost:3", "gpu_gone:3", "disk_full:/dev/shm"])
async def test_what_breaks_under_the_eyes_is_seen_and_so_is_its_end(fault: str) -> None:
    broken = parse_node_fault(fault)
    assert broken is not None
    async with watched(None) as seen:
        await until(lambda: seen.is_whole and free_bytes(seen, "/dev/shm"))
        seen.demo.break_node(NODE, broken)
        if fault == "gpu_gone:3":
            await until(lambda: says(seen.reading.gpus[BAD].fault, "no longer listed"), "a GPU that is missed")
        else:
            await until(lambda: SHOWN[fault](seen), f"what {fault} looks like")
        seen.demo.mend_node(NODE)
        await until(
            lambda: seen.is_whole
            and seen.reading.gpus_trouble is None
            and seen.reading.gpus[BAD].fault is None
            and free_bytes(seen, "/dev/shm"),
            "a node that is well again",
        )


async def test_more_noise_than_any_rc_file_makes_is_a_shell_that_runs_nothing() -> None:
    async with watched("rc_noise:3000000") as seen:
        await until(lambda: seen.watch.trouble is not None)
        assert seen.watch.trouble is not None
        assert seen.watch.trouble.code == "no_shell"
        assert says(seen.watch.state.reason, "its login shell ran no command; it said: ")
        assert says(seen.watch.state.reason, "rc file of this login: loading the environment")


ECHO = Script("echo", "cat")
TAKEN = ("exec sh -c 'printf ran'", pack(ECHO, (), limit_s=None).command, pack(ECHO, (), limit_s=5.0).command)
REFUSED = (
    ("tcsh", "x=ran; printf $x"),
    ("fish", "x=ran; printf $x"),
    ("tcsh", "exec 3<&0; exec sh -c 'printf ran'"),
    ("fish", "for i in ran; do printf $i; done"),
    ("tcsh", "for i in ran; do printf $i; done"),
    ("tcsh", "exec sh -c 'printf ran!a'"),
    ("tcsh", "exec sh -c ':\nprintf ran'"),
)


def shells(name: str, tmp_path: Path) -> list[Path]:
    """The stand-in, and the real one where it is installed."""
    stand_in = tmp_path / name
    stand_in.write_text(tools()[name], encoding="utf-8")
    stand_in.chmod(0o755)
    real = shutil.which(name)
    return [stand_in, *([Path(real)] if real else [])]


def said_by(shell: Path, command: str) -> bytes:
    return subprocess.run([shell, "-c", command], input=b"", capture_output=True, check=False).stdout


@pytest.mark.parametrize("name", ["fish", "tcsh"])
def test_a_foreign_shell_takes_what_k2tui_sends(name: str, tmp_path: Path) -> None:
    for shell in shells(name, tmp_path):
        plain, *ours = (said_by(shell, command) for command in TAKEN)
        assert plain == b"ran"
        assert all(said.startswith(b"k2") for said in ours)


@pytest.mark.parametrize(("name", "command"), REFUSED)
def test_a_foreign_shell_takes_no_other_words_of_sh(name: str, command: str, tmp_path: Path) -> None:
    assert [said_by(shell, command) for shell in shells(name, tmp_path) if b"ran" in said_by(shell, command)] == []


@pytest.mark.parametrize("wrong", ["gpu_lost:x", "gpu_lost:12", "disk_full:data", "fish:3", "clock_skew:soon"])
def test_a_place_that_a_fault_cannot_have_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match=f"no fault '{wrong}'; there is {wrong.partition(':')[0]}"):
        split_fault(wrong)


def test_an_unknown_fault_is_told_all_there_are() -> None:
    with pytest.raises(ValueError, match=r"there are oom:3, .*, smi_hang, .*, tcsh$"):
        split_fault("nonsense")


def test_a_fault_of_the_engines_is_theirs() -> None:
    engines, node = split_fault("oom:2")
    assert (str(engines), node) == ("oom:2", None)
    assert split_fault("gpu_lost:2") == (None, NodeFault("gpu_lost", "2"))
    assert split_fault(None) == (None, None)


def test_a_storm_is_in_the_order_of_time() -> None:
    lines = kernel_log(NodeFault("xid_storm", "3"), node=NODE, now=1_796_000_000.0).splitlines()
    times = [float(line.split()[0]) for line in lines]
    assert len(lines) == XIDS + 1
    assert times == sorted(times)
    assert times[-1] == 1_796_000_000.0

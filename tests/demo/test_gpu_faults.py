"""What is wrong with a GPU or its driver arrives as what it is: from the node's nvidia-smi to its reading."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import pytest_asyncio

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.core.gpu_words import gpu_warnings, is_free
from k2tui.core.probing.reader import NO_ANSWER
from k2tui.core.readings import NodeReading
from k2tui.demo.layout import Layout, NodeKnobs
from k2tui.services.doors import RealClock
from k2tui.services.node_watch import NodeWatch
from tests.services.test_node_watch import left
from tests.sshd import MARK
from tests.waiting import until


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A node of the simulated fleet, whose programs are in front of PATH."""
    layout = Layout(tmp_path, "0.5.23")
    layout.make()
    layout.make_node("gpu-a", gpus=8, told=NodeKnobs())
    home = layout.node("gpu-a")
    monkeypatch.setenv(MARK, str(home))
    monkeypatch.setenv("PATH", f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return home


@pytest_asyncio.fixture
async def watch(node: Path) -> AsyncIterator[NodeWatch]:
    link = LocalLink("here")
    made = NodeWatch(link, script("probe"), RealClock(), lambda: None, interval_s=1)
    yield made
    await made.close()
    await link.close()
    await until(lambda: not left(node), "an end without processes")


def warned(index: int, name: str) -> Callable[[NodeReading], bool]:
    """Only this GPU has a warning, and it is this one."""

    def holds(reading: NodeReading) -> bool:
        found = [(gpu.index, warning.name) for gpu in reading.gpus for warning in gpu_warnings(gpu)]
        return len(reading.gpus) == 8 and (index, name) in found and {place for place, _ in found} == {index}

    return holds


FAULTS: dict[str, Callable[[NodeReading], bool]] = {
    "lost:3": lambda reading: warned(3, "fault")(reading) and reading.gpus[3].fault == "GPU is lost",
    "heat:2": warned(2, "hw_heat"),
    "brake:2": warned(2, "power_brake"),
    "pcie:4": warned(4, "pcie"),
    "ecc:7": warned(7, "ecc"),
    "mig:1": lambda reading: warned(1, "mig")(reading) and is_free(reading, reading.gpus[1]) is False,
    "na": lambda reading: (
        len(reading.gpus) == 8 and {(gpu.power_w, gpu.fault) for gpu in reading.gpus} == {(None, None)}
    ),
    "slow": lambda reading: bool(reading.gpus) and reading.gpus[0].persistence is False,
    "none": lambda reading: reading.no_gpus_because == "No devices were found",
    "mismatch": lambda reading: (
        reading.no_gpus_because == "Failed to initialize NVML: Driver/library version mismatch"
    ),
    "hang": lambda reading: reading.gpus_trouble == NO_ANSWER and not reading.gpus,
}


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_is_shown_as_what_it_is(fault: str, node: Path, watch: NodeWatch) -> None:
    (node / "smi.fault").write_text(f"{fault}\n", encoding="ascii")
    watch.start()
    await until(lambda: FAULTS[fault](watch.reading), fault)
    assert watch.reading.host_at is not None


async def test_a_gpu_that_goes_and_one_that_hangs_are_told_while_they_do_and_no_longer(
    node: Path, watch: NodeWatch
) -> None:
    watch.start()
    await until(lambda: len(watch.reading.gpus) == 8)
    (node / "smi.fault").write_text("gone:6\n", encoding="ascii")
    await until(lambda: [gpu.index for gpu in watch.reading.gpus if gpu.fault] == [6])
    (node / "smi.fault").write_text("hang\n", encoding="ascii")
    await until(lambda: watch.reading.gpus_trouble == NO_ANSWER)
    (node / "smi.fault").unlink()
    await until(lambda: not any(gpu.fault for gpu in watch.reading.gpus) and watch.reading.gpus_trouble is None)

"""What nvidia-smi knows beside its rows is asked in one go, and one that hangs is asked once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.demo.layout import Layout, NodeKnobs
from k2tui.services.gpu_details import gpu_details
from tests.fakes.shell_link import ShellLink


@pytest.fixture(params=["dash", "bash", "busybox"])
def link(request: pytest.FixtureRequest, tmp_path: Path) -> ShellLink:
    """A node with that shell and a stand-in nvidia-smi of the simulated fleet."""
    shell = shutil.which(request.param)
    if shell is None:
        pytest.skip(f"no {request.param} on this machine")
    layout = Layout(tmp_path, "0.5.23")
    layout.make()
    layout.make_node("gpu-a", gpus=2, told=NodeKnobs())
    (layout.root / "opt" / "bin" / "sh").symlink_to(shell)
    return ShellLink(layout.node("gpu-a") / "bin")


async def told(link: ShellLink) -> dict[str, list[str]]:
    """The lines under each heading."""
    found: dict[str, list[str]] = {}
    for line in await gpu_details(link, script("gpu_details")):
        if line.startswith("  "):
            found[list(found)[-1]].append(line.strip())
        elif line:
            found[line] = []
    return found


def install(link: ShellLink, body: str) -> Path:
    calls = link.bin.parent / "calls"
    program = link.bin / "nvidia-smi"
    program.unlink()
    program.write_text(f"#!/bin/sh\necho \"$*\" >>'{calls}'\n{body}\n")
    program.chmod(0o755)
    return calls


async def test_everything_is_told_under_its_heading(link: ShellLink) -> None:
    lines = await told(link)
    assert list(lines) == [
        "How the GPUs are connected",
        "PCIe traffic now",
        "NVLink",
        "NVLink errors",
        "Memory errors",
        "Memory rows that were replaced",
    ]
    assert lines["How the GPUs are connected"][1].split()[:3] == ["GPU0", "X", "NV18"]
    assert lines["PCIe traffic now"] == ["GPU 0: receives 0 MB/s, sends 0 MB/s", "GPU 1: receives 0 MB/s, sends 0 MB/s"]
    assert lines["NVLink"][1] == "GPU 1: 18 links at 26.562 GB/s each"
    assert lines["Memory errors"][0] == "GPU 0: 0 corrected, 0 not, since the driver came; 0 not, ever"
    assert len(lines["Memory rows that were replaced"]) == 2


async def test_a_question_that_is_refused_does_not_stop_the_next(link: ShellLink) -> None:
    install(link, "case $1 in topo) echo 'Option is not supported'; exit 1 ;; esac; echo '0, 1, 2, 3'")
    lines = await told(link)
    assert lines["How the GPUs are connected"] == ["nvidia-smi says: Option is not supported"]
    assert lines["Memory errors"] == ["GPU 0: 1 corrected, 2 not, since the driver came; 3 not, ever"]


async def test_after_one_that_hangs_nothing_more_is_asked(link: ShellLink) -> None:
    calls = install(link, "exit 137")  # as a time limit ends it
    lines = await told(link)
    assert lines["How the GPUs are connected"][0].startswith("nvidia-smi did not answer")
    assert len(lines) == 1
    assert calls.read_text() == "topo -m\n"


async def test_a_node_without_nvidia_smi_says_so(link: ShellLink) -> None:
    install(link, "exit 127")
    assert await told(link) == {"How the GPUs are connected": ["there is no nvidia-smi on this node"]}

"""The stand-in nvidia-smi speaks as the driver's own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from k2tui.demo.layout import Layout, NodeKnobs
from tests.demo.shapes import REAL

ALL = REAL / "h200-nvidia-smi-query-gpu.txt"


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Path:
    layout = Layout(tmp_path_factory.mktemp("smi"), "0.5.23")
    layout.make()
    layout.make_node("gpu-a", gpus=8, told=NodeKnobs())
    return layout.node("gpu-a")


def smi(node: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([node / "bin" / "nvidia-smi", *words], capture_output=True, text=True, check=False)


def hold(node: Path, index: int, memory: int, *, pid: int | None = None) -> Path:
    """An engine's word on one GPU."""
    path = node / "gpus" / str(pid or os.getpid())
    path.write_text(f"{index} 96 {memory} 62000 61 1980 4711 sglang::scheduler_TP{index}\n", encoding="ascii")
    return path


def test_heading_and_rows_look_like_the_drivers(node: Path) -> None:
    heading, row, *_ = ALL.read_text(encoding="utf-8").splitlines()
    fields = ",".join(re.sub(r" \[.*\]", "", name) for name in heading.split(", "))
    told = smi(node, f"--query-gpu={fields}", "--format=csv")
    ours = told.stdout.splitlines()
    assert told.returncode == 0
    assert ours[0] == heading
    assert len(ours) == 9

    def form(line: str) -> str:
        return re.sub(r"\d+(\.\d+)?", "N", re.sub(r"GPU-\S+,", "UUID,", line))

    assert {form(line) for line in ours[1:]} == {form(row)}


def test_every_gpu_of_every_node_has_an_identity_of_its_own(node: Path) -> None:
    uuids = smi(node, "--query-gpu=uuid", "--format=csv,noheader").stdout.split()
    assert len(set(uuids)) == 8
    listed = smi(node, "-L").stdout.splitlines()
    assert listed[3] == f"GPU 3: NVIDIA H200 (UUID: {uuids[3]})"


def test_numbers_come_without_units_when_asked(node: Path) -> None:
    told = smi(node, "--query-gpu=index,memory.total,power.limit", "--format=csv,noheader,nounits", "-i", "2")
    assert told.stdout == "2, 143771, 700.00\n"


def test_what_an_engine_holds_shows(node: Path) -> None:
    path = hold(node, 5, 123200)
    rows = smi(node, "--query-gpu=index,utilization.gpu,memory.used", "--format=csv,noheader,nounits").stdout
    apps = smi(node, "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader,nounits").stdout
    path.unlink()
    assert "5, 96, 123200\n" in rows
    assert "4, 0, 0\n" in rows
    assert apps == "4711, sglang::scheduler_TP5, 123200\n"


def test_what_a_dead_engine_held_is_free(node: Path) -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    path = hold(node, 0, 999, pid=child.pid)
    told = smi(node, "--query-gpu=memory.used", "--format=csv,noheader,nounits", "--id=0").stdout
    path.unlink()
    assert told == "0\n"


def test_no_process_is_no_row(node: Path) -> None:
    told = smi(node, "--query-compute-apps=gpu_uuid,pid,process_name,used_memory", "--format=csv")
    real = (REAL / "h200-nvidia-smi-others.txt").read_text(encoding="utf-8")
    assert told.stdout.strip() in real


def test_an_unknown_field_is_refused(node: Path) -> None:
    told = smi(node, "--query-gpu=index,clocks.nonsense", "--format=csv")
    assert told.returncode == 2
    assert told.stdout.startswith('Field "clocks.nonsense" is not a valid field to query.')


def test_the_help_names_every_field_that_is_answered(node: Path) -> None:
    fields = re.findall(r'^"(.*)"$', smi(node, "--help-query-gpu").stdout, flags=re.MULTILINE)
    names = [name for line in fields for name in line.split('" or "')]
    assert len(names) > 20
    assert smi(node, f"--query-gpu={','.join(names)}", "--format=csv").returncode == 0


def test_it_goes_on_until_nobody_reads(node: Path) -> None:
    words = [str(node / "bin" / "nvidia-smi"), "--query-gpu=index", "--format=csv,noheader,nounits", "-lms", "20"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as loop:
        assert loop.stdout is not None
        lines = [loop.stdout.readline().strip() for _ in range(24)]
        loop.stdout.close()
        loop.wait()
    assert lines == [str(index) for index in range(8)] * 3

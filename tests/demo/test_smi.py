"""The stand-in nvidia-smi speaks as the driver's own."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import pytest

from k2tui.adapters.scripts import script
from k2tui.core.probing.kernel_log import KernelLog
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


FIGURES = "index,uuid,utilization.gpu,memory.used,mig.mode.current,persistence_mode,pcie.link.width.current,power.draw"
EVERY_COLUMN = tuple(re.findall(r"^wanted='(.*?)'$", script("probe").text, flags=re.MULTILINE | re.DOTALL)[0].split())


@pytest.fixture
def broken(node: Path) -> Iterator[Callable[[str], None]]:
    """Writes the fault of the node; none is left afterwards."""
    path = node / "smi.fault"

    def write(words: str) -> None:
        path.write_text(f"{words}\n", encoding="ascii")

    yield write
    path.unlink(missing_ok=True)


def rows_of(node: Path, fields: str = FIGURES) -> list[list[str]]:
    told = smi(node, f"--query-gpu={fields}", "--format=csv,noheader,nounits")
    return [line.split(", ") for line in told.stdout.splitlines()]


def test_every_column_that_the_probe_may_ask_for_is_answered(node: Path) -> None:
    known = smi(node, "--help-query-gpu").stdout
    for names in EVERY_COLUMN:
        name = next(name for name in names.split("|") if f'"{name}"' in known)
        assert smi(node, f"--query-gpu={name}", "--format=csv").returncode == 0


@pytest.mark.parametrize(
    ("fault", "index", "column", "value"),
    [
        ("lost:3", 3, "utilization.gpu", "[GPU is lost]"),
        ("lost:3", 2, "utilization.gpu", "0"),
        ("lost:3", 3, "index", "3"),
        ("na", 5, "memory.used", "[N/A]"),
        ("mig", 0, "mig.mode.current", "Enabled"),
        ("mig:1", 0, "mig.mode.current", "Disabled"),
        ("mig", 0, "utilization.gpu", "[N/A]"),
        ("slow", 0, "persistence_mode", "Disabled"),
        ("heat:2", 2, "clocks_event_reasons.active", "0x0000000000000048"),
        ("brake:2", 2, "clocks_event_reasons.active", "0x0000000000000088"),
        ("pcie:4", 4, "pcie.link.width.current", "8"),
        ("pcie:4", 4, "pcie.link.width.max", "16"),
        ("ecc:7", 7, "gpu_recovery_action", "GPU Reset"),
    ],
)
def test_a_fault_shows_in_the_figures_of_its_gpu(
    node: Path, broken: Callable[[str], None], fault: str, index: int, column: str, value: str
) -> None:
    broken(fault)
    assert rows_of(node, column)[index] == [value]


def test_a_gpu_that_is_gone_is_listed_no_more(node: Path, broken: Callable[[str], None]) -> None:
    broken("gone:6")
    assert [row[0] for row in rows_of(node)] == ["0", "1", "2", "3", "4", "5", "7"]


@pytest.mark.parametrize(
    ("fault", "words", "code"),
    [
        ("none", "No devices were found", 6),
        ("mismatch", "Failed to initialize NVML: Driver/library version mismatch", 18),
    ],
)
def test_a_driver_that_does_not_work_says_so(
    node: Path, broken: Callable[[str], None], fault: str, words: str, code: int
) -> None:
    broken(fault)
    for question in (("--query-gpu=index", "--format=csv"), ("--query-compute-apps=pid", "--format=csv"), ("-L",)):
        told = smi(node, *question)
        assert (told.stdout.splitlines()[-1 if fault == "none" else -2], told.returncode) == (words, code)


def test_one_that_hangs_answers_when_the_fault_is_gone(node: Path, broken: Callable[[str], None]) -> None:
    broken("hang")
    words = [str(node / "bin" / "nvidia-smi"), "--query-gpu=index", "--format=csv,noheader"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as hung:
        assert hung.poll() is None
        (node / "smi.fault").unlink()
        assert hung.communicate()[0].split() == [str(index) for index in range(8)]


def test_topology_links_and_traffic_look_like_the_drivers(node: Path) -> None:
    real = (REAL.parent / "nvidia-smi" / "h200x2-others.txt").read_text(encoding="utf-8")

    def form(text: str) -> set[str]:
        return {re.sub(r" *\d+(\.\d+)?", " N", re.sub(r"GPU-\S+\)", "UUID)", line)) for line in text.splitlines()}

    assert form(smi(node, "nvlink", "-s").stdout) <= form(real)
    assert form(smi(node, "dmon", "-s", "t", "-c", "1").stdout) <= form(real)
    heading, first, *_ = smi(node, "topo", "-m").stdout.splitlines()
    assert heading.split("\t")[-3:] == ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID\x1b[0m"]
    assert first.split("\t")[:3] == ["GPU0", " X ", "NV18"]


def test_the_kernels_log_of_a_node_is_told_as_a_journal_does(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "journalctl"
    program.parent.mkdir()
    program.write_text(resources.files("k2tui.demo").joinpath("journalctl.sh").read_text("ascii"), "ascii")
    program.chmod(0o755)

    def journal(*more: str) -> subprocess.CompletedProcess[str]:
        words = [str(program), "-k", "-o", "short-unix", "--no-pager", "-n", "20000", *more]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    def log(*answers: subprocess.CompletedProcess[str]) -> KernelLog:
        made = KernelLog()
        for answer in answers:
            made.question(1796000200.0)
            made.answered((answer.stdout + answer.stderr).splitlines(), str(answer.returncode), None)
        return made

    empty = log(journal())
    assert (empty.xids, empty.unknown_because, empty.is_settled) == ((), None, True)
    lines = [f"1796000{number}.5 gpu-a kernel: NVRM: Xid (PCI:0000:4c:00): {number}, x" for number in (100, 200)]
    (tmp_path / "kernel.log").write_text("\n".join(lines) + "\n", "ascii")
    assert [xid.number for xid in log(journal()).xids] == [100, 200]
    assert [xid.number for xid in log(journal("--since=@1796000150")).xids] == [200]
    assert log(journal(), journal("--since=@1796000300")).is_settled
    (tmp_path / "kernel.denied").touch()
    assert log(journal()).question(None) == "ask kernel dmesg"

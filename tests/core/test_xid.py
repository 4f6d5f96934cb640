"""A line of the kernel's log becomes an error of a GPU, and its number words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.events import Severity
from k2tui.core.readings import GpuReading, NodeReading, Xid
from k2tui.core.xid import (
    CATALOGUE,
    Blame,
    gpu_of,
    meaning_of,
    process_of,
    read_kernel_line,
    without_echoes,
    xid_label,
    xid_sentence,
    xids_of,
)

BOOT = 1_796_000_000.0
GPUS = tuple(
    GpuReading(index, f"GPU-{index}", pcie_bus=f"00000000:{bus}:00.0") for index, bus in enumerate(("3B", "4C"))
)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (
            "1796000123.456789 gpu-a kernel: NVRM: Xid (PCI:0000:4c:00): 79, pid='<unknown>', name=<unknown>, "
            "GPU has fallen off the bus.",
            ("PCI:0000:4c:00", 79, 1796000123.456789),
        ),
        (
            "[  123.456789] NVRM: Xid (PCI:0000:4c:00): 31, pid=1533, name=python3, Ch 00000008",
            ("PCI:0000:4c:00", 31, BOOT + 123.456789),
        ),
        ("<4>[    0.500000] NVRM: Xid (PCI:0000:4c:00): 13, x", ("PCI:0000:4c:00", 13, BOOT + 0.5)),
        ("[ 9.100000] NVRM: Xid (0000:03:00): 48, DBE", ("0000:03:00", 48, BOOT + 9.1)),
        ("[ 9.100000] NVRM: GPU 0000:4c:00.0: GPU has fallen off the bus.", ("0000:4c:00.0", None, BOOT + 9.1)),
        ("[ 9.100000] NVRM: GPU at 0000:01:00.0 has fallen off the bus.", ("0000:01:00.0", None, BOOT + 9.1)),
        ("[ 9.100000] NVRM: The device has fallen off the bus.", ("", None, BOOT + 9.1)),
        (
            "[ 9.100000] nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress error",
            ("PCI:0000:c1:00.0", 12028, BOOT + 9.1),
        ),
    ],
)
def test_errors_are_read_as_the_journal_and_dmesg_print_them(line: str, wanted: tuple[str, int | None, float]) -> None:
    xid = read_kernel_line(line, BOOT)
    assert xid is not None
    assert (xid.bus, xid.number) == wanted[:2]
    assert xid.at == pytest.approx(wanted[2], abs=1e-3)
    assert not xid.text.startswith("NVRM")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "-- No entries --",
        "NVRM: Xid (PCI:0000:4c:00): 79, without a stamp",
        "[ 9.100000] NVRM: loading NVIDIA UNIX Open Kernel Module",
        "1796000123.456789 gpu-a sudo: NVRM: Xid (PCI:0000:4c:00): 79, written by a user's program",
        "[ 9.100000] usb 1-1: Xid (none)",
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert read_kernel_line(line, BOOT) is None


@given(st.text(max_size=200))
def test_no_line_can_break_it(text: str) -> None:
    read_kernel_line(f"[ 1.000000] NVRM: Xid {text}", None)
    read_kernel_line(text, BOOT)


def test_a_line_without_a_clock_has_no_time() -> None:
    xid = read_kernel_line("[ 9.100000] NVRM: Xid (PCI:0000:4c:00): 79, x", None)
    assert xid is not None
    assert xid.at is None


def test_its_text_is_plain_and_short() -> None:
    xid = read_kernel_line("[ 9.100000] NVRM: Xid (PCI:0000:4c:00): 79, \x1b[31m" + "x" * 9000, BOOT)
    assert xid is not None
    assert "\x1b" not in xid.text
    assert len(xid.text) <= 300


@pytest.mark.parametrize(
    ("number", "blame", "severity", "word"),
    [
        (13, Blame.APPLICATION, Severity.WARNING, "compute-sanitizer"),
        (31, Blame.APPLICATION, Severity.WARNING, "compute-sanitizer"),
        (43, Blame.APPLICATION, Severity.WARNING, "Restart"),
        (45, Blame.APPLICATION, Severity.INFO, "Nothing"),
        (48, Blame.HARDWARE, Severity.BAD, "reset"),
        (63, Blame.HARDWARE, Severity.WARNING, "next quiet time"),
        (64, Blame.HARDWARE, Severity.BAD, "new one"),
        (74, Blame.LINK, Severity.BAD, "nvlink"),
        (79, Blame.LINK, Severity.BAD, "reboot"),
        (94, Blame.HARDWARE, Severity.WARNING, "Restart"),
        (95, Blame.HARDWARE, Severity.BAD, "reset"),
        (119, Blame.DRIVER, Severity.BAD, "driver"),
        (149, Blame.LINK, Severity.BAD, "nvlink"),
        (None, Blame.LINK, Severity.BAD, "reboot"),
        (12028, Blame.LINK, Severity.BAD, "nvlink"),
    ],
)
def test_a_number_says_whose_fault_and_what_to_do(
    number: int | None, blame: Blame, severity: Severity, word: str
) -> None:
    meaning = meaning_of(number)
    assert (meaning.blame, meaning.severity) == (blame, severity)
    assert word in meaning.action


@pytest.mark.parametrize("number", range(200))
def test_every_number_has_words_and_says_where_they_are_from(number: int) -> None:
    meaning = meaning_of(number)
    assert meaning.means[:1].islower()
    assert meaning.action.endswith(".")
    assert meaning.basis == CATALOGUE or meaning.basis.startswith("inferred")


def test_a_number_that_nobody_knows_is_not_explained_away() -> None:
    assert meaning_of(9999).basis == "inferred: no source"


def test_the_gpu_is_found_by_its_bus_however_that_is_written() -> None:
    assert gpu_of(Xid("PCI:0000:4c:00", 79, ""), GPUS) is GPUS[1]
    assert gpu_of(Xid("PCI:0000:aa:00", 79, ""), GPUS) is None
    assert gpu_of(Xid("", None, ""), GPUS) is None
    assert gpu_of(Xid("PCI:0000:4c:00", 79, ""), [replace(GPUS[1], pcie_bus=None)]) is None
    reading = NodeReading(gpus=GPUS, xids=(Xid("PCI:0000:4c:00", 31, "a"), Xid("PCI:0000:3b:00", 13, "b")))
    assert [xid.text for xid in xids_of(reading, GPUS[0])] == ["b"]


def test_one_sentence_tells_all() -> None:
    told = xid_sentence(Xid("PCI:0000:4c:00", 79, ""), GPUS[1])
    assert told.startswith("XID 79 on GPU 1: the GPU is gone from the PCIe bus. Drain the node")
    assert xid_sentence(Xid("0000:01:00.0", None, ""), None).startswith("off the bus on 0000:01:00.0: ")
    assert xid_label(Xid("", 12028, "")) == "SXID 12028"


@pytest.mark.parametrize(
    ("text", "pid"),
    [("Xid (PCI:0000:4c:00): 31, pid=1533, name=python3", 1533), ("79, pid='<unknown>', x", None), ("pid='77',", 77)],
)
def test_the_process_is_named_where_the_line_does(text: str, pid: int | None) -> None:
    assert process_of(Xid("PCI:0000:4c:00", 31, text)) == pid


def test_one_loss_that_is_told_twice_counts_once() -> None:
    numbered, echo = Xid("PCI:0000:4c:00", 79, "a", 100.0), Xid("0000:4c:00.0", None, "b", 100.2)
    other, later = Xid("0000:3b:00.0", None, "c", 101.0), Xid("0000:4c:00.0", None, "d", 900.0)
    assert without_echoes([echo, later, numbered, other]) == (numbered, other, later)

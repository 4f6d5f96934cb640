"""Errors that the NVIDIA driver writes into the kernel's log: what a number means, whose fault it is, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from k2tui.core.events import Severity
from k2tui.core.lines import plain
from k2tui.core.probing.gpus import bus_key
from k2tui.core.readings import GpuReading, NodeReading, Xid

OFF_THE_BUS = 79
MOST_TEXT = 300
SAME_EVENT_S = 5.0
"""A GPU that falls off the bus is told twice: with a number and without."""

_STAMP = re.compile(r"(?:(\d{9,11}\.\d{1,9}) \S+ kernel: |(?:<\d+>)?\[ *(\d{1,9}\.\d{1,9})\] )")
"""As `journalctl -o short-unix` or as `dmesg` begins a line."""
_BUS = r"(?:PCI:)?[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?"
_XID = re.compile(rf"S?Xid \(({_BUS})\): (\d{{1,6}})\b")
_OFF = re.compile(rf"GPU (?:at )?({_BUS}):? .*fallen off the bus")
_PID = re.compile(r"\bpid='?(\d{1,9})\b")


class Blame(Enum):
    """Where to look first."""

    APPLICATION = "application"
    DRIVER = "driver"
    HARDWARE = "hardware"
    LINK = "link"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class XidMeaning:
    """One number, for an operator."""

    means: str
    blame: Blame
    action: str
    severity: Severity
    basis: str
    """Where that is known from."""


CATALOGUE = "NVIDIA's XID catalogue"
INFERRED = "inferred from its name in NVIDIA's XID catalogue; the catalogue has no action for it"

_RESTART = "Restart the server; the GPU itself is well."
_CODE = "Restart the server; if the same kernel does it again, run it under compute-sanitizer."
_RESET = "Stop what runs on the GPU and reset it (nvidia-smi -r -i N); if it comes back, open a case with the vendor."
_FIRMWARE = (
    "Stop what runs on the GPU and reset it; power-cycle the node if that does not help, and look for a newer driver."
)
_NVLINK = (
    "Drain the node and reset its GPUs; look at nvidia-smi nvlink -e, and have the link or its peer checked if it "
    "repeats."
)
_ENGINE = "Restart the server; open a case with the vendor if it repeats."

_App, _Drv, _Hw, _Link, _Unclear = Blame
_Info, _, _Warn, _Bad = Severity

_TABLE: dict[int, tuple[str, Blame, str, Severity]] = {
    8: ("a channel of the GPU stood still and was given up", _Unclear, _ENGINE, _Warn),
    11: ("the GPU was sent commands that it can't read", _Unclear, _CODE, _Warn),
    13: ("a kernel did something illegal, such as an access out of bounds", _App, _CODE, _Warn),
    25: ("the GPU was sent commands that it can't read", _Unclear, _CODE, _Warn),
    31: ("a kernel touched an address that it has not got", _App, _CODE, _Warn),
    32: (
        "commands were damaged on their way over PCIe",
        _Link,
        "Restart the server; if it repeats, look at the PCIe link: generation, width, kernel AER lines.",
        _Warn,
    ),
    37: ("the GPU's firmware was asked for something that it has not got", _Drv, "Match driver and CUDA.", _Warn),
    38: ("the GPU's firmware ran into its watchdog", _Drv, _ENGINE, _Warn),
    43: ("a program hit a fault of its own making and was stopped", _App, _RESTART, _Warn),
    44: ("the GPU faulted while it changed programs", _Unclear, _ENGINE, _Warn),
    45: (
        "a program was killed, and the driver cleared up behind it",
        _App,
        "Nothing, if somebody stopped the server; else read the error before this one.",
        _Info,
    ),
    46: ("the GPU stopped answering its driver", _Hw, _RESET, _Bad),
    48: (
        "memory of the GPU has an error that can't be corrected",
        _Hw,
        "Drain the node and reset the GPU; ask for a new one if the error comes back.",
        _Bad,
    ),
    54: ("the GPU's power cable is not connected", _Hw, "Have the cabling of the board checked.", _Bad),
    62: ("the GPU's power controller halted", _Drv, _RESET, _Bad),
    63: (
        "a bad row of memory was replaced by a spare one",
        _Hw,
        "Nothing now; reset the GPU at the next quiet time, so that the spare is used.",
        _Warn,
    ),
    64: (
        "a bad row of memory could not be replaced",
        _Hw,
        "Drain the node and reset the GPU; ask for a new one if it says so again.",
        _Bad,
    ),
    66: ("the driver touched a register that it may not", _Drv, "Look for a newer driver if it repeats.", _Warn),
    67: ("the driver touched a register that it may not", _Drv, "Look for a newer driver if it repeats.", _Warn),
    69: ("a kernel used the compute engine in a way that it does not know", _App, _CODE, _Warn),
    74: ("an NVLink connection of the GPU failed", _Link, _NVLINK, _Bad),
    78: ("a virtual GPU could not start", _Drv, "Match the driver of the host with that of the guest.", _Bad),
    79: (
        "the GPU is gone from the PCIe bus",
        _Link,
        "Drain the node and reboot it, powering it off if it stays away; then check seating, power, heat and the "
        "kernel's AER lines.",
        _Bad,
    ),
    80: ("commands were damaged on their way to the GPU", _Link, _CODE, _Warn),
    92: (
        "memory of the GPU corrects very many single errors",
        _Hw,
        "It works on; run the vendor's diagnosis at the next quiet time.",
        _Warn,
    ),
    93: ("the GPU's settings memory was written too often", _Hw, "Nothing now; tell the vendor if it repeats.", _Info),
    94: (
        "a memory error hit one program only, and that one was ended",
        _Hw,
        "Restart the server; reset the GPU at the next quiet time.",
        _Warn,
    ),
    95: (
        "a memory error hit more than one program",
        _Hw,
        "Stop everything on the GPU and reset it before anything starts again.",
        _Bad,
    ),
    109: ("a program could not be switched off the GPU in time", _Unclear, _RESET, _Bad),
    110: (
        "the GPU found its security violated",
        _Hw,
        "Undo recent changes of hardware and power the node off and on; then ask the vendor.",
        _Bad,
    ),
    119: ("the GPU's system processor does not answer the driver", _Drv, _FIRMWARE, _Bad),
    120: ("the GPU's system processor failed", _Drv, _FIRMWARE, _Bad),
    121: (
        "the link to the Grace CPU corrected errors",
        _Link,
        "Nothing now; reset the GPU at the next quiet time, so that the link trains anew.",
        _Info,
    ),
    136: ("an NVLink connection could not be trained", _Link, _NVLINK, _Bad),
    137: ("a kernel touched a peer's memory that it may not, over NVLink", _App, _CODE, _Warn),
    140: (
        "a memory error escaped before the driver could fence it off",
        _Hw,
        "Drain the node and reset the GPU; ask for a new one if it comes back.",
        _Bad,
    ),
    141: ("a fast path of CUDA failed", _Unclear, _ENGINE, _Warn),
    143: ("the GPU could not be initialised", _Hw, _RESET, _Bad),
    151: ("a key of confidential computing could not be changed", _Drv, "Restart the virtual machine.", _Bad),
    154: (
        "the driver says what the GPU needs after the errors before this one",
        _Unclear,
        "Do what its line says in brackets: reset the GPU, or reboot the node.",
        _Bad,
    ),
    155: ("an NVLink connection was taken down by software", _Link, _NVLINK, _Warn),
    156: (
        "a damaged part of the GPU was taken out of use",
        _Hw,
        "Reset the GPU at the next quiet time, so that it takes effect.",
        _Warn,
    ),
    157: (
        "a damaged part of the GPU could not be taken out of use",
        _Hw,
        "It may run on, but the error can come back: ask the vendor.",
        _Bad,
    ),
    158: ("the GPU did not answer for too long", _Hw, _RESET, _Bad),
    160: ("a damaged channel of memory was taken out of use", _Hw, "Nothing now; watch for more of them.", _Warn),
    161: ("a damaged channel of memory could not be taken out of use", _Hw, "Ask the vendor.", _Bad),
    168: (
        "the GPU has errors in memory that it keeps for itself",
        _Hw,
        "Turn ECC on, so that bad rows can be replaced, and reset the GPU.",
        _Bad,
    ),
    **dict.fromkeys(
        (39, 40, 41, 70, 71, 72, 75, 76, 77, 85, *range(126, 136)),
        ("a copy engine of the GPU failed", _Unclear, _ENGINE, _Warn),
    ),
    **dict.fromkeys(
        (60, 68, 82, 83, 84, 86, 88, 89, *range(96, 106), 139, 142),
        ("a video engine of the GPU failed", _Unclear, _ENGINE, _Warn),
    ),
    **dict.fromkeys(range(144, 151), ("an NVLink connection of the GPU failed", _Link, _NVLINK, _Bad)),
}
_INFERRED: dict[int, tuple[str, Blame, str, Severity]] = {
    61: ("the GPU's power controller stopped at a breakpoint", _Drv, _RESET, _Warn),
    122: ("the GPU's settings memory could not be read", _Hw, _RESET, _Warn),
    123: ("the GPU's settings memory could not be written", _Hw, _RESET, _Warn),
    124: ("the GPU's settings memory could not be erased", _Hw, _RESET, _Warn),
    125: ("the GPU's settings memory is damaged", _Hw, _RESET, _Warn),
    167: ("the GPU did not answer over PCIe in time", _Link, _RESET, _Bad),
    169: ("the GPU's security controller halted", _Drv, _RESET, _Bad),
    171: ("an error that can't be corrected is in the GPU's DRAM", _Hw, _RESET, _Bad),
    172: ("an error that can't be corrected is in the GPU's SRAM", _Hw, _RESET, _Bad),
}
_SWITCH = ("an NVSwitch reported an error", _Link, _NVLINK, _Bad)
_UNKNOWN = (
    "no meaning is known here for this number",
    _Unclear,
    "Look it up in NVIDIA's XID catalogue; restart the server, and reset the GPU if it repeats.",
    _Warn,
)
_SWITCH_NUMBERS = 10_000
"""Numbers from here on are of NVSwitches (SXid)."""


def meaning_of(number: int | None) -> XidMeaning:
    """What a number means; None is `fallen off the bus` without one."""
    if number is None:
        return XidMeaning(*_TABLE[OFF_THE_BUS], basis=CATALOGUE)
    if number in _TABLE:
        return XidMeaning(*_TABLE[number], basis=CATALOGUE)
    if number in _INFERRED:
        return XidMeaning(*_INFERRED[number], basis=INFERRED)
    if number >= _SWITCH_NUMBERS:
        return XidMeaning(*_SWITCH, basis="inferred: its number is an NVSwitch's")
    return XidMeaning(*_UNKNOWN, basis="inferred: no source")


def xid_label(xid: Xid) -> str:
    """`XID 79`, `SXID 12028`, or `off the bus` where the kernel gave no number."""
    if xid.number is None:
        return "off the bus"
    return f"{'SXID' if xid.number >= _SWITCH_NUMBERS else 'XID'} {xid.number}"


def xid_sentence(xid: Xid, gpu: GpuReading | None) -> str:
    """One sentence for an event: which GPU, what it means, what to do."""
    where = f"GPU {gpu.index}" if gpu is not None else xid.bus or "a GPU"
    meaning = meaning_of(xid.number)
    return f"{xid_label(xid)} on {where}: {meaning.means}. {meaning.action}"


def process_of(xid: Xid) -> int | None:
    """The pid that its line names, in the kernel's own numbering."""
    found = _PID.search(xid.text)
    return None if found is None else int(found[1])


def gpu_of(xid: Xid, gpus: Iterable[GpuReading]) -> GpuReading | None:
    """The GPU at its bus address."""
    key = bus_key(xid.bus)
    if key is None:
        return None
    return next((gpu for gpu in gpus if gpu.pcie_bus is not None and bus_key(gpu.pcie_bus) == key), None)


def xids_of(reading: NodeReading, gpu: GpuReading) -> tuple[Xid, ...]:
    """The errors of one GPU, oldest first."""
    key = None if gpu.pcie_bus is None else bus_key(gpu.pcie_bus)
    return tuple(xid for xid in reading.xids if key is not None and bus_key(xid.bus) == key)


def read_kernel_line(line: str, boot_at: float | None) -> Xid | None:
    """A line of the kernel's log; None when it tells no error of a GPU. `boot_at`: unix time of the node's boot."""
    stamp = _STAMP.match(line)
    if stamp is None:
        return None
    text = plain(line[stamp.end() :]).strip()[:MOST_TEXT]
    found = _XID.search(text)
    off = _OFF.search(text) if found is None else None
    if found is None and off is None and "fallen off the bus" not in text:
        return None
    if stamp[1]:
        at: float | None = float(stamp[1])
    else:
        at = None if boot_at is None else boot_at + float(stamp[2])
    bus = found[1] if found is not None else off[1] if off is not None else ""
    return Xid(bus, int(found[2]) if found is not None else None, text.removeprefix("NVRM: "), at)


def without_echoes(xids: Iterable[Xid]) -> tuple[Xid, ...]:
    """In order of time, without a `fallen off the bus` that a numbered error of the same GPU tells as well."""
    ordered = sorted(xids, key=lambda xid: xid.at or 0.0)
    off = [(bus_key(xid.bus), xid.at) for xid in ordered if xid.number == OFF_THE_BUS]
    return tuple(
        xid
        for xid in ordered
        if xid.number is not None
        or not any(bus == bus_key(xid.bus) and abs((at or 0.0) - (xid.at or 0.0)) <= SAME_EVENT_S for bus, at in off)
    )

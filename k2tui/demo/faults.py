"""What can be wrong with a simulated node, beside what can be wrong with its engines."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass

from k2tui.demo.engine import knobs

RC_NOISE_BYTES = 1_000_000
XIDS = 200
"""In a storm: a page fault a second, and at its end the GPU falls off the bus."""


@dataclass(frozen=True)
class Kind:
    """One way for a node to be broken."""

    says: str
    where: str | None = None
    """What may stand after the colon when nothing does; None: nothing may."""
    form: str = r"\d"
    smi: bool = False
    """It is a word of smi.sh's."""


KINDS: Mapping[str, Kind] = {
    "smi_hang": Kind("nvidia-smi never answers", smi=True),
    "smi_slow": Kind("each answer of nvidia-smi takes 4 s longer", smi=True),
    "smi_none": Kind("nvidia-smi finds no device", smi=True),
    "smi_mismatch": Kind("the driver's library is of another version", smi=True),
    "smi_na": Kind("nvidia-smi tells no figure", smi=True),
    "no_smi": Kind("there is no nvidia-smi"),
    "gpu_lost": Kind("GPU N has fallen off the bus", "3", smi=True),
    "gpu_gone": Kind("GPU N is listed no more", "3", smi=True),
    "gpu_heat": Kind("GPU N is too hot, so its clocks are low", "3", smi=True),
    "gpu_brake": Kind("the power supply makes GPU N brake", "3", smi=True),
    "gpu_pcie": Kind("the link of GPU N is x8, generation 1", "3", smi=True),
    "gpu_ecc": Kind("GPU N has memory errors", "3", smi=True),
    "mig": Kind("GPU N is cut into MIG instances", "0", smi=True),
    "xid_storm": Kind("the kernel's log is full of errors of GPU N", "3"),
    "kernel_denied": Kind("this login may not read the kernel's log"),
    "clock_skew": Kind("the clock is N seconds ahead", "300", r"-?\d{1,8}"),
    "disk_full": Kind("the file system MOUNT is full", "/dev/shm", r"/\S*"),
    "rc_noise": Kind("rc files print N bytes before each command", str(RC_NOISE_BYTES), r"\d{1,9}"),
    "fish": Kind("the login shell is fish"),
    "tcsh": Kind("the login shell is tcsh"),
}
BUSES = ("19", "3b", "4c", "5d", "9b", "bb", "cb", "db")
"""Of each GPU, as smi.sh has them."""


@dataclass(frozen=True)
class NodeFault:
    """One fault of a node, and where."""

    kind: str
    where: str | None = None

    def __str__(self) -> str:
        return self.kind if self.where is None else f"{self.kind}:{self.where}"

    @property
    def smi(self) -> str | None:
        """The first line of the file smi.fault; None when nvidia-smi is well."""
        if not KINDS[self.kind].smi:
            return None
        word = self.kind.removeprefix("smi_").removeprefix("gpu_")
        return word if self.where is None else f"{word}:{self.where}"


def fault_words() -> tuple[str, ...]:
    """Every fault of a node as it is written."""
    return tuple(str(_with_default(name, kind)) for name, kind in KINDS.items())


def parse_node_fault(text: str) -> NodeFault | None:
    """`gpu_lost:3` to a fault; None when it is none of a node's. ValueError for a place that it can't have."""
    name, colon, where = text.partition(":")
    kind = KINDS.get(name)
    if kind is None:
        return None
    if not colon:
        return _with_default(name, kind)
    if kind.where is None or re.fullmatch(kind.form, where, re.ASCII) is None:
        raise ValueError(f"no fault {text!r}; there is {_with_default(name, kind)}: {kind.says}")
    return NodeFault(name, where)


def split_fault(text: str | None) -> tuple[knobs.Fault | None, NodeFault | None]:
    """What was asked for, as the engines' or as the first node's. ValueError names every fault there is."""
    if text and (found := parse_node_fault(text)) is not None:
        return None, found
    try:
        return knobs.parse_fault(text), None
    except ValueError:
        words = ", ".join((*knobs.fault_words(), *fault_words()))
        raise ValueError(f"no fault {text!r}; there are {words}") from None


def kernel_log(fault: NodeFault, *, node: str, now: float | None = None) -> str:
    """What the kernel says of this fault, oldest first, as `journalctl -k -o short-unix` prints it."""
    now = time.time() if now is None else now
    gpu = int(fault.where or 0) if fault.kind in ("xid_storm", "gpu_lost") else None
    if gpu is None:
        return ""
    bus = f"PCI:0000:{BUSES[gpu]}:00"
    lines = [(now, f"NVRM: Xid ({bus}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.")]
    if fault.kind == "xid_storm":
        fault_words = "31, pid=4711, name=sglang::schedul, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS"
        lines = [(now - XIDS + number, f"NVRM: Xid ({bus}): {fault_words}") for number in range(XIDS)] + lines
    return "".join(f"{at:.6f} {node} kernel: {words}\n" for at, words in lines)


def _with_default(name: str, kind: Kind) -> NodeFault:
    return NodeFault(name, kind.where)

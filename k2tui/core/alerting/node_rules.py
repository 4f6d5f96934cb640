"""The rules about nodes and their file systems that hold without any config."""

from __future__ import annotations

from typing import Any

from k2tui.core.alerting.rows import DiskRow, NodeRow
from k2tui.core.alerting.rule import Rule, opposite
from k2tui.core.events import Severity
from k2tui.core.link import LinkPhase
from k2tui.core.over_time.notes import clock_ahead_s
from k2tui.core.words import duration, size

SKEW_S, LITTLE_SKEW_S = 5.0, 3.0
SHM = "/dev/shm"
TWELVE_H_S = 12 * 3600.0
SOON_S = 900.0
LITTLE_SHARE, ENOUGH_SHARE = 0.02, 0.03
"""Of a file system: below the first it counts as full, above the second it is over."""


def _lost(row: NodeRow) -> bool | None:
    link = row.node.link
    if link.phase is LinkPhase.UP:
        return False
    if link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED) or link.attempt > 0 or _was_reached(row):
        return True
    return None


def _reached(row: NodeRow) -> bool | None:
    return row.node.link.phase is LinkPhase.UP


def _was_reached(row: NodeRow) -> bool:
    return row.node.reading.host_at is not None


def _lost_words(row: NodeRow) -> str:
    link = row.node.link
    head = "out of reach" if _was_reached(row) else "was never reached"
    words = head if link.reason is None else f"{head}: {link.reason}"
    return words if link.hint is None else f"{words}; {link.hint}"


def _lost_severity(row: NodeRow) -> Severity:
    return Severity.BAD if _was_reached(row) else Severity.WARNING


def _no_probe(row: NodeRow) -> bool | None:
    link = row.node.link
    return link.reason is not None if link.phase is LinkPhase.UP else None


def _no_probe_words(row: NodeRow) -> str:
    link = row.node.link
    words = f"connected, but its probe does not run: {link.reason}"
    return words if link.hint is None else f"{words}; {link.hint}"


def _smi_hung(row: NodeRow) -> bool | None:
    if row.node.link.phase is not LinkPhase.UP or row.node.reading.host_at is None:
        return None
    return row.node.reading.gpus_trouble is not None


def _smi_words(row: NodeRow) -> str:
    trouble = row.node.reading.gpus_trouble
    return f"{trouble}: figures of its GPUs are old; a driver that hangs needs a reboot"


def _skew_s(row: NodeRow) -> float | None:
    offset = row.node.reading.clock_offset_s
    if offset is None or row.node.link.phase is not LinkPhase.UP:
        return None
    return clock_ahead_s(offset)


def _skewed(row: NodeRow) -> bool | None:
    skew = _skew_s(row)
    return None if skew is None else abs(skew) > SKEW_S


def _skew_over(row: NodeRow) -> bool | None:
    skew = _skew_s(row)
    return None if skew is None else abs(skew) < LITTLE_SKEW_S


def _skew_words(row: NodeRow) -> str:
    skew = _skew_s(row) or 0.0
    way = "ahead of" if skew > 0 else "behind"
    return f"its clock is {duration(abs(skew))} {way} this machine's: times in its logs are off; set it (chronyc, ntpd)"


def _memory_share(row: NodeRow) -> float | None:
    host = row.node.reading.host
    if row.node.link.phase is not LinkPhase.UP or host.memory_available_bytes is None or not host.memory_total_bytes:
        return None
    return host.memory_available_bytes / host.memory_total_bytes


def _memory_low(row: NodeRow) -> bool | None:
    share = _memory_share(row)
    return None if share is None else share < 0.03


def _memory_over(row: NodeRow) -> bool | None:
    share = _memory_share(row)
    return None if share is None else share > 0.06


def _memory_words(row: NodeRow) -> str:
    left = size(row.node.reading.host.memory_available_bytes)
    return f"{left} of memory left: the kernel will soon kill a process; see who holds it"


def _share(row: DiskRow) -> float | None:
    return row.disk.available_bytes / row.disk.total_bytes if row.disk.total_bytes > 0 else None


def _filling(row: DiskRow) -> bool | None:
    if row.part == SHM or row.disk.growth_bytes_per_s is None:
        return None
    left_s = row.disk.full_in_s
    return left_s is not None and left_s < TWELVE_H_S


def _filling_over(row: DiskRow) -> bool | None:
    if row.disk.growth_bytes_per_s is None:
        return None
    left_s = row.disk.full_in_s
    return left_s is None or left_s > 1.5 * TWELVE_H_S


def _filling_words(row: DiskRow) -> str:
    rate = size(row.disk.growth_bytes_per_s)
    when = duration(row.disk.full_in_s)
    return f"{row.part} is full in {when}, if it goes on like this ({rate}/s, {size(row.disk.available_bytes)} left)"


def _full(row: DiskRow) -> bool | None:
    share, left_s = _share(row), row.disk.full_in_s
    if row.part == SHM or share is None:
        return None
    return share < LITTLE_SHARE or (share < 0.10 and left_s is not None and left_s < SOON_S)


def _full_over(row: DiskRow) -> bool | None:
    share, left_s = _share(row), row.disk.full_in_s
    return None if share is None else share > ENOUGH_SHARE and (left_s is None or left_s > 2 * SOON_S)


def _full_words(row: DiskRow) -> str:
    share = _share(row) or 0.0
    soon = f", full in {duration(row.disk.full_in_s)}" if row.disk.full_in_s else ""
    return f"{row.part} has {size(row.disk.available_bytes)} left ({share:.1%}{soon}): free space before a write fails"


def _shm_full(row: DiskRow) -> bool | None:
    share = _share(row)
    return None if row.part != SHM or share is None else share < 0.10


def _shm_over(row: DiskRow) -> bool | None:
    share = _share(row)
    return None if share is None else share > 0.15


def _shm_words(row: DiskRow) -> str:
    left = size(row.disk.available_bytes)
    return f"{SHM} has {left} left: ranks and NCCL fail without it; remove what dead processes left there"


NODE_RULES: tuple[Rule[Any], ...] = (
    Rule(
        "node_lost",
        "a node is out of reach for 30 s, or was never reached",
        *(NodeRow, _lost, _reached, _lost_words),
        for_s=30.0,
        loudness=_lost_severity,
    ),
    Rule(
        "probe_off",
        "a node is connected, and its probe does not run for 30 s",
        *(NodeRow, _no_probe, opposite(_no_probe), _no_probe_words),
        for_s=30.0,
    ),
    Rule(
        "smi_hung",
        "nvidia-smi of a node does not answer for 30 s",
        *(NodeRow, _smi_hung, opposite(_smi_hung), _smi_words),
        Severity.BAD,
        for_s=30.0,
    ),
    Rule(
        "clock_skew",
        "a node's clock is wrong by more than 5 s",
        *(NodeRow, _skewed, _skew_over, _skew_words),
        for_s=60.0,
    ),
    Rule(
        "memory_low",
        "less than 3 % of a node's memory is left for a minute",
        *(NodeRow, _memory_low, _memory_over, _memory_words),
        Severity.BAD,
        for_s=60.0,
    ),
    Rule(
        "disk_filling",
        "a file system has filled for ten minutes and will be full in less than 12 h",
        *(DiskRow, _filling, _filling_over, _filling_words),
        for_s=600.0,
    ),
    Rule(
        "disk_full",
        "a file system has less than 2 % left, or is full in a quarter of an hour",
        *(DiskRow, _full, _full_over, _full_words),
        Severity.BAD,
        for_s=30.0,
    ),
    Rule(
        "shm_full",
        "less than 10 % of /dev/shm is left",
        *(DiskRow, _shm_full, _shm_over, _shm_words),
        for_s=10.0,
    ),
)

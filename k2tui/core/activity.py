"""What moves on a node while a log is silent: bytes read by the ranks, disks, network, compilers, GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from k2tui.core.figures import finite
from k2tui.core.runs import is_whole, printable

_SECTOR_BYTES = 512
_TICKS_PER_S = 100
"""USER_HZ: the unit of CPU times in /proc on every machine that serves models."""
_LIMIT = 1 << 64
_NAME_LENGTH = 80
_OTHER_CPU = 0.05
_OTHER_BYTES_PER_S = 64e3
"""A process that is no rank is told only when it does as much."""

_SGLANG_RANK = re.compile(r"[A-Z][A-Z_]*\d+")
_VLLM_RANK = re.compile(r"(?:DP|PP|TP|EP|CP)\d+")
"""As the log's own prefix is read (core/grammar/prefix.py)."""


@dataclass(frozen=True, slots=True)
class RankActivity:
    """One process of a launch, between two looks."""

    name: str
    """As the process calls itself, such as `sglang::scheduler_TP3`; else the name of its program."""
    rank: str | None
    """As logs print it, such as `TP3`; None where its name has none."""
    cpu: float
    """Cores that it kept busy, 0 and up."""
    read_bytes_per_s: float | None
    """From storage and page cache (`rchar` of /proc/PID/io, or `read_bytes` where it maps its files); None where that
    may not be read."""


@dataclass(frozen=True, slots=True)
class Moving:
    """The difference between two looks at a node."""

    over_s: float
    """Seconds between the looks."""
    disk_read_bytes_per_s: float | None = None
    """All block devices of the host."""
    net_received_bytes_per_s: float | None = None
    """All interfaces but loopback: weights on a network file system come this way."""
    ranks: tuple[RankActivity, ...] = ()
    """Empty where the launch's processes are not known."""
    compilers: tuple[str, ...] = ()
    """Programs of a JIT build that ran at either look (nvcc, cicc, ptxas, ninja, c++ ...), of this launch where it is
    known: each of them lives for seconds."""
    gpu_busy: float | None = None
    """Highest utilisation of the server's GPUs, 0 to 1; None without a reading."""


@dataclass(frozen=True, slots=True)
class ProcessLook:
    """Counters of one process of the launch."""

    pid: int
    start_ticks: int
    """With the pid it names one process and no other."""
    state: str
    """The kernel's letter: R runs, S sleeps, D waits for a disk or a driver."""
    cpu_ticks: int
    rchar: int | None
    """Bytes that its reads gave it, also from the page cache; None where that may not be read."""
    read_bytes: int | None
    """Bytes that storage gave for it, also for files that it maps."""
    name: str


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a node, in the words of remote/activity.sh."""

    boot_id: str
    up_s: float
    disk_sectors: int | None = None
    net_bytes: int | None = None
    processes: Mapping[int, ProcessLook] = field(default_factory=dict)
    compilers: tuple[str, ...] = ()
    """Each name once, sorted."""


def parse(output: bytes) -> Look | None:
    """The look that the script told of; None when its answer is not whole. A line that makes no sense is left out."""
    if not is_whole(output):
        return None
    boot, up_s = "", None
    sectors: int | None = None
    received: int | None = None
    processes: dict[int, ProcessLook] = {}
    compilers: set[str] = set()
    for line in output.decode("utf-8", "replace").split("\n"):
        match line.split(" "):
            case ["k2act", "1", boot_id, up] if up_s is None:
                boot, up_s = boot_id, _seconds(up)
            case ["disk", count]:
                sectors = _count(count)
            case ["net", count]:
                received = _count(count)
            case ["tool", *words] if words:
                compilers.add(_name(words))
            case ["proc", pid, start, state, ticks, rchar, read_bytes, *words]:
                number, began, spent = _count(pid), _count(start), _count(ticks)
                if number is not None and began is not None and spent is not None:
                    given, from_storage = _count(rchar), _count(read_bytes)
                    processes[number] = ProcessLook(
                        number, began, printable(state[:1]), spent, given, from_storage, _name(words)
                    )
    if up_s is None:
        return None
    return Look(boot, up_s, sectors, received, processes, tuple(sorted(compilers)))


def moving(before: Look, after: Look, gpu_busy: float | None = None) -> Moving | None:
    """What moved between two looks; None when they can't be compared. A counter that went back says nothing."""
    over_s = after.up_s - before.up_s
    if before.boot_id != after.boot_id or over_s <= 0:
        return None
    sectors = _rate(before.disk_sectors, after.disk_sectors, over_s)
    found = (_activity(before.processes.get(pid), process, over_s) for pid, process in sorted(after.processes.items()))
    return Moving(
        over_s=over_s,
        disk_read_bytes_per_s=None if sectors is None else sectors * _SECTOR_BYTES,
        net_received_bytes_per_s=_rate(before.net_bytes, after.net_bytes, over_s),
        ranks=tuple(one for one in found if one is not None and _is_told(one)),
        compilers=tuple(sorted({*before.compilers, *after.compilers})),
        gpu_busy=gpu_busy,
    )


def rank_of(name: str) -> str | None:
    """`sglang::scheduler_DP0_TP3` as its log prints it: `DP0 TP3`; None where the name has no rank."""
    family, _, rest = name.partition("::")
    if family.lower() == "sglang" and rest.startswith("scheduler"):
        found = _SGLANG_RANK.findall(rest)
    elif family.lower() == "vllm" and "Worker" in rest:
        found = _VLLM_RANK.findall(rest)
    else:
        return None
    return " ".join(found) or None


def from_json(document: object) -> Moving | None:
    """The key `moving` of a context; None when it makes no sense."""
    if not isinstance(document, Mapping):
        return None
    compilers, ranks = document.get("compilers"), document.get("ranks")
    found = (_rank_from_json(one) for one in ranks) if isinstance(ranks, list) else ()
    return Moving(
        over_s=_number(document.get("over_s")) or 0.0,
        disk_read_bytes_per_s=_number(document.get("disk_read_bytes_per_s")),
        net_received_bytes_per_s=_number(document.get("net_received_bytes_per_s")),
        ranks=tuple(one for one in found if one is not None),
        compilers=tuple(_name([one]) for one in compilers if isinstance(one, str) and one)
        if isinstance(compilers, list)
        else (),
        gpu_busy=_number(document.get("gpu_busy")),
    )


def _activity(before: ProcessLook | None, after: ProcessLook, over_s: float) -> RankActivity | None:
    """None for a process that was not there before: its pid may have been another's."""
    if before is None or before.start_ticks != after.start_ticks:
        return None
    ticks = _rate(before.cpu_ticks, after.cpu_ticks, over_s)
    if ticks is None:
        return None
    reads = (_rate(before.rchar, after.rchar, over_s), _rate(before.read_bytes, after.read_bytes, over_s))
    known = [rate for rate in reads if rate is not None]
    return RankActivity(after.name, rank_of(after.name), ticks / _TICKS_PER_S, max(known) if known else None)


def _is_told(one: RankActivity) -> bool:
    """A process that names itself always; helpers, of which there can be hundreds, only when they work."""
    return "::" in one.name or one.cpu >= _OTHER_CPU or (one.read_bytes_per_s or 0.0) >= _OTHER_BYTES_PER_S


def _rate(before: int | None, after: int | None, over_s: float) -> float | None:
    if before is None or after is None or after < before:
        return None
    return (after - before) / over_s


def _count(text: str) -> int | None:
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        return None
    number = int(text)
    return number if number < _LIMIT else None


def _seconds(text: str) -> float | None:
    return float(text) if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,9})?", text) else None


def _name(words: list[str]) -> str:
    return printable(" ".join(words)[:_NAME_LENGTH]).strip() or "?"


def _number(value: object) -> float | None:
    number = finite(value)
    return number if number is not None and number >= 0 else None


def _rank_from_json(value: object) -> RankActivity | None:
    if not isinstance(value, Mapping):
        return None
    name, rank = value.get("name"), value.get("rank")
    words = name if isinstance(name, str) and name else rank if isinstance(rank, str) and rank else None
    if words is None:
        return None
    named = _name([words])
    return RankActivity(
        name=named,
        rank=printable(rank[:_NAME_LENGTH]) if isinstance(rank, str) and rank else rank_of(named),
        cpu=_number(value.get("cpu")) or 0.0,
        read_bytes_per_s=_number(value.get("read_bytes_per_s")),
    )

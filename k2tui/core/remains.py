"""What a run left on its node: processes, GPU memory, its port, shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.printable import printable
from k2tui.core.stop_report import Found

MARGIN_BYTES = 500 << 20
"""A GPU is back when it has no more than this above its baseline (measured: the driver's own share moves by less)."""
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class GpuHolder:
    """A process that holds memory of a GPU."""

    pid: int
    used_bytes: int | None
    """None: the driver does not tell."""
    is_ours: bool
    """It belongs to the run."""
    command: str
    """Empty when the node can't see it: it is in another container, or another user's."""


@dataclass(frozen=True, slots=True)
class GpuRemains:
    """One GPU of the run."""

    index: int
    used_bytes: int
    baseline_bytes: int | None
    """What it had in use before the run, and no process accounted for; None when that was not recorded."""
    holders: tuple[GpuHolder, ...] = ()

    @property
    def is_back(self) -> bool | None:
        """True when nothing of the run is on it any more; None when that can't be told for want of a baseline."""
        if any(holder.is_ours for holder in self.holders):
            return False
        if self.baseline_bytes is None:
            return None
        others = sum(holder.used_bytes or 0 for holder in self.holders)
        return self.used_bytes - others <= self.baseline_bytes + MARGIN_BYTES


@dataclass(frozen=True, slots=True)
class ShmRemains:
    """A file of shared memory that no process has open."""

    name: str
    """Its name in /dev/shm."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Remains:
    """One look at what a run left."""

    processes: tuple[Found, ...] = ()
    """Of its session, with their state. A Z is dead and only waits for its parent; a D waits in the kernel."""
    container: str | None = None
    """The name of its container, while that runs."""
    gpus: tuple[GpuRemains, ...] = ()
    gpu_trouble: str | None = None
    """Why nothing is known of its GPUs."""
    port_holder: Found | None = None
    """Who listens on its port; pid 0: somebody who can't be told."""
    shm: tuple[ShmRemains, ...] = ()
    """Leftovers of shared memory that are this user's, of this run or an earlier one. Told, never removed."""
    outside: tuple[Found, ...] = ()
    """Likely its own, but in another session."""
    is_whole: bool = False
    """The node's answer came to its end."""

    @property
    def living(self) -> tuple[Found, ...]:
        """The processes that are not merely waiting for their parent."""
        return tuple(found for found in self.processes if found.state != "Z")

    @property
    def is_clean(self) -> bool:
        """True when another run can follow: nothing of it lives or is on a GPU, and its port is free."""
        is_gone = not self.living and self.container is None and self.port_holder is None
        return is_gone and not any(gpu.is_back is False for gpu in self.gpus)

    @property
    def sentence(self) -> str:
        """One sentence for a person."""
        said = [_process_words(found) for found in self.living[:5]]
        if len(self.living) > 5:
            said.append(f"{len(self.living) - 5} more processes")
        if self.container is not None:
            said.append(f"container {self.container} still runs")
        said += [_gpu_words(gpu) for gpu in self.gpus if gpu.is_back is False]
        if self.port_holder is not None:
            who = _named(self.port_holder) if self.port_holder.pid else "somebody who can't be told"
            said.append(f"its port is held by {who}")
        said = said or ["nothing of it is left"]
        said += [f"{_named(found)} left its session" for found in self.outside[:5]]
        if self.shm:
            size = sum(one.size_bytes for one in self.shm) / MIB
            said.append(
                f"{len(self.shm)} leftover{'s' * (len(self.shm) != 1)} in /dev/shm, {size:.0f} MiB, nobody has open"
            )
        if self.gpu_trouble is not None:
            said.append(f"its GPUs could not be looked at: {self.gpu_trouble}")
        return "; ".join(said)

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "is_clean": self.is_clean,
            "processes": [_json(found) for found in self.processes],
            "container": self.container,
            "gpus": [
                {
                    "index": gpu.index,
                    "used_bytes": gpu.used_bytes,
                    "baseline_bytes": gpu.baseline_bytes,
                    "is_back": gpu.is_back,
                    "holders": [
                        {"pid": one.pid, "used_bytes": one.used_bytes, "is_ours": one.is_ours, "command": one.command}
                        for one in gpu.holders
                    ],
                }
                for gpu in self.gpus
            ],
            "gpu_trouble": self.gpu_trouble,
            "port_holder": None if self.port_holder is None else _json(self.port_holder),
            "shm": [{"name": one.name, "size_bytes": one.size_bytes} for one in self.shm],
            "outside": [_json(found) for found in self.outside],
        }


def parse_remains(output: bytes) -> Remains | None:
    """The answer of remote/remains.sh; None when the run's directory is gone."""
    lines = [line.split(" ") for line in output.decode("utf-8", "replace").split("\n") if line]
    if any(line[0] == "absent" for line in lines):
        return None

    def told(word: str, numbers: int) -> list[list[str]]:
        mine = (line[1:] for line in lines if line[0] == word)
        return [line for line in mine if len(line) >= numbers and all(map(_is_number, line[:numbers]))]

    holders = [
        (int(line[0]), GpuHolder(int(line[1]), _bytes(line[2]), line[3] == "ours", _text(line[4:])))
        for line in told("holder", 2)
        if len(line) > 3
    ]
    trouble = [line for line in lines if line[0] == "no_gpus"]
    ports = told("port", 1)
    containers = [line for line in lines if line[0] == "container" and len(line) > 1]
    return Remains(
        processes=tuple(
            Found(int(line[0]), _text(line[2:]), printable(line[1])) for line in told("process", 1) if line[1:]
        ),
        container=_text(containers[0][1:]) if containers else None,
        gpus=tuple(
            GpuRemains(
                int(line[0]),
                int(line[1]) * MIB,
                _bytes(line[2]),
                tuple(holder for index, holder in holders if index == int(line[0])),
            )
            for line in told("gpu", 2)
            if len(line) > 2
        ),
        gpu_trouble=_text(trouble[0][1:]) if trouble else None,
        port_holder=Found(int(ports[0][0]), _text(ports[0][1:])) if ports else None,
        shm=tuple(ShmRemains(_text(line[1:]), int(line[0])) for line in told("shm", 1)),
        outside=tuple(Found(int(line[0]), _text(line[1:])) for line in told("outside", 1)),
        is_whole=lines[-1:] == [["k2end"]],
    )


def _process_words(found: Found) -> str:
    held = " waits in the kernel (state D)" if found.state == "D" else " lives"
    return f"{_named(found)}{held}"


def _gpu_words(gpu: GpuRemains) -> str:
    base = "" if gpu.baseline_bytes is None else f", {gpu.baseline_bytes / MIB:.0f} MiB before it started"
    ours = ", ".join(f"pid {holder.pid}" for holder in gpu.holders if holder.is_ours)
    who = f"held by {ours}" if ours else "no process of it to be seen"
    return f"GPU {gpu.index} has {gpu.used_bytes / MIB:.0f} MiB in use{base}; {who}"


def _named(found: Found) -> str:
    return f"pid {found.pid}" + (f" ({found.command[:60]})" if found.command else "")


def _json(found: Found) -> dict[str, object]:
    return {"pid": found.pid, "command": found.command, "state": found.state}


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) <= 15


def _bytes(mib: str) -> int | None:
    return int(mib) * MIB if _is_number(mib) else None


def _text(words: list[str]) -> str:
    return printable(" ".join(words)).strip()[:200]

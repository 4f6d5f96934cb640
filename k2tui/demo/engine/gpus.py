"""What the engine's GPUs would show: one small file in the node's directory, read by the stand-in nvidia-smi."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

TOTAL_MIB = 143_771
"""An H200's memory, as its driver says it."""
MIB_PER_GB = 1024
_IDLE_W, _FULL_W = 118.0, 640.0
_IDLE_C, _FULL_C = 35.0, 66.0
_IDLE_MHZ, _BUSY_MHZ = 345, 1980
_LEAST_S = 0.2


class Gpus:
    """The GPUs that this engine holds.

    A row for each: `index utilization memory_mib power_cw temperature_c sm_mhz pid title`,
    with the power in hundredths of a watt.
    """

    def __init__(self, node: Path | None, indices: Sequence[int]) -> None:
        self.indices = tuple(indices)
        self._path = None if node is None else node / "gpus" / str(os.getpid())
        self._used_gb = [0.0] * len(self.indices)
        self._busy = 0
        self._owners: list[tuple[int, str]] = [(os.getpid(), "python3")] * len(self.indices)
        self._written_at = float("-inf")

    def own(self, processes: Sequence[tuple[int, str]]) -> None:
        """Which process holds which GPU: (pid, title), one a GPU."""
        for place, process in enumerate(processes[: len(self.indices)]):
            self._owners[place] = process

    def show(self, *, used_gb: float | None = None, busy: int | None = None, rank: int | None = None) -> None:
        """Another state of all GPUs, or of one rank's; `busy` in percent. Written at most five times a second."""
        for place in range(len(self.indices)) if rank is None else (rank,):
            if used_gb is not None and place < len(self._used_gb):
                self._used_gb[place] = used_gb
        changed = busy is not None and busy != self._busy
        if busy is not None:
            self._busy = busy
        now = time.monotonic()
        if changed or now - self._written_at >= _LEAST_S:
            self._written_at = now
            self._write()

    def settle(self) -> None:
        """Write what `show` may have held back."""
        self._write()

    def clear(self) -> None:
        """The engine is gone."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _write(self) -> None:
        if self._path is None or not self._path.parent.is_dir():
            return
        share = self._busy / 100
        power = round((_IDLE_W + share * (_FULL_W - _IDLE_W)) * 100)
        heat = round(_IDLE_C + share * (_FULL_C - _IDLE_C))
        clock = _BUSY_MHZ if self._busy or any(self._used_gb) else _IDLE_MHZ
        rows = []
        for place, (index, used, (pid, title)) in enumerate(
            zip(self.indices, self._used_gb, self._owners, strict=True)
        ):
            # No two GPUs of a real machine show the same watts.
            watts = power + place * 137 % 900
            memory = min(TOTAL_MIB, round(used * MIB_PER_GB))
            rows.append(f"{index} {self._busy} {memory} {watts} {heat + place % 3} {clock} {pid} {title}\n")
        temporary = self._path.with_name(f".{self._path.name}")
        temporary.write_text("".join(rows), encoding="ascii")
        temporary.replace(self._path)


def visible_gpus(ranks: int, base: int, visible: str | None) -> tuple[int, ...]:
    """The GPUs of a launch: the first `ranks` of CUDA_VISIBLE_DEVICES, or from --base-gpu-id on."""
    if visible:
        named = [int(word) for word in visible.split(",") if word.strip().isdigit()]
        return tuple(named[base : base + ranks])
    return tuple(range(base, base + ranks))

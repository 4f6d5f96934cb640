"""What measuring costs the machine that measures: how late its loop wakes up, and its share of a core."""

from __future__ import annotations

import asyncio
from time import perf_counter, process_time
from typing import Any

from k2tui.remote.load_figures import quantile, rounded

BEAT_S = 0.01


class Meter:
    """Runs from its making to `figures`."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._began_at, self._cpu_s = perf_counter(), process_time()
        self._late_s: list[float] = []
        self._due_at = self._loop.time() + BEAT_S
        self._handle = self._loop.call_at(self._due_at, self._beat)

    def _beat(self) -> None:
        now = self._loop.time()
        self._late_s.append(now - self._due_at)
        self._due_at = now + BEAT_S
        self._handle = self._loop.call_at(self._due_at, self._beat)

    def close(self) -> None:
        """Measure no more."""
        self._handle.cancel()

    def figures(self, c: int) -> dict[str, Any]:
        """The line of the wire format, for what was measured with `c` streams."""
        self.close()
        wall_s = perf_counter() - self._began_at
        late_ms = [late * 1000 for late in self._late_s]
        return {
            "c": c,
            "lag_p50_ms": rounded(quantile(late_ms, 0.5)) if late_ms else None,
            "lag_p99_ms": rounded(quantile(late_ms, 0.99)) if late_ms else None,
            "cpu_share": rounded((process_time() - self._cpu_s) / wall_s) if wall_s > 0 else None,
        }

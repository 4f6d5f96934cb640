"""A second k2tui that records launches: `PATH MODEL COUNT [LARGEST FILE]`. Says each number once it is kept."""

from __future__ import annotations

import asyncio
import resource
import sys
from pathlib import Path

from k2tui.adapters.state.db import StateDb
from k2tui.core.history import LaunchKey, PastLaunch
from k2tui.core.launch import LaunchKind, LaunchPhase


def one(number: int, model: str = "/m", *, host: str = "gpu-a", server: str | None = None) -> PastLaunch:
    """A launch whose every figure tells its number."""
    return PastLaunch(
        run_id=f"run-{number}",
        server=server or f"server of {model}",
        key=LaunchKey(host, model, "sglang", "c0ffee"),
        began_at=1_780_000_000.0 + number,
        kind=LaunchKind.READY,
        phases_s={LaunchPhase.ARGS: float(number), LaunchPhase.WEIGHTS: number + 0.5},
        ready_s=float(2 * number),
        cached_share=0.25,
        pace_per_s=0.125,
        version="0.5.23",
        slower=(LaunchPhase.WEIGHTS,),
    )


async def record(path: Path, model: str, count: int) -> None:
    store = StateDb(path)
    for number in range(count):
        await store.record(one(number, model))
        print(number, flush=True)
    await store.close()


if __name__ == "__main__":
    if len(sys.argv) > 4:
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), int(sys.argv[4])))
    asyncio.run(record(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))

"""A k2tui of its own process that makes an A/B on an open demo and is killed (SIGKILL) in a trial: ROOT TRIAL STEP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from tests.services.benching.demo_stage import NODE, QUICK, QUICKER, SERVER, SLOW, k2_on, lenient


async def main() -> None:
    """Make it, and be killed. STEP is the type of an event of the restart, or of the benchmark."""
    root, trial, at = sys.argv[1:]
    lenient()
    async with k2_on(Path(root)) as fleet:
        plan = replace(fleet.plan_ab(SERVER, (SLOW, QUICKER), restarts=3, leave="best"), bench=QUICK)
        async for event in fleet.run_series(plan, confirm=NODE):
            step = event.step.type if event.step is not None else event.data.get("step")
            if (event.data.get("trial"), step) == (int(trial), at):
                os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(f"it came to its end: {event.text}")


if __name__ == "__main__":
    asyncio.run(main())

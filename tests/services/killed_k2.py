"""A k2tui of its own process that restarts a server and is killed (SIGKILL) at a step: DIRECTORY PORT STEP."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from k2tui.core.verbs import ProfileChange
from tests.services.verb_stage import Workplace


async def main() -> None:
    """Restart it, and be killed."""
    directory, port, at = sys.argv[1:]
    place = Workplace(Path(directory))
    place.configure(port=int(port))
    async with place.k2() as k2:
        plan = k2.plan(ProfileChange(set={"tag": "new"}))
        async for step in k2.verbs.restart(plan, confirm=None, verify=True):
            if step.type == at:
                os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main())

"""A process of this machine and its pipes."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from typing import Any

from k2tui.adapters.child_pipe import ChildPipe


async def test_an_end_that_is_cancelled_complains_to_nobody() -> None:
    """A plain command that has its answer leaves while shells still end: nothing of that belongs on stderr."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    pipe = await ChildPipe.start(("sh", "-c", "exec sleep 1000"))
    try:
        for steps in range(6):
            ending = asyncio.ensure_future(pipe.end())
            for _ in range(steps):
                await asyncio.sleep(0)
            ending.cancel()
            await asyncio.wait({ending})
            assert ending.cancelled()
            del ending
            gc.collect()
            await asyncio.sleep(0)
        assert complaints == []
    finally:
        os.killpg(pipe._process.pid, signal.SIGKILL)
        await pipe.wait()

"""Background tasks that end when they are told to."""

from __future__ import annotations

import asyncio
from typing import Any

ASK_AGAIN_S = 0.2


async def ended(*tasks: asyncio.Task[Any] | None) -> None:
    """Cancel these and return once they are gone; what they raised is dropped.

    Asked again until it helps: `asyncio.wait_for` of Python 3.11 and older loses a cancel that arrives as its work is
    done, and a loop around it would then go on for ever.
    """
    pending = {task for task in tasks if task is not None}
    while pending:
        for task in pending:
            task.cancel()
        done, pending = await asyncio.wait(pending, timeout=ASK_AGAIN_S)
        for task in done:
            if not task.cancelled():
                task.exception()


def is_running(task: asyncio.Task[None] | None) -> bool:
    """It was begun, and has not come to its end."""
    return task is not None and not task.done()

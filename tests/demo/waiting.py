"""Tests wait for a condition, never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(true: Callable[[], bool]) -> None:
    """Return once it is true."""
    while True:
        if true():
            return
        await asyncio.sleep(0.02)

"""Tests wait for a condition, never for a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

HANG_S = 120.0
"""Only a test that hangs meets it."""


async def until(holds: Callable[[], object], what: str = "it") -> None:
    """Return once the condition holds."""
    ends = asyncio.get_running_loop().time() + HANG_S
    while not holds():
        assert asyncio.get_running_loop().time() < ends, f"{what} never came to hold"
        await asyncio.sleep(0.01)

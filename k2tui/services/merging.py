"""Steps of several verbs at once, each told as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

from k2tui.core.verbs import VerbEvent
from k2tui.services.tasks import ended


async def merged_steps(verbs: Iterable[AsyncIterator[VerbEvent]]) -> AsyncIterator[VerbEvent]:
    """All steps of all verbs, in the order in which they come; it ends with the last of them."""
    steps: asyncio.Queue[VerbEvent | BaseException | None] = asyncio.Queue()

    async def pour(verb: AsyncIterator[VerbEvent]) -> None:
        try:
            async for step in verb:
                steps.put_nowait(step)
        except Exception as error:
            steps.put_nowait(error)
        else:
            steps.put_nowait(None)

    tasks = [asyncio.ensure_future(pour(verb)) for verb in verbs]
    try:
        left = len(tasks)
        while left:
            step = await steps.get()
            if isinstance(step, BaseException):
                raise step
            if step is None:
                left -= 1
            else:
                yield step
    finally:
        await ended(*tasks)

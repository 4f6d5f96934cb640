"""A task that is told to end does."""

from __future__ import annotations

import asyncio

from k2tui.services.tasks import ended


async def test_a_task_that_loses_its_first_cancel_ends_all_the_same() -> None:
    lost = asyncio.Event()

    async def deaf_once() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            lost.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(deaf_once())
    await asyncio.sleep(0)
    await ended(task)
    assert lost.is_set()
    assert task.cancelled()


async def test_what_a_task_raised_is_dropped_and_none_is_no_task() -> None:
    async def fails() -> None:
        raise ValueError("late")

    task = asyncio.ensure_future(fails())
    await asyncio.sleep(0)
    await ended(task, None)
    assert task.done()

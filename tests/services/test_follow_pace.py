"""A log that nobody reads comes in few large pieces, and none of it is lost."""

from __future__ import annotations

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path

import pytest

from k2tui.adapters.local_link import LocalLink
from k2tui.adapters.scripts import script
from k2tui.services.doors import RealClock
from k2tui.services.follow import QUICK_S, LogFollower

LINES = 150


def write(path: Path, done: threading.Event) -> None:
    """A line each hundredth of a second."""
    with path.open("ab", buffering=0) as log:
        for number in range(LINES):
            log.write(b"line %d of the log\n" % number)
            done.wait(0.01)


@pytest.mark.parametrize("paces", [(1.0,), (QUICK_S, 1.0), (1.0, QUICK_S)])
async def test_a_slow_pace_means_few_pieces_and_the_same_bytes(paces: tuple[float, ...], tmp_path: Path) -> None:
    log, done = tmp_path / "log", threading.Event()
    log.touch()
    follower = LogFollower(LocalLink("gpu-a"), script("follow"), str(log), clock=RealClock())
    follower.pace_s = paces[0]
    writer = threading.Thread(target=write, args=(log, done))
    got, pieces, slowest = b"", 0, max(paces)
    loop = asyncio.get_running_loop()
    began = 0.0
    whole = b"".join(b"line %d of the log\n" % number for number in range(LINES))
    async with aclosing(follower.chunks()) as chunks:  # type: ignore[type-var]  # it is an async generator
        async for chunk in chunks:
            if not writer.ident:
                writer.start()
                began = loop.time()
            got += chunk.data
            pieces += bool(chunk.data)
            follower.pace_s = paces[-1]
            if len(got) >= len(whole):
                break
    done.set()
    writer.join()
    await follower.close()
    assert got == whole
    if paces == (slowest,):
        assert pieces <= (loop.time() - began) / slowest + 2

"""How many logins this process has under way at a time, whichever program makes them."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

FOR_ONE_SSHD = 6
"""At a time: sshd drops more than about 10 that are not logged in (MaxStartups). A jump host's counts as well."""
IN_ALL = 8
"""Each costs some 14 ms of CPU here: a fleet that connects at once must not hold up the keys."""
TURN_S = 2.0
"""A login that takes longer waits for its host and costs nothing here: it gives its turn away, so that hosts which are
dead do not keep the others waiting."""


class _Turns:
    """Those of one event loop."""

    def __init__(self) -> None:
        self.all = asyncio.Semaphore(IN_ALL)
        self.of_sshd: dict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(FOR_ONE_SSHD))


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()


@asynccontextmanager
async def handshake(sshd: str) -> AsyncIterator[None]:
    """A turn to log in to an sshd, named in any way that is the same each time."""
    loop = asyncio.get_running_loop()
    turns = _turns.setdefault(loop, _Turns())
    async with turns.of_sshd[sshd]:
        await turns.all.acquire()
        kept = [turns.all]

        def give_away() -> None:
            while kept:
                kept.pop().release()

        gives_up = loop.call_later(TURN_S, give_away)
        try:
            yield
        finally:
            gives_up.cancel()
            give_away()

"""The figure so far, about twice a second, while something is measured."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from time import perf_counter

from k2tui.remote.load_figures import rounded
from k2tui.remote.load_session import Session
from k2tui.remote.load_stream import USAGE, Stream
from k2tui.remote.load_tokens import Tokens

EVERY_S = 0.5
FIRST_S = 2.5
"""The first line is not later than this, whether there is a figure or not."""
WINDOW_S = 2.0
"""Of the total rate."""


class Live:
    """Says `figure` lines from its making until it is closed; who measures keeps its fields true."""

    def __init__(self, session: Session, of: int) -> None:
        self.c = 1
        self.done, self.of = 0, of
        self.text = ""
        self._session = session
        self._logs: Sequence[Stream] = ()
        self._summed = 0
        self._made, self._span_s, self._tokens = 0, 0.0, 0
        self._seen: deque[tuple[float, int]] = deque()
        self._ticks = asyncio.ensure_future(self._tick())

    def about(self, logs: Sequence[Stream], c: int, text: str) -> None:
        """From now on it is about these requests, which grow as they end, and those under way."""
        self._logs, self._summed = logs, 0
        self._made, self._span_s, self._tokens = 0, 0.0, 0
        self._seen.clear()
        self.c, self.text = c, text

    def close(self) -> None:
        self._ticks.cancel()

    def figure(self) -> tuple[float | None, float | None, int]:
        """(tok/s of one stream, of all, tokens so far), as far as the server has counted."""
        for log in self._logs[self._summed :]:
            tokens = Tokens(log)
            self._summed += 1
            self._tokens += tokens.total or 0
            if tokens.last is not None and len(tokens.times) > 1:
                self._made += tokens.last - (tokens.counts[0] if tokens.counts else 1)
                self._span_s += tokens.times[-1] - tokens.times[0]
        made, span_s, count = self._made, self._span_s, self._tokens
        for log in self._session.client.active:
            if (ends := _ends(log)) is not None:
                (first_at, first), (last_at, last) = ends
                made, span_s, count = made + last - first, span_s + last_at - first_at, count + last
        now = perf_counter()
        self._seen.append((now, count))
        while len(self._seen) > 2 and self._seen[1][0] <= now - WINDOW_S:
            self._seen.popleft()
        before_at, before = self._seen[0]
        total = (count - before) / (now - before_at) if now > before_at and count > before else None
        return (made / span_s if made > 0 and span_s > 0 else None), total, count

    async def _tick(self) -> None:
        began_at, is_first = perf_counter(), True
        while True:
            await asyncio.sleep(EVERY_S)
            decode, total, count = self.figure()
            if is_first and decode is None and perf_counter() - began_at < FIRST_S:
                continue
            is_first = False
            self._session.say(
                "figure",
                at_s=self._session.now_s(),
                c=self.c,
                decode_tps=rounded(decode),
                total_tps=rounded(total),
                tokens=count,
                done=self.done,
                of=self.of,
                text=self.text,
            )


def _ends(log: Stream) -> tuple[tuple[float, int], tuple[float, int]] | None:
    """(time, tokens) of the first and the last event that counts, of an answer that is under way."""
    first = _counted(log.events)
    last = _counted(log.events[::-1][:8])
    return None if first is None or last is None else (first, last)


def _counted(events: Sequence[tuple[float, int, int, int | None]]) -> tuple[float, int] | None:
    return next(((at, count) for at, kind, _, count in events if count and kind != USAGE), None)

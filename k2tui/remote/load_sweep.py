"""The sweep: several concurrencies, each held until its window is steady, in a random order."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Sequence
from time import perf_counter

from k2tui.remote.load_client import Pending
from k2tui.remote.load_figures import mean_e2e_s, point_figures
from k2tui.remote.load_live import Live
from k2tui.remote.load_meter import Meter
from k2tui.remote.load_session import GoneError, Session

HELD_REQUESTS = 3.0
"""A point is held for at least as many mean requests."""
LOOK_S = 0.05
AFTER_FAILURE_S = 0.5
MOST_DRAIN_S = 120.0


async def sweep(session: Session, order: Sequence[int]) -> None:
    """Measure each concurrency in this order and say it. Raises GoneError, after what was measured is said."""
    live = Live(session, len(order))
    try:
        live.text = "warm-up"
        await session.warm_up()
        for done, c in enumerate(order):
            if session.is_stopped:
                break
            live.done = done
            live.about((), c, f"before {c} streams")
            if session.plan.policy == "cold":
                await session.flush()
            await session.tell_counters(f"point:{c}")
            await _Point(session, c, live).measure()
    finally:
        live.close()


class _Point:
    """One concurrency."""

    def __init__(self, session: Session, c: int, live: Live) -> None:
        self._session, self._c, self._live = session, c, live
        self._logs: list[Pending] = []
        self._wave: list[Pending] = []
        self._is_held = True
        self._under_at: float | None = None
        """The first moment with fewer than c in flight."""
        self._gone: GoneError | None = None

    async def measure(self) -> None:
        session, c = self._session, self._c
        await session.open_streams(c)
        self._live.about(self._logs, c, "")
        gc.collect()
        meter, began_at = Meter(), perf_counter()
        # Each has its body ready before the first is sent, so that all are sent within a step.
        streams = {asyncio.ensure_future(self._stream(*session.prompts.next())) for _ in range(c)}
        pending = streams
        while pending and not self._is_long_enough(perf_counter() - began_at):
            _, pending = await asyncio.wait(streams, timeout=LOOK_S)
        self._is_held = False
        self._live.text = f"{_streams(c)}, until the last has ended"
        drain_s = max(MOST_DRAIN_S, HELD_REQUESTS * (mean_e2e_s(self._logs) or 0.0))
        _, late = await asyncio.wait(streams, timeout=drain_s)
        if late:
            session.client.cut()
            await asyncio.wait(late)
        client = meter.figures(c)
        for stream in streams:
            if not stream.cancelled() and (error := stream.exception()) is not None:
                raise error
        for log in sorted(self._logs, key=lambda log: log.sent_at):
            session.tell(log, c)
        if self._logs:
            ended_at = max(log.ended_at or log.sent_at for log in self._logs)
            session.say("point", **point_figures(c, self._logs, self._wave, self._under_at, began_at, ended_at))
        session.say("client", **client)
        if self._gone is not None:
            raise self._gone

    def _is_long_enough(self, held_s: float) -> bool:
        if self._session.is_stopped or self._gone is not None:
            return True
        hold_s = self._session.plan.hold_s
        self._live.text = f"{_streams(self._c)}, {held_s:.0f} s of {hold_s:.0f}"
        failed = sum(log.error is not None for log in self._logs)
        mean_s = mean_e2e_s(self._logs)
        if mean_s is None:
            return failed >= max(5, 2 * self._c) or (failed > 0 and held_s >= hold_s)
        return held_s >= max(hold_s, HELD_REQUESTS * mean_s)

    async def _stream(self, nonce: str, text: str) -> None:
        """One place in the batch: a request, and the next one as soon as it has ended."""
        session, is_first = self._session, True
        try:
            while is_first or (self._is_held and not session.is_stopped):
                log = await session.request(nonce, text, session.plan.max_tokens, c=self._c, is_told=False)
                if log.sent_at:
                    self._logs.append(log)
                    if is_first:
                        self._wave.append(log)
                is_first = False
                if log.error is not None and self._is_held:
                    self._is_under()
                    await asyncio.sleep(AFTER_FAILURE_S)
                nonce, text = session.prompts.next()
        except GoneError as error:
            self._gone = self._gone or error
        self._is_under()

    def _is_under(self) -> None:
        if self._under_at is None:
            self._under_at = perf_counter()


def _streams(c: int) -> str:
    return "1 stream" if c == 1 else f"{c} streams"

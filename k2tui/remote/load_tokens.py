"""When the tokens of one answer came, as far as its server counts."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from k2tui.remote.load_stream import FINISH, PAYLOAD, USAGE, Stream, whole


class Tokens:
    """The tokens of one event log; times are time.perf_counter.

    With continuous usage (`stream_options.continuous_usage_stats` of SGLang and vLLM) tokens came with the event that
    counts them, whatever it carries: those that a parser keeps back (github.com/sgl-project/sglang/pull/36272) are not
    lost. Without it, an event with text carried tokens, and only their sum is known. An event without a choice (usage,
    `[DONE]`) comes after the last token and is no token's.
    """

    __slots__ = ("counts", "first_assumed", "times", "total")

    def __init__(self, log: Stream) -> None:
        events = [event for event in log.events if event[1] != USAGE]
        self.total = None if log.usage is None else whole(log.usage.get("completion_tokens"))
        """As the server counted last; None: it never did."""
        self.times = array("d")
        """Of each event that carried tokens."""
        self.counts: array[int] | None = None
        """Tokens up to each of these events, with its own; None without continuous usage."""
        self.first_assumed = True
        """How many the first event carried was not said: taken as one."""
        counted = _counted(events)
        if counted and not (counted[0][1] == counted[-1][1] < (self.total or 0)):  # a count that stands still is none
            self.times, self.counts = array("d", (at for at, _ in counted)), array("q", (n for _, n in counted))
            self.first_assumed = not any(at == counted[0][0] and count is not None for at, _, _, count in events)
            return
        self.times = array("d", (at for at, kind, _, _ in events if kind in PAYLOAD))
        if self.times and events[-1][1] == FINISH:  # both engines send it with the step of the last token
            self.times[-1] = events[-1][0]
        if log.was_cut and log.finish is None:
            self.total = None

    @property
    def last(self) -> int | None:
        """Tokens up to the last event that carried any."""
        return self.counts[-1] if self.counts else self.total

    def curve(self) -> Sequence[float] | None:
        """Tokens up to each of `times`; spread evenly where only their sum is known; None where nothing is."""
        if self.counts is not None:
            return self.counts
        if self.total is None or not self.times:
            return None
        steps = len(self.times) - 1
        return array("d", (1 + (self.total - 1) * i / steps for i in range(steps + 1))) if steps else [self.total]

    def until(self, at: float) -> float | None:
        """Tokens that were there at a moment, straight between two events; None where nobody counted."""
        curve = self.curve()
        if curve is None:
            return None
        place = bisect_right(self.times, at)
        if place == 0:
            return 0.0
        if place == len(self.times):
            return curve[-1]
        before, after = self.times[place - 1], self.times[place]
        return curve[place - 1] + (curve[place] - curve[place - 1]) * (at - before) / (after - before)


def _counted(events: Iterable[tuple[float, int, int, int | None]]) -> list[tuple[float, int]]:
    """(time, tokens so far) of each event where the count grew; empty where it was not told as it went."""
    found: list[tuple[float, int]] = []
    untold: float | None = None
    seen = 0
    for at, kind, _, count in events:
        if count is None:
            if kind in PAYLOAD and untold is None and not found:
                untold = at
            continue
        if count < seen:
            return []
        if count > seen:
            found.append((at, count))
            seen = count
    if found and untold is not None:
        return [(untold, 1), *((at, count) for at, count in found if count > 1)]
    return found

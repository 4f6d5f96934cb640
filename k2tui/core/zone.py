"""How far a log's clock is from its node's: a container often prints UTC on a node that keeps local time."""

from __future__ import annotations

_STEP_S = 900
"""Time zones differ by whole quarters of an hour."""
_NEAR_S = 120.0
"""A line that was written just now is not older than this, give or take what a clock is off."""
_SIGHTINGS = 3
_APART_S = 2.0
"""Sightings in less time than this are one: what was kept back comes all at once."""
_WIDEST_S = 26 * 3600.0
"""No two time zones differ by more."""


class LogZone:
    """Learns from lines that were written just now. Until it knows better, both clocks are one."""

    def __init__(self) -> None:
        self.ahead_s = 0.0
        """Seconds that the node's clock is ahead of the log's; negative where the log's is ahead."""
        self._seen: float | None = None
        self._times = 0
        self._counted_at = 0.0

    def see(self, now: float, stamp: float) -> None:
        """`stamp` is the newest of bytes that came just now, `now` the node's clock, both naive local seconds.

        Lines can be old (they were kept back, or came after a lost connection), but not by the same difference while
        the clock goes on; none comes from the future, and one without a difference tells that both clocks are one.
        """
        apart = now - stamp
        steps = round(apart / _STEP_S) * float(_STEP_S)
        if abs(apart - steps) > _NEAR_S or abs(steps) > _WIDEST_S:
            return
        if steps != self._seen:
            self._seen, self._times, self._counted_at = steps, 1, now
        elif now - self._counted_at >= _APART_S:
            self._times, self._counted_at = self._times + 1, now
        if steps <= 0 or self._times >= _SIGHTINGS:
            self.ahead_s = steps

    def to_log(self, now: float | None) -> float | None:
        """The node's clock as the log would print it."""
        return None if now is None else now - self.ahead_s

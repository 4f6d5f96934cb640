"""How far a log's clock is from its node's: a container often prints UTC on a node that keeps local time."""

from __future__ import annotations

_STEP_S = 900
"""Time zones differ by whole quarters of an hour."""
_NEAR_S = 120.0
"""A line that was written just now is not older than this, give or take what a clock is off."""
_SIGHTINGS = 3


class LogZone:
    """Learns from lines that were written just now. Until it knows better, both clocks are one."""

    def __init__(self) -> None:
        self.ahead_s = 0.0
        """Seconds that the node's clock is ahead of the log's; negative where the log's is ahead."""
        self._seen: float | None = None
        self._times = 0

    def see(self, now: float, stamp: float) -> None:
        """`stamp` is the newest of bytes that came just now, `now` the node's clock, both naive local seconds.

        One line can be old (it was kept back, or came after a lost connection); several in a row with the same
        difference are not, and none comes from the future.
        """
        apart = now - stamp
        steps = round(apart / _STEP_S) * float(_STEP_S)
        if abs(apart - steps) > _NEAR_S:
            return
        self._times = self._times + 1 if steps == self._seen else 1
        self._seen = steps
        if steps <= 0 or self._times >= _SIGHTINGS:
            self.ahead_s = steps

    def to_log(self, now: float | None) -> float | None:
        """The node's clock as the log would print it."""
        return None if now is None else now - self.ahead_s

"""What earlier launches let one expect of this one: usual times, what is slower, how long it still takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.eta import TimeLeft, temperature, time_left
from k2tui.core.history import LaunchKey, PastLaunch, Temperature, Usual, slower_than_usual, usual
from k2tui.core.launch import LaunchPhase
from k2tui.core.silence import SilenceWord
from k2tui.core.views import ServerView
from k2tui.core.words import duration
from k2tui.ui.spans import Line

_COARSE_FROM_S = 120.0
"""From here on a range is told in steps of five seconds: what changes every second is hard to read."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The earlier launches that this one may be compared with."""

    past: Sequence[PastLaunch] = ()
    key: LaunchKey | None = None
    like: Temperature | None = None

    @classmethod
    def of(cls, server: ServerView) -> Expected:
        """What the view of a server tells."""
        launch, around = server.launch, server.around
        if launch is None or around.key is None:
            return NOTHING_EXPECTED
        return cls(around.past, around.key, temperature(launch, around.checkpoint))

    def usual(self, phase: LaunchPhase) -> Usual | None:
        """What the phase takes here; where no launch was as warm or cold as this one, what it took in all of them."""
        if self.key is None:
            return None
        return usual(self.past, phase, self.key, like=self.like) or usual(self.past, phase, self.key)

    def is_slower(self, phase: LaunchPhase, elapsed_s: float | None) -> bool:
        """The phase took, or takes, clearly longer than usual."""
        return elapsed_s is not None and slower_than_usual(phase, elapsed_s, self.usual(phase))


NOTHING_EXPECTED = Expected()


def left_of(server: ServerView, node_now: float | None) -> TimeLeft | None:
    """How long it still takes; None when nobody knows, and while it does not move."""
    launch = server.launch
    if launch is None or launch.detail == SilenceWord.STALLED.value:
        return None
    left = time_left(launch, server.around, node_now)
    if left is not None and left.basis == "bar" and launch.silence is not None:
        return None  # a bar that stands still says nothing of its end
    return None if left is None or left.high_s < 0.5 else left


def left_words(left: TimeLeft) -> Line:
    """`ready in 40 to 55 s, from 7 launches here`, or of a bar alone `this bar 12 to 20 s more`."""
    span = range_words(left.low_s, left.high_s)
    if left.basis != "history":
        return (("this bar ", "muted"), (span, "text"), (" more", "muted"))
    launches = "1 launch" if left.launches == 1 else f"{left.launches} launches"
    place = "here" if left.same_config else "with other flags"
    return (("ready ", "muted"), ("in ", "muted"), (span, "strong"), (f", from {launches} {place}", "muted"))


def range_words(low_s: float, high_s: float) -> str:
    """`40 to 55 s`, `1m10s to 2m05s`, `50 s to 2m05s`; one figure where both are the same."""
    low, high = max(0, round(low_s)), max(1, round(high_s))
    if high_s >= _COARSE_FROM_S:
        low, high = 5 * round(low / 5), 5 * round(high / 5)
    if low >= high:
        return _whole(high)
    if high < 60:
        return f"{low} to {high} s"
    return f"{_whole(low)} to {_whole(high)}"


def _whole(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else duration(seconds)

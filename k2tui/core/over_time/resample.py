"""Pieces of one series, of whatever steps, on one even axis of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from k2tui.core.series import Samples, SeriesKey

_SLIVER = 1e-9
"""Less of a step than this is an error of rounding."""


def resampled(key: SeriesKey, pieces: Sequence[Samples], since: float, until: float, steps: int) -> Samples:
    """`steps` even steps between two unix times: what was recorded in each, weighed by how long it lasted.

    Of pieces with the same step the earlier ones count where they have a figure; a sample of a longer step counts only
    where nothing finer begins. A step in which nothing was recorded stays None: no line is drawn over a gap.
    """
    if steps < 1 or not since < until:
        return Samples(key, since, 1.0, ())
    axis = _Axis(since, until, steps)
    begins: list[float] = []
    for step_s in sorted({piece.step_s for piece in pieces}):
        taken = {int(at // step_s) for at in begins}
        for piece in pieces:
            if piece.step_s == step_s:
                fresh = [one for one in _known(piece, since, until) if one[0] not in taken]
                axis.add(step_s, fresh)
                taken.update([one[0] for one in fresh])
                begins += [one[0] * step_s for one in fresh]
    return axis.samples(key)


_Known = tuple[int, float, float | None, float | None]
"""The number of a sample's step since 1970; mean, least and most, None where they are the mean."""


class _Axis:
    """Even steps, and what is known of each."""

    def __init__(self, since: float, until: float, steps: int) -> None:
        self._since, self._steps = since, steps
        self._width = (until - since) / steps
        self._weights, self._sums = [0.0] * steps, [0.0] * steps
        self._lows: list[float | None] = [None] * steps
        self._highs: list[float | None] = [None] * steps

    def add(self, step_s: float, known: Sequence[_Known]) -> None:
        """Lay these samples over the axis."""
        per_width = step_s / self._width
        since, scale, steps = self._since, 1 / self._width, self._steps
        weights, sums, lows, highs = self._weights, self._sums, self._lows, self._highs
        for index, mean, least, most in known:
            start = (index * step_s - since) * scale
            end = start + per_width
            low, high = mean if least is None else least, mean if most is None else most
            at = int(start) if start > 0 else 0
            while at < end and at < steps:
                share = (end if end < at + 1 else at + 1) - (start if start > at else at)
                if share > _SLIVER:
                    weights[at] += share
                    sums[at] += share * mean
                    lowest, highest = lows[at], highs[at]
                    if lowest is None or low < lowest:
                        lows[at] = low
                    if highest is None or high > highest:
                        highs[at] = high
                at += 1

    def samples(self, key: SeriesKey) -> Samples:
        """What there is by now."""
        rows = zip(self._sums, self._weights, self._lows, self._highs, strict=True)
        means = [
            None if low is None or high is None else min(high, max(low, total / weight))  # a sum of shares is not exact
            for total, weight, low, high in rows
        ]
        return Samples(key, self._since, self._width, tuple(means), tuple(self._lows), tuple(self._highs))


def _known(piece: Samples, since: float, until: float) -> Iterator[_Known]:
    """The samples between the two times in which something was recorded."""
    base = round(piece.began / piece.step_s)
    first = max(0, int((since - piece.began) // piece.step_s))
    end = max(first, min(len(piece.mean), ceil((until - piece.began) / piece.step_s)))
    means = piece.mean[first:end]
    lows, highs = (piece.low or piece.mean)[first:end], (piece.high or piece.mean)[first:end]
    for index, mean, low, high in zip(range(base + first, base + end), means, lows, highs, strict=True):
        if mean is not None:
            yield index, mean, low, high

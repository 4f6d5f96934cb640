"""The statistics of benchmarks: percentiles, intervals, ratios, and how many restarts decide a question.

The restart of a server is the replicate (requests of one start are correlated), so the values here are one a start.
Speeds are compared by their logarithms: what a flag does to them is a factor, and so is what varies between starts.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from k2tui.core.benching.student import student_quantile

_MOST_REPLICATES = 1_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and the interval around it."""

    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """True where the value lies inside, ends included."""
        return self.low <= value <= self.high


def percentile(values: Sequence[float], q: float) -> float:
    """The q-th percentile (q from 0 to 100), as numpy's method `linear` (the default; Hyndman and Fan's type 7).

    At the place h = (n - 1) q / 100 of the sorted values, between two of them by a straight line. ValueError for no
    values.
    """
    if not values:
        raise ValueError("there is no percentile of no values")
    if not 0.0 <= q <= 100.0:
        raise ValueError(f"a percentile from 0 to 100 was expected, found {q}")
    return _at(sorted(values), q / 100.0)


def median(values: Sequence[float]) -> float:
    """The middle value, or the mean of the two. ValueError for no values."""
    return percentile(values, 50.0)


def cv(values: Sequence[float]) -> float | None:
    """Coefficient of variation: sample standard deviation (n - 1 below) over mean; None below two values."""
    if len(values) < 2:
        return None
    mean, variance = _moments(values)
    return math.sqrt(variance) / abs(mean) if mean else None


def mean_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's interval of the mean: m ± t(1 - α/2, n - 1) s / √n. None below two values."""
    if len(values) < 2:
        return None
    mean, variance = _moments(values)
    half = _t(confidence, len(values) - 1) * math.sqrt(variance / len(values))
    return mean - half, mean + half


def log_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The geometric mean with Student's interval on logarithms: exp(m ± t s / √n) of ln x. Values above 0.

    None below two values.
    """
    found = mean_interval(logs := _logs(values), confidence)
    if found is None:
        return None
    low, high = found
    return Interval(math.exp(math.fsum(logs) / len(logs)), math.exp(low), math.exp(high))


def welch_ratio(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """B over A with Welch's interval on logarithms. Values above 0; None below two of them on a side.

    ratio = exp(d), d = mean(ln b) - mean(ln a); interval exp(d ± t(1 - α/2, ν) √(sa²/na + sb²/nb)), with the degrees
    of freedom of Welch and Satterthwaite: ν = (sa²/na + sb²/nb)² / ((sa²/na)² / (na - 1) + (sb²/nb)² / (nb - 1)).
    At most 2 n - 2 of them, n the smaller side's: beside many starts of the other side, two that happen to be alike
    would find a difference too often (7 % of 2 against 5, where 5 % were asked for). Equal sides never reach that.
    """
    if len(a) < 2 or len(b) < 2:
        return None
    (mean_a, variance_a), (mean_b, variance_b) = _moments(_logs(a)), _moments(_logs(b))
    share_a, share_b = variance_a / len(a), variance_b / len(b)
    difference, total = mean_b - mean_a, share_a + share_b
    below = share_a**2 / (len(a) - 1) + share_b**2 / (len(b) - 1)
    if below <= 0.0:  # values that are all the same, on both sides
        return Interval(math.exp(difference), math.exp(difference), math.exp(difference))
    free = min(total**2 / below, 2.0 * min(len(a), len(b)) - 2.0)
    half = _t(confidence, free) * math.sqrt(total)
    return Interval(math.exp(difference), math.exp(difference - half), math.exp(difference + half))


def bootstrap_ratio(
    a: Sequence[float], b: Sequence[float], *, seed: int = 0, rounds: int = 10_000, confidence: float = 0.95
) -> Interval | None:
    """The ratio of medians, B over A, with the percentile bootstrap (Efron): `rounds` times both sides drawn anew.

    Values above 0; None where a side has none. It says nothing of what differs between two starts of a server.
    """
    if not a or not b:
        return None
    draw = random.Random(seed)
    drawn = sorted(
        top / bottom for top, bottom in zip(_medians(draw, b, rounds), _medians(draw, a, rounds), strict=True)
    )
    edge = (1.0 - confidence) / 2.0
    return Interval(median(b) / median(a), _at(drawn, edge), _at(drawn, 1.0 - edge))


def pooled_cv(a: Sequence[float], b: Sequence[float]) -> float | None:
    """What varies between the starts of both sides, as a share: the pooled standard deviation of the logarithms.

    √(((na - 1) sa² + (nb - 1) sb²) / (na + nb - 2)); None where no side has two values.
    """
    squares, free = 0.0, 0
    for side in (a, b):
        if len(side) > 1:
            squares += _moments(_logs(side))[1] * (len(side) - 1)
            free += len(side) - 1
    return math.sqrt(squares / free) if free else None


def rough_replicates(cv: float, effect: float) -> float:
    """Starts of each side for 80 % power at 95 %: 15.7 (CV / effect)², both as shares; 2 (1.960 + 0.842)² = 15.7."""
    return 15.7 * (cv / effect) ** 2


def replicates(cv: float, effect: float, *, confidence: float = 0.95, power: float = 0.8) -> int | None:
    """The fewest starts of each side (at least 2) whose Welch interval shows a factor of 1 + `effect` with this power.

    The smallest n >= 2 (CV / ln(1 + effect))² (t(1 - α/2, ν) + t(power, ν))², with ν = 2 n (n - 1) / (n + 1): the
    degrees of freedom that Welch's formula leaves of 2 n - 2 on average, where both sides vary alike. `cv` and `effect`
    as shares. None where no number that anyone could make is enough (no effect).
    """
    return _fewest(cv, math.log1p(abs(effect)), confidence, power)


def replicates_for_same(cv: float, effect: float, margin: float, *, confidence: float = 0.95) -> int | None:
    """The fewest starts of each side whose interval lies inside of ±`margin` with 80 % power, at this true effect.

    Two one-sided questions, so each has the power 0.9, and the distance is ln(1 + margin) - ln(1 + effect).
    """
    return _fewest(cv, math.log1p(margin) - math.log1p(abs(effect)), confidence, 0.9)


def _fewest(cv: float, distance: float, confidence: float, power: float) -> int | None:
    if distance <= 0.0:
        return None
    floor = 2.0 * (cv / distance) ** 2
    n = 2
    while n < _MOST_REPLICATES:
        free = 2.0 * n * (n - 1) / (n + 1)
        needed = floor * (_t(confidence, free) + student_quantile(power, free)) ** 2
        if n >= needed:
            return n
        # What is needed falls with n, and never below the figure of the normal distribution: no step is too long.
        n = max(n + 1, math.ceil(floor * (_t(confidence, math.inf) + student_quantile(power, math.inf)) ** 2))
    return None


def _t(confidence: float, df: float) -> float:
    return student_quantile(1.0 - (1.0 - confidence) / 2.0, df)


def _moments(values: Sequence[float]) -> tuple[float, float]:
    """Mean, and variance with n - 1 below."""
    mean = math.fsum(values) / len(values)
    return mean, math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _logs(values: Sequence[float]) -> list[float]:
    if any(value <= 0.0 for value in values):
        raise ValueError("a speed above 0 was expected")
    return [math.log(value) for value in values]


def _at(ordered: Sequence[float], share: float) -> float:
    """The value at this share (0 to 1) of sorted values, between two of them by a straight line."""
    place = share * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 1)
    above = min(below + 1, len(ordered) - 1)
    part = place - below
    low, high = ordered[below], ordered[above]
    # From the nearer end, as numpy does: the ends are hit exactly.
    return low + (high - low) * part if part < 0.5 else high - (high - low) * (1.0 - part)


def _medians(draw: random.Random, values: Sequence[float], rounds: int) -> Iterator[float]:
    """The medians of `rounds` samples of the same size, drawn from the values with putting back.

    Without drawing the samples: n places drawn evenly from 0 to 1 say which of the sorted values are drawn, and the
    k-th smallest of such places follows Beta(k, n - k + 1); the next one is the smallest of the n - k above it.
    """
    size, ordered = len(values), sorted(values)
    k = (size + 1) // 2
    above = size - k
    for _ in range(rounds):
        place = draw.betavariate(k, above + 1)
        middle = ordered[min(int(place * size), size - 1)]
        if size % 2 == 0:
            place += (1.0 - place) * (1.0 - draw.random() ** (1.0 / above))
            middle = (middle + ordered[min(int(place * size), size - 1)]) / 2.0
        yield middle

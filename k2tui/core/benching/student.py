"""Student's t distribution for any real degrees of freedom, with nothing but the standard library.

CDF and quantile rest on the regularised incomplete beta function (Abramowitz and Stegun, 26.7.1 and 26.5.8): for t > 0,
P(T > t) = I_x(df/2, 1/2) / 2 with x = df / (df + t²).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_PRACTICALLY_NORMAL = 1e7
"""Degrees of freedom from which on the normal distribution is right to 1e-6."""
_TINY = 1e-300
_CLOSE = 1e-15
_NEAR = 1e-9
"""A step of this share of t is the last one: each is about the square of the one before."""
_TURNS = 10_000


def student_cdf(t: float, df: float) -> float:
    """P(T <= t) with `df` degrees of freedom (a real number above 0; infinite: normal). ValueError for others."""
    _check(df)
    if math.isnan(t):
        raise ValueError("t is not a number")
    tail = _tail(abs(t), df)
    return tail if t < 0 else 1.0 - tail


@lru_cache(maxsize=512)
def student_quantile(p: float, df: float) -> float:
    """The t with P(T <= t) = p; the half-width of a 95 % interval takes p = 0.975.

    `df`: a real number above 0. ValueError for a p outside of (0, 1). Found by Newton's steps on the logarithm of the
    tail, kept inside of a bracket.
    """
    _check(df)
    if not 0.0 < p < 1.0:
        raise ValueError(f"a probability between 0 and 1 was expected, found {p}")
    if p == 0.5:
        return 0.0
    wanted = min(p, 1.0 - p)
    size = -normal_quantile(wanted) if df >= _PRACTICALLY_NORMAL else _from_tail(wanted, df)
    return size if p > 0.5 else -size


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p. ValueError for a p outside of (0, 1)."""
    if not 0.0 < p < 1.0:
        raise ValueError(f"a probability between 0 and 1 was expected, found {p}")
    return _NORMAL.inv_cdf(p)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for 0 <= x <= 1 and a, b > 0.

    By its continued fraction (Abramowitz and Stegun, 26.5.8), which converges fast for x < (a + 1) / (a + b + 2); the
    other half comes from I_x(a, b) = 1 - I_{1-x}(b, a).
    """
    return _beta(x, 1.0 - x, a, b)


def _beta(x: float, rest: float, a: float, b: float) -> float:
    """I_x(a, b) where `rest` is 1 - x, which may be known better than by subtraction."""
    if x <= 0.0:
        return 0.0
    if rest <= 0.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - _beta(rest, x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    return math.exp(log_front) / a * _fraction(x, a, b)


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction 1 / (1 + d1 / (1 + d2 / ...)), from the front by Lentz's method."""
    top, below = 1.0, 1.0 / ((1.0 - (a + b) * x / (a + 1.0)) or _TINY)
    value = below
    for m in range(1, _TURNS):
        place = a + 2 * m
        even = m * (b - m) * x / ((place - 1.0) * place)
        below = 1.0 / ((1.0 + even * below) or _TINY)
        top = (1.0 + even / top) or _TINY
        value *= top * below
        odd = -(a + m) * (a + b + m) * x / (place * (place + 1.0))
        below = 1.0 / ((1.0 + odd * below) or _TINY)
        top = (1.0 + odd / top) or _TINY
        change = top * below
        value *= change
        if abs(change - 1.0) < _CLOSE:
            break
    return value


def _tail(t: float, df: float) -> float:
    """P(T > t) for t >= 0."""
    if df >= _PRACTICALLY_NORMAL or t == math.inf:
        return math.erfc(t / math.sqrt(2.0)) / 2.0
    ratio = t / math.sqrt(df)  # t² alone could be too large for a float
    if ratio > 1e150:
        return 0.5 * _beta_of_next_to_nothing(ratio, df)
    square = ratio * ratio
    return 0.5 * _beta(1.0 / (1.0 + square), square / (1.0 + square), df / 2.0, 0.5)


def _beta_of_next_to_nothing(ratio: float, df: float) -> float:
    """I_x(df/2, 1/2) for x = 1 / ratio², of which only the first term is left."""
    a = df / 2.0
    log_front = math.lgamma(a + 0.5) - math.lgamma(a) - math.lgamma(0.5) - df * math.log(ratio)
    return math.exp(log_front) / a


def _density(t: float, df: float) -> float:
    log_front = math.lgamma((df + 1.0) / 2.0) - math.lgamma(df / 2.0) - 0.5 * math.log(df * math.pi)
    return math.exp(log_front - (df + 1.0) / 2.0 * math.log1p(t * t / df))


def _from_tail(wanted: float, df: float) -> float:
    """The t > 0 with P(T > t) = wanted, a number below one half."""
    low, high = 0.0, math.inf
    normal = -normal_quantile(wanted)
    t = normal + (normal**3 + normal) / (4.0 * df)  # the first terms of the way from one to the other
    for _ in range(200):
        tail, slope = _tail(t, df), _density(t, df)
        low, high = (t, high) if tail > wanted else (low, t)
        step = tail * math.log(tail / wanted) / slope if tail > 0.0 and slope > 0.0 else math.inf
        # A tail falls as a power of t far out: there, a step on both logarithms is nearly the last one.
        following = t + step if t < 1.0 or abs(step) > 300.0 * t else t * math.exp(step / t)
        if abs(following - t) <= _NEAR * t:
            return following
        if not low < following < high:
            following = 2.0 * low if high == math.inf else (low + high) / 2.0
        if following in (low, high) or following > 1e300:
            return following
        t = following
    return t


def _check(df: float) -> None:
    if not df > 0.0:
        raise ValueError(f"degrees of freedom above 0 were expected, found {df}")

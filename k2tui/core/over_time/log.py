"""What a server's log tells of its work, minute by minute: it fills the time in which nobody looked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from k2tui.core.clock import clock_or_none, placed
from k2tui.core.grammar.batch_lines import batch_beats
from k2tui.core.series import MINUTES_STEP_S, Quantity, Samples, SeriesKey, server_subject

LOG_QUANTITIES = (Quantity.DECODE, Quantity.RUNNING, Quantity.WAITING, Quantity.KV_USAGE)
"""What batch lines tell."""

_Minute = dict[str, list[float]]
"""The figures of one minute, by data-parallel replica."""


def series_of_log(
    server: str, lines: Iterable[str], *, to_unix_s: float, since: float, until: float
) -> tuple[Samples, ...]:
    """Minutes of a server by its batch lines (whole and plain), between two unix times; nothing of other times.

    `to_unix_s` is what to add to a stamp's clock (naive local seconds, as the log prints it) for unix time: how far the
    node's clock is ahead of the log's, minus the node's clock offset. Replicas add up; of the cache the fullest counts.
    A minute without a line stays unknown: an idle engine says nothing.
    """
    minutes: dict[Quantity, dict[int, _Minute]] = {quantity: {} for quantity in LOG_QUANTITIES}
    near = since - to_unix_s
    for stamp, replica, beat in batch_beats(lines):
        clock = clock_or_none(stamp)
        if clock is None:
            continue
        at = placed(clock, near) + to_unix_s
        if not since <= at < until:
            continue
        minute = int(at // MINUTES_STEP_S)
        told = (beat.tokens_per_s, beat.running, beat.queued, beat.usage)
        for quantity, figure in zip(LOG_QUANTITIES, told, strict=True):
            if figure is not None:
                minutes[quantity].setdefault(minute, {}).setdefault(replica, []).append(figure)
    return tuple(
        _samples(SeriesKey(server_subject(server), quantity), found, max if quantity is Quantity.KV_USAGE else sum)
        for quantity, found in minutes.items()
        if found
    )


def unrecorded(kept: Sequence[Samples], since: float, until: float) -> tuple[float, float] | None:
    """From the first to the last whole minute between two unix times that holds nothing; None where all do."""
    known = _known_minutes(kept)
    first, end = int(-(-since // MINUTES_STEP_S)), int(until // MINUTES_STEP_S)
    missing = [minute for minute in range(first, end) if minute not in known]
    return (missing[0] * MINUTES_STEP_S, (missing[-1] + 1) * MINUTES_STEP_S) if missing else None


def where_unrecorded(samples: Samples, kept: Sequence[Samples]) -> Samples | None:
    """The minutes of which nothing is kept of this series; None where there are none."""
    known = _known_minutes([one for one in kept if one.key == samples.key])
    first = round(samples.began / MINUTES_STEP_S)
    mean = tuple([None if first + at in known else figure for at, figure in enumerate(samples.mean)])
    if all(figure is None for figure in mean):
        return None
    return Samples(samples.key, samples.began, samples.step_s, mean, samples.low, samples.high)


def _known_minutes(kept: Sequence[Samples]) -> set[int]:
    return {
        int((one.began + at * one.step_s) // MINUTES_STEP_S)
        for one in kept
        for at, figure in enumerate(one.mean)
        if figure is not None
    }


def _samples(key: SeriesKey, minutes: dict[int, _Minute], together: Callable[[list[float]], float]) -> Samples:
    first, end = min(minutes), max(minutes) + 1
    rows = [_figures(minutes.get(minute), together) for minute in range(first, end)]
    mean, low, high = zip(*rows, strict=True)
    return Samples(key, first * MINUTES_STEP_S, MINUTES_STEP_S, mean, low, high)


def _figures(
    minute: _Minute | None, together: Callable[[list[float]], float]
) -> tuple[float, float, float] | tuple[None, None, None]:
    """Mean, least and most of all replicas together."""
    if minute is None:
        return None, None, None
    replicas = minute.values()
    return (
        together([sum(told) / len(told) for told in replicas]),
        together([min(told) for told in replicas]),
        together([max(told) for told in replicas]),
    )

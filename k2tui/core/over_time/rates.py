"""What a server usually generates in its present configuration, from the minutes that were recorded of it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from k2tui.core.history import config_hash, key_of
from k2tui.core.series import UsualRate
from k2tui.core.views import ServerView

KEPT_MINUTES = 256
"""Of each configuration and number of running requests so many minutes are kept, spread over its past."""
FORGETS_AFTER_MINUTES = 10_080
"""A new minute counts as one of this many at least: what was usual long ago is forgotten."""
LEAST_MINUTES = 5
"""Fewer say nothing of what is usual."""


def config_of(server: ServerView) -> str | None:
    """A server with the flags and variables that it runs with; None while nobody knows them."""
    if server.run is not None and server.run.argv:
        hashed = config_hash(server.run.argv, dict(server.run.env))
    elif server.found is not None:
        hashed = config_hash(server.found.argv, dict(server.found.env))
    elif (key := key_of(server.settings.node, server.launch)) is not None:
        hashed = key.config
    else:
        return None
    return f"{server.settings.name}/{hashed}"


def about_running(running: float) -> int:
    """The power of two at or below a number of running requests, at least 1: in between counts as about the same."""
    return 1 << (max(1, int(running)).bit_length() - 1)


def with_minute(rates: Sequence[float], minutes: int, minute: int, tokens_per_s: float) -> list[float]:
    """The kept minutes with one more, which is the `minutes`-th (from 1); a fair choice among all that there were."""
    if len(rates) < KEPT_MINUTES:
        return [*rates, tokens_per_s]
    place = _spread(minute) % max(KEPT_MINUTES, min(minutes, FORGETS_AFTER_MINUTES))
    chosen = list(rates[:KEPT_MINUTES])
    if place < KEPT_MINUTES:
        chosen[place] = tokens_per_s
    return chosen


def usual_of(rates: Sequence[float], minutes: int, running: float) -> UsualRate | None:
    """What the kept minutes say; None where there are too few."""
    if len(rates) < LEAST_MINUTES:
        return None
    return UsualRate(median(rates), about_running(running), minutes)


def _spread(minute: int) -> int:
    """A number that neighbours do not share: minutes come in order, what they replace must not."""
    mixed = (minute * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    return mixed ^ (mixed >> 29)

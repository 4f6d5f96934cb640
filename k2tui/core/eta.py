"""How long a bar still takes, as a range: never the bar's own word, which jumps with every burst."""

from __future__ import annotations

from itertools import combinations

from k2tui.core.launch import Bar

_POINTS = 3
_WINDOW_S = 600.0


def eta_s(bar: Bar | None) -> tuple[float, float] | None:
    """(low, high) seconds from the bar's newest step on, by the slopes between its steps; None below three steps."""
    if bar is None or bar.progress.done == bar.progress.total or len(bar.points) < _POINTS:
        return None
    newest = bar.points[-1][0]
    points = [(at, done) for at, done in bar.points if newest - at <= _WINDOW_S]
    slopes = sorted(
        (later[1] - earlier[1]) / (later[0] - earlier[0])
        for earlier, later in combinations(points, 2)
        if later[0] > earlier[0] and later[1] > earlier[1]
    )
    if len(points) < _POINTS or not slopes:
        return None
    left = bar.progress.total - bar.progress.done
    slow, fast = slopes[len(slopes) // 4], slopes[-1 - len(slopes) // 4]
    return left / fast, left / slow

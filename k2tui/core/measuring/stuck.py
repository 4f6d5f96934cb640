"""A gauge that does not move although it should."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.measuring.look import Look

IDLE_STICKS_S = 5.0
"""SGLang up to 0.5.18 keeps the last window's figure for as long as nothing runs."""
BUSY_STICKS_S = 60.0
"""It is written anew every few dozen steps; twice the same to the last digit is no chance after this time."""


def stuck_gauge(looks: Sequence[Look], metrics: Sequence[Look] = ()) -> str | None:
    """One sentence when the engine's tokens-a-second gauge stands still although it should not; None else.

    `looks` are those of the source whose gauge is shown, oldest first; `metrics` may have counters that prove that
    tokens came meanwhile.
    """
    if not looks or (figure := _gauge(looks[-1])) is None:
        return None
    same = [looks[-1]]
    for look in reversed(looks[:-1]):
        if _gauge(look) != figure:
            break
        same.append(look)
    stood_s = same[0].at - same[-1].at
    said = f"the server's own tok/s figure has stood at {sum(figure):.1f} for {stood_s:.0f} s"
    if all(look.running == 0 and not look.waiting for look in same):
        if stood_s >= IDLE_STICKS_S and sum(figure) > 0:
            return f"{said} while nothing runs; it is not used"
        return None
    if stood_s >= BUSY_STICKS_S and _moved(same, metrics):
        return f"{said} while tokens came; it is not used"
    return None


def _gauge(look: Look) -> tuple[float, ...] | None:
    figures = tuple(rank.gauge_tokens_per_s for rank in look.ranks if rank.gauge_tokens_per_s is not None)
    return figures or None


def _moved(same: Sequence[Look], metrics: Sequence[Look]) -> bool:
    """Did tokens come between the first and the last of these looks, newest first?"""
    since, until = same[-1].at, same[0].at
    between = [look.counters.decode_tokens for look in metrics if since <= look.at <= until]
    if len(between) >= 2 and between[-1] != between[0]:
        return True
    used = {tuple(rank.used_tokens for rank in look.ranks) for look in same}
    return len(used) > 2 and all(look.running for look in same)

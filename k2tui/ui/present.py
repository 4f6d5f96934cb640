"""Text and glyphs for what the core knows. Pure; unknown is an em dash, never a zero."""

from __future__ import annotations

import time
from enum import Enum

from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.views import ServerStatus
from k2tui.core.words import UNKNOWN

STATUS_GLYPH: dict[ServerStatus, str] = {
    ServerStatus.UNKNOWN: "?",
    ServerStatus.DOWN: "○",
    ServerStatus.LOADING: "◐",
    ServerStatus.UNPROVED: "◒",
    ServerStatus.READY: "●",
    ServerStatus.DEGRADED: "▲",
    ServerStatus.MISCONFIGURED: "▲",
    ServerStatus.CRASHED: "✗",
    ServerStatus.HUNG: "■",
    ServerStatus.STALE: "~",
}

STATUS_ROLE: dict[ServerStatus, str] = {
    ServerStatus.UNKNOWN: "muted",
    ServerStatus.DOWN: "muted",
    ServerStatus.LOADING: "phase-loading",
    ServerStatus.UNPROVED: "phase-doubt",
    ServerStatus.READY: "phase-ready",
    ServerStatus.DEGRADED: "warning",
    ServerStatus.MISCONFIGURED: "bad",
    ServerStatus.CRASHED: "bad",
    ServerStatus.HUNG: "bad",
    ServerStatus.STALE: "stale",
}

ASCII = str.maketrans(
    {
        **dict.fromkeys("—–─╌•", "-"),
        **dict.fromkeys("━█▇▮", "#"),
        **dict(zip("▁▂▃▄▅▆", "_.:-=+", strict=True)),
        **dict.fromkeys("╸▌", "+"),
        **dict.fromkeys("│┃", "|"),
        **dict.fromkeys("●◆", "*"),
        **dict.fromkeys("◇", "@"),
        **dict.fromkeys("▾", "v"),
        **dict.fromkeys("○", "o"),
        **dict.fromkeys("◐", ">"),
        **dict.fromkeys("◒", "?"),
        **dict.fromkeys("▲", "!"),
        **dict.fromkeys("■", "#"),
        **dict.fromkeys("✗", "x"),
        **dict.fromkeys("✓", "+"),
        **dict.fromkeys("›▸→", ">"),
        **dict.fromkeys("‹←", "<"),
        **dict.fromkeys("·▯", "."),
        **dict.fromkeys("×", "x"),
        **dict.fromkeys("…±", "~"),
        **dict.fromkeys("↓", "v"),
        **dict.fromkeys("↑", "^"),
        **dict.fromkeys("┌┐└┘├┤┬", "+"),
    }
)
"""One character for one, so that `--ascii` changes no column."""


def ascii_text(text: str) -> str:
    """The text in seven bits, as wide as before where each character is one cell wide."""
    return text if text.isascii() else text.translate(ASCII).encode("ascii", "replace").decode("ascii")


class Freshness(Enum):
    """How old a figure is, in periods of its probe."""

    FRESH = "fresh"
    LATE = "late"
    """Past one and a half periods: its age is shown."""
    DIM = "dim"
    """Past three: it dims."""
    GONE = "gone"
    """Past ten: it is not shown any more."""


def freshness(age_s: float | None, period_s: float) -> Freshness:
    """How far a figure of this age can be believed; one never seen is gone."""
    if age_s is None or age_s > 10 * period_s:
        return Freshness.GONE
    if age_s > 3 * period_s:
        return Freshness.DIM
    return Freshness.LATE if age_s > 1.5 * period_s else Freshness.FRESH


def age(seconds: float | None) -> str:
    """An age in whole units, so that it does not flicker: `0 s`, `22 s`, `3 m`, `9 h`, `2 d`."""
    if seconds is None:
        return UNKNOWN
    whole = max(0, int(seconds))
    for limit, divisor, unit in ((60, 1, "s"), (3600, 60, "m"), (86_400, 3600, "h")):
        if whole < limit:
            return f"{whole // divisor} {unit}"
    return f"{whole // 86_400} d"


def number(value: float | None, unit: str = "", *, digits: int = 0) -> str:
    """`412 W`; thousands apart by a thin gap: `12 430 lines`."""
    if value is None:
        return UNKNOWN
    text = f"{value:,.{digits}f}".replace(",", " ")
    return f"{text} {unit}" if unit else text


def percent(fraction: float | None) -> str:
    """`80 %` of a fraction 0 to 1; only a whole is 100."""
    if fraction is None:
        return UNKNOWN
    return f"{99 if 0.99 < fraction < 1 else round(100 * fraction)} %"


def of_total(used: float | None, total: float | None, divisor: float, unit: str) -> str:
    """`88/96 G`: both in one unit; an unknown half is a dash."""
    used_text = UNKNOWN if used is None else f"{used / divisor:.0f}"
    return f"{used_text}/{UNKNOWN if total is None else f'{total / divisor:.0f}'} {unit}"


def vram(used_mib: float, total_mib: float) -> str:
    """`704/768 G`, or `2.7/3.1 T` for a whole fleet."""
    if total_mib >= 1024 * 2000:
        return f"{used_mib / 1024**2:.1f}/{total_mib / 1024**2:.1f} T"
    return of_total(used_mib, total_mib, 1024, "G")


def bar(fraction: float, width: int) -> tuple[str, str]:
    """The filled and the empty part of a bar, together `width` cells, in steps of half a cell."""
    halves = int(min(1.0, max(0.0, fraction)) * width * 2 + 1e-9)
    filled = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return filled, "─" * (width - len(filled))


def clock_minute(unix_time: float) -> str:
    """`14:02`, in this machine's time."""
    return time.strftime("%H:%M", time.localtime(unix_time))


def clock_second(unix_time: float) -> str:
    """`14:02:31`, in this machine's time."""
    return time.strftime("%H:%M:%S", time.localtime(unix_time))


def run_time(run_id: str) -> str:
    """`11-29 14:02` (UTC) of a run id `20261129T140231Z-1a2b`; the id itself when it has another form."""
    stamp = run_id.partition("Z-")[0]
    if len(stamp) != 15 or stamp[8] != "T" or not (stamp[:8] + stamp[9:]).isdigit():
        return run_id
    return f"{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]}"


def link_words(link: LinkState, now: float) -> str:
    """A node's connection in a few words: `link 18 ms`, `refused, retry in 8 s`."""
    if link.phase is LinkPhase.UP:
        return "connected" if link.round_trip_s is None else f"link {number(link.round_trip_s * 1000)} ms"
    if link.phase is LinkPhase.DOWN and link.retry_at is not None:
        reason = link.reason or "out of reach"
        return f"{reason}, retry in {age(max(0.0, link.retry_at - now))}"
    if link.phase in (LinkPhase.DOWN, LinkPhase.BLOCKED):
        return link.reason or link.phase.value
    return "connecting" if link.phase is LinkPhase.CONNECTING else "not tried yet"


KEY_DISPLAY = {
    "escape": "esc",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "shift+tab": "shift-tab",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "f1": "F1",
    "ctrl+p": "ctrl-p",
    "ctrl+c": "ctrl-c",
    "ctrl+q": "ctrl-q",
}


def key_text(key: str) -> str:
    """A key as it is printed on screen."""
    return KEY_DISPLAY.get(key, key)

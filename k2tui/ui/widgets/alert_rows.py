"""Alerts: those that want an eye first, then those that hold, then the newest of those that are over."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.alerts import Alert, in_order, subject_words
from k2tui.core.secrets import mask
from k2tui.core.words import duration
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, cell, clip, joined
from k2tui.ui.widgets.event_rows import (
    SEVERITY_GLYPH,
    SEVERITY_ROLE,
    TEXT_ROLE,
    WIDEST_SUBJECT,
    FilteredRows,
    day_and_second,
    passes,
)

WITH_SINCE = 98
"""Columns of a row from which there is room for the time at which an alert began; `enter` tells it as well."""
UNSEEN = "●"
"""Nobody has acknowledged it."""


def unseen(alerts: Sequence[Alert]) -> list[Alert]:
    """Those that nobody has acknowledged."""
    return [alert for alert in alerts if alert.acknowledged_at is None]


def since_words(alert: Alert, wall: float) -> str:
    """`14:02:12` of today, `11-29 14:02` of another day."""
    return day_and_second(alert.began_at, wall)[:11]


def alert_heading(since_width: int, subject_width: int) -> Line:
    """The names of the columns."""
    since = f"{'SINCE':<{since_width}}  " if since_width else ""
    return ((f"  LEVEL     NOW    {'WHERE':<{subject_width}}  {since}   FOR  WHAT", "muted"),)


def alert_line(alert: Alert, width: int, since_width: int, subject_width: int, wall: float) -> Line:
    """`● ✗ bad      holds  gpu-a/3  14:02:12  12m05s  GPU 3 is at 91 C`."""
    holds = alert.ended_at is None
    lasting = (wall if alert.ended_at is None else alert.ended_at) - alert.began_at
    role, text_role = (SEVERITY_ROLE[alert.severity], "text") if holds else ("muted", "muted")
    line: Line = (
        (f"{UNSEEN if alert.acknowledged_at is None else ' '} ", "strong"),
        (f"{SEVERITY_GLYPH[alert.severity]} {alert.severity.value:<8}", role),
        (("holds  " if alert.unseen_since is None else "unseen ") if holds else "over   ", role),
        cell(subject_words(alert.subject), subject_width, text_role),
        ("  ", "text"),
        (f"{since_words(alert, wall):<{since_width}}  " if since_width else "", "muted"),
        cell(duration(max(0.0, lasting)), 6, text_role, right=True),
        ("  ", "text"),
        (mask(alert.text.replace("\n", "; ")), TEXT_ROLE[alert.severity] if holds else "muted"),
    )
    return clip(line, width)


def alert_text(alert: Alert, wall: float) -> list[str]:
    """The whole of one alert, to read."""
    lines = [
        alert.text,
        "",
        f"severity  {alert.severity.value}",
        f"of        {alert.subject}",
        f"rule      {alert.rule}",
    ]
    lines.append(f"since     {day_and_second(alert.began_at, wall)}")
    if alert.ended_at is None:
        lines.append(f"holds     {duration(wall - alert.began_at)}")
        if alert.unseen_since is not None:
            lines.append(
                f"unseen    since {day_and_second(alert.unseen_since, wall)}: nobody can tell whether it still holds"
            )
    else:
        over = day_and_second(alert.ended_at, wall)
        lines.append(f"over      {over}, after {duration(alert.ended_at - alert.began_at)}")
    seen = "by nobody" if alert.acknowledged_at is None else day_and_second(alert.acknowledged_at, wall)
    return [*lines, f"acknowledged {seen}"]


class AlertRows(FilteredRows):
    """The list of alerts, with the selected one."""

    title = "Alerts"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._alerts: Sequence[Alert] = ()
        self._shown: list[Alert] = []
        self._scene: Scene | None = None

    @property
    def selected(self) -> Alert | None:
        """The alert under the cursor."""
        return self._shown[self.cursor] if self.cursor < len(self._shown) else None

    def show_alerts(self, alerts: Sequence[Alert], scene: Scene) -> None:
        """Draw these; the cursor stays on its alert."""
        here = self.selected
        self._alerts, self._scene = alerts, scene
        ordered = in_order(alerts)
        shown = [
            one for one in ordered if passes(f"{one.subject} {one.text} {one.severity.value} {one.rule}", self.wanted)
        ]
        if here is not None:
            keys = [one.key for one in shown]
            self.cursor = keys.index(here.key) if here.key in keys else self.cursor
        self._shown = shown
        subject = min(WIDEST_SUBJECT, max((len(subject_words(one.subject)) for one in shown), default=5))
        since = 0
        if self.inner_width >= WITH_SINCE:
            since = max((len(since_words(one, scene.wall)) for one in shown), default=0)
        self.heading = (alert_heading(since, subject),) if shown else ()
        lines = [alert_line(one, self.inner_width, since, subject, scene.wall) for one in shown]
        words: list[Line] = []
        holding = sum(one.ended_at is None for one in alerts)
        new = len(unseen(alerts))
        if alerts:
            words.append(((f"{holding} hold" if holding != 1 else "1 holds", "text"),))
        if new:
            words.append(((f"{UNSEEN} {new} not acknowledged", "warning"),))
        said = "no alert has this text" if self.wanted else "no alert holds, and none ended lately"
        self.show(lines or [((said, "muted"),)], joined([*words, self.found(len(shown), len(alerts))]))

    def lay_out(self) -> None:
        if self._scene is not None:
            self.show_alerts(self._alerts, self._scene)

"""What both home screens do: what happened while nobody looked, alerts, and the last minutes of a server."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.series import Quantity, SeriesKey, server_subject
from k2tui.core.words import UNKNOWN
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line, cell
from k2tui.ui.widgets.absence_rows import AbsencePane
from k2tui.ui.widgets.grid import grid_rows
from k2tui.ui.widgets.rows import ServerRows
from k2tui.ui.widgets.sparkline import sparkline

TREND_S = 300.0


class TrendScreen(MovingScreen):
    """A screen that draws how a server's tokens a second went."""

    def trend_of(self, server: str, width: int) -> Line:
        """Tokens generated a second, all streams together, over the last five minutes."""
        samples = self.k2.fleet.recent(SeriesKey(server_subject(server), Quantity.DECODE), TREND_S)
        values: Sequence[float | None] = () if samples is None else samples.mean
        if not any(value is not None for value in values):
            return (cell(UNKNOWN, width, "muted"),)
        return sparkline(values, width)


class HomeScreen(TrendScreen):
    """A home screen: `A` acknowledges, verbs act on the marked servers, and a look back stands on top until it is taken
    away."""

    rows: ServerRows

    @property
    def marked_servers(self) -> list[str]:
        """The servers that are marked here, in the order of the config."""
        marks = self.rows.marks.keys
        if not marks or self.scene is None:
            return []
        return [
            row.server.settings.name for row in grid_rows(self.scene) if row.server is not None and row.key in marks
        ]

    def forget_marks(self) -> None:
        self.rows.marks.keep_only(())
        self.rows.again()
        self.redraw()

    def make_absence(self) -> AbsencePane:
        """The pane of what happened while nobody looked."""
        self.away = AbsencePane(id="away")
        return self.away

    def absence_rows(self, width: int) -> dict[str, int]:
        """Its place on top; nothing where there is none to show."""
        rows = self.away.wanted_rows(self.k2.fleet.absence(), width)
        return {"away": rows} if rows else {}

    def draw_absence(self) -> None:
        """Show it."""
        absence = self.k2.fleet.absence()
        if self.scene is not None and self.away.is_wanted(absence):
            self.away.show_absence(absence, self.scene)

    @property
    def is_looking_back(self) -> bool:
        """True while it is on screen."""
        return "away" in self._shown_places

    def dismiss_absence(self) -> None:
        """Take it away for this session."""
        self.away.dismiss()
        if self.pane is self.away:
            self.set_focus(self.first_pane())
        self.relayout()

    def leave(self) -> None:
        if self.is_looking_back:
            self.dismiss_absence()
        else:
            super().leave()

    def action_alert_acknowledge(self) -> None:
        """All alerts that nobody has acknowledged; the look back with them."""
        alerts = [alert for alert in self.k2.fleet.alerts() if alert.acknowledged_at is None]
        was_looking = self.is_looking_back
        if was_looking:
            self.dismiss_absence()
        for alert in alerts:
            self.k2.fleet.acknowledge(alert)
        if alerts:
            self.k2.say(f"acknowledged {len(alerts)} alert{'' if len(alerts) == 1 else 's'}")
        elif not was_looking:
            self.k2.say("no alert waits to be acknowledged")
        self.redraw()

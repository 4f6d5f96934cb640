"""Alerts, and what happened: the whole lists, with filters."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core.absence import Absence
from k2tui.core.events import Event
from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.layout import Places, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.moving import Findable, MovingScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.alert_rows import AlertRows, alert_text, unseen
from k2tui.ui.widgets.event_rows import EventRows, day_and_second
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.status_line import server_counts, status_line


class EventsScreen(MovingScreen):
    """All alerts, those that hold first, and all events, newest first."""

    HERE = (*EVERYWHERE, "alert.acknowledge")
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "find.open",
        "app.open",
        "alert.acknowledge",
        "pane.next",
        "row.copy",
        "pane.zoom",
        "screen.hold",
        "go.home",
        "app.help",
        "app.back",
    )

    def make_panes(self) -> list[Pane]:
        self.alerts = AlertRows(id="alerts")
        self.rows = EventRows(id="events")
        self._joined: list[Event] = []
        self._joined_of: tuple[object, ...] = ()
        return [self.alerts, self.rows]

    def first_pane(self) -> Pane:
        """The alerts when there is one to look at."""
        return self.alerts if unseen(self.k2.fleet.alerts()) else self.rows

    def finder(self) -> Findable | None:
        """Each list has a filter of its own; while one types, that of the list it is typed for."""
        pane = self.pane if self.prompt is None else self._before_prompt
        return self.alerts if pane is self.alerts else self.rows

    def arrange_panes(self, area: Region) -> Places:
        count = len(self.k2.fleet.alerts())
        return stacked(area, {"alerts": min(count + 2, max(5, area.height // 3)), "events": 0})

    def draw(self, scene: Scene) -> None:
        self.alerts.show_alerts(self.k2.fleet.alerts(), scene)
        self.rows.show_events(self._events())

    def _events(self) -> list[Event]:
        """What the app knows, and what the nodes kept of the time when nobody looked."""
        told, absence = self.k2.events_seen(), self.k2.fleet.absence()
        if absence is None or not absence.events:
            return told
        of = (len(told), told[-1] if told else None, absence)
        if of != self._joined_of:
            self._joined, self._joined_of = _with_absence(told, absence), of
        return self._joined

    def status_row(self, scene: Scene, width: int) -> Line:
        alerts = self.k2.fleet.alerts()
        holding = sum(alert.ended_at is None for alert in alerts)
        count = len(self._events())
        facts: list[Line] = [
            ((f"{holding} alert{'' if holding == 1 else 's'}", "warning" if holding else "text"),),
            ((f"{count} event{'' if count == 1 else 's'}", "text"),),
            server_counts(scene),
        ]
        return status_line(["events"], facts, scene, width, extra=self.hold_line())

    def action_app_open(self) -> None:
        wall = self.k2.clock.time()
        alert, event = self.alerts.selected, self.rows.selected
        if self.pane is self.alerts:
            if alert is not None:
                self.k2.read_lines("alert", alert_text(alert, wall))
        elif event is not None:
            head = f"{day_and_second(event.at, wall)}  {event.subject or 'k2tui'}  {event.severity.value}"
            self.k2.read_lines("event", [head, "", *event.text.splitlines()])

    def action_alert_acknowledge(self) -> None:
        """The selected alert; from the events, all that nobody has acknowledged."""
        selected = self.alerts.selected
        if self.pane is self.alerts and selected is not None:
            chosen = unseen([selected])
            said = "acknowledged" if chosen else "is acknowledged already"
            self.k2.say(f"{selected.rule} of {selected.subject} {said}")
        else:
            chosen = unseen(self.k2.fleet.alerts())
            count = f"{len(chosen)} alert{'' if len(chosen) == 1 else 's'}"
            self.k2.say(f"acknowledged {count}" if chosen else "no alert waits to be acknowledged")
        for alert in chosen:
            self.k2.fleet.acknowledge(alert)
        self.redraw()


def _with_absence(told: list[Event], absence: Absence) -> list[Event]:
    """Both, each thing once, oldest first."""
    known = {(event.at, event.subject, event.text) for event in told}
    more = [event for event in absence.events if (event.at, event.subject, event.text) not in known]
    return sorted([*told, *more], key=lambda event: event.at) if more else told

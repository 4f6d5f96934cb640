"""What happened: the whole list, with a filter."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.layout import Places
from k2tui.ui.scene import Scene
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.event_rows import EventRows
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.status_line import server_counts, status_line


class EventsScreen(MovingScreen):
    """All events, newest first."""

    HERE = EVERYWHERE
    BINDINGS = bindings(*HERE)
    SHOWN = ("find.open", "app.open", "row.copy", "screen.hold", "go.home", "app.help", "app.back")

    def make_panes(self) -> list[Pane]:
        self.rows = EventRows(id="events")
        return [self.rows]

    def arrange_panes(self, area: Region) -> Places:
        return {"events": area}

    def draw(self, scene: Scene) -> None:
        self.rows.show_events(self.k2.events_seen())

    def status_row(self, scene: Scene, width: int) -> Line:
        total = len(self.k2.events_seen())
        facts: list[Line] = [((f"{total} events", "text"),), server_counts(scene)]
        return status_line(["events"], facts, scene, width, extra=self.hold_line())

    def action_app_open(self) -> None:
        text = self.rows.row_text()
        if text:
            self.k2.read_lines("event", [text])

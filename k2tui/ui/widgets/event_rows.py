"""What happened, newest first."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from k2tui.core.events import Event, Severity
from k2tui.core.secrets import mask
from k2tui.ui import present
from k2tui.ui.spans import Line, cell, clip, joined
from k2tui.ui.widgets.lists import LazyLines
from k2tui.ui.widgets.pane import Pane

if TYPE_CHECKING:
    from k2tui.ui.app import K2App

SEVERITY_GLYPH = {Severity.INFO: "·", Severity.GOOD: "✓", Severity.WARNING: "!", Severity.BAD: "✗"}
SEVERITY_ROLE = {Severity.INFO: "muted", Severity.GOOD: "good", Severity.WARNING: "warning", Severity.BAD: "bad"}
TEXT_ROLE = {Severity.INFO: "text", Severity.GOOD: "text", Severity.WARNING: "warning", Severity.BAD: "bad"}
WIDEST_SUBJECT = 16


def day_and_second(at: float, wall: float | None) -> str:
    """`14:02:12` of today, `11-29 14:02:12` of another day; without a `wall` every time is today's."""
    if wall is not None and time.localtime(at)[:3] != time.localtime(wall)[:3]:
        return time.strftime("%m-%d %H:%M:%S", time.localtime(at))
    return present.clock_second(at)


def subject_width_of(told: Iterable[Event]) -> int:
    """Columns for whom it happened to."""
    return min(WIDEST_SUBJECT, max((len(one.subject or "k2tui") for one in told), default=5))


def event_line(event: Event, width: int, subject_width: int, wall: float | None = None) -> Line:
    """`14:02:12  ✗ gpu-d  connection refused, retry in 8 s`."""
    line: Line = (
        (day_and_second(event.at, wall), "muted"),
        ("  ", "text"),
        (f"{SEVERITY_GLYPH[event.severity]} ", SEVERITY_ROLE[event.severity]),
        cell(event.subject or "k2tui", subject_width, "muted"),
        ("  ", "text"),
        (mask(event.text.replace("\n", "; ")), TEXT_ROLE[event.severity]),
    )
    return clip(line, width)


def passes(text: str, wanted: str) -> bool:
    """Whether a text is shown under a filter; `!` in front inverts it."""
    inverted = wanted[:1] == "!"
    looked_for = wanted[1:] if wanted[:1] in ("!", "&") else wanted
    return (looked_for.casefold() in text.casefold()) != inverted if looked_for else True


def matches(event: Event, wanted: str) -> bool:
    """Whether an event is shown under a filter."""
    return passes(f"{event.subject} {event.text} {event.severity.value}", wanted)


class FilteredRows(Pane):
    """A list with a filter."""

    lists = True
    marks_when_blurred = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.wanted = ""

    @property
    def is_filtered(self) -> bool:
        """True when `esc` has something to clear here."""
        return bool(self.wanted)

    def find(self, text: str) -> None:
        """Show only the rows with this text; `!` in front inverts."""
        self.wanted = text
        self.lay_out()

    def clear_find(self) -> None:
        """Show all rows again."""
        self.find("")

    def find_next(self, step: int) -> bool:
        """A filter leaves only matches: next is the next row."""
        self.move("down" if step > 0 else "up")
        return bool(self._body)

    def found(self, shown: int, total: int) -> Line:
        """`/xid  3 of 12`."""
        return ((f"/{self.wanted}  {shown} of {total}", "text"),) if self.wanted else ()


class EventRows(FilteredRows):
    """The events list; a whole screen of it, or the last few below other panes."""

    title = "Events"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._events: Sequence[Event] = ()
        self._shown: list[Event] = []
        self._drawn: tuple[object, ...] = ()

    @property
    def selected(self) -> Event | None:
        """The event under the cursor."""
        return self._shown[self.cursor] if self.cursor < len(self._shown) else None

    def show_events(self, events: Sequence[Event]) -> None:
        """Draw these, given oldest first. The same ones again cost a few comparisons."""
        app: K2App = self.app  # type: ignore[assignment]  # Textual types it as App[Any]
        wall = app.clock.time()
        newest = events[-1] if events else None
        drawn = (len(events), newest, self.wanted, self.room, time.localtime(wall)[:3])
        if drawn == self._drawn:
            return
        here = self.selected if self.cursor else None
        self._drawn, self._events = drawn, events
        shown = self._shown = [event for event in reversed(events) if matches(event, self.wanted)]
        if here is not None and here in shown:
            self.cursor = shown.index(here)
        if not shown:
            said = "no event has this text" if self.wanted else "nothing happened yet"
            self.show([((said, "muted"),)], self.found(0, len(events)))
            return
        wide = subject_width_of(shown[:200])
        rows = LazyLines(len(shown), lambda place: event_line(shown[place], self.inner_width, wide, wall))
        self.show(rows, joined([self.found(len(shown), len(events))]))

    def lay_out(self) -> None:
        self.show_events(self._events)

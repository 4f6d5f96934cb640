"""What happened, newest first."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.events import Event, Severity
from k2tui.core.secrets import mask
from k2tui.ui import present
from k2tui.ui.spans import Line, cell, clip, joined
from k2tui.ui.widgets.pane import Pane

_GLYPH = {Severity.INFO: "·", Severity.GOOD: "✓", Severity.WARNING: "!", Severity.BAD: "✗"}
_ROLE = {Severity.INFO: "muted", Severity.GOOD: "good", Severity.WARNING: "warning", Severity.BAD: "bad"}
_TEXT_ROLE = {Severity.INFO: "text", Severity.GOOD: "text", Severity.WARNING: "warning", Severity.BAD: "bad"}


def event_line(event: Event, width: int, subject_width: int) -> Line:
    """`14:02:12  ✗ gpu-d  connection refused, retry in 8 s`."""
    line: Line = (
        (present.clock_second(event.at), "muted"),
        ("  ", "text"),
        (f"{_GLYPH[event.severity]} ", _ROLE[event.severity]),
        cell(event.subject or "k2tui", subject_width, "muted"),
        ("  ", "text"),
        (mask(event.text.replace("\n", "; ")), _TEXT_ROLE[event.severity]),
    )
    return clip(line, width)


def matches(event: Event, wanted: str) -> bool:
    """Whether an event is shown under a filter; `!` in front inverts it."""
    inverted = wanted[:1] == "!"
    text = wanted[1:] if wanted[:1] in ("!", "&") else wanted
    found = text.casefold() in f"{event.subject} {event.text} {event.severity.value}".casefold()
    return found != inverted if text else True


class EventRows(Pane):
    """The events list; a whole screen of it, or the last few below other panes."""

    title = "Events"
    lists = True
    marks_when_blurred = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.wanted = ""
        self._events: Sequence[Event] = ()

    @property
    def is_filtered(self) -> bool:
        """True when `esc` has something to clear here."""
        return bool(self.wanted)

    def find(self, text: str) -> None:
        """Show only the events with this text; `!` in front inverts."""
        self.wanted = text
        self.show_events(self._events)

    def clear_find(self) -> None:
        """Show all events again."""
        self.find("")

    def find_next(self, step: int) -> bool:
        """A filter leaves only matches: next is the next row."""
        self.move("down" if step > 0 else "up")
        return bool(self._body)

    def show_events(self, events: Sequence[Event]) -> None:
        """Draw these, given oldest first."""
        self._events = events
        shown = [event for event in reversed(events) if matches(event, self.wanted)]
        subject_width = min(16, max((len(event.subject or "k2tui") for event in shown[:200]), default=5))
        info: Line = ((f"/{self.wanted}  {len(shown)} of {len(events)}", "text"),) if self.wanted else ()
        lines = [event_line(event, self.inner_width, subject_width) for event in shown]
        self.show(lines or [(("nothing happened yet", "muted"),)], joined([info]))

    def lay_out(self) -> None:
        self.show_events(self._events)

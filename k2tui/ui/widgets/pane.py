"""A titled pane of rows that repaints only the rows that changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.color import Color
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget

from k2tui.ui.spans import Line, Span, clip, width_of
from k2tui.ui.widgets.paint import Painter

if TYPE_CHECKING:
    from k2tui.ui.app import K2App

BLACK = Color(0, 0, 0)
"""What a line filter is told of the background; ours (no colours) does not look at it."""
SIDE = 1
"""Blank columns left and right of a pane's rows."""


class Drawn(Widget):
    """A widget whose rows are lines of roles; `rows` is what stands there."""

    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._rows: list[tuple[Line, str | None]] = []
        self._room: Size | None = None
        self._ground = "background"
        self._strips: dict[int, Strip] = {}
        """Rows as they were painted; a row that changes is made again."""
        self._strips_for: tuple[int, Painter] | None = None

    def on_mount(self) -> None:
        self._ground = "surface" if self.screen.is_modal else "background"

    @property
    def room(self) -> Size:
        """The size it has, or will have once its screen is laid out: rows are made for it before."""
        return self.size if self._room is None else self._room

    def give_room(self, size: Size) -> None:
        """Make rows for this size from now on."""
        self._room = size

    def on_resize(self, event: events.Resize) -> None:
        self._room = event.size
        self.lay_out()

    def lay_out(self) -> None:
        """The size is another one: make the rows again."""

    @property
    def painter(self) -> Painter:
        """The app's brush."""
        app: K2App = self.app  # type: ignore[assignment]  # Textual types it as App[Any]
        return app.painter

    def put(self, rows: Sequence[tuple[Line, str | None]]) -> None:
        """Show these rows (line, role of the row); only those that differ from what stands there are painted."""
        old, new = self._rows, list(rows)
        self._rows = new
        height, width = self.room.height, self.room.width
        changed = [
            y
            for y in range(max(len(old), len(new)))
            if (old[y] if y < len(old) else None) != (new[y] if y < len(new) else None)
        ]
        for y in changed:
            self._strips.pop(y, None)
        seen = [Region(0, y, width, 1) for y in changed if y < height]
        if seen:
            self.refresh(*seen)

    @property
    def shown(self) -> list[str]:
        """The text of the rows, for tests and for copying."""
        return ["".join(text for text, _ in line) for line, _ in self._rows]

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows as they are: a widget without border and padding needs nothing of what styles could add."""
        strips = [self.render_line(y) for y in crop.line_range]
        for line_filter in self.app.get_line_filters():
            strips = [strip.apply_filter(line_filter, BLACK) for strip in strips]
        first, last = crop.column_span
        return strips if (first, last) == (0, self.size.width) else [strip.crop(first, last) for strip in strips]

    def render_line(self, y: int) -> Strip:
        made_for = (self.size.width, self.painter)
        if made_for != self._strips_for:
            self._strips, self._strips_for = {}, made_for
        strip = self._strips.get(y)
        if strip is None:
            line, row = self._rows[y] if y < len(self._rows) else ((), None)
            strip = self._strips[y] = self.painter.strip(line, self.size.width, row=row, ground=self._ground)
        return strip


def give_rooms(widgets: Iterable[Drawn], places: Mapping[str, Region]) -> None:
    """Tell each widget the size that it will have."""
    for widget in widgets:
        if widget.id is not None and widget.id in places:
            widget.give_room(places[widget.id].size)


class Pane(Drawn, can_focus=True):
    """Rows under a title, scrolled by `move`. A list pane also has a cursor."""

    title = ""
    lists = False
    """True: one of the rows is selected, and moving moves the selection."""
    marks_when_blurred = True
    """True: the selected row is marked also while another pane has the focus, because keys act on it."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._info: Line = ()
        self._body: Sequence[Line] = ()
        self.heading: tuple[Line, ...] = ()
        """Rows that stay under the title, such as the names of columns."""
        self.cursor = 0
        self.top_row = 0

    @property
    def page(self) -> int:
        """Rows below the title and the heading."""
        return max(1, self.room.height - 1 - len(self.heading))

    @property
    def inner_width(self) -> int:
        """Columns of a row."""
        return max(1, self.room.width - 2 * SIDE)

    def show(self, body: Sequence[Line], info: Line = ()) -> None:
        """Show these rows, and `info` at the right end of the title."""
        self._body, self._info = body, info
        self._settle()
        self._draw()

    def move(self, way: str) -> None:
        """`up`, `down`, `top`, `bottom`, `page_up`, `page_down`; any other word moves nothing."""
        steps = {"up": -1, "down": 1, "page_up": -self.page, "page_down": self.page}
        last = max(0, len(self._body) - 1)
        if self.lists:
            self.cursor = {"top": 0, "bottom": last}.get(way, self.cursor + steps.get(way, 0))
        else:
            self.top_row = {"top": 0, "bottom": last}.get(way, self.top_row + steps.get(way, 0))
        self._settle()
        self._draw()

    def row_text(self) -> str:
        """What `y` copies: the selected row, or all rows of a pane without a selection."""
        lines = self._body[self.cursor : self.cursor + 1] if self.lists else self._body
        return "\n".join("".join(text for text, _ in line).strip() for line in lines)

    def lay_out(self) -> None:
        self._settle()
        self._draw()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Its title tells; no style sheet has a say in it."""
        self._draw()

    def on_click(self, event: events.Click) -> None:
        row = self.top_row + event.y - 1 - len(self.heading)
        if self.lists and 0 <= row < len(self._body):
            self.cursor = row
            self.move("here")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self.move("down")

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self.move("up")

    def _settle(self) -> None:
        """Keep the cursor on a row and in sight."""
        last = max(0, len(self._body) - 1)
        self.cursor = min(max(0, self.cursor), last)
        if self.lists:
            self.top_row = min(self.top_row, self.cursor)
            self.top_row = max(self.top_row, self.cursor - self.page + 1)
        self.top_row = min(max(0, self.top_row), max(0, len(self._body) - self.page))

    def _draw(self) -> None:
        rows: list[tuple[Line, str | None]] = [(self._title_line(), None)]
        rows += [(((" " * SIDE, "text"), *line), None) for line in self.heading]
        seen = self._body[self.top_row : self.top_row + self.page]
        for number, line in enumerate(seen, self.top_row):
            rows.append((((" " * SIDE, "text"), *clip(line, self.inner_width)), self.row_role(number)))
        self.put(rows)

    def row_role(self, number: int) -> str | None:
        """The role of a whole row: the selected one's is the cursor's."""
        selected = self.lists and number == self.cursor and (self.has_focus or self.marks_when_blurred)
        return ("cursor" if self.has_focus else "cursor-blurred") if selected else None

    def _title_line(self) -> Line:
        focus = self.has_focus
        return title_line(self.title, self._info, self.room.width, focus=focus, more=self._more())

    def _more(self) -> str:
        """`3-12/64` when there is more than fits."""
        total = len(self._body)
        if total <= self.page:
            return ""
        return f"{self.top_row + 1}–{min(total, self.top_row + self.page)}/{total}"


def title_line(title: str, info: Line, width: int, *, focus: bool = False, more: str = "") -> Line:
    """`── Title  info ────────── 3–12/64 ──`."""
    rule = "rule-focus" if focus else "rule"
    head: list[Span] = [("──", rule), (f" {title} " if title else "", "title-focus" if focus else "title")]
    tail: list[Span] = [(f" {more} ", "muted"), ("──", rule)] if more else []
    room = width - width_of(tuple(head)) - width_of(tuple(tail)) - 3
    middle = clip(info, room) if room > 8 else ()
    if middle:
        head.extend([(" ", "text"), *middle, (" ", "text")])
    blank = width - width_of(tuple(head)) - width_of(tuple(tail))
    return (*head, ("─" * max(0, blank), rule), *tail)

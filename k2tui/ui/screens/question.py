"""A question in a box: some rows, perhaps names to type, and buttons of which the first does nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.geometry import Region, Size
from textual.widget import Widget
from textual.widgets import Input

from k2tui.ui.actions import DIALOG, bindings
from k2tui.ui.layout import Places
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.spans import Line
from k2tui.ui.widgets.frame import Button, Buttons

WIDTH = 72
WIDE = 116
EDGES = 6
"""Columns of a box that are not for text."""
Rows = Callable[[int], list[Line]]
"""The rows for so many columns."""


class QuestionDialog(Dialog):
    """It is answered with what the pressed button answers, and with None for the first one."""

    BINDINGS = bindings(*DIALOG)

    def __init__(
        self,
        title: str,
        rows: Rows,
        buttons: Sequence[Button],
        *,
        names: Sequence[str] = (),
        leave: str = "Cancel",
        width: int = WIDTH,
    ) -> None:
        """`names`: nodes whose names must be typed before anything else than leaving can be pressed."""
        self._buttons = Buttons([Button("", leave), *buttons])
        self._typed = Input(compact=True, id="name", select_on_focus=False) if names else None
        super().__init__()
        self._title, self._make_rows, self._names, self._width = title, rows, tuple(dict.fromkeys(names)), width

    def fields(self) -> list[Widget]:
        return [self._buttons] if self._typed is None else [self._typed, self._buttons]

    def box_size(self, size: Size) -> Size:
        width = min(self._width, size.width)
        rows = len(self._make_rows(width - EDGES))
        return Size(width, rows + 5 + (2 if self._typed is not None else 0))

    @property
    def _label(self) -> str:
        return "Type the node's name: " if len(self._names) == 1 else "Type the nodes' names: "

    def field_places(self, inner: Region) -> Places:
        places = {"buttons": Region(inner.x, inner.bottom - 1, inner.width, 1)}
        if self._typed is not None:
            left = len(self._label) + 2
            places["name"] = Region(inner.x + left, inner.bottom - 3, max(1, inner.width - left), 1)
        return places

    def draw(self) -> None:
        width, height = self.frame.room
        rows = self._make_rows(max(1, width - EDGES))
        room = height - 5 - (2 if self._typed is not None else 0)
        if len(rows) > room > 0:
            rows = [*rows[: room - 1], ((f"… and {len(rows) - room + 1} rows more", "muted"),)]
        rows = [(), *rows, ()]
        if self._typed is not None:
            self._typed.cursor_blink = False
            rows.append(((self._label, "text"),))
        self.frame.show(((self._title, "title-focus"),), rows)

    def on_key(self, event: events.Key) -> None:
        """A name that is typed while Cancel has the focus goes where it belongs."""
        awake = self.check_action("", ())
        if self._typed is not None and self.focused is self._buttons and awake and event.is_printable:
            event.stop()
            self.set_focus(self._typed)
            self._typed.insert_text_at_cursor(event.character or "")

    def on_input_submitted(self) -> None:
        """To the buttons, of which Cancel is the first."""
        self.action_pane_next()

    def answered(self, answer: str) -> str:
        """What the question is answered with."""
        return answer

    def pressed(self, answer: str) -> None:
        if not answer:
            self.dismiss(None)
        elif self._typed is not None and set(self._typed.value.replace(",", " ").split()) != set(self._names):
            what = "the name of the node" if len(self._names) == 1 else "the names of the nodes"
            self.k2.say(f"that is not {what}: {' '.join(self._names)}", "warning")
            self.set_focus(self._typed)
        else:
            self.dismiss(self.answered(answer))

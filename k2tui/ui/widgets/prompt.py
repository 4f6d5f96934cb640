"""One row to type in, at the bottom: a search, a command, a value."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.layout import Layout
from textual.widget import Widget
from textual.widgets import Input

from k2tui.ui.layout import PlacedLayout, Places
from k2tui.ui.spans import cells
from k2tui.ui.widgets.pane import Drawn


def type_into(field: Input, event: events.Key) -> None:
    """Do what a field does with a key that writes."""
    if event.is_printable and event.character is not None:
        field.insert_text_at_cursor(event.character)
    elif event.key == "backspace":
        field.action_delete_left()


class Field(Input):
    """A field of one row that can tell of a paste of several: Textual's own keeps the first line and says nothing."""

    def __init__(self, value: str, *, on_lines: Callable[[str], None] | None, is_secret: bool) -> None:
        super().__init__(value, compact=True, id="field", select_on_focus=False, password=is_secret)
        self._on_lines = on_lines

    def _on_paste(self, event: events.Paste) -> None:
        """Before Textual's own, which follows unless this prevents it. Terminals send a line's end as a return."""
        lines = event.text.strip().splitlines()
        if self._on_lines is not None and len(lines) > 1:
            event.stop()
            event.prevent_default()
            self._on_lines("\n".join(lines))


class Prompt(Widget):
    """A label and a field. `tab` completes, up and down go through what was typed before."""

    def __init__(
        self,
        label: str,
        *,
        value: str = "",
        on_change: Callable[[str], None] | None = None,
        on_done: Callable[[str], None],
        complete: Callable[[str], Sequence[str]] | None = None,
        history: Sequence[str] = (),
        on_lines: Callable[[str], None] | None = None,
        is_secret: bool = False,
        id: str = "prompt",
    ) -> None:
        """`on_lines` hears of a paste of several lines, which is then not put into the field."""
        super().__init__(id=id)
        self._label = label
        self._on_change, self._on_done, self._complete = on_change, on_done, complete
        self._history, self._at = list(history), len(history)
        self._ahead: list[events.Key] | None = []
        """Keys that came before the field was there; None once it is."""
        self.field = Field(value, on_lines=on_lines, is_secret=is_secret)
        self.field.cursor_blink = False
        self._text = Drawn(id="label")
        self._placed = PlacedLayout(self._places)

    @property
    def layout(self) -> Layout:
        return self._placed

    def compose(self) -> ComposeResult:
        yield self._text
        yield self.field

    def on_mount(self) -> None:
        self._text.put([(((f" {self._label}", "key"),), None)])
        self.field.focus()
        ahead, self._ahead = self._ahead or [], None
        for event in ahead:
            self.type_ahead(event)

    def type_ahead(self, event: events.Key) -> bool:
        """Take a key that reached the app: the field would have taken it, so it was pressed before that was there."""
        writes = event.is_printable or event.key == "backspace"
        if not writes and (event.key != "enter" or self.field.has_focus):
            return False
        if self._ahead is not None:
            self._ahead.append(event)
        elif writes:
            type_into(self.field, event)
        else:
            self._on_done(self.field.value)
        return True

    def complete(self) -> None:
        """Finish the word as far as it is clear."""
        if self._complete is None:
            return
        found = list(self._complete(self.field.value))
        if not found:
            return
        common = found[0]
        for other in found[1:]:
            while not other.startswith(common):
                common = common[:-1]
        if len(common) > len(self.field.value):
            self.put(common + (" " if len(found) == 1 else ""))

    def put(self, text: str) -> None:
        """Have this stand there, to be typed on."""
        self.field.value = text
        self.field.cursor_position = len(text)

    def recall(self, step: int) -> None:
        """An earlier (-1) or later (1) line."""
        if not self._history:
            return
        self._at = min(max(0, self._at + step), len(self._history))
        self.put(self._history[self._at] if self._at < len(self._history) else "")

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._on_change is not None:
            self._on_change(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._on_done(event.value)

    def _places(self, size: Size) -> Places:
        wide = cells(self._label) + 2
        return {"label": Region(0, 0, wide, 1), "field": Region(wide, 0, max(1, size.width - wide), 1)}

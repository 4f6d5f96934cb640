"""The box of a dialog, and its row of buttons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.ui.spans import Line, Span, clip, width_of
from k2tui.ui.widgets.pane import Drawn

MARGIN = 2
"""Columns between the box's edge and its rows."""


class Frame(Drawn):
    """Rows of text in a box with a title; fields lie on top of it."""

    def show(self, title: Line, rows: Sequence[Line]) -> None:
        """Show these rows; blank ones fill the box."""
        width, height = self.room
        if width < 4 or height < 2:
            return
        inner = width - 2 * MARGIN
        edge: Span = ("│", "rule-focus")
        head: list[Span] = [("┌─ ", "rule-focus"), *clip(title, width - 6), (" ", "text")]
        head.append(("─" * (width - 1 - width_of(tuple(head))) + "┐", "rule-focus"))
        drawn: list[Line] = [tuple(head)]
        for y in range(height - 2):
            row = clip(rows[y], inner) if y < len(rows) else ()
            blank = " " * (inner - width_of(row))
            drawn.append(
                (edge, (" " * (MARGIN - 1), "text"), *row, (blank, "text"), (" " * (MARGIN - 1), "text"), edge)
            )
        drawn.append((("└" + "─" * (width - 2) + "┘", "rule-focus"),))
        self.put([(line, None) for line in drawn])


@dataclass(frozen=True, slots=True)
class Button:
    """One thing that a dialog can answer."""

    answer: str
    label: str
    danger: bool = False
    off: bool = False
    """Struck out: pressing it only tells why."""
    because: str = ""
    """Why it is off, said beside it."""


class Buttons(Drawn, can_focus=True):
    """Buttons in a row; left and right choose, enter presses. The first one has the focus at the start."""

    def __init__(self, buttons: Sequence[Button], *, id: str = "buttons") -> None:
        super().__init__(id=id)
        self.buttons = list(buttons)
        self.chosen = 0

    @property
    def answer(self) -> str:
        """What enter would answer."""
        return self.buttons[self.chosen].answer

    def choose(self, step: int) -> bool:
        """Go along the row; False at its end."""
        at = self.chosen + step
        if not 0 <= at < len(self.buttons):
            return False
        self.chosen = at
        self.draw()
        return True

    def replace(self, buttons: Sequence[Button]) -> None:
        """Other buttons."""
        self.buttons = list(buttons)
        self.chosen = min(self.chosen, len(self.buttons) - 1)
        self.draw()

    def draw(self) -> None:
        """All buttons, the chosen one standing out while the row has the focus."""
        line: list[Span] = []
        for index, button in enumerate(self.buttons):
            if index:
                line.append(("  ", "text"))
            chosen = index == self.chosen and self.has_focus
            role = ("button-danger" if button.danger else "button-focus") if chosen else "button"
            if button.off:
                ends = "[]" if chosen else "  "
                line += [(f"{ends[0]} ", "text"), (button.label, "key-off"), (f" {ends[1]}", "text")]
                line += [("  ", "text"), (button.because, "bad")]
            else:
                line.append((f"[ {button.label} ]" if chosen else f"  {button.label}  ", role))
        self.put([(clip(tuple(line), max(1, self.room.width)), None)])

    def on_mount(self) -> None:
        self.draw()

    def lay_out(self) -> None:
        self.draw()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Only with the focus does a button stand out."""
        self.draw()

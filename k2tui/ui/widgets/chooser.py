"""A field with a few values to go through: left and right choose."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.ui.spans import clip
from k2tui.ui.widgets.pane import Drawn


class Chooser(Drawn, can_focus=True):
    """`‹ sweep ›`: one of some values, each with its words."""

    def __init__(self, choices: Sequence[tuple[str, str]], *, at: str | None = None, id: str) -> None:
        super().__init__(id=id)
        self.choices = list(choices)
        values = [value for value, _ in self.choices]
        self._at = values.index(at) if at in values else 0

    @property
    def value(self) -> str:
        """What is chosen; empty where there is nothing to choose."""
        return self.choices[self._at][0] if self.choices else ""

    def step(self, step: int) -> None:
        """The next value, around its end."""
        if self.choices:
            self._at = (self._at + step) % len(self.choices)
            self.draw()

    def draw(self) -> None:
        """The chosen value, between arrows while it has the focus."""
        words = self.choices[self._at][1] if self.choices else "—"
        role = "button-focus" if self.has_focus else "button"
        several = len(self.choices) > 1
        left, right = ("‹ ", " ›") if several else ("  ", "  ")
        self.put([(clip(((left, "key"), (f" {words} ", role), (right, "key")), max(1, self.room.width)), None)])

    def on_mount(self) -> None:
        self.draw()

    def lay_out(self) -> None:
        self.draw()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Only with the focus does it stand out."""
        self.draw()

"""A command as it is typed: with what a `try` may become above it, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from k2tui.core.flag_completion import Candidate, common_start
from k2tui.ui.commandline import complaint, complete_line, offers
from k2tui.ui.widgets.prompt import Prompt
from k2tui.ui.widgets.typing_help import TypingHelp, wrong_rows

if TYPE_CHECKING:
    from k2tui.ui.app import K2App
    from k2tui.ui.screens.moving import MovingScreen

MOST_ROWS = 9
"""Above the field, its title row among them."""


class CommandTyping:
    """The prompt after `:`, and the rows above it. What can't be done stays there to be corrected."""

    def __init__(self, app: K2App, screen: MovingScreen, line: str) -> None:
        self._app, self._screen = app, screen
        self._wrong: tuple[str, ...] = ()
        self.help = TypingHelp(id="typing-help")
        self.prompt = Prompt(
            ":",
            value=line,
            on_change=self._changed,
            on_done=self._done,
            complete=lambda text: complete_line(app, screen, text),
            history=app.history,
        )

    @property
    def is_wanted(self) -> bool:
        """True while there is something to show above the field."""
        return bool(self._wrong or self.help.candidates)

    @property
    def wanted_rows(self) -> int:
        """Its title row among them."""
        wrong = sum(len(wrong_rows(text, self._app.size.width)) for text in self._wrong)
        return min(MOST_ROWS, 1 + len(self.help.candidates) + wrong)

    def step(self, way: str) -> None:
        """Into the candidates and out of them again."""
        if way in ("up", "down"):
            self.help.step(way)

    def complete(self) -> bool:
        """Finish what is typed as far as it is clear, or as the arrows chose; False where nothing is offered."""
        if not self.help.candidates:
            return False
        chosen = self.help.selected
        text = chosen.text if chosen is not None else common_start(self.help.candidates)
        if len(text) > len(self.prompt.field.value) or chosen is not None:
            self.prompt.put(text)
        return True

    def _changed(self, text: str) -> None:
        self._show((), offers(self._app, self._screen, text))

    def _done(self, line: str) -> None:
        chosen = self.help.selected
        if chosen is not None and chosen.text.strip() != line.strip():
            self.prompt.put(chosen.text)
            return
        wrong = complaint(self._app, self._screen, line)
        if wrong is not None:
            self._show((wrong,), ())
            return
        self._screen.close_prompt()
        # By the app itself: an answer to a question that this field had asked would be lost with the field.
        self._app.call_later(self._app.run_line, line, self._screen)

    def _show(self, wrong: tuple[str, ...], found: Sequence[Candidate]) -> None:
        self._wrong = wrong
        self.help.say(wrong, ())
        self.help.offer(found)
        self._screen.relayout()

"""Keys of a screen whose rows can be sorted and marked."""

from __future__ import annotations

from typing import Any

from textual import events

from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.lists import KeyedRows, last_word, sort_words


class SortingScreen(MovingScreen):
    """A full screen with one list that is sorted by the letter after `o`."""

    sorting = False
    """The letter is awaited."""
    MORE_SORTS: tuple[tuple[str, str, str], ...] = (("o", "config", "Off"),)
    """Letters that do something else, what, and in short."""

    @property
    def listed(self) -> KeyedRows[Any]:
        """The list."""
        raise NotImplementedError

    def _is_listed(self) -> bool:
        """True when the list is on screen; says so when it is not."""
        if self.listed in self.visible_panes:
            return True
        self.k2.say("there is no list here to sort or mark", "warning")
        return False

    def action_rows_sort(self) -> None:
        if not self._is_listed():
            return
        self.sorting = True
        self.k2.say(sort_words(self.listed.SORTS, self.MORE_SORTS, self.size.width - 2), "text")

    def action_rows_mark(self) -> None:
        if self._is_listed():
            self.listed.mark()
            self.redraw()

    def action_rows_mark_range(self) -> None:
        if self._is_listed():
            self.listed.mark_range()
            self.redraw()

    @property
    def hears_keys(self) -> bool:
        return super().hears_keys and not self.sorting

    def on_key(self, event: events.Key) -> None:
        """The letter after `o`."""
        if not self.sorting:
            return
        self.sorting = False
        self.k2.clear_note()
        letter = event.character or ""
        if letter in self.listed.SORTS or any(letter == key for key, _, _ in self.MORE_SORTS):
            event.prevent_default()
            event.stop()
            self.listed.sort_by(letter)
            self.redraw()

    def marked_line(self) -> Line:
        """Said in the first line: how many rows are marked."""
        count = len(self.listed.marks.keys)
        return ((f"{count} marked", "key"),) if count else ()

    def find_completions(self, text: str) -> list[str]:
        """The field that is being typed, finished."""
        if self.finder() is not self.listed:
            return []
        head = text[: last_word(text)]
        return [head + name for name in self.listed.filter.fields_begun(text)]

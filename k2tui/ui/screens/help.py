"""Lists to choose from by typing: the keys of a screen, the palette, the profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Region, Size
from textual.widget import Widget
from textual.widgets import Input

from k2tui.ui.actions import bindings, handler_of
from k2tui.ui.layout import Places
from k2tui.ui.present import key_text
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.spans import Line, cell
from k2tui.ui.theme import theme_names
from k2tui.ui.widgets.frame import Button, Buttons
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.prompt import type_into

if TYPE_CHECKING:
    from k2tui.ui.app import K2App
    from k2tui.ui.screens.base import K2Screen

HERE = ("app.open", "app.back", "move.down", "move.up", "move.page_down", "move.page_up", "pane.next", "pane.previous")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row to choose."""

    answer: str
    left: str
    """A key, or a mark."""
    name: str
    meaning: str
    run: Callable[[], object] | None = None


class EntryRows(Pane):
    """The entries that match what was typed."""

    lists = True

    def __init__(self, entries: Sequence[Entry]) -> None:
        super().__init__(id="entries")
        self._all = list(entries)
        self.entries = list(entries)

    @property
    def selected(self) -> Entry | None:
        """The entry under the cursor."""
        return self.entries[self.cursor] if self.cursor < len(self.entries) else None

    def filter(self, text: str) -> None:
        """Only entries with every typed word; those whose name begins so first. `/` in front is habit, not meant."""
        words = (text[1:] if text.startswith("/") and len(text) > 1 else text).casefold().split()
        found = [e for e in self._all if all(w in f"{e.left} {e.name} {e.meaning}".casefold() for w in words)]
        found.sort(key=lambda e: not (words and e.name.casefold().startswith(words[0])))
        self.entries, self.cursor = found, 0
        self.lay_out()

    def lay_out(self) -> None:
        width = self.inner_width
        left = min(14, max((len(e.left) for e in self._all), default=1))
        name = min(24, max((len(e.name) for e in self._all), default=1))
        lines: list[Line] = [
            (
                cell(e.left, left, "key"),
                ("  ", "text"),
                cell(e.name, name, "strong"),
                ("  ", "text"),
                cell(e.meaning, width - left - name - 4, "muted"),
            )
            for e in self.entries
        ]
        self.show(lines or [(("nothing of that name", "muted"),)], ((f"{len(self.entries)}", "muted"),))


class ChooseScreen(Dialog):
    """A list with a field to type in. `enter` takes the selected entry."""

    HERE = HERE
    DEAF_S = 0.0
    BINDINGS = bindings(*HERE)

    def __init__(self, title: str, entries: Sequence[Entry], *, at: str = "") -> None:
        self.field = Input(compact=True, placeholder="type to find", id="find")
        self.field.cursor_blink = False
        self.list = EntryRows(entries)
        self._hidden = Buttons([Button("", "Close")])
        super().__init__()
        self._title_text = title
        self._ahead: list[events.Key] | None = []
        """Keys that came before the field was there; None once it is."""
        answers = [entry.answer for entry in entries]
        self.list.cursor = answers.index(at) if at in answers else 0

    def fields(self) -> list[Widget]:
        return [self.field, self.list, self._hidden]

    def began(self) -> None:
        self.set_focus(self.field)
        ahead, self._ahead = self._ahead or [], None
        for event in ahead:
            type_into(self.field, event)

    def type_ahead(self, event: events.Key) -> bool:
        """Keys that write and reached the app were pressed before the field was there."""
        if not (event.is_printable or event.key == "backspace"):
            return False
        if self._ahead is None:
            type_into(self.field, event)
        else:
            self._ahead.append(event)
        return True

    def box_size(self, size: Size) -> Size:
        return Size(min(100, size.width - 2), min(size.height - 2, len(self.list._all) + 6, 40))

    def field_places(self, inner: Region) -> Places:
        return {
            "find": Region(inner.x, inner.y, inner.width, 1),
            "entries": Region(inner.x, inner.y + 1, inner.width, inner.height - 1),
        }

    def draw(self) -> None:
        self.frame.show(((self._title_text, "title-focus"),), [])

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.list.filter(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_app_open()

    def action_app_open(self) -> None:
        entry = self.list.selected
        if entry is None:
            return
        self.dismiss(entry.answer)
        if entry.run is not None:
            self.app.call_later(entry.run)

    def pressed(self, answer: str) -> None:
        self.dismiss(None)

    def action_move_down(self) -> None:
        self.list.move("down")

    def action_move_up(self) -> None:
        self.list.move("up")

    def action_move_page_down(self) -> None:
        self.list.move("page_down")

    def action_move_page_up(self) -> None:
        self.list.move("page_up")

    def action_pane_next(self) -> None:
        self.list.move("down")

    def action_pane_previous(self) -> None:
        self.list.move("up")


def _entries(app: K2App, screen: K2Screen | None, ids: Iterable[str]) -> list[Entry]:
    entries = []
    for action_id in ids:
        action = app.actions[action_id]
        run = None if screen is None else getattr(screen, f"action_{handler_of(action_id)}", None)
        keys = " ".join(key_text(key) for key in action.keys)
        entries.append(Entry(action.id, keys, f":{action.word}", action.meaning, run))
    return entries


def help_screen(app: K2App, screen: K2Screen) -> ChooseScreen:
    """The keys of this screen; `enter` does what the selected one does."""
    return ChooseScreen("Keys of this screen", _entries(app, screen, _shown_first(screen)))


def _shown_first(screen: K2Screen) -> list[str]:
    """The actions of a screen, those of its last line in front."""
    return [*screen.SHOWN, *(action_id for action_id in screen.HERE if action_id not in screen.SHOWN)]


def keys_help(app: K2App, where: str, ids: Sequence[str]) -> ChooseScreen:
    """The keys of a dialog, to read."""
    return ChooseScreen(f"Keys of {where}", _entries(app, None, ids))


def palette_screen(app: K2App, screen: K2Screen) -> ChooseScreen:
    """Every action of this screen, every server, every theme."""
    entries = _entries(app, screen, _shown_first(screen))
    for server in app.fleet.servers():
        name = server.settings.name
        entries.append(Entry(name, "", name, f"server on {server.settings.node}", _going(app, name)))
    for theme in theme_names():
        entries.append(Entry(theme, "", theme, "theme", _theming(app, theme)))
    return ChooseScreen("Palette", entries)


def _going(app: K2App, name: str) -> Callable[[], object]:
    return lambda: app.go_server(name)


def _theming(app: K2App, name: str) -> Callable[[], object]:
    return lambda: app.use_theme(name)


def choose_screen(title: str, names: Sequence[str], at: str) -> ChooseScreen:
    """One of some names."""
    return ChooseScreen(title, [Entry(name, "", name, "") for name in names], at=at)

"""Keys that hold on every full screen: moving, finding, going elsewhere, copying."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual import events

from k2tui.ui.screens.base import K2Screen

if TYPE_CHECKING:
    from k2tui.ui.widgets.prompt import Prompt


@runtime_checkable
class Findable(Protocol):
    """A pane that can be searched or filtered."""

    @property
    def is_filtered(self) -> bool: ...
    def find(self, text: str) -> None: ...
    def clear_find(self) -> None: ...
    def find_next(self, step: int) -> bool: ...


@runtime_checkable
class FindsWhileTyping(Protocol):
    """A pane whose filter has words that mean nothing before they are typed to their end."""

    def find_while_typing(self, text: str) -> None: ...


class Moves:
    """The moving keys, each as one word to `_move`."""

    def _move(self, way: str) -> None:
        raise NotImplementedError

    def action_move_down(self) -> None:
        self._move("down")

    def action_move_up(self) -> None:
        self._move("up")

    def action_move_top(self) -> None:
        self._move("top")

    def action_move_bottom(self) -> None:
        self._move("bottom")

    def action_move_page_down(self) -> None:
        self._move("page_down")

    def action_move_page_up(self) -> None:
        self._move("page_up")


class MovingScreen(Moves, K2Screen):
    """A full screen with the keys of the column "Anywhere"."""

    def finder(self) -> Findable | None:
        """What `/` works on: the focused pane when it can, else the log."""
        for pane in (self.pane, self.log_pane, *self.visible_panes):
            if isinstance(pane, Findable):
                return pane
        return None

    # ---- moving

    def _move(self, way: str) -> None:
        if self.prompt is not None:
            if self.typing is not None and self.typing.is_wanted:
                self.typing.step(way)
            elif way in ("up", "down"):
                self.prompt.recall(-1 if way == "up" else 1)
            return
        pane = self.pane or self.first_pane()
        pane.move(way)
        self.moved()

    def moved(self) -> None:
        """The cursor may be on another row now."""

    def on_click(self) -> None:
        self.moved()

    def action_move_left(self) -> None:
        self._move("left")

    def action_move_right(self) -> None:
        self._move("right")

    def action_pane_next(self) -> None:
        if self.prompt is None:
            self.focus_step(1)
        elif self.typing is None or not self.typing.complete():
            self.prompt.complete()

    def action_pane_previous(self) -> None:
        if self.prompt is None:
            self.focus_step(-1)

    def action_pane_zoom(self) -> None:
        self.zoomed = not self.zoomed
        self.relayout()

    def action_screen_hold(self) -> None:
        self.toggle_hold()

    # ---- typing

    def open_prompt(self, prompt: Prompt) -> None:
        """Put a prompt in the place of the keys."""
        if self.prompt is not None:
            return
        self._before_prompt = self.pane
        self.prompt = prompt
        self.mount(prompt)
        if self.typing is not None:
            self.mount(self.typing.help)
        self.relayout()

    def close_prompt(self) -> None:
        """The keys come back."""
        if self.prompt is None:
            return
        prompt, self.prompt = self.prompt, None
        prompt.remove()
        if self.typing is not None:
            typing, self.typing = self.typing, None
            typing.help.remove()
        self.set_focus(self._before_prompt or self.first_pane())
        self.relayout()

    def type_ahead(self, event: events.Key) -> bool:
        """Keys that came before the prompt had the focus are for the prompt."""
        return self.prompt is not None and event.key != "escape" and self.prompt.type_ahead(event)

    def action_find_open(self) -> None:
        from k2tui.ui.widgets.prompt import Prompt  # noqa: PLC0415  not needed for the first paint

        target = self.finder()
        if target is None:
            self.k2.say("nothing to search here", "warning")
            return

        def done(text: str) -> None:
            self.close_prompt()
            target.find(text)

        typed = target.find_while_typing if isinstance(target, FindsWhileTyping) else target.find
        self.open_prompt(Prompt("/", on_change=typed, on_done=done, complete=self.find_completions))

    def find_completions(self, text: str) -> list[str]:
        """Whole filters that begin as typed; none where any text may be searched."""
        return []

    def action_find_next(self) -> None:
        self._find(1)

    def action_find_previous(self) -> None:
        self._find(-1)

    def _find(self, step: int) -> None:
        target = self.finder()
        if target is not None and not target.find_next(step):
            self.k2.say("nothing found", "warning")

    def action_app_command(self) -> None:
        self.open_command()

    def open_command(self, line: str = "") -> None:
        """Have a command typed that begins so."""
        from k2tui.ui.command_typing import CommandTyping  # noqa: PLC0415  not needed for the first paint

        if self.prompt is None:
            self.typing = CommandTyping(self.k2, self, line)
            self.open_prompt(self.typing.prompt)

    # ---- going

    def action_app_open(self) -> None:
        """In: what it means is the screen's."""

    def action_app_back(self) -> None:
        if self.prompt is not None:
            target = self.finder()
            self.close_prompt()
            if target is not None:
                target.clear_find()
            return
        if self.k2.note is not None and self.k2.note.role != "text":
            self.k2.clear_note()
        target = self.finder()
        if target is not None and target.is_filtered:
            target.clear_find()
        elif self.zoomed:
            self.action_pane_zoom()
        else:
            self.leave()

    def leave(self) -> None:
        """There is nothing left to take back here."""
        self.k2.go_back()

    def action_app_quit(self) -> None:
        self.k2.exit()

    def action_app_help(self) -> None:
        self.k2.show_help(self)

    def action_app_palette(self) -> None:
        self.k2.show_palette(self)

    def action_go_home(self) -> None:
        self.k2.go_home()

    def action_go_events(self) -> None:
        self.k2.go_events()

    def action_go_benches(self) -> None:
        server = self.chosen_server
        self.k2.go_benches(None if server is None else server.settings.name)

    def action_go_gpus(self) -> None:
        self.open_gpus()

    def open_gpus(self, wanted: str = "") -> None:
        """All GPUs of all nodes, perhaps only those that pass a filter."""
        from k2tui.ui.screens.gpus import GpusScreen  # noqa: PLC0415  not needed for the first paint

        if isinstance(self, GpusScreen):
            self.rows.find(wanted)
        else:
            self.k2.push_screen(GpusScreen(wanted))

    # ---- copying

    def action_row_copy(self) -> None:
        pane = self.pane or self.first_pane()
        self.k2.copy(pane.row_text(), "the row")

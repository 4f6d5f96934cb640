"""A dialog in which something can be typed at the bottom, with what it may become above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual import events
from textual.app import ComposeResult
from textual.geometry import Region, Size

from k2tui.core.flag_completion import Candidate, common_start
from k2tui.ui.layout import Places
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.screens.moving import Moves
from k2tui.ui.widgets.prompt import Prompt
from k2tui.ui.widgets.typing_help import TypingHelp

Taken = Callable[[str], str | None]
"""Takes a typed line; gives what is wrong with it, and then it stays there to be corrected."""
MOST_HELP, LEAST_HELP = 10, 6


class TypingDialog(Moves, Dialog):
    """A dialog with a prompt of its own. What was typed is lost only by `esc`."""

    def __init__(self) -> None:
        super().__init__()
        self.prompt: Prompt | None = None
        self.typing_help = TypingHelp(id="typing-help")
        self._candidates: Callable[[str], Sequence[Candidate]] = lambda _text: ()
        self._taken: Taken = lambda _text: None
        self._told: Sequence[str] = ()
        self._refused: str | None = None
        """What stood there when it was refused: what is wrong is said until something else stands there."""

    def compose(self) -> ComposeResult:
        yield from super().compose()
        yield self.typing_help

    def _places(self, size: Size) -> Places:
        places = dict(super()._places(Size(size.width, size.height - 1)))
        bottom = Region(0, size.height - 1, size.width, 1)
        if self.prompt is None:
            return {**places, self.last_line: bottom}
        height = MOST_HELP if size.height >= 30 else LEAST_HELP
        frame = places["frame"]
        above = Region(frame.x, size.height - 1 - height, frame.width, height)
        return {**places, "prompt": bottom, "typing-help": above}

    @property
    def last_line(self) -> str:
        """The id of what stands at the bottom while nothing is typed."""
        raise NotImplementedError

    def typed_into(self) -> None:
        """The field is closed; the focus goes back."""
        raise NotImplementedError

    # ---- asking

    def ask(
        self,
        label: str,
        value: str,
        taken: Taken,
        *,
        told: Iterable[str] = (),
        candidates: Callable[[str], Sequence[Candidate]] | None = None,
        takes_lines: bool = False,
        is_secret: bool = False,
    ) -> None:
        """Have a line typed. `told` stands above it; `takes_lines`: a paste of several lines is taken as it is."""
        if self.prompt is not None:
            return
        self._taken, self._told, self._refused = taken, tuple(told), None
        self._candidates = candidates or (lambda _text: ())
        self.prompt = Prompt(
            label,
            value=value,
            on_change=self._changed,
            on_done=self._done,
            on_lines=self._take if takes_lines else None,
            is_secret=is_secret,
        )
        self.typing_help.say((), self._told)
        self.typing_help.offer(self._candidates(value))
        self.mount(self.prompt)
        self.lay_out()

    def _changed(self, text: str) -> None:
        if text != self._refused:
            self._refused = None
            self.typing_help.say((), self._told)
        self.typing_help.offer(self._candidates(text))

    def _done(self, text: str) -> None:
        chosen = self.typing_help.selected
        if chosen is not None and chosen.text.strip() != text.strip():
            if chosen.text.endswith((" ", "=")):
                self._put(chosen.text)
                return
            text = chosen.text
        self._take(text)

    def _take(self, text: str) -> None:
        wrong = self._taken(text)
        if wrong is None:
            self.close_prompt()
        elif self.prompt is not None:
            self._refused = self.prompt.field.value
            self.typing_help.say((wrong,), self._told)

    def _put(self, text: str) -> None:
        if self.prompt is not None:
            self.prompt.put(text)

    def complete(self) -> None:
        """Finish what is typed as far as it is clear, or as the arrows chose."""
        if self.prompt is None:
            return
        chosen, found = self.typing_help.selected, self.typing_help.candidates
        if chosen is not None:
            self._put(chosen.text)
            return
        typed = self.prompt.field.value.lstrip()
        begun = [one for one in found if one.text.startswith(typed)] or [
            one for one in found if one.text.lstrip("-").startswith(typed.lstrip("-"))
        ]
        start = common_start(begun)
        if len(start.lstrip("-")) > len(typed.lstrip("-")) or (len(begun) == 1 and start != typed):
            self._put(start)
        elif len(found) == 1:
            self._put(found[0].text)

    def close_prompt(self) -> None:
        """The keys come back."""
        if self.prompt is not None:
            prompt, self.prompt = self.prompt, None
            prompt.remove()
            self.typed_into()

    def type_ahead(self, event: events.Key) -> bool:
        """Keys that came before the prompt had the focus are for the prompt."""
        return self.prompt is not None and event.key != "escape" and self.prompt.type_ahead(event)

    # ---- keys

    def action_pane_next(self) -> None:
        if self.prompt is not None:
            self.complete()
        else:
            super().action_pane_next()

    def action_pane_previous(self) -> None:
        if self.prompt is None:
            super().action_pane_previous()

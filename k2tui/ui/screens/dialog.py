"""What every dialog has: Cancel first, a moment of deafness, and fields to go through."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.layout import Layout
from textual.screen import ModalScreen
from textual.widget import Widget

from k2tui.ui.actions import DIALOG
from k2tui.ui.layout import PlacedLayout, Places
from k2tui.ui.widgets.frame import Buttons, Frame
from k2tui.ui.widgets.pane import Drawn, give_rooms

if TYPE_CHECKING:
    from k2tui.ui.app import K2App


class Dialog(ModalScreen[str | None], inherit_bindings=False):
    """A box over the screen. It is answered with None for no, else with the confirmation."""

    AUTO_FOCUS = ""
    DEAF_S: ClassVar[float] = 0.3
    """Keys in the first moment were meant for the screen before."""
    HERE: ClassVar[tuple[str, ...]] = DIALOG

    def __init__(self) -> None:
        super().__init__()
        self._placed = PlacedLayout(self._places)
        self.frame = Frame(id="frame")
        self.deaf_until: float | None = None

    @property
    def k2(self) -> K2App:
        """The app, by its own type."""
        app: K2App = self.app  # type: ignore[assignment]  # Textual types it as App[Any]
        return app

    # ---- what a subclass says

    def fields(self) -> list[Widget]:
        """What `tab` goes through; the last is the row of buttons."""
        raise NotImplementedError

    def box_size(self, size: Size) -> Size:
        """How large the box wants to be."""
        raise NotImplementedError

    def field_places(self, inner: Region) -> Places:
        """Where the fields go inside of the box."""
        raise NotImplementedError

    def draw(self) -> None:
        """Fill the frame."""
        raise NotImplementedError

    def pressed(self, answer: str) -> None:
        """A button was pressed."""
        raise NotImplementedError

    @property
    def buttons(self) -> Buttons:
        """The row of buttons."""
        row = self.fields()[-1]
        assert isinstance(row, Buttons)
        return row

    # ---- how it lives

    @property
    def layout(self) -> Layout:
        return self._placed

    def lay_out(self) -> None:
        """Place the fields again, and fill the frame for where they go."""
        self.frame.refresh(layout=True)
        give_rooms(self.query(Drawn), self._places(self.app.size))
        self.draw()

    def compose(self) -> ComposeResult:
        yield self.frame
        yield from self.fields()

    def on_mount(self) -> None:
        self.deaf_until = self.k2.clock.monotonic() + self.DEAF_S
        self.began()
        self.lay_out()

    def began(self) -> None:
        """Set the focus: on Cancel."""
        self.set_focus(self.buttons)

    def on_resize(self) -> None:
        self.lay_out()

    def _places(self, size: Size) -> Places:
        wanted = self.box_size(size)
        width, height = min(wanted.width, size.width), min(wanted.height, size.height)
        box = Region((size.width - width) // 2, (size.height - height) // 2, width, height)
        return {"frame": box, **self.field_places(box.shrink((1, 2, 1, 2)))}

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """In its first moment nothing acts: also keys that were on their way when it opened come from before."""
        return self.deaf_until is not None and self.k2.clock.monotonic() >= self.deaf_until

    def action_app_open(self) -> None:
        if self.focused is self.buttons:
            self.pressed(self.buttons.answer)
        else:
            self.action_pane_next()

    def action_app_back(self) -> None:
        self.dismiss(None)

    def action_pane_next(self) -> None:
        self._step(1)

    def action_pane_previous(self) -> None:
        self._step(-1)

    def _step(self, step: int) -> None:
        if self.focused is self.buttons and self.buttons.choose(step):
            return
        ring = self.fields()
        at = ring.index(self.focused) if self.focused in ring else -1
        target = ring[(at + step) % len(ring)]
        if target is self.buttons:
            self.buttons.chosen = 0 if step > 0 else len(self.buttons.buttons) - 1
        self.set_focus(target)

    def action_move_left(self) -> None:
        if self.focused is self.buttons:
            self.buttons.choose(-1)

    def action_move_right(self) -> None:
        if self.focused is self.buttons:
            self.buttons.choose(1)

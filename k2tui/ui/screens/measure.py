"""The dialog that offers everything that can be measured, each with what it costs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from textual.app import ComposeResult
from textual.geometry import Region, Size
from textual.widget import Widget
from textual.widgets import Input

from k2tui.core.benching.matrix import cost_sentence
from k2tui.core.errors import K2Error
from k2tui.core.views import ServerView
from k2tui.ui.actions import DIALOG, bindings
from k2tui.ui.bench_plans import (
    CACHE_WORDS,
    DEFAULT_ARGS,
    DEFAULT_LENGTHS,
    DEFAULT_STREAMS,
    HELP,
    BadField,
    bench_plan,
    cost_words,
    count_of,
)
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.layout import Places
from k2tui.ui.measuring import others_on
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.screens.question import EDGES
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.chooser import Chooser
from k2tui.ui.widgets.frame import Button, Buttons

WIDTH = 92
LABEL = 16
MATRIX = "matrix:"
FIELDS: dict[str, tuple[str, ...]] = {
    "quick": ("tokens", "repeats", "cache"),
    "sweep": ("streams", "tokens", "hold", "cache"),
    "prefill": ("lengths", "repeats", "cache"),
    "full": ("args",),
    "ab": ("profile-a", "profile-b", "restarts", "leave"),
    "matrix": (),
}
"""By what is measured: the fields that it has."""
LABELS = {
    "what": "measure",
    "tokens": "max tokens",
    "repeats": "repeats",
    "cache": "prefix cache",
    "streams": "streams",
    "hold": "seconds a point",
    "lengths": "prompt tokens",
    "args": "arguments",
    "profile-a": "profile A",
    "profile-b": "profile B",
    "restarts": "restarts of each",
    "leave": "leave it",
}
MOST_FIELDS = max(map(len, FIELDS.values()))
NOTES = 5
"""Rows for help, cost and what is wrong."""
MOVES = ("move.down", "move.up")


class MeasureDialog(Dialog):
    """Cancel has the focus; arrows and `tab` go through the fields, left and right choose."""

    HERE: ClassVar[tuple[str, ...]] = (*DIALOG, *MOVES)
    BINDINGS: ClassVar = bindings(*HERE)

    def __init__(self, fleet: FleetLike, name: str) -> None:
        self.fleet, self.name_of_server = fleet, name
        settings = fleet.settings
        view = self._seen = fleet.server(name)
        matrices = [one for one in settings.matrices.values() if one.server == name]
        kinds = [
            ("quick", "quick figure"),
            ("sweep", "sweep over streams"),
            ("prefill", "prefill slope"),
            ("full", "full run (sglang.bench_serving)"),
        ]
        profiles = [(profile, profile) for profile in settings.profiles]
        if view.found is None and len(profiles) > 1:
            kinds.append(("ab", "A/B of two profiles"))
            kinds += [(f"{MATRIX}{one.name}", f"matrix {one.name}") for one in matrices]
        mine = view.settings.profile
        other = next((profile for profile, _ in profiles if profile != mine), None)
        self.what = Chooser(kinds, id="what")
        self.widgets: dict[str, Chooser | Input] = {
            "tokens": _input("tokens", "256"),
            "repeats": _input("repeats", "3"),
            "cache": Chooser(CACHE_WORDS, id="cache"),
            "streams": _input("streams", DEFAULT_STREAMS),
            "hold": _input("hold", "30"),
            "lengths": _input("lengths", DEFAULT_LENGTHS),
            "args": _input("args", DEFAULT_ARGS),
            "profile-a": Chooser(profiles, at=mine, id="profile-a"),
            "profile-b": Chooser(profiles, at=other, id="profile-b"),
            "restarts": _input("restarts", "3"),
            "leave": Chooser((("as-found", "as it was found"), ("best", "on the best one")), id="leave"),
        }
        self._buttons = Buttons([Button("", "Cancel"), Button("go", "Measure")])
        super().__init__()
        self._said = ""
        """What is wrong with what stands there."""

    # ---- fields

    @property
    def kind(self) -> str:
        """What is to be measured; `matrix` for any matrix."""
        value = self.what.value
        return "matrix" if value.startswith(MATRIX) else value

    def fields(self) -> list[Widget]:
        return [self.what, *(self.widgets[name] for name in FIELDS[self.kind]), self._buttons]

    def compose(self) -> ComposeResult:
        yield self.frame
        yield self.what
        yield from self.widgets.values()
        yield self._buttons

    def box_size(self, size: Size) -> Size:
        return Size(min(WIDTH, size.width), MOST_FIELDS + NOTES + 9)

    def field_places(self, inner: Region) -> Places:
        places = {"buttons": Region(inner.x, inner.bottom - 1, inner.width, 1)}
        left = LABEL + 1
        for row, name in enumerate(("what", *FIELDS[self.kind])):
            places[name] = Region(inner.x + left, inner.y + 1 + row, max(1, inner.width - left), 1)
        return places

    # ---- drawing

    def draw(self) -> None:
        width, _ = self.frame.room
        inner = max(1, width - EDGES)
        rows: list[Line] = [()]
        for name in ("what", *FIELDS[self.kind]):
            rows.append(((f"{LABELS[name]:<{LABEL}}", "muted"),))
        rows += [()] * (MOST_FIELDS - len(FIELDS[self.kind]) + 1)
        rows += [((text, "muted"),) for text in wrapped(HELP[self.kind], inner, 2)]
        rows += self._cost(inner)
        rows += [()] * (MOST_FIELDS + NOTES + 4 - len(rows))
        rows.append((("↑ ↓ field   ← → choose   enter press   esc cancel", "muted"),))
        self.frame.show(((f"Measure {self.name_of_server} on {self._view.settings.node}", "title-focus"),), rows)
        for widget in self.widgets.values():
            if isinstance(widget, Input):
                widget.cursor_blink = False
        danger = self.kind in ("ab", "matrix")
        self._buttons.replace([Button("", "Cancel"), Button("go", "Look at the plan" if danger else "Measure")])

    @property
    def _view(self) -> ServerView:
        with suppress(K2Error):  # one that somebody else started may be gone: what was seen last stays
            self._seen = self.fleet.server(self.name_of_server)
        return self._seen

    def _cost(self, width: int) -> list[Line]:
        if self._said:
            return [((text, "bad"),) for text in wrapped(self._said, width, 2)]
        try:
            said = self._cost_words()
        except (BadField, K2Error) as error:
            return [((text, "bad"),) for text in wrapped(str(error), width, 3)]
        lines: list[Line] = [((text, "strong"),) for text in wrapped(said, width, 2)]
        if self.kind in ("ab", "matrix"):
            return [*lines, (("The whole plan is shown before anything is done.", "text"),)]
        running = others_on(self._view, self.k2.clock.monotonic(), self.k2.measured_until.get(self.name_of_server))
        if running:
            lines.append(((f"{running} requests of clients run on it now: gate G2 will be red.", "warning"),))
        return lines

    def _cost_words(self) -> str:
        typed, name = self._typed(), self.name_of_server
        if self.kind == "matrix":
            return cost_sentence(self.fleet.plan_matrix(self.what.value.removeprefix(MATRIX)))
        if self.kind == "ab":
            profiles, restarts = self._ab(typed)
            return cost_sentence(self.fleet.plan_ab(name, profiles, restarts=restarts, leave=typed["leave"]))
        return cost_words(bench_plan(self.kind, typed), self._view)

    def _ab(self, typed: dict[str, str]) -> tuple[tuple[str, str], int]:
        """The two profiles, and restarts of each."""
        profiles = (typed["profile-a"], typed["profile-b"])
        if profiles[0] == profiles[1]:
            raise BadField("profile A and profile B are the same")
        return profiles, count_of(typed["restarts"], "restarts", 100)

    def _typed(self) -> dict[str, str]:
        return {name: widget.value for name, widget in self.widgets.items()}

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._said = ""
        if self.is_mounted:
            self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_pane_next()

    # ---- keys

    def action_move_left(self) -> None:
        self._choose(-1)

    def action_move_right(self) -> None:
        self._choose(1)

    def _choose(self, step: int) -> None:
        focused = self.focused
        if not isinstance(focused, Chooser):
            super().action_move_left() if step < 0 else super().action_move_right()
            return
        focused.step(step)
        self._said = ""
        self.lay_out()

    def action_move_down(self) -> None:
        self._go(1)

    def action_move_up(self) -> None:
        self._go(-1)

    def _go(self, step: int) -> None:
        """To the next field; the row of buttons is one."""
        ring = self.fields()
        at = ring.index(self.focused) if self.focused in ring else -1
        target = ring[(at + step) % len(ring)]
        if target is self._buttons:
            self._buttons.chosen = 0
        self.set_focus(target)

    # ---- go

    def pressed(self, answer: str) -> None:
        if not answer:
            self.dismiss(None)
            return
        name, typed, kind = self.name_of_server, self._typed(), self.kind
        try:
            if kind == "ab":
                profiles, restarts = self._ab(typed)
                self._then(lambda: self.k2.ask_ab(name, profiles, restarts=restarts, leave=typed["leave"]))
            elif kind == "matrix":
                matrix = self.what.value.removeprefix(MATRIX)
                self._then(lambda: self.k2.ask_matrix(matrix))
            else:
                plan = bench_plan(kind, typed)
                self._then(lambda: self.k2.measure(name, plan))
        except (BadField, K2Error) as error:
            self._said = str(error)
            self.draw()

    def _then(self, act: Callable[[], None]) -> None:
        """Do it once this dialog is gone; what is refused is said on the last line."""
        app = self.k2

        def run() -> None:
            try:
                act()
            except K2Error as error:
                app.fail(error)

        self.dismiss("go")
        app.call_later(run)


def _input(name: str, value: str) -> Input:
    return Input(value, compact=True, select_on_focus=False, id=name)

"""What a look at every effect of a server's flags has shown, as it goes on."""

from __future__ import annotations

from typing import ClassVar

from textual.geometry import Region, Size
from textual.widget import Widget

from k2tui.core import words
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.verbs import VerbEvent
from k2tui.ui.actions import DIALOG, bindings
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.layout import Places
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.screens.question import EDGES, WIDE
from k2tui.ui.spans import Line, wrapped
from k2tui.ui.widgets.effect_rows import effect_lines, engine_lines
from k2tui.ui.widgets.frame import Button, Buttons

_AROUND = 5
"""Rows of the box that are not for text."""


class VerifyDialog(Dialog):
    """Each effect with its outcome, and what it cost. Closing it ends only the looking at it."""

    BINDINGS: ClassVar = bindings(*DIALOG)

    def __init__(self, fleet: FleetLike, name: str) -> None:
        self._buttons = Buttons([Button("", "Close")])
        super().__init__()
        self.fleet, self.name_of_server = fleet, name
        self._last: VerbEvent | None = None
        self._trouble: str | None = None

    def fields(self) -> list[Widget]:
        return [self._buttons]

    def box_size(self, size: Size) -> Size:
        width = min(WIDE, size.width)
        return Size(width, len(self._rows(width - EDGES, size.height - _AROUND)) + _AROUND)

    def field_places(self, inner: Region) -> Places:
        return {"buttons": Region(inner.x, inner.bottom - 1, inner.width, 1)}

    def heard(self, event: VerbEvent) -> None:
        """One more step of the look."""
        self._last = event
        self._draw_again()

    def failed(self, error: K2Error) -> None:
        """It could not be looked at."""
        self._trouble = str(error)
        self._draw_again()

    def _draw_again(self) -> None:
        if self.is_mounted:
            self.lay_out()

    def draw(self) -> None:
        width, height = self.frame.room
        rows: list[Line] = [(), *self._rows(max(1, width - EDGES), height - _AROUND)]
        self.frame.show(((f"Verify {self.name_of_server}", "title-focus"),), rows)

    def _rows(self, width: int, room: int) -> list[Line]:
        """All effects in as many rows each as there is room for."""
        if self._trouble is not None:
            return [((text, "bad"),) for text in wrapped(self._trouble, width, 4)]
        last = self._last
        if last is None or last.exit_code is None:
            said = "asking the server" if last is None else last.text
            return [((f"{said} …", "phase-loading"),)]
        view = self.fleet.server(self.name_of_server)
        proof = view.proof
        role = "good" if last.exit_code is ExitCode.DONE else "bad"
        rows: list[Line] = [((text, role),) for text in wrapped(last.text, width, 2)]
        if proof is None:
            return rows
        tokens = words.UNKNOWN if proof.tokens is None else f"{proof.tokens} tokens"
        rows += [((f"spent {tokens} in {words.duration(proof.elapsed_s)}", "muted"),), *engine_lines(view, width), ()]
        for most in (3, 2, 1):
            effects = effect_lines(proof.effects, width, most=most)
            if len(rows) + len(effects) <= room:
                return [*rows, *effects]
        kept = max(0, room - len(rows) - 1)
        more = f"… {len(effects) - kept} more; the description of {self.name_of_server} lists them all"
        return [*rows, *effects[:kept], ((more, "muted"),)]

    def pressed(self, answer: str) -> None:
        self.dismiss(None)

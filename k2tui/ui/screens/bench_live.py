"""A benchmark that goes on, in a small dialog: the figure so far, requests and gates as they come."""

from __future__ import annotations

from typing import ClassVar

from textual.geometry import Region, Size
from textual.widget import Widget

from k2tui.core.benching.live import BenchLive
from k2tui.core.benching.words import PROCEDURE_WORDS
from k2tui.core.errors import K2Error
from k2tui.core.views import ServerView
from k2tui.core.words import duration
from k2tui.ui import present
from k2tui.ui.actions import DIALOG, bindings
from k2tui.ui.bench_notes import outcome
from k2tui.ui.fleetlike import FleetLike
from k2tui.ui.layout import Places
from k2tui.ui.measuring import Measuring
from k2tui.ui.screens.dialog import Dialog
from k2tui.ui.screens.question import EDGES
from k2tui.ui.spans import Line, clip, wrapped
from k2tui.ui.widgets.bench_cells import base_parts, live_figure
from k2tui.ui.widgets.bench_detail import figure_lines, gate_lines, has_points, point_lines
from k2tui.ui.widgets.frame import Button, Buttons

WIDTH, HEIGHT, LEAST_HEIGHT = 92, 26, 16
LOOK_S = 0.5
"""Between two looks at a benchmark that somebody else makes."""
_AROUND = 5
"""Rows of the box that are not for text."""
_ROLES = {"gate": "text", "note": "warning", "clients": "warning", "point": "text"}


class BenchDialog(Dialog):
    """`esc` lets it go on; Stop ends it."""

    BINDINGS: ClassVar = bindings(*DIALOG)

    def __init__(self, fleet: FleetLike, name: str, one: Measuring | None) -> None:
        """`one`: what this app measures; None: it is measured by somebody else, or by a series."""
        self._buttons = Buttons([Button("", "Close"), *_more(one)])
        super().__init__()
        self.fleet, self.name_of_server, self.one = fleet, name, one

    def fields(self) -> list[Widget]:
        return [self._buttons]

    def box_size(self, size: Size) -> Size:
        width = min(WIDTH, size.width)
        rows = len(self._rows(width - EDGES, HEIGHT)) + _AROUND
        return Size(width, min(max(LEAST_HEIGHT, rows), size.height))

    def field_places(self, inner: Region) -> Places:
        return {"buttons": Region(inner.x, inner.bottom - 1, inner.width, 1)}

    def began(self) -> None:
        super().began()
        if self.one is not None:
            self.one.hears = self.look
        self.set_interval(LOOK_S, self.look)

    def on_unmount(self) -> None:
        if self.one is not None:
            self.one.hears = None

    def look(self) -> None:
        """Draw what is known now."""
        if self.is_mounted:
            self._buttons.replace([Button("", "Close"), *_more(self.one)])
            self.lay_out()

    @property
    def _view(self) -> ServerView | None:
        try:
            return self.fleet.server(self.name_of_server)
        except K2Error:  # one that somebody else started is gone
            return None

    def draw(self) -> None:
        width, height = self.frame.room
        room = height - _AROUND
        rows = self._rows(max(1, width - EDGES), room)
        self.frame.show(((f"Benchmark of {self.name_of_server}", "title-focus"),), [(), *rows[:room]])

    def _rows(self, width: int, room: int) -> list[Line]:
        one, view = self.one, self._view
        live = None if view is None else view.bench
        if one is not None and one.result is not None:
            return self._measured(one, width)
        if one is not None and one.is_over:
            return [((text, "bad"),) for text in wrapped(one.trouble or "it gave no result", width, 6)]
        if live is None:
            said = "it is over" if one is None else "reaching the server …"
            return [((said, "muted"),)]
        head = self._live_rows(live, width)
        return [*head, *self._steps(width, min(room, LEAST_HEIGHT - _AROUND) - len(head))]

    def _live_rows(self, live: BenchLive, width: int) -> list[Line]:
        figure = live_figure(live)
        gone = duration(max(0.0, self.k2.clock.monotonic() - live.began_at))
        head: Line = ((figure, "strong"), (" so far", "muted")) if figure else (("no figure yet", "muted"),)
        rows: list[Line] = [head]
        word = PROCEDURE_WORDS[live.procedure]
        said = f"{word}, {live.text}, {gone}, {present.number(live.tokens)} tokens"
        rows.append(clip(((said, "text"),), width))
        if live.fraction is not None:
            filled, rest = present.bar(live.fraction, width - 6)
            rows.append(((filled, "bar"), (rest, "bar-rest"), (f" {present.percent(live.fraction):>5}", "text")))
        view = self._view
        base = () if view is None else base_parts(view)
        if base:
            rows.append(clip(base[:2], width))
        return [*rows, ()]

    def _steps(self, width: int, room: int) -> list[Line]:
        """What it told, the newest at the bottom."""
        if self.one is None:
            return [(("It is not measured from here, so it can't be stopped here.", "muted"),)]
        lines: list[Line] = []
        for event in self.one.events:
            role = _ROLES.get(event.type, "muted")
            when = f"{event.elapsed_s:6.1f} s  "
            first, *more = wrapped(event.text, width - len(when), 2) or [""]
            lines.append(((when, "muted"), (first, role)))
            lines += [((" " * len(when), "text"), (part, role)) for part in more]
        return lines[-room:] if room > 0 else []

    def _measured(self, one: Measuring, width: int) -> list[Line]:
        assert one.result is not None
        text, role = outcome(one.result)
        rows: list[Line] = [((part, role),) for part in wrapped(text, width, 3)]
        several = has_points(one.result)
        figures = point_lines(one.result.points, width) if several else figure_lines(one.result, width)
        return [*rows, (), *figures, (), *gate_lines(one.result, width)]

    def pressed(self, answer: str) -> None:
        if answer == "stop":
            self.k2.stop_bench(self.name_of_server)
        elif answer == "open":
            self.dismiss(None)
            self.k2.go_benches(self.name_of_server)
        else:
            self.dismiss(None)


def _more(one: Measuring | None) -> list[Button]:
    if one is None:
        return []
    return [Button("open", "All benchmarks")] if one.is_over else [Button("stop", "Stop it", danger=True)]

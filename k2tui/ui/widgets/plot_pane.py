"""One quantity over time as a pane, and the list of what happened meanwhile."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.secrets import mask
from k2tui.core.series import Annotation, Samples, SeriesKey
from k2tui.ui.plotted import Plot, curve_samples, value_at
from k2tui.ui.spans import Line, cell, clip, joined
from k2tui.ui.widgets.pane import SIDE, Pane
from k2tui.ui.widgets.plot import BLOCKS, BRAILLE, CURVE_KEYS, CURVE_ROLES, GUTTER, SEVEN_BITS, Flag, Marks, plot_lines
from k2tui.ui.widgets.plot_scale import Scale, scale_for
from k2tui.ui.widgets.time_axis import Window, axis_line, moment_words

FLAG_ROLES: Mapping[str, str] = {"restart": "changed", "end": "log-error", "alert": "warning", "absent": "stale"}
MOST_FLAGS = 99
"""As many happenings are drawn in, the newest ones; their numbers have two figures."""


@dataclass(frozen=True, slots=True, eq=False)
class Past:
    """What was read of the time that is shown."""

    window: Window
    known: Mapping[SeriesKey, Samples]
    happened: tuple[Annotation, ...] = ()
    live: bool = True
    """It ends now."""

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What happened, numbered from the oldest one on."""
        return tuple(
            Flag(one.at, number, FLAG_ROLES.get(one.kind, "muted")) for number, one in enumerate(self.happened, 1)
        )


class PlotPane(Pane):
    """The lines of one plot; its title says the figures of now, or those under the cursor."""

    def __init__(self, plot_id: str) -> None:
        super().__init__(id=plot_id)
        self.plot: Plot | None = None
        self.past: Past | None = None
        self.cursor_at: float | None = None
        """Unix time that the cursor stands on; None: now."""
        self.with_axis = False
        self.said: Line = ()
        """What stands there while nothing can be drawn."""
        self.has_figures = False
        """Something of it was recorded in the time that is shown."""
        self._curves: list[Samples | None] = []
        self._scale: Scale | None = None
        self._drawn: tuple[object, ...] = ()

    @property
    def columns(self) -> int:
        """Cells of the time axis."""
        return max(1, self.inner_width - GUTTER)

    def take(self, plot: Plot, past: Past) -> None:
        """Other figures; `show_plot` draws them."""
        self.plot, self.past = plot, past
        self._curves = [curve_samples(curve, past.known) for curve in plot.curves]
        self.has_figures = any(one is not None and any(v is not None for v in one.mean) for one in self._curves)

    def show_plot(self, *, cursor: float | None, with_axis: bool, said: Line = ()) -> None:
        """Draw it, if it would look otherwise than it does."""
        self.cursor_at, self.with_axis, self.said = cursor, with_axis, said
        key = (self.past, self.plot, cursor, with_axis, said, self.room)
        if key == self._drawn and self._body:
            return
        self._drawn = key
        self.title = "" if self.plot is None else self.plot.title
        self.show(self._plotted(), self._figures())

    def lay_out(self) -> None:
        if self.plot is not None:
            self.show_plot(cursor=self.cursor_at, with_axis=self.with_axis, said=self.said)

    def move(self, way: str) -> None:
        """Its cursor is the screen's: all plots have one time axis."""

    def row_text(self) -> str:
        """What `y` copies: title and figures."""
        figures = "".join(text for text, _ in self._figures())
        return f"{self.title}  {figures}"

    def _draw(self) -> None:
        """As any pane does; the lines fit, so none is looked at again."""
        side = (" " * SIDE, "text")
        rows: list[tuple[Line, str | None]] = [(self._title_line(), None)]
        rows += [((side, *line), None) for line in self._body[: self.page]]
        self.put(rows)

    def _marks(self) -> Marks:
        """How the dots are drawn: the console of a machine itself has no braille in its font."""
        if self.painter.ascii_only:
            return SEVEN_BITS
        return BLOCKS if os.environ.get("TERM") == "linux" else BRAILLE

    def _plotted(self) -> list[Line]:
        plot, past = self.plot, self.past
        if plot is None or past is None:
            return [self.said] if self.said else []
        axis: list[Line] = []
        rows = self.page
        if self.with_axis and rows > 2:
            axis = [axis_line(past.window, self.columns, GUTTER, cursor=self.cursor_at, live=past.live)]
            rows -= 1
        if not self.has_figures:
            text: Line = self.said or (("nothing was recorded in this time", "muted"),)
            self._scale = None
            blank: list[Line] = [()] * rows
            blank[(rows - 1) // 2] = clip(((" " * GUTTER, "text"), *text), self.inner_width)
            return [*blank, *axis]
        values = [value for curve in self._curves if curve is not None for value in (curve.high or curve.mean)]
        self._scale = scale_for(plot.kind, values, rows, floor=plot.floor, top=plot.top)
        lines = plot_lines(
            self._curves,
            past.window,
            self._scale,
            self.inner_width,
            rows,
            marks=self._marks(),
            flags=past.flags,
            cursor=self.cursor_at,
        )
        return [*lines, *axis]

    def _figures(self) -> Line:
        """`━ running 12  ╌ queue 3`, of now or of the cursor's time, with the unit and the greatest of one line."""
        plot, past, scale = self.plot, self.past, self._scale
        if plot is None or past is None or scale is None:
            return ()
        at = past.window.until if self.cursor_at is None else self.cursor_at
        several = len(plot.curves) > 1
        parts: list[Line] = []
        for index, (curve, samples) in enumerate(zip(plot.curves, self._curves, strict=True)):
            value, low, high = (None, None, None) if samples is None else value_at(samples, at)
            role = CURVE_ROLES[index]
            head: Line = ((f"{CURVE_KEYS[index]} {curve.label} ", role),) if several else ()
            name: Line = ((f"{curve.label} ", "muted"),) if curve.label and not several else ()
            figure: Line = ((scale.words(value), "strong"),)
            band: Line = ()
            if low is not None and high is not None and scale.words(low) != scale.words(high):
                band = ((f"  {scale.words(low, unit=False)}–{scale.words(high)}", "muted"),)
            parts.append((*head, *name, *figure, *band))
        if not several and self._curves[0] is not None and self.cursor_at is None:
            curve_top = max((v for v in self._curves[0].high or self._curves[0].mean if v is not None), default=None)
            parts.append((("most ", "muted"), (scale.words(curve_top, unit=False), "text")))
        return joined(parts)


class HappenedRows(Pane):
    """What happened in the time that is shown, newest first, under the numbers that it has in the plots."""

    title = "Happened"
    lists = True
    marks_when_blurred = False

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._shown: tuple[Annotation, ...] = ()

    @property
    def selected(self) -> Annotation | None:
        """What the cursor stands on."""
        return self._shown[self.cursor] if self.cursor < len(self._shown) else None

    def show_past(self, past: Past) -> None:
        """Draw them."""
        self._shown = tuple(reversed(past.happened))
        total = len(self._shown)
        lines = [happened_line(one, total - place, past.window.span_s) for place, one in enumerate(self._shown)]
        legend: Line = (("░", "rule"), (" nobody recorded", "muted"))
        self.show(lines or [(("nothing is known to have happened in this time", "muted"),)], legend)


def happened_line(one: Annotation, number: int, span_s: float) -> Line:
    """`2  13:58:02  kimi  restart: +NCCL_PROTO=LL`."""
    return (
        cell(str(number), 2, FLAG_ROLES.get(one.kind, "muted"), right=True),
        (f"  {moment_words(one.at, span_s)}  ", "muted"),
        (one.subject.partition("/")[2] or one.subject, "muted"),
        ("  ", "text"),
        (mask(one.text.replace("\n", "; ")), "text"),
    )


def flags_within(annotations: Sequence[Annotation], subjects: frozenset[str]) -> tuple[Annotation, ...]:
    """Those of these subjects, oldest first, at most as many as are drawn."""
    return tuple(one for one in annotations if one.subject in subjects)[-MOST_FLAGS:]

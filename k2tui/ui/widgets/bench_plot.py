"""The plot beside the benchmarks: of sweeps throughput against speed, else how the figure went over time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.benching.result import BenchPoint, BenchResult
from k2tui.core.series import Annotation
from k2tui.ui.spans import Line, joined
from k2tui.ui.widgets import bench_cells as shown
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.plot import BLOCKS, BRAILLE, CURVE_ROLES, GUTTER, SEVEN_BITS, Marks
from k2tui.ui.widgets.plot_scale import Scale, scale_for
from k2tui.ui.widgets.time_axis import Window, axis_line
from k2tui.ui.widgets.xy_plot import Point, Upright, x_axis, xy_lines

LEAST_SPAN_S = 600.0
MOST_CURVES = len(CURVE_ROLES)
_GLYPHS = ("●", "○", "◆")
"""How the points of several sweeps differ without colours."""
_COLUMNS_A_TICK = 12


@dataclass(frozen=True, slots=True)
class Went:
    """The same figure of one server over time."""

    results: tuple[BenchResult, ...]
    happened: tuple[Annotation, ...] = ()
    until: float = 0.0
    """Unix time at which the plot ends."""


def curve_of(result: BenchResult) -> list[tuple[BenchPoint, float, float]]:
    """(point, tok/s of one stream, total tok/s) of each concurrency of which both are known, fewest streams first."""
    curve = []
    for point in sorted(result.points, key=lambda one: one.c):
        steady = point.steady and point.agg_tps_steady is not None
        total = point.agg_tps_steady if steady else point.agg_tps_total
        if total is not None and point.decode_tps is not None:
            curve.append((point, point.decode_tps, total))
    return curve


def is_curve(result: BenchResult) -> bool:
    """It has concurrencies enough for a curve."""
    return len(curve_of(result)) > 1


def same_figures(result: BenchResult, every: Sequence[BenchResult]) -> tuple[BenchResult, ...]:
    """All of the same server with the same kind of figure, oldest first."""
    whose = shown.figure_of(result)[1]
    mine = [one for one in every if one.subject == result.subject and shown.figure_of(one)[1] == whose]
    return tuple(sorted(mine, key=lambda one: one.began_at))


class BenchPlotPane(Pane):
    """What it shows is the screen's: curves of sweeps, or one figure over time."""

    title = "Plot"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._sweeps: tuple[BenchResult, ...] = ()
        self._went: Went | None = None
        self._chosen: BenchResult | None = None
        self._drawn: tuple[object, ...] = ()

    def show_sweeps(self, sweeps: Sequence[BenchResult]) -> None:
        """Throughput against speed, one curve for each of these."""
        self._sweeps, self._went = tuple(sweeps[:MOST_CURVES]), None
        self.lay_out()

    def show_went(self, went: Went, chosen: BenchResult) -> None:
        """One figure over time, with restarts drawn in."""
        self._sweeps, self._went, self._chosen = (), went, chosen
        self.lay_out()

    def show_nothing(self) -> None:
        """There is no benchmark."""
        self._sweeps, self._went = (), None
        self.lay_out()

    def lay_out(self) -> None:
        key = (self._sweeps, self._went, self._chosen, self.room)
        if key == self._drawn:
            return
        self._drawn = key
        if self._sweeps:
            self._draw_sweeps()
        elif self._went is not None and self._chosen is not None:
            self._draw_went(self._went, self._chosen)
        else:
            self.title = "Plot"
            self.show([])

    def _marks(self) -> Marks:
        if self.painter.ascii_only:
            return SEVEN_BITS
        return BLOCKS if os.environ.get("TERM") == "linux" else BRAILLE

    @property
    def _columns(self) -> int:
        return max(1, self.inner_width - GUTTER)

    # ---- sweeps

    def _draw_sweeps(self) -> None:
        self.title = "Throughput"
        curves = [(sweep, curve_of(sweep)) for sweep in self._sweeps]
        rows = max(1, self.page - 2)
        ys = scale_for("tokens", [total for _, curve in curves for _, _, total in curve], rows)
        ticks = 3 * max(1, self._columns // _COLUMNS_A_TICK) - 1
        xs = scale_for("tokens", [one for _, curve in curves for _, one, _ in curve], ticks)
        several = len(curves) > 1
        points: list[Point] = []
        for number, (_, curve) in enumerate(curves):
            for point, one, total in curve:
                role, glyph = CURVE_ROLES[number], _GLYPHS[number] if several else "●"
                label = f"c={point.c}"
                points.append(Point(one / xs.top, total, label, role, glyph, line=number))
        lines = xy_lines(points, ys, self.inner_width, rows, marks=self._marks())
        lines += x_axis(_ticks(xs), self.inner_width)
        info: Line = (("tok/s: up of all streams, right of one", "muted"),)
        if several:
            names = [
                ((f"{_GLYPHS[number]} ", CURVE_ROLES[number]), (shown.when_words(sweep.began_at), "text"))
                for number, (sweep, _) in enumerate(curves)
            ]
            info = joined([*names, info])
        self.show(lines, info)

    # ---- over time

    def _draw_went(self, went: Went, chosen: BenchResult) -> None:
        whose = shown.figure_of(chosen)[1]
        self.title = chosen.subject
        known = [
            (one, one.slope.prefill_tps if whose == "prefill" and one.slope else one.headline) for one in went.results
        ]
        figures = [(one, value) for one, value in known if value is not None]
        if not figures or not whose:
            self.show([(("no figure of it is known", "muted"),)])
            return
        began = min(one.began_at for one, _ in figures)
        span = max(LEAST_SPAN_S, (went.until - began) * 1.04)
        window = Window(went.until - span, went.until)
        rows = max(1, self.page - 1)
        scale = scale_for("tokens", [value for _, value in figures], rows)
        points = [self._point(one, value, window, chosen) for one, value in figures]
        uprights = [
            Upright((one.at - window.since) / window.span_s, "", "changed")
            for one in went.happened
            if window.since <= one.at <= window.until
        ]
        lines = xy_lines(points, scale, self.inner_width, rows, marks=self._marks(), uprights=uprights)
        lines.append(axis_line(window, self._columns, GUTTER))
        restarts: Line = ((f"│ {len(uprights)} restart{'' if len(uprights) == 1 else 's'}", "muted"),)
        red = any(not one.valid for one, _ in figures)
        flagged: Line = (("✗", "bad"), (" red", "muted")) if red else ()
        base: Line = (("◆", "key"), (" base", "muted")) if any(one.is_base for one, _ in figures) else ()
        self.show(lines, joined([((f"tok/s {whose}", "text"),), base, flagged, restarts if uprights else ()]))

    def _point(self, one: BenchResult, value: float, window: Window, chosen: BenchResult) -> Point:
        x = (one.began_at - window.since) / window.span_s
        here = one.bench_id == chosen.bench_id
        label = shown.tps(value) if here or one.is_base else ""
        if not one.valid:
            return Point(x, value, label, "bad", "✗", line=None)
        if one.is_base:
            return Point(x, value, label, "key", "◆")
        return Point(x, value, label, "strong" if here else "bar")


def _ticks(scale: Scale) -> list[tuple[float, str]]:
    return [(value / scale.top, label) for value, label in scale.ticks()]

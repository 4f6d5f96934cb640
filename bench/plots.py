"""Plots and sparklines: what one redraw costs, beside what is published of the libraries that could do it."""

from __future__ import annotations

import asyncio
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.figures import Figure
from bench.processes import InTerminal, environment

PANES, POINTS = 4, 600
COLUMNS, ROWS = 200, 50
REDRAWS = 40
PLOTEXT_MS, TEXTUAL_PLOT_MS = 188.0, 99.0
"""CPU of one redraw of one plot of 600 points in a terminal of 200×50, by the share of a core that both took at one
redraw a second (18.8 % and 9.9 %, Textual 8.2.8, Python 3.11)."""
REDRAW_LIMIT_MS = 80.0
SPARKLINES = 64
SPARKLINE_LIMIT_US = 60.0
KEPT_LIMIT_US = 2.0


def figures() -> Iterator[Figure]:
    """A redraw of all panes with new figures, in an app in a terminal; and a column of sparklines."""
    yield from _sparklines()
    program = [sys.executable, "-m", "bench.plots"]
    with (
        tempfile.TemporaryDirectory() as folder,
        InTerminal(program, environment(Path(folder)), columns=COLUMNS, rows=ROWS) as app,
    ):
        app.wait_for(rb"ready")
        spent, began = app.cpu_s(), app.size
        app.press("g")
        app.wait_for(rb"done")
        redraw_ms = (app.cpu_s() - spent) * 1000 / REDRAWS
        written = (app.size - began) / REDRAWS
    what = f"redraw of {PANES} plots of {POINTS} points"
    yield Figure(what, redraw_ms, "CPU-ms", REDRAW_LIMIT_MS)
    yield Figure(f"{what}, to the terminal", written, "bytes")
    for name, cost_ms in (("plotext", PLOTEXT_MS), ("textual-plot", TEXTUAL_PLOT_MS)):
        note = f"one plot {cost_ms:.0f} ms, as published"
        yield Figure(f"times cheaper a plot than {name}", cost_ms / (redraw_ms / PANES), "×", note=note)
    yield Figure("live plots, every 5 s", redraw_ms / 5000 * 100, "% of a core")


def _sparklines() -> Iterator[Figure]:
    from k2tui.ui.widgets.sparkline import sparkline

    rows = [tuple(abs(math.sin(row + point / 9)) * 1200 for point in range(150)) for row in range(SPARKLINES)]
    new = kept = math.inf
    for _ in range(20):
        fresh = [tuple(value + 1 for value in row) for row in rows]
        new, kept = min(new, _cost_us(fresh, sparkline)), min(kept, _cost_us(fresh, sparkline))
    yield Figure("sparkline of 150 figures in 20 cells", new, "CPU-µs", SPARKLINE_LIMIT_US)
    yield Figure("the same figures again", kept, "CPU-µs", KEPT_LIMIT_US)


def _cost_us(rows: list[tuple[float, ...]], draw: Callable[[tuple[float, ...], int], object]) -> float:
    began = time.process_time()
    for row in rows:
        draw(row, 20)
    return (time.process_time() - began) / len(rows) * 1e6


def _app() -> Any:
    """Panes in a grid of two columns; `g` redraws them as often as is measured, each time with other figures."""
    from textual.app import App, ComposeResult
    from textual.binding import Binding
    from textual.geometry import Region, Size
    from textual.widget import Widget
    from textual.widgets import Static

    from k2tui.core.series import Quantity, Samples, SeriesKey
    from k2tui.ui.layout import PlacedLayout
    from k2tui.ui.plotted import Curve, Plot
    from k2tui.ui.theme import Palette, load_theme
    from k2tui.ui.widgets.paint import Painter
    from k2tui.ui.widgets.plot_pane import Past, PlotPane
    from k2tui.ui.widgets.time_axis import Window

    keys = tuple(SeriesKey(f"gpu/n/{index}", Quantity.GPU_LOAD) for index in range(2))
    plot = Plot(
        "plot", "Load", "percent", tuple(Curve(f"gpu {index}", (key,)) for index, key in enumerate(keys)), 0, 100
    )

    def past(number: int) -> Past:
        until = 1_796_047_200.0 + 5 * number
        made = {}
        for place, key in enumerate(keys):
            mean = tuple(55 + 30 * math.sin((point + 5 * number) / 40 + place) for point in range(POINTS))
            low, high = tuple(value - 6 for value in mean), tuple(value + 6 for value in mean)
            made[key] = Samples(key, until - 5 * POINTS, 5.0, mean, low, high)
        return Past(Window(until - 5 * POINTS, until), made)

    class Panes(Widget):
        def compose(self) -> ComposeResult:
            for index in range(PANES):
                yield PlotPane(f"p{index}")

        @property
        def layout(self) -> PlacedLayout:
            return PlacedLayout(self._where)

        @staticmethod
        def _where(size: Size) -> dict[str, Region]:
            width, height = size.width // 2, size.height // 2
            return {
                f"p{index}": Region(index % 2 * width, index // 2 * height, width, height) for index in range(PANES)
            }

    class Plots(App[None]):
        CSS = "Panes { height: 1fr; } Static { height: 1; }"
        BINDINGS = [Binding("g", "redraw", "redraw")]  # noqa: RUF012  Textual's way to say it

        def __init__(self) -> None:
            super().__init__()
            self.painter = Painter(Palette(load_theme("k2-dark")), ascii_only=False)
            self.pasts = [past(number) for number in range(REDRAWS + 1)]

        def compose(self) -> ComposeResult:
            yield Panes()
            yield Static("", id="said")

        def on_ready(self) -> None:
            self.draw(0)
            self.set_timer(1, lambda: self.say("ready"))

        def say(self, text: str) -> None:
            self.query_one("#said", Static).update(text)

        def draw(self, number: int) -> None:
            for pane in self.query(PlotPane):
                pane.take(plot, self.pasts[number])
                pane.show_plot(cursor=None, with_axis=True)

        async def action_redraw(self) -> None:
            self.run_worker(self._redraws())

        async def _redraws(self) -> None:
            for number in range(1, REDRAWS + 1):
                self.draw(number)
                await asyncio.sleep(0.05)  # one frame each
            self.say("done")

    return Plots()


if __name__ == "__main__":
    _app().run()

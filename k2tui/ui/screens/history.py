"""How it went: the readings of a server or a node over minutes to days, with restarts drawn in."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Region

from k2tui.core.errors import K2Error
from k2tui.core.pace import Shown
from k2tui.core.views import NodeView, ServerView
from k2tui.ui import present
from k2tui.ui.actions import EVERYWHERE, SERVER, bindings
from k2tui.ui.layout import GUTTER, Places
from k2tui.ui.plotted import NODE_PLOTS, SERVER_PLOTS, Plot, node_plots, server_plots, subjects_of
from k2tui.ui.scene import Scene
from k2tui.ui.screens.serving import ServerKeysScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.plot_pane import HappenedRows, Past, PlotPane, flags_within
from k2tui.ui.widgets.status_line import status_line
from k2tui.ui.widgets.time_axis import SPANS, Window, moment_words, span_word, window_words

PLOT = ("plot.shorter", "plot.longer")
"""Where readings are plotted."""
REFRESH_S = 5.0
"""Between two looks while the window ends now; a window whose steps are longer needs fewer."""
SLOWEST_S = 60.0
KEPT_S = SPANS[-1][0]
"""Nothing older is kept."""
MOST_STEPS = 600
LEAST_STEP_S = 2.0
"""A probe tells no faster."""
TWO_COLUMNS = 110
"""Columns of a screen from which plots stand side by side."""
LEAST_ROWS, LEAST_ROWS_ALONE = 7, 12
"""Rows of a pane, side by side and below each other; where fewer are left, some panes wait for `tab`."""


class HistoryScreen(ServerKeysScreen):
    """The plots of one server, or of a node."""

    HERE = (*EVERYWHERE, *SERVER, *PLOT)
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "plot.shorter",
        "plot.longer",
        "move.left",
        "move.right",
        "move.bottom",
        "move.page_up",
        "pane.next",
        "pane.zoom",
        "row.copy",
        "app.help",
        "app.back",
    )

    def __init__(self, name: str, *, is_node: bool = False) -> None:
        super().__init__()
        self.name_of_subject, self.is_node = name, is_node
        self.span = 1
        """Which of the spans is shown."""
        self.until: float | None = None
        """Unix time at which the window ends; None: now."""
        self.cursor: float | None = None
        """Unix time under the cursor; None: now."""
        self.past: Past | None = None
        self.trouble: str | None = None
        """Why the last look gave nothing."""
        self.is_loading = False
        self._is_asking = False
        self._asked_at = 0.0
        self._steps = 0
        self._due_s = REFRESH_S

    # ---- panes

    def make_panes(self) -> list[Pane]:
        self.plots = {name: PlotPane(name) for name in (NODE_PLOTS if self.is_node else SERVER_PLOTS)}
        self.happened = HappenedRows(id="happened")
        return [*self.plots.values(), self.happened]

    @property
    def chosen_server(self) -> ServerView | None:
        return None if self.scene is None or self.is_node else self.scene.server(self.name_of_subject)

    @property
    def chosen_node(self) -> str | None:
        if self.is_node:
            return self.name_of_subject
        server = self.chosen_server
        return None if server is None else server.settings.node

    @property
    def _node(self) -> NodeView | None:
        name = self.chosen_node
        return None if name is None or self.scene is None else self.scene.node(name)

    def _wanted(self) -> tuple[Plot, ...]:
        server, node = self.chosen_server, self._node
        if server is not None:
            return server_plots(server, node)
        return () if node is None else node_plots(node)

    @property
    def drawn_plots(self) -> list[PlotPane]:
        """Panes that have something to show; all of them as long as none has."""
        told = [pane for pane in self.plots.values() if pane.has_figures]
        return told or list(self.plots.values())

    @property
    def silent_plots(self) -> list[str]:
        """Titles of those that have nothing, once some have."""
        told = self.drawn_plots
        return [pane.title for pane in self.plots.values() if pane not in told]

    def arrange_panes(self, area: Region) -> Places:
        plots = self.drawn_plots
        count = 0 if self.past is None else len(self.past.happened)
        listed = min(count + 1, 6 if area.height >= 40 else 3) if count else 0
        across = 2 if area.width >= TWO_COLUMNS and len(plots) > 1 else 1
        room = area.height - listed
        fit = max(1, room // (LEAST_ROWS if across > 1 else LEAST_ROWS_ALONE)) * across
        page = max(0, plots.index(self.pane) // fit) if isinstance(self.pane, PlotPane) and self.pane in plots else 0
        shown = plots[page * fit : (page + 1) * fit]
        down = -(-len(shown) // across)
        has_hole = listed > 0 and len(shown) < down * across
        room = area.height if has_hole else room
        names = [pane.id or "" for pane in shown] + ["happened"] * has_hole
        places: dict[str, Region] = {}
        width = (area.width - GUTTER * (across - 1)) // across
        for place, name in enumerate(names):
            row, column = divmod(place, across)
            top, bottom = room * row // down, room * (row + 1) // down
            places[name] = Region(area.x + column * (width + GUTTER), area.y + top, width, bottom - top)
        if listed and not has_hole:
            places["happened"] = Region(area.x, area.y + room, area.width, listed)
        return places

    def focus_step(self, step: int) -> None:
        """To the next plot, also to one that had no room."""
        ring: list[Pane] = [*self.drawn_plots]
        if self.past is not None and self.past.happened:
            ring.append(self.happened)
        at = ring.index(self.pane) if self.pane in ring else -1
        self.set_focus(ring[(at + step) % len(ring)])
        self.relayout()

    def draw(self, scene: Scene) -> None:
        said: Line = ()
        if self.trouble is not None:
            said = ((self.trouble, "bad"),)
        elif self.past is None or self.is_loading:
            said = (("loading …", "muted"),)
        if self.past is None:
            for plot in self._wanted():
                self.plots[plot.id].title = plot.title
        shown = self._shown_places
        for name, pane in self.plots.items():
            if name in shown:
                place = shown[name]
                below = [other for key, other in shown.items() if key in self.plots and other.x == place.x]
                pane.show_plot(cursor=self.cursor, with_axis=all(place.y >= other.y for other in below), said=said)
        if not self._is_asking and (self.past is None or self._steps < 2 * self._wanted_steps() // 3):
            self._look()

    def looked_at(self, scene: Scene) -> Shown:
        server, node = self.chosen_server, self.chosen_node
        servers = frozenset() if server is None else frozenset({server.settings.name})
        name = None if server is None else server.settings.name
        return Shown(frozenset() if node is None else frozenset({node}), servers, server=name)

    def status_row(self, scene: Scene, width: int) -> Line:
        server, node = self.chosen_server, self.chosen_node
        place = [name for name in (None if self.is_node else node, self.name_of_subject, "history") if name]
        window = self.window
        facts: list[Line] = []
        if server is not None:
            glyph, role = present.STATUS_GLYPH[server.status], present.STATUS_ROLE[server.status]
            facts.append(((f"{glyph} {server.status.value.upper()}", role),))
        facts.append(((f"{span_word(window.span_s)} ", "strong"), (f" {window_words(window)}", "text")))
        if self.trouble is not None:
            facts.append(((self.trouble, "bad"),))
        elif self.is_loading:
            facts.append((("loading …", "phase-loading"),))
        if self.cursor is not None:
            facts.append((("at ", "muted"), (moment_words(self.cursor, window.span_s), "strong")))
        silent = self.silent_plots
        if silent:
            facts.append(((f"nothing recorded of {', '.join(silent)}", "muted"),))
        return status_line(place, facts, scene, width, extra=self.hold_line())

    def _labels(self) -> dict[str, str]:
        labels = {"move.left": "cursor", "move.right": "cursor", "move.bottom": "now", "move.page_up": "back in time"}
        return {**super()._labels(), **labels, "app.open": "cursor there"}

    def shown_now(self) -> tuple[str, ...]:
        return ("app.open", *self.SHOWN) if self.pane is self.happened else self.SHOWN

    # ---- the window

    @property
    def window(self) -> Window:
        """What is asked for now."""
        until = self.k2.clock.time() if self.until is None else self.until
        return Window(until - SPANS[self.span][0], until)

    @property
    def _columns(self) -> int:
        """Cells of the time axis of the widest pane."""
        return max((pane.columns for pane in self.plots.values() if pane.id in self._shown_places), default=1)

    def _wanted_steps(self) -> int:
        """As many as a plot has dots, and no more than there were readings."""
        return max(2, min(MOST_STEPS, 2 * self._columns, int(SPANS[self.span][0] / LEAST_STEP_S)))

    def pulse(self, fleet_revision: int, ticks: float) -> bool:
        """As every screen does; and look again when what is shown ends now and is old."""
        is_still = self.past is None or self.held or not self.attached or self._is_asking or self.until is not None
        if not is_still and self.k2.clock.monotonic() - self._asked_at >= self._due_s:
            self._look()
        return super().pulse(fleet_revision, ticks)

    def _look(self, *, said: bool = False) -> None:
        """Ask the store, beside the keys; `said` when the operator waits for it."""
        window, steps = self.window, self._wanted_steps()
        self._steps = steps
        self._asked_at, self._is_asking = self.k2.clock.monotonic(), True
        self._due_s = min(SLOWEST_S, max(REFRESH_S, window.span_s / steps / 2))
        self.is_loading = self.is_loading or said or self.past is None
        plots = self._wanted()
        self.run_worker(self._ask(plots, window, steps), group="past", exclusive=True, exit_on_error=False)

    async def _ask(self, plots: Sequence[Plot], window: Window, steps: int) -> None:
        fleet = self.k2.fleet
        keys = tuple(dict.fromkeys(key for plot in plots for curve in plot.curves for key in curve.keys))
        trouble: str | None = None
        try:
            samples = await fleet.past(keys, window.since, window.until, steps)
            happened = await fleet.annotations(window.since, window.until)
        except K2Error as error:
            trouble = str(error)
        except Exception as error:  # whatever a store throws: the screen stays, and says what it was
            trouble = f"the history can't be read: {type(error).__name__}: {error}"
        if trouble is None:
            mine = flags_within(happened, subjects_of(self.chosen_server, self._node))
            self._take(plots, Past(window, {one.key: one for one in samples}, mine, self.until is None))
        self.trouble, self.is_loading, self._is_asking = trouble, False, False
        if self.past is None and trouble is not None:
            self.past = Past(window, {})
        self.redraw()

    def _take(self, plots: Sequence[Plot], past: Past) -> None:
        """What came becomes what is shown."""
        self.past = past
        for plot in plots:
            self.plots[plot.id].take(plot, past)
            self.plots[plot.id].title = plot.title
        if self.cursor is not None:
            self.cursor = max(self.cursor, past.window.since)
        self.happened.show_past(past)
        if isinstance(self.pane, PlotPane) and self.pane not in self.drawn_plots:
            self.set_focus(self.drawn_plots[0])

    # ---- keys

    def action_plot_shorter(self) -> None:
        self._stretch(-1)

    def action_plot_longer(self) -> None:
        self._stretch(1)

    def _stretch(self, step: int) -> None:
        span = self.span + step
        if not 0 <= span < len(SPANS):
            word = "the shortest" if step < 0 else "the longest"
            self.k2.say(f"{span_word(SPANS[self.span][0])} is {word} time that is plotted")
            return
        self.span = span
        if self.until is not None and self.cursor is not None:
            self.until = min(self.k2.clock.time(), self.cursor + SPANS[span][0] / 2)
        self._look(said=True)
        self.redraw()

    def _move(self, way: str) -> None:
        if self.prompt is not None or self.pane is self.happened:
            super()._move(way)
            return
        window = self.window if self.past is None else self.past.window
        if way in ("up", "down"):
            self.focus_step(1 if way == "down" else -1)
        elif way in ("page_up", "page_down"):
            self._shift(-0.5 if way == "page_up" else 0.5)
        elif way == "top":
            self.cursor = window.moment(0, self._columns)
        elif way == "bottom":
            self._go_to_now()
        else:
            self._step(-1 if way == "left" else 1, window, self._columns)
        self.redraw()

    def _go_to_now(self) -> None:
        self.cursor = None
        if self.until is not None:
            self.until = None
            self._look(said=True)

    def _step(self, step: int, window: Window, columns: int) -> None:
        """One column on; past the end there is now, past the beginning what was before."""
        here = columns if self.cursor is None else window.column(self.cursor, columns)
        column = here + step
        if column >= columns:
            if self.until is None:
                self.cursor = None
                return
            self._shift(0.5)
        elif column < 0:
            self._shift(-0.5)
        self.cursor = min(window.moment(column, columns), self.k2.clock.time())

    def _shift(self, share: float) -> None:
        """Show another stretch of time, as long as this one."""
        now, span_s = self.k2.clock.time(), SPANS[self.span][0]
        wanted = self.window.until + share * span_s
        if wanted - span_s < now - KEPT_S:
            wanted = now - KEPT_S + span_s
            self.k2.say("nothing older is kept")
        self.until = None if wanted >= now else wanted
        if self.cursor is not None:
            self.cursor = min(max(self.cursor, self.window.since), self.window.until)
        self._look(said=True)

    def action_app_open(self) -> None:
        chosen = self.happened.selected
        if self.pane is not self.happened:
            self.action_pane_zoom()
        elif chosen is not None:
            self.cursor = chosen.at
            self.redraw()

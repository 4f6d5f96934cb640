"""Two runs of a server side by side."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core.run_compare import Difference
from k2tui.core.runs import Run
from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.layout import Places
from k2tui.ui.present import run_time
from k2tui.ui.scene import Scene
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line, cell, wrapped
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.status_line import status_line


class CompareScreen(MovingScreen):
    """Two runs side by side, with all that differs; the older one on the left."""

    HERE = EVERYWHERE
    BINDINGS = bindings(*HERE)
    SHOWN = ("move.down", "move.up", "row.copy", "app.help", "app.back")

    def __init__(self, name: str, old: Run, new: Run, rows: tuple[Difference, ...]) -> None:
        super().__init__()
        self.name_of_server, self._old, self._new, self._rows = name, old, new, rows

    def make_panes(self) -> list[Pane]:
        self.text = ComparePane(self._old, self._new, self._rows)
        return [self.text]

    def arrange_panes(self, area: Region) -> Places:
        return {"text": area}

    def draw(self, scene: Scene) -> None:
        self.text.lay_out()

    def status_row(self, scene: Scene, width: int) -> Line:
        count = len(self._rows)
        facts: list[Line] = [((f"{count} difference{'' if count == 1 else 's'}", "text"),)]
        return status_line([self.name_of_server, "runs", "compare"], facts, scene, width, extra=self.hold_line())

    def action_app_open(self) -> None:
        self.k2.go_back()


class ComparePane(Pane):
    """What differs, in three columns."""

    title = "Differences"

    def __init__(self, old: Run, new: Run, rows: tuple[Difference, ...]) -> None:
        super().__init__(id="text")
        self._old, self._new, self._differences = old, new, rows

    def lay_out(self) -> None:
        width = self.inner_width
        name = min(46, max(16, width // 4))
        column = max(8, (width - name - 4) // 2)
        heads = [f"{run_time(run.run_id)}  {run.why}" for run in (self._old, self._new)]
        self.heading = (_line("", heads[0], heads[1], name, column, ("title", "strong", "strong")),)
        rows: list[Line] = []
        group = ""
        for row in self._differences:
            if row.group != group:
                rows += [(), ((row.group.capitalize(), "title"),)] if rows else [((row.group.capitalize(), "title"),)]
                group = row.group
            rows += _rows(row, name, column)
        self.show(rows or [(("they are the same in all that is known of them", "muted"),)])


def _rows(row: Difference, name: int, column: int) -> list[Line]:
    """A difference over as many rows as its longer side needs."""
    one, other = (wrapped(row.words(value), column, 6) or [""] for value in (row.one, row.other))
    height = max(len(one), len(other))
    names = wrapped(row.name, name, height)
    pad = [""] * height
    parts = zip((*names, *pad), (*one, *pad), (*other, *pad), strict=False)
    roles = ("text", _role(row, row.one), _role(row, row.other))
    return [_line(*texts, name, column, roles) for texts in list(parts)[:height]]


def _role(row: Difference, value: str | None) -> str:
    if value is None:
        return "muted"
    words = row.words(value)
    return (
        "bad"
        if words.startswith(("not ", "killed"))
        or (row.name == "ended" and words not in ("running", "stopped", "exit 0"))
        else "text"
    )


def _line(left: str, one: str, other: str, name: int, column: int, roles: tuple[str, str, str]) -> Line:
    return (
        cell(left, name, roles[0]),
        ("  ", "text"),
        cell(one, column, roles[1]),
        ("  ", "text"),
        cell(other, column, roles[2]),
    )

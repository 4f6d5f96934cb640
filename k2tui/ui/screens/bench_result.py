"""One benchmark whole, with every request."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core.benching.result import BenchResult
from k2tui.core.errors import K2Error
from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.layout import Places, beside, stacked
from k2tui.ui.scene import Scene
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line
from k2tui.ui.widgets.bench_cells import headline_words, what_words, when_words
from k2tui.ui.widgets.bench_detail import BenchPane, RequestPane
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.status_line import status_line

WIDE = 170


class BenchResultScreen(MovingScreen):
    """Figures, gates and system at one side, its requests at the other."""

    HERE = EVERYWHERE
    BINDINGS = bindings(*HERE)
    SHOWN = ("move.down", "move.up", "pane.next", "pane.zoom", "row.copy", "app.help", "app.back")

    def __init__(self, bench_id: str, known: BenchResult | None = None) -> None:
        """`known`: what is known of it already, perhaps without its requests."""
        super().__init__()
        self.bench_id = bench_id
        self._result = known
        self._said = "reading …"

    def make_panes(self) -> list[Pane]:
        self.detail = BenchPane(id="detail")
        self.requests = RequestPane(id="requests")
        return [self.detail, self.requests]

    def arrange_panes(self, area: Region) -> Places:
        if area.width >= WIDE:
            left, right = beside(area, 78)
            return {"detail": left, "requests": right}
        requests = max(7, area.height * 38 // 100)
        return stacked(area, {"detail": 0, "requests": requests})

    def on_mount(self) -> None:
        super().on_mount()
        self.run_worker(self._read(), group="read", exit_on_error=False)

    async def _read(self) -> None:
        try:
            self._result = await self.k2.fleet.bench_result(self.bench_id)
            self._said = "no single request is kept of it"
        except K2Error as error:
            self._said = str(error)
            self.k2.fail(error)
        self.redraw()

    def draw(self, scene: Scene) -> None:
        self.detail.show_result(self._result)
        self.requests.show_requests(None if self._result is None else self._result.requests, self._said)

    def status_row(self, scene: Scene, width: int) -> Line:
        result = self._result
        if result is None:
            return status_line(["benchmarks", self.bench_id], [], scene, width, extra=self.hold_line())
        facts: list[Line] = [
            ((headline_words(result), "strong" if result.valid else "stale"),),
            ((f"{what_words(result)}, {when_words(result.began_at)}", "muted"),),
        ]
        return status_line(["benchmarks", result.subject], facts, scene, width, extra=self.hold_line())

    def action_app_open(self) -> None:
        self.k2.go_back()

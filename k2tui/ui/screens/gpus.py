"""All GPUs of all nodes: free ones, hot ones, and what holds them."""

from __future__ import annotations

from collections.abc import Sequence

from textual.geometry import Region

from k2tui.core.errors import K2Error
from k2tui.core.owners import Owners
from k2tui.core.pace import Shown
from k2tui.core.views import NodeView, ServerView
from k2tui.ui.actions import EVERYWHERE, ROWS, bindings
from k2tui.ui.gpu_text import Row, gpu_text
from k2tui.ui.layout import Places
from k2tui.ui.scene import Scene
from k2tui.ui.screens.describe import TextScreen
from k2tui.ui.screens.sorting import SortingScreen
from k2tui.ui.spans import Line, joined
from k2tui.ui.widgets.gpu_columns import GpuRow
from k2tui.ui.widgets.gpu_grid import GpuRows
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.status_line import gpu_counts, node_counts, status_line


class GpusScreen(SortingScreen):
    """Every GPU on a row of its own."""

    HERE = (*EVERYWHERE, *ROWS, "node.connect")
    BINDINGS = bindings(*HERE)
    SHOWN = (
        "app.open",
        "find.open",
        "rows.sort",
        "rows.mark",
        "rows.mark_range",
        "row.copy",
        "screen.hold",
        "go.home",
        "app.command",
        "app.help",
        "app.back",
    )

    def __init__(self, wanted: str = "") -> None:
        super().__init__()
        self._wanted = wanted

    def make_panes(self) -> list[Pane]:
        self.rows = GpuRows(id="gpus")
        self.rows.filter.take(self._wanted)
        return [self.rows]

    @property
    def listed(self) -> GpuRows:
        return self.rows

    @property
    def chosen_node(self) -> str | None:
        row = self.rows.selected
        return None if row is None else row.node.settings.name

    def looked_at(self, scene: Scene) -> Shown:
        return Shown(
            nodes=frozenset(row.node.settings.name for row in self.rows.seen()),
            node=self.chosen_node,
        )

    def arrange_panes(self, area: Region) -> Places:
        return {"gpus": area}

    def draw(self, scene: Scene) -> None:
        self.rows.show_scene(scene)

    def moved(self) -> None:
        self.tell_shown()

    def status_row(self, scene: Scene, width: int) -> Line:
        free = self.rows.free
        facts: list[Line] = [gpu_counts(scene), ((f"{free} free", "good" if free else "muted"),), node_counts(scene)]
        extra = joined([self.marked_line(), self.hold_line()])
        return status_line(["GPUs"], facts, scene, width, extra=extra)

    def action_app_open(self) -> None:
        row = self.rows.selected
        if row is not None:
            self.k2.push_screen(GpuScreen(row))

    def action_node_connect(self) -> None:
        name = self.chosen_node
        if name is not None:
            self.k2.connect_node(name)


class GpuScreen(TextScreen):
    """One GPU, whole; its node's topology is asked for while one reads."""

    def __init__(self, row: GpuRow) -> None:
        self._node, self._index = row.node.settings.name, row.gpu.index
        self._details: list[Row] = [(("asking the node for topology and link traffic ...", "muted"),)]
        super().__init__(f"{self._node} › GPU {self._index}", [])

    def on_mount(self) -> None:
        self.run_worker(self._ask(), name="gpu-details", exit_on_error=False)

    async def _ask(self) -> None:
        try:
            told: Sequence[str] = await self.k2.fleet.gpu_details(self._node)
        except K2Error as error:
            self._details = [((f"not known: {error}", "warning"),)]
        else:
            self._details = [((line, "text"),) for line in told]
        self.redraw()

    def looked_at(self, scene: Scene) -> Shown:
        return Shown(nodes=frozenset((self._node,)), node=self._node)

    def draw(self, scene: Scene) -> None:
        node = scene.node(self._node)
        if node is not None:
            self.text.tell([*self._of_gpu(node, scene.servers, scene.now), (), *self._details])

    def _of_gpu(self, node: NodeView, servers: Sequence[ServerView], now: float) -> list[Row]:
        gpu = next((gpu for gpu in node.reading.gpus if gpu.index == self._index), None)
        if gpu is None:
            return [((f"{self._node} does not list GPU {self._index} any more", "bad"),)]
        return gpu_text(node, gpu, Owners(node, servers), now)

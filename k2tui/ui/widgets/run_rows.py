"""The runs of one server, newest first."""

from __future__ import annotations

from k2tui.core.runs import Run
from k2tui.core.views import ServerView
from k2tui.core.words import UNKNOWN
from k2tui.ui.present import run_time
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, cell, joined
from k2tui.ui.widgets.pane import Pane


def ending(run: Run) -> tuple[str, str]:
    """How a run stands or ended, and the role of the words."""
    if run.alive:
        return "running", "good"
    if run.stop_asked:
        return "stopped", "muted"
    if run.exit_code is None:
        return "ended" if run.alive is False else UNKNOWN, "muted"
    if run.exit_code > 128:
        return f"killed by signal {run.exit_code - 128}", "bad"
    return f"exit {run.exit_code}", "muted" if run.exit_code == 0 else "bad"


def run_line(run: Run, width: int, *, shown: bool = False) -> Line:
    """`▸ 11-29 14:02  running  reason  ann@desk`."""
    words, role = ending(run)
    parts: list[Line] = [
        (("▸ " if shown else "  ", "key"), (run_time(run.run_id), "text")),
        (cell(words, 20 if width > 56 or 33 <= width <= 44 else 14, role),),
    ]
    if width > 44:
        parts.append((cell(run.profile or UNKNOWN, 12, "muted"),))
    if width > 66 and run.started_by:
        parts.append((cell(run.started_by, 20, "muted"),))
    return joined(parts)


class RunRows(Pane):
    """The run history; `enter` shows the log of the selected run."""

    title = "Runs"
    lists = True
    marks_when_blurred = False

    def show_server(self, server: ServerView | None, scene: Scene, *, shown: str | None = None) -> None:
        """Draw the runs of this server; `shown` is the one whose log is on screen (None: the newest)."""
        runs = () if server is None else server.runs
        current = shown or (runs[0].run_id if runs else None)
        lines = [run_line(run, self.inner_width, shown=run.run_id == current) for run in runs]
        self.show(lines or [(("no run yet", "muted"),)])

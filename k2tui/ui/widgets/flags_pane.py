"""The flags and variables of the newest run, and what differs from the run before."""

from __future__ import annotations

from k2tui.core.settings_between import Setting, settings_between
from k2tui.core.views import ServerView
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, cut
from k2tui.ui.widgets.pane import Pane

KIND_ROLE = {"+": "added", "-": "removed", "~": "changed", " ": "muted"}


def setting_line(setting: Setting, width: int) -> Line:
    """`+ --reasoning-parser kimi_k2`, `~ --tp-size 4 → 8`, `  NCCL_PROTO=LL`."""
    value = f"{setting.old} → {setting.new}" if setting.kind == "~" else (setting.new or setting.old or "")
    between = "=" if setting.is_env else " "
    text = f"{setting.name}{between}{value}" if value else setting.name
    role = KIND_ROLE[setting.kind]
    return ((f"{setting.kind} ", role), (cut(text, width - 2), "text" if setting.kind == " " else role))


def setting_lines(server: ServerView, width: int) -> tuple[list[Line], int]:
    """A row for each flag and variable of the newest run, or of what somebody else started; and how many changed."""
    run, found = server.run, server.found
    if found is not None:
        lines = [setting_line(one, width) for one in settings_between(None, (found.argv, dict(found.env)))]
        return lines or [(("its command can't be read", "muted"),)], 0
    if run is None:
        return [(("no run yet", "muted"),)], 0
    before = next((other for other in server.runs if other.run_id != run.run_id), None)
    old = None if before is None else (before.argv, dict(before.env))
    settings = settings_between(old, (run.argv, dict(run.env)))
    changed = [setting for setting in settings if setting.kind != " "]
    same = [setting for setting in settings if setting.kind == " "]
    lines = [setting_line(setting, width) for setting in (*changed, *same)]
    return lines or [(("none", "muted"),)], len(changed)


class FlagsPane(Pane):
    """Flags and environment of the selected server's newest run."""

    title = "Flags and env"

    def show_server(self, server: ServerView | None, scene: Scene) -> None:
        """Draw them, the difference to the run before first."""
        if server is None:
            self.show([])
            return
        lines, changed = setting_lines(server, self.inner_width)
        self.show(lines, ((f"{changed} changed since the last run", "muted"),) if changed else ())

"""The launch of one server: what it is, how far it came, how long it takes, and the line that explains a failure."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.launch import LaunchKind
from k2tui.core.views import ServerStatus, ServerView
from k2tui.core.words import duration
from k2tui.ui.expected import Expected, left_of, left_words
from k2tui.ui.present import STATUS_GLYPH, STATUS_ROLE
from k2tui.ui.scene import Scene, since
from k2tui.ui.spans import Line, clip, ends, joined, width_of, wrapped
from k2tui.ui.verdicts import engine_words
from k2tui.ui.widgets.cause_rows import (
    cause_and_advice,
    finding_lines,
    link_lines,
    quiet_line,
    silence_lines,
    trouble_lines,
)
from k2tui.ui.widgets.grid_cells import interrupted_words
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.phase_rows import (
    FAILED,
    SHOWN_PHASES,
    launched_in,
    phase_lines,
    phase_summary,
    present_line,
    waiting_line,
)
from k2tui.ui.widgets.rank_strip import rank_strip
from k2tui.ui.widgets.state_pane import proof_lines, witness_lines

_SMALL = 8
"""Rows of a pane below which each kind of news gets one."""
_READY = (LaunchKind.READY, LaunchKind.DEGRADED)


@dataclass(frozen=True, slots=True)
class LaunchText:
    """What the pane says, and which of its rows lead to a line of the log."""

    lines: list[Line]
    cause: range = range(0)


def headline(server: ServerView, scene: Scene, *, named: bool = True) -> Line:
    """`● READY kimi on gpu-a  3h12m  sglang 0.5.9  port 30000  pid 41233`."""
    status, launch, run = server.status, server.launch, server.run
    parts: list[Line] = [((f"{STATUS_GLYPH[status]} {status.value.upper()}", STATUS_ROLE[status]),)]
    if named:
        parts.append(((server.settings.name, "strong"), (f" on {server.settings.node}", "muted")))
    if server.doing is not None:
        parts.append(((server.doing, "phase-loading"),))
    if launch is not None and launch.detail is not None:
        parts.append(((launch.detail, "warning"),))
    lasting = since(server, scene.log_now(server))
    if lasting is not None:
        word = "up " if launch is not None and launch.kind is not LaunchKind.LOADING else ""
        parts.append(((word, "muted"), (duration(lasting), "text")))
    if launch is not None and launch.engine is not None:
        parts.append(((engine_words(launch), "muted"),))
    if launch is not None and launch.ranks_expected is not None and launch.ranks_expected > 1:
        parts.append(((f"{launch.ranks_expected} ranks", "muted"),))
    port = (launch.port if launch is not None else None) or (run.port if run is not None else None)
    if port is not None:
        parts.append(((f"port {port}", "muted"),))
    if run is not None and run.alive and run.child is not None:
        parts.append(((f"pid {run.child.pid}", "muted"),))
    return joined(parts)


def _loading_block(server: ServerView, scene: Scene, width: int, room: int) -> list[Line]:
    """The phases of a launch that is on its way: each in a row where there is room, else the present one first."""
    launch = server.launch
    if launch is None:
        return []
    expected, log_now = Expected.of(server), scene.log_now(server)
    left = left_of(server, scene.node_now(server))
    words: Line = () if left is None else left_words(left)
    moving = server.around.moving
    if room >= len(SHOWN_PHASES):
        lines = phase_lines(launch, log_now, width, expected=expected, left=words)
        strip = rank_strip(launch, moving, width)
        return [*lines, strip] if strip and room > len(lines) else lines
    strip = rank_strip(launch, moving, width, news_only=True)
    both = joined([words, strip])
    news = [both] if width_of(both) <= width else [words, strip]
    lines = [present_line(launch, log_now, width, expected=expected), *news]
    lines += [*phase_summary(launch, log_now, width, expected=expected), waiting_line(launch)]
    return [clip(line, width) for line in lines if line]


def _launch_block(server: ServerView, scene: Scene, width: int, room: int, *, state: bool) -> list[Line]:
    launch, log_now = server.launch, scene.log_now(server)
    if launch is None:
        return []
    if launch.kind in _READY:
        expected = Expected.of(server)
        if room >= len(SHOWN_PHASES) + (3 if state else 0):
            return phase_lines(launch, log_now, width, expected=expected)
        head = launched_in(launch)
        return phase_summary(launch, log_now, width, head=head, expected=expected) if room > 4 else [head]
    if launch.kind in FAILED:
        strip = rank_strip(launch, server.around.moving, width)
        lines = [present_line(launch, log_now, width), strip, *phase_summary(launch, log_now, width)]
        return [line for line in lines if line]
    return _loading_block(server, scene, width, room)


def launch_text(
    server: ServerView, scene: Scene, width: int, height: int, *, state: bool = True, head: bool = True
) -> LaunchText:
    """What fits of: the headline, what is wrong, the phases, what it runs with, and (with `state`) its witnesses."""
    log_now = scene.log_now(server)
    launch, is_small = server.launch, height < _SMALL
    quiet = quiet_line(server, log_now)
    lines: list[Line] = [ends(headline(server, scene), quiet, width)] if head else [quiet] if quiet else []
    node = scene.node(server.settings.node)
    if node is not None:
        lines += link_lines(node.link, scene.now, width)
    interrupted = interrupted_words(server)
    if interrupted:
        lines += [((text, "warning"),) for text in wrapped(f"! {interrupted}: a restart asks what to do", width, 2)]
    if launch is None and server.status is ServerStatus.DOWN:
        verb = "only watched: no profile" if server.settings.profile is None else f"profile {server.settings.profile}"
        lines.append((("not running", "muted"), ("  ", "text"), (verb, "muted")))
    lines += trouble_lines(server, width, 1 if is_small else 3)
    left = height - len(lines)
    cause, advice = cause_and_advice(server, width, max(3, left - 2))
    marked = range(len(lines), len(lines) + len(cause))
    lines += [*cause, *advice]
    lines += silence_lines(server, log_now, width, 2 if (launch is not None and launch.detail) or not is_small else 1)
    if cause and height - len(lines) > 3:
        lines.append(())
    is_ready = launch is not None and launch.kind in _READY
    if is_ready:
        lines += finding_lines(launch, width, 1 if is_small else 3)
    kept = 0 if not state else 1 if is_small and not is_ready else 2
    lines += _launch_block(server, scene, width, height - len(lines) - kept, state=state)
    if not is_ready:
        lines += finding_lines(launch, width, min(3, height - len(lines) - kept))
    if state:
        facts = [*proof_lines(server, scene.now, width), *witness_lines(server, scene.now, width)]
        if facts and height - len(lines) > len(facts):
            lines.append(())
        lines += facts[: max(0, height - len(lines))]
    is_quoted = launch is not None and launch.cause is not None
    return LaunchText(lines[:height], range(marked.start, min(marked.stop, height)) if is_quoted else range(0))


def launch_lines(
    server: ServerView, scene: Scene, width: int, height: int, *, state: bool = True, head: bool = True
) -> list[Line]:
    """The lines alone."""
    return launch_text(server, scene, width, height, state=state, head=head).lines


class LaunchPane(Pane):
    """The launch of the selected server. With the focus it points at the line that explains a failure."""

    def __init__(self, title: str = "Launch", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.title = title
        self._cause = range(0)

    @property
    def points_at_cause(self) -> bool:
        """True when `enter` leads to a line of the log."""
        return bool(self._cause)

    def show_server(self, server: ServerView | None, scene: Scene, *, state: bool = True, head: bool = True) -> None:
        """Draw this server; none: say so."""
        if server is None:
            self._cause = range(0)
            self.show([(("no server is configured", "muted"),)])
            return
        text = launch_text(server, scene, self.inner_width, self.page, state=state, head=head)
        self._cause = text.cause
        self.show(text.lines)

    def row_role(self, number: int) -> str | None:
        return "cursor" if self.has_focus and number in self._cause else None

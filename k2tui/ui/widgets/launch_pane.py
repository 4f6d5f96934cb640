"""The launch of one server: what it is, how far it came, and the line that explains a failure."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.launch import PHASES, Launch, LaunchKind, LaunchPhase, Progress
from k2tui.core.link import LinkPhase, LinkState
from k2tui.core.secrets import mask
from k2tui.core.views import ServerStatus, ServerView
from k2tui.ui import present
from k2tui.ui.logline import parts_of
from k2tui.ui.present import PHASE_WORDS, STATUS_GLYPH, STATUS_ROLE, duration, phase_time
from k2tui.ui.scene import Scene, launch_took, since
from k2tui.ui.spans import Line, Span, ends, joined, spread, width_of, wrapped
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.state_pane import proof_lines, witness_lines

SHOWN_PHASES = tuple(phase for phase in PHASES if phase is not LaunchPhase.SERVING)
_FAILED = (LaunchKind.CRASHED, LaunchKind.HUNG, LaunchKind.MISCONFIGURED)
_LABEL_WIDTH = 12
GRAPH_UNITS = ("graphs", "sizes")
"""What bars of graph capture count; all others count parts of the weights."""

_GLYPH = {"done": "✓", "now": "▸", "failed": "✗", "stopped": "○", "waiting": "·"}
_ROLE = {
    "done": "phase-done",
    "now": "phase-loading",
    "failed": "phase-failed",
    "stopped": "text",
    "waiting": "phase-waiting",
}


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """One phase as it stands."""

    phase: LaunchPhase
    state: str
    """done | now | failed | stopped | waiting."""
    elapsed_s: float | None


def phase_rows(launch: Launch, log_now: float | None) -> list[PhaseRow]:
    """Every phase up to ready, with how long it took or takes."""
    spans = {span.phase: span for span in launch.spans}
    over = launch.kind in (LaunchKind.READY, LaunchKind.DEGRADED) or launch.phase.order >= LaunchPhase.READY.order
    rows: list[PhaseRow] = []
    for phase in SHOWN_PHASES:
        if over or phase.order < launch.phase.order:
            state = "done"
        elif phase is launch.phase:
            state = "failed" if launch.kind in _FAILED else "stopped" if launch.kind is LaunchKind.STOPPED else "now"
        else:
            state = "waiting"
        span = spans.get(phase)
        elapsed = None if span is None else span.elapsed_s
        if state == "now" and span is not None and span.began is not None and log_now is not None:
            elapsed = max(0.0, log_now - span.began)
        if phase is LaunchPhase.READY:
            elapsed = launch_took(launch)
        rows.append(PhaseRow(phase, state, elapsed))
    return rows


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
    lasting = since(server, scene.log_now(scene.node(server.settings.node)))
    if lasting is not None:
        word = "up " if launch is not None and launch.kind is not LaunchKind.LOADING else ""
        parts.append(((word, "muted"), (duration(lasting), "text")))
    if launch is not None and launch.engine is not None:
        parts.append(((f"{launch.engine} {launch.version or ''}".strip(), "muted"),))
    if launch is not None and launch.ranks_expected is not None and launch.ranks_expected > 1:
        parts.append(((f"{launch.ranks_expected} ranks", "muted"),))
    port = (launch.port if launch is not None else None) or (run.port if run is not None else None)
    if port is not None:
        parts.append(((f"port {port}", "muted"),))
    if run is not None and run.alive and run.child is not None:
        parts.append(((f"pid {run.child.pid}", "muted"),))
    return joined(parts)


def progress_spans(launch: Launch, width: int, *, unit: bool = True) -> Line:
    """`━━━━━━╸─── 80 %  51/64 shards`, as wide as there is room; empty where the present phase has no bar."""
    progress = launch.progress
    if progress is None or progress.total <= 0 or _is_past(launch.phase, progress):
        return ()
    count = f"{progress.done}/{progress.total}" + (f" {progress.unit}" if unit else "")
    percent = f"{present.percent(progress.fraction):>5}"
    room = width - len(count) - len(percent) - 3
    if room < 5:
        return ((percent.strip(), "bar"),) if width < len(count) + 8 else ((percent + "  ", "bar"), (count, "text"))
    filled, rest = present.bar(progress.fraction, min(room, 40))
    return ((filled, "bar"), (rest, "bar-rest"), (f" {percent}  ", "strong"), (count, "text"))


def _is_past(phase: LaunchPhase, progress: Progress) -> bool:
    """True for a bar that was drawn to its end in an earlier phase: it says nothing of this one."""
    if progress.done < progress.total:
        return False
    own = LaunchPhase.CUDA_GRAPH if progress.unit in GRAPH_UNITS else LaunchPhase.WEIGHTS
    return phase.order > own.order


def _ranks(launch: Launch) -> Line:
    """`6 of 8 ranks loaded` while some are behind in weights."""
    if launch.phase not in (LaunchPhase.WEIGHTS, LaunchPhase.POSTPROCESS) or launch.ranks_expected in (None, 1):
        return ()
    loaded = len(launch.ranks_loaded)
    return ((f"{loaded} of {launch.ranks_expected} ranks loaded", "muted"),) if loaded else ()


def phase_lines(launch: Launch, log_now: float | None, width: int) -> list[Line]:
    """One row for each phase: glyph, name, bar of the present one, and its time at a fixed column."""
    lines: list[Line] = []
    rows = phase_rows(launch, log_now)
    longest = max((row.elapsed_s or 0.0 for row in rows if row.phase is not LaunchPhase.READY), default=0.0)
    for row in rows:
        role = _ROLE[row.state]
        name_role = {"done": "text", "now": "strong", "failed": "phase-failed", "stopped": "text"}.get(
            row.state, "phase-waiting"
        )
        time_text = "" if row.state == "waiting" else phase_time(row.elapsed_s)
        head: Line = (
            (f"{_GLYPH[row.state]} ", role),
            (f"{PHASE_WORDS[row.phase]:<{_LABEL_WIDTH}}", name_role),
            (f"{time_text:>8}", "muted" if row.state == "done" else "text"),
        )
        if row.state in ("now", "failed", "stopped"):
            room = width - width_of(head) - 2
            ranks = _ranks(launch)
            beside = progress_spans(launch, room - width_of(ranks) - 2) if room > width_of(ranks) + 36 else ()
            head = joined([head, beside, ranks] if beside and ranks else [head, progress_spans(launch, room)])
        elif row.state == "done" and row.phase is not LaunchPhase.READY and row.elapsed_s and longest:
            room = min(24, width - width_of(head) - 2)
            head = joined([head, ((present.bar(row.elapsed_s / longest, room)[0], "bar-done"),)]) if room > 6 else head
        lines.append(head)
    return lines


def phase_summary(launch: Launch, log_now: float | None, width: int, *, head: Line = ()) -> list[Line]:
    """The phases that are over, as words: `✓ arguments 2.1 s  ✓ weights 11 s`."""
    done: list[Line] = [
        ((f"{_GLYPH[row.state]} ", _ROLE[row.state]), (PHASE_WORDS[row.phase], "muted"), (f" {time}", "text"))
        for row in phase_rows(launch, log_now)
        if row.state == "done" and row.phase is not LaunchPhase.READY
        for time in (phase_time(row.elapsed_s),)
    ]
    return spread([head, *done] if head else done, width)


def present_line(launch: Launch, log_now: float | None, width: int) -> Line:
    """The phase it is in, with its bar, on one row."""
    row = next((row for row in phase_rows(launch, log_now) if row.state in ("now", "failed", "stopped")), None)
    if row is None:
        return ()
    head: Line = (
        (f"{_GLYPH[row.state]} ", _ROLE[row.state]),
        (PHASE_WORDS[row.phase], "strong"),
        (f" {phase_time(row.elapsed_s)}", "text"),
    )
    return joined([head, progress_spans(launch, width - width_of(head) - 2)])


def waiting_line(launch: Launch) -> Line:
    """The phases that are still to come: `· KV cache · CUDA graphs`."""
    words = [PHASE_WORDS[row.phase] for row in phase_rows(launch, None) if row.state == "waiting"]
    return tuple(span for word in words for span in ((f"{_GLYPH['waiting']} {word}", "phase-waiting"), ("  ", "text")))


def cause_lines(server: ServerView, width: int, rows: int) -> list[Line]:
    """The line that explains it, from which rank, and what to do; nothing when nothing is wrong."""
    launch = server.launch
    if launch is None or launch.cause is None:
        return []
    cause = launch.cause
    where: list[Span] = [(f"{cause.failure.replace('_', ' ')}", "bad")]
    if cause.rank is not None:
        where.append((f"  rank {cause.rank}", "text"))
    where.append((f"  line {cause.line_number}", "muted"))
    advice: list[Line] = []
    for item in server.advice:
        left = max(1, rows - 2) - len(advice)
        text = wrapped(item.text, width - 2, min(3, left))
        advice += [((f"{'→' if first == 0 else ' '} {part}", "text"),) for first, part in enumerate(text)]
    message = parts_of(cause.line).message.strip() or cause.line
    quoted = wrapped(mask(message), width, max(1, rows - 1 - len(advice)))
    return [tuple(where), *(((part, "log-error"),) for part in quoted), *advice]


def quiet_line(server: ServerView, log_now: float | None) -> Line:
    """`no progress for 22 s`, once it is worth saying."""
    launch = server.launch
    if launch is None or launch.quiet_since is None or log_now is None or launch.kind is not LaunchKind.LOADING:
        return ()
    quiet_s = log_now - launch.quiet_since
    return (
        ((f"no progress for {present.age(quiet_s)}", "warning" if launch.detail else "muted"),) if quiet_s > 5 else ()
    )


def link_lines(link: LinkState, now: float, width: int) -> list[Line]:
    """Why the node is not connected, when the next try is, and what to do; nothing while it is."""
    if link.phase is LinkPhase.UP or link.reason is None:
        return []
    lines: list[Line] = [((present.link_words(link, now), "bad"),)]
    hint = "C shows the key that it offers" if link.code == "host_key_unknown" else link.hint
    if hint is not None:
        lines += [
            ((f"→ {text}" if first == 0 else f"  {text}", "text"),)
            for first, text in enumerate(wrapped(hint, width - 2, 2))
        ]
    return lines


def _launch_block(server: ServerView, log_now: float | None, width: int, room: int, *, state: bool) -> list[Line]:
    launch = server.launch
    if launch is None:
        return []
    if launch.kind in (LaunchKind.READY, LaunchKind.DEGRADED):
        took = launch_took(launch)
        if room >= len(SHOWN_PHASES) + (3 if state else 0):
            return phase_lines(launch, log_now, width)
        head: Line = (("launched in ", "muted"), (phase_time(took), "text"))
        return phase_summary(launch, log_now, width, head=head) if room > 4 else [head]
    if launch.kind in _FAILED or room < len(SHOWN_PHASES):
        lines = [present_line(launch, log_now, width), *phase_summary(launch, log_now, width)]
        waiting = waiting_line(launch)
        if launch.kind is LaunchKind.LOADING and waiting:
            lines.append(waiting)
        return [line for line in lines if line]
    return phase_lines(launch, log_now, width)


def launch_lines(
    server: ServerView, scene: Scene, width: int, height: int, *, state: bool = True, head: bool = True
) -> list[Line]:
    """What fits of: the headline, the cause, the phases, and (with `state`) the witnesses and the proof."""
    log_now = scene.log_now(scene.node(server.settings.node))
    quiet = quiet_line(server, log_now)
    lines: list[Line] = [ends(headline(server, scene), quiet, width)] if head else [quiet] if quiet else []
    node = scene.node(server.settings.node)
    if node is not None:
        lines += link_lines(node.link, scene.now, width)
    if server.launch is None and server.status is ServerStatus.DOWN:
        verb = "only watched: no profile" if server.settings.profile is None else f"profile {server.settings.profile}"
        lines.append((("not running", "muted"), ("  ", "text"), (verb, "muted")))
    left = height - len(lines)
    cause = cause_lines(server, width, max(3, left - 3))
    lines += cause
    if cause and left - len(cause) > 3:
        lines.append(())
    lines += _launch_block(server, log_now, width, height - len(lines) - (2 if state else 0), state=state)
    if state:
        facts = [*proof_lines(server, scene.now, width), *witness_lines(server, scene.now, width)]
        if facts and height - len(lines) > len(facts):
            lines.append(())
        lines += facts[: max(0, height - len(lines))]
    return lines[:height]


def failure_words(launch: Launch) -> str:
    """`port taken in arguments`: the class of the failure, and the phase where the class does not name it."""
    if launch.cause is None:
        return launch.kind.value
    words = launch.cause.failure.replace("_", " ")
    phase = PHASE_WORDS[launch.phase]
    return words if any(part in words for part in phase.casefold().split()) else f"{words} in {phase}"


class LaunchPane(Pane):
    """The launch of the selected server."""

    def __init__(self, title: str = "Launch", *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.title = title

    def show_server(self, server: ServerView | None, scene: Scene, *, state: bool = True, head: bool = True) -> None:
        """Draw this server; none: say so."""
        if server is None:
            self.show([(("no server is configured", "muted"),)])
            return
        self.show(launch_lines(server, scene, self.inner_width, self.page, state=state, head=head))

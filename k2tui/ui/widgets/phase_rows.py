"""The phases of a launch as rows: what each took and usually takes, the present one's bar, what is to come. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from k2tui.core.launch import PHASES, Launch, LaunchKind, LaunchPhase, Progress
from k2tui.core.words import PHASE_WORDS, duration, phase_time
from k2tui.ui import present
from k2tui.ui.expected import NOTHING_EXPECTED, Expected
from k2tui.ui.scene import launch_took
from k2tui.ui.spans import Line, clip, joined, spread, text_of, width_of

SHOWN_PHASES = tuple(phase for phase in PHASES if phase is not LaunchPhase.SERVING)
FAILED = (LaunchKind.CRASHED, LaunchKind.HUNG, LaunchKind.MISCONFIGURED)
GRAPH_UNITS = ("graphs", "sizes")
"""What bars of graph capture count; all others count parts of the weights."""
_LABEL_WIDTH, _USUAL_WIDTH = 12, 13
_LEAST_BAR = 30
"""Columns of a bar with its figures, below which it goes before something else."""

_GLYPH = {"done": "✓", "now": "▸", "failed": "✗", "stopped": "○", "waiting": "·"}
_ROLE = {
    "done": "phase-done",
    "now": "phase-loading",
    "failed": "phase-failed",
    "stopped": "text",
    "waiting": "phase-waiting",
}
_PRESENT = ("now", "failed", "stopped")


@dataclass(frozen=True, slots=True)
class PhaseRow:
    """One phase as it stands."""

    phase: LaunchPhase
    state: str
    """done | now | failed | stopped | waiting."""
    elapsed_s: float | None
    usual_s: float | None = None
    """What it takes here; None where no earlier launch tells."""
    is_slower: bool = False
    """It took, or takes, longer than usual by a clear margin."""


def phase_rows(launch: Launch, log_now: float | None, expected: Expected = NOTHING_EXPECTED) -> list[PhaseRow]:
    """Every phase up to ready, with how long it took or takes."""
    spans = {span.phase: span for span in launch.spans}
    over = launch.kind in (LaunchKind.READY, LaunchKind.DEGRADED) or launch.phase.order >= LaunchPhase.READY.order
    rows: list[PhaseRow] = []
    for phase in SHOWN_PHASES:
        if over or phase.order < launch.phase.order:
            state = "done"
        elif phase is launch.phase:
            state = "failed" if launch.kind in FAILED else "stopped" if launch.kind is LaunchKind.STOPPED else "now"
        else:
            state = "waiting"
        span = spans.get(phase)
        elapsed = None if span is None else span.elapsed_s
        if state == "now" and span is not None and span.began is not None and log_now is not None:
            elapsed = max(0.0, log_now - span.began)
        if phase is LaunchPhase.READY:
            elapsed = launch_took(launch)
        usual = expected.usual(phase)
        slower = state in ("done", "now") and expected.is_slower(phase, elapsed)
        rows.append(PhaseRow(phase, state, elapsed, None if usual is None else usual.typical_s, slower))
    return rows


def progress_spans(launch: Launch, width: int, *, unit: bool = True) -> Line:
    """`━━━━━━╸─── 80 %  51/64 shards, by bytes`, as wide as there is room; empty where there is no bar."""
    progress = launch.progress
    if progress is None or progress.total <= 0 or _is_past(launch.phase, progress):
        return ()
    count = f"{progress.done}/{progress.total}" + (f" {progress.unit}" if unit else "")
    percent = f"{present.percent(progress.fraction):>5}"
    by = ", by bytes" if progress.by == "bytes" and unit and width > len(count) + len(percent) + 23 else ""
    room = width - len(count) - len(by) - len(percent) - 3
    if room < 5:
        return ((percent.strip(), "bar"),) if width < len(count) + 8 else ((percent + "  ", "bar"), (count, "text"))
    filled, rest = present.bar(progress.fraction, min(room, 40))
    return ((filled, "bar"), (rest, "bar-rest"), (f" {percent}  ", "strong"), (count, "text"), (by, "muted"))


def _is_past(phase: LaunchPhase, progress: Progress) -> bool:
    """True for a bar that was drawn to its end in an earlier phase: it says nothing of this one."""
    if progress.done < progress.total:
        return False
    own = LaunchPhase.CUDA_GRAPH if progress.unit in GRAPH_UNITS else LaunchPhase.WEIGHTS
    return phase.order > own.order


def usual_words(row: PhaseRow) -> Line:
    """`usually 9.4 s`, and whether it is slower; empty where nothing is known."""
    if row.usual_s is None:
        return ()
    words = f"usually {phase_time(row.usual_s)}"
    return ((f"{words}  slower", "warning"),) if row.is_slower else ((words, "muted"),)


def phase_lines(
    launch: Launch,
    log_now: float | None,
    width: int,
    *,
    expected: Expected = NOTHING_EXPECTED,
    left: Line = (),
) -> list[Line]:
    """One row for each phase: glyph, name, time at a fixed column, its usual time, and a bar.

    `left` is how long it still takes: to ready it stands in the row of ready, else behind the present bar.
    """
    rows = phase_rows(launch, log_now, expected)
    longest = max((row.elapsed_s or 0.0 for row in rows if row.phase is not LaunchPhase.READY), default=0.0)
    column = max((len(text_of(usual_words(row))) for row in rows), default=0)
    to_ready = text_of(left).startswith("ready ")
    lines: list[Line] = []
    for row in rows:
        usual = usual_words(row)
        head = _row_head(row)
        if row.state in _PRESENT:
            lines.append(
                _present_row(launch, head, usual if row.state == "now" else (), () if to_ready else left, width)
            )
            continue
        if row.phase is LaunchPhase.READY and row.state == "waiting" and to_ready:
            lines.append(clip((*head[:2], ("  ", "text"), *left[1:]), width))
            continue
        if usual:
            head = (*head, ("  ", "text"), *usual)
        if row.state == "done" and row.phase is not LaunchPhase.READY and row.elapsed_s and longest:
            blank = (" " * (column - width_of(usual) + (2 if column and not usual else 0)), "text")
            room = min(24, width - width_of(head) - len(blank[0]) - 2)
            filled = present.bar(row.elapsed_s / longest, room)[0] if room > 6 else ""
            head = (*head, blank, ("  ", "text"), (filled, "bar-done")) if filled else head
        lines.append(clip(head, width))
    return lines


def _row_head(row: PhaseRow) -> Line:
    name_role = {"done": "text", "now": "strong", "failed": "phase-failed", "stopped": "text"}
    time_text = "" if row.state == "waiting" else phase_time(row.elapsed_s)
    time_role = "warning" if row.is_slower else "muted" if row.state == "done" else "text"
    return (
        (f"{_GLYPH[row.state]} ", _ROLE[row.state]),
        (f"{PHASE_WORDS[row.phase]:<{_LABEL_WIDTH}}", name_role.get(row.state, "phase-waiting")),
        (f"{time_text:>8}", time_role),
    )


def _present_row(launch: Launch, head: Line, usual: Line, left: Line, width: int) -> Line:
    """The present phase: its usual time and the time left stand there when the bar has room beside them."""
    is_slower = bool(usual) and usual[0][1] == "warning"
    if usual and (is_slower or not progress_spans(launch, width) or width - width_of(head) - width_of(usual) >= 44):
        head = joined([head, usual])
    room = width - width_of(head) - 2
    with_left = room - width_of(left) - 2
    if left and with_left >= _LEAST_BAR:
        return clip(joined([head, progress_spans(launch, with_left), left]), width)
    return clip(joined([head, progress_spans(launch, room)]), width)


def phase_summary(
    launch: Launch, log_now: float | None, width: int, *, head: Line = (), expected: Expected = NOTHING_EXPECTED
) -> list[Line]:
    """The phases that are over, as words: `✓ arguments 2.1 s  ✓ weights 41 s, usually 9.4 s`."""
    done: list[Line] = []
    for row in phase_rows(launch, log_now, expected):
        if row.state != "done" or row.phase is LaunchPhase.READY:
            continue
        item: Line = (
            (f"{_GLYPH[row.state]} ", _ROLE[row.state]),
            (PHASE_WORDS[row.phase], "muted"),
            (f" {phase_time(row.elapsed_s)}", "text"),
        )
        done.append((*item, (f", usually {phase_time(row.usual_s)}", "warning")) if row.is_slower else item)
    return spread([head, *done] if head else done, width)


def present_line(launch: Launch, log_now: float | None, width: int, *, expected: Expected = NOTHING_EXPECTED) -> Line:
    """The phase it is in, with its bar, on one row."""
    row = next((row for row in phase_rows(launch, log_now, expected) if row.state in _PRESENT), None)
    if row is None:
        return ()
    head: Line = (
        (f"{_GLYPH[row.state]} ", _ROLE[row.state]),
        (PHASE_WORDS[row.phase], "strong"),
        (f" {phase_time(row.elapsed_s)}", "warning" if row.is_slower else "text"),
    )
    return _present_row(launch, head, usual_words(row) if row.state == "now" else (), (), width)


def waiting_line(launch: Launch) -> Line:
    """The phases that are still to come: `· KV cache · CUDA graphs`."""
    words = [PHASE_WORDS[row.phase] for row in phase_rows(launch, None) if row.state == "waiting"]
    return tuple(span for word in words for span in ((f"{_GLYPH['waiting']} {word}", "phase-waiting"), ("  ", "text")))


def launched_in(launch: Launch) -> Line:
    """`launched in 41 s`."""
    return (("launched in ", "muted"), (duration(launch_took(launch)), "text"))

"""The runs of one server, newest first: as a short list beside other panes, and as a table of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from k2tui.core.history import TIMED, PastLaunch
from k2tui.core.run_words import change_words, ending_words, verdict_word
from k2tui.core.runs import Run
from k2tui.core.verdicts import RunVerdict
from k2tui.core.views import ServerView
from k2tui.core.words import PHASE_WORDS, UNKNOWN, duration, phase_time
from k2tui.ui.present import run_time
from k2tui.ui.scene import Scene
from k2tui.ui.spans import Line, Span, cell, clip, joined, spread, text_of, wrapped
from k2tui.ui.widgets.effect_rows import effect_lines
from k2tui.ui.widgets.event_rows import FilteredRows, passes
from k2tui.ui.widgets.flags_pane import KIND_ROLE
from k2tui.ui.widgets.lists import MARK, MARK_WIDTH, Marks
from k2tui.ui.widgets.pane import Pane

LABEL = 12
_WIDE = 118
_COPIED = 1000
"""Columns of a row that is copied: all of it."""


def ending(run: Run) -> tuple[str, str]:
    """How a run stands or ended, and the role of the words."""
    words = ending_words(run)
    if run.alive:
        return words, "good"
    failed = not run.stop_asked and not run.is_planned and run.exit_code not in (None, 0)
    return words, "warning" if run.is_planned else "bad" if failed else "muted"


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


@dataclass(frozen=True, slots=True)
class KnownRun:
    """A run with what is known of it beside its directory."""

    run: Run
    before: Run | None
    """The run before it, which it is compared with."""
    past: PastLaunch | None = None

    @property
    def key(self) -> str:
        """What a mark stands on."""
        return self.run.run_id


def known_runs(runs: Sequence[Run], past: Mapping[str, PastLaunch]) -> list[KnownRun]:
    """The runs, newest first, each with the one before it that was really started."""
    known: list[KnownRun] = []
    for at, run in enumerate(runs):
        before = next((other for other in runs[at + 1 :] if not other.is_planned), None)
        known.append(KnownRun(run, before, past.get(run.run_id)))
    return known


_COLUMNS = ("TIME", "WHY", "READY", "PROOF", "ENDED", "WHO")
_PROOF_GLYPH = {"verified": "✓", "not verified": "✗", UNKNOWN: UNKNOWN}
Columns = tuple[tuple[str, int], ...]
"""Names with their widths."""


def table_columns(listed: Sequence[KnownRun], width: int) -> Columns:
    """As wide as their widest cell; on a narrow screen without who, and with a glyph for the proof."""
    names = _COLUMNS if width >= _WIDE else _COLUMNS[:-1]
    cells = [_cells(one, width) for one in listed]
    return tuple((name, max([len(name), *(len(row[name][0]) for row in cells)])) for name in names)


def table_heading(columns: Columns) -> Line:
    """The names of the columns."""
    parts: list[Line] = [(cell(name, wide, "muted"),) for name, wide in columns]
    return joined([*parts, (("CHANGED", "muted"),)])


def table_line(known: KnownRun, columns: Columns, width: int) -> Line:
    """`11-30 14:01  try  31 s  verified  running  ann@desk  +--reasoning-parser qwen3`."""
    cells = _cells(known, width)
    parts: list[Line] = [(cell(cells[name][0], wide, cells[name][1]),) for name, wide in columns]
    return clip(joined([*parts, _change_spans(known)]), width)


def _cells(known: KnownRun, width: int) -> dict[str, Span]:
    run, proved = known.run, verdict_word(known.run)
    return {
        "TIME": (run_time(run.run_id), "text"),
        "WHY": (run.why, "muted"),
        "READY": (duration(None if known.past is None else known.past.ready_s), "text"),
        "PROOF": (proved if width >= _WIDE else _PROOF_GLYPH[proved], _verdict_role(run.verdict)),
        "ENDED": ending(run),
        "WHO": (run.started_by or UNKNOWN, "muted"),
    }


def _change_spans(known: KnownRun) -> Line:
    words = change_words(known.run, known.before)
    return joined([((part, KIND_ROLE.get(part[:1], "muted")),) for part in words.split("  ")])


def _verdict_role(verdict: RunVerdict | None) -> str:
    return "muted" if verdict is None else "good" if verdict.verified else "bad"


class RunTable(FilteredRows):
    """Every run that the node or this side remembers."""

    title = "Runs"
    marks_when_blurred = True

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.marks = Marks()
        self._known: Sequence[KnownRun] = ()
        self._listed: list[KnownRun] = []
        self._said = ""

    @property
    def selected(self) -> KnownRun | None:
        """The run under the cursor."""
        return self._listed[self.cursor] if self.cursor < len(self._listed) else None

    def marked(self) -> list[KnownRun]:
        """The marked runs, newest first."""
        return [known for known in self._known if known.key in self.marks.keys]

    def show_runs(self, known: Sequence[KnownRun], said: str) -> None:
        """Draw these; `said` stands where there are none. The cursor stays on its run."""
        here = self.selected
        self._known, self._said = known, said
        self.marks.keep_only(one.key for one in known)
        self._list()
        if here is not None:
            self.cursor = next((at for at, one in enumerate(self._listed) if one.key == here.key), self.cursor)
        self._show()

    def mark(self) -> None:
        """Mark the selected run, or take the mark away, and go one down."""
        if self.selected is not None:
            self.marks.toggle([self.selected.key])
            self.move("down")
            self._show()

    def mark_range(self) -> None:
        """Mark all runs from the last marked one to this one."""
        if self.selected is not None:
            self.marks.extend([one.key for one in self._listed], self.selected.key)
            self._show()

    def row_text(self) -> str:
        """What `y` copies: the marked runs, else the selected one, each with its id."""
        rows = self.marked() or ([self.selected] if self.selected is not None else [])
        columns = table_columns(rows, _COPIED)
        return "\n".join(f"{one.key}  {text_of(table_line(one, columns, _COPIED)).strip()}" for one in rows)

    def lay_out(self) -> None:
        self._list()
        self._show()

    def _list(self) -> None:
        self._listed = [one for one in self._known if passes(row_words(one), self.wanted)]

    def _show(self) -> None:
        marks = MARK_WIDTH if self.marks.keys else 0
        width = self.inner_width - marks
        columns = table_columns(self._listed, width)
        self.heading = (((" " * marks, "text"), *table_heading(columns)),)
        lines: list[Line] = []
        for one in self._listed:
            mark = MARK if one.key in self.marks.keys else " " * marks
            lines.append(((mark, "key"), *table_line(one, columns, width)))
        said = "no run has this text" if self._known else self._said
        self.show(lines or [((said, "muted"),)], self.found(len(self._listed), len(self._known)))


def row_words(known: KnownRun) -> str:
    """What a filter looks at."""
    run = known.run
    words = (run.run_id, run.why, run.started_by or "", run.profile or "", verdict_word(run), ending_words(run))
    return " ".join((*words, change_words(run, known.before)))


def run_detail(known: KnownRun, width: int) -> list[Line]:
    """One run: who, when, what it changed, how long each phase took, what was proved of it."""
    run, past = known.run, known.past
    rows: list[Line] = [_fact("run", f"{run.run_id}, profile {run.profile or UNKNOWN}")]
    who = f"{run.why}, by {run.started_by or UNKNOWN}"
    after = f", after run {run.replaces}" if run.replaces else ""
    rows.append(_fact("started", f"{who}{after}"))
    rows += _facts("changed", change_words(run, known.before), width)
    rows += _phases(past, width)
    again = f", started again {run.restarts} times by its supervisor" if run.restarts else ""
    ended, role = ending(run)
    rows.append(_fact("ended", f"{ended}{again}", role))
    rows += _proved(run, width)
    return rows


def _phases(past: PastLaunch | None, width: int) -> list[Line]:
    if past is None:
        return [_fact("phases", UNKNOWN, "muted")]
    items: list[Line] = [
        ((f"{PHASE_WORDS[phase]} ", "muted"), (phase_time(past.phases_s[phase]), "text"))
        for phase in TIMED
        if phase in past.phases_s
    ]
    if past.ready_s is not None:
        items.append((("ready after ", "muted"), (duration(past.ready_s), "strong")))
    first, *more = spread(items, width - LABEL, 2) or [((UNKNOWN, "muted"),)]
    return [((f"{'phases':<{LABEL}}", "muted"), *first), *(((" " * LABEL, "text"), *line) for line in more)]


def _proved(run: Run, width: int) -> list[Line]:
    verdict = run.verdict
    if verdict is None:
        return [_fact("proof", "nothing was proved of it", "muted")]
    engine = verdict.version or UNKNOWN
    if verdict.modified:
        engine += f", modified: {', '.join(verdict.modified)}"
    role = _verdict_role(verdict)
    rows = _facts("proof", f"{verdict_word(run)}: {verdict.text}", width, role)
    rows += _facts("engine", engine, width, "warning" if verdict.modified else "text")
    return [*rows, *effect_lines(verdict.effects, width)]


def _fact(label: str, text: str, role: str = "text") -> Line:
    return ((f"{label:<{LABEL}}", "muted"), (text, role))


def _facts(label: str, text: str, width: int, role: str = "text") -> list[Line]:
    first, *more = wrapped(text, max(10, width - LABEL), 4) or [""]
    return [_fact(label, first, role), *(_fact("", part, role) for part in more)]


class RunPane(Pane):
    """All that is known of the selected run."""

    title = "Run"

    def show_run(self, known: KnownRun | None) -> None:
        """Draw this run."""
        self.show([] if known is None else run_detail(known, self.inner_width))

"""Two benchmarks side by side: the verdict in words, what changed, the figures, and what was not counted."""

from __future__ import annotations

from textual.geometry import Region

from k2tui.core.benching.comparison import Answer, Comparison, MetricRow
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.words import METRICS
from k2tui.core.words import UNKNOWN
from k2tui.ui import present
from k2tui.ui.actions import EVERYWHERE, bindings
from k2tui.ui.bench_notes import answer_role
from k2tui.ui.layout import Places
from k2tui.ui.scene import Scene
from k2tui.ui.screens.moving import MovingScreen
from k2tui.ui.spans import Line, cell, wrapped
from k2tui.ui.widgets.bench_cells import headline_words, what_words, when_words
from k2tui.ui.widgets.pane import Pane
from k2tui.ui.widgets.status_line import status_line

BASIS_WORDS = {
    "restarts": "over restarts: Welch's interval on the logarithms of one value a start",
    "requests": "over the requests within one start each: indicative only, another start may differ",
}
FIGURE = 10


class BenchCompareScreen(MovingScreen):
    """B against A; the older one, or the base, is A."""

    HERE = EVERYWHERE
    BINDINGS = bindings(*HERE)
    SHOWN = ("move.down", "move.up", "row.copy", "app.help", "app.back")

    def __init__(self, a: BenchResult, b: BenchResult, comparison: Comparison) -> None:
        super().__init__()
        self._a, self._b, self._comparison = a, b, comparison

    def make_panes(self) -> list[Pane]:
        self.text = ComparisonPane(self._a, self._b, self._comparison)
        return [self.text]

    def arrange_panes(self, area: Region) -> Places:
        return {"text": area}

    def draw(self, scene: Scene) -> None:
        self.text.lay_out()

    def status_row(self, scene: Scene, width: int) -> Line:
        answer = self._comparison.answer
        facts: list[Line] = [((answer.value, answer_role(answer)),)]
        return status_line(["benchmarks", "compare"], facts, scene, width, extra=self.hold_line())

    def action_app_open(self) -> None:
        self.k2.go_back()


class ComparisonPane(Pane):
    """The comparison as text."""

    title = "Comparison"

    def __init__(self, a: BenchResult, b: BenchResult, comparison: Comparison) -> None:
        super().__init__(id="text")
        self._a, self._b, self._comparison = a, b, comparison

    def lay_out(self) -> None:
        self.show(comparison_rows(self._a, self._b, self._comparison, self.inner_width))


def comparison_rows(a: BenchResult, b: BenchResult, comparison: Comparison, width: int) -> list[Line]:
    """All of it in so many columns."""
    rows = _verdict(comparison, width)
    rows += [(), *_side("A", a, width), *_side("B", b, width)]
    rows += [(), (("What changed", "title"),), *_changes(comparison, width)]
    rows += [(), *_figures(comparison, width)]
    if comparison.left_out:
        rows += [(), (("Not counted", "title"),)]
        rows += [((text, "warning"),) for said in comparison.left_out for text in wrapped(said, width, 3)]
    return rows


def _verdict(comparison: Comparison, width: int) -> list[Line]:
    role = answer_role(comparison.answer)
    badge: Line = (("  CONFOUNDED ", "warning"),) if comparison.confounded else ()
    answer = comparison.answer
    said = f"B is {answer.value}" if answer in (Answer.FASTER, Answer.SLOWER) else answer.value
    rows: list[Line] = [((said, role), *badge)]
    rows += [((text, "text"),) for text in wrapped(comparison.sentence, width, 5)]
    if comparison.ratio is not None:
        interval = ""
        if comparison.low is not None and comparison.high is not None:
            interval = f"  95 % interval {comparison.low:.3f} to {comparison.high:.3f}"
        rows.append((("B over A ", "muted"), (f"×{comparison.ratio:.3f}", "strong"), (interval, "text")))
    if comparison.basis is not None:
        starts = f"{comparison.restarts_a} start{'' if comparison.restarts_a == 1 else 's'}"
        counted = f"{starts} of A, {comparison.restarts_b} of B"
        said = f"{counted}, {BASIS_WORDS.get(comparison.basis, comparison.basis)}"
        rows += [((text, "muted"),) for text in wrapped(said, width, 3)]
    if comparison.more_restarts is not None:
        more = comparison.more_restarts
        said = f"{more} more restart{'' if more == 1 else 's'} of each would decide it with 80 % power"
        rows += [((text, "text"),) for text in wrapped(said, width, 2)]
    if comparison.confounded:
        said = "More than one thing changed: the difference can't be put down to one of them."
        rows += [((text, "warning"),) for text in wrapped(said, width, 2)]
    return rows


def _side(name: str, result: BenchResult, width: int) -> list[Line]:
    base = f" (the base of {result.subject})" if result.is_base else ""
    said = (
        f"{result.subject}, {what_words(result)}, {headline_words(result)}, {when_words(result.began_at)}, "
        f"profile {result.profile or UNKNOWN}{base}"
    )
    first, *more = wrapped(said, width - 3, 3) or [""]
    return [((f"{name}  ", "strong"), (first, "text")), *(((f"   {part}", "text"),) for part in more)]


def _changes(comparison: Comparison, width: int) -> list[Line]:
    if not comparison.changes:
        return [(("nothing that is known of the two systems", "muted"),)]
    name = min(40, max(len(change.name) for change in comparison.changes))
    values = [value or "" for change in comparison.changes for value in (change.a, change.b)]
    column = max(8, min((width - name - 4) // 2, max([len("not set"), *map(len, values)])))
    rows: list[Line] = []
    for change in comparison.changes:
        names = wrapped(change.name, name, 3)
        one, other = (wrapped(value if value is not None else "not set", column, 6) for value in (change.a, change.b))
        for place in range(max(len(names), len(one), len(other), 1)):
            parts = [part[place] if place < len(part) else "" for part in (names, one, other)]
            roles = (
                "text",
                "removed" if change.a is not None else "muted",
                "added" if change.b is not None else "muted",
            )
            rows.append(
                (
                    cell(parts[0], name, roles[0]),
                    ("  ", "text"),
                    cell(parts[1], column, roles[1]),
                    ("  ", "text"),
                    cell(parts[2], column, roles[2]),
                )
            )
    return rows


def _figures(comparison: Comparison, width: int) -> list[Line]:
    label = min(max([len(row.label) for row in comparison.rows], default=7), max(16, width - 3 * (FIGURE + 2)))
    head: Line = (
        cell("Figures", label, "title"),
        *(span for name in ("A", "B", "B/A") for span in (("  ", "text"), cell(name, FIGURE, "muted", right=True))),
    )
    rows: list[Line] = [head]
    for row in comparison.rows:
        rows += _figure(row, label, width)
    return rows if comparison.rows else [*rows, (("there is no figure that both have", "muted"),)]


def _figure(row: MetricRow, label: int, width: int) -> list[Line]:
    metric = METRICS.get(row.name.partition(" ")[0])
    digits = 1 if metric is None else metric.digits
    first, *more = wrapped(row.label, label, 3) or [""]
    line = [cell(first, label, "text")]
    for value in (row.a, row.b):
        text = present.number(value, digits=digits)
        line += [("  ", "text"), cell(text, FIGURE, "muted" if value is None else "strong", right=True)]
    ratio = None if not row.a or row.b is None else row.b / row.a
    better = ratio is not None and (ratio > 1) == row.bigger_is_better
    role = "muted" if ratio is None or abs(ratio - 1) < 0.005 else "good" if better else "warning"
    line += [("  ", "text"), cell(UNKNOWN if ratio is None else f"×{ratio:.3f}", FIGURE, role, right=True)]
    rows: list[Line] = [tuple(line)]
    rows += [((f"  {part}", "text"),) for part in more]
    if row.why_missing and (row.a is None or row.b is None):
        rows += [
            ((f"  — {part}" if not place else f"    {part}", "muted"),)
            for place, part in enumerate(wrapped(row.why_missing, width - 4, 2))
        ]
    return rows

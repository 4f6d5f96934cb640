"""One benchmark, whole: each figure with its name and unit, its points, its gates with their reasons, its system."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.core.benching.facts import RequestFigures
from k2tui.core.benching.fields import state_word
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem
from k2tui.core.benching.words import figure_rows
from k2tui.core.words import UNKNOWN, duration
from k2tui.ui.spans import Line, Span, cell, clip, joined, width_of, wrapped
from k2tui.ui.widgets import bench_cells as shown
from k2tui.ui.widgets.pane import Pane

LABEL = 9
_STATE_ROLE = {"valid": "good", "flagged": "warning", "failed": "bad"}
_STATE_WORDS = {
    "valid": "valid: it may be compared",
    "flagged": "a gate is red: it is kept, and never compared",
    "failed": "it failed: what was measured until then is kept",
}


def _fact(label: str, text: str, width: int, role: str = "text", most: int = 4) -> list[Line]:
    first, *more = wrapped(text, max(10, width - LABEL), most) or [""]
    return [
        ((f"{label:<{LABEL}}", "muted"), (first, role)),
        *(((" " * LABEL, "text"), (part, role)) for part in more),
    ]


def detail_rows(result: BenchResult, width: int) -> list[Line]:
    """All that is known of it but its single requests."""
    state = state_word(result)
    head: Line = ((shown.headline_words(result), "strong" if result.valid else "stale"), ("  ", "text"))
    said = _STATE_WORDS[state]
    rows: list[Line] = [(*head, (said, _STATE_ROLE[state]))]
    if width_of(rows[0]) > width:
        rows = [head, *(((text, _STATE_ROLE[state]),) for text in wrapped(said, width, 2))]
    if result.error is not None:
        rows += [((text, "bad"),) for text in wrapped(result.error, width, 4)]
    rows += [(), *figure_lines(result, width)]
    if has_points(result):
        rows += [(), *point_lines(result.points, width)]
    rows += [(), *gate_lines(result, width)]
    for note in result.notes:
        rows += _fact("note", note, width, "warning")
    return [*rows, (), *_where(result, width), *system_lines(result.system, width)]


def figure_lines(result: BenchResult, width: int) -> list[Line]:
    """`   90.0 tok/s  one stream, without prefill`, and below it the spread, or why it is missing."""
    told = list(figure_rows(result))
    wide = max((len(value) for _, value, _ in told), default=0)
    label_wide = max((len(label) for label, _, _ in told), default=0)
    rows: list[Line] = []
    for label, value, remark in told:
        is_missing = value == UNKNOWN
        line: list[Span] = [cell(value, wide, "muted" if is_missing else "strong", right=True), ("  ", "text")]
        room = width - wide - 4 - label_wide
        if remark and len(remark) <= room:
            line += [cell(label, label_wide, "text"), ("  ", "text"), (remark, "muted")]
            rows.append(tuple(line))
            continue
        rows.append(clip((*line, (label, "text")), width))
        rows += [((" " * (wide + 2), "text"), (part, "muted")) for part in wrapped(remark, width - wide - 2, 3)]
    return rows


_POINT = (
    ("STREAMS", 7),
    ("TOTAL", 8),
    ("A STREAM", 8),
    ("TTFT p50", 8),
    ("TTFT p90", 8),
    ("ITL p50", 7),
    ("SENT", 5),
    ("FAILED", 6),
    ("WINDOW", 7),
)


def has_points(result: BenchResult) -> bool:
    """Whether several streams were measured: then each concurrency has a row."""
    return any(point.c > 1 for point in result.points)


def point_lines(points: Sequence[BenchPoint], width: int) -> list[Line]:
    """A row for each concurrency: tok/s of all streams together and of one, TTFT any and the gap of tokens in ms."""
    columns = []
    used = 0
    for name, wide in _POINT:
        if used + wide + 2 > width + 2:
            break
        columns.append((name, wide))
        used += wide + 2
    rows: list[Line] = [joined([(cell(name, wide, "muted", right=True),) for name, wide in columns])]
    for point in sorted(points, key=lambda one: one.c):
        told = _point_cells(point)
        line = joined([(cell(told[name][0], wide, told[name][1], right=True),) for name, wide in columns])
        rows.append(line)
    legend = "TOTAL and A STREAM in tok/s, TTFT any and ITL in ms"
    if any(not point.steady for point in points):
        legend += "; ~ the window was too short to be steady: the whole time, ramp and tail in it"
    return [*rows, *(((text, "muted"),) for text in wrapped(legend, width, 3))]


def _point_cells(point: BenchPoint) -> dict[str, Span]:
    steady = point.steady and point.agg_tps_steady is not None
    total = point.agg_tps_steady if steady else point.agg_tps_total
    ttft = point.spreads.get("ttft_any_ms")
    itl = point.spreads.get("itl_ms")

    def known(text: str, role: str = "text") -> Span:
        return text, "muted" if text == UNKNOWN else role

    mark = "" if steady or total is None else "~"
    return {
        "STREAMS": (str(point.c), "strong"),
        "TOTAL": known(mark + shown.tps(total), "strong" if steady else "stale"),
        "A STREAM": known(shown.tps(point.decode_tps)),
        "TTFT p50": known(UNKNOWN if ttft is None else f"{ttft.p50:.0f}"),
        "TTFT p90": known(UNKNOWN if ttft is None or ttft.p90 is None else f"{ttft.p90:.0f}"),
        "ITL p50": known(UNKNOWN if itl is None else f"{itl.p50:.1f}"),
        "SENT": (str(point.sent), "text"),
        "FAILED": (str(point.failed), "bad" if point.failed else "muted"),
        "WINDOW": known(UNKNOWN if point.window_s is None else f"{point.window_s:.0f} s"),
    }


def gate_lines(result: BenchResult, width: int) -> list[Line]:
    """Each gate with its reason."""
    if not result.gates:
        return [(("no gate was looked at", "muted"),)]
    rows: list[Line] = []
    for gate in result.gates:
        glyph, role = shown.GATE_GLYPH[gate.ok]
        first, *more = wrapped(gate.reason, max(10, width - 5), 3) or [""]
        text_role = "text" if gate.ok else role
        rows.append(((f"{gate.id} ", "muted"), (f"{glyph} ", role), (first, text_role)))
        rows += [((" " * 5, "text"), (part, text_role)) for part in more]
    return rows


def _where(result: BenchResult, width: int) -> list[Line]:
    node = "from here, not on its node" if result.node is None else f"on {result.node}"
    tool = f"{result.tool} {result.tool_version}".strip()
    base = ", the base of its server" if result.is_base else ""
    rows = _fact("what", f"{shown.what_words(result)} of {result.subject} {node}{base}", width)
    rows += _fact("when", f"{shown.when_words(result.began_at)}, took {duration(result.elapsed_s)}", width)
    rows += _fact("by", f"{tool}, formulas {result.formula_set or UNKNOWN}", width)
    rows += _fact("run", f"{result.run_id or UNKNOWN}, profile {result.profile or UNKNOWN}", width)
    rows += _fact("id", result.bench_id, width)
    keys = (("workload", result.workload_key), ("system", result.system_key))
    short = ", ".join(f"{name} {UNKNOWN if key is None else key[:8]}" for name, key in keys)
    return [*rows, *_fact("keys", short, width)]


def system_lines(system: BenchSystem, width: int) -> list[Line]:
    """What was measured: model, engine, GPUs, flags, environment."""
    rows = _fact("model", system.model or UNKNOWN, width)
    if system.quantization:
        rows += _fact("quant", system.quantization, width)
    rows += _fact("engine", f"{system.engine or UNKNOWN} {system.version or ''}".strip(), width)
    rows += _fact("GPUs", system.gpus or UNKNOWN, width)
    limit = "" if system.power_limit_w is None else f", {system.power_limit_w:.0f} W limit"
    rows += _fact("driver", f"{system.driver or UNKNOWN}{limit}", width)
    flags = "  ".join(f"--{name.lstrip('-')} {value}".strip() for name, value in system.argv)
    rows += _fact("flags", flags or UNKNOWN, width, most=12)
    env = "  ".join(f"{name}={value}" for name, value in system.env)
    return [*rows, *_fact("env", env or UNKNOWN, width, most=8)]


class BenchPane(Pane):
    """All that is known of the selected benchmark."""

    title = "Benchmark"

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._drawn: tuple[object, ...] = ()
        self._result: BenchResult | None = None

    def show_result(self, result: BenchResult | None) -> None:
        """Draw this one, from its top when it is another one."""
        key = (result, self.inner_width)
        if key == self._drawn:
            return
        before = self._result
        if result is None or before is None or before.bench_id != result.bench_id:
            self.top_row = 0
        self._drawn, self._result = key, result
        self.show([] if result is None else detail_rows(result, self.inner_width))

    def lay_out(self) -> None:
        self._drawn = ()
        self.show_result(self._result)


# ---- single requests

_REQUEST: tuple[tuple[str, int], ...] = (
    ("C", 4),
    ("NO", 4),
    ("AT", 8),
    ("IN", 6),
    ("OUT", 6),
    ("REASON", 6),
    ("CACHED", 6),
    ("ANY ms", 8),
    ("ANSWER ms", 9),
    ("TOK/S", 7),
    ("E2E TOK/S", 9),
    ("E2E ms", 8),
    ("FINISH", 8),
)
_LEAST_FIRST = ("CACHED", "REASON", "E2E TOK/S", "AT", "E2E ms", "C", "ANSWER ms")
"""What goes first where there is no room."""


def request_columns(width: int) -> list[tuple[str, int]]:
    """The columns that fit."""
    columns = list(_REQUEST)
    for name in _LEAST_FIRST:
        if sum(wide for _, wide in columns) + 2 * (len(columns) - 1) <= width:
            break
        columns = [column for column in columns if column[0] != name]
    return columns


def request_line(request: RequestFigures, columns: Sequence[tuple[str, int]]) -> Line:
    """One request; what went wrong with it stands at its end."""

    def number(value: float | None, digits: int = 0) -> str:
        return UNKNOWN if value is None else f"{value:.{digits}f}"

    texts = {
        "C": str(request.c),
        "NO": str(request.number),
        "AT": f"{request.began_s:.1f} s",
        "IN": number(request.isl),
        "OUT": number(request.osl),
        "REASON": number(request.reasoning_tokens),
        "CACHED": number(request.cached),
        "ANY ms": number(request.ttft_any_ms),
        "ANSWER ms": number(request.ttft_answer_ms),
        "TOK/S": number(request.decode_tps, 1),
        "E2E TOK/S": number(request.e2e_tps, 1),
        "E2E ms": number(request.e2e_ms),
        "FINISH": request.finish or UNKNOWN,
    }
    role = "muted" if request.is_warm_up else "text"
    line = joined(
        [(cell(texts[name], wide, "muted" if texts[name] == UNKNOWN else role, right=True),) for name, wide in columns]
    )
    said = [text for text in (request.error, "warm-up" if request.is_warm_up else None) if text]
    said += ["the server never counted"] if request.usage_missing else []
    said += ["first event taken as one token"] if request.c_first_assumed else []
    return (*line, (f"  {', '.join(said)}" if said else "", "bad" if request.error else "muted"))


class RequestPane(Pane):
    """Every request of a benchmark."""

    title = "Requests"
    lists = True

    def show_requests(self, requests: Sequence[RequestFigures] | None, said: str) -> None:
        """Draw them; `said` while there are none to draw."""
        if not requests:
            self.heading = ()
            self.show([((said, "muted"),)])
            return
        columns = request_columns(self.inner_width)
        self.heading = (joined([(cell(name, wide, "muted", right=True),) for name, wide in columns]),)
        both = any(name == "E2E TOK/S" for name, _ in columns)
        words = "of one stream: TOK/S without its prefill" + (", E2E TOK/S with it" if both else "")
        legend: Line = ((words, "muted"),)
        self.show([request_line(request, columns) for request in requests], legend)

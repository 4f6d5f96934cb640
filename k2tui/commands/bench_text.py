"""Benchmarks as lines of text."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from k2tui.core.benching.comparison import Comparison
from k2tui.core.benching.facts import RequestFigures
from k2tui.core.benching.result import BenchPoint, BenchResult
from k2tui.core.benching.words import (
    METRICS,
    PROCEDURE_WORDS,
    best_of_several,
    figure_rows,
    gate_words,
    half_interval,
    headline,
)
from k2tui.core.words import UNKNOWN, duration

HISTORY_HEAD = ("WHEN", "ID", "SERVER", "WHAT", "FIGURE", "± 95 %", "TTFT ANY", "GATES", "PROFILE", "VERSION")
_POINT_METRICS = ("agg_tps_steady", "agg_tps_total", "decode_tps")


def result_lines(result: BenchResult) -> Iterator[str]:
    """One benchmark, whole but for its requests."""
    what = PROCEDURE_WORDS[result.procedure]
    where = "from here, not on its node" if result.node is None else f"on {result.node}"
    yield f"{result.subject}: {what} by {result.tool}, {where}, {duration(result.elapsed_s)}, id {result.bench_id}"
    rows = list(figure_rows(result))
    if result.error is not None:
        has_figures = bool(result.points) or any(value != UNKNOWN for _, value, _ in rows)
        rows = rows if has_figures else []
        yield f"  failed: {result.error}; {'what' if has_figures else 'nothing'} was measured until then" + (
            " is kept" if has_figures else ""
        )
    width = max((len(label) for label, _, _ in rows), default=0)
    room = max((len(value) for _, value, _ in rows), default=0)
    for label, value, remark in rows:
        yield f"  {label:<{width}}  {value:>{room}}  {remark}".rstrip()
    if result.points and (len(result.points) > 1 or result.points[0].c > 1):
        yield from point_lines(result.points)
    for gate in result.gates:
        word = {True: "ok", False: "RED", None: "?"}[gate.ok]
        yield f"  {gate.id} {word:<3}  {gate.reason}"
    for note in result.notes:
        yield f"  note: {note}"
    yield f"  {'valid: it may be compared' if result.valid else 'not valid: it is kept, and never compared'}"


def system_lines(result: BenchResult) -> Iterator[str]:
    """When it was, and what was measured, as far as it bears on speed."""
    system = result.system
    engine = " ".join(part for part in (system.engine, system.version) if part)
    facts = (
        ("when", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(result.began_at))),
        ("profile", result.profile),
        ("run", result.run_id),
        ("series", result.series_id),
        ("model", " ".join(part for part in (system.model, system.quantization) if part)),
        ("engine", engine),
        ("GPUs", system.gpus),
        ("driver", system.driver),
        ("image", system.image),
        ("formulas", result.formula_set),
    )
    for name, value in facts:
        if value:
            yield f"  {name:<9} {value}"
    for flag, value in system.argv:
        yield f"  {'flag':<9} --{flag.lstrip('-')} {value}".rstrip()
    for variable, value in system.env:
        yield f"  {'variable':<9} {variable}={value}"


def request_lines(requests: Sequence[RequestFigures]) -> Iterator[str]:
    """Each request as a row, in the order in which they were sent."""
    if not requests:
        return
    yield (
        f"  {'request':>10}  {'streams':>7}  {'tok/s':>8}  {'with prefill':>12}  {'TTFT any':>9}  {'TTFT answer':>11}  "
        f"{'prompt':>6}  {'answer':>6}  {'cached':>6}  tokens"
    )
    for one in requests:
        name = f"warm-up {one.number}" if one.is_warm_up else str(one.number)
        any_ms, answer_ms = (METRICS[key].text(getattr(one, key)) for key in ("ttft_any_ms", "ttft_answer_ms"))
        yield (
            f"  {name:>10}  {one.c:>7}  {_number(one.decode_tps, 1):>8}  {_number(one.e2e_tps, 1):>12}  {any_ms:>9}  "
            f"{answer_ms:>11}  {_number(one.isl, 0):>6}  {_number(one.osl, 0):>6}  "
            f"{_number(one.cached, 0):>6}" + (f"  failed: {one.error}" if one.error else "")
        )


def point_lines(points: Sequence[BenchPoint]) -> Iterator[str]:
    """A sweep as a table: totals and what each stream had of them."""
    yield (
        f"  {'streams':>7}  {'total tok/s, steady':>19}  {'total, whole time':>17}  {'tok/s of one stream':>19}  "
        f"{'TTFT any p50':>12}  {'window':>7}  {'sent':>5}  {'failed':>6}"
    )
    for point in sorted(points, key=lambda one: one.c):
        steady, total, one = (_number(getattr(point, name), METRICS[name].digits) for name in _POINT_METRICS)
        ttft = point.spreads.get("ttft_any_ms")
        ttft_text = UNKNOWN if ttft is None else f"{ttft.p50:.0f} ms"
        window = UNKNOWN if point.window_s is None else f"{point.window_s:.0f} s"
        failed = UNKNOWN if point.failed is None else str(point.failed)
        too_short = point.agg_tps_steady is not None and not point.steady
        mark = "  not steady: too short" if too_short else ""
        yield (
            f"  {point.c:>7}  {steady:>19}  {total:>17}  {one:>19}  "
            f"{ttft_text:>12}  {window:>7}  {point.sent:>5}  {failed:>6}{mark}"
        )


def _number(value: float | None, digits: int) -> str:
    return UNKNOWN if value is None else f"{value:.{digits}f}"


def history_row(result: BenchResult) -> list[str]:
    """One line of the history."""
    red = [gate.id for gate in result.gates if gate.ok is False]
    return [
        time.strftime("%Y-%m-%d %H:%M", time.localtime(result.began_at)),
        result.bench_id,
        result.subject,
        PROCEDURE_WORDS[result.procedure] + (" (base)" if result.is_base else ""),
        _figure(result),
        UNKNOWN if (half := half_interval(result)) is None else f"±{half:.1f}",
        METRICS["ttft_any_ms"].text(result.ttft_any_ms),
        f"red: {' '.join(red)}" if red else _whole(result),
        result.profile or UNKNOWN,
        result.system.version or UNKNOWN,
    ]


def _whole(result: BenchResult) -> str:
    """In a word, where no gate is red."""
    if result.error is not None:
        return "failed"
    return "ok" if result.headline is not None else "no figure"


def _figure(result: BenchResult) -> str:
    if result.error is not None and result.headline is None:
        return "failed"
    return "; ".join(part for part in (headline(result), best_of_several(result)) if part is not None)


def comparison_lines(comparison: Comparison) -> Iterator[str]:
    """The verdict, what changed, and the figures side by side."""
    yield comparison.sentence
    for changed in comparison.changes:
        yield f"  changed: {changed.name}: {changed.a or 'not set'} → {changed.b or 'not set'}"
    if comparison.confounded:
        yield "  confounded: more than one thing changed, so the difference can't be put down to one of them"
    if comparison.rows:
        yield f"  {'':<44}  {'A':>10}  {'B':>10}  {'B/A':>8}"
    for row in comparison.rows:
        metric = METRICS.get(row.name)
        a, b = (UNKNOWN if value is None else f"{value:.{metric.digits if metric else 2}f}" for value in (row.a, row.b))
        ratio = UNKNOWN if not row.a or row.b is None else f"×{row.b / row.a:.3f}"
        yield f"  {row.label:<44}  {a:>10}  {b:>10}  {ratio:>8}  {row.why_missing or ''}".rstrip()
    for left in comparison.left_out:
        yield f"  not counted: {left}"


def gates_line(result: BenchResult) -> str:
    """The gates in one sentence."""
    return gate_words(result.gates)

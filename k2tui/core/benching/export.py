"""Results as tables for other programs and for people: CSV, Markdown, JSON lines.

The JSON lines use `sglang.bench_serving`'s key names where the formula is the same (counts, and totals over the whole
time), and k2tui's own where it is not: its TTFT has the connection in it, its TPOT takes the first chunk as one token.
A figure that is missing is an empty cell, — or null.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone

from k2tui.core.benching.result import BenchPoint, BenchResult, Spread
from k2tui.core.benching.words import METRICS, PROCEDURE_WORDS, headline
from k2tui.core.words import UNKNOWN

_OF_RESULT = (
    "decode_tps",
    "decode_tps_min",
    "decode_tps_max",
    "decode_tps_cv",
    "decode_tps_low",
    "decode_tps_high",
    "e2e_tps",
    "ttft_any_ms",
    "ttft_answer_ms",
    "tpot_ms",
)
_OF_POINT = ("agg_tps_steady", "agg_tps_total", "window_s", "wall_s", "sent", "failed", "output_tokens")
_SPREAD_NAMES = ("ttft_any_ms", "ttft_answer_ms", "e2e_ms", "decode_tps", "icl_ms", "itl_ms")
_PERCENTILES = ("p50", "p90", "p99", "largest")
_FORMULA_STARTS = ("=", "+", "-", "@")
"""What a spreadsheet takes for a formula when a text begins with it."""


def csv_of(results: Iterable[BenchResult]) -> str:
    """One row a concurrency (one for a result without points), under a row of names; lines end in CRLF (RFC 4180)."""
    sink = _Sink()
    rows = [_row(result, point) for result in results for point in result.points or (None,)]
    names = list(_row(None, None))
    writer = csv.writer(sink)
    writer.writerow(names)
    writer.writerows([_cell(row[name]) for name in names] for row in rows)
    return "".join(sink.parts)


def markdown_of(results: Iterable[BenchResult]) -> str:
    """A table for people."""
    head = ("id", "server", "how", "result", "TTFT any (ms)", "TTFT answer (ms)", "valid", "profile")
    lines = [_line(head), _line(["---"] * len(head))]
    lines += [_line(_shown(result)) for result in results]
    return "".join(f"{line}\n" for line in lines)


def jsonl_of(results: Iterable[BenchResult]) -> str:
    """A JSON object a line and concurrency, as `bench_serving` appends them to its result file."""
    return "".join(
        json.dumps(_serving_row(result, point), allow_nan=False) + "\n"
        for result in results
        for point in result.points or (None,)
    )


class _Sink:
    """Something that `csv` can write to."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, text: str) -> None:
        self.parts.append(text)


def utc(at: float) -> str:
    """Unix time as ISO 8601."""
    try:
        return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""


def _row(result: BenchResult | None, point: BenchPoint | None) -> dict[str, object]:
    """A row by column; without a result, the columns alone."""
    row: dict[str, object] = {
        "bench_id": result and result.bench_id,
        "subject": result and result.subject,
        "node": result and result.node,
        "procedure": result and result.procedure.value,
        "began_at": result and utc(result.began_at),
        "tool": result and result.tool,
        "tool_version": result and result.tool_version,
        "formula_set": result and result.formula_set,
        "profile": result and result.profile,
        "run_id": result and result.run_id,
        "series_id": result and result.series_id,
        "valid": result and result.valid,
        "red_gates": result and " ".join(gate.id for gate in result.gates if gate.ok is False),
        "error": result and result.error,
    }
    row |= {name: getattr(result, name, None) for name in _OF_RESULT}
    row["prefill_tps"] = result.slope.prefill_tps if result and result.slope else None
    row |= {"c": point and point.c, "steady": point and point.steady}
    row |= {name: getattr(point, name, None) for name in _OF_POINT}
    spreads = {} if point is None else point.spreads
    for name in _SPREAD_NAMES:
        row |= {f"{name}_{part}": getattr(spreads.get(name), part, None) for part in _PERCENTILES}
    return row | {"workload_key": result and result.workload_key, "system_key": result and result.system_key}


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


def _shown(result: BenchResult) -> Iterator[str]:
    yield result.bench_id
    yield result.subject
    yield PROCEDURE_WORDS[result.procedure]
    yield headline(result)
    for name in ("ttft_any_ms", "ttft_answer_ms"):
        value = getattr(result, name)
        yield UNKNOWN if value is None else f"{value:.{METRICS[name].digits}f}"
    red = ", ".join(gate.id for gate in result.gates if gate.ok is False)
    yield "yes" if result.valid else f"no: {red}" if red else "no"
    yield result.profile or UNKNOWN


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _serving_row(result: BenchResult, point: BenchPoint | None) -> dict[str, object]:
    row: dict[str, object] = {
        "tag": result.bench_id,
        "backend": result.tool,
        "formula_set": result.formula_set,
        "subject": result.subject,
        "procedure": result.procedure.value,
        "began_at": utc(result.began_at),
        "valid": result.valid,
        "gates": {gate.id: gate.ok for gate in result.gates},
        "workload_key": result.workload_key,
        "system_key": result.system_key,
    }
    if point is None:
        return row | {name: getattr(result, name) for name in _OF_RESULT}
    completed = None if point.failed is None else max(0, point.sent - point.failed)
    tokens = [point.prompt_tokens, point.output_tokens]
    both = None if None in tokens else sum(count or 0 for count in tokens)
    row |= {
        "max_concurrency": point.c,
        "duration": point.wall_s,
        "completed": completed,
        "total_input_tokens": point.prompt_tokens,
        "total_output_tokens": point.output_tokens,
        "request_throughput": _rate(completed, point.wall_s),
        "input_throughput": _rate(point.prompt_tokens, point.wall_s),
        "output_throughput": point.agg_tps_total,
        "total_throughput": _rate(both, point.wall_s),
        "agg_tps_steady": point.agg_tps_steady,
        "steady": point.steady,
        "decode_tps": point.decode_tps,
    }
    return row | {name: _parts(point.spreads, name) for name in _SPREAD_NAMES if name != "decode_tps"}


def _parts(spreads: Mapping[str, Spread], name: str) -> dict[str, float | None] | None:
    spread = spreads.get(name)
    return None if spread is None else {part: getattr(spread, part) for part in _PERCENTILES}


def _rate(count: int | None, seconds: float | None) -> float | None:
    return None if count is None or not seconds else count / seconds

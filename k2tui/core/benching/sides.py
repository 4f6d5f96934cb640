"""One side of a comparison: the starts of one configuration, and a value of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from k2tui.core.benching.comparison import MetricRow
from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.statistics import median
from k2tui.core.benching.words import METRICS, Metric, why_missing

Getter = Callable[[BenchResult], "float | None"]

_ONE_STREAM = ("decode_tps", "e2e_tps", "ttft_any_ms", "ttft_answer_ms")


@dataclass(frozen=True, slots=True)
class Figure:
    """What two sides are compared by."""

    words: str
    """Its unit and what it is of: `tok/s of one stream`."""
    get: Getter
    is_of_one_stream: bool = False


@dataclass(frozen=True, slots=True)
class Side:
    """Valid runs of one configuration with the same work, by the start of the server that they measured."""

    starts: tuple[tuple[BenchResult, ...], ...]

    @property
    def newest(self) -> BenchResult:
        return max((run for start in self.starts for run in start), key=lambda run: (run.began_at, run.bench_id))

    def values(self, get: Getter) -> list[float]:
        """One a start: the median over its runs. A speed or a time of nothing is no value."""
        every = ([value for run in start if (value := get(run)) is not None and value > 0.0] for start in self.starts)
        return [median(values) for values in every if values]

    def figure(self, get: Getter) -> float | None:
        """The geometric mean over the starts, so that figures and their ratio fit each other."""
        values = self.values(get)
        return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None

    def rates(self) -> list[float]:
        """tok/s of every single request of one stream that counts; none where requests are not at hand."""
        requests = [one for start in self.starts for run in start for one in run.requests]
        kept = [one for one in requests if one.c == 1 and not one.is_warm_up and one.error is None]
        return [one.decode_tps for one in kept if one.decode_tps]


def side_of(runs: Sequence[BenchResult]) -> Side:
    """The runs by their starts, the oldest first.

    The runs of one `run_id` are of one start of the server: several benchmarks of it are no replicates. Without a
    `run_id` nobody knows of how many starts they are: those of one server in one configuration count as one start,
    which claims too little rather than too much.
    """
    starts: dict[Hashable, list[BenchResult]] = {}
    for run in sorted(runs, key=lambda run: (run.began_at, run.bench_id)):
        place = (run.subject, run.node)
        starts.setdefault((place, run.run_id) if run.run_id else (place, None, run.system_key), []).append(run)
    return Side(tuple(map(tuple, starts.values())))


def figure_of(a: Side, b: Side) -> Figure | None:
    """What both can be compared by, on every start: one stream, else all streams, else prefill. None: nothing."""
    one = Figure("tok/s of one stream", lambda run: run.decode_tps, is_of_one_stream=True)
    prefill = Figure("tok/s of prefill", _prefill)
    is_prefill = a.newest.procedure is Procedure.PREFILL
    for figure in (prefill,) if is_prefill else (one, *_of_all_streams(a, b)):
        if all(len(side.values(figure.get)) == len(side.starts) for side in (a, b)):
            return figure
    return None


def _of_all_streams(a: Side, b: Side) -> Iterator[Figure]:
    """The most of the concurrencies at which every run has a steady window; else over the whole time, of every run.

    A steady window beside a whole time, or 32 streams beside 8, would be two quantities.
    """
    runs = [run for side in (a, b) for start in side.starts for run in start]
    for read, words in ((_steady_at, "tok/s of all streams"), (_total_at, "tok/s of all streams over the whole time")):
        streams = sorted({point.c for run in runs for point in run.points})
        getters = [get for c in streams if all((get := read(c))(run) is not None for run in runs)]
        if getters:
            yield Figure(words, _most_of(getters))


def _most_of(getters: Sequence[Getter]) -> Getter:
    def get(run: BenchResult) -> float | None:
        return max((value for one in getters if (value := one(run)) is not None), default=None)

    return get


def rows_of(a: Side, b: Side) -> tuple[MetricRow, ...]:
    """Every figure of both sides: the geometric mean over the starts."""
    return tuple(_rows(a, b))


def _rows(a: Side, b: Side) -> Iterator[MetricRow]:
    runs = [run for side in (a, b) for start in side.starts for run in start]
    if any(run.procedure is not Procedure.PREFILL for run in runs):
        for name in _ONE_STREAM:
            yield _row(name, _label(METRICS[name]), METRICS[name], _of_one_stream(name), a, b)
    steady = METRICS["agg_tps_steady"]
    for c in sorted({point.c for run in runs for point in run.points if point.c > 1 or point.steady}):
        label = f"tok/s of all streams at {c}, steady window"
        yield _row(f"agg_tps_steady at {c}", label, steady, _steady_at(c), a, b, missing=f"no steady window at {c}")
    if any(run.procedure is Procedure.PREFILL or run.slope is not None for run in runs):
        metric = METRICS["prefill_tps"]
        yield _row("prefill_tps", _label(metric), metric, _prefill, a, b, missing="no prefill slope could be measured")


def _row(
    name: str, label: str, metric: Metric, get: Getter, a: Side, b: Side, *, missing: str | None = None
) -> MetricRow:
    figures = {word: side.figure(get) for word, side in (("A", a), ("B", b))}
    reasons = {
        word: missing or why_missing(side.newest, name) for word, side in (("A", a), ("B", b)) if figures[word] is None
    }
    if len(set(reasons.values())) == 1 and len(reasons) == 2:
        why: str | None = reasons["A"]
    else:
        why = "; ".join(f"{word}: {reason}" for word, reason in reasons.items()) or None
    return MetricRow(name, label, figures["A"], figures["B"], metric.bigger_is_better, why)


def _label(metric: Metric) -> str:
    is_of_streams = metric.label.startswith(("one stream", "all streams"))
    return f"{metric.unit} of {metric.label}" if is_of_streams else f"{metric.label}, {metric.unit}"


def _of_one_stream(name: str) -> Getter:
    def get(run: BenchResult) -> float | None:
        value: float | None = getattr(run, name)
        return value

    return get


def _steady_at(c: int) -> Getter:
    def get(run: BenchResult) -> float | None:
        return next((point.agg_tps_steady for point in run.points if point.c == c and point.steady), None)

    return get


def _total_at(c: int) -> Getter:
    def get(run: BenchResult) -> float | None:
        return next((point.agg_tps_total for point in run.points if point.c == c), None)

    return get


def _prefill(run: BenchResult) -> float | None:
    return None if run.slope is None else run.slope.prefill_tps

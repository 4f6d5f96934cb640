"""The configurations of a series, the fastest first, with what can be said of each."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.series import SeriesStage, SeriesState, Trial, TrialState
from k2tui.core.benching.statistics import log_interval, median, welch_ratio
from k2tui.core.words import UNKNOWN

BEST = "best"
LIKE_BEST = "not distinguishable from the best"
SLOWER = "slower than the best"
UNTOLD = "one restart alone tells nothing of the next"
_HEAD = ("", "CONFIGURATION", "STARTS", "MEAN TOK/S", "95 %", "RATIO", "")


@dataclass(frozen=True, slots=True)
class RankRow:
    """One configuration. Speeds are tok/s; None where nothing was measured."""

    arm: int
    label: str
    place: int | None = None
    """1 is the fastest; None: it was never measured."""
    n: int = 0
    """Restarts whose measurement is valid."""
    mean_tps: float | None = None
    """Geometric mean over the restarts: what the interval is of."""
    median_tps: float | None = None
    low: float | None = None
    high: float | None = None
    """95 % interval over the restarts (t on logarithms); None below two."""
    ratio: float | None = None
    """Over the reference: the best, unless another was chosen."""
    ratio_low: float | None = None
    ratio_high: float | None = None
    """By Welch on logarithms, wide enough to hold for all pairs of configurations at once (Bonferroni)."""
    mark: str | None = None
    """BEST, LIKE_BEST, SLOWER or UNTOLD; None: it was never measured."""
    hung: int = 0
    failed: int = 0
    skipped: int = 0
    not_valid: int = 0
    """Measured, but a gate was red."""
    why: str | None = None
    """What went wrong first, with its reason; None where nothing did."""

    @property
    def remark(self) -> str:
        """Mark and trouble in a few words, for a table."""
        return "; ".join(part for part in (self.mark, self.why) if part)


@dataclass(frozen=True, slots=True)
class Ranking:
    """All configurations, the fastest first, those without a figure last."""

    rows: tuple[RankRow, ...]
    sentence: str
    best: int | None
    """The arm of the fastest; None: nothing was measured."""

    def lines(self) -> list[str]:
        """The table and the sentence as plain lines."""
        cells = [_HEAD, *(_cells(row) for row in self.rows)]
        widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD))]
        right = (0, 2, 3, 5)
        table = [
            "  ".join(
                cell.rjust(width) if column in right else cell.ljust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in cells
        ]
        return [*table, self.sentence]

    def json(self) -> list[dict[str, object]]:
        """The rows for programs; None for what is not known."""
        return [asdict(row) for row in self.rows]


def ranked(state: SeriesState, results: Sequence[BenchResult] = (), *, reference: int | None = None) -> Ranking:
    """What a series found so far.

    The value of a trial is the headline of its benchmark among `results`, else what the trial itself remembers; only
    valid ones count. `reference`: the arm that ratios are over; None: the best. Two configurations are told apart where
    Welch's interval, at 1 - 0.05 / number of pairs, does not hold 1: the best was picked because it looked best, so the
    ordinary 95 % would claim too much.
    """
    found = {result.bench_id: result for result in results}
    state = _of_one_work(state, found)
    values = {arm: _values(state, arm, found) for arm in range(len(state.plan.arms))}
    measured = {arm: logs for arm, logs in values.items() if logs}
    best = max(measured, key=lambda arm: (_mean(measured[arm]), -arm), default=None)
    over = reference if reference in measured else best
    pairs = max(1, len(measured) * (len(measured) - 1) // 2)
    rows = []
    for arm in range(len(state.plan.arms)):
        row = _troubles(state, arm, found)
        if arm in measured and best is not None and over is not None:
            row = _figures(row, measured, best, over, 1.0 - 0.05 / pairs)
        rows.append(row)
    rows.sort(key=lambda row: (row.mean_tps is None, -(row.mean_tps or 0.0), row.arm))
    rows = [replace(row, place=place if row.n else None) for place, row in enumerate(rows, 1)]
    return Ranking(tuple(rows), _sentence(state, rows), best)


def _of_one_work(state: SeriesState, found: Mapping[str, BenchResult]) -> SeriesState:
    """The series with trials of other work than most of the others marked as not valid (of two, the earlier counts)."""
    counts = Counter(key for trial in state.trials if _value(trial, found) and (key := _work(trial, found)) is not None)
    usual = max(counts, key=lambda key: counts[key], default=None)
    why = "its work is not that of the others: they can't be compared"
    trials = tuple(
        replace(trial, bench_id=None, valid=False, why=trial.why or why)
        if trial.state is TrialState.MEASURED and _work(trial, found) not in (None, usual)
        else trial
        for trial in state.trials
    )
    return replace(state, trials=trials)


def _work(trial: Trial, found: Mapping[str, BenchResult]) -> str | None:
    result = found.get(trial.bench_id or "")
    return trial.workload_key if result is None else result.workload_key


def _values(state: SeriesState, arm: int, found: Mapping[str, BenchResult]) -> tuple[float, ...]:
    every = (_value(trial, found) for trial in state.trials if trial.arm == arm)
    return tuple(value for value in every if value is not None)


def _value(trial: Trial, found: Mapping[str, BenchResult]) -> float | None:
    """Its tok/s, where it is valid."""
    if trial.state is not TrialState.MEASURED:
        return None
    result = found.get(trial.bench_id or "")
    value = result.headline if result is not None else trial.decode_tps
    is_valid = result.valid if result is not None else trial.valid is True
    return value if is_valid and value is not None and value > 0.0 else None


def _mean(values: Sequence[float]) -> float:
    """The geometric mean."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _troubles(state: SeriesState, arm: int, found: Mapping[str, BenchResult]) -> RankRow:
    trials = [trial for trial in state.trials if trial.arm == arm]
    counts = {what: sum(trial.state is what for trial in trials) for what in TrialState}
    not_valid = [t for t in trials if t.state is TrialState.MEASURED and _value(t, found) is None]
    row = RankRow(
        arm=arm,
        label=state.plan.arms[arm].label,
        hung=counts[TrialState.HUNG],
        failed=counts[TrialState.FAILED],
        skipped=counts[TrialState.SKIPPED],
        not_valid=len(not_valid),
    )
    return replace(row, why="; ".join(_reasons(trials, not_valid)) or None)


def _reasons(trials: Sequence[Trial], not_valid: Sequence[Trial]) -> Iterator[str]:
    """What went wrong, the first reason of each kind; what was skipped only where nothing else says why."""
    kinds = [
        ("hung", [trial for trial in trials if trial.state is TrialState.HUNG]),
        ("failed", [trial for trial in trials if trial.state is TrialState.FAILED]),
        ("not valid", list(not_valid)),
    ]
    if not kinds[0][1] and not kinds[1][1]:
        kinds.append(("skipped", [trial for trial in trials if trial.state is TrialState.SKIPPED]))
    for word, those in kinds:
        if those:
            times = "" if len(those) == 1 else f" {len(those)} times"
            reason = next((trial.why for trial in those if trial.why), None)
            yield f"{word}{times}" if reason is None else f"{word}{times}: {reason}"


def _figures(row: RankRow, measured: Mapping[int, Sequence[float]], best: int, over: int, confidence: float) -> RankRow:
    values = measured[row.arm]
    interval = log_interval(values)
    ratio = None if row.arm == over else welch_ratio(measured[over], values, confidence)
    return replace(
        row,
        n=len(values),
        mean_tps=_mean(values),
        median_tps=median(values),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        ratio=_mean(values) / _mean(measured[over]),
        ratio_low=None if ratio is None else ratio.low,
        ratio_high=None if ratio is None else ratio.high,
        mark=_mark(row.arm, measured, best, confidence),
    )


def _mark(arm: int, measured: Mapping[int, Sequence[float]], best: int, confidence: float) -> str:
    if arm == best:
        return BEST
    ratio = welch_ratio(measured[best], measured[arm], confidence)
    if ratio is None:
        return UNTOLD
    return LIKE_BEST if ratio.holds(1.0) else SLOWER


def _sentence(state: SeriesState, rows: Sequence[RankRow]) -> str:
    parts = []
    first = rows[0] if rows and rows[0].n else None
    if first is None:
        parts.append("nothing was measured")
    else:
        spread = "" if first.low is None or first.high is None else f"95 % {first.low:.1f} to {first.high:.1f}, "
        restarts = "1 restart" if first.n == 1 else f"{first.n} restarts"
        parts.append(f"best is {first.label}: {first.mean_tps:.1f} {_unit(state)} ({spread}{restarts})")
    alike = [row.label for row in rows if row.mark == LIKE_BEST]
    if alike:
        parts.append(f"not distinguishable from it: {', '.join(alike)}")
    untold = [row.label for row in rows if row.mark == UNTOLD]
    if untold:
        parts.append(f"with one restart nothing can be told of {', '.join(untold)}")
    never = [row for row in rows if not row.n]
    for word, those in (
        ("hung", [row for row in never if row.hung]),
        ("failed", [row for row in never if row.failed and not row.hung]),
        ("not valid", [row for row in never if row.not_valid and not row.failed and not row.hung]),
        ("skipped", [row for row in never if row.skipped and not (row.failed or row.hung or row.not_valid)]),
    ):
        if those:
            parts.append(f"{word}: {', '.join(row.label for row in those)}")
    is_over = state.stage in (SeriesStage.LEAVING, SeriesStage.DONE)
    return ("" if is_over else "so far: ") + "; ".join(parts)


def _unit(state: SeriesState) -> str:
    """What the figures are: of one stream, where one stream was measured at all."""
    return "tok/s of one stream" if 1 in state.plan.bench.concurrencies else "tok/s of all streams"


def _cells(row: RankRow) -> tuple[str, ...]:
    spread = UNKNOWN if row.low is None or row.high is None else f"{row.low:.1f} to {row.high:.1f}"
    return (
        UNKNOWN if row.place is None else str(row.place),
        row.label,
        str(row.n),
        UNKNOWN if row.mean_tps is None else f"{row.mean_tps:.1f}",
        spread,
        UNKNOWN if row.ratio is None else f"{row.ratio:.3f}",
        row.remark,
    )

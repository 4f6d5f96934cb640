"""B against A: what may be said, with its interval, and what would have to be done to say more.

Only valid runs of the same work count. The restart of the server is the replicate: requests of one start are alike in
what differs between starts (the rings that NCCL chose, graphs, clocks), so an interval over them says nothing of the
next start. Speeds are compared as ratios, by Welch's t on logarithms (`statistics.welch_ratio`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from k2tui.core.benching.comparison import Answer, Comparison
from k2tui.core.benching.differing import (
    causes,
    changed_words,
    changes_between,
    formulas_of,
    not_known,
    other_work,
    places_between,
)
from k2tui.core.benching.result import BenchResult
from k2tui.core.benching.sides import Figure, Side, figure_of, rows_of, side_of
from k2tui.core.benching.statistics import (
    Interval,
    bootstrap_ratio,
    pooled_cv,
    replicates,
    replicates_for_same,
    welch_ratio,
)

MARGIN = 0.02
"""A ratio that is surely nearer to 1 than this is no difference; the same both ways: 1 / 1.02 to 1.02."""
FEWEST = 2
"""Restarts of each side, below which there is no interval over restarts."""
FIRM = 4
"""Restarts of each side, below which a verdict is said to be indicative."""
_MOST_RESTARTS = 1_000
"""More restarts than this are no advice."""

_Work = tuple[str, "str | None"]


def compare(a: Sequence[BenchResult], b: Sequence[BenchResult]) -> Comparison:
    """B against A, each any number of runs; see `Comparison`.

    FASTER and SLOWER: the 95 % interval of the ratio over restarts does not hold 1. SAME goes before them: the interval
    lies inside of ±2 %. With one restart on a side the interval is over requests, and the answer stays INCONCLUSIVE,
    whatever it looks like. Where either side has runs of several workloads, the one that both have most restarts of
    counts.
    """
    left_out = tuple(dict.fromkeys(sentence for run in (*a, *b) if (sentence := why_not(run)) is not None))
    valid_a, valid_b = ([run for run in runs if run.valid] for runs in (a, b))
    for name, runs in (("A", valid_a), ("B", valid_b)):
        if not runs:
            reason = f": {left_out[0]}" if len(left_out) == 1 else ""
            return Comparison(Answer.NONE, f"no verdict: {name} has no valid run{reason}", left_out=left_out)
    work = _shared_work(valid_a, valid_b)
    if work is None:
        return Comparison(Answer.NONE, f"no verdict: {_unequal(valid_a, valid_b)}", left_out=left_out)
    left_out += tuple(dict.fromkeys(_of_other_work([*valid_a, *valid_b], work)))
    one, other = (side_of([run for run in runs if _work_of(run) == work]) for runs in (valid_a, valid_b))
    figure = figure_of(one, other)
    if figure is None:
        return Comparison(
            Answer.NONE,
            "no verdict: there is no figure that all their runs have",
            restarts_a=len(one.starts),
            restarts_b=len(other.starts),
            rows=rows_of(one, other),
            left_out=left_out,
        )
    return _with_changes(_judged(one, other, figure), one, other, left_out)


def why_not(run: BenchResult) -> str | None:
    """Why a run is not counted, in one sentence with its id; None for a valid one."""
    if run.valid:
        return None
    red = [f"{gate.id} is red: {gate.reason}" for gate in run.gates if gate.ok is False]
    if run.error is not None:
        red.insert(0, f"it failed: {run.error}")
    return f"{run.bench_id}: {'; '.join(red) or 'it has no figure'}"


def _work_of(run: BenchResult) -> _Work:
    return formulas_of(run), run.workload_key


def _shared_work(a: Sequence[BenchResult], b: Sequence[BenchResult]) -> _Work | None:
    """The work (with its formulas) that both sides did; of several the one with most restarts, then the newest."""

    def worth(work: _Work) -> tuple[int, float]:
        mine = [[run for run in runs if _work_of(run) == work] for runs in (a, b)]
        return min(len(side_of(runs).starts) for runs in mine), max(run.began_at for runs in mine for run in runs)

    shared = {_work_of(run) for run in a} & {_work_of(run) for run in b}
    return max((work for work in shared if work[1] is not None), key=worth, default=None)


def _unequal(a: Sequence[BenchResult], b: Sequence[BenchResult]) -> str:
    one, other = (max(runs, key=lambda run: run.began_at) for runs in (a, b))
    if formulas_of(one) != formulas_of(other):
        return f"their figures have other formulas: {formulas_of(one)} against {formulas_of(other)}"
    return f"the work is not the same: {other_work(one, other)}"


def _of_other_work(runs: Sequence[BenchResult], work: _Work) -> Iterator[str]:
    counted = next(run for run in runs if _work_of(run) == work)
    for run in runs:
        if formulas_of(run) != work[0]:
            yield f"{run.bench_id}: its figures have other formulas: {formulas_of(run)}"
        elif run.workload_key != work[1]:
            yield f"{run.bench_id}: other work: {other_work(run, counted)}"


def _judged(a: Side, b: Side, figure: Figure) -> Comparison:
    values_a, values_b = a.values(figure.get), b.values(figure.get)
    ratio = welch_ratio(values_a, values_b)
    if ratio is None:
        return replace(_indicated(a, b, figure), restarts_a=len(values_a), restarts_b=len(values_b))
    answer = _answer(ratio)
    more = _more(values_a, values_b, ratio) if answer is Answer.INCONCLUSIVE else None
    restarts = _restarts(len(values_a), len(values_b))
    sentence = f"{_ANSWERS[answer]}: {_figures(a, b, figure)}, {_ratio_words(ratio)}, {restarts})"
    if answer is Answer.INCONCLUSIVE:
        sentence += f"; {_more_words(more)}"
    elif min(len(values_a), len(values_b)) < FIRM:
        sentence += f"; indicative: {FIRM} restarts of each would make it firm"
    return Comparison(
        answer,
        sentence,
        ratio.value,
        ratio.low,
        ratio.high,
        basis="restarts",
        restarts_a=len(values_a),
        restarts_b=len(values_b),
        more_restarts=more,
    )


_ANSWERS = {
    Answer.FASTER: "B is faster",
    Answer.SLOWER: "B is slower",
    Answer.SAME: f"no difference beyond ±{MARGIN:.0%}".replace("%", " %"),
    Answer.INCONCLUSIVE: "inconclusive",
}


def _answer(ratio: Interval) -> Answer:
    if ratio.low >= 1.0 / (1.0 + MARGIN) and ratio.high <= 1.0 + MARGIN:
        return Answer.SAME
    if ratio.holds(1.0):
        return Answer.INCONCLUSIVE
    return Answer.FASTER if ratio.low > 1.0 else Answer.SLOWER


def _indicated(a: Side, b: Side, figure: Figure) -> Comparison:
    """One restart on a side: what the requests of these starts look like, and no more."""
    ratio = bootstrap_ratio(a.rates(), b.rates()) if figure.is_of_one_stream else None
    advice = f"{FEWEST} restarts of each give an interval over restarts"
    if ratio is None:
        mine, its = a.figure(figure.get), b.figure(figure.get)
        value = its / mine if mine and its else None
        seen = "" if value is None else f", ratio {value:.3f}"
        sentence = f"inconclusive: {_figures(a, b, figure)}{seen}, one restart alone has no interval; {advice}"
        return Comparison(Answer.INCONCLUSIVE, sentence, value)
    looks = "B looks faster" if ratio.low > 1.0 else "B looks slower" if ratio.high < 1.0 else "no difference is seen"
    only = "over requests, not restarts: indicative only, another start may differ by more"
    sentence = f"inconclusive: {looks}: {_figures(a, b, figure)}, {_ratio_words(ratio)} {only}); {advice}"
    return Comparison(Answer.INCONCLUSIVE, sentence, ratio.value, ratio.low, ratio.high, basis="requests")


def _more(a: Sequence[float], b: Sequence[float], ratio: Interval) -> int | None:
    """How many more restarts of each would decide it, by what varied and what was seen so far."""
    spread = pooled_cv(a, b)
    effect = max(ratio.value, 1.0 / ratio.value) - 1.0
    if not spread:
        return None
    enough = [replicates(spread, effect) if effect else None, replicates_for_same(spread, effect, MARGIN)]
    fewest = min((n for n in enough if n is not None), default=None)
    if fewest is None or fewest > _MOST_RESTARTS:
        return None
    return max(1, fewest - min(len(a), len(b)))


def _more_words(more: int | None) -> str:
    if more is None:
        return "no number of restarts that anyone would make decides it"
    restarts = "1 more restart" if more == 1 else f"{more} more restarts"
    return f"about {restarts} of each would decide it (80 % power)"


def _figures(a: Side, b: Side, figure: Figure) -> str:
    mine, its = a.figure(figure.get), b.figure(figure.get)
    return f"{its:.1f} against {mine:.1f} {figure.words}"


def _ratio_words(ratio: Interval) -> str:
    """`ratio 1.415 (95 % 1.39 to 1.44`: the bracket is left open."""
    digits = 2 if ratio.high - ratio.low >= 0.02 else 3
    return f"ratio {ratio.value:.3f} (95 % {ratio.low:.{digits}f} to {ratio.high:.{digits}f}"


def _restarts(a: int, b: int) -> str:
    return f"{a} restarts each" if a == b else f"{a} restarts of A and {b} of B"


def _with_changes(found: Comparison, a: Side, b: Side, left_out: tuple[str, ...]) -> Comparison:
    changes = (*places_between(a.newest, b.newest), *changes_between(a.newest.system, b.newest.system))
    own = causes(changes)
    mixed = [sentence for name, side in (("A", a), ("B", b)) for sentence in _mixed(name, side)]
    parts = [found.sentence, *mixed]
    if len(own) == 1:
        along = [change.name for change in changes if change not in own]
        also = f" (with {', '.join(along)})" if along else ""
        parts.append(f"one thing changed: {changed_words(own[0])}{also}")
    elif own:
        parts.append(f"confounded: {len(own)} things changed: {', '.join(change.name for change in own)}")
    unknown = not_known(a.newest.system, b.newest.system)
    if not changes and not unknown:
        parts.append("nothing known changed between them")
    if unknown:
        parts.append(f"not known of both: {', '.join(unknown)}")
    return replace(
        found,
        sentence="; ".join(parts),
        changes=changes,
        confounded=len(own) > 1 or bool(mixed),
        rows=rows_of(a, b),
        left_out=left_out,
    )


def _mixed(name: str, side: Side) -> Iterator[str]:
    """A side that is not one configuration: then nothing can be put down to it."""
    newest = side.newest
    runs = [run for start in side.starts for run in start if run.system_key != newest.system_key]
    names = dict.fromkeys(change.name for run in runs for change in changes_between(run.system, newest.system))
    every = (run for start in side.starts for run in start)
    names |= dict.fromkeys(change.name for run in every for change in places_between(run, newest))
    if names:
        yield f"{name} is not one configuration: its runs differ in {', '.join(names)}"

"""What was measured becomes a result: medians, spreads, notes, gates and keys.

Formulas of one request are the load generator's (`formula_set`). Here are those over requests: medians and percentiles
by numpy's `linear`, the interval of the mean by Student's t, CV as sample deviation over mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from k2tui.core.benching.facts import Measured, PointFigures, PrefillSlope, RequestFigures
from k2tui.core.benching.gates import gates_of
from k2tui.core.benching.keys import TOOL, key_of, system_key_of, workload_of
from k2tui.core.benching.plan import BenchPlan, BenchTarget, CachePolicy, Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, BenchSystem, GpuSample, Spread
from k2tui.core.benching.statistics import cv, mean_interval, median, percentile

LEAST_FOR_P99 = 100
"""Fewer values have no 99th percentile that means anything (`sglang.bench_serving` prints one of eight)."""
LEAST_OF_CUT = 0.25
"""Of the tokens that were asked for: a request that was cut before has a rate that says little."""

_OF_REQUEST = ("ttft_any_ms", "ttft_answer_ms", "e2e_ms", "decode_tps")
"""Figures of a request whose spread a point shows."""


def result_of(
    measured: Measured,
    *,
    plan: BenchPlan,
    target: BenchTarget,
    bench_id: str,
    began_at: float,
    system: BenchSystem | None = None,
    samples: Sequence[GpuSample] = (),
    run_id: str | None = None,
    profile: str | None = None,
    series_id: str | None = None,
    elapsed_s: float | None = None,
    tool_version: str = "",
) -> BenchResult:
    """The result of a measurement, whole or not: what was measured until it failed is kept. `began_at` is Unix time."""
    system = system or BenchSystem()
    system = replace(
        system,
        engine=system.engine or target.engine or measured.engine,
        version=system.version or measured.version,
        model=system.model or measured.model or target.model,
    )
    counted = _counted(measured, plan)
    # A slope has prompts of two lengths and a few tokens each: no rate and no TTFT of it is one of a stream.
    alone = [] if plan.procedure is Procedure.PREFILL else [one for one in counted if one.c == 1]
    rates = _figures(alone, "decode_tps")
    interval = mean_interval(rates)
    decode_tps = median(rates) if rates else None
    workload = workload_of(plan, target, measured)
    return BenchResult(
        bench_id=bench_id,
        subject=target.name,
        node=target.node,
        procedure=plan.procedure,
        began_at=began_at,
        tool=TOOL,
        tool_version=tool_version,
        formula_set=measured.formula_set or "",
        run_id=run_id,
        series_id=series_id,
        profile=profile,
        elapsed_s=elapsed_s if elapsed_s is not None else measured.wall_s,
        decode_tps=decode_tps,
        decode_tps_min=min(rates, default=None),
        decode_tps_max=max(rates, default=None),
        decode_tps_cv=cv(rates),
        decode_tps_low=None if interval is None else interval[0],
        decode_tps_high=None if interval is None else interval[1],
        e2e_tps=_median(alone, "e2e_tps"),
        ttft_any_ms=_median(alone, "ttft_any_ms"),
        ttft_answer_ms=_median(alone, "ttft_answer_ms"),
        tpot_ms=None if decode_tps is None else 1000.0 / decode_tps,
        slope=measured.slope,
        points=() if plan.procedure is Procedure.PREFILL else tuple(_points(measured, counted)),
        requests=measured.requests,
        gates=gates_of(measured, plan=plan, target=target, samples=samples),
        samples=tuple(samples),
        workload_key=key_of(workload) if measured.formula_set and measured.prompt_set else None,
        workload=workload,
        system_key=system_key_of(system),
        system=system,
        notes=tuple(_notes(measured, counted, plan, target)),
        error=_error(measured, counted),
    )


def spread_of(values: Iterable[float]) -> Spread | None:
    """Of single values; None of none."""
    found = sorted(values)
    if not found:
        return None
    return Spread(
        n=len(found),
        p50=percentile(found, 50),
        p90=percentile(found, 90),
        largest=found[-1],
        p99=percentile(found, 99) if len(found) >= LEAST_FOR_P99 else None,
        smallest=found[0],
    )


def spread_of_counts(counts: Mapping[float, int]) -> Spread | None:
    """Of values that were counted: the same as `spread_of` of each value so many times."""
    values = sorted(value for value, count in counts.items() if count > 0)
    if not values:
        return None
    ends = list(accumulate(counts[value] for value in values))
    n = ends[-1]

    def at(q: float) -> float:
        place = (n - 1) * q / 100.0
        below = int(place)
        low, high = _nth(values, ends, below), _nth(values, ends, min(below + 1, n - 1))
        return low + (high - low) * (place - below)

    return Spread(
        n=n, p50=at(50), p90=at(90), largest=values[-1], p99=at(99) if n >= LEAST_FOR_P99 else None, smallest=values[0]
    )


def _nth(values: Sequence[float], ends: Sequence[int], place: int) -> float:
    """The value at this place, from 0, of the sorted values; `ends` are their places added up."""
    return next(value for value, end in zip(values, ends, strict=True) if place < end)


def was_cut(request: RequestFigures) -> bool:
    """The measurement ended before it did."""
    return request.error is None and request.finish is None


def _counted(measured: Measured, plan: BenchPlan) -> list[RequestFigures]:
    """The requests whose figures count. One that was cut counts by rate and TTFT, and only where it came far enough."""
    done = [one for one in measured.requests if not one.is_warm_up and one.error is None]
    whole = [one for one in done if not was_cut(one)]
    cut = [replace(one, e2e_ms=None, e2e_tps=None) for one in done if was_cut(one)]
    least = LEAST_OF_CUT * plan.max_tokens if whole else 0.0
    return whole + [one for one in cut if (one.osl or 0) >= least]


def _figures(requests: Iterable[RequestFigures], name: str) -> list[float]:
    """Those that there are: a rate or a time of zero is none."""
    values = (getattr(one, name) for one in requests)
    return [value for value in values if value is not None and value > 0.0]


def _median(requests: Iterable[RequestFigures], name: str) -> float | None:
    values = _figures(requests, name)
    return median(values) if values else None


def _points(measured: Measured, counted: Sequence[RequestFigures]) -> Iterator[BenchPoint]:
    """By concurrency; one that was not finished has only what its requests tell."""
    told: dict[int, PointFigures] = {}
    for point in measured.points:
        # A concurrency that was measured twice: the one with a steady window, else the later one.
        if point.c not in told or point.steady or not told[point.c].steady:
            told[point.c] = point
    asked = {one.c for one in measured.requests if not one.is_warm_up}
    for c in sorted({*told, *asked}):
        mine = [one for one in counted if one.c == c]
        sent = [one for one in measured.requests if one.c == c and not one.is_warm_up]
        spreads = {name: spread_of(_figures(mine, name)) for name in _OF_REQUEST}
        tokens = [one.osl for one in sent if one.osl is not None]
        point = told.get(c) or PointFigures(
            c,
            sent=len(sent),
            failed=sum(one.error is not None for one in sent),
            output_tokens=sum(tokens) if tokens else None,
        )
        spreads |= {"icl_ms": spread_of_counts(point.icl_ms), "itl_ms": spread_of_counts(point.itl_ms)}
        yield BenchPoint(
            c=c,
            agg_tps_steady=point.agg_tps_steady or None,
            agg_tps_total=point.agg_tps_total or None,
            steady=point.steady and bool(point.agg_tps_steady),
            window_s=point.window_s,
            decode_tps=_median(mine, "decode_tps"),
            sent=point.sent,
            failed=point.failed,
            output_tokens=point.output_tokens,
            spreads={name: spread for name, spread in spreads.items() if spread is not None},
            tokens_per_chunk=point.tokens_per_chunk,
            wall_s=point.wall_s,
            prompt_tokens=point.prompt_tokens,
        )


def _error(measured: Measured, counted: Sequence[RequestFigures]) -> str | None:
    if measured.error is not None:
        return measured.error
    if not measured.ended:
        return "the measurement broke off before its end"
    if counted:
        return None
    failed = next((one.error for one in measured.requests if one.error is not None), None)
    return f"no request was answered: {failed}" if failed else "no request was answered"


def _notes(
    measured: Measured, counted: Sequence[RequestFigures], plan: BenchPlan, target: BenchTarget
) -> Iterator[str]:
    yield from measured.notes
    if target.node is None:
        yield "Measured from this machine, not on the server's node: the network is part of every time."
    yield from _notes_on_requests(measured, counted, plan)
    for point in measured.points:
        if plan.procedure is Procedure.SWEEP and not point.steady:
            window = "no window" if point.window_s is None else f"a window of {point.window_s:.1f} s"
            yield f"At c={point.c} there is {window} in which all streams ran: too short for a steady rate."
    if plan.procedure is Procedure.PREFILL and measured.prompt_lengths not in (None, plan.prompt_lengths):
        asked, made = plan.prompt_lengths[1], (measured.prompt_lengths or plan.prompt_lengths)[1]
        yield f"The long prompts have {made} tokens, not {asked}: the model takes no longer ones."
    if plan.seed is not None and plan.policy is not CachePolicy.WARM:
        yield f"Seed {plan.seed} makes the prompts of an earlier run with it again: a cache may know them."
    if measured.slope is not None:
        yield from _notes_on_slope(measured.slope)
    if plan.policy is CachePolicy.WARM:
        yield "The prompts were the same again: the cache may have had them, so TTFT is that of a warm cache."


def _notes_on_requests(measured: Measured, counted: Sequence[RequestFigures], plan: BenchPlan) -> Iterator[str]:
    ours = [one for one in measured.requests if not one.is_warm_up]
    done = [one for one in ours if one.error is None and not was_cut(one)]
    cut = [one for one in ours if was_cut(one)]
    if plan.procedure is Procedure.QUICK and measured.error is None and 0 < len(done) < plan.repeats:
        tight = measured.wall_s is not None and measured.wall_s < plan.budget_s
        why = "they agree so well" if tight else "the time was over"
        yield f"Ended early: {len(done)} of {plan.repeats} requests, in {_seconds(measured.wall_s)}; {why}."
    if cut:
        used = sum(map(was_cut, counted))
        kept = f"; {used or 'none'} of them came far enough for a rate"
        yield f"{_number(len(cut), 'request was', 'requests were')} cut when the time was over{kept}."
    if assumed := sum(one.c_first_assumed and one.decode_tps is not None for one in counted):
        yield (
            f"The server did not say how many tokens the first event carried; taken as one in "
            f"{_number(assumed, 'request', 'requests')}."
        )
    if counted and all(one.ttft_answer_ms is None for one in counted) and _figures(counted, "ttft_any_ms"):
        yield "No answer came within the tokens that were asked for, only reasoning or tool calls."


def _notes_on_slope(slope: PrefillSlope) -> Iterator[str]:
    if slope.prefill_tps is None:
        yield (
            f"Prompts of {slope.long_tokens:.0f} tokens took {slope.long_ms:.0f} ms to their first token, those of "
            f"{slope.short_tokens:.0f} took {slope.short_ms:.0f} ms: no prefill rate can be told from that."
        )


def _seconds(seconds: float | None) -> str:
    return "an unknown time" if seconds is None else f"{seconds:.0f} s"


def _number(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"

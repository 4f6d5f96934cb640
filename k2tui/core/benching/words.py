"""The names of what is measured, with unit and meaning: the same in tables, dialogs and plain commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from k2tui.core.benching.plan import Procedure
from k2tui.core.benching.result import BenchPoint, BenchResult, GateResult
from k2tui.core.words import UNKNOWN


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a benchmark."""

    name: str
    """As in the result's JSON."""
    label: str
    """What it is: whose, and what is in it."""
    unit: str
    digits: int
    bigger_is_better: bool

    def text(self, value: float | None) -> str:
        """`90.0 tok/s`; — where there is none, never 0."""
        return UNKNOWN if value is None else f"{value:,.{self.digits}f} {self.unit}".replace(",", " ")


METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("decode_tps", "one stream, without prefill", "tok/s", 1, True),
        Metric("e2e_tps", "one stream, with its prefill", "tok/s", 1, True),
        Metric("agg_tps_steady", "all streams together, steady window", "tok/s", 1, True),
        Metric("agg_tps_total", "all streams together, whole time", "tok/s", 1, True),
        Metric("ttft_any_ms", "TTFT, first token of any kind", "ms", 0, False),
        Metric("ttft_answer_ms", "TTFT, first token of the answer", "ms", 0, False),
        Metric("tpot_ms", "time a token after the first (1000 / tok/s)", "ms", 2, False),
        Metric("e2e_ms", "whole request", "ms", 0, False),
        Metric("icl_ms", "gap between two chunks", "ms", 2, False),
        Metric("itl_ms", "gap between two tokens", "ms", 2, False),
        Metric("prefill_tps", "prefill, slope over the prompt's length", "tok/s", 0, True),
        Metric("isl_over_ttft", "prompt tokens over TTFT (queue and first step in it)", "tok/s", 0, True),
    )
}

PROCEDURE_WORDS: Mapping[Procedure, str] = {
    Procedure.QUICK: "quick",
    Procedure.SWEEP: "sweep",
    Procedure.PREFILL: "prefill",
    Procedure.FULL: "full",
    Procedure.IMPORTED: "imported",
}


def headline(result: BenchResult) -> str:
    """The one figure with its name: `90.0 tok/s of one stream`, `1 284.0 tok/s of all streams, c=32`."""
    if result.decode_tps is not None:
        return f"{METRICS['decode_tps'].text(result.decode_tps)} of one stream"
    best = best_point(result)
    if best is not None:
        return _of_all(best)
    if result.slope is not None and result.slope.prefill_tps is not None:
        return f"{METRICS['prefill_tps'].text(result.slope.prefill_tps)} of prefill"
    return UNKNOWN


def best_of_several(result: BenchResult) -> str | None:
    """`592.6 tok/s of all streams, c=4`, of a sweep whose headline is its one stream; else None."""
    best = best_point(result)
    if result.decode_tps is None or best is None or best.c == 1:
        return None
    return _of_all(best)


def _of_all(point: BenchPoint) -> str:
    steady = point.steady and point.agg_tps_steady is not None
    value = point.agg_tps_steady if steady else point.agg_tps_total
    return f"{METRICS['agg_tps_steady'].text(value)} of all streams, c={point.c}"


def best_point(result: BenchResult) -> BenchPoint | None:
    """The concurrency of `best_total_tps`; None where no point has a figure."""
    most = result.best_total_tps
    if most is None:
        return None
    return next((point for point in result.points if most in (point.agg_tps_steady, point.agg_tps_total)), None)


def interval_words(result: BenchResult) -> str | None:
    """`±0.4 (95 % over 3 requests)`; None where there is no interval."""
    half = half_interval(result)
    if half is None:
        return None
    counted = sum(1 for one in result.requests if not one.is_warm_up and one.c == 1 and one.decode_tps is not None)
    over = f"{counted} requests" if counted else "its requests"
    return f"±{half:.1f} (95 % over {over})"


def half_interval(result: BenchResult) -> float | None:
    """Half of the 95 % interval of one stream, tok/s, over the requests of this one start; None where there is none."""
    low, high = result.decode_tps_low, result.decode_tps_high
    return None if low is None or high is None else (high - low) / 2


def gate_words(gates: tuple[GateResult, ...]) -> str:
    """`G1 to G7 ok`, or the red ones with their reasons; what could not be told is named."""
    red = [f"{gate.id}: {gate.reason}" for gate in gates if gate.ok is False]
    unknown = [gate.id for gate in gates if gate.ok is None]
    if red:
        return "; ".join(red)
    if not gates:
        return "no gate was looked at"
    told = "every gate ok" if not unknown else "no gate is red"
    return told if not unknown else f"{told}; not to be told: {', '.join(unknown)}"


def figure_rows(result: BenchResult) -> Iterator[tuple[str, str, str]]:
    """(label, value with unit, remark) of what was asked for, in the order in which it is read."""
    if result.procedure is Procedure.PREFILL:
        yield from _slope_rows(result)
        return
    spread = ""
    if result.decode_tps_min is not None and result.decode_tps_max is not None:
        parts = [f"{result.decode_tps_min:.1f} to {result.decode_tps_max:.1f}"]
        parts += [words] if (words := interval_words(result)) is not None else []
        parts += [] if result.decode_tps_cv is None else [f"CV {100 * result.decode_tps_cv:.1f} %"]
        spread = ", ".join(parts)
    names: tuple[str, ...] = ("decode_tps", "e2e_tps", "ttft_any_ms", "ttft_answer_ms", "tpot_ms")
    reasons = {why_missing(result, name) for name in names}
    if len(reasons) == 1 and all(getattr(result, name) is None for name in names):
        yield "figures of one stream", UNKNOWN, reasons.pop()
        names = ()
    for name in names:
        metric = METRICS[name]
        value = getattr(result, name)
        remark = spread if name == "decode_tps" else ""
        yield metric.label, metric.text(value), remark if value is not None else why_missing(result, name)
    if result.slope is not None:
        yield from _slope_rows(result)


def _slope_rows(result: BenchResult) -> Iterator[tuple[str, str, str]]:
    slope = result.slope
    told = ""
    if slope is not None:
        told = f"TTFT {slope.short_ms:.0f} ms of {slope.short_tokens:.0f} prompt tokens, "
        told += f"{slope.long_ms:.0f} ms of {slope.long_tokens:.0f}"
    for name, remark in (("prefill_tps", told), ("isl_over_ttft", "of the long prompts")):
        value = None if slope is None else getattr(slope, name)
        yield METRICS[name].label, METRICS[name].text(value), remark if value is not None else why_missing(result, name)


def why_missing(result: BenchResult, name: str) -> str:
    """Why there is no such figure, in a few words."""
    if result.error is not None:
        return "it failed"
    done = [one for one in result.requests if not one.is_warm_up and one.error is None]
    if result.requests and not done:
        return "no request came to its end"
    if any(one.usage_missing for one in done) and name in ("decode_tps", "e2e_tps", "tpot_ms"):
        return "the server does not count its tokens"
    if name in ("prefill_tps", "isl_over_ttft"):
        return _why_no_slope(result)
    if result.procedure is Procedure.PREFILL:
        return "a prefill slope does not measure it"
    if result.points and all(point.c != 1 for point in result.points):
        return "no single stream was measured"
    if name == "ttft_answer_ms" and any(one.ttft_any_ms is not None for one in done):
        return "no answer within the tokens that were asked for: reasoning or tool calls alone"
    return "it was not measured"


def _why_no_slope(result: BenchResult) -> str:
    if result.slope is not None and result.slope.prefill_tps is None:
        return "the long prompts took no longer than the short ones"
    return (
        "short and long prompts were not both answered"
        if result.procedure is Procedure.PREFILL
        else "it was not measured"
    )

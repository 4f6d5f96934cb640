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
        steady = best.steady and best.agg_tps_steady is not None
        value = best.agg_tps_steady if steady else best.agg_tps_total
        return f"{METRICS['agg_tps_steady'].text(value)} of all streams, c={best.c}"
    if result.slope is not None and result.slope.prefill_tps is not None:
        return f"{METRICS['prefill_tps'].text(result.slope.prefill_tps)} of prefill"
    return UNKNOWN


def best_point(result: BenchResult) -> BenchPoint | None:
    """The concurrency of `best_total_tps`; None where no point has a figure."""
    most = result.best_total_tps
    if most is None:
        return None
    return next((point for point in result.points if most in (point.agg_tps_steady, point.agg_tps_total)), None)


def interval_words(result: BenchResult) -> str | None:
    """`±0.4 (95 % over 3 requests)`; None where there is no interval."""
    low, high = result.decode_tps_low, result.decode_tps_high
    if low is None or high is None:
        return None
    counted = sum(1 for one in result.requests if not one.is_warm_up and one.c == 1 and one.decode_tps is not None)
    over = f"{counted} requests" if counted else "its requests"
    return f"±{(high - low) / 2:.1f} (95 % over {over})"


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
    """(label, value with unit, remark) of the figures of one stream, in the order in which they are read."""
    spread = ""
    if result.decode_tps_min is not None and result.decode_tps_max is not None:
        parts = [f"{result.decode_tps_min:.1f} to {result.decode_tps_max:.1f}"]
        parts += [words] if (words := interval_words(result)) is not None else []
        parts += [] if result.decode_tps_cv is None else [f"CV {result.decode_tps_cv:.1%}"]
        spread = ", ".join(parts)
    for name in ("decode_tps", "e2e_tps", "ttft_any_ms", "ttft_answer_ms", "tpot_ms"):
        metric = METRICS[name]
        value = getattr(result, name)
        remark = spread if name == "decode_tps" else ""
        yield metric.label, metric.text(value), remark if value is not None else why_missing(result, name)
    if result.slope is not None:
        slope = result.slope
        lengths = f"{slope.short_tokens:.0f} and {slope.long_tokens:.0f} prompt tokens"
        yield METRICS["prefill_tps"].label, METRICS["prefill_tps"].text(slope.prefill_tps), lengths
        yield METRICS["isl_over_ttft"].label, METRICS["isl_over_ttft"].text(slope.isl_over_ttft), "of the long prompts"


def why_missing(result: BenchResult, name: str) -> str:
    """Why there is no such figure, in a few words."""
    if result.error is not None:
        return "it failed"
    done = [one for one in result.requests if not one.is_warm_up and one.error is None]
    if result.requests and not done:
        return "no request came to its end"
    if any(one.usage_missing for one in done) and name in ("decode_tps", "e2e_tps", "tpot_ms"):
        return "the server does not count its tokens"
    if result.procedure is Procedure.PREFILL:
        return "a prefill slope does not measure it"
    if result.points and all(point.c != 1 for point in result.points):
        return "no single stream was measured"
    if name == "ttft_answer_ms" and any(one.ttft_any_ms is not None for one in done):
        return "no answer within the tokens that were asked for: reasoning or tool calls alone"
    return "it was not measured"

"""AIPerf's `profile_export_aiperf.json` (read in aiperf 0.13.0 `common/models/export_models.py`, schema 1.4).

Its ITL of a request is (latency - TTFT) / (tokens - those of the first chunk, or 1 without `--per-chunk-usage`), and
`output_token_throughput_per_user` is one over that. Metrics that it does not have are left out by itself.
"""

from __future__ import annotations

from k2tui.core.benching.figures import LEAST_FOR_P99
from k2tui.core.benching.gates import MOST_CACHED
from k2tui.core.benching.result import BenchPoint, BenchSystem, GateResult, Spread
from k2tui.core.benching.tools.fields import Document, at, lists, positive, setting, text, whole
from k2tui.core.benching.tools.made import Found, cache, failures, note, rate

TOOL = "aiperf"
_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3}


def is_aiperf(document: Document) -> bool:
    """An export of one run, not the aggregate of several."""
    return "aiperf_version" in document and "metrics" not in document


def of_aiperf(document: Document, mark: str) -> Found:
    """One measurement."""
    c, how = _streams(document)
    done, failed = (_count(document, name) for name in ("request_count", "error_request_count"))
    seconds = _milliseconds(document, "benchmark_duration", "avg")
    spreads = {
        "ttft_any_ms": _spread(document, "time_to_first_token"),
        "ttft_answer_ms": _spread(document, "time_to_first_output_token"),
        "e2e_ms": _spread(document, "request_latency"),
        "icl_ms": _spread(document, "inter_chunk_latency"),
        "decode_tps": _rates(document, "output_token_throughput_per_user"),
    }
    rates, ttft, answer = spreads["decode_tps"], spreads["ttft_any_ms"], spreads["ttft_answer_ms"]
    point = BenchPoint(
        c=c,
        agg_tps_total=positive(document, "output_token_throughput", "avg"),
        decode_tps=None if rates is None else rates.p50,
        sent=(done or 0) + (failed or 0),
        # It leaves out a count of errors that is zero.
        failed=failed if failed is not None else 0 if done is not None else None,
        output_tokens=_count(document, "total_osl") or _count(document, "total_output_tokens"),
        prompt_tokens=_count(document, "total_isl"),
        wall_s=None if seconds is None else seconds / 1e3,
        spreads={name: spread for name, spread in spreads.items() if spread is not None},
    )
    return Found(
        tool=TOOL,
        version=text(document, "aiperf_version") or "",
        mark=mark,
        workload=_workload(document, c),
        point=point,
        ttft_any_ms=None if ttft is None else ttft.p50,
        ttft_answer_ms=None if answer is None else answer.p50,
        e2e_tps=positive(document, "e2e_output_token_throughput", "p50"),
        elapsed_s=point.wall_s,
        system=BenchSystem(model=_model(document)),
        gates=(_tokens(document), cache(_cached(document), MOST_CACHED), failures(point.failed, done)),
        notes=note(how, _when(document)),
        error=_error(document, done),
    )


def _spread(document: Document, name: str) -> Spread | None:
    """A time, in whatever unit it is written."""
    scale = _MS.get(text(document, name, "unit") or "")
    return None if scale is None else _scaled(document, name, scale)


def _rates(document: Document, name: str) -> Spread | None:
    return _scaled(document, name, 1.0)


def _scaled(document: Document, name: str, scale: float) -> Spread | None:
    found = {part: positive(document, name, part) for part in ("p50", "p90", "p99", "min", "max")}
    scaled = {part: None if value is None else value * scale for part, value in found.items()}
    n = whole(document, name, "count")
    if scaled["p50"] is None:
        return None
    p99 = scaled["p99"] if n is None or n >= LEAST_FOR_P99 else None
    return Spread(n=n, p50=scaled["p50"], p90=scaled["p90"], largest=scaled["max"], p99=p99, smallest=scaled["min"])


def _milliseconds(document: Document, name: str, part: str) -> float | None:
    scale, value = _MS.get(text(document, name, "unit") or ""), positive(document, name, part)
    return None if scale is None or value is None else value * scale


def _count(document: Document, name: str) -> int | None:
    return whole(document, name, "avg")


def _streams(document: Document) -> tuple[int, str | None]:
    """The concurrency of the phase that was measured: the last one that is no warm-up."""
    phases = _phases(document)
    asked = [whole(phase, "concurrency") for phase in phases]
    if asked and asked[-1]:
        return asked[-1], None
    return 1, "The file does not say how many streams ran at the same time: taken as one."


def _phases(document: Document) -> list[object]:
    """Those that count."""
    return [
        phase
        for phase in lists(document, "input_config", "phases")
        if text(phase, "name") != "warmup" and at(phase, "exclude_from_results") is not True
    ]


def _workload(document: Document, c: int) -> dict[str, object]:
    config = at(document, "input_config")
    phases = _phases(document)
    names = ("type", "requests", "duration", "rate", "concurrency")
    phase = {name: setting(phases[-1], name) for name in names} if phases else {}
    return {
        "concurrencies": [c],
        "phase": phase,
        "datasets": [text(one, "type") or text(one, "name") for one in lists(config, "datasets")],
        "endpoint": setting(config, "endpoint", "type"),
        "mean_isl": setting(document, "input_sequence_length", "avg"),
        "requests": _count(document, "request_count"),
    }


def _model(document: Document) -> str | None:
    items = lists(document, "input_config", "models", "items")
    return text(items[0], "name") if items else None


def _tokens(document: Document) -> GateResult:
    if at(document, "usage_completion_tokens") is not None:
        return GateResult("G1", None, "could not be told: the server's usage is there, its counters are not")
    return GateResult("G1", None, "could not be told: tokens are the server's usage or a tokenizer's count")


def _cached(document: Document) -> float | None:
    return rate(
        positive(document, "usage_prompt_cache_read_tokens", "sum"), positive(document, "usage_prompt_tokens", "sum")
    )


def _when(document: Document) -> str | None:
    start = text(document, "start_time")
    return None if start is None else f"It ran at {start} by the clock of its machine."


def _error(document: Document, done: int | None) -> str | None:
    if at(document, "was_cancelled") is True:
        return "it was cancelled before its end"
    if at(document, "is_complete") is False:
        return text(document, "incomplete_reason") or "it is not complete, as the tool says"
    return "no request came to its end" if not done else None

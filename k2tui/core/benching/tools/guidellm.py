"""GuideLLM's JSON report (read in guidellm 0.8.1 `benchmark/schemas`): one measurement for each of its benchmarks.

Its words are not those of others: `time_per_output_token_ms` has the TTFT in it and is left out;
`inter_token_latency_ms` of a request is (last token - first) / (n - 1), what others call TPOT. A distribution without
values is written as zeros.
"""

from __future__ import annotations

from k2tui.core.benching.figures import LEAST_FOR_P99
from k2tui.core.benching.result import BenchPoint, BenchSystem, GateResult, Spread
from k2tui.core.benching.tools.fields import Document, at, lists, number, positive, setting, text, whole
from k2tui.core.benching.tools.made import Found, failures, note

TOOL = "guidellm"


def is_guidellm(document: Document) -> bool:
    """A report; its benchmarks have metrics by status."""
    return any(isinstance(at(one, "metrics", "inter_token_latency_ms"), dict) for one in lists(document, "benchmarks"))


def of_guidellm(document: Document, mark: str) -> list[Found]:
    """Its benchmarks, in order."""
    version = text(document, "metadata", "guidellm_version") or ""
    return [
        _found(one, f"{place} {text(one, 'config', 'id_')} {mark}", version)
        for place, one in enumerate(lists(document, "benchmarks"))
        if isinstance(one, dict)
    ]


def _found(one: Document, mark: str, version: str) -> Found:
    metrics = at(one, "metrics")
    done, failed, cut = (whole(metrics, "request_totals", name) for name in ("successful", "errored", "incomplete"))
    c, how = _streams(one)
    steps = _spread(metrics, "inter_token_latency_ms")
    spreads = {
        "ttft_any_ms": _spread(metrics, "time_to_first_token_ms"),
        "ttft_answer_ms": _spread(metrics, "time_to_first_output_token_ms"),
        "e2e_ms": _spread(metrics, "request_latency", 1e3),
    }
    ttft, answer = spreads["ttft_any_ms"], spreads["ttft_answer_ms"]
    # Its mean over time is the rate of all streams; the other numbers of it weigh moments, not requests.
    total = positive(metrics, "output_tokens_per_second", "successful", "mean")
    duration_s = positive(one, "duration")
    point = BenchPoint(
        c=c,
        agg_tps_total=total,
        decode_tps=None if steps is None else 1000.0 / steps.p50,
        sent=sum(count or 0 for count in (done, failed, cut)),
        failed=failed,
        output_tokens=_sum(metrics, "output_token_count"),
        prompt_tokens=_sum(metrics, "prompt_token_count"),
        wall_s=duration_s,
        spreads={name: spread for name, spread in spreads.items() if spread is not None},
    )
    return Found(
        tool=TOOL,
        version=version,
        mark=mark,
        workload=_workload(one, c),
        point=point,
        began_at=positive(one, "start_time"),
        ttft_any_ms=None if ttft is None else ttft.p50,
        ttft_answer_ms=None if answer is None else answer.p50,
        elapsed_s=duration_s,
        system=BenchSystem(model=text(one, "config", "backend", "model")),
        gates=(
            GateResult("G1", None, "could not be told: tokens are the server's usage, or one a chunk without it"),
            failures(failed, done),
        ),
        notes=note(
            how,
            "The total rate is that of the window between warm-up and cool-down."
            if positive(one, "warmup_duration") or positive(one, "cooldown_duration")
            else None,
            f"{cut} requests were cut when the time was over." if cut else None,
        ),
        error="no request came to its end" if done == 0 else None,
    )


def _spread(metrics: object, name: str, scale: float = 1.0) -> Spread | None:
    """Of the requests that came to their end; None where none has it."""
    status = at(metrics, name, "successful")
    n = whole(status, "count")
    median = positive(status, "median")
    if not n or median is None:
        return None
    largest, smallest, p90 = positive(status, "max"), positive(status, "min"), positive(status, "percentiles", "p90")
    p99 = positive(status, "percentiles", "p99") if n >= LEAST_FOR_P99 else None

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * scale

    return Spread(
        n=n,
        p50=median * scale,
        p90=scaled(p90),
        largest=scaled(largest),
        p99=scaled(p99),
        smallest=scaled(smallest),
    )


def _sum(metrics: object, name: str) -> int | None:
    total = number(metrics, name, "successful", "total_sum")
    return None if not total else round(total)


def _streams(one: Document) -> tuple[int, str | None]:
    """The concurrency of its strategy, and what is to be said of it."""
    strategy = at(one, "config", "strategy")
    if text(strategy, "type_") == "synchronous":
        return 1, None
    asked = whole(strategy, "streams") or whole(strategy, "max_concurrency")
    if asked:
        return asked, None
    mean = positive(one, "metrics", "request_concurrency", "successful", "mean")
    return max(1, round(mean or 1.0)), "No number of streams was set: c is the mean of requests at the same time."


def _workload(one: Document, c: int) -> dict[str, object]:
    config = at(one, "config")
    return {
        "strategy": setting(config, "strategy", "type_"),
        "rate": setting(config, "strategy", "rate"),
        "concurrencies": [c],
        "data": setting(config, "requests", "data"),
        "mean_isl": setting(one, "metrics", "prompt_token_count", "successful", "mean"),
        "mean_osl": setting(one, "metrics", "output_token_count", "successful", "mean"),
    }

"""From event logs to figures. The formulas are a contract: a change of any of them is a new FORMULA_SET.

What can't be said is None, never 0. Each function says whose formula it is; docs/benchmarks.md has them side by side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k2tui.remote.load_stream import CONTENT, PAYLOAD, REASONING, Stream, whole
from k2tui.remote.load_tokens import Tokens

FORMULA_SET = "k2-1"

BUCKET = math.log(1.01)
LEAST_MS = 0.001
"""Chunks that were read in one go have no gap: they are counted as a microsecond."""
STEADY_S = 10.0
STEADY_REQUESTS = 2.0

# Student's t, two-sided 95 %, by degrees of freedom from 1 to 30: any table of the distribution. Above, that of 30,
# which is a little wider.
_TABLE = (
    "12.706 4.303 3.182 2.776 2.571 2.447 2.365 2.306 2.262 2.228 2.201 2.179 2.160 2.145 2.131 "
    "2.120 2.110 2.101 2.093 2.086 2.080 2.074 2.069 2.064 2.060 2.056 2.052 2.048 2.045 2.042"
)
_T = tuple(map(float, _TABLE.split()))


def ttft_any_ms(log: Stream) -> float | None:
    """Milliseconds from the write of the request to the first text of any kind: reasoning, content or tool call.

    guidellm's and aiperf's TTFT. A role or an empty delta is no token (`vllm bench serve` takes it as one).
    """
    return _ms_to_first(log, PAYLOAD)


def ttft_answer_ms(log: Stream) -> float | None:
    """Milliseconds to the first content: guidellm's TTFOT, aiperf's TTFO. None where there was only reasoning."""
    return _ms_to_first(log, (CONTENT,))


def e2e_ms(log: Stream, tokens: Tokens) -> float | None:
    """Milliseconds from the write of the request to its last token, which usage and `[DONE]` come after."""
    return (tokens.times[-1] - log.sent_at) * 1000 if tokens.times else None


def decode_tps(tokens: Tokens) -> float | None:
    """(c_last - c_first) / (t_last - t_first): tok/s of one stream without its prefill.

    1000 / TPOT of `vllm bench serve` and `sglang.bench_serving`, but t_last is that of the last token, and c_first is
    counted where the server does: a first event that bundles tokens would make it too fast
    (github.com/ai-dynamo/aiperf/pull/1279).
    """
    if len(tokens.times) < 2 or tokens.last is None:
        return None
    made = tokens.last - (tokens.counts[0] if tokens.counts else 1)
    return _rate(made, tokens.times[-1] - tokens.times[0])


def e2e_tps(log: Stream, tokens: Tokens) -> float | None:
    """c_last / (t_last - t_send): tok/s of one stream with its prefill, as genai-bench and llm-grill have it."""
    if not tokens.times or tokens.last is None:
        return None
    return _rate(tokens.last, tokens.times[-1] - log.sent_at)


def request_figures(log: Stream, number: int, c: int, began_at: float, is_warm_up: bool) -> dict[str, Any]:
    """One request, by the names of the wire format. `began_at` is where its times count from."""
    tokens = Tokens(log)
    usage = log.usage or {}
    return {
        "c": c,
        "number": number,
        "began_s": rounded(log.sent_at - began_at),
        "e2e_ms": rounded(e2e_ms(log, tokens)),
        "isl": whole(usage.get("prompt_tokens")),
        "osl": tokens.total,
        "reasoning_tokens": reasoning_tokens(log),
        "cached": _detail(usage, "prompt_tokens_details", "cached_tokens"),
        "ttft_any_ms": rounded(ttft_any_ms(log)),
        "ttft_answer_ms": rounded(ttft_answer_ms(log)),
        "decode_tps": rounded(decode_tps(tokens)),
        "e2e_tps": rounded(e2e_tps(log, tokens)),
        "chunks": len(tokens.times),
        "c_first_assumed": bool(tokens.times) and tokens.first_assumed,
        "usage_missing": log.error is None and tokens.total is None,
        "finish": log.finish,
        "matched": log.matched,
        "error": log.error,
        "is_warm_up": is_warm_up,
    }


def reasoning_tokens(log: Stream) -> int | None:
    """As the server counts them. Older SGLang says 0 whatever it thought: that is no count."""
    usage = log.usage or {}
    told = _detail(usage, "completion_tokens_details", "reasoning_tokens")
    told = whole(usage.get("reasoning_tokens")) if told is None else told
    return None if told == 0 and any(event[1] == REASONING for event in log.events) else told


def steady_window(wave: Sequence[Tokens], under_at: float | None) -> tuple[float, float] | None:
    """[last first token of the initial wave, first moment with fewer than c in flight]; None where there is none.

    The window of `sglang.bench_one_batch_server`, for streams that are replenished.
    """
    firsts = [tokens.times[0] for tokens in wave if tokens.times]
    if not firsts or len(firsts) < len(wave) or under_at is None or under_at <= max(firsts):
        return None
    return max(firsts), under_at


def tps_between(streams: Iterable[Tokens], low: float, high: float) -> float | None:
    """Tokens of all streams inside of a window, straight between two events, by its length; None: not all counted."""
    made = 0.0
    for tokens in streams:
        before, after = tokens.until(low), tokens.until(high)
        if before is None or after is None:
            return None
        made += after - before
    return _rate(made, high - low)


def mean_e2e_s(logs: Iterable[Stream]) -> float | None:
    """Of requests that came to their end."""
    times = [log.ended_at - log.sent_at for log in logs if log.ended_at is not None and log.error is None]
    return sum(times) / len(times) if times else None


def point_figures(
    c: int, logs: Sequence[Stream], wave: Sequence[Stream], under_at: float | None, began_at: float, ended_at: float
) -> dict[str, Any]:
    """All of one concurrency, by the names of the wire format. `wave`: those of the logs that it began with."""
    by_log = {id(log): Tokens(log) for log in logs}
    failed = sum(log.error is not None for log in logs)
    # One that was cut before its first token made none that anybody could count.
    whole_ones = [log for log in logs if log.error is None and (by_log[id(log)].times or not log.was_cut)]
    whole_tokens = [by_log[id(log)] for log in whole_ones]
    with_tokens = whole_tokens + [by_log[id(log)] for log in logs if log.error is not None and by_log[id(log)].times]
    totals = [tokens.total for tokens in whole_tokens]
    prompts = [whole((log.usage or {}).get("prompt_tokens")) for log in whole_ones]
    first_wave = [by_log[id(log)] for log in wave if log.error is None or by_log[id(log)].times]
    window = steady_window(first_wave, under_at)
    mean_s = mean_e2e_s(logs)
    output = _sum(totals)
    window_s = None if window is None else window[1] - window[0]
    return {
        "c": c,
        "agg_tps_steady": None if window is None else rounded(tps_between(with_tokens, *window)),
        "agg_tps_total": None if output is None else rounded(_rate(output, ended_at - began_at)),
        "steady": window_s is not None and mean_s is not None and window_s >= max(STEADY_S, STEADY_REQUESTS * mean_s),
        "window_s": rounded(window_s),
        "wall_s": rounded(ended_at - began_at),
        "sent": len(logs),
        "failed": failed,
        "output_tokens": output,
        "prompt_tokens": _sum(prompts),
        **histograms(with_tokens),
    }


def histograms(streams: Iterable[Tokens]) -> dict[str, dict[str, int]]:
    """Gaps of chunks, gaps a token (the gap by the tokens that came with it, once for each) and tokens a chunk.

    `sglang.bench_serving` and `vllm bench serve` call the first one ITL; aiperf keeps both apart as it is done here.
    """
    icl: dict[int, int] = {}
    itl: dict[int, int] = {}
    sizes: dict[int, int] = {}
    for tokens in streams:
        times, counts = tokens.times, tokens.counts
        if counts and not tokens.first_assumed:
            sizes[counts[0]] = sizes.get(counts[0], 0) + 1
        for place in range(1, len(times)):
            gap_ms = (times[place] - times[place - 1]) * 1000
            bucket = bucket_of(gap_ms)
            icl[bucket] = icl.get(bucket, 0) + 1
            if counts:
                made = counts[place] - counts[place - 1]
                sizes[made] = sizes.get(made, 0) + 1
                bucket = bucket_of(gap_ms / made)
                itl[bucket] = itl.get(bucket, 0) + made
    return {
        "icl_ms": {middle_of(bucket): icl[bucket] for bucket in sorted(icl)},
        "itl_ms": {middle_of(bucket): itl[bucket] for bucket in sorted(itl)},
        "tokens_per_chunk": {str(size): sizes[size] for size in sorted(sizes)},
    }


def bucket_of(value_ms: float) -> int:
    """The bucket of a gap; each is 1 % wide."""
    return math.floor(math.log(max(value_ms, LEAST_MS)) / BUCKET)


def middle_of(bucket: int) -> str:
    """The middle of a bucket in ms, as the wire has it."""
    return f"{math.exp((bucket + 0.5) * BUCKET):.5g}"


def prefill_slope(short: Sequence[tuple[float, float]], long: Sequence[tuple[float, float]]) -> dict[str, Any] | None:
    """(P2 - P1) / (ttft(P2) - ttft(P1)) over medians of (uncached prompt tokens, TTFT in ms); None without both.

    The slope is free of queue, round trip and first decode step, which ISL / TTFT (aiperf's "prefill throughput per
    user") holds.
    """
    if not short or not long:
        return None
    p1, p2 = (quantile([tokens for tokens, _ in some], 0.5) for some in (short, long))
    t1, t2 = (quantile([ttft for _, ttft in some], 0.5) for some in (short, long))
    return {
        "short_tokens": rounded(p1),
        "long_tokens": rounded(p2),
        "short_ms": rounded(t1),
        "long_ms": rounded(t2),
        "prefill_tps": rounded(_rate(p2 - p1, (t2 - t1) / 1000)),
        "isl_over_ttft": rounded(_rate(p2, t2 / 1000)),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """Straight between the two values next to it: numpy's `linear`."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def half_width(values: Sequence[float]) -> float | None:
    """Half of Student's 95 % interval of the mean, as a share of the mean; None below two values."""
    n = len(values)
    if n < 2:
        return None
    mean = sum(values) / n
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    return _T[min(n - 1, len(_T)) - 1] * deviation / math.sqrt(n) / mean if mean > 0 else None


def rounded(value: float | None) -> float | None:
    """As much as a clock can say."""
    return None if value is None else round(value, 4)


def _rate(made: float, seconds: float) -> float | None:
    return made / seconds if made > 0 and seconds > 0 else None


def _ms_to_first(log: Stream, kinds: Iterable[int]) -> float | None:
    return next(((at - log.sent_at) * 1000 for at, kind, _, _ in log.events if kind in kinds), None)


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known and len(known) == len(counts) else None


def _detail(usage: Mapping[str, Any], details: str, name: str) -> int | None:
    inside = usage.get(details)
    return whole(inside.get(name)) if isinstance(inside, dict) else None

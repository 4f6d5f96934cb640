"""Result files of `sglang.bench_serving` (a JSON object a line) and of `vllm bench serve`, which it comes from.

Read in sglang 0.5.23 `benchmark/serving.py` and vllm `benchmarks/serve.py`. Both write 0 for times that they have not;
their TPOT is (latency - TTFT) / (n - 1), which takes the first chunk as one token; their `max_output_tokens_per_s`
counts chunks and is left out.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from k2tui.core.benching.figures import LEAST_FOR_P99, spread_of
from k2tui.core.benching.gates import MOST_CACHED
from k2tui.core.benching.keys import system_of
from k2tui.core.benching.result import BenchPoint, BenchSystem, GateResult, Spread
from k2tui.core.benching.tools.fields import Document, at, lists, number, positive, setting, text, values, whole
from k2tui.core.benching.tools.made import Found, cache, failures, note, rate
from k2tui.core.engine_flags import release
from k2tui.core.errors import K2Error

SGLANG, VLLM = "sglang.bench_serving", "vllm bench serve"
_NATIVE = ("sglang", "sglang-native")
"""Backends whose tokens are counted by the server's `meta_info`; with the others `bench_serving` does not ask for usage
and takes the length that it asked for where none comes."""
_RETOKENIZED = (0.8, 1.25)
"""The text tokenised again over the tokens that were counted: outside, one of the two is wrong."""


def is_sglang(document: Document) -> bool:
    """One line of `bench_serving`."""
    return "total_output_tokens_retokenized" in document and "median_ttft_ms" in document


def is_vllm(document: Document) -> bool:
    """A result of `vllm bench serve`; it has no version in it."""
    return "endpoint_type" in document and "total_token_throughput" in document


def of_sglang(document: Document, mark: str) -> Found:
    """One measurement."""
    server = at(document, "server_info")
    version = text(server, "version") or ""
    tokens = _sglang_tokens(document)
    return _found(
        document,
        mark,
        SGLANG,
        version,
        "itl_ms" if text(document, "backend") in _NATIVE else "icl_ms",
        _system(server, version) if isinstance(server, Mapping) else BenchSystem(),
        (tokens, cache(_cached_share(document), MOST_CACHED)),
    )


def of_vllm(document: Document, mark: str) -> Found:
    """One measurement."""
    tokens = GateResult("G1", None, "could not be told: usage, or the text tokenised again where none came")
    system = BenchSystem(model=text(document, "model_id"))
    notes = note(
        "TTFT ends at the first event that has choices; in a chat that may be one without any text.",
        _clock(text(document, "date")),
    )
    return _found(document, mark, VLLM, "", "icl_ms", system, (tokens,), notes)


def _found(
    document: Document,
    mark: str,
    tool: str,
    version: str,
    gaps: str,
    system: BenchSystem,
    gates: tuple[GateResult, ...],
    notes: tuple[str, ...] = (),
) -> Found:
    times = _times(document)
    done, failed = whole(document, "completed"), _failed(document)
    c, how = _streams(document, done)
    output, duration_s = whole(document, "total_output_tokens"), positive(document, "duration")
    spreads = {
        "ttft_any_ms": times.ttft,
        "e2e_ms": _spread(document, "e2e_latency", done) or _spread(document, "e2el", done),
        gaps: times.gaps,
    }
    point = BenchPoint(
        c=c,
        agg_tps_total=positive(document, "output_throughput") if output else None,
        decode_tps=times.decode_tps,
        sent=(done or 0) + (failed or 0),
        failed=failed,
        output_tokens=output or None,
        prompt_tokens=whole(document, "total_input_tokens") or None,
        wall_s=duration_s,
        spreads={name: spread for name, spread in spreads.items() if spread is not None},
    )
    return Found(
        tool=tool,
        version=version,
        mark=mark,
        workload=_workload(document, done, failed),
        point=point,
        ttft_any_ms=None if times.ttft is None else times.ttft.p50,
        elapsed_s=duration_s,
        system=system,
        gates=(*gates, failures(failed, done)),
        notes=note(*times.notes, how, *notes),
        error="no request came to its end" if done == 0 else None,
    )


@dataclass(frozen=True, slots=True)
class _Times:
    ttft: Spread | None
    gaps: Spread | None
    decode_tps: float | None
    notes: tuple[str, ...]


def _times(document: Document) -> _Times:
    """Times that are there. A TTFT of zero means that the tool saw no token, and TPOT then has the prefill in it."""
    done = whole(document, "completed")
    ttft = spread_of(1000.0 * value for value in values(document, "ttfts")) or _spread(document, "ttft", done)
    single = [1000.0 * gap for one in lists(document, "itls") for gap in values({"gaps": one}, "gaps")]
    gaps = spread_of(single) or _spread(document, "itl", None)
    tpot_ms = positive(document, "median_tpot_ms")
    if positive(document, "median_ttft_ms") is None:
        why = (
            "The tool saw no first token (it wrote a TTFT of 0): TTFT and the rate of one stream are not known. "
            "bench_serving before sgl-project/sglang#23954 does not see reasoning."
        )
        return _Times(None, None, None, (why,))
    missing = None if tpot_ms is not None else "The tool gives no time between tokens: there is no rate of one stream."
    return _Times(ttft, gaps, None if tpot_ms is None else 1000.0 / tpot_ms, note(missing))


def _spread(document: Document, name: str, n: int | None) -> Spread | None:
    """What the summary says of one time; it has no largest value, and older versions have no 90th percentile."""
    median = positive(document, f"median_{name}_ms")
    if median is None:
        return None
    p99 = positive(document, f"p99_{name}_ms") if n is None or n >= LEAST_FOR_P99 else None
    return Spread(n=n, p50=median, p90=positive(document, f"p90_{name}_ms"), p99=p99)


def _streams(document: Document, done: int | None) -> tuple[int, str | None]:
    """The concurrency, and what is to be said of it."""
    asked = whole(document, "max_concurrency")
    if asked:
        return asked, None
    most = whole(document, "max_concurrent_requests") or done
    return most or 1, "No limit of concurrency was set: c is the most requests at the same time."


def _failed(document: Document) -> int | None:
    """How many requests failed; None where the file does not say."""
    counted = whole(document, "failed")
    if counted is not None:
        return counted
    errors = at(document, "errors")
    return sum(bool(error) for error in errors) if isinstance(errors, list) else None


def _workload(document: Document, done: int | None, failed: int | None) -> dict[str, object]:
    """What two runs must have in common."""
    names = ("backend", "dataset_name", "request_rate", "max_concurrency", "burstiness")
    lengths = ("sharegpt_output_len", "random_input_len", "random_output_len", "random_range_ratio")
    work = {name: setting(document, name) for name in (*names, *lengths)}
    count = whole(document, "num_prompts") or (None if done is None else done + (failed or 0))
    # Where no lengths stand there, the tokens that went in tell one set of prompts from another.
    return {**work, "num_prompts": count, "total_input_tokens": whole(document, "total_input_tokens")}


def _sglang_tokens(document: Document) -> GateResult:
    """G1: whether the tokens were counted, or the length that was asked for was taken for them."""
    backend = text(document, "backend") or "?"
    counted, again = (number(document, f"total_output_tokens{end}") for end in ("", "_retokenized"))
    if not counted:
        return GateResult("G1", False, "no output token was counted")
    if backend in _NATIVE:
        return GateResult("G1", True, f"{counted:.0f} tokens as the server's meta_info says")
    why = f"backend {backend} does not ask for usage: where none comes, the length that was asked for is taken"
    share = rate(again, counted)
    if share is not None and not _RETOKENIZED[0] <= share <= _RETOKENIZED[1]:
        return GateResult("G1", False, f"{counted:.0f} tokens, but its text has {again:.0f}; {why}")
    return GateResult("G1", None, f"could not be told: {why}")


def _cached_share(document: Document) -> float | None:
    """With `--cache-report`."""
    cached = number(document, "cache_report", "total_cached_tokens")
    return None if cached is None else rate(cached, number(document, "cache_report", "total_prompt_tokens"))


def _system(server: Document, version: str) -> BenchSystem:
    """What `/server_info` says of the server: its command in newer versions, else what is not as it is by default."""
    command = server.get("launch_command")
    try:
        argv = shlex.split(command) if isinstance(command, str) else list(_resolved(server, version))
    except ValueError:
        argv = list(_resolved(server, version))
    return system_of(
        argv=argv,
        engine="sglang",
        model=text(server, "model_path"),
        version=version or None,
        quantization=text(server, "quantization"),
    )


def _resolved(server: Document, version: str) -> Iterator[str]:
    """The settings that this release would not have by itself, as a command."""
    try:
        flags = release("sglang", version).flags
    except K2Error:
        return
    yield from ("python3", "-m", "sglang.launch_server")
    for flag in flags:
        value = server.get(flag.name.replace("-", "_"))
        if isinstance(value, bool):
            if value and flag.default in (None, "None", "False"):
                yield f"--{flag.name}"
        elif isinstance(value, str | int | float) and str(value) not in ("", flag.default):
            yield f"--{flag.name}={value}"


def _clock(date: str | None) -> str | None:
    return None if date is None else f"It ran at {date} by the clock of its machine."

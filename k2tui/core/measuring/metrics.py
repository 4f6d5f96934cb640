"""Which metric of which engine and version says what of a server's work.

Engines rename their metrics from one version to the next, so that each quantity has a list of names, best first;
names and labels of SGLang 0.4.6 to 0.5.23 and of vLLM 0.6 to 0.32.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from k2tui.core.figures import whole
from k2tui.core.measuring.latency import Histogram, merged
from k2tui.core.measuring.look import Counters, Look, RankLook
from k2tui.core.measuring.prometheus import MetricsReader, Sample, Samples

RUNNING = ("num_running_reqs", "num_requests_running")
WAITING = ("num_queue_reqs", "num_requests_waiting")
KV_USAGE = ("token_usage", "full_token_usage", "kv_cache_usage_perc", "gpu_cache_usage_perc")
GAUGE = ("gen_throughput", "avg_generation_throughput_toks_per_s")
CAPACITY = ("max_total_num_tokens",)
MOST_RUNNING = ("max_running_requests",)
ACCEPT_LENGTH = ("spec_accept_length",)
REALTIME = "realtime_tokens_total"
"""SGLang 0.5.8 and later, by mode: counted at each step, where `generation_tokens_total` waits for a request's end."""
GENERATED = ("generation_tokens_total",)
PROMPT = ("prompt_tokens_total",)
BY_SOURCE = "prompt_tokens_by_source_total"
CACHED = ("cached_tokens_total", "prompt_tokens_cached_total")
CACHE_HITS = ("prefix_cache_hits_total", "gpu_prefix_cache_hits_total")
CACHE_ASKED = ("prefix_cache_queries_total", "gpu_prefix_cache_queries_total")
RETRACTED = ("num_retracted_requests_total", "num_preemptions_total")
DRAFTS = ("spec_decode_num_drafts_total",)
ACCEPTED = ("spec_decode_num_accepted_tokens_total",)
TTFT = ("time_to_first_token_seconds",)
ITL = ("inter_token_latency_seconds", "time_per_output_token_seconds", "request_time_per_output_token_seconds")
E2E = ("e2e_request_latency_seconds",)
ACTIVE = "http_requests_active"
BLOCKS = "cache_config_info"

_GAUGES = (*RUNNING, *WAITING, *KV_USAGE, *GAUGE, *CAPACITY, *MOST_RUNNING, *ACCEPT_LENGTH, ACTIVE, BLOCKS)
_COUNTERS = (REALTIME, *GENERATED, *PROMPT, BY_SOURCE, *CACHED, *CACHE_HITS, *CACHE_ASKED)
_FEW = (*RETRACTED, *DRAFTS, *ACCEPTED)
_HISTOGRAMS = tuple(f"{name}_bucket" for name in (*TTFT, *ITL, *E2E))
_READER = MetricsReader((*_GAUGES, *_COUNTERS, *_FEW, *_HISTOGRAMS))

_SAME_WORK = ("tp_rank", "pp_rank", "moe_ep_rank", "pid")
"""Labels of processes that work on the same streams: their figures do not add up."""
_ENGINE_PARTS = ("/generate", "/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages", "/api/chat")


def of_metrics(body: bytes, at: float) -> Look | None:
    """A `/metrics` reply at time.monotonic `at`; None when it holds nothing of an engine's work."""
    samples = _READER.read(body)
    ranks = _ranks(samples)
    counters = _counters(samples)
    if not ranks and counters == Counters():
        return None
    return Look(at, "metrics", ranks, counters, _active(samples))


def _ranks(samples: Samples) -> tuple[RankLook, ...]:
    running, waiting = _first(samples, RUNNING), _first(samples, WAITING)
    usage, gauge = _first(samples, KV_USAGE), _first(samples, GAUGE)
    capacity, most, accepted = _first(samples, CAPACITY), _first(samples, MOST_RUNNING), _first(samples, ACCEPT_LENGTH)
    blocks = _blocks(samples.get(BLOCKS, ()))
    decoded = _by_rank(_with(samples.get(REALTIME, ()), "mode", "decode"))
    return tuple(
        RankLook(
            rank=rank,
            running=_count(running.get(rank)),
            waiting=_count(waiting.get(rank)),
            kv_usage=None if rank not in usage else min(1.0, usage[rank]),
            gauge_tokens_per_s=gauge.get(rank),
            decode_tokens=decoded.get(rank),
            capacity_tokens=_count(capacity.get(rank, blocks.get(rank))) or None,
            most_running=_count(most.get(rank)) or None,
            accept_length=accepted.get(rank) or None,  # 0: no speculative decoding
        )
        for rank in sorted({*running, *waiting, *usage})
    )


def _counters(samples: Samples) -> Counters:
    realtime = samples.get(REALTIME, ())
    decode = _total(_with(realtime, "mode", "decode")) if realtime else _total_of(samples, GENERATED)
    computed, cached = _prompts(samples)
    hits, asked = _total_of(samples, CACHE_HITS), _total_of(samples, CACHE_ASKED)
    if asked is None and computed is not None:
        hits, asked = cached or 0.0, computed + (cached or 0.0)
    return Counters(
        decode_tokens=decode,
        by_step=bool(realtime) or RUNNING[0] not in samples,
        prefill_tokens=computed,
        cache_hits=hits,
        cache_asked=asked,
        retracted=_total_of(samples, RETRACTED),
        drafts=_total_of(samples, DRAFTS),
        accepted=_total_of(samples, ACCEPTED),
        ttft=_histogram(samples, TTFT),
        itl=_histogram(samples, ITL),
        e2e=_histogram(samples, E2E),
    )


def _prompts(samples: Samples) -> tuple[float | None, float | None]:
    """(computed, from the cache) prompt tokens since the start."""
    if realtime := samples.get(REALTIME):
        return _total(_with(realtime, "mode", "prefill_compute")), _total(_with(realtime, "mode", "prefill_cache"))
    if by_source := samples.get(BY_SOURCE):
        computed = _total(_with(by_source, "source", "local_compute"))
        return computed, _total([sample for sample in by_source if sample.labels.get("source") != "local_compute"])
    prompt, cached = _total_of(samples, PROMPT), _total_of(samples, CACHED)
    if prompt is None or cached is None:
        return None, cached  # without the other, nobody knows how many of them were computed
    return max(0.0, prompt - cached), cached


def _active(samples: Samples) -> int | None:
    active = samples.get(ACTIVE)
    if active is None:
        return None
    return round(sum(sample.value for sample in active if sample.labels.get("endpoint") in _ENGINE_PARTS))


def _histogram(samples: Samples, names: Sequence[str]) -> Histogram | None:
    return next((merged(samples[f"{name}_bucket"]) for name in names if f"{name}_bucket" in samples), None)


def _first(samples: Samples, names: Sequence[str]) -> Mapping[int, float]:
    """By data-parallel rank, of the first of these names that this version has."""
    return next((_by_rank(samples[name]) for name in names if name in samples), {})


def _total_of(samples: Samples, names: Sequence[str]) -> float | None:
    return next((_total(samples[name]) for name in names if name in samples), None)


def _total(samples: Iterable[Sample]) -> float | None:
    """All ranks together; None without any sample."""
    ranks = _by_rank(samples)
    return sum(ranks.values()) if ranks else None


def _by_rank(samples: Iterable[Sample]) -> Mapping[int, float]:
    """By data-parallel rank (vLLM: engine). Of tensor and pipeline ranks the largest; other label sets add up."""
    parts: dict[int, dict[tuple[str | None, ...], float]] = {}
    for sample in samples:
        if sample.value < 0:
            continue
        labels = sample.labels
        rank = whole(labels.get("dp_rank") or labels.get("engine")) or 0
        worker = tuple(labels.get(name) for name in _SAME_WORK)
        of_rank = parts.setdefault(rank, {})
        of_rank[worker] = of_rank.get(worker, 0.0) + sample.value
    return {rank: max(of_rank.values()) for rank, of_rank in parts.items()}


def _with(samples: Iterable[Sample], label: str, value: str) -> list[Sample]:
    return [sample for sample in samples if sample.labels.get(label) == value]


def _blocks(samples: Iterable[Sample]) -> Mapping[int, float]:
    """Tokens of vLLM's KV cache, which it tells in the labels of an info metric."""
    found = {}
    for sample in samples:
        blocks, size = whole(sample.labels.get("num_gpu_blocks")), whole(sample.labels.get("block_size"))
        if blocks and size:
            found[whole(sample.labels.get("engine")) or 0] = float(blocks * size)
    return found


def _count(value: float | None) -> int | None:
    return None if value is None else round(value)

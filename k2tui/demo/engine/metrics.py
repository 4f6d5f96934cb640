"""/metrics as Prometheus text: the counters and gauges that k2tui reads, under SGLang's names and labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from k2tui.demo.engine.batch import Spread
from k2tui.demo.engine.replies import Facts

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

Sample = tuple[str, Mapping[str, str], float]


def metrics_text(facts: Facts) -> str:
    """All samples, a HELP and TYPE line before each family."""
    lines = []
    seen: set[str] = set()
    for family, kind, help_text, samples in _families(facts):
        if family not in seen:
            lines += [f"# HELP sglang:{family} {help_text}", f"# TYPE sglang:{family} {kind}"]
            seen.add(family)
        lines += [_line(*sample) for sample in samples]
    return "\n".join(lines) + "\n"


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    written = ",".join(f'{key}="{labels[key]}"' for key in sorted(labels))
    return f"sglang:{name}{{{written}}} {float(value)}"


def _families(facts: Facts) -> Iterator[tuple[str, str, str, list[Sample]]]:
    scheduler = {
        "model_name": facts.options.served_name,
        "engine_type": "unified",
        "tp_rank": "0",
        "pp_rank": "0",
        "moe_ep_rank": "0",
    }
    for name, value, help_text in _gauges(facts):
        yield name, "gauge", help_text, [(name, scheduler, value)]
    for phase, seconds in facts.startup_time.items():
        if not isinstance(seconds, Mapping):
            labels = {"engine_type": "unified", "model_name": facts.options.served_name, "phase": phase}
            sample: Sample = ("startup_time_seconds", labels, seconds)
            yield "startup_time_seconds", "gauge", "Engine startup duration by phase in seconds.", [sample]
    totals = facts.batch.totals
    for name, mode, value in (
        ("realtime_tokens_total", "decode", totals.generated_tokens),
        ("realtime_tokens_total", "prefill_compute", totals.prompt_tokens - totals.cached_tokens),
        ("realtime_tokens_total", "prefill_cache", totals.cached_tokens),
        ("cuda_graph_passes_total", "decode_cuda_graph" if facts.batch.graph else "decode_none", totals.decode_passes),
        ("cuda_graph_passes_total", "prefill_none", totals.prefill_passes),
    ):
        yield name, "counter", "Total by mode.", [(name, {**scheduler, "mode": mode}, value)]
    tokenizer: Mapping[str, str] = {
        "model_name": facts.options.served_name,
        "engine_type": "unified",
        "is_streaming": "false",
    }
    for name, value, help_text in (
        ("prompt_tokens_total", totals.prompt_tokens, "Number of prefill tokens processed."),
        ("generation_tokens_total", totals.generated_tokens, "Number of generation tokens processed."),
        ("num_requests_total", totals.requests, "Number of requests processed."),
    ):
        yield name, "counter", help_text, [(name, tokenizer, value)]
    streams: Mapping[str, str] = {"model_name": facts.options.served_name, "engine_type": "unified"}
    if totals.cached_tokens:  # the real one has no sample before the first hit
        name, labels = "cached_tokens_total", {**streams, "cache_source": "device"}
        help_text = "Number of cached prompt tokens by source (device/host/storage)."
        yield name, "counter", help_text, [(name, labels, totals.cached_tokens)]
    for name, spread, own, help_text in (
        ("time_to_first_token_seconds", totals.first_token, tokenizer, "Histogram of time to first token in seconds."),
        ("inter_token_latency_seconds", totals.between_tokens, streams, "Histogram of inter-token latency in seconds."),
        (
            "e2e_request_latency_seconds",
            totals.request,
            tokenizer,
            "Histogram of End-to-end request latency in seconds",
        ),
    ):
        yield name, "histogram", help_text, list(_spread(name, own, spread))
    active = {"endpoint": "/v1/chat/completions", "method": "POST"}
    requests = len(facts.batch.running) + len(facts.batch.waiting)
    yield (
        "http_requests_active",
        "gauge",
        "Number of currently active HTTP requests",
        [("http_requests_active", active, requests)],
    )


def _spread(name: str, labels: Mapping[str, str], spread: Spread) -> Iterator[Sample]:
    yield f"{name}_sum", labels, spread.total_s
    below = 0
    for bound, count in zip((*spread.bounds, None), spread.counts, strict=True):
        below += count
        yield f"{name}_bucket", {**labels, "le": "+Inf" if bound is None else str(float(bound))}, below
    yield f"{name}_count", labels, below


def _gauges(facts: Facts) -> Iterator[tuple[str, float, str]]:
    batch, loaded = facts.batch, facts.loaded
    totals, load = batch.totals, batch.load
    yield "num_running_reqs", load.running, "The number of running requests."
    yield "num_queue_reqs", load.waiting, "The number of requests in the waiting queue."
    yield "num_used_tokens", load.used_tokens, "The number of used tokens."
    yield "token_usage", load.used_tokens / batch.capacity, "The token usage."
    yield "gen_throughput", batch.tokens_per_s, "The generation throughput (token/s)."
    yield "cache_hit_rate", totals.cached_tokens / max(1, totals.prompt_tokens), "The prefix cache hit rate."
    yield "max_total_num_tokens", loaded.tokens, "Maximum total number of tokens in the KV cache pool."
    yield "context_len", facts.context_length, "Context length."
    yield "is_cuda_graph", bool(batch.graph and load.running), "Whether the batch is using CUDA graph."
    yield "weight_memory_usage_gb", loaded.weights_gb, "Memory of the weights in GB."
    yield "kv_cache_memory_usage_gb", loaded.kv_gb, "Memory of the KV cache in GB."

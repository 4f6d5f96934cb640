"""Result files of other tools in small: their field names, with figures made up here."""

from __future__ import annotations

from typing import Any


def bench_serving(**other: Any) -> dict[str, Any]:
    """A line of `sglang.bench_serving` 0.5.23, native backend, without `--output-details`."""
    times = {
        f"{part}_{name}_ms": value * factor
        for name, value in (("e2e_latency", 3000.0), ("ttft", 120.0), ("tpot", 12.5), ("itl", 12.4))
        for part, factor in (("mean", 1.1), ("median", 1.0), ("std", 0.1), ("p90", 1.5), ("p95", 1.8), ("p99", 2.0))
    }
    return {
        "tag": None,
        "backend": "sglang",
        "dataset_name": "random-ids",
        "request_rate": float("inf"),
        "max_concurrency": 8,
        "sharegpt_output_len": None,
        "random_input_len": 512,
        "random_output_len": 256,
        "random_range_ratio": 1.0,
        "server_info": {
            "model_path": "/shared/kimi",
            "version": "0.5.23",
            "tp_size": 8,
            "mem_fraction_static": 0.9,
            "disable_radix_cache": True,
            "api_key": "sk-verysecret123",
            "port": 30000,
            "quantization": None,
            "internal_states": [{"last_gen_throughput": 90.0}],
        },
        "duration": 100.0,
        "completed": 80,
        "total_input_tokens": 40960,
        "total_input_text_tokens": 40960,
        "total_input_vision_tokens": 0,
        "total_output_tokens": 20480,
        "total_output_tokens_retokenized": 20400,
        "request_throughput": 0.8,
        "input_throughput": 409.6,
        "output_throughput": 204.8,
        "total_throughput": 614.4,
        **times,
        "concurrency": 7.9,
        "accept_length": None,
        "max_output_tokens_per_s": 9999.0,
        "max_concurrent_requests": 9,
        **other,
    }


def vllm_serve(**other: Any) -> dict[str, Any]:
    """A result of `vllm bench serve`."""
    return {
        "date": "20260808-101112",
        "endpoint_type": "openai-chat",
        "backend": "openai-chat",
        "label": None,
        "model_id": "kimi",
        "tokenizer_id": "kimi",
        "num_prompts": 40,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 1,
        "duration": 120.0,
        "completed": 40,
        "failed": 0,
        "total_input_tokens": 20480,
        "total_output_tokens": 10240,
        "request_throughput": 0.33,
        "request_goodput": None,
        "output_throughput": 85.3,
        "total_token_throughput": 256.0,
        "max_output_tokens_per_s": 91.0,
        "max_concurrent_requests": 2,
        "rtfx": 0.0,
        "mean_ttft_ms": 140.0,
        "median_ttft_ms": 130.0,
        "std_ttft_ms": 9.0,
        "p99_ttft_ms": 190.0,
        "mean_tpot_ms": 11.3,
        "median_tpot_ms": 11.25,
        "std_tpot_ms": 0.1,
        "p99_tpot_ms": 12.0,
        "mean_itl_ms": 11.2,
        "median_itl_ms": 11.1,
        "std_itl_ms": 1.0,
        "p99_itl_ms": 15.0,
        **other,
    }


def aiperf(**other: Any) -> dict[str, Any]:
    """`profile_export_aiperf.json` of aiperf 0.13.0."""

    def record(unit: str, middle: float) -> dict[str, Any]:
        parts = {"p50": 1.0, "p90": 1.5, "p99": 2.0, "min": 0.5, "max": 3.0, "avg": 1.1, "std": 0.2}
        return {"unit": unit, "count": 100, "sum": 100 * middle, **{part: middle * by for part, by in parts.items()}}

    return {
        "schema_version": "1.4",
        "aiperf_version": "0.13.0",
        "benchmark_id": "b-1",
        "input_config": {
            "models": {"strategy": "round_robin", "items": [{"name": "kimi"}]},
            "endpoint": {"type": "chat", "urls": ["http://localhost:30000"], "streaming": True},
            "datasets": [{"name": "default", "type": "synthetic"}],
            "phases": [
                {"name": "warmup", "type": "concurrency", "concurrency": 2, "requests": 10},
                {"name": "profiling", "type": "concurrency", "concurrency": 16, "requests": 100},
            ],
        },
        "was_cancelled": False,
        "is_complete": True,
        "start_time": "2026-08-08T10:11:12.000000",
        "request_count": {"unit": "requests", "avg": 100.0},
        "benchmark_duration": {"unit": "sec", "avg": 60.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 850.0},
        "total_osl": {"unit": "tokens", "avg": 51000.0},
        "total_isl": {"unit": "tokens", "avg": 55000.0},
        "request_latency": record("ms", 9000.0),
        "time_to_first_token": record("ms", 210.0),
        "time_to_first_output_token": record("ms", 800.0),
        "inter_token_latency": record("ms", 17.0),
        "inter_chunk_latency": record("ms", 16.5),
        "output_token_throughput_per_user": record("tokens/sec/user", 58.8),
        "input_sequence_length": record("tokens", 550.0),
        **other,
    }


def guidellm(**other: Any) -> dict[str, Any]:
    """A report of guidellm 0.8.1 with one benchmark of one stream."""

    def summary(middle: float, count: int = 50) -> dict[str, Any]:
        found = {
            "mean": middle * 1.05,
            "median": middle,
            "mode": middle,
            "variance": 1.0,
            "std_dev": 1.0,
            "min": middle * 0.5,
            "max": middle * 2.0,
            "count": count,
            "total_sum": middle * count,
            "percentiles": {"p50": middle, "p90": middle * 1.5, "p95": middle * 1.6, "p99": middle * 1.9},
        }
        nothing = dict.fromkeys(found, 0.0) | {"count": 0, "percentiles": dict.fromkeys(("p50", "p90", "p99"), 0.0)}
        none_came = not count
        return {"successful": nothing if none_came else found, "errored": nothing, "incomplete": nothing}

    benchmark = {
        "type_": "generative_benchmark",
        "config": {
            "id_": "one",
            "strategy": {"type_": "synchronous"},
            "backend": {"target": "http://localhost:30000", "model": "kimi"},
            "requests": {"data": "prompt_tokens=512,output_tokens=256"},
        },
        "start_time": 1.7e9,
        "end_time": 1.7e9 + 150.0,
        "duration": 150.0,
        "warmup_duration": 5.0,
        "cooldown_duration": 0.0,
        "metrics": {
            "request_totals": {"successful": 50, "errored": 0, "incomplete": 1, "total": 51},
            "request_concurrency": summary(1.0),
            "request_latency": summary(3.0),
            "prompt_token_count": summary(512.0),
            "output_token_count": summary(256.0),
            "time_to_first_token_ms": summary(120.0),
            "time_to_first_output_token_ms": summary(0.0, count=0),
            "time_per_output_token_ms": summary(11.7),
            "inter_token_latency_ms": summary(11.25),
            "output_tokens_per_second": summary(84.0),
        },
    }
    return {
        "metadata": {"version": 2, "guidellm_version": "0.8.1", "python_version": "3.12.3", "platform": "Linux"},
        "config": {},
        "benchmarks": [benchmark],
        **other,
    }

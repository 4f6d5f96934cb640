"""The bodies of SGLang's replies, with the keys and types of the real ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from k2tui.demo.engine.answers import ToolCall, call_id
from k2tui.demo.engine.batch import Batch, Job
from k2tui.demo.engine.checkpoint import Checkpoint
from k2tui.demo.engine.loading import Loaded
from k2tui.demo.engine.options import Options

_NO_EMBEDDING = {
    **dict.fromkeys(("family", "task", "execution", "attention", "postprocessor"), "none"),
    "pooling": "model_defined",
    "normalize": False,
    "tokenizer_special_tokens": "model_default",
    **dict.fromkeys(
        (
            *("supports_dimensions", "supports_token_embeddings", "supports_multimodal", "requires_embedding_flag"),
            *("auto_enable_embedding", "safe_disable_kv_cache", "safe_disable_radix_cache"),
            *("safe_disable_chunked_prefill", "enabled"),
        ),
        False,
    ),
    "bcg_eligibility": "disabled",
    "matryoshka_dimensions": [],
}


@dataclass(frozen=True)
class Facts:
    """What the replies are made of."""

    options: Options
    checkpoint: Checkpoint
    loaded: Loaded
    batch: Batch
    startup_time: Mapping[str, Any]

    @property
    def context_length(self) -> int:
        return int(self.options["context_length"] or self.checkpoint.context_length)

    @property
    def most_running(self) -> int:
        return int(self.options["max_running_requests"] or 2048)

    def models(self) -> dict[str, Any]:
        model = {
            "id": self.options.served_name,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": self.options.served_name,
            "parent": None,
            "max_model_len": self.context_length,
        }
        return {"object": "list", "data": [model]}

    def model_info(self) -> dict[str, Any]:
        options = self.options
        prefill = (options["cuda_graph_config"] or {"prefill": {"backend": "disabled", "bs": []}})["prefill"]
        bcg = {
            "prefill_backend": prefill["backend"],
            "enabled": False,
            "capture_token_budget": 4096,
            "capture_batch_sizes": prefill["bs"],
        }
        cache = {
            "kv_cache_disabled": False,
            "radix_cache_disabled": bool(options["disable_radix_cache"]),
            "chunked_prefill_disabled": options["chunked_prefill_size"] == -1,
        }
        return {
            "model_path": options.model_path,
            "served_model_name": options.served_name,
            "tokenizer_path": options["tokenizer_path"],
            "is_generation": True,
            "preferred_sampling_params": None,
            "weight_version": "default",
            "load_format": options["load_format"],
            "reasoning_parser": options["reasoning_parser"],
            "tool_call_parser": options["tool_call_parser"],
            "disaggregation_mode": "null",
            "has_image_understanding": self.checkpoint.is_kimi,
            "has_audio_understanding": False,
            "model_type": self.checkpoint.model_type,
            "architectures": [self.checkpoint.architecture],
            "embedding": {**_NO_EMBEDDING, "bcg": bcg, "cache": cache},
        }

    def server_info(self) -> dict[str, Any]:
        options, loaded = self.options, self.loaded
        server_args = {**options.server_args, "api_key": "<redacted>" if options["api_key"] else None}
        return {
            **server_args,
            "launch_command": options.launch_command,
            "status": "ready",
            "max_total_num_tokens": loaded.tokens,
            "max_req_input_len": min(self.context_length, loaded.tokens) - 6,
            "startup_time": self.startup_time,
            "hicache_object_layout": {
                "enabled": False,
                "backend": None,
                "page_size": 1,
                "hicache_object_layout": {"pools": []},
                "reason": "Hierarchical cache is disabled",
            },
            "kv_events": None,
            "internal_states": [self._internal_state(server_args)],
            "version": options.release.version,
            "frontend": "python",
        }

    def _internal_state(self, server_args: Mapping[str, Any]) -> dict[str, Any]:
        loaded, graphs = self.loaded, self.startup_time["cuda_graph"]
        own = {name: value for name, value in server_args.items() if name != "custom_sigquit_handler"}
        graph_gb = {name: 0.62 if name == "decode" and graphs["decode"] else 0.0 for name in graphs}
        memory = {
            "weight": round(loaded.weights_gb, 3),
            "kvcache": round(loaded.kv_gb, 3),
            "startup_available": round(loaded.available_gb, 3),
            "token_capacity": loaded.tokens,
            "token_capacity_swa": None,
            "graph": graph_gb,
        }
        return {
            **own,
            "world_size": self.options.ranks,
            "startup_time": {name: value for name, value in self.startup_time.items() if name != "tokenizer_e2e"},
            "effective_max_running_requests_per_dp": self.most_running,
            "last_gen_throughput": round(self.batch.tokens_per_s, 2),
            "memory_usage": memory,
            "decode_cuda_graph_bs": self.options.decode_sizes if self.options.decode_graphs else [],
            "decode_cuda_graph_memory_gb": graph_gb["decode"],
        }

    def loads(self) -> dict[str, Any]:
        batch, loaded, totals = self.batch, self.loaded, self.batch.totals
        written = batch.load
        waiting = written.waiting
        zeros = (
            *("prefill_bootstrap_queue_reqs", "prefill_inflight_queue_reqs", "decode_prealloc_queue_reqs"),
            *("decode_transfer_queue_reqs", "decode_retracted_queue_reqs"),
        )
        load = {
            "timestamp": written.written_at,
            "dp_rank": 0,
            "num_running_reqs": written.running,
            "num_waiting_reqs": waiting,
            "num_waiting_uncached_tokens": written.waiting_tokens,
            "num_used_tokens": written.used_tokens,
            "num_total_tokens": written.used_tokens,
            "num_active_tokens": written.used_tokens,
            "num_prealloc_ready_tokens": 0,
            "max_total_num_tokens": loaded.tokens,
            "max_running_requests": self.most_running,
            "token_usage": round(written.used_tokens / batch.capacity, 3),
            "gen_throughput": round(batch.tokens_per_s, 2),
            "cache_hit_rate": round(totals.cached_tokens / max(1, totals.prompt_tokens), 4),
            "utilization": 0.0,
            "total_prefill_uncached_tokens": totals.prompt_tokens - totals.cached_tokens,
            "total_prefill_busy_us": totals.prefill_passes * 41_000,
            "decode_moments": [float(totals.decode_passes), float(totals.generated_tokens), 0.0, 0.0, 0.0, 0.0],
            "memory": {
                "weight_gb": round(loaded.weights_gb, 3),
                "kv_cache_gb": round(loaded.kv_gb, 3),
                "graph_gb": 0.62 if self.options.decode_graphs else 0.0,
                "token_capacity": loaded.tokens,
            },
            "disaggregation": {
                "mode": "null",
                **dict.fromkeys(zeros, 0),
                "kv_transfer_speed_gb_s": 0.0,
                "kv_transfer_latency_ms": 0.0,
            },
            "queues": {"waiting": waiting, "grammar": 0, "paused": 0, "retracted": 0, "prealloc_ready": 0},
        }
        return {
            "timestamp": datetime.now(timezone.utc).isoformat(),
            "version": self.options.release.version,
            "accelerator": None,
            "num_accelerators": self.options.ranks,
            "loads": [load],
        }


def usage(job: Job, reasoning_tokens: int, *, cache: bool) -> dict[str, Any]:
    """Token counts of one request; `cache`: as --enable-cache-report has them."""
    details = {"cached_tokens": job.cached, **dict.fromkeys(("image_tokens", "audio_tokens", "video_tokens"))}
    return {
        "prompt_tokens": job.prompt_tokens,
        "total_tokens": job.prompt_tokens + job.produced,
        "completion_tokens": job.produced,
        "prompt_tokens_details": details if cache else None,
        "reasoning_tokens": reasoning_tokens,
        "completion_tokens_details": {"reasoning_tokens": reasoning_tokens} if reasoning_tokens else None,
    }


def metadata(job: Job) -> dict[str, Any]:
    versions = [{"version": "default", "start": 0, "end": job.produced}]
    return {"weight_version": "default", "weight_versions": versions}


def tool_calls(call: ToolCall, *, kimi: bool) -> list[dict[str, Any]]:
    """A whole call, for replies that are not streamed."""
    function = {"name": call.name, "arguments": call.arguments}
    return [{"id": call_id(call.name, kimi=kimi), "index": 0, "type": "function", "function": function}]


def tool_call_deltas(call: ToolCall, *, kimi: bool) -> list[dict[str, Any]]:
    """The same in a stream: the name first, then the arguments."""
    head = {"id": call_id(call.name, kimi=kimi), "index": 0, "type": "function"}
    return [
        {**head, "function": {"name": call.name, "arguments": ""}},
        {**head, "id": None, "function": {"name": None, "arguments": call.arguments}},
    ]


def bad_request(message: str, kind: str = "BadRequestError") -> dict[str, Any]:
    """A refusal by an OpenAI route."""
    return {"object": "error", "message": message, "type": kind, "param": None, "code": 400}


def validation_error(problems: list[dict[str, Any]], route: str, release_site: str) -> dict[str, Any]:
    """FastAPI's own refusal, as SGLang words it."""
    many = f"{len(problems)} validation error{'s' if len(problems) > 1 else ''}:"
    listed = "\n".join(f"  {problem}" for problem in problems)
    where = f'  File "{release_site}/srt/entrypoints/http_server.py", line 1870, in openai_v1_chat_completions'
    return bad_request(f"{many}\n{listed}\n\n{where}\n    POST {route} {problems}", "Bad Request")

"""The counters of a server's `/metrics`, read quickly: it is looked at while something is measured.

Format: https://prometheus.io/docs/instrumenting/exposition_formats. Names: SGLang 0.4.6 to 0.5.23, vLLM 0.6 to 0.32.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

# By what they say, each with its names, best first. vLLM's own word for a request that ended is `success`.
NAMES = {
    "generation_tokens": ("generation_tokens_total",),
    "prompt_tokens": ("prompt_tokens_total",),
    "cached_tokens": ("cached_tokens_total", "prompt_tokens_cached_total", "prefix_cache_hits_total"),
    "requests": ("num_requests_total", "request_success_total"),
    "running": ("num_running_reqs", "num_requests_running"),
    "queued": ("num_queue_reqs", "num_requests_waiting"),
}
_PREFIXES = (b"sglang:", b"vllm:", b"sglang_", b"vllm_")  # a collector between makes a line of the colon
_SAME_WORK = ("tp_rank", "pp_rank", "moe_ep_rank", "pid")
"""Labels of processes that work on the same streams: their figures do not add up."""
_RANK = ("dp_rank", "engine")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def counters_in(body: bytes) -> dict[str, float | None]:
    """What each name of NAMES says; None where the server does not tell."""
    found = {what: figure_in(body, what) for what in NAMES}
    # SGLang counts cached tokens from the first one on: the counter is not there while there was none
    # (`if cached_tokens > 0` in its metrics collector).
    if found["cached_tokens"] is None and found["prompt_tokens"] is not None and b"sglang" in body:
        found["cached_tokens"] = 0.0
    return found


def figure_in(body: bytes, what: str) -> float | None:
    """One of them: of tensor and pipeline ranks the largest, data-parallel ranks and other labels added up."""
    for name in NAMES[what]:
        ranks: dict[str, dict[tuple[str, ...], float]] = {}
        for labels, value in _samples(body, name.encode()):
            rank = next((labels[label] for label in _RANK if label in labels), "")
            worker = tuple(labels.get(label, "") for label in _SAME_WORK)
            of_rank = ranks.setdefault(rank, {})
            of_rank[worker] = of_rank.get(worker, 0.0) + value
        if ranks:
            return sum(max(workers.values()) for workers in ranks.values())
    return None


def _samples(body: bytes, name: bytes) -> Iterator[tuple[dict[str, str], float]]:
    for prefix in _PREFIXES:
        wanted = prefix + name
        at = body.find(wanted)
        while at >= 0:
            end = body.find(b"\n", at)
            line = body[at : end if end >= 0 else len(body)]
            behind = line[len(wanted) : len(wanted) + 1]
            if behind in (b"{", b" ") and (at == 0 or body[at - 1 : at] == b"\n"):
                labels, value = _parts(line[len(wanted) :].decode("utf-8", "replace"))
                if value is not None:
                    yield labels, value
            at = body.find(wanted, at + 1)


def _parts(text: str) -> tuple[dict[str, str], float | None]:
    labels, _, words = text.rpartition("}") if text.startswith("{") else ("", "", text)
    try:
        value = float(words.split()[0])
    except (IndexError, ValueError):
        return {}, None
    return dict(_LABEL.findall(labels)), value if math.isfinite(value) and value >= 0 else None

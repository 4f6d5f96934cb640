"""The words for phases, failures and figures, the same on screens and in plain commands."""

from __future__ import annotations

from collections.abc import Mapping

from k2tui.core.launch import LaunchPhase

UNKNOWN = "—"

PHASE_WORDS: dict[LaunchPhase, str] = {
    LaunchPhase.ARGS: "arguments",
    LaunchPhase.DISTRIBUTED: "distributed",
    LaunchPhase.WEIGHTS: "weights",
    LaunchPhase.POSTPROCESS: "repack",
    LaunchPhase.KV_CACHE: "KV cache",
    LaunchPhase.CUDA_GRAPH: "CUDA graphs",
    LaunchPhase.WARMUP: "warm-up",
    LaunchPhase.READY: "ready",
    LaunchPhase.SERVING: "serving",
}

FAILURE_WORDS: Mapping[str, str] = {
    # memory
    "oom_start": "GPU memory ran out before anything was loaded",
    "oom_weights": "GPU memory ran out while the weights were loaded",
    "oom_kv": "GPU memory ran out while the KV cache was laid out",
    "oom_graphs": "GPU memory ran out while CUDA graphs were captured",
    "oom_serving": "GPU memory ran out while it served",
    "kv_no_room": "no GPU memory is left for the KV cache",
    "kv_exhausted": "the KV cache is full",
    "gpu_memory_taken": "another process holds the GPU's memory",
    "gpus_uneven": "some GPUs have less free memory than others",
    "host_memory": "the host's memory ran out",
    "disk_full": "a disk is full",
    "open_files": "too many files are open",
    # ports and peers
    "bad_host": "it can't listen on that address",
    "port_taken": "its port is taken",
    "internal_port_taken": "one of its internal ports is taken",
    "rendezvous": "the ranks do not find each other",
    "gloo_mesh": "the nodes can't reach each other",
    "nccl": "NCCL failed",
    "nccl_timeout": "a collective operation timed out",
    "rdma": "the network between the GPUs of the nodes failed",
    "slow_rank": "one rank waits for others that are not done",
    "peer_died": "another process died first",
    "peer_silent": "a worker does not answer",
    "node_dead": "a node of the cluster is gone",
    "child_died": "one of its processes died",
    "child_killed": "one of its processes was killed",
    # checkpoints and models
    "missing_shards": "weight files are missing",
    "corrupt_shard": "a weight file is damaged",
    "remote_code": "the model brings code of its own",
    "model_gated": "the model may not be fetched with this account",
    "model_not_found": "the model is not there",
    "unknown_architecture": "this version does not know the model",
    "quantization": "the quantization is not supported",
    "weight_names": "the weights do not fit the model's code",
    # kernels
    "no_kernel_image": "no kernel was built for this GPU",
    "deepgemm": "DeepGEMM does not work on this GPU",
    "backend_unsupported": "the back-end does not support this model on this GPU",
    "build_failed": "a kernel could not be compiled",
    "no_driver": "no GPU driver is seen",
    "kernel_mismatch": "a kernel package does not fit the other packages",
    "missing_package": "a Python package is missing",
    "device_ordinal": "more ranks than GPUs",
    "gpu_broken": "a GPU failed",
    "segfault": "a process ended with a segmentation fault",
    "illegal_access": "a kernel failed on the GPU",
    "pool_leak": "the engine lost count of its memory",
    "graph_capture": "CUDA graphs could not be captured",
    # time-outs
    "watchdog": "the watchdog ended it",
    "no_heartbeat": "the scheduler does not answer its web server",
    "silence": "nothing comes any more; this was the last progress",
    "progress": "the last progress",
    # arguments and effects
    "bad_argument": "the engine refused its arguments",
    "other_port": "it listens on another port than it was given",
    "exception": "an exception ended it",
    "backend_ignored": "another back-end is used than was asked for",
    # what a probe found
    "reasoning_parser": "reasoning comes back inside content",
    "reasoning_swallows": "the whole answer comes back as reasoning",
    "tool_parser": "tool calls come back as text",
    "tool_calls_in_reasoning": "tool calls vanish in the reasoning",
    "tool_calls_lost": "a share of the tool calls is lost",
    "garbage": "its answers are garbage",
    "answers_fail": "a share of the requests fails",
    "request_refused": "it refuses a plain request",
    "no_answer": "it says that it is up, and does not answer",
    "disk_will_fill": "the disk will be full before the job is done",
}
"""The failure classes (JSON key `class`) and findings in words."""


def failure_words(failure: str) -> str:
    """The class as a person says it; an unknown one as it is."""
    return FAILURE_WORDS.get(failure, failure.replace("_", " "))


def duration(seconds: float | None) -> str:
    """`2.1 s`, `14 s`, `3m40s`, `3h12m`, `1d02h`."""
    if seconds is None:
        return UNKNOWN
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    if whole < 86_400:
        return f"{whole // 3600}h{whole % 3600 // 60:02}m"
    return f"{whole // 86_400}d{whole % 86_400 // 3600:02}h"


def phase_time(seconds: float | None) -> str:
    """A duration between two stamps of a log: they often count whole seconds, so none between them is `<1 s`."""
    return "<1 s" if seconds is not None and 0 <= seconds < 0.05 else duration(seconds)


def size(size_bytes: float | None) -> str:
    """`512 B`, `3.1 MB`, `310 GB`: decimal, three figures at most."""
    if size_bytes is None:
        return UNKNOWN
    value = float(size_bytes)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 99.5 else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")

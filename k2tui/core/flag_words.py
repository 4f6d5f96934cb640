"""The flag for a purpose, as this engine in this version spells it: advice never names one that the build lacks."""

from __future__ import annotations

from collections.abc import Mapping

from k2tui.core.flag_ages import ages, arguments, is_in_all
from k2tui.core.launch import Launch

SGLANG: Mapping[str, tuple[tuple[str, str], ...]] = {
    "fraction": (("mem_fraction_static", "--mem-fraction-static"),),
    "context": (("context_length", "--context-length"),),
    "tp": (("tp_size", "--tp-size"),),
    "requests": (("max_running_requests", "--max-running-requests"),),
    "no_car": (("disable_custom_all_reduce", "--disable-custom-all-reduce"),),
    "graph_sizes": (
        ("cuda_graph_max_bs_decode", "--cuda-graph-max-bs-decode"),
        ("cuda_graph_max_bs", "--cuda-graph-max-bs"),
    ),
    "graphs_off": (
        ("cuda_graph_backend_decode", "--cuda-graph-backend-decode=disabled"),
        ("disable_cuda_graph", "--disable-cuda-graph"),
    ),
    "port": (("port", "--port"),),
    "dist_addr": (("dist_init_addr", "--dist-init-addr"),),
    "remote_code": (("trust_remote_code", "--trust-remote-code"),),
    "reasoning": (("reasoning_parser", "--reasoning-parser"),),
    "tools": (("tool_call_parser", "--tool-call-parser"),),
    "watchdog": (("watchdog_timeout", "--watchdog-timeout"),),
    "host": (("host", "--host"),),
}
"""Purpose to (argument, flag), the newest spelling first. Which version has the argument: flag_ages."""

VLLM: Mapping[str, str] = {
    "fraction": "--gpu-memory-utilization",
    "context": "--max-model-len",
    "tp": "--tensor-parallel-size",
    "requests": "--max-num-seqs",
    "no_car": "--disable-custom-all-reduce",
    "graph_sizes": "cudagraph_capture_sizes in --compilation-config, or --max-num-seqs",
    "graphs_off": "--enforce-eager",
    "port": "--port",
    "host": "--host",
    "late": "",
    "dist_addr": "--master-addr",
    "remote_code": "--trust-remote-code",
    "reasoning": "--reasoning-parser",
    "tools": "--tool-call-parser",
}
"""Spelt alike in all versions from 0.6 on (vllm/engine/arg_utils.py)."""

NO_ENGINE: Mapping[str, str] = {
    "fraction": "the engine's memory fraction",
    "context": "the context length",
    "tp": "tensor parallelism",
    "requests": "the limit of running requests",
    "no_car": "the engine's flag against custom all-reduce",
    "graph_sizes": "the sizes of captured graphs",
    "graphs_off": "the engine's flag against CUDA graphs",
    "port": "the port",
    "host": "the host",
    "late": "",
    "dist_addr": "the address of rank 0",
    "remote_code": "--trust-remote-code",
    "reasoning": "the reasoning parser",
    "tools": "the tool-call parser",
}
"""Where the log does not say whose it is."""

_LATE = "; it is only tried after the load"
"""SGLang binds its port when the model is loaded; vLLM before."""


def flag_words(launch: Launch) -> Mapping[str, str]:
    """Purpose to what this engine calls it; a purpose that this build has no flag for is left out."""
    if launch.engine == "vllm":
        return VLLM
    if launch.engine != "sglang":
        return NO_ENGINE
    names = launch.arg_names or (arguments(launch.version) if launch.version else frozenset())
    words = {purpose: _spelling(spellings, names) for purpose, spellings in SGLANG.items()}
    return {purpose: word for purpose, word in words.items() if word is not None} | {"late": _LATE}


def _spelling(spellings: tuple[tuple[str, str], ...], names: frozenset[str]) -> str | None:
    if names:
        return next((flag for name, flag in spellings if name in names), None)
    always = next((flag for name, flag in spellings if is_in_all(name)), None)
    if always is not None:
        return always
    newest, *older = spellings
    since = ages(newest[0])
    before = f" (before {since[0]}: {', '.join(flag for _, flag in older)})" if since and older else ""
    return f"{newest[1]}{before}"

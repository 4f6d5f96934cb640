"""Every line of an SGLang log that the engine prints; formats from real logs and from the releases' source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from k2tui.demo.engine.releases import Release

READY = "The server is fired up and ready to roll!"
LOAD_LABEL, CLASSIC_LOAD_LABEL = "Multi-thread loading shards", "Loading safetensors checkpoint shards"
SIGQUIT_CHILD = "Received sigquit from a child process. It usually means the child failed."
SIGQUIT_SERVING = "SIGQUIT received. signum=None, frame=None. It usually means one child failed."
CRASH_PAUSE = "Sleeping 5 seconds before crash diagnostics to let GPU activity settle."
NO_SCHEDULERS = "No live scheduler processes found; skipping py-spy and CUDA coredump."
SIGTERM = "SIGTERM received. signum=None frame=None. Draining requests and shutting down..."
NO_PREFILL_GRAPH = (
    "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' "
    "(e.g. via --cuda-graph-backend-prefill=disabled or auto-disable rules)."
)
NOFILE = "Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit"
BENIGN = "Ignore import error when loading sglang.srt.models.midashenglm: No module named 'torchaudio'"
"""Noise that every real launch has, and that must alarm nobody."""
BEFORE_UVICORN = (
    "Using default chat sampling params from model generation config: {'temperature': 1.0}",
    "Using fallback token IDs for yes/no (9693/2152)",
)
_TOGGLE = (
    "reasoning_config=ReasoningToggleConfig(toggle_param='enable_thinking', default_enabled=True, special_case=None"
)


@dataclass(frozen=True)
class Words:
    """The lines of one release."""

    release: Release

    @property
    def classic(self) -> bool:
        return self.release.classic

    def entry_warning(self) -> str:
        """What `python -m sglang.launch_server` says of itself since 0.5.10."""
        if self.classic:
            return ""
        return (
            f"{self.release.site}/launch_server.py:71: UserWarning: 'python -m sglang.launch_server' is still "
            "supported, but 'sglang serve' is the recommended entrypoint.\n"
            "  Example: sglang serve --model-path <model> [options]\n  warnings.warn(\n"
        )

    def server_args(self, values: Mapping[str, Any]) -> str:
        if self.classic:
            return f"server_args=ServerArgs({', '.join(f'{name}={value!r}' for name, value in values.items())})"
        return f"server_args={dict(values)!r}"

    def template_lines(self, reasoning: str, tools: str) -> Sequence[str]:
        first = "Using default HuggingFace chat template with detected content format: openai"
        if self.classic:
            return (first,)
        features = f"{_TOGGLE}, effort_kwarg=None), reasoning_parser={reasoning}, tool_call_parser={tools}"
        return (first, f"Auto-detected template features: {features}")

    def init_begin(self) -> str:
        return "Init torch distributed begin." if self.classic else "Init parallel begin."

    def nccl(self) -> str:
        return f"sglang is using nccl=={self.release.nccl}"

    def init_end(self, elapsed_s: float, used_gb: float) -> Sequence[str]:
        if self.classic:
            return (f"Init torch distributed ends. elapsed={elapsed_s:.2f} s, mem usage={used_gb:.2f} GB",)
        return (
            f"Init parallel ends. elapsed={elapsed_s:.2f} s",
            f"Memory baseline taken. mem usage={used_gb:.2f} GB",
        )

    def load_begin(self, available_gb: float) -> str:
        return f"Load weight begin. avail mem={available_gb:.2f} GB"

    def load_end(
        self, elapsed_s: float, architecture: str, quantization: str | None, available_gb: float, used_gb: float
    ) -> str:
        kind = f"type={architecture}, " + ("dtype=torch.bfloat16, " if self.classic else "")
        quant = "" if quantization is None else f"quant={quantization}, "
        memory = f"avail mem={available_gb:.2f} GB, mem usage={used_gb:.2f} GB."
        return f"Load weight end. elapsed={elapsed_s:.2f} s, {kind}{quant}{memory}"

    def kv_cache(self, tokens: int, size_gb: float, *, latent: bool) -> Sequence[str]:
        """`latent`: one pool (multi-head latent attention); else K and V apart."""
        size = f"KV size: {size_gb:.2f} GB" if latent else f"K size: {size_gb / 2:.2f} GB, V size: {size_gb / 2:.2f} GB"
        if self.classic:
            return ("Using KV cache dtype: torch.bfloat16", f"KV Cache is allocated. #tokens: {tokens}, {size}")
        return (f"KV Cache is allocated. dtype: torch.bfloat16, #tokens: {tokens}, {size}",)

    def pool_end(self, available_gb: float) -> str:
        return f"Memory pool end. avail mem={available_gb:.2f} GB"

    def prefill_graph_begin(self, shapes: Sequence[int], available_gb: float) -> str:
        head = "Capture target prefill CUDA graph begin. backend=breakable"
        return f"{head}, num_tokens={list(shapes)}, avail mem={available_gb:.2f} GB"

    def prefill_graph_end(self, elapsed_s: float, used_gb: float, available_gb: float) -> str:
        memory = f"mem usage={used_gb:.2f} GB, avail mem={available_gb:.2f} GB."
        return f"Capture target prefill CUDA graph end. elapsed={elapsed_s:.2f} s, {memory}"

    def decode_graph_begin(self, available_gb: float) -> str:
        if self.classic:
            return f"Capture cuda graph begin. This can take up to several minutes. avail mem={available_gb:.2f} GB"
        head = "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1"
        return f"{head}, avail mem={available_gb:.2f} GB"

    def decode_graph_end(self, sizes: Sequence[int], elapsed_s: float, used_gb: float, available_gb: float) -> str:
        if self.classic:
            memory = f"mem usage={used_gb:.2f} GB. avail mem={available_gb:.2f} GB."
            return f"Capture cuda graph end. Time elapsed: {elapsed_s:.2f} s. {memory}"
        memory = f"mem usage={used_gb:.2f} GB, avail mem={available_gb:.2f} GB."
        return f"Capture target decode CUDA graph end. bs={list(sizes)}, elapsed={elapsed_s:.2f} s, {memory}"

    def capacity(self, tokens: int, chunked: int, prefill: int, running: int, context: int, available_gb: float) -> str:
        return (
            f"max_total_num_tokens={tokens}, chunked_prefill_size={chunked}, max_prefill_tokens={prefill}, "
            f"max_running_requests={running}, context_len={context}, available_gpu_mem={available_gb:.2f} GB"
        )

    def tree_cache(self) -> Sequence[str]:
        if self.classic:
            return ()
        return (
            "Init Unified Radix Cache. Components: (<ComponentType.FULL: 0>,). Tree Core: RustUnifiedTreeCore",
            "Tree cache initialized: source=default impl=UnifiedRadixCache hybrid_swa=False hybrid_ssm=False "
            "hicache_attached=False",
        )

    def timings(self, values: Mapping[str, Any]) -> Sequence[str]:
        """`values` in the shape of /server_info's startup_time."""
        if self.classic:
            return ()
        graphs = ", ".join(f"{name}={seconds:.2f}" for name, seconds in values["cuda_graph"].items())
        return (
            f"Engine startup timings (s): load_weight={values['load_weight']:.2f}, "
            f"kv_cache_allocation={values['kv_cache_allocation']:.2f}, scheduler_e2e={values['scheduler_e2e']:.2f}, "
            f"cuda_graph={{{graphs}}}, tokenizer_e2e={values['tokenizer_e2e']:.2f}",
        )

    def prefill(
        self, sequences: int, new: int, cached: int, usage: float, running: int, queued: int, tokens_per_s: float
    ) -> str:
        head = f"Prefill batch, #new-seq: {sequences}, #new-token: {new}, #cached-token: {cached}"
        head = f"{head}, token usage: {usage:.2f}"
        queue = f"#running-req: {running}, #queue-req: {queued}"
        if self.classic:
            return f"{head}, {queue}, input throughput (token/s): {tokens_per_s:.2f}, cuda graph: False"
        rate = f"input throughput (token/s): {tokens_per_s:.2f}"
        return f"{head}, {queue}, #pending-token: 0, cuda graph: False, {rate}"

    def decode(self, running: int, tokens: int, usage: float, graph: bool, tokens_per_s: float, queued: int) -> str:
        head = f"Decode batch, #running-req: {running}, #token: {tokens}, token usage: {usage:.2f}"
        tail = f"gen throughput (token/s): {tokens_per_s:.2f}, #queue-req: {queued}" + (", " if self.classic else "")
        return f"{head}, cuda graph: {graph}, {tail}"


def draining(left: int, ids: Sequence[str]) -> str:
    """Repeated while requests run on after SIGTERM."""
    return f"Gracefully exiting... Remaining number of requests {left}. Remaining requests remaining_rids={list(ids)}."


def killed_tree(pid: int, *, with_parent: bool) -> str:
    return f"kill_process_tree called: parent_pid={pid}, include_parent={with_parent}, pid={pid}"


def subprocess_crashed(title: str, pid: int, code: int) -> str:
    return f"Subprocess {title} (pid={pid}) crashed with exit code {code}. Triggering SIGQUIT for cleanup..."


def deprecated_endpoint(path: str, instead: str) -> str:
    return f"Endpoint '{path}' is deprecated and will be removed in a future version. Please use '{instead}' instead."


def port_taken(host: str, port: int) -> str:
    return f"[Errno 98] error while attempting to bind on address ('{host}', {port}): address already in use"

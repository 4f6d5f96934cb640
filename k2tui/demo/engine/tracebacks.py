"""The tracebacks that the faults print: frames and last lines of the real logs and of PyTorch's own message."""

from __future__ import annotations

from collections.abc import Sequence

from k2tui.demo.engine.releases import Release

HEAD = "Scheduler hit an exception: Traceback (most recent call last):"

_INIT_FRAMES = (
    ("managers/scheduler.py", 6362, "run_scheduler_process", "scheduler = Scheduler(server_args, port_args)"),
    ("managers/scheduler.py", 568, "__init__", "self.init_model_worker()"),
)
_LOAD_FRAMES = (
    *_INIT_FRAMES,
    ("managers/scheduler.py", 1128, "init_model_worker", "self.init_tp_model_worker()"),
    ("managers/tp_worker.py", 378, "_init_model_runner", "self._model_runner = ModelRunner("),
    ("model_executor/model_runner.py", 693, "initialize", "self.load_model()"),
    ("model_executor/model_runner.py", 1302, "load_model", "self.model = self.loader.load_model("),
    ("model_loader/loader.py", 758, "load_model", "model = _initialize_model("),
)
_POOL_FRAMES = (
    *_INIT_FRAMES,
    ("managers/scheduler.py", 1137, "init_model_worker", "self.init_memory_pools()"),
    ("managers/scheduler.py", 1100, "init_memory_pools", "self.init_target_memory_pool()"),
    ("managers/tp_worker.py", 409, "alloc_memory_pool", "self.model_runner.alloc_memory_pool("),
    ("mem_cache/kv_cache_configurator.py", 3050, "_profile_available_bytes", "raise ValueError("),
)
_JOIN_FRAMES = (
    *_INIT_FRAMES,
    ("managers/scheduler.py", 1128, "init_model_worker", "self.init_tp_model_worker()"),
    ("managers/tp_worker.py", 378, "_init_model_runner", "self._model_runner = ModelRunner("),
    ("model_executor/model_runner.py", 871, "init_torch_distributed", "init_distributed_environment("),
    ("distributed/parallel_state.py", 1623, "init_distributed_environment", "torch.distributed.init_process_group("),
)
_FORWARD_FRAMES = (
    ("managers/scheduler.py", 6368, "run_scheduler_process", "scheduler.run_event_loop()"),
    ("managers/scheduler.py", 2109, "event_loop_overlap", "batch_result = self.run_batch(batch)"),
    ("managers/tp_worker.py", 675, "forward_batch_generation", "out = self.model_runner.forward("),
    ("model_executor/model_runner.py", 2063, "_forward_raw", "ret = self.eager_runner.execute("),
    ("models/deepseek_v2.py", 3414, "forward", "hidden_states = self.model("),
    ("layers/attention/base_attn_backend.py", 355, "forward", "return self.forward_extend("),
)


def load_failure(release: Release, last_line: str) -> str:
    """A scheduler that could not load its weights."""
    return _text(release, _LOAD_FRAMES, last_line)


def out_of_memory(release: Release, rank: int) -> str:
    """CUDA out of memory on one GPU of 141 GB."""
    return load_failure(
        release,
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU {rank} has a total capacity of "
        "139.80 GiB of which 1.21 GiB is free. Including non-PyTorch memory, this process has 138.58 GiB memory in "
        "use. Of the allocated memory 137.90 GiB is allocated by PyTorch, and 14.31 MiB is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory "
        "Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)",
    )


def no_kv_memory(release: Release, fraction: float, least: float) -> str:
    """The weights leave nothing for the KV cache."""
    if release.classic:
        last = (
            "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static. "
            f"Current value: mem_fraction_static={fraction}"
        )
        return _text(release, _POOL_FRAMES, last)
    last = (
        f"ValueError: Loaded weights leave no GPU memory for the KV cache under --mem-fraction-static={fraction}. "
        f"Raise --mem-fraction-static above {least:.3f} (minimum viable = 1 - available/pre = {least:.4f}). "
        "If using speculative decoding, draft weights are now counted."
    )
    return _text(release, _POOL_FRAMES, last)


def nccl_failure(release: Release) -> str:
    """The ranks can't join: PyTorch's and NCCL's own words."""
    last = (
        "torch.distributed.DistBackendError: NCCL error in: "
        "../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:3690, unhandled cuda error (run with NCCL_DEBUG=INFO for "
        f"details), NCCL version {release.nccl}\nncclUnhandledCudaError: Call to CUDA function failed.\n"
        "Last error:\nCuda failure 700 'an illegal memory access was encountered'"
    )
    return _text(release, _JOIN_FRAMES, last)


def forward_failure(release: Release) -> str:
    """The first forward pass meets a shape that its kernel refuses."""
    last = "RuntimeError: Expected size for first two dimensions of batch2 tensor to be: [4, 192] but got: [4, 576]."
    return _text(release, _FORWARD_FRAMES, last)


def _text(release: Release, frames: Sequence[tuple[str, int, str, str]], last_line: str) -> str:
    """Everything after the head line; SGLang ends a traceback with an empty line."""
    lines = [
        f'  File "{release.site}/srt/{file}", line {number}, in {function}\n    {code}'
        for file, number, function, code in frames
    ]
    return "\n".join([*lines, last_line]) + "\n\n"

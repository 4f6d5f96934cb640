"""What the frames of a Python traceback tell: the phase, the engine, and who raised it."""

from __future__ import annotations

import re

from k2tui.core.launch import LaunchPhase

FRAME = re.compile(r'\s+File "(?P<file>[^"]*)", line \d+, in (?P<function>\S+)')

PHASE_FRAMES: tuple[tuple[str, LaunchPhase], ...] = (
    (
        "init_torch_distributed|init_distributed_environment|init_worker_distributed_environment"
        "|initialize_model_parallel|init_process_group|init_world_group|init_device|ncclCommInitRank",
        LaunchPhase.DISTRIBUTED,
    ),
    (
        "load_model|load_weights|get_model|_initialize_model|process_weights_after_loading|load_weights_and_postprocess"
        "|hf_model_weights_iterator|\\w*weights_iterator|filter_duplicate_safetensors_files",
        LaunchPhase.WEIGHTS,
    ),
    (
        "init_memory_pools?|alloc_memory_pool|init_target_memory_pool|_initialize_kv_caches|initialize_kv_caches?"
        "|determine_available_memory|determine_num_available_blocks|get_kv_cache_configs?|_?check_enough_kv_cache_memory"
        "|profile_max_num_token|initialize_cache",
        LaunchPhase.KV_CACHE,
    ),
    (
        "init_(?:device|cuda|decode_cuda|prefill_cuda)_graphs?|capture|capture_model|capture_one_batch_size"
        "|_capture_\\w+|capture_graph",
        LaunchPhase.CUDA_GRAPH,
    ),
    ("_?execute_server_warmup|_wait_and_warmup|compile_or_warm_up_model", LaunchPhase.WARMUP),
    ("event_loop_\\w+|dispatch_event_loop|run_event_loop|run_busy_loop", LaunchPhase.SERVING),
)
"""(function names, the phase in which they run); the innermost frame that is known counts."""

_PHASES = tuple((re.compile(f"(?:{names})"), phase) for names, phase in PHASE_FRAMES)

_ENGINE = re.compile(r"[/\\](sglang|vllm)[/\\]")
_CALL = re.compile(r"(\w+)\(")
_MAIN = re.compile(r"<module>|_run_module_as_main|_run_code|_bootstrap|spawn_main|_main")
_ARGS_FILE = re.compile(
    r"server_args\.py|arg_utils\.py|arg_groups/|argparse\.py|model_config\.py|cli_args\.py|/config/\w+\.py|config\.py$"
)
_ARGS_FUNCTION = re.compile(
    r"create_engine_config|create_model_config|prepare_server_args|from_cli_args|check_server_args|resolve_once"
    r"|parse_args|parse_known_args|__post_init__"
)


def phase_of(function: str) -> LaunchPhase | None:
    """The phase in which a function of that name runs."""
    for names, phase in _PHASES:
        if names.fullmatch(function):
            return phase
    return None


def phase_of_call(code: str) -> LaunchPhase | None:
    """The phase that a frame's line of code calls into."""
    found = _CALL.search(code)
    return phase_of(found[1]) if found else None


def engine_of(file: str) -> str | None:
    """Whose code the file is."""
    found = _ENGINE.search(file)
    return found[1] if found else None


def is_main(file: str, function: str) -> bool:
    """A stack that begins there has nobody above it who could catch."""
    return _MAIN.fullmatch(function) is not None or file.startswith("<frozen runpy")


def reads_arguments(file: str, function: str) -> bool:
    """The frame resolves the server's arguments."""
    return _ARGS_FUNCTION.fullmatch(function) is not None or _ARGS_FILE.search(file) is not None

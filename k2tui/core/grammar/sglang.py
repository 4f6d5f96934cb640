"""What SGLang prints, from 0.4 to 0.5.23."""

from __future__ import annotations

import re

from k2tui.core.facts import (
    ArgsSeen,
    CapacitySeen,
    EncoderSeen,
    EndSeen,
    Fault,
    HealthFailed,
    KvAllocated,
    LaunchFact,
    Line,
    PhaseReached,
    PortBound,
    RankLoaded,
    ServerReady,
    SlowWork,
    Standing,
    StopSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.figures import whole
from k2tui.core.grammar.rule import Reader, Rule, opens, reaches, says
from k2tui.core.grammar.signatures import failure_of
from k2tui.core.launch import LaunchPhase

_ARGS = re.compile(
    r"(?<![\w'])'?(model_path|served_model_name|port|tp_size|pp_size|dp_size|nnodes|node_rank|enable_dp_attention"
    r"|reasoning_parser|tool_call_parser|speculative_algorithm|load_format|mem_fraction_static"
    r"|enable_torch_compile|dist_timeout|watchdog_timeout|disaggregation_mode|weight_cache_mode|weight_cache_timeout"
    r"|attention_backend|prefill_attention_backend|decode_attention_backend|quantization|moe_runner_backend|kv_cache_dtype|speculative_draft_model_path"
    r"|num_continuous_decode_steps)"
    r"'?(?:=|: )"
    r"('[^']*'|[^,)}\s]+)"
)
_NAMES = re.compile(r"(?<=[(,{ ])'?([a-z][a-z0-9_]{2,})(?:=|': )")
_MANY_NAMES = 100

_TOKENS = re.compile(r"#tokens: (\d+)")
_CAPACITY = re.compile(r"max_total_num_tokens=(\d+)")
_OWN_WORDS = re.compile(r"\s*(?:RuntimeError: )?(?:Rank \d+ |Subprocess |Scheduler |DP\S* )")
_WATCHDOG = re.compile(r"[Ww]atchdog timeout \((?!.*soft=True)")
_CAPTURE = re.compile(r"\bCapture (?:(?:[\w-]+ ){1,7}(?:begin|end|bs|num tokens)\b|num tokens: )")
_REGISTERED = re.compile(r"\bRegister(?:ing|ed) \d+ cuda graph addresses")
_DEEP_GEMM = re.compile(r"Entering DeepGEMM JIT|DeepGEMM JIT Compiling for")
_AUTOTUNE = re.compile(r"Running FlashInfer autotune|tuning from scratch|extra EXTEND pass")
_HOST_POOL = re.compile(r"\bAllocating .{0,120}GB host memory")
_REPACKED = re.compile(r"\bPreparing .{1,60} for .{1,60}\(layer: ")
_DAEMON = re.compile(r"\] (?:Loading model from disk|Model loaded from disk|Exported \d+ tensors)")
_ENDED = re.compile(r"DataParallelController \d+ terminated with (-?\d+)")
_GRPC_PORT = re.compile(r" listening on \S*:(\d{1,5})(?!\d)")
_ASKED_TO_END = ("0", "-15", "-2")


def _args(line: Line) -> LaunchFact:
    values = {name: value.strip("'") for name, value in reversed(_ARGS.findall(line.message))}
    names = frozenset(_NAMES.findall(line.message))
    return ArgsSeen(values, names if len(names) >= _MANY_NAMES else frozenset(), line=line)


def _kv(line: Line) -> LaunchFact:
    found = _TOKENS.search(line.message)
    return KvAllocated(whole(found[1]) if found else None, line=line)


def _capacity(line: Line) -> LaunchFact | None:
    found = _CAPACITY.match(line.message)
    tokens = whole(found[1]) if found else None
    return None if tokens is None else CapacitySeen(tokens, line=line)


def _watchdog(line: Line) -> LaunchFact | None:
    if not _WATCHDOG.search(line.message):
        return Waiting("watchdog", line=line) if "soft=True" in line.message else None
    return Fault(line.message, "watchdog", Standing.WATCHDOG, fatal=True, line=line)


def _child_died(line: Line) -> LaunchFact | None:
    if _OWN_WORDS.match(line.message) is None:
        return None  # somebody quotes it
    return Fault(line.message, failure_of(line.message), Standing.DIED, fatal=True, line=line)


def _ended(line: Line) -> LaunchFact | None:
    """A further node's parent, which lives as long as its schedulers do."""
    found = _ENDED.search(line.message)
    if found is None or found[1] in _ASKED_TO_END:
        return None
    return Fault(
        line.message, "child_killed" if found[1] == "-9" else "child_died", Standing.DIED, fatal=True, line=line
    )


def _grpc_port(line: Line) -> LaunchFact | None:
    found = _GRPC_PORT.search(line.message)
    port = whole(found[1]) if found else None
    return PortBound(port, line=line) if port is not None and 0 < port < 65536 else None


def _ipc_loader(line: Line) -> LaunchFact:
    """Weights that a daemon holds for several starts; it takes the server with it when it dies."""
    if "died while this engine holds its weights" in line.message:
        return Fault(line.message, "child_died", Standing.DIED, fatal=True, line=line)
    return PhaseReached(LaunchPhase.WEIGHTS, line=line)


def _autotune(line: Line) -> LaunchFact | None:
    if _AUTOTUNE.search(line.message):
        return SlowWork(line=line)
    done = "autotune completed" in line.message
    return PhaseReached(LaunchPhase.KV_CACHE, line=line) if done else None


def _only(pattern: re.Pattern[str], read: Reader) -> Reader:
    """`read`, where the line has the pattern as well."""

    def read_it(line: Line) -> LaunchFact | None:
        return read(line) if pattern.search(line.message) else None

    return read_it


RULES: tuple[Rule, ...] = tuple(
    Rule(word, read, "sglang")
    for word, read in (
        ("server_args=", _args),
        ("init MMEncoder ", says(EncoderSeen())),
        # ranks find each other
        ("Init torch distributed", reaches(LaunchPhase.DISTRIBUTED)),
        ("Init parallel", reaches(LaunchPhase.DISTRIBUTED)),
        ("Init nccl begin", reaches(LaunchPhase.DISTRIBUTED)),
        ("sglang is using nccl==", reaches(LaunchPhase.DISTRIBUTED)),
        ("NCCL/RCCL", reaches(LaunchPhase.DISTRIBUTED)),
        ("Gated launch ", reaches(LaunchPhase.DISTRIBUTED)),
        ("Memory baseline taken", reaches(LaunchPhase.DISTRIBUTED)),
        # weights
        ("Load weight begin", says(WeightsBegan())),
        ("Load weight end", says(RankLoaded())),
        ("Loading weights from remote", reaches(LaunchPhase.WEIGHTS)),
        ("Loaded weights from remote", reaches(LaunchPhase.WEIGHTS)),
        ("prefetching checkpoint files", reaches(LaunchPhase.WEIGHTS)),
        ("checkpoint shards into page cache", reaches(LaunchPhase.WEIGHTS)),
        ("Prepared capture-safe model", reaches(LaunchPhase.WEIGHTS)),
        ("Started checkpoint prefetching", reaches(LaunchPhase.WEIGHTS)),
        ("[IpcModelLoader]", _ipc_loader),
        ("[WeightCacheDaemon ", _only(_DAEMON, reaches(LaunchPhase.WEIGHTS))),
        ("(layer: ", _only(_REPACKED, reaches(LaunchPhase.WEIGHTS))),
        # caches
        ("KV Cache is allocated", _kv),
        ("KV Cache VA upper bound", _kv),
        ("KV Cache skipped (no-op pool)", _kv),
        ("Post-capture KV sizing: KV cache allocated", _kv),
        ("Mamba Cache is allocated", reaches(LaunchPhase.KV_CACHE)),
        ("SWAKVPool ", reaches(LaunchPhase.KV_CACHE)),
        ("UnifiedKVPool ", reaches(LaunchPhase.KV_CACHE)),
        ("TokenToKVPool with max_num_reqs", reaches(LaunchPhase.KV_CACHE)),
        ("Memory pool end", reaches(LaunchPhase.KV_CACHE)),
        ("GB host memory", _only(_HOST_POOL, says(SlowWork()))),
        # kernels and graphs
        ("FlashInfer autotune", _autotune),
        ("DeepGEMM JIT", _only(_DEEP_GEMM, says(SlowWork()))),
        ("DeepGEMM warmup start", says(SlowWork())),
        ("Required memory for warmup: ", says(SlowWork())),
        ("Loading JIT ops", says(SlowWork())),
        ("Capture ", _only(_CAPTURE, reaches(LaunchPhase.CUDA_GRAPH))),
        ("Register", _only(_REGISTERED, reaches(LaunchPhase.CUDA_GRAPH))),
        # the server asks itself
        ("max_total_num_tokens=", _capacity),
        ("Engine startup timings", reaches(LaunchPhase.WARMUP)),
        ("Dummy health check server started", reaches(LaunchPhase.WARMUP)),
        ("Starting dummy health check server", reaches(LaunchPhase.WARMUP)),
        ("Start multi-tokenizer worker process", reaches(LaunchPhase.WARMUP)),
        ("SGLANG_RUST_SERVER enabled", reaches(LaunchPhase.WARMUP)),
        ("Native gRPC server started", reaches(LaunchPhase.WARMUP)),
        ("gRPC server listening on", _grpc_port),
        ("gRPC server (TLS) listening on", _grpc_port),
        ("Start of prefill warmup", says(SlowWork())),
        ("Start of pd disaggregation warmup", says(SlowWork())),
        ("Running warmup ", says(SlowWork())),
        ("The server is fired up", says(ServerReady())),
        ("gRPC encoder server listening on", says(ServerReady())),
        # ends
        ("Health check failed. Server couldn't get a response", says(HealthFailed())),
        ("SIGTERM received. signum", opens("SIGTERM received. signum", StopSeen())),
        ("SIGTERM received on node_rank", says(StopSeen())),
        ("Signal SIGTERM received", opens("Signal SIGTERM received", StopSeen())),
        ("Received shutdown signal", says(StopSeen())),
        ("Gracefully exiting... Remaining", opens("Gracefully exiting... Remaining", StopSeen())),
        ("Received sigquit from a child", opens("Received sigquit from a child", EndSeen())),
        ("SIGQUIT received.", opens("SIGQUIT received.", EndSeen())),
        ("atchdog timeout (self.", _watchdog),
        ("scheduler is dead. Please", _child_died),
        ("scheduler died during initialization (", _child_died),
        ("crashed with exit code", _child_died),
        ("Scheduler or DataParallelController", _ended),
        ("is in use. Waiting for", says(Waiting("internal_port_taken"))),
    )
)
"""(a word of the line, what it means)."""

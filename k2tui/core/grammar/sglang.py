"""What SGLang prints, from 0.4 to 0.5.23."""

from __future__ import annotations

import re

from k2tui.core.facts import (
    ArgsSeen,
    CapacitySeen,
    EndSeen,
    Fault,
    HealthFailed,
    KvAllocated,
    LaunchFact,
    Line,
    RankLoaded,
    ServerReady,
    SlowWork,
    Standing,
    StopSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.grammar.rule import Rule, reaches, says
from k2tui.core.grammar.signatures import failure_of
from k2tui.core.launch import LaunchPhase

_ARGS = re.compile(
    r"(?<![\w'])'?(model_path|served_model_name|port|tp_size|pp_size|dp_size|nnodes|node_rank|enable_dp_attention"
    r"|reasoning_parser|tool_call_parser|speculative_algorithm|load_format|mem_fraction_static"
    r"|enable_torch_compile)'?(?:=|: )"
    r"('[^']*'|[^,)}\s]+)"
)
_NAMES = re.compile(r"(?<=[(,{ ])'?([a-z][a-z0-9_]{2,})(?:=|': )")
_MANY_NAMES = 100

_TOKENS = re.compile(r"#tokens: (\d+)")
_CAPACITY = re.compile(r"max_total_num_tokens=(\d+)")
_WATCHDOG = re.compile(r"[Ww]atchdog timeout \((?!.*soft=True)")


def _args(line: Line) -> LaunchFact:
    values = {name: value.strip("'") for name, value in reversed(_ARGS.findall(line.message))}
    names = frozenset(_NAMES.findall(line.message))
    return ArgsSeen(values, names if len(names) >= _MANY_NAMES else frozenset(), line=line)


def _kv(line: Line) -> LaunchFact:
    found = _TOKENS.search(line.message)
    return KvAllocated(int(found[1]) if found else None, line=line)


def _capacity(line: Line) -> LaunchFact | None:
    found = _CAPACITY.match(line.message)
    return CapacitySeen(int(found[1]), line=line) if found else None


def _watchdog(line: Line) -> LaunchFact | None:
    if not _WATCHDOG.search(line.message):
        return None
    return Fault(line.message, "watchdog", Standing.WATCHDOG, fatal=True, line=line)


def _child_died(line: Line) -> LaunchFact:
    return Fault(line.message, failure_of(line.message), Standing.DIED, fatal=True, line=line)


RULES: tuple[Rule, ...] = tuple(
    Rule(word, read, "sglang")
    for word, read in (
        ("server_args=", _args),
        ("Init torch distributed", reaches(LaunchPhase.DISTRIBUTED)),
        ("Init parallel", reaches(LaunchPhase.DISTRIBUTED)),
        ("Init nccl begin", reaches(LaunchPhase.DISTRIBUTED)),
        ("sglang is using nccl==", reaches(LaunchPhase.DISTRIBUTED)),
        ("Memory baseline taken", reaches(LaunchPhase.DISTRIBUTED)),
        ("Load weight begin", says(WeightsBegan())),
        ("Load weight end", says(RankLoaded())),
        ("KV Cache is allocated", _kv),
        ("KV Cache VA upper bound", _kv),
        ("Mamba Cache is allocated", reaches(LaunchPhase.KV_CACHE)),
        ("Memory pool end", reaches(LaunchPhase.KV_CACHE)),
        ("Capture cuda graph", reaches(LaunchPhase.CUDA_GRAPH)),
        ("Capture draft", reaches(LaunchPhase.CUDA_GRAPH)),
        ("Capture target", reaches(LaunchPhase.CUDA_GRAPH)),
        ("Capture piecewise CUDA graph", reaches(LaunchPhase.CUDA_GRAPH)),
        ("CUDA graph begin", reaches(LaunchPhase.CUDA_GRAPH)),
        ("Running FlashInfer autotune", says(SlowWork())),
        ("DeepGEMM JIT", says(SlowWork())),
        ("Loading JIT ops", says(SlowWork())),
        ("max_total_num_tokens=", _capacity),
        ("Engine startup timings", reaches(LaunchPhase.WARMUP)),
        ("The server is fired up", says(ServerReady())),
        ("Health check failed. Server couldn't get a response", says(HealthFailed())),
        ("SIGTERM received. signum", says(StopSeen())),
        ("Signal SIGTERM received", says(StopSeen())),
        ("Gracefully exiting... Remaining", says(StopSeen())),
        ("Received sigquit from a child", says(EndSeen())),
        ("SIGQUIT received.", says(EndSeen())),
        ("atchdog timeout (self.", _watchdog),
        ("scheduler is dead. Please", _child_died),
        ("scheduler died during initialization (", _child_died),
        ("crashed with exit code", _child_died),
        ("is in use. Waiting for", says(Waiting("internal_port_taken"))),
    )
)
"""(a word of the line, what it means)."""

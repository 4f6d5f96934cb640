"""What vLLM prints: the engine V1 of 0.8 to 0.32, and what the engine V0 said in the same words."""

from __future__ import annotations

import re

from k2tui.core.facts import (
    ArgsSeen,
    EndSeen,
    Fault,
    KvAllocated,
    LaunchFact,
    Line,
    PortBound,
    RankLoaded,
    SlowWork,
    Standing,
    StopSeen,
    VersionSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.grammar.rule import Rule, reaches, says
from k2tui.core.launch import LaunchPhase

_ARGS = re.compile(r"'(\w+)': ('[^']*'|\[[^\]]*\]|[^,}]+)")
_ARG_NAMES = {
    "model": "model_path",
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
}
_VERSION = re.compile(r"(?:API server version |engine \(v|\s{2}version )(\d[\w.+]*)")
_TOKENS = re.compile(r"KV cache size: ([\d,]+) tokens")
_URL_PORT = re.compile(r"https?://\S*?:(\d{1,5})(?!\d)")


def _args(line: Line) -> LaunchFact:
    values = {_ARG_NAMES.get(name, name): value.strip("'") for name, value in _ARGS.findall(line.message)}
    return ArgsSeen(values, line=line)


def _version(line: Line) -> LaunchFact | None:
    found = _VERSION.search(line.message)
    return VersionSeen(found[1], begins=True, line=line) if found else None


def _engine_version(line: Line) -> LaunchFact | None:
    found = _VERSION.search(line.message)
    return VersionSeen(found[1], line=line) if found else None


def _kv(line: Line) -> LaunchFact:
    found = _TOKENS.search(line.message)
    return KvAllocated(int(found[1].replace(",", "")) if found else None, line=line)


def _port(line: Line) -> LaunchFact | None:
    found = _URL_PORT.search(line.message)
    return PortBound(int(found[1]), line=line) if found else None


def _engine_gone(line: Line) -> LaunchFact:
    return Fault(line.message, "child_died", Standing.ECHO, fatal=True, line=line)


RULES: tuple[Rule, ...] = tuple(
    Rule(word, read, "vllm")
    for word, read in (
        ("vLLM API server version", _version),
        ("█  version ", _version),
        ("non-default args: {", _args),
        ("Initializing a V1 LLM engine", _engine_version),
        ("Initializing an LLM engine", _engine_version),
        ("Initializing a V1 LLM engine", reaches(LaunchPhase.DISTRIBUTED)),
        ("Initializing an LLM engine", reaches(LaunchPhase.DISTRIBUTED)),
        ("world_size=", reaches(LaunchPhase.DISTRIBUTED)),
        ("vLLM is using nccl", reaches(LaunchPhase.DISTRIBUTED)),
        ("Starting to load model", says(WeightsBegan())),
        ("Loading model from scratch", says(WeightsBegan())),
        ("Loading drafter model", says(WeightsBegan(draft=True))),
        ("Loading weights took", reaches(LaunchPhase.POSTPROCESS)),
        ("Model loading took", says(RankLoaded())),
        ("Available KV cache memory", reaches(LaunchPhase.KV_CACHE)),
        ("GPU KV cache size", _kv),
        ("CPU KV cache size", _kv),
        ("Maximum concurrency for", reaches(LaunchPhase.KV_CACHE)),
        ("Graph capturing finished", reaches(LaunchPhase.CUDA_GRAPH)),
        ("init engine (profile", reaches(LaunchPhase.WARMUP)),
        ("Starting vLLM API server", _port),
        ("Starting vLLM server", _port),
        ("Warming up model for the compilation", reaches(LaunchPhase.KV_CACHE)),
        ("Warming up model for the compilation", says(SlowWork())),
        ("Dynamo bytecode transform", reaches(LaunchPhase.KV_CACHE)),
        ("Compiling a graph for", reaches(LaunchPhase.KV_CACHE)),
        ("Compiling a graph for", says(SlowWork())),
        ("torch.compile takes", reaches(LaunchPhase.KV_CACHE)),
        ("No available shared memory broadcast block", says(Waiting("peer_silent"))),
        ("EngineCore failed to start", says(EndSeen())),
        ("Got fatal signal from worker processes", says(EndSeen())),
        ("engine core exited unexpectedly", _engine_gone),
        ("[shutdown] API server: shutdown triggered", says(StopSeen())),
    )
)
"""(a word of the line, what it means)."""

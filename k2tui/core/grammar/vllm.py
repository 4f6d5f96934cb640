"""What vLLM prints, from 0.6 to 0.33: the engine V1, and V0 before it."""

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
    ServerReady,
    SlowWork,
    Standing,
    StopSeen,
    VersionSeen,
    Waiting,
    WeightsBegan,
)
from k2tui.core.figures import whole
from k2tui.core.grammar.rule import Rule, reaches, says
from k2tui.core.launch import LaunchPhase

_ARGS = re.compile(r"'(\w+)': ('[^']*'|\[[^\]]*\]|[^,}]+)")
_NAMESPACE = re.compile(r"(?<=[( ])(\w+)=('[^']*'|\[[^\]]*\]|[^,)]+)")
_ARG_NAMES = {
    "model": "model_path",
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
}
_HEADLESS = {"headless": "True", "node_rank": "1"}
"""A node without a web server is a further one, and never says that it is ready."""
_VERSION = re.compile(r"(?:API server version |engine \(v|Launching vLLM \(v|\s{2}version )(\d[\w.+]*)")
_TOKENS = re.compile(r"KV cache size: ([\d,]+) tokens")
_URL_PORT = re.compile(r"https?://\S*?:(\d{1,5})(?!\d)")
_GRPC_PORT = re.compile(r" started on \S*:(\d{1,5})(?!\d)")
_CHILD_DIED = re.compile(
    r"^(?:\[shutdown\] .{1,40}: )?(?:Worker proc|Engine core proc|RayWorkerProc) \S+ died unexpectedly"
    r"|^Worker \S+ pid \d+ died, exit code: -?\d+"
)
_ASKED_TO_END = re.compile(r"exit code: (?:-15|-2|0)\b")


def _args(line: Line) -> LaunchFact:
    return ArgsSeen(_values(_ARGS.findall(line.message)), line=line)


def _all_args(line: Line) -> LaunchFact:
    found = _NAMESPACE.findall(line.message)
    return ArgsSeen(_values(found), frozenset(name for name, _ in found), line=line)


def _values(found: list[tuple[str, str]]) -> dict[str, str]:
    values = {_ARG_NAMES.get(name, name): _plain(value) for name, value in found if value != "None"}
    if "data_parallel_size_local" in values:  # the ranks of this log; those of other nodes write elsewhere
        values["dp_size"] = values["data_parallel_size_local"]
    return values


def _plain(value: str) -> str:
    """Of a list the first: a served model may have several names."""
    return value.strip("[]").split(", ")[0].strip("'")


def _headless(line: Line) -> LaunchFact:
    found = _VERSION.search(line.message)
    return ArgsSeen(_HEADLESS, version=found[1] if found else None, line=line)


def _version(line: Line) -> LaunchFact | None:
    found = _VERSION.search(line.message)
    return VersionSeen(found[1], begins=True, line=line) if found else None


def _engine_version(line: Line) -> LaunchFact | None:
    found = _VERSION.search(line.message)
    return VersionSeen(found[1], line=line) if found else None


def _kv(line: Line) -> LaunchFact | None:
    found = _TOKENS.search(line.message)
    return KvAllocated(whole(found[1]), line=line) if found else None


def _port(line: Line) -> LaunchFact | None:
    found = _URL_PORT.search(line.message)
    return PortBound(int(found[1]), line=line) if found else None


def _grpc_port(line: Line) -> LaunchFact | None:
    found = _GRPC_PORT.search(line.message)
    port = whole(found[1]) if found else None
    return PortBound(port, line=line) if port is not None and 0 < port < 65536 else None


def _engine_gone(line: Line) -> LaunchFact:
    return Fault(line.message, "child_died", Standing.ECHO, fatal=True, line=line)


def _child_died(line: Line) -> LaunchFact | None:
    message = line.message
    if not _CHILD_DIED.match(message) or _ASKED_TO_END.search(message):
        return None
    failure = "child_killed" if "exit code: -9" in message else "child_died"
    return Fault(message, failure, Standing.DIED, fatal=True, line=line)


_COMPILED = reaches(LaunchPhase.KV_CACHE)
"""Graphs are compiled while the engine finds out how much memory a step takes."""
_COMPILES = says(SlowWork())

RULES: tuple[Rule, ...] = tuple(
    Rule(word, read, "vllm")
    for word, read in (
        # arguments
        ("vLLM API server version", _version),
        ("█  version ", _version),
        ("non-default args: {", _args),
        ("args: Namespace(", _all_args),
        ("engine(s) in headless mode", _headless),
        (") headless multiproc executor", _headless),
        # ranks find each other
        ("Initializing a V1 LLM engine", _engine_version),
        ("Initializing a V0 LLM engine", _engine_version),
        ("Initializing an LLM engine", _engine_version),
        ("Initializing a V1 LLM engine", reaches(LaunchPhase.DISTRIBUTED)),
        ("Initializing a V0 LLM engine", reaches(LaunchPhase.DISTRIBUTED)),
        ("Initializing an LLM engine", reaches(LaunchPhase.DISTRIBUTED)),
        ("Started DP Coordinator process", reaches(LaunchPhase.DISTRIBUTED)),
        ("Creating placement groups for data parallel", reaches(LaunchPhase.DISTRIBUTED)),
        ("distributed_init_method=", reaches(LaunchPhase.DISTRIBUTED)),
        ("vLLM is using nccl", reaches(LaunchPhase.DISTRIBUTED)),
        ("is assigned as DP rank", reaches(LaunchPhase.DISTRIBUTED)),
        ("Waiting for creating a placement group", says(Waiting("device_ordinal"))),
        ("Waiting for READY message from DP Coordinator", says(Waiting("rendezvous"))),
        # weights
        ("Starting to load model", says(WeightsBegan())),
        ("Loading model from scratch", reaches(LaunchPhase.WEIGHTS)),
        ("Loading drafter model", says(WeightsBegan(draft=True))),
        ("Prefetching checkpoint files into page cache", reaches(LaunchPhase.WEIGHTS)),
        ("Time spent downloading weights for", reaches(LaunchPhase.WEIGHTS)),
        ("Loading weights took", reaches(LaunchPhase.POSTPROCESS)),
        ("Loading model weights took", says(RankLoaded())),
        ("Model loading took", says(RankLoaded())),
        # compilation, within the profiling run
        ("for vLLM's torch.compile", _COMPILED),
        ("for vLLM's torch.compile", _COMPILES),
        ("vLLM's torch.compile cache is disabled", _COMPILES),
        ("Starting torch.compile", _COMPILED),
        ("Starting torch.compile", _COMPILES),
        ("Warming up model for the compilation", _COMPILED),
        ("Warming up model for the compilation", _COMPILES),
        ("Dynamo bytecode transform", _COMPILED),
        ("Dynamo bytecode transform", _COMPILES),
        ("Compiling a graph for", _COMPILED),
        ("Compiling a graph for", _COMPILES),
        ("Cache the graph of", _COMPILED),
        ("Directly load the compiled graph", _COMPILED),
        ("Directly load AOT compilation", _COMPILED),
        ("torch.compile takes", _COMPILED),
        ("torch.compile took", _COMPILED),
        ("Initial profiling/warmup run took", _COMPILED),
        # the cache
        ("Memory profiling takes", reaches(LaunchPhase.KV_CACHE)),
        ("Available KV cache memory", reaches(LaunchPhase.KV_CACHE)),
        ("# GPU blocks: ", reaches(LaunchPhase.KV_CACHE)),
        ("# CPU blocks: ", reaches(LaunchPhase.KV_CACHE)),
        ("KV cache size: ", _kv),
        ("Maximum concurrency for", reaches(LaunchPhase.KV_CACHE)),
        # graphs
        ("Compile and warming up model for size", reaches(LaunchPhase.CUDA_GRAPH)),
        ("Compile and warming up model for size", _COMPILES),
        ("Capturing cudagraphs for decoding", reaches(LaunchPhase.CUDA_GRAPH)),
        ("Graph capturing finished", reaches(LaunchPhase.CUDA_GRAPH)),
        # the web server
        ("init engine (profile", reaches(LaunchPhase.WARMUP)),
        ("Starting vLLM API server", _port),
        ("Starting vLLM server", _port),
        ("vLLM gRPC server started on", _grpc_port),
        ("Server is ready to accept requests", says(ServerReady())),
        # ends
        ("has been marked dead because", says(Waiting("node_dead"))),
        ("No available shared memory broadcast block", says(Waiting("peer_silent"))),
        ("EngineCore failed to start", says(EndSeen())),
        ("Got fatal signal from worker processes", says(EndSeen())),
        ("engine core exited unexpectedly", _engine_gone),
        ("died unexpectedly", _child_died),
        (" died, exit code: ", _child_died),
        ("[shutdown] API server: shutdown triggered", says(StopSeen())),
    )
)
"""(a word of the line, what it means)."""

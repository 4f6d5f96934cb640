"""Variables that engines and their libraries read: what they take, and what they do with anything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum


class Reads(Enum):
    """How a variable's value is read."""

    SWITCH = "switch"
    """0 or 1; NCCL reads what does not begin with a digit as 0."""
    NUMBER = "number"
    LIST = "list"
    """Words between commas, `^` in front for all but these; `allreduce:LL` for one function, `;` between those."""
    LEVEL = "level"
    """A word in capitals or a digit; anything else is passed over in silence."""
    WORD = "word"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Variable:
    """One variable."""

    name: str
    reads: Reads
    help: str
    """One line for an operator."""
    values: tuple[str, ...] = ()
    """What it takes, or what is mostly given; empty: anything of its kind."""
    low: int | None = None
    high: int | None = None


_LEVELS = ("LOC", "NVL", "PIX", "PXB", "PHB", "SYS")
"""Also NVB, C2C, PXN and others of topo.cc, which nobody types."""
_ALGORITHMS = ("Ring", "Tree", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT")
FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv")
"""What may stand before a colon in NCCL_PROTO and NCCL_ALGO."""


def _switch(name: str, text: str) -> Variable:
    return Variable(name, Reads.SWITCH, text, ("0", "1"))


_ROWS: tuple[Variable, ...] = (
    # NCCL: https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html; how a value is read: NVIDIA/nccl
    # src/graph/tuning.cc (parseList), src/graph/paths.cc (ncclGetLevel), src/misc/param.cc (ncclLoadParam).
    Variable("NCCL_PROTO", Reads.LIST, "Protocols that NCCL may use", ("LL", "LL128", "Simple")),
    Variable("NCCL_ALGO", Reads.LIST, "Algorithms that NCCL may use", _ALGORITHMS),
    Variable("NCCL_P2P_LEVEL", Reads.LEVEL, "How far apart GPUs may be that copy to each other directly", _LEVELS),
    Variable("NCCL_NET_GDR_LEVEL", Reads.LEVEL, "How far a NIC may be from a GPU that it copies from", _LEVELS),
    _switch("NCCL_P2P_DISABLE", "1: no direct copies between GPUs"),
    _switch("NCCL_P2P_DIRECT_DISABLE", "1: no direct copies between GPUs of one process"),
    _switch("NCCL_SHM_DISABLE", "1: no shared memory between ranks; the network instead"),
    _switch("NCCL_IB_DISABLE", "1: no InfiniBand or RoCE; IP sockets instead"),
    _switch("NCCL_NVLS_ENABLE", "1: reduce inside the NVSwitch (Hopper and later)"),
    _switch("NCCL_CUMEM_ENABLE", "1: buffers by the cuMem API"),
    _switch("NCCL_CUMEM_HOST_ENABLE", "1: host buffers by the cuMem API"),
    _switch("NCCL_COLLNET_ENABLE", "1: reduce inside the network (SHARP)"),
    _switch("NCCL_DMABUF_ENABLE", "1: register GPU memory by DMA-BUF"),
    _switch("NCCL_MNNVL_ENABLE", "1: NVLink between nodes"),
    _switch("NCCL_IGNORE_CPU_AFFINITY", "1: choose cores by the GPU alone"),
    _switch("NCCL_GRAPH_MIXING_SUPPORT", "0: graphs and plain launches never overlap; a little faster"),
    _switch("NCCL_GRAPH_REGISTER", "1: register buffers of captured graphs"),
    _switch("NCCL_PXN_DISABLE", "1: never by way of another GPU to a NIC"),
    _switch("NCCL_SET_THREAD_NAME", "1: name NCCL's threads"),
    Variable("NCCL_CROSS_NIC", Reads.NUMBER, "May a ring use different NICs on two nodes", ("0", "1", "2"), 0, 2),
    Variable(
        "NCCL_DEBUG", Reads.WORD, "How much NCCL prints into the log", ("VERSION", "WARN", "INFO", "TRACE", "ABORT")
    ),
    Variable("NCCL_DEBUG_SUBSYS", Reads.TEXT, "Of what NCCL prints", ("INIT,ENV,TUNING", "INIT,ENV", "ALL")),
    Variable("NCCL_DEBUG_FILE", Reads.TEXT, "Where NCCL prints to: a path with %h and %p"),
    Variable("NCCL_MIN_NCHANNELS", Reads.NUMBER, "Fewest channels, each a block on the GPU", (), 1, 64),
    Variable("NCCL_MAX_NCHANNELS", Reads.NUMBER, "Most channels, each a block on the GPU", (), 1, 64),
    Variable("NCCL_MIN_CTAS", Reads.NUMBER, "Fewest blocks on the GPU", (), 1, 64),
    Variable("NCCL_MAX_CTAS", Reads.NUMBER, "Most blocks on the GPU", (), 1, 64),
    Variable("NCCL_NTHREADS", Reads.NUMBER, "Threads of a block", ("64", "128", "256", "512"), 64, 1024),
    Variable("NCCL_BUFFSIZE", Reads.NUMBER, "Bytes of a buffer between two GPUs; 4194304 unless given", (), 1),
    Variable("NCCL_SOCKET_IFNAME", Reads.TEXT, "Interfaces for IP: beginnings of names, =eth0 for exactly, ^ for not"),
    Variable("NCCL_SOCKET_FAMILY", Reads.WORD, "Which IP", ("AF_INET", "AF_INET6")),
    Variable("NCCL_SOCKET_NTHREADS", Reads.NUMBER, "Threads for a connection over IP", (), 1, 16),
    Variable("NCCL_NSOCKS_PERTHREAD", Reads.NUMBER, "Sockets of a thread", (), 1, 64),
    Variable("NCCL_IB_HCA", Reads.TEXT, "InfiniBand cards: mlx5_0,mlx5_1:1; = for exactly, ^ for not"),
    Variable("NCCL_IB_GID_INDEX", Reads.NUMBER, "Which address of a RoCE card", (), -1, 255),
    Variable("NCCL_IB_TIMEOUT", Reads.NUMBER, "4.096 us x 2^N until a packet is sent again", (), 1, 31),
    Variable("NCCL_IB_RETRY_CNT", Reads.NUMBER, "How often a packet is sent again", (), 0, 7),
    Variable("NCCL_IB_TC", Reads.NUMBER, "InfiniBand traffic class", (), 0, 255),
    Variable("NCCL_IB_SL", Reads.NUMBER, "InfiniBand service level", (), 0, 15),
    Variable("NCCL_IB_QPS_PER_CONNECTION", Reads.NUMBER, "Queue pairs of a connection", (), 1, 128),
    Variable("NCCL_NET", Reads.TEXT, "Which network module", ("IB", "Socket")),
    Variable("NCCL_NET_PLUGIN", Reads.TEXT, "Which network plugin is loaded", ("none",)),
    Variable("NCCL_TOPO_FILE", Reads.TEXT, "An XML file that says how GPUs and NICs are joined"),
    Variable("NCCL_TOPO_DUMP_FILE", Reads.TEXT, "Where NCCL writes what it found of that"),
    # CUDA and PyTorch
    Variable("CUDA_VISIBLE_DEVICES", Reads.TEXT, "GPUs that it may use, in its own order"),
    Variable("CUDA_DEVICE_MAX_CONNECTIONS", Reads.NUMBER, "Hardware queues", (), 1, 32),
    Variable("CUDA_DEVICE_ORDER", Reads.WORD, "What GPU 0 is", ("PCI_BUS_ID", "FASTEST_FIRST")),
    _switch("CUDA_LAUNCH_BLOCKING", "1: one kernel after the other; errors come where they arise, and all is slow"),
    Variable(
        "PYTORCH_CUDA_ALLOC_CONF", Reads.TEXT, "PyTorch's memory", ("expandable_segments:True", "max_split_size_mb:512")
    ),
    # SGLang: environ.py
    _switch("SGLANG_LOG_MS", "1: milliseconds in the log's times"),
    _switch("SGLANG_EXPOSE_OWN_ENV_VARS", "1: /server_info tells its environment"),
    _switch("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "0: /health generates nothing"),
    _switch("SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK", "0: GPUs that hold different amounts are only warned of"),
    _switch("SGLANG_SKIP_SGL_KERNEL_VERSION_CHECK", "1: any kernel wheel will do"),
    Variable("SGLANG_HEALTH_CHECK_TIMEOUT", Reads.NUMBER, "Seconds that /health waits", (), 1),
    Variable("SGLANG_WAIT_PORT_TIMEOUT", Reads.NUMBER, "Seconds that it waits for an inner port", (), 1),
    # vLLM: envs.py
    Variable("VLLM_LOGGING_LEVEL", Reads.WORD, "How much it prints", ("DEBUG", "INFO", "WARNING", "ERROR")),
    Variable("VLLM_WORKER_MULTIPROC_METHOD", Reads.WORD, "How workers begin", ("fork", "spawn")),
    Variable("HF_HUB_OFFLINE", Reads.SWITCH, "1: nothing is fetched from the hub", ("0", "1")),
)

KNOWN_VARIABLES: Mapping[str, Variable] = {row.name: row for row in _ROWS}
VARIABLES: Mapping[str, tuple[tuple[str, ...], str]] = {row.name: (row.values, row.help) for row in _ROWS}
"""Name to the values that are mostly given and one line of help: what completion offers."""

BY_K2TUI = frozenset({"SPT_NOENV", "PYTHONUNBUFFERED"})
"""Set by k2tui for every start: a rank's environment stays readable, a line is in the log when it is printed."""

"""What the demo tells the engine through its environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from k2tui.demo.engine.releases import CURRENT, RELEASES, Release

FAULT, PACE, SGLANG, NODE, OWNER, TRAFFIC, RATE = (
    "K2_DEMO_FAULT",
    "K2_DEMO_PACE",
    "K2_DEMO_SGLANG",
    "K2_DEMO_NODE",
    "K2_DEMO_OWNER",
    "K2_DEMO_TRAFFIC",
    "K2_DEMO_RATE",
)


class FaultKind(Enum):
    """The ways to fail that can be asked for."""

    OOM = "oom"
    """`oom:RANK`: CUDA out of memory on one rank in the middle of the weights."""
    NO_KV_MEMORY = "no_kv_memory"
    """The weights leave no room for the KV cache."""
    PORT_TAKEN = "port_taken"
    """Another process has the port; known only after the full load."""
    STALL = "stall"
    """`stall:PHASE`: silence for ever in weights, postprocess, cuda_graph or warmup."""
    CRASH_WARMUP = "crash_warmup"
    """The first forward pass raises."""
    HANG_AFTER_READY = "hang_after_ready"
    """Ready, /health answers, and no completion ever comes."""
    BAD_FLAG = "bad_flag"
    """This build does not know the last flag of the command line."""
    DIE_AFTER_READY = "die_after_ready"
    """A scheduler is killed while the server serves, at its first completion."""
    ZOMBIE = "zombie"
    """The schedulers stop at the first completion; the process lives, and HTTP answers on."""
    STUCK_GAUGE = "stuck_gauge"
    """The server's own throughput keeps its last figure while nothing runs."""
    NCCL_TREE = "nccl_tree"
    """With NCCL_ALGO=Tree the ranks never find each other; with NCCL_PROTO=LL128 beside it they crash."""


_TOLD = re.compile(r'^: "\$\{(K2_DEMO_[A-Z]+)=(.*)\}"$', re.MULTILINE)
"""A line of a node's demo.env, which its python3 reads."""
STALLS = ("weights", "postprocess", "cuda_graph", "warmup")


@dataclass(frozen=True)
class Fault:
    """One way to fail, and where."""

    kind: FaultKind
    where: str | None = None

    def __str__(self) -> str:
        return self.kind.value if self.where is None else f"{self.kind.value}:{self.where}"


def fault_words() -> tuple[str, ...]:
    """Every fault as it is written, with the place that an operator would choose first."""
    return (
        "oom:3",
        "no_kv_memory",
        "port_taken",
        *(f"stall:{phase}" for phase in STALLS),
        "crash_warmup",
        "hang_after_ready",
        "bad_flag",
        "die_after_ready",
        "zombie",
        "stuck_gauge",
        "nccl_tree",
    )


def parse_fault(text: str | None) -> Fault | None:
    """`oom:3` to a fault; None for no text. ValueError names every fault there is."""
    if not text:
        return None
    word, _, where = text.partition(":")
    problem = ValueError(f"no fault {text!r}; there are {', '.join(fault_words())}")
    try:
        kind = FaultKind(word)
    except ValueError:
        raise problem from None
    if kind is FaultKind.OOM and (not where or where.isdigit()):
        return Fault(kind, where or "0")
    if kind is FaultKind.STALL and where in ("", *STALLS):
        return Fault(kind, where or "weights")
    if where:
        raise problem
    return Fault(kind)


def _told() -> Mapping[str, str]:
    """The environment; with what its node tells, where the engine was started past the node's own python3."""
    file = Path(os.environ.get("HOME") or "/") / "demo.env"
    if NODE in os.environ or not file.is_file():
        return os.environ
    told = dict(_TOLD.findall(file.read_text(encoding="utf-8")))
    return {**told, **os.environ}


@dataclass(frozen=True)
class Knobs:
    """Everything the demo can turn."""

    pace: float = 1.0
    """Multiplies every pause: 0.2 loads five times as fast."""
    fault: Fault | None = None
    release: Release = CURRENT
    node: Path | None = None
    """The demo node's directory, where the GPUs' state is written; None: no GPUs to show it on."""
    owner: str | None = None
    """`pid:start_ticks` of the demo; the engine ends when that process is gone."""
    traffic: int = 0
    """Requests that an invisible crowd keeps running."""
    rate: float | None = None
    """Tok/s of a stream that is alone, whatever the pace; None: 60 at pace 1, and faster with it."""

    @staticmethod
    def of(env: Mapping[str, str] | None = None) -> Knobs:
        """Read from an environment; ValueError for what it can't be."""
        env = _told() if env is None else env
        version = env.get(SGLANG) or CURRENT.version
        if version not in RELEASES:
            raise ValueError(f"no SGLang {version!r} to play; there are {', '.join(RELEASES)}")
        return Knobs(
            pace=float(env.get(PACE) or 1.0),
            fault=parse_fault(env.get(FAULT)),
            release=RELEASES[version],
            node=Path(env[NODE]) if env.get(NODE) else None,
            owner=env.get(OWNER) or None,
            traffic=int(env.get(TRAFFIC) or 0),
            rate=float(env[RATE]) if env.get(RATE) else None,
        )

    def has(self, kind: FaultKind, where: str | None = None) -> bool:
        """Whether this fault is asked for (anywhere, or just there)."""
        return self.fault is not None and self.fault.kind is kind and where in (None, self.fault.where)

"""What is to be measured: the plan of one benchmark, and the server that it is about."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

MOST_STREAMS = 1024
MOST_TOKENS = 1_000_000
"""Of an answer, or of a prompt."""
FEWEST_PROMPT_TOKENS = 16
"""The load generator refuses what lies outside of these, but only once it runs (remote/load_spec.py)."""


class Procedure(Enum):
    """How it is measured."""

    QUICK = "quick"
    """Single stream, a few requests, a figure within seconds."""
    SWEEP = "sweep"
    """Several concurrencies, each held until its window is steady."""
    PREFILL = "prefill"
    """The slope of TTFT over the length of the prompt."""
    FULL = "full"
    """`sglang.bench_serving` on the node."""
    IMPORTED = "imported"
    """The result file of another tool."""


class CachePolicy(Enum):
    """What the server's prefix cache may know of the prompts."""

    FRESH = "fresh"
    """Each prompt begins with a nonce; nothing is flushed. What a quick figure does."""
    COLD = "cold"
    """The same, and the cache is flushed before each point, where the server is idle."""
    WARM = "warm"
    """The same prompts again: the cache may have them."""


@dataclass(frozen=True, slots=True)
class BenchPlan:
    """One benchmark, as it was asked for."""

    procedure: Procedure = Procedure.QUICK
    concurrencies: tuple[int, ...] = (1,)
    """Streams at the same time, one point each."""
    max_tokens: int = 256
    """Output tokens a request."""
    repeats: int = 3
    """Requests of a quick figure; prompts of each length of a prefill slope."""
    policy: CachePolicy = CachePolicy.FRESH
    budget_s: float = 25.0
    """After which a quick figure ends with what it has; also when its interval is tight before."""
    hold_s: float = 30.0
    """How long each point of a sweep is held at least."""
    prompts: tuple[str, ...] = ()
    """The operator's own prompts; empty: the set that comes with k2tui."""
    prompt_lengths: tuple[int, int] = (256, 8192)
    """Tokens of the short and the long prompts of a prefill slope."""
    ignore_eos: bool | None = None
    """None: yes, but for a server with speculative decoding, whose acceptance would change behind the end."""
    seed: int | None = None
    """Of the order and the nonces; None: a new one each time."""
    full_client: str = "auto"
    """auto | rust | python: which client of `sglang.bench_serving`; auto is the Rust one where the build has it."""
    full_args: tuple[str, ...] = ()
    """Words for `sglang.bench_serving`."""


@dataclass(frozen=True, slots=True)
class BenchTarget:
    """What is measured, and from where."""

    name: str
    """The server's name, or the URL as it was given."""
    host: str = "127.0.0.1"
    port: int = 0
    path: str = "/v1/chat/completions"
    tls: bool = False
    node: str | None = None
    """None: a bare URL, measured from here."""
    engine: str | None = None
    """sglang | vllm; None: not known."""
    model: str | None = None
    """As it is to be named in a request; None: what /v1/models says first."""
    api_key: str | None = field(default=None, repr=False)
    python: str | None = None
    """What runs the load generator; None: the first python3."""
    setup: str | None = None
    cwd: str | None = None
    speculative: bool | None = None
    """Decodes speculatively; None: not known."""
    reasoning_proved: bool | None = None
    """Its reasoning parser was looked at last: True it works, False it does not, None nobody looked or it has none."""

"""What is known of an engine's flags beyond what its own parser says, each with the place that says so.

`sglang 0.5.9 server_args.py:5134` is a file and a line below `sglang/srt` of that release. The releases that were read:
0.4.6.post5, 0.5.2, 0.5.6, 0.5.8 to 0.5.12, 0.5.15, 0.5.18, 0.5.20, 0.5.22 and 0.5.23; a span ends at the last of these
where it holds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from k2tui.core.flags import normal
from k2tui.core.preflight import Weight
from k2tui.core.versions import is_within


class Kind(Enum):
    """In which way a flag is otherwise than it looks."""

    DEAD = "dead"
    """Parsed and never used."""
    GONE = "gone"
    DEPRECATED = "deprecated"
    TRAP = "trap"
    """It does something else than its name promises."""


_WEIGHTS = {Kind.DEAD: Weight.WARN, Kind.GONE: Weight.BLOCK, Kind.DEPRECATED: Weight.NOTE, Kind.TRAP: Weight.WARN}


@dataclass(frozen=True, slots=True)
class Known:
    """One thing that is known of a flag."""

    engine: str
    name: str
    """Without dashes: `cuda-graph-max-bs`."""
    kind: Kind
    text: str
    """A few words for a table."""
    basis: str
    """Where that is known from."""
    since: str | None = None
    """First release in which it holds; None: the oldest that was read."""
    until: str | None = None
    """Last release in which it holds; None: the newest that was read."""
    replacement: str | None = None
    """What does it instead, with dashes; None: nothing does."""
    value: str | None = None
    """It holds for this value only."""
    default: str | None = None
    """The value at which it makes no difference."""
    note: bool = False
    """Worth knowing and no more, although its kind would be a warning."""

    @property
    def weight(self) -> Weight:
        """How much it weighs in a check."""
        return Weight.NOTE if self.note else _WEIGHTS[self.kind]

    @property
    def status(self) -> str:
        """ok | deprecated | gone."""
        return self.kind.value if self.kind in (Kind.GONE, Kind.DEPRECATED) else "ok"

    @property
    def effect(self) -> str | None:
        """`none` for a flag that nothing reads; None: that is not what this says."""
        return "none" if self.kind is Kind.DEAD else None


def knowledge_of(engine: str, name: str, version: str | None) -> tuple[Known, ...]:
    """What is known of a flag (with or without dashes) in a version; of every version where it is None."""
    plain = normal(name)
    return tuple(
        known
        for known in KNOWLEDGE
        if known.engine == engine
        and known.name == plain
        and (version is None or is_within(version, known.since, known.until))
    )


def dead_flags(engine: str) -> tuple[Known, ...]:
    """Flags that no version reads."""
    return tuple(known for known in KNOWLEDGE if known.engine == engine and known.kind is Kind.DEAD)


_FIELDS = "sglang: the field is absent from server_args.py"


def _gone(since: str, *rows: tuple[str, str | None], basis: str = "") -> Iterable[Known]:
    """Flags that the first named release no longer has, each with what does it instead."""
    for name, instead in rows:
        text = f"gone: use {instead}" if instead else "gone, and nothing stands for it"
        yield Known("sglang", name, Kind.GONE, text, basis or f"{_FIELDS} of {since}", since, None, instead)


def _aliases(until: str, basis: str, *rows: tuple[str, str]) -> Iterable[Known]:
    """Old names that 0.5.15 to `until` still took, with a warning."""
    for name, instead in rows:
        yield Known("sglang", name, Kind.DEPRECATED, f"deprecated: use {instead}", basis, "0.5.15", until, instead)


_GRAPH_NAMES = (
    ("cuda-graph-max-bs", "--cuda-graph-max-bs-decode"),
    ("cuda-graph-bs", "--cuda-graph-bs-decode"),
    ("nsa-prefill-backend", "--dsa-prefill-backend"),
    ("nsa-decode-backend", "--dsa-decode-backend"),
    ("mamba-scheduler-strategy", "--mamba-radix-cache-strategy"),
    ("enable-breakable-cuda-graph", "--cuda-graph-backend-prefill=breakable"),
    ("disable-piecewise-cuda-graph", "--cuda-graph-backend-prefill=disabled"),
    ("piecewise-cuda-graph-tokens", "--cuda-graph-bs-prefill"),
    ("piecewise-cuda-graph-max-tokens", "--cuda-graph-max-bs-prefill"),
    ("enable-nsa-prefill-context-parallel", "--enable-prefill-cp"),
    ("enable-prefill-context-parallel", "--enable-prefill-cp"),
)
"""Renamed when prefill and decode graphs were told apart: real up to 0.5.12, aliases to 0.5.18, gone by 0.5.20."""

KNOWLEDGE: tuple[Known, ...] = (
    Known(
        "sglang",
        "num-continuous-decode-steps",
        Kind.DEAD,
        "no effect in this version",
        "it is parsed and never used in any release from 0.4.6.post5 to 0.5.23 (the whole package was searched; in "
        "0.5.23 arg_groups/fields/schedule.py:200 is its only place)",
        default="1",
    ),
    Known(
        "sglang",
        "disable-cuda-graph",
        Kind.DEPRECATED,
        "deprecated: turns off decode and prefill graphs",
        "sglang 0.5.18 server_args.py:8791: it stands for --cuda-graph-backend-{decode,prefill}=disabled",
        "0.5.15",
        None,
        "--cuda-graph-backend-decode=disabled",
    ),
    Known(
        "sglang",
        "enable-dp-attention",
        Kind.DEPRECATED,
        "deprecated: use --attn-dp-size",
        "sglang 0.5.23: --attn-dp-size N stands for --dp-size N --enable-dp-attention, which warns and still works",
        "0.5.22",
        None,
        "--attn-dp-size",
    ),
    Known(
        "sglang",
        "reasoning-parser",
        Kind.TRAP,
        "splits wrongly with thinking off",
        "sglang 0.5.6 to 0.5.8: kimi_k2 is DeepSeekR1Detector, to which everything is reasoning until </think>: with "
        "thinking off the whole answer lands in reasoning_content",
        "0.5.6",
        "0.5.8",
        value="kimi_k2",
    ),
    Known(
        "sglang",
        "reasoning-parser",
        Kind.GONE,
        "no kimi_k2 before 0.5.6",
        "sglang 0.5.2 reasoning_parser.py knows no kimi_k2",
        None,
        "0.5.2",
        value="kimi_k2",
    ),
    *(
        Known(
            "sglang",
            name,
            Kind.GONE,
            "no auto before 0.5.12",
            "sglang 0.5.12 server_args.py:5481 and 5506 are the first that take auto",
            None,
            "0.5.11",
            value="auto",
        )
        for name in ("reasoning-parser", "tool-call-parser")
    ),
    *(
        Known(
            "sglang",
            "tool-call-parser",
            Kind.DEPRECATED,
            f"{old} is deprecated: use {new}",
            "sglang 0.5.9 server_args.py:831",
            "0.5.9",
            None,
            f"--tool-call-parser={new}",
            value=old,
        )
        for old, new in (("qwen25", "qwen"), ("glm45", "glm"))
    ),
    Known(
        "sglang",
        "log-requests",
        Kind.TRAP,
        "the beginning of each prompt goes into the log",
        "sglang 0.5.2 and later: --log-requests-level is 2 unless given; it was 0 in 0.4.6",
        "0.5.2",
        note=True,
    ),
    Known(
        "sglang",
        "disable-fast-image-processor",
        Kind.DEPRECATED,
        "deprecated: use --image-processor-backend=pil",
        "sglang 0.5.18 server_args.py:2855",
        "0.5.18",
        None,
        "--image-processor-backend=pil",
    ),
    *_aliases("0.5.18", "sglang 0.5.18 server_args.py:8736-8810: an alias that warns", *_GRAPH_NAMES),
    *_gone("0.5.20", *_GRAPH_NAMES, basis="sglang 0.5.20 to 0.5.23 have the new name only"),
    *_gone(
        "0.5.2",
        ("enable-flashinfer-mla", "--attention-backend=flashinfer"),
        ("enable-flashmla", "--attention-backend=flashmla"),
        ("n-share-experts-fusion", None),
        ("pdlb-url", None),
    ),
    *_gone(
        "0.5.6",
        ("enable-ep-moe", "--ep-size"),
        ("enable-deepep-moe", "--moe-a2a-backend=deepep"),
        ("enable-flashinfer-cutlass-moe", "--moe-runner-backend=flashinfer_cutlass"),
        ("enable-flashinfer-trtllm-moe", "--moe-runner-backend=flashinfer_trtllm"),
        ("enable-flashinfer-mxfp4-moe", "--moe-runner-backend=flashinfer_mxfp4"),
        ("enable-triton-kernel-moe", "--moe-runner-backend=triton_kernel"),
        ("max-micro-batch-size", "--pp-max-micro-batch-size"),
        basis="sglang 0.5.2 server_args.py:407-436 announces it, 0.5.6 has it no more",
    ),
    *_gone("0.5.8", ("load-watch-interval", None)),
    Known(
        "sglang",
        "enable-flashinfer-autotune",
        Kind.GONE,
        "gone: it is on unless switched off",
        "sglang 0.5.8 has --disable-flashinfer-autotune instead",
        "0.5.8",
    ),
    *_gone(
        "0.5.10",
        ("speculative-ngram-min-match-window-size", None),
        ("speculative-ngram-max-match-window-size", "--speculative-ngram-max-trie-depth"),
        ("mm-per-request-timeout", None),
    ),
    Known(
        "sglang",
        "stream-output",
        Kind.DEPRECATED,
        "deprecated: use --incremental-streaming-output",
        "sglang 0.5.12 server_args.py:5111",
        "0.5.10",
        "0.5.18",
        "--incremental-streaming-output",
    ),
    *_gone(
        "0.5.20",
        ("stream-output", "--incremental-streaming-output"),
        ("collect-tokens-histogram", "--enable-metrics"),
        ("prefill-round-robin-balance", None),
        ("enforce-piecewise-cuda-graph", None),
        ("enable-expert-distribution-metrics", "--expert-balancedness-report-mode"),
        ("prefill-cp-mode", "--cp-strategy"),
        ("piecewise-cuda-graph-compiler", None),
        basis="sglang 0.5.18 still had it, 0.5.20 has not",
    ),
    *_gone(
        "0.5.22",
        ("keep-mm-feature-on-device", "--mm-feature-transport=cuda_ipc"),
        ("cuda-graph-tc-compiler", None),
        basis="sglang 0.5.20 still had it, 0.5.22 has not",
    ),
    *_gone(
        "0.5.23",
        ("speculative-skip-dp-mlp-sync", None),
        basis="sglang 0.5.22 still had it, 0.5.23 has not",
    ),
    *_gone(
        "0.5.11",
        ("multi-item-scoring-delimiter", None),
        *((f"ds-{name}", None) for name in ("channel-config-path", "heavy-channel-num", "heavy-token-num")),
        ("ds-heavy-channel-type", None),
        ("ds-sparse-decode-threshold", None),
        ("enable-double-sparsity", None),
    ),
    Known(
        "sglang",
        "enable-piecewise-cuda-graph",
        Kind.DEPRECATED,
        "deprecated: it is on unless switched off",
        "sglang 0.5.12 server_args.py:6588",
        "0.5.10",
        "0.5.12",
    ),
    *_gone(
        "0.5.15",
        ("enable-piecewise-cuda-graph", None),
        ("enable-nan-detection", None),
        ("hybrid-kvcache-ratio", "--swa-full-tokens-ratio"),
    ),
    *_gone("0.5.18", ("torchao-config", None), ("enable-deepep-waterfill", None)),
    Known(
        "vllm",
        "enable-reasoning",
        Kind.DEPRECATED,
        "deprecated: --reasoning-parser alone does it",
        "vllm 0.9.0 engine/arg_utils.py:576",
        "0.9.0",
        "0.9.2",
        "--reasoning-parser",
    ),
    Known(
        "vllm",
        "enable-reasoning",
        Kind.GONE,
        "gone: --reasoning-parser alone does it",
        "vllm 0.9.0 announces its end with 0.10.0, which refuses it (vllm-project/vllm issue 18538)",
        "0.10.0",
        None,
        "--reasoning-parser",
    ),
)
"""Newest spelling of each thing, with the span in which it holds."""

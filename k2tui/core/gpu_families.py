"""What a GPU's name tells of what it can do, and which settings need which family."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from k2tui.core.preflight import Weight

Capability = tuple[int, int]
"""CUDA compute capability: (9, 0) is Hopper."""

# By the names that nvidia-smi prints, from the tables of https://developer.nvidia.com/cuda-gpus.
_CAPABILITIES: tuple[tuple[re.Pattern[str], Capability], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), capability)
    for pattern, capability in (
        (r"\bGB10\b", (12, 1)),
        (r"RTX PRO \d{4}\b.*Blackwell|RTX PRO [456]000\b|\bRTX 50[5-9]0\b", (12, 0)),
        (r"\bG?B300\b", (10, 3)),
        (r"\bG?B[12]00\b", (10, 0)),
        (r"\bGH200\b|\bH(?:20|100|200|800)\b", (9, 0)),
        (r"\bL(?:2|4|20|40|40S|40G)\b|RTX \d{4} Ada\b|\bRTX 40[5-9]0\b", (8, 9)),
        (r"\bA(?:2|10|10G|16|40)\b|RTX A\d{4}\b|\bRTX 30[5-9]0\b", (8, 6)),
        (r"\bA(?:30|100|800)\b", (8, 0)),
        (r"\bT4\b|\bRTX 20[678]0\b", (7, 5)),
        (r"\bV100\b", (7, 0)),
    )
)
_NO_NVLINK = re.compile(
    r"RTX PRO \d{4}|RTX \d{4} Ada|\bRTX (?:40|50)[5-9]0\b|\bL(?:2|4|20|40|40S|40G)\b|\bA(?:2|10|10G|16)\b|\bT4\b",
    re.IGNORECASE,
)
"""Boards that are built without NVLink; others may have it or not."""


def capability_of(gpu_name: str) -> Capability | None:
    """The compute capability of a GPU by its name; None for a name that is not known."""
    return next((capability for pattern, capability in _CAPABILITIES if pattern.search(gpu_name)), None)


def is_pcie_only(gpu_names: Sequence[str]) -> bool:
    """True when every one of them is a board without NVLink; False also where nothing is known."""
    return bool(gpu_names) and all(_NO_NVLINK.search(name) for name in gpu_names)


@dataclass(frozen=True, slots=True)
class Need:
    """A value of a flag that only some GPUs can run."""

    flags: tuple[str, ...]
    value: str
    majors: frozenset[int]
    """First numbers of the compute capabilities that can."""
    text: str
    """What it needs, a few words."""
    basis: str
    since: str | None = None
    until: str | None = None
    weight: Weight = Weight.BLOCK


_ATTENTION = ("attention-backend", "prefill-attention-backend", "decode-attention-backend")
_DECODE = ("attention-backend", "decode-attention-backend")

NEEDS: tuple[Need, ...] = (
    Need(
        _ATTENTION,
        "fa3",
        frozenset((8, 9)),
        "needs Ampere, Ada or Hopper",
        "sglang 0.5.9 layers/attention/attention_registry.py:126 and 0.5.23:241: SM 8.x, without MLA, or 9.x",
    ),
    Need(
        _DECODE,
        "trtllm_mla",
        frozenset((10,)),
        "needs a data-centre Blackwell",
        "sglang 0.5.2 server_args.py:582",
        None,
        "0.5.2",
    ),
    Need(
        _DECODE,
        "trtllm_mla",
        frozenset((10, 12)),
        "needs Blackwell",
        "sglang 0.5.9 server_args.py:1878, 0.5.12:2716, 0.5.23 arg_groups/overrides.py:1212",
        "0.5.9",
    ),
    Need(
        _ATTENTION,
        "trtllm_mha",
        frozenset((10,)),
        "needs a data-centre Blackwell",
        "sglang 0.5.2 server_args.py:603, 0.5.9:1899",
        None,
        "0.5.9",
    ),
    Need(
        ("attention-backend", "prefill-attention-backend"),
        "trtllm_mha",
        frozenset((10,)),
        "needs a data-centre Blackwell",
        "sglang 0.5.12 server_args.py:2763, 0.5.18:6016",
        "0.5.12",
        "0.5.18",
    ),
    Need(
        ("decode-attention-backend",),
        "trtllm_mha",
        frozenset((9, 10, 12)),
        "needs Hopper or Blackwell",
        "sglang 0.5.12 server_args.py:2775, 0.5.18:6021",
        "0.5.12",
        "0.5.18",
    ),
    Need(
        _ATTENTION,
        "trtllm_mha",
        frozenset((9, 10, 12)),
        "needs Hopper or Blackwell",
        "sglang 0.5.23 arg_groups/attention_hook.py:200-226",
        "0.5.23",
    ),
    Need(
        _ATTENTION,
        "hpc_ops",
        frozenset((9,)),
        "is for Hopper",
        "sglang 0.5.23 arg_groups/choices.py:89",
        weight=Weight.WARN,
    ),
    Need(
        ("kv-cache-dtype",),
        "nvfp4",
        frozenset((10, 12)),
        "needs Blackwell",
        "sglang 0.5.18 server_args.py:6081, 0.5.23 arg_groups/kv_cache_hook.py:125",
        "0.5.18",
    ),
    Need(
        ("kv-cache-dtype",),
        "mxfp8",
        frozenset((10, 12)),
        "needs Blackwell",
        "sglang 0.5.23 arg_groups/kv_cache_hook.py:105",
        "0.5.20",
    ),
    Need(
        ("quantization",),
        "modelopt_fp4",
        frozenset((10, 12)),
        "needs Blackwell",
        "sglang 0.5.2 layers/quantization/modelopt_quant.py:527, 0.5.9:952, 0.5.12:1134; 0.5.23 takes Ampere",
        None,
        "0.5.12",
    ),
)

"""Progress bars as tqdm draws them, in every family that servers use."""

from __future__ import annotations

import re
from collections.abc import Iterator

from k2tui.core.clock import bar_seconds
from k2tui.core.facts import BarDrawn, Line
from k2tui.core.launch import LaunchPhase, Progress

_BAR = re.compile(
    r"(?<![\d.])\d{1,3}%(?: Completed)? ?\|[^|\[\]]{0,400}\|? ?"
    r"(?<!\d)(?P<done>\d{1,9})/(?P<total>\d{1,9}) \[(?P<elapsed>[\d:]{1,12})<[^\]]{0,60}\]"
)

KNOWN_BARS: tuple[tuple[str, str, LaunchPhase | None], ...] = (
    ("Loading safetensors checkpoint shards", "shards", LaunchPhase.WEIGHTS),
    ("Multi-thread loading shards", "shards", LaunchPhase.WEIGHTS),
    ("Multi-thread loading pt checkpoint shards", "shards", LaunchPhase.WEIGHTS),
    ("Loading pt checkpoint shards", "shards", LaunchPhase.WEIGHTS),
    ("Loading np_cache checkpoint shards", "shards", LaunchPhase.WEIGHTS),
    ("Loading checkpoint shards", "shards", LaunchPhase.WEIGHTS),
    ("Loading safetensors using Runai Model Streamer", "tensors", LaunchPhase.WEIGHTS),
    ("Loading safetensors using InstantTensor", "tensors", LaunchPhase.WEIGHTS),
    ("Loading safetensors using Fastsafetensor loader", "groups", LaunchPhase.WEIGHTS),
    ("Capturing batches", "graphs", LaunchPhase.CUDA_GRAPH),
    ("Capturing num tokens", "graphs", LaunchPhase.CUDA_GRAPH),
    ("Compiling num tokens", "graphs", LaunchPhase.CUDA_GRAPH),
    ("Capturing prefill shape", "graphs", LaunchPhase.CUDA_GRAPH),
    ("Capturing CUDA graph shapes", "graphs", LaunchPhase.CUDA_GRAPH),
    ("Capturing CUDA graphs", "graphs", LaunchPhase.CUDA_GRAPH),
    ("DeepGEMM warmup", "kernels", None),
    ("JIT kernel warmup", "kernels", None),
    ("Compiling CuTeDSL kernels", "kernels", None),
    ("Pre-compiling fp8 BMM kernel", "kernels", None),
    ("Fetching", "files", None),
)
"""The bar's words, what it counts, and the phase that it belongs to (None: it can stand in several)."""

WORDS = ("% Completed |", "%|")
"""What a line with a bar holds."""

_VALUES = re.compile(r"\s*\([^()]*[\d=][^()]*\)")


def read_bars(line: Line) -> Iterator[BarDrawn]:
    """Every bar that stands in the line, in order; bars that count nothing are passed over."""
    message, begin = line.message, 0
    for found in _BAR.finditer(message):
        done, total = int(found["done"]), int(found["total"])
        words = message[begin : found.start()]
        begin = found.end()
        if total == 0 or done > total:
            continue
        label, unit, phase = _known(words)
        yield BarDrawn(Progress(done, total, unit, label), phase, bar_seconds(found["elapsed"]), line=line)


def _known(words: str) -> tuple[str, str, LaunchPhase | None]:
    words = words[-400:]
    for known, unit, phase in KNOWN_BARS:
        at = words.rfind(known)
        if at >= 0:
            rest = _VALUES.sub("", words[at:]).strip(" :")
            return (rest if rest.startswith(known) else known), unit, phase
    return _VALUES.sub("", words).strip(" :")[-60:], "items", None

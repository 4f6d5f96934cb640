"""Progress of the weights by bytes: which shards are done, where the order in which they are loaded is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from k2tui.core.bar_steps import target_bar
from k2tui.core.checkpoint import Checkpoint, Shard, by_name
from k2tui.core.launch import Bar, Launch, Progress

_SORTS_SINCE: Mapping[str, tuple[int, int, int]] = {"sglang": (0, 5, 11), "vllm": (0, 16, 0)}
"""From here on the engines sort safetensors files: SGLang by name, vLLM by name with its numbers as numbers."""
_SORTING_ARG = "weight_loader_prefetch_checkpoints"
"""An argument that SGLang has since the version that sorts."""
_SGLANG_BARS = ("Multi-thread loading shards", "Loading safetensors checkpoint shards")
_VLLM_BARS = ("Loading safetensors checkpoint shards",)
"""vLLM's own `Multi-thread loading shards` counts files as they get ready, in whatever order."""
_ALIKE = 1 / 50
"""The share of the whole by which the order of loading can be wrong at most, where it does not matter."""


def _in_order(label: str, launch: Launch, checkpoint: Checkpoint) -> tuple[Shard, ...] | None:
    """The shards as the engine loads them; None when nobody knows."""
    shards = checkpoint.shards
    if launch.engine == "vllm":
        shards = tuple(sorted(shards, key=_by_numbers))
    is_sorted = checkpoint.is_sorted
    if is_sorted is None:
        is_sorted = _sorts(label, launch)
    return shards if is_sorted or _alike(shards) else None


def _sorts(label: str, launch: Launch) -> bool:
    if launch.engine == "vllm":
        return label.startswith(_VLLM_BARS) and _is_since(launch.version, _SORTS_SINCE["vllm"])
    if launch.engine != "sglang" or not label.startswith(_SGLANG_BARS):
        return False
    if launch.version is not None:
        return _is_since(launch.version, _SORTS_SINCE["sglang"])
    if launch.arg_names:
        return _SORTING_ARG in launch.arg_names
    return label == _SGLANG_BARS[0]  # the default bar of 0.5.10, which does not sort, and of all later ones


def _is_since(version: str | None, since: tuple[int, int, int]) -> bool:
    found = re.match(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(.*)", version or "")
    if found is None:
        return False
    number = (int(found[1]), int(found[2]), int(found[3]))
    return number > since or (number == since and re.match(r"\.?(?:rc|dev|a|b)", found[4]) is None)


def _alike(shards: tuple[Shard, ...]) -> bool:
    """All of nearly one size: whatever n of them are done, it is nearly the same number of bytes."""
    sizes = sorted(shard.size_bytes for shard in shards)
    half = len(sizes) // 2
    return bool(sizes) and sum(sizes[len(sizes) - half :]) - sum(sizes[:half]) <= sum(sizes) * _ALIKE


def why_by_count(progress: Progress, launch: Launch, checkpoint: Checkpoint) -> str | None:
    """Why this bar can't be told in bytes, as half a sentence; None when it can."""
    bar = target_bar(launch)
    if progress.unit != "shards":
        return f"it counts {progress.unit}, not shards"
    if bar is None or not _same(bar.progress, progress):
        return "it is not the first bar of the served model's weights"
    if not checkpoint.shards:
        return "no weight files were found"
    if progress.total != len(checkpoint.shards):
        return f"it counts {progress.total} shards, and there are {len(checkpoint.shards)}"
    if not checkpoint.total_bytes:
        return "the weight files are empty"
    if _in_order(progress.label, launch, checkpoint) is None:
        return "this version loads the files in an order of its own"
    return None


def by_bytes(progress: Progress, launch: Launch, checkpoint: Checkpoint) -> Progress:
    """The same bar with the bytes of the shards that are done; as it was where they are not known."""
    if why_by_count(progress, launch, checkpoint) is not None:
        return progress
    shards = _in_order(progress.label, launch, checkpoint) or ()
    return replace(progress, bytes_done=_size_of(shards, progress.done), bytes_total=_size_of(shards, progress.total))


def with_bytes(launch: Launch, checkpoint: Checkpoint | None) -> Launch:
    """The launch with the bar of its weights told in bytes, in `progress` and in `bars`."""
    bar = target_bar(launch)
    if checkpoint is None or bar is None:
        return launch
    told = by_bytes(bar.progress, launch, checkpoint)
    if told == bar.progress:
        return launch
    bars = tuple(replace(one, progress=told) if one is bar else one for one in launch.bars)
    shown = told if launch.progress is not None and _same(launch.progress, told) else launch.progress
    return replace(launch, bars=bars, progress=shown)


def bytes_points(bar: Bar, checkpoint: Checkpoint) -> tuple[tuple[float, int], ...]:
    """The bar's points as (log clock, bytes); none when the bar is by count, as `with_bytes` left it."""
    progress = bar.progress
    if progress.by != "bytes" or progress.total != len(checkpoint.shards):
        return ()
    for key in (by_name, _by_numbers):
        shards = tuple(sorted(checkpoint.shards, key=key))
        if _size_of(shards, progress.done) == progress.bytes_done:
            return tuple((at, _size_of(shards, done)) for at, done in bar.points)
    return ()


def _same(one: Progress, other: Progress) -> bool:
    return (one.label, one.done, one.total) == (other.label, other.done, other.total)


def _size_of(shards: Iterable[Shard], done: int) -> int:
    return sum(shard.size_bytes for _, shard in zip(range(done), shards, strict=False))


def _by_numbers(shard: Shard) -> tuple[object, ...]:
    """`model-2` before `model-10`; between equal ones the name decides."""
    parts = re.split(r"([0-9]{1,18})", shard.name)  # words and numbers take turns
    return (*(int(part) if place % 2 else part for place, part in enumerate(parts)), shard.name)

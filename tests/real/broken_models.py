"""Copies of the toy model with one thing wrong: links to its files, and what is wrong in between."""

from __future__ import annotations

from pathlib import Path

SHARD = "model-00013-of-000064.safetensors"
LFS_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4665aab2b4b1a9b6b0d3b1c8f7a4ee4c1e7f8c5d2a6b9e3f0c7d8a1b2c3d4e5f\n"
    "size 264\n"
)
"""What stands in a shard's place where `git lfs pull` was forgotten."""


def with_a_pointer(model: Path, copy: Path) -> Path:
    """One shard is a Git LFS pointer."""
    without_a_shard(model, copy)
    (copy / SHARD).write_text(LFS_POINTER, encoding="ascii")
    return copy


def without_a_shard(model: Path, copy: Path) -> Path:
    """The index names a shard that is not there."""
    copy.mkdir()
    for file in model.iterdir():
        if file.name != SHARD:
            (copy / file.name).symlink_to(file)
    return copy

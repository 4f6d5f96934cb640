"""Checkpoints for a test: safetensors files written byte by byte, an index, a hub's cache."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path


def safetensors(*sizes: int) -> bytes:
    """A file with a tensor of each size, in the order of their offsets turned round."""
    begin = 0
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    for number, size in enumerate(sizes):
        header[f"layer.{number}.weight"] = {"dtype": "U8", "shape": [size], "data_offsets": [begin, begin + size]}
        begin += size
    text = json.dumps(dict(reversed(header.items())), separators=(",", ":")).encode()
    return len(text).to_bytes(8, "little") + text + bytes(begin)


def names(shards: int) -> list[str]:
    return [f"model-{number:05}-of-{shards:06}.safetensors" for number in range(1, shards + 1)]


def index_of(files: Sequence[str], total: int = 0) -> dict[str, object]:
    """The index that maps two tensors to each file."""
    weights = {f"layer.{number}.{part}": name for number, name in enumerate(files) for part in "ab"}
    return {"metadata": {"total_size": total}, "weight_map": weights}


def write_index(directory: Path, files: Sequence[str], total: int = 0, indent: int | None = 2) -> None:
    text = json.dumps(index_of(files, total), indent=indent)
    (directory / "model.safetensors.index.json").write_text(text, "utf-8")


def write_model(directory: Path, shards: int = 3, step: int = 100) -> list[Path]:
    """A model with an index; each shard holds `step` bytes more than the one before."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [directory / name for name in names(shards)]
    for number, path in enumerate(paths, start=1):
        path.write_bytes(safetensors(number * step, 8))
    total = sum(number * step + 8 for number in range(1, shards + 1))
    write_index(directory, [path.name for path in paths], total)
    return paths


def hub_model(cache: Path, name: str, shards: int = 3, revision: str = "main") -> Path:
    """A model in a hub's cache, where a snapshot links to blobs; the snapshot's path."""
    root = cache / f"models--{name.replace('/', '--')}"
    snapshot = root / "snapshots" / hashlib.sha256(f"{name} {revision}".encode()).hexdigest()[:40]
    for path in write_model(snapshot, shards):
        data = path.read_bytes()
        blob = root / "blobs" / hashlib.sha256(data).hexdigest()
        blob.parent.mkdir(exist_ok=True)
        blob.write_bytes(data)
        path.unlink()
        path.symlink_to(Path("../../blobs") / blob.name)
    (root / "refs").mkdir(exist_ok=True)
    (root / "refs" / revision).write_text(snapshot.name, "utf-8")
    return snapshot

"""A model directory: config, index, and the shards, read as safetensors without any library."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DTYPE_BYTES = {"BF16": 2, "F16": 2, "F32": 4, "I32": 4, "I64": 8, "I8": 1, "U8": 1, "F8_E4M3": 1}
INDEX_NAME = "model.safetensors.index.json"


class CheckpointError(Exception):
    """The line with which a loader's traceback would end."""


@dataclass(frozen=True)
class Checkpoint:
    """A model directory that can be loaded."""

    path: Path
    config: Mapping[str, Any]
    shards: tuple[Path, ...]
    """In load order: sorted by name."""

    @property
    def architecture(self) -> str:
        return str(self.config["architectures"][0])

    @property
    def model_type(self) -> str:
        return str(self.config["model_type"])

    @property
    def is_kimi(self) -> bool:
        """Multi-head latent attention, Kimi's tool-call marks, and a warm-up through the chat route."""
        return self.architecture.startswith("Kimi")

    @property
    def quantization(self) -> str | None:
        method = self.config.get("quantization_config", {}).get("quant_method")
        return None if method is None else str(method)

    @property
    def played_weights_gb(self) -> float:
        """The size that the demo claims for it; the files themselves are small."""
        return float(self.config.get("k2_demo_weights_gb", 1.0))

    @property
    def context_length(self) -> int:
        return int(self.config.get("max_position_embeddings", 4096))

    @property
    def eos_token_id(self) -> int:
        return int(self.config.get("eos_token_id", 2))


def open_checkpoint(path: Path) -> Checkpoint:
    """Read config and index. CheckpointError when a file that the index names is missing."""
    config = json.loads((path / "config.json").read_text(encoding="utf-8"))
    index = json.loads((path / INDEX_NAME).read_text(encoding="utf-8"))
    names = sorted(set(index["weight_map"].values()))
    missing = [name for name in names if not (path / name).exists()]
    if missing:
        raise CheckpointError(
            f"RuntimeError: {path / INDEX_NAME} references {len(missing)} shard file(s) missing from {path} "
            f"(incomplete download?): {missing}"
        )
    return Checkpoint(path, config, tuple(path / name for name in names))


def read_shard(path: Path) -> int:
    """Read every tensor of one file; the number of its bytes. CheckpointError where safetensors would refuse it."""
    data = path.read_bytes()
    header_size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or header_size > 100_000_000:
        raise CheckpointError("safetensors_rust.SafetensorError: Error while deserializing header: HeaderTooLarge")
    body = data[8 + header_size :]
    try:
        header = json.loads(data[8 : 8 + header_size])
    except ValueError:
        raise CheckpointError(
            "safetensors_rust.SafetensorError: Error while deserializing header: InvalidHeaderDeserialization"
        ) from None
    end = 0
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        elements = 1
        for size in tensor["shape"]:
            elements *= size
        if end > len(body) or end - begin != elements * DTYPE_BYTES[tensor["dtype"]]:
            raise CheckpointError(
                "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"
            )
    if end != len(body):
        raise CheckpointError(
            "safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer"
        )
    return len(data)

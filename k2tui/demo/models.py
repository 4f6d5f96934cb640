"""The demo's model directories: correct safetensors in many small files, with a config that claims the real size."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROW = 256
_BYTES_PER_ELEMENT = 2


@dataclass(frozen=True)
class DemoModel:
    """What to write."""

    name: str
    """Directory name, as an operator would see it."""
    architecture: str
    model_type: str
    shards: int
    layers: int
    weights_gb: float
    """What the engine claims to load; the files have a few kB each."""
    context_length: int
    eos_token_id: int
    hidden_size: int
    quantization: str | None = None


KIMI = DemoModel(
    name="kimi-k2.5-int4",
    architecture="KimiK25ForConditionalGeneration",
    model_type="kimi_k25",
    shards=64,
    layers=61,
    weights_gb=594.0,
    context_length=262_144,
    eos_token_id=163_586,
    hidden_size=7168,
    quantization="compressed-tensors",
)
QWEN = DemoModel(
    name="qwen3-32b",
    architecture="Qwen3ForCausalLM",
    model_type="qwen3",
    shards=17,
    layers=64,
    weights_gb=65.5,
    context_length=40_960,
    eos_token_id=151_645,
    hidden_size=5120,
)
MODELS = (KIMI, QWEN)


def write_model(model: DemoModel, under: Path) -> Path:
    """Write the directory; its path. Same bytes every time."""
    path = under / model.name
    path.mkdir(parents=True, exist_ok=True)
    chance = random.Random(model.name)
    weight_map: dict[str, str] = {}
    total = 0
    for number in range(1, model.shards + 1):
        file_name = f"model-{number:05d}-of-{model.shards:06d}.safetensors"
        # Real shards are about alike, but for the first (embeddings) and the last (what was left over).
        rows = {1: 40, model.shards: 6}.get(number, chance.randint(26, 34))
        names = {
            f"model.layers.{number - 1}.{part}.weight": rows // 2 for part in ("self_attn.o_proj", "mlp.down_proj")
        }
        total += _write_shard(path / file_name, names, chance)
        weight_map.update(dict.fromkeys(names, file_name))
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    _write_json(path / "model.safetensors.index.json", index)
    _write_json(path / "config.json", _config(model))
    _write_json(path / "generation_config.json", {"eos_token_id": model.eos_token_id, "temperature": 1.0})
    return path


def _write_shard(path: Path, rows_of: Mapping[str, int], chance: random.Random) -> int:
    """One safetensors file: u64 header size, padded JSON header, tensors; the number of the tensors' bytes."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, rows in rows_of.items():
        size = rows * _ROW * _BYTES_PER_ELEMENT
        header[name] = {"dtype": "BF16", "shape": [rows, _ROW], "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + chance.randbytes(end))
    return end


def _config(model: DemoModel) -> dict[str, Any]:
    config: dict[str, Any] = {
        "architectures": [model.architecture],
        "model_type": model.model_type,
        "num_hidden_layers": model.layers,
        "hidden_size": model.hidden_size,
        "max_position_embeddings": model.context_length,
        "eos_token_id": model.eos_token_id,
        "torch_dtype": "bfloat16",
        "k2_demo_weights_gb": model.weights_gb,
    }
    if model.quantization is not None:
        config["quantization_config"] = {"quant_method": model.quantization}
    return config


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")

"""The demo's models are what any safetensors reader reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors import safe_open

from k2tui.demo.engine.checkpoint import CheckpointError, open_checkpoint, read_shard
from k2tui.demo.models import KIMI, write_model


def test_the_index_names_every_file_and_its_tensors(kimi: Path) -> None:
    index = json.loads((kimi / "model.safetensors.index.json").read_text(encoding="utf-8"))
    files = sorted(kimi.glob("*.safetensors"))
    assert len(files) == 64
    assert {path.name for path in files} == set(index["weight_map"].values())
    tensor_bytes = 0
    for path in files:
        with safe_open(path, framework="np") as opened:
            assert set(opened.keys()) == {name for name, file in index["weight_map"].items() if file == path.name}
        size = int.from_bytes(path.read_bytes()[:8], "little")
        tensor_bytes += path.stat().st_size - 8 - size
    assert index["metadata"]["total_size"] == tensor_bytes


def test_the_engine_reads_what_was_written(kimi: Path) -> None:
    checkpoint = open_checkpoint(kimi)
    assert checkpoint.is_kimi
    assert checkpoint.quantization == "compressed-tensors"
    assert [read_shard(path) for path in checkpoint.shards] == [path.stat().st_size for path in checkpoint.shards]


def test_the_same_model_has_the_same_bytes(tmp_path: Path, kimi: Path) -> None:
    again = write_model(KIMI, tmp_path)
    assert {p.name: p.read_bytes() for p in again.iterdir()} == {p.name: p.read_bytes() for p in kimi.iterdir()}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "HeaderTooLarge"),
        (b"version https://git-lfs.github.com/spec/v1", "HeaderTooLarge"),
        ((5).to_bytes(8, "little") + b"{nono", "InvalidHeaderDeserialization"),
    ],
)
def test_a_broken_file_is_refused_as_safetensors_refuses_it(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match=said):
        read_shard(path)

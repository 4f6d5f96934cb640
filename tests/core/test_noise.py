"""Lines that look like trouble and are none; and that no line which explains a failure is taken for one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k2tui.core.grammar.noise import NOISE, is_noise
from k2tui.core.grammar.prefix import parse_line

CASES = sorted((Path(__file__).parent.parent / "logs" / "corpus").glob("*.json"))

HARMLESS = [
    "[2026-11-29 16:32:19 TP1] Ignore import error when loading sglang.srt.models.inkling: No module named 'cutlass'",
    "/opt/sglang/srt/layers/quantization/gguf.py:47: UserWarning: Only CUDA support GGUF quantization currently.",
    "/opt/torch/cuda/__init__.py:61: FutureWarning: The pynvml package is deprecated.",
    "/opt/sglang/http_server.py:175: FastAPIDeprecationWarning: ORJSONResponse is deprecated",
    "  warnings.warn(",
    "[2026-11-29 16:32:11] Fail to set RLIMIT_NOFILE: current limit exceeds maximum limit",
    "[Gloo] Rank 0 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7",
    "[2026-11-29 16:32:19] Using default chat sampling params from model generation config: {'temperature': 0.6}",
    "[2026-11-29 16:32:19 TP0] Using default MoE kernel config. Performance might be sub-optimal!",
    "[2026-11-29 16:32:19 TP0] Custom allreduce is disabled because it's not supported on PCIe-only GPUs.",
    "[W1129 16:33:19.123 ProcessGroupNCCL.cpp:1479] Warning: WARNING: destroy_process_group() was not called",
    '[2026-11-29 16:32:19] INFO:     127.0.0.1:38152 - "GET /v1/loads HTTP/1.1" 200 OK',
    '[2026-11-29 16:32:19] INFO:     127.0.0.1:38152 - "GET /metrics HTTP/1.1" 404 Not Found',
    '[2026-11-29 16:32:19] INFO:     127.0.0.1:38152 - "GET /server_info HTTP/1.1" 200 OK',
    '[2026-11-29 16:32:19] INFO:     127.0.0.1:38152 - "GET /get_load HTTP/1.1" 200 OK',
    "[2026-11-29 16:32:19] Endpoint '/get_server_info' is deprecated and will be removed in a future version.",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_known_noise_is_known(text: str) -> None:
    assert is_noise(parse_line(text).message)


def test_every_rule_has_a_line() -> None:
    unseen = {word for word, _ in NOISE if not any(word in text for text in HARMLESS)}
    assert unseen <= {"slow tokenizer", "DeprecationWarning: ", "Pyspy failed"}


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_no_line_that_explains_a_failure_is_noise(path: Path) -> None:
    line = json.loads(path.read_text(encoding="utf-8")).get("error_line")
    assert line is None or not is_noise(parse_line(line).message)


@pytest.mark.parametrize("text", ["[Gloo] Rank 3 timed out", "torch.OutOfMemoryError: CUDA out of memory.", ""])
def test_what_is_no_noise_is_not(text: str) -> None:
    assert not is_noise(text)


@given(st.text())
def test_no_text_can_break_it(text: str) -> None:
    is_noise(text)

"""The demo's models, written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from k2tui.demo.models import KIMI, QWEN, write_model


@pytest.fixture(scope="session")
def kimi(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(KIMI, tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_model(QWEN, tmp_path_factory.mktemp("models"))

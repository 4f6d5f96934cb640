"""A real sshd for services that are tried on one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sshd import Sshd, running


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    """A server that runs."""
    yield from running(tmp_path / "sshd")

"""A node with each of the shells that a machine may have as its sh."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.fakes.shell_link import ShellLink
from tests.remote.node import Node


def shell_bin(shell: str, directory: Path) -> Path:
    """A directory whose `sh` is that shell."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} on this machine")
    directory.mkdir()
    (directory / "sh").symlink_to(found)
    return directory


@pytest.fixture(params=["dash", "bash"])
async def node(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Node]:
    """A node whose sh is dash or bash (or what EVERY_SHELL adds); what runs there is ended with the test."""
    tools = shell_bin(request.param.split()[0], tmp_path / "bin")
    if request.param.endswith("without ps"):
        (tools / "ps").write_text("#!/bin/sh\nexit 1\n")
        (tools / "ps").chmod(0o755)
    made = Node(ShellLink(tools), tmp_path)
    yield made
    await made.clear()

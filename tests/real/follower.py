"""A process that follows one log of the node, byte for byte, with the same link and follower as the app."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from k2tui.adapters.config_file import load_settings, trusted_hosts_path
from k2tui.adapters.links import make_link
from k2tui.adapters.scripts import script
from k2tui.commands.output import safe
from k2tui.core.lines import LineSplitter
from k2tui.services.doors import RealClock
from k2tui.services.follow import LogFollower
from k2tui.services.node_watch import NodeWatch
from tests.real.stage import Stage


@contextlib.contextmanager
def following(stage: Stage, log: Path, copy: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Copy a log of the node to a file here as it grows, until the block ends."""
    command = [sys.executable, "-m", "tests.real.follower", str(stage.config), "here", str(log), str(copy)]
    with subprocess.Popen(command, env=stage.environment, stdin=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def as_printed(log: bytes) -> list[str]:
    """The lines of a log as `k2tui logs` prints them."""
    splitter = LineSplitter()
    return [safe(line) for line in (*splitter.feed(log), *splitter.flush())]


async def _follow(config: str, node: str, log: str, copy: str) -> None:
    settings = load_settings(config, os.environ)
    link = make_link(settings.nodes[node], trusted_hosts=trusted_hosts_path())
    watch = NodeWatch(link, script("probe"), RealClock(), lambda: None)  # brings the link back
    watch.start()
    follower = LogFollower(link, script("follow"), log, clock=RealClock())
    with Path(copy).open("wb", buffering=0) as out:  # noqa: ASYNC230  (it does nothing else)
        async for chunk in follower.chunks():
            if chunk.data and chunk.offset != out.tell():
                raise RuntimeError(f"bytes from {chunk.offset} came at {out.tell()}")
            out.write(chunk.data)


if __name__ == "__main__":
    asyncio.run(_follow(*sys.argv[1:]))

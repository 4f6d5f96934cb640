"""Simulated engines, run as real processes for a test."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

READY = b"fired up and ready to roll!"
FAST = "0.02"


@dataclass
class RunningEngine:
    """One engine and its log."""

    process: asyncio.subprocess.Process
    log_path: Path
    port: int

    @property
    def log(self) -> bytes:
        return self.log_path.read_bytes()

    async def until(self, word: bytes) -> None:
        """Wait until the log has the word; AssertionError when the engine ends without it."""
        while word not in self.log:
            if self.process.returncode is not None and word not in self.log:
                raise AssertionError(f"exit {self.process.returncode} without {word!r}:\n{self.log.decode()[-3000:]}")
            await asyncio.sleep(0.02)

    async def ended(self) -> int:
        """Its exit status; negative for a signal."""
        return await self.process.wait()

    def client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=None, trust_env=False)


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@asynccontextmanager
async def engine(
    directory: Path,
    model: Path,
    *flags: str,
    env: Mapping[str, str] | None = None,
    port: int | None = None,
    argv: Sequence[str] | None = None,
) -> AsyncIterator[RunningEngine]:
    """Start one with these flags; whatever is left of its session is killed at the end."""
    port = port or free_port()
    log_path = directory / f"engine-{port}.log"
    words = argv if argv is not None else ("--model-path", str(model), "--port", str(port), *flags)
    with log_path.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "k2tui.demo.engine",
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, "K2_DEMO_PACE": FAST, **(env or {})},
            start_new_session=True,
        )
    try:
        yield RunningEngine(process, log_path, port)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

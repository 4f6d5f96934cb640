"""Where the engine's log goes: logger lines and bars to stderr, access lines to stdout, each in one write."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

Write = Callable[[int, bytes], object]
OUT, ERR = 1, 2


class Console:
    """Writes as SGLang's logger, uvicorn and tqdm do; unbuffered, so that two streams in one file keep their order."""

    def __init__(self, ranks: int, *, write: Write = os.write, now: Callable[[], float] = time.time) -> None:
        self.ranks = ranks
        self._write, self._now = write, now

    def log(self, message: str, rank: int | None = None) -> None:
        """A logger line; the rank stands in its prefix when there is more than one."""
        self._write(ERR, f"{self.prefix(rank)} {message}\n".encode())

    def uvicorn(self, level: str, message: str, *, stream: int = ERR) -> None:
        """A line with uvicorn's level word."""
        self._write(stream, f"{self.prefix()} {level + ':':<9} {message}\n".encode())

    def raw(self, text: str) -> None:
        """Text without a prefix: warnings, tracebacks, bars."""
        self._write(ERR, text.encode())

    def prefix(self, rank: int | None = None) -> str:
        """`[2026-11-29 16:32:48 TP0]`."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self._now()))
        return f"[{stamp}]" if rank is None or self.ranks == 1 else f"[{stamp} TP{rank}]"

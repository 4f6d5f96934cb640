"""Where text leaves the app: tmux's buffer or OSC 52 to the clipboard, and private files."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Callable, Mapping
from pathlib import Path

from k2tui.core.errors import K2Error

OSC52_LIMIT = 74_994
"""Bytes of base64 that terminals take at most (xterm's buffer, and what others copied from it)."""
TMUX_LIMIT_S = 3.0
DEAF_TERMS = ("", "dumb", "linux", "vt100", "vt220")
"""Values of TERM whose terminals are known to have no clipboard."""


class Clipboard:
    """Copies and saves. Each says what really happened, also when nothing did."""

    def __init__(self, env: Mapping[str, str] | None = None, *, directory: Path | None = None) -> None:
        self._env = os.environ if env is None else env
        self._directory = directory

    async def copy(self, text: str, write: Callable[[str], None]) -> tuple[bool, str]:
        """To tmux's buffer (which hands it to the outer terminal), else by OSC 52 through `write`."""
        problem = None
        if self._env.get("TMUX"):
            problem = await self._to_tmux(text)
            if problem is None:
                return True, "to tmux's buffer"
        return self._to_terminal(text, write, problem)

    async def save(self, name: str, text: str) -> str:
        """A new file that only its owner can read, in the working directory, else at home; its path."""
        problem: OSError | None = None
        for directory in (self._directory or Path.cwd(), Path.home()):
            try:
                return await asyncio.to_thread(_write_new, directory, name, text)
            except OSError as error:
                problem = error
        raise K2Error(
            f"{name} was not saved: {problem.strerror if problem else 'no place for it'}",
            code="not_saved",
            subject=name,
            hint="start k2tui in a directory that you may write to",
        )

    async def _to_tmux(self, text: str) -> str | None:
        """None when tmux took it, else why not. `-w` (tmux 3.2) also sets the clipboard of the outer terminal."""
        try:
            process = await asyncio.create_subprocess_exec(
                "tmux",
                "load-buffer",
                "-w",
                "-",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env=dict(self._env),
            )
        except OSError:
            return "there is no tmux program"
        try:
            _, said = await asyncio.wait_for(process.communicate(text.encode("utf-8", "replace")), TMUX_LIMIT_S)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()
            return "tmux does not answer"
        if process.returncode == 0:
            return None
        return f"tmux: {said.decode('utf-8', 'replace').strip() or f'exit {process.returncode}'}"

    def _to_terminal(self, text: str, write: Callable[[str], None], problem: str | None) -> tuple[bool, str]:
        term = self._env.get("TERM", "")
        why = f" ({problem})" if problem else ""
        if term in DEAF_TERMS:
            return False, f"no tmux took it{why}, and this terminal (TERM={term or 'not set'}) has no clipboard"
        data = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
        if len(data) > OSC52_LIMIT:
            return False, f"{len(text)} characters are too many for the terminal's clipboard{why}; S saves a file"
        write(f"\x1b]52;c;{data}\x07")
        return True, f"by way of the terminal (OSC 52), which does not confirm it{why}"


def _write_new(directory: Path, name: str, text: str) -> str:
    """Write a file that was not there before; a number keeps names apart."""
    stem, dot, ending = name.replace("/", "_").rpartition(".")
    for number in range(1, 1000):
        path = directory / (f"{stem}{dot}{ending}" if number == 1 else f"{stem}-{number}{dot}{ending}")
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        return str(path)
    raise FileExistsError(17, "a thousand files of that name are there")

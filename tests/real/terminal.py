"""k2tui as an operator has it: in a tmux window, by keys, and what stands on its screen."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import shlex
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from dataclasses import dataclass

from tests.real.stage import PATIENCE_S, Stage, claim, wait_for


@dataclass(frozen=True)
class Terminal:
    """One tmux server of its own with one window, in which k2tui runs."""

    socket: str
    """Path of tmux's socket: no other tmux of this machine is touched."""

    def press(self, *keys: str) -> None:
        """Keys by tmux's names: `r`, `Enter`, `Tab`, `Right`, `Escape`."""
        for key in keys:
            self._tmux("send-keys", "-t", "k2", key)

    def type(self, text: str) -> None:
        """Text as it stands, key by key."""
        self._tmux("send-keys", "-t", "k2", "-l", "--", text)

    def screen(self) -> str:
        """What stands on the screen now."""
        return self._tmux("capture-pane", "-p", "-t", "k2")

    def shows(self, *words: str, patience_s: float = PATIENCE_S) -> str:
        """The screen, once it shows every one of these words."""

        def look() -> str | None:
            screen = self.screen()
            return screen if all(word in screen for word in words) else None

        try:
            return wait_for(look, f"{' and '.join(map(repr, words))} on the screen", patience_s=patience_s)
        except Exception:
            print(self.screen())
            raise

    def _tmux(self, *arguments: str) -> str:
        done = subprocess.run(["tmux", "-S", self.socket, *arguments], capture_output=True, text=True, check=False)
        claim(done.returncode == 0, f"tmux {arguments[0]}: {done.stderr.strip()}")
        return done.stdout


@contextlib.contextmanager
def terminal(stage: Stage, *arguments: str, columns: int = 200, rows: int = 50) -> Iterator[Terminal]:
    """k2tui on a screen of this size; it ends with the block."""
    socket = str(stage.directory / "tmux")
    size = ["-x", str(columns), "-y", str(rows)]
    command = shlex.join(stage.command(*arguments))
    subprocess.run(
        ["tmux", "-f", "/dev/null", "-S", socket, "new-session", "-d", "-s", "k2", *size, command],
        env={**stage.environment, "TERM": "xterm-256color"},
        cwd=stage.directory,
        check=True,
    )
    with somebody_looks(socket, columns, rows):
        try:
            yield Terminal(socket)
        finally:
            subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)


@contextlib.contextmanager
def somebody_looks(socket: str, columns: int, rows: int) -> Iterator[None]:
    """A client of the tmux on a terminal of its own: without one k2tui knows that nobody looks, and draws rarely."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows + 1, columns, 0, 0))
    client = subprocess.Popen(
        ["tmux", "-S", socket, "attach", "-t", "k2"],
        env={"TERM": "xterm-256color", "PATH": os.environ["PATH"]},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    reader = threading.Thread(target=_read_away, args=(ours,), daemon=True)
    reader.start()
    try:
        yield
    finally:
        client.wait()
        reader.join()
        os.close(ours)


def _read_away(terminal: int) -> None:
    with contextlib.suppress(OSError):  # the client ended
        while os.read(terminal, 65536):
            pass

"""An app does not outlive its terminal, and knows whether anybody is attached to it."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from k2tui.adapters.terminal import ATTACHED_PERIOD_S, Attachment
from tests.waiting import until

APP = """
import signal, sys, threading
from k2tui.adapters.terminal import end_with_terminal
signal.signal(signal.SIGHUP, signal.SIG_IGN if sys.argv[1] == "ignoring" else signal.SIG_DFL)
end_with_terminal()
print("up", flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize("words", [[], ["demo"], ["watch", __file__]])
def test_the_app_refuses_to_draw_on_what_is_no_terminal(words: list[str]) -> None:
    command = [sys.executable, "-m", "k2tui", *words]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "needs a terminal" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("how", "ends_by"), [("default", signal.SIGHUP), ("ignoring", signal.SIGKILL)])
def test_a_process_ends_when_its_terminal_is_gone(how: str, ends_by: signal.Signals) -> None:
    master, terminal = pty.openpty()
    app = subprocess.Popen([sys.executable, "-c", APP, how], stdin=terminal, stdout=subprocess.PIPE)
    os.close(terminal)
    assert app.stdout is not None
    assert app.stdout.readline() == b"up\n"
    assert app.poll() is None
    os.close(master)
    assert app.wait() == -ends_by
    app.stdout.close()


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """A tmux server of its own, with a session that nobody is attached to."""

    def run(*words: str) -> str:
        command = ["tmux", "-S", str(tmp_path / "tmux"), "-f", os.devnull, *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    run("new-session", "-d", "-s", "work", "-x", "80", "-y", "24", "sleep 1000")
    yield run
    run("kill-server")


def inside(tmux: Callable[..., str], tmp_path: Path) -> dict[str, str]:
    """The environment of a program in that session."""
    return {"TMUX": f"{tmp_path / 'tmux'},1,0", "TMUX_PANE": tmux("list-panes", "-a", "-F", "#{pane_id}")}


@contextmanager
def attached(tmp_path: Path) -> Iterator[None]:
    """Somebody at the session, in a terminal of their own."""
    master, terminal = pty.openpty()
    client = subprocess.Popen(
        ["tmux", "-S", str(tmp_path / "tmux"), "attach", "-t", "work"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    os.close(terminal)
    try:
        yield
    finally:
        client.kill()
        client.wait()
        os.close(master)


@dataclass
class Hours:
    """A clock that is an hour later at each look, so that an answer is always due."""

    now: float = 0.0

    def __call__(self) -> float:
        self.now += 3600
        return self.now


async def test_tmux_is_asked_who_is_attached(tmux: Callable[..., str], tmp_path: Path) -> None:
    attachment = Attachment(inside(tmux, tmp_path), monotonic=Hours())
    await until(lambda: not attachment())
    with attached(tmp_path):
        await until(attachment)
    await until(lambda: not attachment())


async def test_a_key_says_at_once_that_somebody_is_there(tmux: Callable[..., str], tmp_path: Path) -> None:
    now = [1000.0]
    attachment = Attachment(inside(tmux, tmp_path), monotonic=lambda: now[0])
    await until(lambda: not attachment())
    attachment.somebody_is_here()
    assert attachment()
    now[0] += ATTACHED_PERIOD_S - 1
    assert attachment(), "asked again before it was due"
    now[0] += 1
    await until(lambda: not attachment())


@pytest.mark.parametrize(
    ("said", "is_attached"),
    [
        ("There is a screen on:\n\t4711.pts-0.box\t(Detached)\n1 Socket in /run/screen/S-ada.\n", False),
        ("There is a screen on:\n\t4711.pts-0.box\t(Attached)\n1 Socket in /run/screen/S-ada.\n", True),
        ("There is a screen on:\n\t4711.pts-0.box\t(Multi, attached)\n", True),
        ("No Sockets found in /run/screen/S-ada.\n", True),
    ],
)
async def test_screen_is_asked_who_is_attached(
    said: str, is_attached: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    screen = tmp_path / "screen"
    screen.write_text(f"#!/bin/sh\ncat <<'END'\n{said}END\nprintf '%s\\n' \"$*\" >>{asked}\n")
    screen.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    attachment = Attachment({"STY": "4711.pts-0.box"}, monotonic=Hours())
    await until(lambda: attachment() is is_attached and asked.exists() and asked.read_text().count("\n") >= 2)
    assert set(asked.read_text().splitlines()) == {"-ls 4711.pts-0.box"}


@pytest.mark.parametrize("env", [{}, {"TMUX": ""}, {"TMUX": "/no/such/socket,1,0"}, {"STY": "gone"}])
async def test_where_nobody_can_tell_somebody_is_there(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/no/such/place")
    attachment = Attachment(env, monotonic=Hours())
    assert all(attachment() for _ in range(10))
    await until(lambda: not any(thread.name == "attached" for thread in threading.enumerate()))
    assert attachment()

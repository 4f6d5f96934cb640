"""An app does not outlive its terminal."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys

import pytest

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

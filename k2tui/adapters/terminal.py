"""The terminal that the app is drawn on: when it is gone, so is the app."""

from __future__ import annotations

import os
import select
import signal
import threading

from k2tui.core.errors import ExitCode, K2Error


def need_terminal() -> None:
    """Refuse to draw on what is no terminal: Textual would paint into a pipe and read an empty input for ever."""
    if not (os.isatty(0) and os.isatty(1)):
        raise K2Error(
            "the app needs a terminal, and this is none",
            code="no_terminal",
            hint="over ssh, ask for one with `ssh -t`; for scripts there are plain commands: k2tui --help",
            exit_code=ExitCode.USAGE,
        )


def end_with_terminal(fd: int = 0) -> None:
    """End this process when the terminal behind `fd` goes away.

    Usually the kernel sends SIGHUP, but not to a process without a controlling terminal or under nohup; the drawing
    thread then stops and the app would wait for it for ever, with the reading thread at full speed.
    """
    if os.isatty(fd):
        threading.Thread(target=_wait_for_hangup, args=(fd,), name="terminal", daemon=True).start()


def _wait_for_hangup(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, 0)  # a hangup is told without being asked for; nothing else wakes this thread
    if poll.poll():
        os.kill(os.getpid(), signal.SIGKILL if _ignores_hangup() else signal.SIGHUP)


def _ignores_hangup() -> bool:
    return signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

"""The terminal that the app is drawn on: when it is gone, so is the app."""

from __future__ import annotations

import os
import select
import signal
import threading


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

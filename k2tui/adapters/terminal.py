"""The terminal that the app is drawn on: when it is gone, so is the app; when it is detached, nobody looks."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from k2tui.core.errors import ExitCode, K2Error

ATTACHED_PERIOD_S, DETACHED_PERIOD_S = 15.0, 3.0
"""Between two questions whether somebody is attached; who comes back should not wait for it."""
ANSWER_S = 2.0
_TMUX_COUNTS = "#{session_attached} #{session_group_attached} #{window_active_clients}"
"""Clients of this pane's session, of those that share its windows, and of those that have linked this one; a tmux that
does not know one of them says nothing for it."""


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


class Attachment:
    """Whether anybody is attached to the tmux or screen that the app runs in. Elsewhere somebody always is."""

    def __init__(
        self, env: Mapping[str, str] | None = None, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        env = os.environ if env is None else env
        self._question = _question(env)
        self._monotonic = monotonic
        self._attached = True
        self._asked_at: float | None = None
        self._asking: threading.Thread | None = None

    def __call__(self) -> bool:
        """As far as is known. Never waits: when a new answer is due, a thread asks for it, and a later call has it."""
        if self._question is not None and self._is_due() and (self._asking is None or not self._asking.is_alive()):
            self._asked_at = self._monotonic()
            self._asking = threading.Thread(target=self._ask, args=(self._question,), name="attached", daemon=True)
            self._asking.start()
        return self._attached

    def somebody_is_here(self) -> None:
        """A key was pressed, or the size changed."""
        self._attached, self._asked_at = True, self._monotonic()

    def _is_due(self) -> bool:
        period_s = ATTACHED_PERIOD_S if self._attached else DETACHED_PERIOD_S
        return self._asked_at is None or self._monotonic() - self._asked_at >= period_s

    def _ask(self, question: _Question) -> None:
        asked_at = self._asked_at
        command, told = question
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=ANSWER_S, text=True, check=False
            )
            attached = told(done.stdout)
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
            attached = True
        if self._asked_at == asked_at:  # nobody has pressed a key meanwhile
            self._attached = attached


_Question = tuple[Sequence[str], Callable[[str], bool]]
"""A command, and what its output says."""


def _question(env: Mapping[str, str]) -> _Question | None:
    """What to ask; None where nobody can be detached."""
    if env.get("TMUX"):
        socket, pane = env["TMUX"].split(",")[0], env.get("TMUX_PANE")
        target = ("-t", pane) if pane else ()
        return ("tmux", "-S", socket, "display-message", "-p", *target, _TMUX_COUNTS), _tmux_says
    if session := env.get("STY"):
        return ("screen", "-ls", session), _screen_says
    return None


def _tmux_says(output: str) -> bool:
    counts = output.split()
    return not counts or any(count != "0" for count in counts)


def _screen_says(output: str) -> bool:
    return re.search(r"\(Detached\)", output, re.IGNORECASE) is None


def _wait_for_hangup(fd: int) -> None:
    poll = select.poll()
    poll.register(fd, 0)  # a hangup is told without being asked for; nothing else wakes this thread
    if poll.poll():
        os.kill(os.getpid(), signal.SIGKILL if _ignores_hangup() else signal.SIGHUP)


def _ignores_hangup() -> bool:
    return signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

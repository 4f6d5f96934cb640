"""How a failed start is told."""

from __future__ import annotations

from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.runs import Run
from k2tui.core.settings import ServerSettings
from k2tui.core.telling import failure_sentence
from k2tui.core.views import ServerView

RUN = "20260101T000000Z-0001"


def stopped(*, asked: bool) -> ServerView:
    run = Run("kimi", RUN, f"/runs/kimi/{RUN}", exit_code=143, stop_asked=asked)
    launch = Launch(phase=LaunchPhase.WEIGHTS, kind=LaunchKind.STOPPED)
    return ServerView(ServerSettings("kimi", "gpu-a"), run=run, launch=launch)


def test_a_start_that_somebody_stopped_says_so() -> None:
    assert failure_sentence(stopped(asked=True)) == "stopped in weights: somebody asked it to stop"


def test_an_end_that_nobody_asked_for_is_told_by_its_exit() -> None:
    assert failure_sentence(stopped(asked=False)) == "stopped in weights: exit 143, and its log does not say why"

"""Goes with a launch: tells its phases and bars until it is ready, or known not to become so."""

from __future__ import annotations

from collections.abc import AsyncIterator

from k2tui.core.checkpoint import Checkpoint
from k2tui.core.errors import ExitCode, K2Error
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase, Progress
from k2tui.core.link import LinkPhase
from k2tui.core.telling import bar_json, bar_sentence, checkpoint_json, checkpoint_sentence, left_json
from k2tui.core.verbs import VerbEvent
from k2tui.services.server_watch import ServerWatch
from k2tui.services.verb_tools import Teller, Tools

LAST_WORDS_S = 15.0
"""How long a server that is crashing is given to end by itself."""
_FAILED = (LaunchKind.CRASHED, LaunchKind.HUNG, LaunchKind.MISCONFIGURED, LaunchKind.DEGRADED, LaunchKind.STOPPED)


async def followed(watch: ServerWatch, told: Teller) -> AsyncIterator[VerbEvent]:
    """Tell each phase and each step of its bar until the launch is no longer loading."""
    phase: LaunchPhase | None = None
    progress: Progress | None = None
    detail: str | None = None
    files: Checkpoint | None = None
    lost = False
    while True:
        watch.changed.clear()
        if watch.link.phase is LinkPhase.BLOCKED:
            raise _unwatched(watch)
        if lost is (watch.link.phase is LinkPhase.UP):
            lost = not lost
            yield told.event("link", _lost_sentence(watch) if lost else f"{watch.settings.node} is back")
        launch = watch.view.launch or Launch()
        if launch.phase is not phase:
            phase = launch.phase
            yield told.event("phase", phase.value, launch=launch)
        checkpoint = watch.view.around.checkpoint
        if checkpoint is not None and checkpoint != files:
            files = checkpoint
            yield told.event("weights", checkpoint_sentence(checkpoint), checkpoint_json(checkpoint), launch=launch)
        if launch.progress != progress and launch.progress is not None:
            progress = launch.progress
            data = {**bar_json(progress), "eta_s": left_json(watch.time_left())}
            yield told.event("progress", bar_sentence(progress), data, launch=launch)
        if launch.detail != detail:
            detail = launch.detail
            if detail is not None:
                yield told.event("phase", f"{phase.value}: {detail}", launch=launch)
        if launch.kind is LaunchKind.READY or launch.kind in _FAILED or is_gone(watch):
            return
        await watch.changed.wait()


async def heard_out(tools: Tools) -> Launch:
    """A failing server says why in its last words: wait for its end, then for the end of its log."""
    watch, clock = tools.watch, tools.clock
    launch = watch.view.launch
    dying = launch is not None and launch.kind in (LaunchKind.CRASHED, LaunchKind.MISCONFIGURED)
    end = clock.monotonic() + LAST_WORDS_S
    await tools.look_again()
    while dying and not is_gone(watch) and clock.monotonic() < end:
        await clock.sleep(0.5)
        await tools.look_again()
    await watch.read_to_end()
    return watch.view.launch or Launch()


def is_gone(watch: ServerWatch) -> bool:
    """Its process was seen to be no more."""
    run = watch.view.run
    return run is not None and run.alive is False


def _lost_sentence(watch: ServerWatch) -> str:
    settings, reason = watch.settings, watch.link.reason
    why = f" ({reason})" if reason else ""
    return f"{settings.node} is not connected{why}; {settings.name} goes on there, and the next try is planned"


def _unwatched(watch: ServerWatch) -> K2Error:
    """Nobody will try the link again before the operator acts: waiting on would be waiting for ever."""
    link, settings = watch.link, watch.settings
    return K2Error(
        f"{link.reason or f'{settings.node} is out of reach'}; {settings.name} goes on there unwatched",
        code=link.code or "unreachable",
        subject=settings.name,
        hint=link.hint,
        exit_code=ExitCode.UNREACHABLE,
    )

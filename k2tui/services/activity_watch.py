"""Looks at what moves on a node while a launch is silent, and only then."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from k2tui.core.activity import Look, Moving, moving, parse
from k2tui.core.launch import Launch, LaunchKind, LaunchPhase
from k2tui.core.link import LinkPhase
from k2tui.core.runs import Run
from k2tui.services.doors import Clock, NodeLink, Script
from k2tui.services.tasks import ended

SILENT_S = 15.0
"""A shorter silence is nothing to look into."""
PERIOD_S = 10.0
"""Between two looks; two of them make a figure."""
LOOK_LIMIT_S = 10.0

_Subject = tuple[str, str, float]
"""(session, child, log clock of the last progress): two looks at the same of these can be compared."""


def activity_script(script: Callable[[str], Script]) -> Script:
    """The script with what the scripts of runs share in front."""
    return Script("activity", f"{script('runs').text}\n{script('activity').text}")


class ActivityWatch:
    """`moving` is what moved between the newest two looks of the present silence; None without two."""

    def __init__(self, link: NodeLink, script: Script, *, clock: Clock) -> None:
        self.moving: Moving | None = None
        self._link, self._script, self._clock = link, script, clock
        self._subject: _Subject | None = None
        self._before: Look | None = None
        self._looked_at: float | None = None
        self._gpu_busy: float | None = None
        self._looking: asyncio.Task[None] | None = None

    def consider(
        self, run: Run | None, launch: Launch | None, log_now: float | None, gpu_busy: float | None = None
    ) -> None:
        """Look, when it is time to; to be called once a second. `gpu_busy` is of the server's GPUs, 0 to 1."""
        subject = self._what_is_silent(run, launch, log_now)
        self._gpu_busy = gpu_busy
        if subject != self._subject:
            self._subject = subject
            self.moving = self._before = self._looked_at = None
        if subject is None or (self._looking is not None and not self._looking.done()):
            return
        now = self._clock.monotonic()
        if self._looked_at is None or now - self._looked_at >= PERIOD_S:
            self._looked_at = now
            self._looking = asyncio.ensure_future(self._look(subject))

    async def close(self) -> None:
        """Look no more."""
        self._subject = self.moving = None
        await ended(self._looking)

    def _what_is_silent(self, run: Run | None, launch: Launch | None, log_now: float | None) -> _Subject | None:
        """None while there is nothing to look into, or no way to look."""
        if launch is None or self._link.state.phase is not LinkPhase.UP or (run is not None and run.alive is False):
            return None
        if launch.kind not in (LaunchKind.LOADING, LaunchKind.HUNG) or launch.phase.order >= LaunchPhase.READY.order:
            return None
        from k2tui.core.verdict import silence_s  # noqa: PLC0415  keeps the first paint cheap

        quiet_s = silence_s(launch, log_now)
        if launch.quiet_since is None or quiet_s is None or quiet_s < SILENT_S:
            return None
        session = "" if run is None or run.session_id is None else str(run.session_id)
        child = "" if run is None or run.child is None else str(run.child.pid)
        return session, child, launch.quiet_since

    async def _look(self, subject: _Subject) -> None:
        session, child, _ = subject
        try:
            done = await self._link.run(self._script, (session, child), timeout_s=LOOK_LIMIT_S)
            look = parse(done.stdout)
        except Exception:  # whatever it is: nothing was seen, and the next look may do better
            look = None
        if subject != self._subject:
            return
        before, self._before = self._before, look
        self.moving = None if before is None or look is None else moving(before, look, self._gpu_busy)
